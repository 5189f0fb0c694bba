"""Pages with masks: how each page went, and one of them with its text, its guesses and what they add up to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query

from goldrank.errors import shorten
from goldrank.io.parquet import load_pyarrow
from goldrank.masked_runs import is_masked, text_id
from goldrank.metrics import parse_all
from goldrank.report.results import number
from goldrank.report.stored_scores import profile_of
from goldrank.store import StoredRun
from goldrank.store.records import PREDICTIONS
from goldrank.tasks.masked.chunks import Guesses
from goldrank.tasks.masked.levels import Rules, score_predictions
from goldrank.tasks.masked.matchers import make_matcher
from goldrank.tasks.masked.names import Matcher, Tier
from goldrank.tasks.masked.pooling import pooled
from goldrank.web.answers import ERRORS, Json, NotFoundError
from goldrank.web.asking import Explorer, Order, Page, Size, page_of, plain_order
from goldrank.web.reading import Reader
from goldrank.web.runs_pages import Key
from goldrank.web.text_files import TextFile

routes = APIRouter(prefix="/masked", tags=["masked pages"], responses=ERRORS)
_POOLED_SHOWN = 10
_TITLE_BYTES = 100
TierName = Literal["initial", "given", "surname", "all", "exact"]
MatcherName = Literal["names", "tokens", "surname", "original", "seed"]


@routes.get("/{key}/pages", summary="The pages of a masked run")
def list_pages(
    explorer: Explorer,
    key: Key,
    q: Annotated[str, Query(max_length=300, description="Words that id or title hold.")] = "",
    sort: Annotated[Literal["id", "title", "value", "masks"], Query(description="What to order by.")] = "id",
    order: Order = "asc",
    page: Page = 1,
    size: Size = 50,
) -> Json:
    """Every page with its masks and its value under the run's first metric."""
    run = _masked(explorer.reader, key)
    profile = profile_of(run)
    score = next(iter(explorer.reader.scores(run, parse_all(run.metrics)[:1], profile, {}).values()))
    hits, titles = explorer.reader.counted(run, profile.conventions).hits, _titles(explorer.reader, run)
    masks = dict(zip(hits.queries, np.diff(hits.starts).tolist(), strict=True))
    entries = [
        {"id": one, "title": titles.get(one, ""), "masks": masks[one], "value": number(value)}
        for one, value in zip(score.queries, score.values.tolist(), strict=True)
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
            "pages": page_of(ordered, page, size),
        }
    )


@routes.get("/{key}/page", summary="One page with its masks and guesses")
def show_page(
    explorer: Explorer,
    key: Key,
    id: Annotated[str, Query(max_length=2_000, description="The id of the page.")],
    pool: Annotated[Literal["alias", "gold"], Query(description="How guesses become one answer.")] = "alias",
    matcher: Annotated[MatcherName, Query(description="What says that a guess is right.")] = "names",
    tier: Annotated[TierName, Query(description="The least agreement that is right.")] = "given",
) -> Json:
    """The examples of a page: text, what each mask hid and what was guessed, and the answers these pool into."""
    run = _masked(explorer.reader, key)
    rules = Rules(matcher, Tier[tier.upper()], pool)
    table = _rows(run, id)
    if not table.num_rows:
        raise NotFoundError(f"there is no page {shorten(id)} in {key}", remedy=f"see /api/masked/{key}/pages")
    rows = sorted(table.to_pylist(), key=lambda row: (row["sequence"], row["mask"]))
    title = next((row["title"] for row in rows if row["title"]), "")
    scored = score_predictions(table, rules, workers=1)
    levels = {name: {"right": int(one.right.sum()), "of": len(one.right)} for name, one in scored.levels.items()}
    return Json(
        {
            "id": id,
            "title": title,
            "rules": {"pool": pool, "matcher": matcher, "tier": tier},
            "examples": _examples(rows, rules, explorer.reader.texts(run)),
            "pooled": _pooled(rows, rules),
            "scores": levels,
        }
    )


def _masked(reader: Reader, key: str) -> StoredRun:
    run = reader.run(key)
    if not is_masked(run):
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
            "pooled": _pooled(masks, rules),
        }
        for sequence, masks in by_example.items()
    ]


def _matcher(rows: Sequence[dict[str, Any]], rules: Rules) -> Matcher:
    """What takes the right answers of any of the masks."""
    answers = [answer for row in rows for answer in row.get("answers") or [row["title"]]]
    return make_matcher(rules.matcher, list(dict.fromkeys(answers)))


def _mask(row: dict[str, Any], rules: Rules) -> dict[str, Any]:
    guesses = []
    matcher = _matcher([row], rules)
    for name, score in zip(row["guesses"] or (), row["scores"] or (), strict=True):
        match = matcher.match(name)
        guesses.append(
            {"name": name, "score": number(score), "tier": None if match is None else match.tier.name.lower()}
        )
    return {"mask": row["mask"], "hidden": row["hidden"], "guesses": guesses}


def _pooled(rows: Sequence[dict[str, Any]], rules: Rules) -> list[dict[str, Any]]:
    guesses = [Guesses(tuple(row["guesses"] or ()), tuple(row["scores"] or ())) for row in rows]
    return [
        {"name": group.name, "total": number(group.total), "right": group.right, "members": list(group.members)}
        for group in pooled(guesses, rules, _matcher(rows, rules))[:_POOLED_SHOWN]
    ]
