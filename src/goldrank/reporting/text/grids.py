"""Render a grid of text as a table for the terminal, Markdown, LaTeX or HTML."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from goldrank.escaping import escape_line
from goldrank.terminal import PROSE, display_width, encodable, shorten_name, wrap


@dataclass(frozen=True)
class Cell:
    """A value with its superscript, a smaller second line, and whether it is the best."""

    text: str
    detail: str = ""
    marks: str = ""
    best: bool = False
    name: str = ""
    """The name that the text ends with, which a narrow table shortens and explains below; other text is folded."""


class Note(str):
    """A note with a brief form, which the terminal shows unless everything is to be shown."""

    brief: str

    def __new__(cls, text: str, brief: str) -> Note:
        """Return the note."""
        note = super().__new__(cls, text)
        note.brief = brief
        return note


@dataclass(frozen=True)
class Grid:
    """A table: a title, headings, rows of cells, and lines of notes below."""

    headings: list[str]
    rows: list[list[Cell]]
    title: str = ""
    notes: list[str] = field(default_factory=list)
    text_columns: int = 1
    """How many columns on the left hold text; the others hold numbers and are set flush right."""
    key_columns: int = 1
    """How many columns on the left say what a row is about; they are repeated where the table is split."""


@dataclass(frozen=True)
class Layout:
    """The layout of tables for people."""

    width: int | None = None
    """The columns of the terminal; None leaves each row on one line, however long it is."""
    colours: bool = False
    complete: bool = True
    """Whether notes are shown in full."""
    encoding: str = "utf-8"
    """The encoding of the output: a character that it lacks is replaced before anything is measured."""


def render(grids: list[Grid], look: str, layout: Layout = Layout()) -> str:
    """Return the grids one below the other.

    Args:
        grids: The grids.
        look: ``table``, ``markdown``, ``latex`` or ``html``.
        layout: Width and colours of a table, and whether notes are complete.
    """
    if look == "table":
        return "\n\n".join(_table(_escaped(grid, layout), layout) for grid in grids)
    draw = {"markdown": _markdown, "latex": _latex, "html": _html}[look]
    return "\n\n".join(draw(_escaped(grid, layout)) for grid in grids)


def _escaped(grid: Grid, layout: Layout) -> Grid:
    """Return the grid with control characters as visible escapes, line breaks as blanks, and notes as texts."""

    def plain(text: str) -> str:
        return encodable(escape_line(text.replace("\n", " ").replace("\t", " ")), layout.encoding)

    def cleaned(cell: Cell) -> Cell:
        return Cell(plain(cell.text), plain(cell.detail), plain(cell.marks), cell.best, plain(cell.name))

    def written(note: str) -> str:
        return note.brief if isinstance(note, Note) and not layout.complete else note

    rows = [list(map(cleaned, row)) for row in grid.rows]
    headings, notes = [plain(text) for text in grid.headings], [plain(written(note)) for note in grid.notes]
    return replace(grid, headings=headings, rows=rows, title=plain(grid.title), notes=notes)


def _gap(narrow: bool) -> int:
    """Return the columns between two columns of a table."""
    return 2 if narrow else 3


_COMFORTABLE, _TIGHT = (24, 16), (12, 12)
"""The smallest widths of columns of text, of the first and of the others, before a table is split or laid out anew."""


def _table(grid: Grid, layout: Layout) -> str:
    """Return the grid as text that fits the width: folded, with narrow details, split into blocks, or as a list."""
    width = layout.width
    titles = [grid.title] if width is None else wrap(grid.title, width)
    title = [*(_bold(line, layout) for line in titles), ""] if grid.title else []
    legend: dict[str, str] = {}
    lines: list[str] = []
    for number, block in enumerate(_blocks(grid, width)):
        lines += [""] * (number > 0)
        lines += _list(block, width or 0, layout) if block.widths is None else _draw(block, layout, legend)
    notes = [f"{short} = {name}" for short, name in legend.items()] + list(grid.notes)
    foot = [_dim(line, layout) for note in notes for line in wrap(note, min(width or PROSE, PROSE))]
    return "\n".join([*title, *lines, *([""] if foot else []), *foot])


@dataclass(frozen=True)
class _Block:
    """A part of a grid that fits the width, with the widths of its columns; None means as a list."""

    grid: Grid
    widths: list[int] | None
    narrow: bool = False


def _blocks(grid: Grid, width: int | None) -> list[_Block]:
    """Return the parts of the grid in which it is shown."""
    natural = [_Column(grid, at) for at in range(len(grid.headings))]
    total = sum(column.whole for column in natural) + _gap(narrow=False) * (len(natural) - 1)
    if width is None or total <= width:
        return [_Block(grid, [column.whole for column in natural])]
    for narrow, smallest in ((False, _COMFORTABLE), (True, _COMFORTABLE), (True, _TIGHT)):
        if widths := _fit(natural, width, narrow, smallest):
            return [_Block(grid, widths, narrow)]
    parts = _split(natural[: grid.key_columns], natural[grid.key_columns :], width)
    fitted = [_fit_anyhow(columns, width) for columns in parts]
    if not all(fitted):
        return [_Block(grid, None, narrow=True)]
    return [
        _Block(
            replace(
                grid,
                headings=[grid.headings[column.at] for column in columns],
                rows=[[row[column.at] for column in columns] for row in grid.rows],
                text_columns=sum(column.at < grid.text_columns for column in columns),
            ),
            widths,
            narrow=True,
        )
        for columns, widths in zip(parts, fitted, strict=True)
    ]


def _split(keys: list[_Column], columns: list[_Column], width: int) -> list[list[_Column]]:
    """Return as few blocks of columns as possible, of about the same size, each with the columns of *keys*."""
    blocks: list[list[_Column]] = []
    current: list[_Column] = []
    for column in columns:
        if current and not _fit([*keys, *current, column], width, True, _COMFORTABLE):
            blocks.append(current)
            current = []
        current.append(column)
    blocks.append(current)
    size = -(-len(columns) // len(blocks))
    even = [columns[start : start + size] for start in range(0, len(columns), size)]
    if all(_fit([*keys, *block], width, True, _COMFORTABLE) for block in even):
        blocks = even
    return [[*keys, *block] for block in blocks]


def _fit_anyhow(columns: list[_Column], width: int) -> list[int] | None:
    return _fit(columns, width, True, _COMFORTABLE) or _fit(columns, width, True, _TIGHT)


class _Column:
    """The widths that a column can have."""

    def __init__(self, grid: Grid, at: int) -> None:
        cells = [row[at] for row in grid.rows]
        values = max((display_width(cell.text + cell.marks) for cell in cells), default=0)
        details = max((display_width(cell.detail) for cell in cells), default=0)
        narrow = max((display_width(_narrow(cell.detail)) for cell in cells), default=0)
        heading = display_width(grid.headings[at])
        self.at = at
        self.is_text = at < grid.text_columns
        self.whole = max(heading, values, details)
        # Headings are folded, but seldom inside a word.
        folded = min(heading, max(map(display_width, _pieces(grid.headings[at])), default=0), _HEADING)
        self.numbers, self.narrow = max(values, details, folded), max(values, narrow, folded)
        # What is copied from a table, such as the key of a run, is not folded if there is room.
        self._is_copied = not any(cell.name or " " in cell.text for cell in cells)

    def least_text(self, width: int, smallest: tuple[int, int], *, first: bool) -> int:
        """Return the smallest width of this column of text."""
        least = smallest[0] if first else smallest[1]
        return min(self.whole, max(least, width // 2) if first and self._is_copied else least)


_HEADING = 14
"""Headings of numbers are folded to this width."""


def _pieces(heading: str) -> list[str]:
    """Return the pieces of a heading at whose ends it can be folded."""
    return heading.replace("(", "( ").replace(",", ", ").replace("@", " @").split()


def _fit(columns: list[_Column], width: int, narrow: bool, smallest: tuple[int, int]) -> list[int] | None:
    """Return the widths of the columns so that they fit, or None if they cannot."""
    least = [
        column.least_text(width, smallest, first=at == 0)
        if column.is_text
        else column.narrow
        if narrow
        else column.numbers
        for at, column in enumerate(columns)
    ]
    room = width - _gap(narrow) * (len(columns) - 1)
    if sum(least) > room:
        return None
    # Raise the smallest columns of text first, until nothing is left.
    widths, limit = least, 0
    while widths != (whole := [column.whole if column.is_text else least[at] for at, column in enumerate(columns)]):
        limit += 1
        wider = [min(full, max(small, limit)) for small, full in zip(least, whole, strict=True)]
        if sum(wider) > room:
            break
        widths = wider
    return widths


def _draw(block: _Block, layout: Layout, legend: dict[str, str]) -> list[str]:
    """Return the lines of a block, and add to *legend* the names that it shortens."""
    widths = block.widths or []
    left = [at < block.grid.text_columns for at in range(len(widths))]
    headings = _folded_headings(block)
    # The headings of numbers stand at the bottom of the row, next to the numbers.
    tallest = max(map(len, headings))
    headings = [[""] * (tallest - len(lines)) + lines for lines in headings]
    gap = _gap(block.narrow)
    lines = [_bold(line, layout) for line in _pad(headings, widths, left, gap)]
    lines.append("─" * (sum(widths) + gap * (len(widths) - 1)))
    for row in block.grid.rows:
        cells = [_lines(cell, width, block.narrow, layout, legend) for cell, width in zip(row, widths, strict=True)]
        lines += _pad(cells, widths, left, gap)
    return lines


def _folded_headings(block: _Block) -> list[list[str]]:
    return [_fold_heading(text, width) for text, width in zip(block.grid.headings, block.widths or [], strict=True)]


def _fold_heading(heading: str, width: int) -> list[str]:
    if display_width(heading) <= width:
        return [heading]
    lines = [""]
    for piece in _pieces(heading):
        blank = " " * (lines[-1] != "" and f" {piece}" in heading)
        if lines[-1] and display_width(lines[-1] + blank + piece) > width:
            lines.append("")
            blank = ""
        lines[-1] += blank + piece
    return [part for line in lines for part in wrap(line, width)]


def _lines(cell: Cell, width: int, narrow: bool, layout: Layout, legend: dict[str, str]) -> list[str]:
    """Return the lines of a cell of this width."""
    if display_width(cell.text + cell.marks) <= width:
        texts = [cell.text]
    elif cell.name:
        label = cell.text.removesuffix(cell.name)
        ellipsis = encodable("…", layout.encoding)
        texts = [label + shorten_name(cell.name, width - display_width(label + cell.marks), ellipsis)]
        legend[label.strip() or texts[0]] = cell.name
    else:
        texts = wrap(cell.text, width - display_width(cell.marks))
    values = [_bold(text, layout) for text in texts] if cell.best else texts
    values[-1] += cell.marks
    detail = _narrow(cell.detail) if narrow else cell.detail
    return [*values, *(_dim(line, layout) for line in wrap(detail, max(width, 1)) if detail)]


_INTERVAL = re.compile(r"\[([+−-]?)(\d+\.\d{4}), ([+−-]?)(\d+\.\d{4})\]")


def _narrow(detail: str) -> str:
    """Return an interval with three decimals and without leading zeros; other details as they are.

    >>> _narrow("[0.3747, 1.0000]"), _narrow("[−0.0213, +0.1043]"), _narrow("25 of 30")
    ('[.375, 1.000]', '[−.021, +.104]', '25 of 30')
    """

    def short(match: re.Match[str]) -> str:
        low, high = (
            f"{sign}{float(number):.3f}".replace("0.", ".", 1)
            for sign, number in zip(match.groups()[::2], match.groups()[1::2], strict=True)
        )
        return f"[{low}, {high}]"

    return _INTERVAL.sub(short, detail)


def _pad(row: list[list[str]], widths: list[int], left: list[bool], gap: int) -> list[str]:
    """Return the lines of a row, each cell padded to the width of its column."""
    padded = []
    for at in range(max(map(len, row))):
        parts = []
        for lines, width, flush_left in zip(row, widths, left, strict=True):
            text = lines[at] if at < len(lines) else ""
            padding = " " * (width - display_width(text))
            parts.append(text + padding if flush_left else padding + text)
        padded.append((" " * gap).join(parts).rstrip())
    return padded


def _list(block: _Block, width: int, layout: Layout) -> list[str]:
    """Return each row as a list of headings and values, for a terminal that is too narrow for columns."""
    keys = block.grid.key_columns
    lines: list[str] = []
    for row in block.grid.rows:
        name = " · ".join(cell.text for cell in row[:keys])
        lines += [*([""] if lines else []), *(_bold(line, layout) for line in wrap(name, width, hanging="  "))]
        for heading, cell in zip(block.grid.headings[keys:], row[keys:], strict=True):
            if value := " ".join(filter(None, [cell.text + cell.marks, _narrow(cell.detail)])):
                lines += wrap(f"  {heading}: {value}" if heading else f"  {value}", width, hanging="  ")
    return lines


_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


def _bold(text: str, layout: Layout) -> str:
    return f"{_BOLD}{text}{_PLAIN}" if layout.colours and text else text


def _dim(text: str, layout: Layout) -> str:
    return f"{_DIM}{text}{_PLAIN}" if layout.colours and text else text


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


def _latex(grid: Grid) -> str:
    from goldrank.reporting.text.latex import WIDEST, latex_table

    blocks = _blocks(grid, WIDEST)
    if blocks[0].widths is None:
        blocks = _blocks(grid, None)
    return latex_table(grid, [(block.grid, block.widths or [], _folded_headings(block)) for block in blocks])


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
