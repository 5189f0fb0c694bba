"""Compare runs: the sections of the report with figures for plotly.js, scores by slice, and differences."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query

from goldrank.analysis.rank_diff import diff
from goldrank.errors import InputError, shorten
from goldrank.reporting.document.content import content_of
from goldrank.reporting.document.sections import Section, as_json
from goldrank.reporting.document.summary import Summary, summarise
from goldrank.reporting.document.summary import as_json as summary_json
from goldrank.reporting.text.diff import diffs_view
from goldrank.reporting.text.results import plain
from goldrank.reporting.text.slices import score_grids, slice_json
from goldrank.reporting.text.views import view_of
from goldrank.runs.slice_sources import SliceChoice
from goldrank.slices.results import slice_scores
from goldrank.web.dependencies import (
    LARGEST_CUTOFF,
    Attribute,
    Explorer,
    Keys,
    ScoringParameters,
    SliceName,
    Theme,
    ThemeName,
)
from goldrank.web.responses import ERRORS, Json
from goldrank.web.routes.figures import render_figure

routes = APIRouter(tags=["comparison"], responses=ERRORS)


@routes.get("/compare", summary="Compare stored runs")
def compare(
    explorer: Explorer,
    key: Keys,
    options: ScoringParameters,
    alpha: Annotated[float, Query(gt=0, lt=1, description="Significance level.")] = 0.05,
    worst: Annotated[int, Query(ge=0, le=50, description="Number of queries to show.")] = 10,
    theme: Theme = "light",
    only: SliceName = "",
    by: Attribute = "",
) -> Json:
    """Verdicts, leaderboard, tests, figures and example queries by task, and a summary of several tasks."""
    runs = list(explorer.reader.runs(key).values())

    def compute() -> dict[str, Any]:
        options.check(runs)
        sections = content_of(
            runs,
            explorer.reader.store,
            metrics=options.metrics,
            profile=options.profile,
            conventions=options.changes,
            bootstrap=options.bootstrap,
            alpha=alpha,
            worst=worst,
            slices=SliceChoice((by,) if by else None, only=only),
        )
        summary = summarise(sections)
        return {
            "summary": None if summary is None else _summary(summary, theme),
            "sections": [_section(section, theme) for section in sections],
        }

    return Json(explorer.reader.cached(runs, ("compare", options.identity, alpha, worst, theme, only, by), compute))


@routes.get("/slices", summary="The slices of the queries of some runs")
def slices(explorer: Explorer, key: Keys) -> Json:
    """The slices that all other pages can be restricted to: those that the runs share."""
    parts = [explorer.reader.slices(run) for run in explorer.reader.runs(key).values()]
    shared = set(parts[0]).intersection(*parts[1:])
    return Json({"slices": [{**slice_json(part), "name": str(part)} for part in parts[0] if part in shared]})


@routes.get("/scores-by-slice", summary="Stored runs by slice")
def scores_by_slice(explorer: Explorer, key: Keys, options: ScoringParameters, by: Attribute) -> Json:
    """The metrics of some runs on each slice of an attribute, in the form of `goldrank score --slice`."""
    runs = explorer.reader.runs(key)

    def compute() -> dict[str, Any]:
        metrics, profile = options.for_runs(runs)
        scores = [
            replace(explorer.reader.scores(run, metrics, profile, options.changes), bootstrap=options.bootstrap)
            for run in runs.values()
        ]
        chosen = [part for part in explorer.reader.slices(next(iter(runs.values()))) if part.attribute == by]
        if not chosen:
            raise InputError(f"there is no attribute {shorten(by)} that divides the queries", remedy="see /api/slices")
        sliced = slice_scores(scores, chosen)
        tables = score_grids(sliced, intervals=True)
        content: dict[str, Any] = plain({"slices": view_of(sliced).content()["slices"], "tables": tables})
        return content

    return Json(explorer.reader.cached(runs.values(), ("by slice", options.identity, by), compute))


def _summary(summary: Summary, theme: ThemeName) -> dict[str, Any]:
    content: dict[str, Any] = plain(
        {**summary_json(summary), "figures": [render_figure(figure, theme) for figure in summary.figures]}
    )
    return content


@routes.get("/diff", summary="Differences of two stored runs, without gold")
def diff_runs(
    explorer: Explorer,
    key: Keys,
    p: Annotated[float, Query(gt=0, lt=1, description="Persistence of the rank-biased overlap.")] = 0.9,
    depth: Annotated[
        int | None, Query(ge=1, le=LARGEST_CUTOFF, description="Number of results to read of each query.")
    ] = None,
    worst: Annotated[int, Query(ge=0, le=200, description="Number of changed queries to show.")] = 50,
    only: SliceName = "",
) -> Json:
    """The JSON of `goldrank diff`: overlap and churn by depth, and the queries that changed most."""
    runs = list(explorer.reader.runs(key).values())
    if len(runs) != 2:
        raise InputError("a diff is of two runs", where="key", remedy="give the keys of two runs")

    def compute() -> dict[str, Any]:
        queries = explorer.reader.slice_queries(runs[0], only) if only else None
        result = diff(runs[0], runs[1], store=explorer.reader.store, p=p, depth=depth, restrict_to=queries)
        content: dict[str, Any] = diffs_view([result], worst=worst).to_dict()
        return content

    return Json(explorer.reader.cached(runs, ("diff", p, depth, worst, only), compute))


def _section(section: Section, theme: ThemeName) -> dict[str, Any]:
    figures = [render_figure(figure, theme) for figure in section.figures]
    content: dict[str, Any] = plain({**as_json(section), "figures": figures})
    return content
