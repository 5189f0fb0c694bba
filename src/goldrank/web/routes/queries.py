"""Queries: list them with their scores, and show one with the rankings of several runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from goldrank.encoders.tokens import words
from goldrank.errors import InputError, shorten
from goldrank.metrics import Metric, parse_all
from goldrank.reporting.text.results import plain
from goldrank.runs.stored_scores import StoredRuns, profile_of
from goldrank.scoring import Score, best_first
from goldrank.store import StoredRun
from goldrank.store.tables import Load
from goldrank.store.texts import Text
from goldrank.web.dependencies import (
    Explorer,
    Keys,
    Page,
    ScoringOptions,
    ScoringParameters,
    Size,
    SliceName,
    SortOrder,
    page_of,
    sort_entries,
)
from goldrank.web.responses import ERRORS, Json, NotFoundError
from goldrank.web.store_reader import StoreReader

routes = APIRouter(tags=["queries"], responses=ERRORS)
LONGEST_SHOWN = 2_000
"""Characters of a text that are shown in a list; a single text is shown in full."""
_WITHOUT_SELF = ("drop", "drop_results", "aside")
# Stop words, which are not marked as shared between query and item.
_STOP_WORDS = frozenset(
    {
        *("an", "and", "are", "as", "at", "be", "by", "can", "did", "do", "does", "for", "from", "has", "have", "how"),
        *("in", "is", "it", "its", "not", "of", "on", "or", "that", "the", "their", "this", "to", "was", "were"),
        *("what", "when", "where", "which", "who", "why", "with"),
    }
)


@routes.get("/queries", summary="The queries of some runs, page by page")
def list_queries(
    explorer: Explorer,
    key: Keys,
    options: ScoringParameters,
    first: Annotated[str, Query(max_length=200, description="Key of the run whose values are listed.")] = "",
    second: Annotated[str, Query(max_length=200, description="Key of the run that it is compared with.")] = "",
    q: Annotated[str, Query(max_length=300, description="Words in the id or text of a query.")] = "",
    sort: Annotated[
        Literal["interest", "magnitude", "difference", "value", "id"],
        Query(description="What to sort by; interest: the largest difference of two runs, the worst value of one."),
    ] = "interest",
    order: SortOrder | None = None,
    only: SliceName = "",
    page: Page = 1,
    size: Size = 50,
) -> Json:
    """Every query with its value under one metric: the one that is given, or else the first of the runs.

    With several runs, two of them are compared: *first* and *second*, or else the two best that can be compared.
    """
    pair = _pair(explorer.reader, explorer.reader.runs(key), first, second, options)
    run, *_ = pair.runs.values()
    texts = explorer.reader.texts(run)
    entries = pair.entries()
    if only:
        chosen = explorer.reader.slice_queries(run, only)
        entries = [entry for entry in entries if entry.id in chosen]
    if q.strip():
        matching = texts.matching(q, "query") if texts is not None else set()
        parts = q.casefold().split()
        entries = [
            entry for entry in entries if entry.id in matching or all(part in entry.id.casefold() for part in parts)
        ]
    sort_by, way = _order(sort, order, pair)
    ordered = sort_entries(entries, lambda entry: getattr(entry, sort_by), way)
    shown = page_of(ordered, page, size)
    query_texts = {} if texts is None else texts.find([entry.id for entry in shown], "query")
    return Json(
        {
            "total": len(entries),
            "page": page,
            "size": size,
            "metric": str(pair.metric),
            "direction": pair.metric.definition.direction,
            "first": next(iter(pair.runs)),
            "second": list(pair.runs)[1] if len(pair.runs) > 1 else None,
            "sort": sort_by,
            "order": way,
            "models": {name: explorer.reader.run(name).model for name in dict.fromkeys(key)},
            "queries": [
                {
                    "id": entry.id,
                    "text": _short(query_texts.get(entry.id)),
                    "value": plain(entry.value),
                    "other": plain(entry.other),
                    "difference": plain(entry.difference),
                }
                for entry in shown
            ],
        }
    )


@dataclass(frozen=True)
class _Entry:
    """A query with its value in one run, or in two."""

    id: str
    value: float
    other: float = math.nan

    @property
    def difference(self) -> float:
        """The value of the first run minus that of the second."""
        return self.value - self.other

    @property
    def magnitude(self) -> float:
        """The size of the difference."""
        return abs(self.difference)


@dataclass(frozen=True)
class _Pair:
    """One run, or two that are compared, with their values under one metric."""

    runs: Mapping[str, StoredRun]
    scores: tuple[Score, ...]

    @property
    def metric(self) -> Metric:
        """The metric of the values."""
        return self.scores[0].metric

    def entries(self) -> list[_Entry]:
        """Return the queries of the first run with their values in all runs."""
        first, *others = (dict(zip(score.queries, score.values.tolist(), strict=True)) for score in self.scores)
        return [
            _Entry(query, value, *(other.get(query, math.nan) for other in others)) for query, value in first.items()
        ]


def _pair(reader: StoreReader, runs: StoredRuns, first: str, second: str, options: ScoringOptions) -> _Pair:
    """Return the runs that are listed: those that were chosen, or the two best of those like the first one."""
    for name in filter(None, (first, second)):
        if name not in runs:
            raise InputError(f"{shorten(name)} is not one of the runs", remedy="choose one of the keys")
    if first and first == second:
        raise InputError("a run cannot be compared with itself", remedy="choose two runs")
    base = runs[first] if first else next(iter(runs.values()))
    alike = {
        name: run
        for name, run in runs.items()
        if name == second or (run.task, run.profile, run.conventions) == (base.task, base.profile, base.conventions)
    }
    metrics, profile = options.for_runs(alike)
    scores = {name: reader.scores(run, metrics, profile, options.changes) for name, run in alike.items()}
    ranked = list(best_first(scores))
    chosen = [first or next(name for name in ranked if name != second)]
    chosen += [second] if second else [name for name in ranked if name != chosen[0]][:1]
    return _Pair({name: alike[name] for name in chosen}, tuple(next(iter(scores[name].values())) for name in chosen))


def _order(sort: str, order: str | None, pair: _Pair) -> tuple[str, str]:
    """Return the attribute to sort by, and the direction."""
    if len(pair.runs) < 2 and sort in ("magnitude", "difference"):
        raise InputError(f"{sort} needs two runs", remedy="sort one run by value or id")
    if sort == "interest":
        if len(pair.runs) > 1:
            return "magnitude", "desc"
        return "value", "desc" if pair.metric.definition.direction == "lower" else "asc"
    return sort, order or ("desc" if sort == "magnitude" else "asc")


@routes.get("/query", summary="One query in several runs")
def show_query(
    explorer: Explorer,
    key: Keys,
    query: Annotated[str, Query(max_length=4_000, description="The id of the query.")],
    depth: Annotated[int, Query(ge=1, le=1_000, description="Number of items of each ranking.")] = 20,
) -> Json:
    """The text of a query, the ranks of its gold in each run, and the top of each ranking."""
    runs = explorer.reader.runs(key)
    load = explorer.reader.part
    judged = {name: run.judged_items(query, load) for name, run in runs.items()}
    rankings = {name: _ranking(run, query, load)[:depth] for name, run in runs.items()}
    chunks = {name: run.chunks(query, load) for name, run in runs.items()}
    if not any(judged.values()) and not any(rankings.values()):
        raise NotFoundError(f"there is no query {shorten(query)} in these runs", remedy="see /api/queries")
    gold = _gold(judged)
    items = {*gold, *(item for ranking in rankings.values() for item, _ in ranking)}
    query_text, item_texts = _texts(runs.values(), explorer.reader, query, items)
    terms = set(_words(query_text)) - _STOP_WORDS
    return Json(
        {
            "query": {"id": query, "title": query_text.title, "text": query_text.text},
            "gold": [
                {"item": item, **_item_text(item_texts.get(item), terms), **entry} for item, entry in gold.items()
            ],
            "rankings": {
                name: [
                    {
                        "rank": rank,
                        "item": item,
                        "score": plain(score),
                        "chunk": chunks[name].get(item) or None,
                        **_item_text(item_texts.get(item), terms),
                        "grade": gold[item]["grade"] if item in gold else None,
                    }
                    for rank, (item, score) in enumerate(ranking, 1)
                ]
                for name, ranking in rankings.items()
            },
            "values": {name: _values(run, explorer.reader, query) for name, run in runs.items()},
            "models": {name: run.model for name, run in runs.items()},
        }
    )


def _gold(judged: Mapping[str, list[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Return each judged item with its grade and its rank in every run, the best grade first."""
    gold: dict[str, dict[str, Any]] = {}
    for key, rows in judged.items():
        for row in rows:
            entry = gold.setdefault(row["item"], {"grade": row["grade"], "places": {}})
            is_found = row["above"] >= 0
            entry["places"][key] = {
                "rank": row["above"] + 1 if is_found else None,
                "last": row["above"] + 1 + row["tied"] if is_found else None,
                "found": is_found,
            }
    return dict(sorted(gold.items(), key=lambda pair: (-pair[1]["grade"], pair[0])))


def _ranking(run: StoredRun, query: str, load: Load) -> list[tuple[str, float]]:
    """Return the stored top of a ranking in the order of the counting: by score, then by the tie rule of the run."""
    conventions = profile_of(run).conventions
    entries = list(run.ranking(query, load).items())
    if conventions.self_matches in _WITHOUT_SELF or run.inputs.get("exclude_self"):
        entries = [entry for entry in entries if entry[0] != query]
    if conventions.ties == "docid":
        entries.sort(key=lambda entry: entry[0].encode("utf-8", "surrogatepass"), reverse=True)
    return sorted(entries, key=lambda entry: -entry[1])


def _values(run: StoredRun, reader: StoreReader, query: str) -> dict[str, float | None]:
    """Return the scores of a query under the run's own metrics; empty if the query is not averaged over."""
    profile = profile_of(run)
    try:
        scores = reader.scores(run, parse_all(run.metrics or profile.metrics), profile, {})
    except InputError:
        return {}
    queries = scores.placement.queries
    if query not in queries:
        return {}
    at = queries.index(query)
    return {name: plain(float(score.values[at])) for name, score in scores.items()}


def _texts(runs: Iterable[StoredRun], reader: StoreReader, query: str, items: set[str]) -> tuple[Text, dict[str, Text]]:
    query_text = Text(query, "", "")
    item_texts: dict[str, Text] = {}
    for run in {str(run.inputs.get("data", "")): run for run in runs}.values():
        texts = reader.texts(run)
        if texts is None:
            continue
        query_text = texts.find([query], "query").get(query, query_text)
        item_texts = {**texts.find(items, "item"), **item_texts}
    return query_text, item_texts


def _words(text: Text) -> list[str]:
    return words(f"{text.title} {text.text}")


def _item_text(text: Text | None, terms: set[str]) -> dict[str, Any]:
    """Return title and text of an item, and the words that it shares with the query."""
    if text is None:
        return {"title": "", "text": "", "shared": []}
    shared = dict.fromkeys(word for word in _words(text) if word in terms)
    return {"title": text.title, "text": text.text, "shared": list(shared)}


def _short(text: Text | None) -> str:
    """Return a query for a list: its title, if it has one, and the beginning of its text."""
    if text is None:
        return ""
    whole = f"{text.title} — {text.text}" if text.title and text.text else text.title or text.text
    return whole if len(whole) <= LONGEST_SHOWN else whole[:LONGEST_SHOWN] + "…"
