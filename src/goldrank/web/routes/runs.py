"""The stored runs: what is there, one of them in full, and removing one where that is allowed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query

import goldrank
from goldrank.store import StoredRun
from goldrank.store.snapshot import Snapshot
from goldrank.web.dependencies import Explorer, Order, Page, Size, page_of, plain_order
from goldrank.web.responses import ERRORS, Json, Made, NotAllowedError, render
from goldrank.web.store_reader import Reader

routes = APIRouter(tags=["runs"], responses=ERRORS)
Key = Annotated[str, Path(description="The key of a stored run.", max_length=200)]
Sort = Literal["created", "task", "model", "seconds", "value"]


@routes.get("/about", summary="What this server serves")
def about(explorer: Explorer) -> Made:
    """The version, the store, and how much it holds."""

    def make(now: Snapshot) -> bytes:
        return render(
            {
                "version": goldrank.__version__,
                "store": explorer.reader.store.where,
                "allow_delete": explorer.allow_delete,
                "runs": len(now.runs),
                "tasks": len({run.task for run in now.runs}),
                "models": len({run.model for run in now.runs}),
                "kinds": Counter(run.result_kind for run in now.runs),
            }
        )

    return Made(explorer.reader.kept_of_all("about", make))


@routes.get("/runs", summary="Stored runs, a page of them")
def list_runs(
    explorer: Explorer,
    task: Annotated[str | None, Query(description="Only of this task; * stands for any text.", max_length=300)] = None,
    model: Annotated[str | None, Query(description="Only of this model; * too.", max_length=300)] = None,
    q: Annotated[str, Query(description="Words that key, task or model hold.", max_length=300)] = "",
    kind: Annotated[Literal["ranked", "measured", "masked"] | None, Query(description="Only of this kind.")] = None,
    sort: Annotated[Sort, Query(description="What to order by.")] = "created",
    order: Order = "desc",
    page: Page = 1,
    size: Size = 50,
) -> Made:
    """The runs that match with their headline numbers, and how many there are of each task and model."""

    def make(now: Snapshot) -> bytes:
        words = q.casefold().split()
        asked = [
            run
            for run in now.runs
            if (kind is None or run.result_kind == kind)
            and all(word in f"{run.key} {run.task} {run.model}".casefold() for word in words)
        ]
        found = [run for run in asked if _is(run.task, task) and _is(run.model, model)]
        ordered = plain_order(found, lambda run: _sort_value(run, sort), order)
        return render(
            {
                "total": len(found),
                "page": page,
                "size": size,
                "runs": [brief(run) for run in page_of(ordered, page, size)],
                # Counted over what the other choices leave: a list to choose from shows what a choice would give.
                "tasks": _named(run.task for run in asked if _is(run.model, model)),
                "models": _named(run.model for run in asked if _is(run.task, task)),
            }
        )

    return Made(explorer.reader.kept_of_all((task, model, q, kind, sort, order, page, size), make))


@routes.get("/runs/{key}", summary="One stored run")
def show_run(explorer: Explorer, key: Key) -> Json:
    """Everything that is known of a run: its inputs, where it was made, its conventions and numbers."""
    return Json(in_full(explorer.reader.run(key), explorer.reader))


@routes.delete("/runs/{key}", summary="Remove a stored run")
def delete_run(explorer: Explorer, key: Key) -> Json:
    """Remove a run and its tables for good; only where the server was started with --allow-delete."""
    if not explorer.allow_delete:
        raise NotAllowedError("this server does not delete runs", remedy="start it with --allow-delete")
    run = explorer.reader.run(key)
    return Json({"deleted": explorer.reader.store.delete([run.key])})


def headline(run: StoredRun) -> dict[str, Any] | None:
    """The first number of a run with its interval, where it was stored."""
    for name, entry in (run.measured or run.summary).items():
        return {"metric": name, "value": entry["value"], "low": entry.get("low"), "high": entry.get("high")}
    return None


def brief(run: StoredRun) -> dict[str, Any]:
    """A run in a list."""
    return {
        "key": run.key,
        "task": run.task,
        "model": run.model,
        "kind": run.result_kind,
        "created": run.created,
        "queries": run.queries,
        "judged": run.judged,
        "seconds": run.seconds,
        "profile": run.profile,
        "headline": headline(run),
        "summary": run.summary or run.measured,
    }


def in_full(run: StoredRun, reader: Reader) -> dict[str, Any]:
    """A run by itself."""
    return {
        **brief(run),
        "metrics": run.metrics,
        "conventions": run.conventions,
        "inputs": run.inputs,
        "environment": run.environment,
        "measured": run.measured,
        "remarks": run.environment.get("remarks", []),
        "has_rankings": run.run_checksum is not None,
        "has_predictions": run.predictions_checksum is not None,
        "has_texts": reader.texts(run) is not None,
        "complete": run.complete,
    }


def _is(text: str, pattern: str | None) -> bool:
    return not pattern or text == pattern or fnmatchcase(text, pattern)


def _sort_value(run: StoredRun, sort: Sort) -> Any:
    if sort == "value":
        shown = headline(run)
        return None if shown is None else shown["value"]
    return getattr(run, sort)


def _named(names: Iterable[str]) -> list[dict[str, Any]]:
    counted = Counter(names)
    return [{"name": name, "count": counted[name]} for name in sorted(counted)]
