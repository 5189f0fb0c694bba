"""Pages with masks: how each page went, and one of them with its text, its guesses and what they add up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query

from goldrank.errors import shorten
from goldrank.io.formats.parquet import load_pyarrow
from goldrank.masked.names.matching import make_matcher
from goldrank.masked.scoring.groups import answers_of, group_tables
from goldrank.masked.scoring.levels import Rules, score_predictions
from goldrank.masked.scoring.profiles import Pool, ProfileName
from goldrank.metrics import parse_all
from goldrank.reporting.text.masked import groups_json
from goldrank.reporting.text.results import number
from goldrank.runs.masked import scores_of, summaries_of, text_id
from goldrank.runs.stored_scores import profile_of
from goldrank.store import StoredRun
from goldrank.store.records import PREDICTIONS
from goldrank.web.dependencies import Explorer, Order, Page, Size, page_of, plain_order
from goldrank.web.responses import ERRORS, Json, NotFoundError
from goldrank.web.routes.runs import Key
from goldrank.web.store_reader import Reader, size_of
from goldrank.web.text_files import TextFile

routes = APIRouter(prefix="/masked", tags=["masked pages"], responses=ERRORS)
_GROUPS_SHOWN = 10
_RUNS_SHOWN = 100
_TITLE_BYTES = 100
TierName = Literal["initial", "given", "surname", "all", "exact"]
MatcherName = Literal["names", "tokens", "surname", "original", "seed"]


@routes.get("", summary="All masked runs")
def list_runs(explorer: Explorer) -> Json:
    """Every run that guesses masks with its accuracy per mask in each reading, the newest first."""
    runs = [run for run in explorer.reader.all_runs().runs if run.result_kind == "masked"]
    return Json(
        {
            "runs": [
                {"key": run.key, "model": run.model, "task": run.task, "readings": _accuracies(explorer.reader, run)}
                for run in sorted(runs, key=lambda run: run.created, reverse=True)[:_RUNS_SHOWN]
            ]
        }
    )


@routes.get("/{key}/pages", summary="The pages of a masked run")
def list_pages(
    explorer: Explorer,
    key: Key,
    q: Annotated[str, Query(max_length=300, description="Words that id or title hold.")] = "",
    sort: Annotated[Literal["id", "title", "value", "masks"], Query(description="What to order by.")] = "id",
    order: Order = "asc",
    page: Page = 1,
    size: Size = 50,
    profile: Annotated[
        ProfileName, Query(description="The reading of `value`; the other one's is `beside`.")
    ] = "source",
) -> Json:
    """Every page with its masks and its value under the run's first metric in each reading."""
    run = _masked(explorer.reader, key)
    own = profile_of(run)
    metrics = parse_all(run.metrics)[:1]
    names = profile, Rules.of(profile).beside.profile
    readings = {name: explorer.reader.scores(run, metrics, replace(own, name=name), {}) for name in names}
    score, other = (next(iter(scores.values())) for scores in readings.values())
    hits = explorer.reader.counted(run, own, own.conventions).hits
    titles = _titles(explorer.reader, run)
    masks = dict(zip(hits.queries, np.diff(hits.starts).tolist(), strict=True))
    entries = [
        {"id": one, "title": titles.get(one, ""), "masks": masks[one], "value": number(value), "beside": number(also)}
        for one, value, also in zip(score.queries, score.values.tolist(), other.values.tolist(), strict=True)
    ]
    words = q.casefold().split()
    found = [entry for entry in entries if all(word in f"{entry['id']} {entry['title']}".casefold() for word in words)]
    ordered = plain_order(found, lambda entry: entry[sort], order)
    return Json(
        {
            "total": len(found),
            "page": page,
            "size": size,
            "metric": str(score.metric),
            "profile": names[0],
            "beside": names[1],
            "pages": page_of(ordered, page, size),
        }
    )


@routes.get("/{key}/page", summary="One page with its masks and guesses")
def show_page(
    explorer: Explorer,
    key: Key,
    id: Annotated[str, Query(max_length=2_000, description="The id of the page.")],
    profile: Annotated[ProfileName | None, Query(description="What is right; the other reading is beside.")] = None,
    pool: Annotated[Pool | None, Query(description="For experts: how guesses become one answer.")] = None,
    matcher: Annotated[MatcherName | None, Query(description="For experts: what says that a guess is right.")] = None,
    tier: Annotated[TierName | None, Query(description="For experts: the least agreement that is right.")] = None,
) -> Json:
    """The examples of a page: text, what each mask hid and what was guessed, and the answers these pool into."""
    run = _masked(explorer.reader, key)
    rules = Rules.of(profile, pool=pool, matcher=matcher, tier=tier)
    table = _rows(run, id)
    if not table.num_rows:
        raise NotFoundError(f"there is no page {shorten(id)} in {key}", remedy=f"see /api/masked/{key}/pages")
    rows = sorted(table.to_pylist(), key=lambda row: (row["sequence"], row["mask"]))
    title = next((row["title"] for row in rows if row["title"]), "")
    scored = score_predictions(table, rules, workers=1)
    tables = [groups_json(one) for one in group_tables(rows, rules)]
    return Json(
        {
            "id": id,
            "title": title,
            "profile": rules.profile,
            "beside": rules.beside.profile,
            "rules": {"pool": rules.pool, "matcher": rules.matcher, "tier": rules.tier.name.lower()},
            "examples": _examples(rows, rules, explorer.reader.texts(run)),
            # The last table is that of the whole page, be it of one example.
            "groups": _first_groups(tables[-1]["readings"]),
            "scores": {
                of.rules.profile: {
                    name: {"right": int(one.right.sum()), "of": len(one.right)} for name, one in of.levels.items()
                }
                for of in scored.readings
            },
        }
    )


def _first_groups(readings: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {profile: groups[:_GROUPS_SHOWN] for profile, groups in readings.items()}


def _accuracies(reader: Reader, run: StoredRun) -> dict[str, Any]:
    """The headline of each reading; runs from before there were two are scored for it."""

    def make() -> tuple[dict[str, Any], int]:
        made = summaries_of(scores_of(run), int(run.inputs["k"]))
        return made, size_of(made)

    found = run.environment.get("summaries") or reader.kept([run], "summaries", make)
    return {profile: next(iter(summary.values())) for profile, summary in found.items()}


def _masked(reader: Reader, key: str) -> StoredRun:
    run = reader.run(key)
    if run.result_kind != "masked":
        raise NotFoundError(f"{key} holds no guesses at masks", remedy="see /api/runs?kind=masked")
    return run


def _titles(reader: Reader, run: StoredRun) -> dict[str, str]:
    def make() -> tuple[dict[str, str], int]:
        _, parquet = load_pyarrow()
        table = parquet.read_table(run.verified(PREDICTIONS), columns=["page", "title"])
        pairs = table.group_by(["page", "title"]).aggregate([])
        made = dict(zip(pairs["page"].to_pylist(), pairs["title"].to_pylist(), strict=True))
        return made, 2 * _TITLE_BYTES * len(made)

    return reader.kept([run], "titles", make)


def _rows(run: StoredRun, page: str) -> Any:
    """The predictions of one page, read without keeping the others."""
    _, parquet = load_pyarrow()
    return parquet.read_table(run.verified(PREDICTIONS), filters=[("page", "==", page)])


def _examples(rows: Sequence[dict[str, Any]], rules: Rules, texts: TextFile | None) -> list[dict[str, Any]]:
    by_example: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        by_example.setdefault(row["sequence"], []).append(row)
    ids = {sequence: text_id(rows[0]["page"], sequence) for sequence in by_example}
    said = {} if texts is None else texts.find(ids.values(), "item")
    return [
        {
            "sequence": sequence,
            "text": said[ids[sequence]].text if ids[sequence] in said else "",
            "masks": [_mask(row, rules) for row in masks],
            "groups": _first_groups(groups_json(group_tables(masks, rules)[0])["readings"]),
        }
        for sequence, masks in by_example.items()
    ]


def _mask(row: dict[str, Any], rules: Rules) -> dict[str, Any]:
    answers = answers_of([row])
    readings = {of.profile: (of, make_matcher(of.matcher, answers)) for of in (rules, rules.beside)}
    guesses = []
    for name, score in zip(row["guesses"] or (), row["scores"] or (), strict=True):
        found = {profile: matcher.match(name) for profile, (_, matcher) in readings.items()}
        guesses.append(
            {
                "name": name,
                "score": number(score),
                "readings": {
                    profile: {
                        "tier": match and match.tier.name.lower(),
                        "right": match is not None and match.tier >= readings[profile][0].tier,
                    }
                    for profile, match in found.items()
                },
            }
        )
    return {"mask": row["mask"], "hidden": row["hidden"], "guesses": guesses}
