"""Make a file of queries from documents, with their known-item gold and the documents to search, and measure them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldrank.data.collections.collection import Document
from goldrank.errors import DataWarning, InputError, counts, unknown_name
from goldrank.hits import Run
from goldrank.io.files import PathLike, write_atomically
from goldrank.judging.chat_requests import Expense, Limits
from goldrank.judging.known_items import LLM, RULES, KnownItemQuery, KnownItems, QueryWriter, make_by_rule, texts_of
from goldrank.judging.query_kinds import KindDifference, KindMeasures, measure_kinds
from goldrank.judging.sources import load_data, read_items
from goldrank.presentation import Result
from goldrank.runs.evaluate import settings_of
from goldrank.tasks.ranking.models import load_model

_DEPTH = 100
_MUCH = 0.5
"""From this share of common words up, a query favours systems that match words so much that a warning says it."""


@dataclass(frozen=True, repr=False)
class MadeQueries(Result):
    """Queries that were made from documents, where they are, and how much they favour systems that match words."""

    queries: tuple[KnownItemQuery, ...]
    files: dict[str, str]
    """The files that were written: queries, gold and documents."""
    kinds: tuple[KindMeasures, ...]
    differences: tuple[KindDifference, ...]
    """What differs between each two kinds."""
    warnings: tuple[DataWarning, ...]
    remarks: tuple[str, ...]
    expense: Expense
    """What the requests to the chat model took."""


def make_queries(
    docs: PathLike,
    output: PathLike,
    *,
    llm: str | None = None,
    kinds: Sequence[str] | None = None,
    count: int = 100,
    seed: int = 0,
    models: Sequence[str] = (),
    limits: Limits | None = None,
) -> MadeQueries:
    """Make queries from documents by rule or by asking a chat model, and write them with their known-item gold.

    Three files are written: the queries, ``NAME.known-item-qrels.txt`` with the document that each was made from, and
    ``NAME.documents.jsonl`` with the documents without what the queries repeat, which are to be searched.

    Args:
        docs: A folder of documents, a file of texts with ids, or a task or collection, whose gold is not used.
        output: The file of queries, JSON Lines.
        llm: ``openai:MODEL@URL``.
        kinds: Some of ``title``, ``heading``, ``sentence``, ``terms`` and, with *llm*, ``llm``; by default all rules,
            or ``llm`` alone.
        count: The number of queries, of all kinds together.
        seed: Of the choice of documents.
        models: Systems that search the documents, to measure whether their order depends on the kind of queries.
        limits: Of the requests to the chat model.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "queries.jsonl"
    >>> result = make_queries("questions", file, kinds=["title", "terms"], count=10)
    >>> len(result.queries), [kind.kind for kind in result.kinds], file.exists()
    (10, ['title', 'terms'], True)
    """
    chosen = _checked(kinds, llm, count)
    files = _files(output)
    items, remarks = _read(docs)
    result = _make(items, chosen, count, seed, QueryWriter(llm, limits) if llm is not None else None)
    _write(files, result.known)
    rankings = _rank(files, models)
    documents = {document.id: document for document in result.known.documents}
    measures, differences = measure_kinds(result.known.queries, documents, rankings)
    return MadeQueries(
        result.known.queries,
        files,
        tuple(measures),
        tuple(differences),
        tuple(_warnings(measures, differences)),
        (*remarks, *result.known.remarks),
        result.expense,
    )


@dataclass(frozen=True)
class _Made:
    known: KnownItems
    expense: Expense


def _checked(kinds: Sequence[str] | None, llm: str | None, count: int) -> tuple[str, ...]:
    possible = [*RULES, *([LLM] if llm is not None else [])]
    chosen = tuple(dict.fromkeys(kinds)) if kinds else ((LLM,) if llm is not None else tuple(RULES))
    for kind in chosen:
        if kind == LLM and llm is None:
            raise InputError("queries of the kind llm need a chat model", remedy="add --llm openai:MODEL@URL")
        if kind not in possible:
            raise unknown_name("kind of queries", kind, possible, f"one of {', '.join(possible)}")
    if llm is not None and LLM not in chosen:
        raise InputError("the chat model has no effect without the kind llm", remedy="add llm to the kinds")
    if count < len(chosen):
        raise InputError(
            f"{counts(count, 'query', 'queries')} cannot be of {len(chosen)} kinds", remedy="make more queries"
        )
    return chosen


def _files(output: PathLike) -> dict[str, str]:
    path = Path(output)
    if path.suffix != ".jsonl":
        raise InputError("the queries are written as JSON Lines", where=str(output), remedy="name a file *.jsonl")
    if not path.absolute().parent.is_dir():
        raise InputError("the folder does not exist", where=str(output), remedy="create it first")
    return {
        "queries": str(path),
        "gold": str(path.with_name(f"{path.stem}.known-item-qrels.txt")),
        "documents": str(path.with_name(f"{path.stem}.documents.jsonl")),
    }


def _read(docs: PathLike) -> tuple[list[Document], list[str]]:
    _, items, _, remarks = read_items(docs, "")
    return list(items), remarks


def _make(items: list[Document], kinds: tuple[str, ...], count: int, seed: int, writer: QueryWriter | None) -> _Made:
    rules = [kind for kind in kinds if kind != LLM]
    by_model = count // len(kinds) if writer is not None else 0
    known = make_by_rule(items, rules, count - by_model, seed) if rules else KnownItems((), tuple(items))
    if writer is None:
        return _Made(known, Expense())
    used = {query.document for query in known.queries}
    written = writer.write([document for document in items if document.id not in used], by_model, seed)
    queries = (*known.queries, *written.queries)
    return _Made(KnownItems(queries, known.documents, (*known.remarks, *written.remarks)), writer.requests.expense)


def _write(files: dict[str, str], known: KnownItems) -> None:
    def rows(content: Iterable[dict[str, Any]]) -> bytes:
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in content).encode("utf-8", "replace")

    queries = rows({"id": query.id, "query": query.text, "kind": query.kind} for query in known.queries)
    # The second column of qrels, which no reader uses, says what kind of gold this is.
    gold = "".join(f"{query.id} known-item {query.document} 1\n" for query in known.queries).encode("utf-8", "replace")
    documents = rows(texts_of(known.documents))
    for name, content in (("documents", documents), ("gold", gold), ("queries", queries)):
        write_atomically(files[name], lambda stream, content=content: stream.write(content))  # type: ignore[misc]


def _rank(files: dict[str, str], models: Sequence[str]) -> dict[str, Run]:
    if not models:
        return {}
    data = load_data(files["documents"], files["queries"], settings_of(None, {"depth": _DEPTH}))
    return {spec: load_model(spec).rank(data).run for spec in dict.fromkeys(models)}


def _warnings(measures: Sequence[KindMeasures], differences: Sequence[KindDifference]) -> Iterable[DataWarning]:
    yield DataWarning(
        "known-item-gold",
        "The gold of these queries is only the document that each was made from; other relevant documents count as not "
        "relevant.",
        remedy="To compare systems, judge a pool for the queries with goldrank judge start.",
    )
    for measure in measures:
        if measure.overlap.value >= _MUCH:
            yield DataWarning(
                "lexical-overlap",
                f"On average, the document has {measure.overlap.value:.0%} of the words of its query, which favours "
                "systems that match words.",
                subject=f"queries of the kind {measure.kind}",
                remedy="Prefer queries of people.",
            )
    for difference in differences:
        for pair in difference.shown:
            turned = ", which reverses their order" if pair in difference.reversed else ""
            yield DataWarning(
                "order-depends-on-kind",
                f"The advantage {pair} changes by {difference.advantages[pair].value:+.3f} from {difference.second} to "
                f"{difference.first} queries{turned}.",
                remedy="Do not choose a system by these queries.",
            )
    if len(measures) == 1:
        yield DataWarning(
            "one-kind",
            "All queries are of one kind, so that nothing shows how much the kind decides.",
            remedy="Make several kinds, and compare systems on each with -m.",
        )
