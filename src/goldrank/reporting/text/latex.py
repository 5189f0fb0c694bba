r"""Grids as LaTeX tables that pdfLaTeX compiles with booktabs and graphicx, whatever characters the data has."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from goldrank.terminal import display_width

if TYPE_CHECKING:
    from goldrank.reporting.text.grids import Cell, Grid

_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": r"$|$", '"': "''",
}  # fmt: skip
_SYMBOLS = {
    "↑": r"$\uparrow$", "↓": r"$\downarrow$", "→": r"$\rightarrow$", "←": r"$\leftarrow$", "−": "$-$", "–": "--",
    "—": "---", "×": r"$\times$", "·": r"$\cdot$", "±": r"$\pm$", "≤": r"$\leq$", "≥": r"$\geq$", "≈": r"$\approx$",
    "≠": r"$\neq$", "∞": r"$\infty$", "√": r"$\surd$", "…": r"\dots{}", "°": r"$^{\circ}$", "“": "``", "”": "''",
    "„": "''", "«": "''", "»": "''", "‘": "`", "’": "'", "•": r"$\bullet$", "§": r"\S{}", "©": r"\copyright{}",
    "µ": r"$\mu$", "\u00a0": "~", "\u202f": "~", "\u2009": "~", "ß": r"\ss{}", "ø": r"\o{}", "Ø": r"\O{}",
    "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}", "å": r"\aa{}", "Å": r"\AA{}", "ł": r"\l{}",
    "Ł": r"\L{}", "ı": r"\i{}", "‖": r"$\Vert$", "∩": r"$\cap$", "∪": r"$\cup$", "½": "$1/2$", "′": "$'$", "ʼ": "'",
    "─": "--", "‐": "-", "‑": "-", "‒": "--", "―": "---",
}  # fmt: skip
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d", "\u0327": "c", "\u0331": "b",
}  # fmt: skip
# Greek capitals that look like Latin ones have no command.
_GREEK = {"GAMMA", "DELTA", "THETA", "LAMDA", "XI", "PI", "SIGMA", "UPSILON", "PHI", "PSI", "OMEGA"}
WIDEST = 110
"""Characters in a row that are still legible on the width of a page; wider tables are split into blocks."""
_FITTED = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"


def escape(text: str) -> str:
    r"""Return *text* as ASCII that LaTeX sets as it stands; a character that pdfLaTeX cannot set becomes its code.

    >>> escape("α = 50%"), escape("Müller_1"), escape("日本")
    ('$\\alpha$ = 50\\%', 'M\\"{u}ller\\_1', '\\texttt{[U+65E5]}\\texttt{[U+672C]}')
    """
    return "".join(map(_escape_character, unicodedata.normalize("NFC", text)))


def _escape_character(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    if character.isascii():
        return character
    return _SYMBOLS.get(character) or _greek(character) or _accented(character)


def _greek(character: str) -> str:
    match = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (\w+)", unicodedata.name(character, ""))
    if (
        match is None
        or match[2] == "OMICRON"
        or "FINAL" in match[2]
        or (match[1] == "CAPITAL" and match[2] not in _GREEK)
    ):
        return ""
    name = match[2].lower().replace("lamda", "lambda")
    return f"$\\{name.capitalize() if match[1] == 'CAPITAL' else name}$"


def _accented(character: str) -> str:
    """Return a letter with its accents as commands, a superscript as its letter, or else the code of the character."""
    plain = unicodedata.normalize("NFKD", character)
    base, *accents = list(plain)
    if plain.isascii():
        raised = {"<super>": "^", "<sub>": "_"}.get(unicodedata.decomposition(character).partition(" ")[0])
        return f"${raised}{{{plain}}}$" if raised else escape(plain)
    if not base.isascii() or not all(accent in _ACCENTS for accent in accents):
        return rf"\texttt{{[U+{ord(character):04X}]}}"
    letter = {"i": r"\i", "j": r"\j"}.get(base, base) if accents else _SPECIAL.get(base, base)
    for accent in accents:
        letter = rf"\{_ACCENTS[accent]}{{{letter}}}"
    return letter


def latex_table(grid: Grid, blocks: Sequence[tuple[Grid, Sequence[int], Sequence[Sequence[str]]]]) -> str:
    """Return a floating table, at most as wide as the text of the document.

    Args:
        grid: The title and the notes.
        blocks: The parts of the grid, one above the other, each with the widths of its columns and its folded headings.
    """
    tabulars = "\n\\par\\medskip\n".join(f"{_FITTED}\n{_tabular(*block)}}}" for block in blocks)
    title = f"{grid.title}." if grid.title and grid.notes and not grid.title.endswith((".", "?")) else grid.title
    caption = escape(" ".join(filter(None, [title, *grid.notes])))
    return "\n".join(
        [
            r"% In the preamble: \usepackage{booktabs,graphicx}",
            r"\begin{table}",
            r"\centering",
            tabulars,
            rf"\caption{{{_breakable(caption)}}}",
            r"\end{table}",
        ]
    )


def _tabular(block: Grid, widths: Sequence[int], headings: Sequence[Sequence[str]]) -> str:
    cells = [[row[at] for row in block.rows] for at in range(len(block.headings))]
    columns = "".join(
        _column(width, of_column) if at < block.text_columns else "r"
        for at, (width, of_column) in enumerate(zip(widths, cells, strict=True))
    )
    lines = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        " & ".join(_heading(lines, at < block.text_columns) for at, lines in enumerate(headings)) + r" \\",
        r"\midrule",
    ]
    for row in block.rows:
        lines.append(" & ".join(_value(cell) for cell in row) + r" \\")
        if any(cell.detail for cell in row):
            details = (rf"{{\scriptsize {escape(cell.detail)}}}" if cell.detail else "" for cell in row)
            lines.append(" & ".join(details) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _heading(lines: Sequence[str], is_text: bool) -> str:
    texts = [_guarded(escape(line)) for line in lines]
    side = "l" if is_text else "r"
    return texts[0] if len(texts) == 1 else rf"\shortstack[{side}]{{" + r" \\ ".join(texts) + "}"


def _column(width: int, cells: Sequence[Cell]) -> str:
    """Return a column of text: as wide as its texts, or a paragraph if they are folded."""
    folded = any(not cell.name and display_width(cell.text) > width for cell in cells)
    return f"p{{{width / 2:g}em}}" if folded else "l"


def _value(cell: Cell) -> str:
    text = escape(cell.text) if cell.name else _breakable(escape(cell.text))
    # A mark is in mathematics already.
    marks = "".join(_SYMBOLS.get(mark, mark).strip("$") for mark in unicodedata.normalize("NFKD", cell.marks))
    return (rf"\textbf{{{text}}}" if cell.best else _guarded(text)) + (f"$^{{{marks}}}$" if marks else "")


def _guarded(text: str) -> str:
    r"""Return the text of a cell so that ``\\`` before it does not take it for an argument."""
    return f"{{}}{text}" if text.startswith(("[", "*")) else text


def _breakable(text: str) -> str:
    """Return the text with places to break words that are too long for a line."""
    return " ".join(
        re.sub(r"(?<=[/,:=|-])(?=\w)", r"\\allowbreak{}", word) if len(word) > 20 and "$" not in word else word
        for word in text.split(" ")
    )
