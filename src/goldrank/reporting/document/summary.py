"""The summary of a report on several tasks: every run by its main metric on every task, compared across tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from goldrank.analysis.across import AcrossComparison, compare_tasks, number_tasks
from goldrank.reporting.document.sections import Section
from goldrank.reporting.figures.across import ranks_across
from goldrank.reporting.figures.description import Figure, split_left_out
from goldrank.reporting.render.themes import colour_name
from goldrank.reporting.text import across
from goldrank.reporting.text.grids import Grid
from goldrank.reporting.text.results import plain


@dataclass(frozen=True)
class Summary:
    """The summary before the sections."""

    verdict: str
    table: Grid
    comparison: AcrossComparison
    figures: tuple[Figure, ...]
    palette: Mapping[str, int]
    """The number of the look of each run, as in the sections."""


def summarise(sections: Sequence[Section]) -> Summary | None:
    """Return the summary of several sections, or None if no run is in two of them."""
    names = number_tasks([section.task for section in sections])
    tasks = [
        replace(section.headline, task=name)
        for name, section in zip(names, sections, strict=True)
        if section.headline is not None
    ]
    tasks_of = Counter(run for task in tasks for run in task.values)
    if max(tasks_of.values(), default=0) < 2:
        return None
    result = compare_tasks(tasks, alpha=tasks[0].alpha, bootstrap=tasks[0].bootstrap)
    palette = {name: number for section in reversed(sections) for name, number in section.palette.items()}
    figures, _ = split_left_out([ranks_across(result)])
    looks = tuple(replace(figure, palette=palette) for figure in figures)
    return Summary(across.verdict(result), across.grid(result), result, looks, palette)


def as_json(summary: Summary) -> dict[str, Any]:
    """Return the summary as JSON data without its figures, its looks as the names of colours."""
    palette = {name: colour_name(number) for name, number in summary.palette.items()}
    return {"verdict": summary.verdict, "table": plain(summary.table), "palette": palette}
