"""Stored runs: list them, show one in full, and delete one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query

import goldrank
from goldrank.errors import InputError, UnknownNameError
from goldrank.metrics import parse_all
from goldrank.reporting.text.results import limits, plain
from goldrank.runs.stored_scores import profile_of
from goldrank.store import ResultKind, StoredRun
from goldrank.store.snapshot import Snapshot
from goldrank.web.dependencies import Explorer, Page, Size, SliceName, SortOrder, page_of, sort_entries
from goldrank.web.responses import ERRORS, Json, NotAllowedError, RenderedJson, render
from goldrank.web.store_reader import StoreReader

routes = APIRouter(tags=["runs"], responses=ERRORS)
Key = Annotated[str, Path(description="The key of a stored run.", max_length=200)]
Sort = Literal["created", "task", "model", "seconds", "value"]
MOST_ON_A_SLICE = 200
"""Runs that a list scores on a slice."""


@routes.get("/about", summary="The server and its store")
def about(explorer: Explorer) -> RenderedJson:
    """The version of goldrank, the store, and the number of its runs, tasks and models."""

    def compute(now: Snapshot) -> bytes:
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

    return RenderedJson(explorer.reader.cached_for_all("about", compute))


@routes.get("/runs", summary="Stored runs, page by page")
def list_runs(
    explorer: Explorer,
    task: Annotated[
        str | None, Query(description="Only runs of this task; * stands for any text.", max_length=300)
    ] = None,
    model: Annotated[
        str | None, Query(description="Only runs of this model; * stands for any text.", max_length=300)
    ] = None,
    q: Annotated[str, Query(description="Words in the key, task or model.", max_length=300)] = "",
    kind: Annotated[ResultKind | None, Query(description="Only runs of this kind.")] = None,
    sort: Annotated[Sort, Query(description="What to sort by.")] = "created",
    order: SortOrder = "desc",
    only: SliceName = "",
    page: Page = 1,
    size: Size = 50,
) -> RenderedJson:
    """The matching runs with their headline scores, and the number of runs of each task and model.

    With a slice, only runs whose queries have it are listed, and their headlines are those of the slice.
    """

    def compute(now: Snapshot) -> bytes:
        words = q.casefold().split()
        candidates = [
            run
            for run in now.runs
            if (kind is None or run.result_kind == kind)
            and all(word in f"{run.key} {run.task} {run.model}".casefold() for word in words)
        ]
        matching = [run for run in candidates if _matches(run.task, task) and _matches(run.model, model)]
        headlines = _slice_headlines(explorer.reader, matching, only) if only else {}
        if only:
            matching = [run for run in matching if run.key in headlines]
        ordered = sort_entries(matching, lambda run: _sort_value(run, sort, headlines), order)
        return render(
            {
                "total": len(matching),
                "page": page,
                "size": size,
                "runs": [run_summary(run) | headlines.get(run.key, {}) for run in page_of(ordered, page, size)],
                # Each list is counted under the choice in the other one, so that it shows what a choice would give.
                "tasks": _count_names(run.task for run in candidates if _matches(run.model, model)),
                "models": _count_names(run.model for run in candidates if _matches(run.task, task)),
            }
        )

    what = (task, model, q, kind, sort, order, only, page, size)
    return RenderedJson(explorer.reader.cached_for_all(what, compute))


@routes.get("/runs/{key}", summary="One stored run")
def show_run(explorer: Explorer, key: Key) -> Json:
    """A run with its inputs, environment, conventions and scores."""
    return Json(run_details(explorer.reader.run(key), explorer.reader))


@routes.delete("/runs/{key}", summary="Delete a stored run")
def delete_run(explorer: Explorer, key: Key) -> Json:
    """Delete a run with its tables; the server must have been started with --allow-delete."""
    if not explorer.allow_delete:
        raise NotAllowedError("this server does not delete runs", remedy="start it with --allow-delete")
    run = explorer.reader.run(key)
    return Json({"deleted": explorer.reader.store.delete([run.key])})


def headline(run: StoredRun) -> dict[str, Any] | None:
    """Return the first score of a run with its interval; None if no score is stored."""
    for name, entry in (run.measured or run.summary).items():
        return {"metric": name, "value": entry["value"], "low": entry.get("low"), "high": entry.get("high")}
    return None


def run_summary(run: StoredRun) -> dict[str, Any]:
    """Return a run for a list."""
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


def run_details(run: StoredRun, reader: StoreReader) -> dict[str, Any]:
    """Return everything that is known of a run."""
    return {
        **run_summary(run),
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


def _matches(text: str, pattern: str | None) -> bool:
    return not pattern or text == pattern or fnmatchcase(text, pattern)


def _slice_headlines(reader: StoreReader, runs: Sequence[StoredRun], only: str) -> dict[str, dict[str, Any]]:
    """Return headline and number of queries on a slice, by the keys of the runs that have it."""
    if len(runs) > MOST_ON_A_SLICE:
        raise InputError(
            f"{len(runs)} runs are too many to be scored on a slice",
            remedy=f"choose a task or model with {MOST_ON_A_SLICE} runs at most",
        )
    headlines = {}
    for run in runs:
        if run.result_kind != "ranked":
            continue
        try:
            queries = reader.slice_queries(run, only)
        except UnknownNameError:
            continue
        profile = profile_of(run)
        metrics = parse_all((run.metrics or profile.metrics)[:1])
        scores = reader.scores(run, metrics, profile, {}).restrict(queries)
        ((name, score),) = scores.items()
        entry = {"metric": name, "value": plain(score.value), **limits(score.interval)}
        headlines[run.key] = {"headline": entry, "queries": scores.counts.queries}
    return headlines


def _sort_value(run: StoredRun, sort: Sort, headlines: Mapping[str, Mapping[str, Any]]) -> Any:
    if sort == "value":
        first = headlines.get(run.key, {}).get("headline") or headline(run)
        return None if first is None else first["value"]
    return getattr(run, sort)


def _count_names(names: Iterable[str]) -> list[dict[str, Any]]:
    return [{"name": name, "count": count} for name, count in sorted(Counter(names).items())]
