"""Data quality: what stored hits and texts say about the data sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query

from goldrank.analysis import stored_data
from goldrank.errors import InputError
from goldrank.metrics import parse_all
from goldrank.reporting.text import results
from goldrank.reporting.text.results import plain
from goldrank.runs.stored_scores import profile_of
from goldrank.scoring import Scores
from goldrank.store import StoredRun
from goldrank.web.dependencies import Explorer
from goldrank.web.responses import ERRORS, Json, NotFoundError
from goldrank.web.store_reader import StoreReader

routes = APIRouter(tags=["quality"], responses=ERRORS)
MOST_RUNS = 10
"""The number of runs whose hits are read for one data set; the newest ones are chosen."""


@routes.get("/quality", summary="Data quality")
def show_quality(
    explorer: Explorer,
    task: Annotated[
        str | None, Query(max_length=300, description="Only this task, with details from its runs.")
    ] = None,
) -> Json:
    """Queries, judgments and texts of each data set, with remarks on them.

    Without a task, this is what the store knows without reading hits. With a task, it also has the queries without
    results, gold outside the corpus, queries without relevant items, and ties, for the newest runs of the task.
    """
    runs = [run for run in explorer.reader.store.list() if task in (None, "", run.task)]
    if task and not runs:
        raise NotFoundError(f"there are no stored runs of the task {task!r}", remedy="see /api/runs")
    sets: dict[tuple[str, str], list[StoredRun]] = {}
    for run in runs:
        sets.setdefault((run.task, str(run.inputs.get("data", ""))), []).append(run)
    return Json({"sets": [_data_set(explorer.reader, group, in_detail=bool(task)) for group in sets.values()]})


def _data_set(reader: StoreReader, runs: Sequence[StoredRun], *, in_detail: bool) -> dict[str, Any]:
    newest = runs[-1]
    content: dict[str, Any] = {
        "task": newest.task,
        "kind": newest.result_kind,
        "data": newest.inputs.get("data"),
        "queries": newest.queries,
        "judged": newest.judged,
        "runs": len(runs),
        "remarks": [
            {"key": run.key, "model": run.model, "remarks": remarks}
            for run in runs
            if (remarks := run.environment.get("remarks"))
        ],
    }
    if not in_detail:
        return content
    texts = reader.store.texts(str(newest.inputs.get("data", "")))
    text_counts = reader.cached([newest], "texts", lambda: plain(stored_data.count_texts(texts)))
    details = [_run_details(reader, run) for run in runs[-MOST_RUNS:] if run.result_kind != "measured"]
    return {
        **content,
        "texts": text_counts,
        "details": details,
        "notes": [
            *dict.fromkeys(note for entry in details for note in entry["notes"]),
            *stored_data.text_notes({side: stored_data.TextCounts(**entry) for side, entry in text_counts.items()}),
        ],
    }


def _run_details(reader: StoreReader, run: StoredRun) -> dict[str, Any]:
    """Return what the hits of one run say about its data."""

    def compute() -> dict[str, Any]:
        profile = profile_of(run)
        hits = reader.counted(run, profile, profile.conventions).hits
        details: dict[str, Any] = {
            "key": run.key,
            "model": run.model,
            "corpus": hits.corpus,
            "hits": plain(stored_data.count_hits(hits)),
        }
        try:
            scores: list[Scores] = [reader.scores(run, parse_all(run.metrics or profile.metrics)[:1], profile, {})]
            details |= {"counts": plain(scores[0].counts), "notes": results.counts_lines(scores)}
        except InputError as error:
            # The reason why a run cannot be scored is shown as a note on its data.
            details |= {"counts": None, "notes": [f"{run.key}: {error.what}."]}
        return details

    return reader.cached([run], "quality", compute)
