"""Single queries: which there are and how they scored, and where each model put what for one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from goldrank.encoders.tokens import words as words_of
from goldrank.errors import InputError, shorten
from goldrank.metrics import parse_all
from goldrank.reporting.text.results import number
from goldrank.runs.stored_scores import profile_of
from goldrank.scoring import agree
from goldrank.store import StoredRun
from goldrank.store.tables import Load
from goldrank.store.texts import Text
from goldrank.web.dependencies import Asked, Explorer, Keys, Order, Page, Size, page_of, plain_order
from goldrank.web.responses import ERRORS, Json, NotFoundError
from goldrank.web.routes.runs import Key
from goldrank.web.store_reader import Reader
from goldrank.web.text_files import LONGEST_SHOWN

routes = APIRouter(tags=["queries"], responses=ERRORS)
_WITHOUT_SELF = ("drop", "drop_results", "aside")
# Words that nearly every English text holds tell nothing when they are shared.
_COMMON = frozenset(
    {
        *("an", "and", "are", "as", "at", "be", "by", "can", "did", "do", "does", "for", "from", "has", "have", "how"),
        *("in", "is", "it", "its", "not", "of", "on", "or", "that", "the", "their", "this", "to", "was", "were"),
        *("what", "when", "where", "which", "who", "why", "with"),
    }
)


@routes.get("/runs/{key}/queries", summary="The queries of a run, a page of them")
def list_queries(
    explorer: Explorer,
    key: Key,
    asked: Asked,
    q: Annotated[str, Query(max_length=300, description="Words that id or text of a query hold.")] = "",
    sort: Annotated[Literal["id", "value"], Query(description="What to order by.")] = "value",
    order: Order = "asc",
    page: Page = 1,
    size: Size = 50,
) -> Json:
    """Every query with its value under one metric (the run's first, if none is given), so that the worst are found."""
    run = explorer.reader.run(key)
    texts = explorer.reader.texts(run)
    metrics, profile = asked.for_runs({key: run})
    score = next(iter(explorer.reader.scores(run, metrics, profile, asked.changes).values()))
    entries = list(zip(score.queries, score.values.tolist(), strict=True))
    if q.strip():
        held = texts.matching(q, "query") if texts is not None else set()
        parts = q.casefold().split()
        entries = [entry for entry in entries if entry[0] in held or all(p in entry[0].casefold() for p in parts)]
    ordered = plain_order(entries, lambda entry: entry[1] if sort == "value" else entry[0], order)
    shown = page_of(ordered, page, size)
    said = {} if texts is None else texts.find([query for query, _ in shown], "query")
    return Json(
        {
            "total": len(entries),
            "page": page,
            "size": size,
            "metric": str(score.metric),
            "direction": score.metric.definition.direction,
            "queries": [
                {"id": query, "text": _short(said.get(query)), "value": number(value)} for query, value in shown
            ],
        }
    )


@routes.get("/query", summary="One query in several runs")
def show_query(
    explorer: Explorer,
    key: Keys,
    query: Annotated[str, Query(max_length=4_000, description="The id of the query.")],
    depth: Annotated[int, Query(ge=1, le=1_000, description="How many of each ranking.")] = 20,
) -> Json:
    """What a query says, where its gold landed in each run, and what each run ranked above it."""
    runs = explorer.reader.runs(key)
    load = explorer.reader.part
    judged = {name: run.judged_items(query, load) for name, run in runs.items()}
    rankings = {name: _ranking(run, query, load)[:depth] for name, run in runs.items()}
    if not any(judged.values()) and not any(rankings.values()):
        raise NotFoundError(f"there is no query {shorten(query)} in these runs", remedy="see /api/runs/KEY/queries")
    gold = _gold(judged)
    items = {*gold, *(item for ranking in rankings.values() for item, _ in ranking)}
    asking, said = _texts(runs.values(), explorer.reader, query, items)
    terms = _terms(asking)
    return Json(
        {
            "query": {"id": query, "title": asking.title, "text": asking.text},
            "gold": [{"item": item, **_said(said.get(item), terms), **entry} for item, entry in gold.items()],
            "rankings": {
                name: [
                    {
                        "rank": rank,
                        "item": item,
                        "score": number(score),
                        **_said(said.get(item), terms),
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
    """Each judged item with its grade and its place in every run, the best grade first."""
    found: dict[str, dict[str, Any]] = {}
    for key, rows in judged.items():
        for row in rows:
            entry = found.setdefault(row["item"], {"grade": row["grade"], "places": {}})
            is_found = row["above"] >= 0
            entry["places"][key] = {
                "rank": row["above"] + 1 if is_found else None,
                "last": row["above"] + 1 + row["tied"] if is_found else None,
                "found": is_found,
            }
    return dict(sorted(found.items(), key=lambda pair: (-pair[1]["grade"], pair[0])))


def _ranking(run: StoredRun, query: str, load: Load) -> list[tuple[str, float]]:
    """The stored top of a ranking as it was counted: by score, ties as the run's conventions order them."""
    conventions = agree(profile_of(run), {})
    entries = list(run.ranking(query, load).items())
    if conventions.self_matches in _WITHOUT_SELF or run.inputs.get("exclude_self"):
        entries = [entry for entry in entries if entry[0] != query]
    if conventions.ties == "docid":
        entries.sort(key=lambda entry: entry[0].encode("utf-8", "surrogatepass"), reverse=True)
    return sorted(entries, key=lambda entry: -entry[1])


def _values(run: StoredRun, reader: Reader, query: str) -> dict[str, float | None]:
    """What the query scores under the run's own metrics; nothing where it is left out of the means."""
    profile = profile_of(run)
    try:
        scores = reader.scores(run, parse_all(run.metrics or profile.metrics), profile, {})
    except InputError:
        return {}
    queries = scores.placement.queries
    if query not in queries:
        return {}
    at = queries.index(query)
    return {name: number(float(score.values[at])) for name, score in scores.items()}


def _texts(runs: Iterable[StoredRun], reader: Reader, query: str, items: set[str]) -> tuple[Text, dict[str, Text]]:
    asking = Text(query, "", "")
    said: dict[str, Text] = {}
    for run in {str(run.inputs.get("data", "")): run for run in runs}.values():
        texts = reader.texts(run)
        if texts is None:
            continue
        asking = texts.find([query], "query").get(query, asking)
        said = {**texts.find(items, "item"), **said}
    return asking, said


def _terms(text: Text) -> set[str]:
    return {word for word in words_of(f"{text.title} {text.text}") if word not in _COMMON}


def _said(text: Text | None, terms: set[str]) -> dict[str, Any]:
    if text is None:
        return {"title": "", "text": "", "shared": []}
    shared = dict.fromkeys(word for word in words_of(f"{text.title} {text.text}") if word in terms)
    return {"title": text.title, "text": text.text, "shared": list(shared)}


def _short(text: Text | None) -> str:
    """A query in a list: its title, if it has one, and the beginning of its text."""
    if text is None:
        return ""
    said = f"{text.title} — {text.text}" if text.title and text.text else text.title or text.text
    return said if len(said) <= LONGEST_SHOWN else said[:LONGEST_SHOWN] + "…"
