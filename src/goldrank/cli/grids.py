"""One grid of text, many looks: a table for the terminal, Markdown, LaTeX."""

from __future__ import annotations

import io
import shutil
import sys
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Cell:
    """A value with what goes with it: a superscript, a smaller second line, and whether it is the best."""

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


def render(grids: list[Grid], look: str) -> str:
    """The grids one below the other, in the look ``table``, ``markdown`` or ``latex``."""
    draw = {"table": _table, "markdown": _markdown, "latex": _latex}[look]
    return "\n\n".join(draw(grid) for grid in grids)


def _table(grid: Grid) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = sys.stdout.isatty()
    table = Table(
        box=box.SIMPLE_HEAD,
        title=grid.title or None,
        title_justify="left",
        title_style="bold",
        pad_edge=False,
    )
    for index, heading in enumerate(grid.headings):
        table.add_column(Text(heading), justify="left" if index < grid.text_columns else "right", overflow="fold")
    for row in grid.rows:
        table.add_row(
            *(
                Text.assemble(
                    (cell.text, "bold" if cell.best else ""),
                    (cell.marks, "bold cyan"),
                    (f"\n{cell.detail}" if cell.detail else "", "dim"),
                )
                for cell in row
            )
        )
    # A pipe has no width: give the table the room it needs instead of folding it at 80 columns.
    width = max(shutil.get_terminal_size().columns, 60) if terminal else 400
    console = Console(
        file=io.StringIO(), width=width, force_terminal=terminal, color_system="auto" if terminal else None
    )
    console.print(table)
    for note in grid.notes:
        console.print(Text(note, "dim"), soft_wrap=not terminal)
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().strip("\n").splitlines())


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
    from goldrank.cli.numbers import SUPERSCRIPTS

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
