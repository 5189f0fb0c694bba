"""Compare runs: the sections of the report, with figures for plotly.js."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from goldrank.reporting.document.content import content_of
from goldrank.reporting.document.sections import Section, as_json
from goldrank.reporting.document.summary import as_json as summary_json
from goldrank.reporting.document.summary import summarise
from goldrank.reporting.text.results import plain
from goldrank.web.dependencies import Explorer, Keys, ScoringParameters, Theme, ThemeName
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
        )
        summary = summarise(sections)
        return {
            "summary": None if summary is None else summary_json(summary),
            "sections": [_section(section, theme) for section in sections],
        }

    return Json(explorer.reader.cached(runs, ("compare", options.identity, alpha, worst, theme), compute))


def _section(section: Section, theme: ThemeName) -> dict[str, Any]:
    figures = [render_figure(figure, theme) for figure in section.figures]
    content: dict[str, Any] = plain({**as_json(section), "figures": figures})
    return content
