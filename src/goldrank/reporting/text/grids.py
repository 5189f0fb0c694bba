"""One grid of text, many looks: a table for the terminal, Markdown, LaTeX, HTML."""

from __future__ import annotations

import shutil
import sys
import textwrap
import unicodedata
from dataclasses import dataclass, field, replace

from goldrank.escaping import escape_line


@dataclass(frozen=True)
class Cell:
    """A value with its superscript, a smaller second line, and whether it is the best."""

    text: str
    detail: str = ""
    marks: str = ""
    best: bool = False


@dataclass(frozen=True)
class Grid:
    """A table: a title, headings, rows of cells, and lines of notes below."""

    headings: list[str]
    rows: list[list[Cell]]
    title: str = ""
    notes: list[str] = field(default_factory=list)
    text_columns: int = 1
    """How many columns on the left hold text; the others hold numbers and are set flush right."""


def render(grids: list[Grid], look: str, width: int | None = None) -> str:
    """Return the grids one below the other.

    Args:
        grids: The grids.
        look: ``table``, ``markdown``, ``latex`` or ``html``.
        width: Of a table, which is then plain text and split if it is wider; by default as wide as the terminal.
    """
    if look == "table" and width is not None:
        return "\n\n".join(_table(part, width) for grid in grids for part in _parts(_escaped(grid), width))
    draw = {"table": _table, "markdown": _markdown, "latex": _latex, "html": _html}[look]
    return "\n\n".join(draw(_escaped(grid)) for grid in grids)


def _escaped(grid: Grid) -> Grid:
    """Return the grid with control characters as visible escapes, and line breaks and tabs as blanks."""

    def plain(text: str) -> str:
        return escape_line(text.replace("\n", " ").replace("\t", " "))

    rows = [[replace(cell, text=plain(cell.text), detail=plain(cell.detail)) for cell in row] for row in grid.rows]
    headings, notes = [plain(text) for text in grid.headings], [plain(text) for text in grid.notes]
    return replace(grid, headings=headings, rows=rows, title=plain(grid.title), notes=notes)


def _parts(grid: Grid, width: int) -> list[Grid]:
    """Split a grid that is too wide between columns of numbers; the columns of text are repeated."""
    columns = list(zip(*([Cell(text) for text in grid.headings], *grid.rows), strict=True))
    widths = [max(max(_width(cell.text + cell.marks), _width(cell.detail)) for cell in column) for column in columns]
    text = range(grid.text_columns)
    blocks: list[list[int]] = [[]]
    for column in range(grid.text_columns, len(columns)):
        fixed = sum(min(widths[at], _FOLDED) + 3 for at in text)
        if blocks[-1] and fixed + sum(widths[at] + 3 for at in (*blocks[-1], column)) - 3 > width:
            blocks.append([])
        blocks[-1].append(column)
    if len(blocks) == 1:
        return [grid]
    return [
        replace(
            grid,
            headings=[grid.headings[at] for at in (*text, *block)],
            rows=[[row[at] for at in (*text, *block)] for row in grid.rows],
            title=grid.title if number == 0 else "",
            notes=grid.notes if number == len(blocks) - 1 else [],
        )
        for number, block in enumerate(blocks)
    ]


def _table(grid: Grid, width: int | None = None) -> str:
    terminal = width is None and sys.stdout.isatty()
    # A terminal may have no size, or say 0.
    room = width or ((shutil.get_terminal_size().columns or 80) if terminal else 1000)
    headings = [[heading] for heading in grid.headings]
    rows = [[_lines(cell, terminal) for cell in row] for row in grid.rows]
    widths = [max(_width(line) for row in [headings, *rows] for line in row[i]) for i in range(len(headings))]
    while (excess := sum(widths) + 3 * len(widths) - 3 - room) > 0:
        # Fold the widest column of text; numbers are never folded.
        widest = max(range(grid.text_columns), key=widths.__getitem__)
        if widths[widest] <= _NARROWEST:
            break
        widths[widest] = max(widths[widest] - excess, widths[widest] * 2 // 3, _NARROWEST)
        rows = [[*row[:widest], _fold(row[widest], widths[widest]), *row[widest + 1 :]] for row in rows]
    left = [i < grid.text_columns for i in range(len(widths))]
    lines = [_bold(line, terminal) for line in _draw(headings, widths, left)]
    lines.append("─" * (sum(widths) + 3 * len(widths) - 3))
    lines += [line for row in rows for line in _draw(row, widths, left)]
    title = [_bold(grid.title, terminal), ""] if grid.title else []
    notes = [_dim(part, terminal) for note in grid.notes for part in textwrap.wrap(note, min(room, 120)) or [""]]
    return "\n".join([*title, *lines, *([""] if notes else []), *notes])


def _lines(cell: Cell, terminal: bool) -> list[str]:
    value = (_bold(cell.text, terminal) if cell.best else cell.text) + cell.marks
    return [value, _dim(cell.detail, terminal)] if cell.detail else [value]


def _draw(row: list[list[str]], widths: list[int], left: list[bool]) -> list[str]:
    """Return the lines of a row, each cell padded to the width of its column."""
    padded = []
    for i in range(max(map(len, row))):
        parts = []
        for lines, width, flush_left in zip(row, widths, left, strict=True):
            text = lines[i] if i < len(lines) else ""
            padding = " " * (width - _width(text))
            parts.append(text + padding if flush_left else padding + text)
        padded.append("   ".join(parts).rstrip())
    return padded


def _fold(lines: list[str], width: int) -> list[str]:
    return [part for line in lines for part in textwrap.wrap(line, width) or [""]]


def _width(text: str) -> int:
    """Return the width of *text* on a terminal: wide characters take two columns, marks and escapes none."""
    if text.isascii() and "\x1b" not in text:
        return len(text)
    plain = text.replace(_BOLD, "").replace(_DIM, "").replace(_PLAIN, "")
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in plain)
    return len(plain) + wide - sum(unicodedata.combining(character) > 0 for character in plain)


_NARROWEST = 12
_FOLDED = 24
"""To this width columns of text may be folded before a grid is split."""
_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def _bold(text: str, terminal: bool) -> str:
    return f"{_BOLD}{text}{_PLAIN}" if terminal else text


def _dim(text: str, terminal: bool) -> str:
    return f"{_DIM}{text}{_PLAIN}" if terminal else text


def _markdown(grid: Grid) -> str:
    def escape(text: str) -> str:
        return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")

    def cell(entry: Cell) -> str:
        text = f"**{escape(entry.text)}**" if entry.best else escape(entry.text)
        return text + entry.marks + (f" {escape(entry.detail)}" if entry.detail else "")

    rule = [" :-- " if i < grid.text_columns else " --: " for i in range(len(grid.headings))]
    lines = [f"**{escape(grid.title)}**", ""] if grid.title else []
    lines += ["| " + " | ".join(map(escape, grid.headings)) + " |", "|" + "|".join(rule) + "|"]
    lines += ["| " + " | ".join(map(cell, row)) + " |" for row in grid.rows]
    return "\n".join([*lines, *(f"\n{escape(note)}" for note in grid.notes)])


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "−": "$-$",
    "→": r"$\rightarrow$", "–": "--", "<": "$<$", ">": "$>$",
}  # fmt: skip


def _latex(grid: Grid) -> str:
    from goldrank.reporting.text.formatting import SUPERSCRIPTS

    plain = {code: chr(letter) for letter, code in SUPERSCRIPTS.items()}

    def escape(text: str) -> str:
        return "".join(_LATEX.get(character, character) for character in text)

    def cell(entry: Cell) -> str:
        text = rf"\textbf{{{escape(entry.text)}}}" if entry.best else escape(entry.text)
        marks = "".join(plain.get(ord(mark), mark) for mark in entry.marks)
        text += f"$^{{{marks}}}$" if marks else ""
        return text + (rf" {{\scriptsize {escape(entry.detail)}}}" if entry.detail else "")

    columns = "l" * grid.text_columns + "r" * (len(grid.headings) - grid.text_columns)
    body = [" & ".join(map(cell, row)) + r" \\" for row in grid.rows]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        " & ".join(map(escape, grid.headings)) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{escape(' '.join(filter(None, [grid.title, *grid.notes])))}}}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _html(grid: Grid) -> str:
    from html import escape

    def cell(entry: Cell, column: int, tag: str) -> str:
        text = escape(entry.text) + (f"<sup>{escape(entry.marks)}</sup>" if entry.marks else "")
        text = f"<b>{text}</b>" if entry.best else text
        text += f"<br><small>{escape(entry.detail)}</small>" if entry.detail else ""
        side = "left" if column < grid.text_columns else "right"
        return f'<{tag} style="text-align: {side}">{text}</{tag}>'

    def line(row: list[Cell], tag: str) -> str:
        return f"<tr>{''.join(cell(entry, column, tag) for column, entry in enumerate(row))}</tr>"

    title = f"<caption>{escape(grid.title)}</caption>" if grid.title else ""
    head = line([Cell(heading) for heading in grid.headings], "th")
    body = "\n".join(line(row, "td") for row in grid.rows)
    table = f"<table>{title}<thead>{head}</thead>\n<tbody>{body}</tbody></table>"
    return "\n".join([table, *(f"<div><small>{escape(note)}</small></div>" for note in grid.notes)])
