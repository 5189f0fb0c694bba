"""Read the documents and the queries of a judging project, which have no gold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from goldrank.data.collections import Collection, Document, Documents, folder, takes_questions
from goldrank.data.collections.questions import ID_NAMES, QuestionTable
from goldrank.data.collections.splits import stem_and_suffix
from goldrank.data.collections.tables import TABLE_SUFFIXES
from goldrank.data.texts import read_documents
from goldrank.errors import InputError, counts, shorten
from goldrank.hits import Gold
from goldrank.io.checks import is_missing
from goldrank.io.columns import Columns, group
from goldrank.io.files import PathLike, display_name, nearest_path, read_bytes
from goldrank.io.metadata import metadata_fields
from goldrank.tasks.catalogue import TASKS, find_task
from goldrank.tasks.ranking.data import RankingData
from goldrank.tasks.ranking.task import RankingTask, task_of
from goldrank.tasks.settings import Settings


@dataclass(frozen=True)
class Queries:
    """Queries, and what was left out."""

    documents: Documents
    remarks: tuple[str, ...] = ()


def load_data(docs: PathLike, queries: PathLike | None, settings: Settings) -> RankingData:
    """Read what systems rank: documents, and queries without gold.

    Args:
        docs: A folder of documents, a file of texts with ids, or any task or collection that `find_task` knows; of a
            collection, the gold is not used.
        queries: A file of queries, as in `read_queries`; None for those of the collection.
        settings: How documents are ranked; their ``limit`` samples the queries.

    Raises:
        InputError: There is no such data, or there are no queries.
    """
    task, items, own, remarks = read_items(docs, queries)
    if queries is not None:
        read = read_queries(queries)
        chosen, remarks = read.documents, [*remarks, *read.remarks]
    elif own is not None:
        chosen = own
    else:
        raise InputError(
            "there are no queries for these documents",
            where=str(docs),
            remedy="give them with --queries FILE: a query per line, or a table with a column query",
        )
    if settings.limit is not None and settings.limit < len(chosen):
        everything = list(chosen)
        rng = np.random.default_rng(settings.seed)
        sample = sorted(rng.choice(len(everything), settings.limit, replace=False).tolist())
        remarks = [*remarks, f"{settings.limit} of {len(everything)} queries drawn at random (--limit)"]
        chosen = Documents([everything[number] for number in sample], chosen.source)
    name = task.name if task is not None else Path(str(docs)).expanduser().resolve().name.partition(".")[0]
    gold = _without_gold(chosen)
    collection = Collection(name, items, chosen, gold, source=str(docs), format="folder", remarks=list(remarks))
    known = task_of(collection, name)
    if task is not None:
        known = replace(known, text=task.text, query_text=known.query_text if queries is not None else task.query_text)
    return RankingData(known, collection, Gold.from_columns(gold), replace(settings, limit=None))


def read_queries(source: PathLike) -> Queries:
    """Read queries from a text file, a query per line, or from a table with a column such as query or question.

    Tables are CSV, TSV, JSON, JSON Lines, Parquet or Excel files; a column of ids is used if there is one. Blank lines
    and repeated queries are left out. The ids of lines are ``q1`` for the first line and so on.
    """
    if stem_and_suffix(Path(str(source)))[1] in TABLE_SUFFIXES or str(source).endswith(")"):
        return _read_table(source)
    name = display_name(source)
    lines = read_bytes(source).decode().removesuffix("\n").split("\n")
    return _unique([(f"q{number}", line.strip(), ()) for number, line in enumerate(lines, 1)], name)


def _read_table(source: PathLike) -> Queries:
    try:
        opened = QuestionTable.open(source)
    except InputError:
        if stem_and_suffix(Path(str(source)))[1] != ".tsv":
            raise
        try:
            # Two columns, id and text, without a header.
            documents = read_documents(source, queries=True)
        except InputError:
            documents = None
        if documents is None:
            raise
        return _unique([(document.id, document.text.strip(), ()) for document in documents], str(source))
    column = opened.query
    ids = opened.single("id", ID_NAMES, [column])
    rows = []
    for number, (place, record) in enumerate(opened.table.rows, 1):
        text, name = _text(record.get(column)), f"q{number}" if ids is None else _text(record.get(ids))
        if text and not name:
            raise InputError("the query has no id", where=place, remedy="give all queries an id, or none")
        rows.append((name, text, tuple(metadata_fields(record, (column, ids)).items())))
    result = _unique(rows, opened.table.source)
    return replace(result, remarks=(*opened.table.remarks, *result.remarks))


def _text(cell: object) -> str:
    return "" if is_missing(cell) else str(cell).strip()


def _unique(rows: list[tuple[str, str, tuple[tuple[str, str], ...]]], source: str) -> Queries:
    """Return the queries that are not blank, each text once."""
    texts: dict[str, str] = {}
    queries: list[Document] = []
    blank = repeated = 0
    seen: set[str] = set()
    for name, text, further in rows:
        if not text:
            blank += 1
        elif texts.setdefault(name, text) != text:
            raise InputError(
                f"the query {shorten(name)} has two texts", where=source, remedy="give every query its own id"
            )
        elif text in seen:
            repeated += 1
        else:
            seen.add(text)
            queries.append(replace(Document.plain(name, text), further=further))
    if not queries:
        raise InputError("the file holds no queries", where=source, remedy="write one query per line")
    left_out = {"blank": blank, "repeated": repeated}
    remarks = [
        f"{counts(number, f'{kind} query', f'{kind} queries')} left out" for kind, number in left_out.items() if number
    ]
    return Queries(Documents(queries, source), tuple(remarks))


def read_items(
    docs: PathLike, queries: PathLike | None
) -> tuple[RankingTask | None, Documents, Documents | None, list[str]]:
    """Return the task if there is one, the documents, their own queries, and remarks."""
    path = Path(str(docs)).expanduser()
    if str(docs) not in TASKS and path.is_dir() and takes_questions(path):
        items, remarks = folder.read_documents(path, queries or "")
        return None, items, None, remarks
    if queries is not None and str(docs) not in TASKS and path.is_file():
        return None, read_documents(path), None, []
    if isinstance(docs, str) and not path.exists() and ":" not in docs and docs not in TASKS:
        raise InputError("there is no such file or folder", where=docs, remedy=nearest_path(docs))
    task = find_task(docs)
    if not isinstance(task, RankingTask):
        raise InputError("this task ranks no documents", where=str(docs), remedy="give documents")
    collection = task.read(None)
    if not collection.has_texts:
        raise InputError("there are no texts to judge", where=str(docs), remedy="give documents with their texts")
    if collection.related and queries is None:
        raise InputError(
            "the articles of this collection are its own queries",
            where=str(docs),
            remedy="give others with --queries FILE",
        )
    remarks = list(collection.notes)
    if len(collection.gold.items):
        remarks.append(f"the {len(collection.gold.items)} judgments of {task.name} are not used")
    return task, collection.items, None if collection.related else collection.queries, remarks


def _without_gold(queries: Documents) -> Columns:
    return group([], [], np.zeros(0), "gold", source=queries.source, place=str, listed=queries.ids)
