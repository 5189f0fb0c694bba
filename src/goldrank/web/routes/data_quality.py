"""Data quality: what stored hits and texts tell of the data sets, before anybody believes the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query

from goldrank.analysis import stored_data
from goldrank.errors import InputError
from goldrank.metrics import parse_all
from goldrank.reporting.text import results
from goldrank.runs.stored_scores import profile_of
from goldrank.scoring import Scores, agree
from goldrank.store import StoredRun
from goldrank.web.dependencies import Explorer
from goldrank.web.responses import ERRORS, Json, NotFoundError, plain
from goldrank.web.store_reader import Reader, size_of

routes = APIRouter(tags=["quality"], responses=ERRORS)
MOST_RUNS = 10
"""Whose hits are read for one data set; the newest."""


@routes.get("/quality", summary="What to know of the data")
def show_quality(
    explorer: Explorer,
    task: Annotated[
        str | None, Query(max_length=300, description="Only of this task, with what its runs tell.")
    ] = None,
) -> Json:
    """Queries, judgments, texts and what is odd about them, for each data set.

    Of all tasks: what the store knows without reading the hits. Of one task: also queries without results, gold
    outside the corpus, queries with nothing relevant and ties, for the newest of its runs.
    """
    runs = [run for run in explorer.reader.store.list() if task in (None, "", run.task)]
    if task and not runs:
        raise NotFoundError(f"there are no stored runs of the task {task!r}", remedy="see /api/runs")
    sets: dict[tuple[str, str], list[StoredRun]] = {}
    for run in runs:
        sets.setdefault((run.task, str(run.inputs.get("data", ""))), []).append(run)
    return Json({"sets": [_data_set(explorer.reader, group, in_detail=bool(task)) for group in sets.values()]})


def _data_set(reader: Reader, runs: Sequence[StoredRun], *, in_detail: bool) -> dict[str, Any]:
    newest = runs[-1]
    made: dict[str, Any] = {
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
        return made
    shown = runs[-MOST_RUNS:]
    texts = reader.store.texts(str(newest.inputs.get("data", "")))
    counted = reader.kept([newest], "texts", lambda: _sized(plain(stored_data.count_texts(texts))))
    entries = [_run(reader, run) for run in shown if run.result_kind != "measured"]
    return {
        **made,
        "texts": counted,
        "details": entries,
        "notes": [
            *dict.fromkeys(note for entry in entries for note in entry["notes"]),
            *stored_data.text_notes({side: stored_data.TextCounts(**one) for side, one in counted.items()}),
        ],
    }


def _run(reader: Reader, run: StoredRun) -> dict[str, Any]:
    """What the hits of one run tell of its data."""

    def make() -> tuple[dict[str, Any], int]:
        profile = profile_of(run)
        hits = reader.counted(run, profile, agree(profile, {})).hits
        made: dict[str, Any] = {
            "key": run.key,
            "model": run.model,
            "corpus": hits.corpus,
            "hits": plain(stored_data.count_hits(hits)),
        }
        try:
            scores: list[Scores] = [reader.scores(run, parse_all(run.metrics or profile.metrics)[:1], profile, {})]
            made |= {"counts": plain(scores[0].counts), "notes": results.counts_lines(scores)}
        except InputError as error:
            # What cannot be scored is just what a reader of this page wants to know.
            made |= {"counts": None, "notes": [f"{run.key}: {error.what}."]}
        return _sized(made)

    return reader.kept([run], "quality", make)


def _sized(made: dict[str, Any]) -> tuple[dict[str, Any], int]:
    return made, size_of(made)
