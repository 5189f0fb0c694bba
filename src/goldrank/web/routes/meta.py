"""The meta-evaluation of all stored runs: which intrinsic evaluator predicts which downstream score."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from goldrank.analysis.meta import MetaResult, Table, evaluate_meta, rows_from_store
from goldrank.errors import InputError
from goldrank.reporting.figures.evaluators import meta_heat_map
from goldrank.reporting.text.meta import as_json
from goldrank.web.dependencies import Explorer, Theme, ThemeName
from goldrank.web.responses import ERRORS, Json, plain
from goldrank.web.routes.figures import drawn
from goldrank.web.store_reader import size_of

routes = APIRouter(tags=["meta-evaluation"], responses=ERRORS)
Names = Annotated[list[str] | None, Query(max_length=50, description="Evaluators, by name or pattern; repeat it.")]


@routes.get("/meta", summary="Which evaluator predicts which downstream score")
def meta(
    explorer: Explorer,
    intrinsic: Names = None,
    downstream: Names = None,
    kind: Annotated[Literal["spearman", "pearson", "kendall"], Query(description="Of correlation.")] = "spearman",
    resamples: Annotated[int, Query(ge=100, le=100_000, description="Of the bootstrap.")] = 10_000,
    theme: Theme = "light",
) -> Json:
    """Correlations over the models of the store, with intervals, tests and warnings, as `goldrank meta` gives them."""
    reader = explorer.reader
    runs = reader.store.list()
    if not runs:
        raise InputError("the store holds no runs", where=reader.store.where, remedy="make some with goldrank run")

    def make() -> tuple[dict[str, Any], int]:
        table = Table.of(rows_from_store(reader.store), reader.store.where)
        made = evaluate_meta(table, _names(intrinsic), _names(downstream), kind, resamples=resamples)
        shown = _shown(made, theme)
        return shown, size_of(shown)

    asked = ("meta", tuple(intrinsic or ()), tuple(downstream or ()), kind, resamples, theme)
    return Json(reader.kept(runs, asked, make))


@routes.get("/meta/evaluators", summary="What could be correlated")
def evaluators(explorer: Explorer) -> Json:
    """Every evaluator of the store with its kind, which is empty where the task does not tell, and its models."""
    counted: dict[tuple[str, str], int] = {}
    for row in rows_from_store(explorer.reader.store):
        counted[row.evaluator, row.kind] = counted.get((row.evaluator, row.kind), 0) + 1
    return Json({"evaluators": [{"name": name, "kind": kind, "models": n} for (name, kind), n in counted.items()]})


def _names(given: list[str] | None) -> list[str] | None:
    return [name for name in given or () if name.strip()] or None


def _shown(made: MetaResult, theme: ThemeName) -> dict[str, Any]:
    content = as_json(made)
    content["overall"] = content.pop("evaluators")
    content |= {"intrinsic": made.intrinsic, "downstream": made.downstream}
    shown: dict[str, Any] = plain({**content, "figure": drawn(meta_heat_map(made), theme)})
    return shown
