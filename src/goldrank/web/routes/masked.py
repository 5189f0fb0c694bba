"""Masked runs: list them and their pages, and show one page with its text, guesses and pooled answers."""

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
from goldrank.reporting.text.results import plain
from goldrank.runs.masked import text_id
from goldrank.runs.stored_scores import profile_of
from goldrank.store import StoredRun
from goldrank.store.records import PREDICTIONS
from goldrank.store.texts import Texts
from goldrank.web.dependencies import Explorer, Page, Size, SortOrder, page_of, sort_entries
from goldrank.web.responses import ERRORS, Json, NotFoundError
from goldrank.web.routes.runs import Key
from goldrank.web.store_reader import StoreReader

routes = APIRouter(prefix="/masked", tags=["masked pages"], responses=ERRORS)
_GROUPS_SHOWN = 10
_RUNS_SHOWN = 100
_TITLE_BYTES = 100
TierName = Literal["initial", "given", "surname", "all", "exact"]
MatcherName = Literal["names", "tokens", "surname", "original", "seed"]


@routes.get("", summary="All masked runs")
def list_runs(explorer: Explorer) -> Json:
    """Every masked run with its accuracy per mask under each masked profile, the newest first."""
    runs = [run for run in explorer.reader.all_runs().runs if run.result_kind == "masked"]
    return Json(
        {
            "runs": [
                {"key": run.key, "model": run.model, "task": run.task, "readings": _accuracies(run)}
                for run in sorted(runs, key=lambda run: run.created, reverse=True)[:_RUNS_SHOWN]
            ]
        }
    )


@routes.get("/{key}/pages", summary="The pages of a masked run")
def list_pages(
    explorer: Explorer,
    key: Key,
    q: Annotated[str, Query(max_length=300, description="Words in the id or title.")] = "",
    sort: Annotated[Literal["id", "title", "value", "masks"], Query(description="What to sort by.")] = "id",
    order: SortOrder = "asc",
    page: Page = 1,
    size: Size = 50,
    profile: Annotated[
        ProfileName, Query(description="The profile of `value`; `beside` is the value under the other one.")
    ] = "source",
) -> Json:
    """Every page with its masks and its value in the run's first metric under each masked profile."""
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
        {
            "id": name,
            "title": titles.get(name, ""),
            "masks": masks[name],
            "value": plain(value),
            "beside": plain(beside),
        }
        for name, value, beside in zip(score.queries, score.values.tolist(), other.values.tolist(), strict=True)
    ]
    words = q.casefold().split()
    matching = [
        entry for entry in entries if all(word in f"{entry['id']} {entry['title']}".casefold() for word in words)
    ]
    ordered = sort_entries(matching, lambda entry: entry[sort], order)
    return Json(
        {
            "total": len(matching),
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
    profile: Annotated[
        ProfileName | None, Query(description="Decides which guesses are right; the other profile is shown as well.")
    ] = None,
    pool: Annotated[Pool | None, Query(description="For experts: how guesses are pooled into one answer.")] = None,
    matcher: Annotated[MatcherName | None, Query(description="For experts: the matcher of names.")] = None,
    tier: Annotated[TierName | None, Query(description="For experts: the lowest match tier that is right.")] = None,
) -> Json:
    """The examples of a page: text, the hidden name and the guesses of each mask, and the pooled answers."""
    run = _masked(explorer.reader, key)
    rules = Rules.of(profile, pool=pool, matcher=matcher, tier=tier)
    table = _rows(run, id)
    if not table.num_rows:
        raise NotFoundError(f"there is no page {shorten(id)} in {key}", remedy=f"see /api/masked/{key}/pages")
    rows = sorted(table.to_pylist(), key=lambda row: (row["sequence"], row["mask"]))
    title = next((row["title"] for row in rows if row["title"]), "")
    scored = score_predictions(table, rules, workers=1)
    tables = [groups_json(table) for table in group_tables(rows, rules)]
    return Json(
        {
            "id": id,
            "title": title,
            "profile": rules.profile,
            "beside": rules.beside.profile,
            "rules": {"pool": rules.pool, "matcher": rules.matcher, "tier": rules.tier.name.lower()},
            "examples": _examples(rows, rules, explorer.reader.texts(run)),
            # The last table is that of the whole page, even if the page has only one example.
            "groups": _first_groups(tables[-1]["readings"]),
            "scores": {
                reading.rules.profile: {
                    name: {"right": int(level.right.sum()), "of": len(level.right)}
                    for name, level in reading.levels.items()
                }
                for reading in scored.readings
            },
        }
    )


def _first_groups(readings: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {profile: groups[:_GROUPS_SHOWN] for profile, groups in readings.items()}


def _accuracies(run: StoredRun) -> dict[str, Any]:
    """Return the headline of a run under each masked profile."""
    summaries = run.environment["summaries"]
    return {profile: next(iter(summary.values())) for profile, summary in summaries.items()}


def _masked(reader: StoreReader, key: str) -> StoredRun:
    run = reader.run(key)
    if run.result_kind != "masked":
        raise NotFoundError(f"{key} is not a masked run", remedy="see /api/runs?kind=masked")
    return run


def _titles(reader: StoreReader, run: StoredRun) -> dict[str, str]:
    def read() -> dict[str, str]:
        _, parquet = load_pyarrow()
        table = parquet.read_table(run.verified(PREDICTIONS), columns=["page", "title"])
        pairs = table.group_by(["page", "title"]).aggregate([])
        return dict(zip(pairs["page"].to_pylist(), pairs["title"].to_pylist(), strict=True))

    return reader.cached([run], "titles", read, lambda titles: 2 * _TITLE_BYTES * len(titles))


def _rows(run: StoredRun, page: str) -> Any:
    """Read the predictions of one page."""
    _, parquet = load_pyarrow()
    return parquet.read_table(run.verified(PREDICTIONS), filters=[("page", "==", page)])


def _examples(rows: Sequence[dict[str, Any]], rules: Rules, texts: Texts | None) -> list[dict[str, Any]]:
    by_example: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        by_example.setdefault(row["sequence"], []).append(row)
    ids = {sequence: text_id(rows[0]["page"], sequence) for sequence in by_example}
    example_texts = {} if texts is None else texts.find(ids.values(), "item")
    return [
        {
            "sequence": sequence,
            "text": example_texts[ids[sequence]].text if ids[sequence] in example_texts else "",
            "masks": [_mask(row, rules) for row in masks],
            "groups": _first_groups(groups_json(group_tables(masks, rules)[0])["readings"]),
        }
        for sequence, masks in by_example.items()
    ]


def _mask(row: dict[str, Any], rules: Rules) -> dict[str, Any]:
    answers = answers_of([row])
    readings = {each.profile: (each, make_matcher(each.matcher, answers)) for each in (rules, rules.beside)}
    guesses = []
    for name, score in zip(row["guesses"] or (), row["scores"] or (), strict=True):
        matches = {profile: matcher.match(name) for profile, (_, matcher) in readings.items()}
        guesses.append(
            {
                "name": name,
                "score": plain(score),
                "readings": {
                    profile: {
                        "tier": match and match.tier.name.lower(),
                        "right": match is not None and match.tier >= readings[profile][0].tier,
                    }
                    for profile, match in matches.items()
                },
            }
        )
    return {"mask": row["mask"], "hidden": row["hidden"], "guesses": guesses}
