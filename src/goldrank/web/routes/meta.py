"""Meta-evaluation of all stored runs: how well each intrinsic evaluator predicts each downstream score."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from goldrank.analysis.meta import MetaResult, rows_from_store
from goldrank.analysis.meta import meta as evaluate
from goldrank.errors import InputError
from goldrank.reporting.figures.evaluators import meta_heat_map
from goldrank.reporting.text.meta import as_json
from goldrank.reporting.text.results import plain
from goldrank.scoring import Bootstrap
from goldrank.web.dependencies import Explorer, Theme, ThemeName
from goldrank.web.responses import ERRORS, Json
from goldrank.web.routes.figures import render_figure

routes = APIRouter(tags=["meta-evaluation"], responses=ERRORS)
Names = Annotated[
    list[str] | None, Query(max_length=50, description="Evaluators, by name or pattern; repeat for several.")
]


@routes.get("/meta", summary="Which evaluator predicts which downstream score")
def meta(
    explorer: Explorer,
    intrinsic: Names = None,
    downstream: Names = None,
    kind: Annotated[Literal["spearman", "pearson", "kendall"], Query(description="Kind of correlation.")] = "spearman",
    resamples: Annotated[int, Query(ge=100, le=100_000, description="Resamples of the bootstrap.")] = 10_000,
    theme: Theme = "light",
) -> Json:
    """Correlations over the models of the store, with intervals, tests and warnings, as in `goldrank meta`."""
    reader = explorer.reader
    runs = reader.store.list()
    if not runs:
        raise InputError("the store holds no runs", where=reader.store.where, remedy="make some with goldrank run")

    def compute() -> dict[str, Any]:
        result = evaluate(reader.store, _names(intrinsic), _names(downstream), kind, bootstrap=Bootstrap(resamples))
        return _content(result, theme)

    what = ("meta", tuple(intrinsic or ()), tuple(downstream or ()), kind, resamples, theme)
    return Json(reader.cached(runs, what, compute))


@routes.get("/meta/evaluators", summary="Evaluators that can be correlated")
def evaluators(explorer: Explorer) -> Json:
    """Every evaluator of the store with its kind, which is empty if the task does not tell, and its models."""
    counted: dict[tuple[str, str], int] = {}
    for row in rows_from_store(explorer.reader.store):
        counted[row.evaluator, row.kind] = counted.get((row.evaluator, row.kind), 0) + 1
    return Json({"evaluators": [{"name": name, "kind": kind, "models": n} for (name, kind), n in counted.items()]})


def _names(given: list[str] | None) -> list[str] | None:
    return [name for name in given or () if name.strip()] or None


def _content(result: MetaResult, theme: ThemeName) -> dict[str, Any]:
    content = as_json(result)
    content["overall"] = content.pop("evaluators")
    content |= {"intrinsic": result.intrinsic, "downstream": result.downstream}
    content["figure"] = render_figure(meta_heat_map(result), theme)
    values: dict[str, Any] = plain(content)
    return values
