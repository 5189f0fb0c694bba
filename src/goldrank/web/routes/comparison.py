"""Runs side by side: what the report says of them, with the figures ready to draw."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from goldrank.reporting.document.content import content_of
from goldrank.reporting.document.sections import Section, as_json
from goldrank.web.dependencies import AskedInFull, Explorer, Keys, Theme, ThemeName
from goldrank.web.responses import ERRORS, Json, plain
from goldrank.web.routes.figures import drawn
from goldrank.web.store_reader import size_of

routes = APIRouter(tags=["comparison"], responses=ERRORS)


@routes.get("/compare", summary="Compare stored runs")
def compare(
    explorer: Explorer,
    key: Keys,
    asked: AskedInFull,
    alpha: Annotated[float, Query(gt=0, lt=1, description="Level of significance.")] = 0.05,
    worst: Annotated[int, Query(ge=0, le=50, description="How many queries to show at most.")] = 10,
    theme: Theme = "light",
) -> Json:
    """Verdicts, leaderboard, paired tests, figures and telling queries, a section for each task among the runs."""
    runs = list(explorer.reader.runs(key).values())

    def make() -> tuple[dict[str, Any], int]:
        asked.check(runs)
        sections = content_of(
            runs,
            explorer.reader.store,
            metrics=asked.metrics,
            profile=asked.profile,
            conventions=asked.changes,
            bootstrap=asked.bootstrap,
            alpha=alpha,
            worst=worst,
        )
        made = {"sections": [_section(section, theme) for section in sections]}
        return made, size_of(made)

    return Json(explorer.reader.kept(runs, ("compare", asked.identity, alpha, worst, theme), make))


def _section(section: Section, theme: ThemeName) -> dict[str, Any]:
    figures = [drawn(figure, theme) for figure in section.figures]
    shown: dict[str, Any] = plain({**as_json(section), "figures": figures})
    return shown
