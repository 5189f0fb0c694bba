"""Create the sections of a report from stored runs, one for each set of comparable runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goldrank.errors import InputError
from goldrank.reporting.document.sections import Section
from goldrank.reporting.figures.palette import number_runs
from goldrank.runs.run import Measures
from goldrank.runs.slice_sources import SliceChoice
from goldrank.runs.stored_scores import comparable_groups
from goldrank.scoring import Bootstrap
from goldrank.store import Store, StoredRun

WORST = 10
"""Default number of queries shown in a section."""


def content_of(
    runs: Sequence[StoredRun],
    store: Store,
    *,
    metrics: Sequence[str] | None = None,
    profile: str | None = None,
    conventions: Mapping[str, Any] | None = None,
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
    alpha: float = 0.05,
    worst: int = WORST,
    slices: SliceChoice = SliceChoice(),  # noqa: B008 - frozen
) -> list[Section]:
    """Return a section for each task, and for each data set if a task has several.

    Args:
        runs: stored runs of any kinds.
        store: the store of the runs and of the texts of their data.
        metrics: of runs that rank; None for those of *profile* if it is given, else for those of the runs.
        profile: None for the profile of the runs, with the conventions that their task changes.
        conventions: single conventions that differ from those of the profile.
        bootstrap: the bootstrap of the intervals.
        alpha: the level of significance.
        worst: the maximum number of queries to show.
        slices: the slices of queries to show results by, or to restrict them to; of runs that rank.

    Raises:
        InputError: there are no runs, a run is given twice, or runs cannot be compared.
    """
    if not runs:
        raise InputError("there is no run to report on", remedy="name stored runs (goldrank runs list)")
    if worst < 0:
        raise InputError(f"{worst} queries cannot be shown", remedy="give a number from 0 up")
    measures = Measures(metrics, profile, dict(conventions or {}), bootstrap, alpha)
    sections = [_section(group, store, measures, worst, slices) for group in comparable_groups(runs)]
    by_age = [sorted(section.runs, key=lambda run: (run.created, run.key)) for section in sections]
    palettes = number_runs([{run.name: run.model for run in group} for group in by_age], store.models())
    return [section.with_palette(palette) for section, palette in zip(sections, palettes, strict=True)]


def _section(
    runs: Mapping[str, StoredRun], store: Store, measures: Measures, worst: int, slices: SliceChoice
) -> Section:
    kind = next(iter(runs.values())).result_kind
    if kind == "masked":
        from goldrank.reporting.document.masked_section import masked_section

        return masked_section(runs, measures)
    if kind == "measured":
        from goldrank.reporting.document.measurement_section import measured_section

        return measured_section(runs, measures)
    from goldrank.reporting.document.ranking_section import ranked_section

    return ranked_section(runs, store, measures, worst, slices)
