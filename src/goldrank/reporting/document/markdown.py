"""Render a report as Markdown, without figures."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from goldrank.metrics import Metric
from goldrank.reporting.document.sections import Answer, Case, Passage, Report, Section
from goldrank.reporting.document.summary import Summary, summarise
from goldrank.reporting.text import formatting
from goldrank.reporting.text.formatting import truncate
from goldrank.reporting.text.grids import Cell, Grid, render

_LONGEST_TEXT, _LONGEST_TITLE = 600, 300
# As entities, which every reader of Markdown knows, in tables too. An underscore inside a word is harmless.
_SPECIAL = re.compile(r"&(?=[#\w])|<(?=[\w/!?])(?!\d)|\[(?![+−]?\d)|\](?=[(\[:])|[*`~|\\$]|(?<!\w)_|_(?!\w)")
_LINE_START = re.compile(r"^[#+=>-]|^\d{1,9}[.)](?=\s|$)")


def to_markdown(report: Report) -> str:
    """Return the whole report."""
    parts = [
        f"# {escape(report.title)}",
        escape(f"{report.created} · goldrank {report.version}"),
        _summary(summarise(report.sections)),
        *(_section(section) for section in report.sections),
        "## How to cite and reproduce",
        f"Cite as: “{escape(report.citation)}”",
        _commands([*report.commands, report.command]),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def escape(text: str) -> str:
    """Escape text for Markdown, on one line.

    >>> escape("a <b> | *c*"), escape("# no heading")
    ('a &#60;b> &#124; &#42;c&#42;', '&#35; no heading')
    """
    line = " ".join(text.split())
    line = _SPECIAL.sub(_entity, line)
    return _LINE_START.sub(_entity, line)


def _entity(match: re.Match[str]) -> str:
    return f"{match[0][:-1]}&#{ord(match[0][-1])};"


def _summary(summary: Summary | None) -> str:
    if summary is None:
        return ""
    return f"## All tasks\n\n**{escape(summary.verdict)}**\n\n{render([_escaped(summary.table)], 'markdown')}"


def _section(section: Section) -> str:
    first, *others = section.verdicts or ("",)
    parts = [
        f"## {escape(section.task)}",
        f"**{escape(first)}**" if first else "",
        _list(others),
        *(render([_escaped(grid)], "markdown") for grid in section.tables),
        *([f"### {escape(section.cases_title)}", *map(_case, section.cases)] if section.cases else []),
        _titled_list("Data quality", section.quality),
        _titled_list("Conventions", section.conventions),
        "### Provenance",
        *(
            f"**{escape(run.name)}**\n\n" + _list(f"{fact.name}: {fact.value}" for fact in run.facts)
            for run in section.runs
        ),
    ]
    return "\n\n".join(filter(None, parts))


def _escaped(grid: Grid) -> Grid:
    return replace(
        grid,
        title=escape(grid.title),
        headings=[escape(heading) for heading in grid.headings],
        rows=[
            [replace(cell, text=_in_cell(cell.text), detail=_in_cell(cell.detail)) for cell in row] for row in grid.rows
        ],
        notes=[escape(note) for note in grid.notes],
    )


def _in_cell(text: str) -> str:
    # A sign or a number at the start of a cell does not begin a list.
    return escape(f".{text}")[1:]


def _list(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {escape(line)}" for line in sentences)


def _titled_list(title: str, sentences: Iterable[str]) -> str:
    listed = _list(sentences)
    return f"### {title}\n\n{listed}" if listed else ""


def _case(case: Case) -> str:
    metric = Metric.parse(case.metric)
    gold = "\n".join(f"- Gold, grade {item.grade:g}: {_passage(item.passage)}" for item in case.gold)
    rows = [
        [
            Cell(answer.name),
            Cell(formatting.value(metric, answer.value)),
            Cell(case.ranks_of(answer)),
            Cell("; ".join(filter(None, [*_rivals(answer), answer.others_above]))),
        ]
        for answer in case.answers
    ]
    grid = Grid(["run", str(metric), "ranks of the gold", "ranked above the gold"], rows)
    return f"> {_passage(case.query)}\n\n{gold}\n\n{render([_escaped(grid)], 'markdown')}"


def _rivals(answer: Answer) -> list[str]:
    return [
        f"{rival.rank}. {rival.passage.heading}" + (f" ({rival.chunk})" if rival.chunk else "")
        for rival in answer.rivals
    ]


def _passage(passage: Passage) -> str:
    title = f"*{escape(truncate(passage.title, _LONGEST_TITLE))}*" if passage.title.strip() else ""
    return " ".join(filter(None, [f"({escape(passage.id)})", title, escape(truncate(passage.text, _LONGEST_TEXT))]))


def _commands(lines: Iterable[str]) -> str:
    """Return a block of code, fenced by more backticks than any line has."""
    # White space inside quotes belongs to an argument.
    written = "\n".join(lines)
    longest = max((len(run) for run in re.findall("`+", written)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}sh\n{written}\n{fence}"
