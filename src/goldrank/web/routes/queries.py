"""Queries: list them with their scores, and show one with the rankings of several runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from goldrank.encoders.tokens import words
from goldrank.errors import InputError, shorten
from goldrank.metrics import parse_all
from goldrank.reporting.text.results import plain
from goldrank.runs.stored_scores import profile_of
from goldrank.store import StoredRun
from goldrank.store.tables import Load
from goldrank.store.texts import Text
from goldrank.web.dependencies import Explorer, Keys, Page, QuickOptions, Size, SortOrder, page_of, sort_entries
from goldrank.web.responses import ERRORS, Json, NotFoundError
from goldrank.web.routes.runs import Key
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


@routes.get("/runs/{key}/queries", summary="The queries of a run, page by page")
def list_queries(
    explorer: Explorer,
    key: Key,
    options: QuickOptions,
    q: Annotated[str, Query(max_length=300, description="Words in the id or text of a query.")] = "",
    sort: Annotated[Literal["id", "value"], Query(description="What to sort by.")] = "value",
    order: SortOrder = "asc",
    page: Page = 1,
    size: Size = 50,
) -> Json:
    """Every query with its value under one metric: the one that is given, or else the first of the run."""
    run = explorer.reader.run(key)
    texts = explorer.reader.texts(run)
    metrics, profile = options.for_runs({key: run})
    score = next(iter(explorer.reader.scores(run, metrics, profile, options.changes).values()))
    entries = list(zip(score.queries, score.values.tolist(), strict=True))
    if q.strip():
        matching = texts.matching(q, "query") if texts is not None else set()
        parts = q.casefold().split()
        entries = [
            entry for entry in entries if entry[0] in matching or all(part in entry[0].casefold() for part in parts)
        ]
    ordered = sort_entries(entries, lambda entry: entry[1] if sort == "value" else entry[0], order)
    shown = page_of(ordered, page, size)
    query_texts = {} if texts is None else texts.find([query for query, _ in shown], "query")
    return Json(
        {
            "total": len(entries),
            "page": page,
            "size": size,
            "metric": str(score.metric),
            "direction": score.metric.definition.direction,
            "queries": [
                {"id": query, "text": _short(query_texts.get(query)), "value": plain(value)} for query, value in shown
            ],
        }
    )


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
    if not any(judged.values()) and not any(rankings.values()):
        raise NotFoundError(f"there is no query {shorten(query)} in these runs", remedy="see /api/runs/KEY/queries")
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
