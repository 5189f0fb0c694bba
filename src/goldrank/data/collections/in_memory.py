"""Collections from Python objects: labelled records, Hugging Face data sets, frames, or corpus, queries and qrels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from goldrank.data.collections import articles, classes
from goldrank.data.collections.collection import Collection, Documents
from goldrank.data.collections.records import (
    PlacedRecord,
    Record,
    describe_records,
    further_names,
    parse_document,
    parse_query,
    unique_documents,
)
from goldrank.data.collections.splits import choose_split, in_order
from goldrank.errors import InputError, shorten
from goldrank.io.columns import Columns
from goldrank.io.formats.parquet import load_pyarrow
from goldrank.io.mappings import from_pairs
from goldrank.io.tables import columns_from

ACCEPTED = (
    'a list of records with id, text and labels ([{"id": "a", "text": "…", "labels": ["b"]}, …]), a Hugging Face '
    'Dataset or DatasetDict, a pandas or polars data frame, an Arrow table, {"corpus": …, "queries": …, "qrels": …}, '
    'one class label per vector, or for vectors and rankings the gold alone: {"q1": {"d3": 2}}'
)
_NAME = "records"
_GOLD = ("qrels", "default", "gold", "relevant_docs")


def collection_from(data: object, split: str | None = None) -> Collection:
    """Return the collection in a Python object, as a copy that later changes of *data* do not affect.

    Args:
        data: articles as records with an id, a text (or a title with sections) and maybe labels, as a list, a Hugging
            Face ``Dataset``, a data frame or an Arrow table; a mapping of splits to any of these, such as a
            ``DatasetDict``; or a mapping with ``corpus``, ``queries`` and ``qrels``, or a tuple of these three. A
            corpus or queries may also be a list of texts, whose ids are "0", "1" …, and qrels a list with a row for
            each query.
        split: the split of a mapping; by default the one for evaluation.

    >>> collection_from([{"id": "a", "text": "one", "labels": ["b"]}, {"id": "b", "text": "two"}])
    Collection(records/test: 2 items, related, 1 judged)
    >>> collection_from({"corpus": {"d": "one"}, "queries": {"q": "two"}, "qrels": {"q": ["d"]}})
    Collection(records/test: 1 items, 1 queries, 1 judged)
    """
    if isinstance(data, tuple) and len(data) == 3 and not all(_is_record(part) for part in data):
        # What the loader of BEIR returns, or the same parts in another form.
        data = dict(zip(("corpus", "queries", "qrels"), data, strict=True))
    if _is_labels(data):
        choose_split(split, ["test"], _place(data))
        return classes.from_labels(data)  # type: ignore[arg-type]
    if not isinstance(data, Mapping) or not data:
        rows = _rows(data)
        return _articles(rows, choose_split(split, ["test"], _place(data)), {"test": rows}, _place(data))
    if {"articles", "sims"} <= set(data):
        data = {"test": _joined(_rows(data["articles"]), _rows(data["sims"]))}
    keys = [key for key in data if isinstance(key, str)]
    if "corpus" in keys:
        return _retrieval(data, split)
    parts = {key: rows_or_none(data[key]) for key in keys}
    if len(keys) != len(data) or any(rows is None for rows in parts.values()):
        raise _refused(f"a mapping with the keys {shorten(list(data))}")
    chosen = choose_split(split, parts, _place(data))
    return _articles(parts[chosen] or [], chosen, parts, f"{_place(data)}[{chosen!r}]")


def _articles(rows: Sequence[Record], split: str, splits: Mapping[str, object], place: str) -> Collection:
    return articles.from_records(_placed(rows, place), place, split, splits, _NAME)


def _is_labels(data: Any) -> bool:
    """Return True if this is a column of class labels: texts or integers."""
    if isinstance(data, (str, bytes, Mapping)) or not hasattr(data, "__len__") or not hasattr(data, "__iter__"):
        return False
    if getattr(data, "ndim", 1) != 1 or hasattr(data, "columns") or hasattr(data, "column_names") or not len(data):
        return False
    return all(isinstance(value, (str, int, np.integer, np.str_)) for value in data)


def _joined(rows: Sequence[Record], similar: Sequence[Record]) -> list[Record]:
    """Join articles and their targets, as transformer_document_embedding loads them, into one record each."""
    targets = {row.get("source_id"): row.get("target_ids") for row in similar}
    return [
        {
            "id": row.get("id"),
            "title": row.get("title"),
            "sections": list(zip(row.get("section_titles") or (), row.get("section_texts") or (), strict=False)),  # type: ignore[call-overload]
            "labels": targets.get(row.get("id")),
        }
        for row in rows
    ]


def _retrieval(parts: Mapping[Any, Any], split: str | None) -> Collection:
    place = _place(parts)
    judged = next((key for key in _GOLD if key in parts), None)
    missing = [key for key, there in (("queries", "queries" in parts), ("qrels", judged is not None)) if not there]
    if missing:
        raise InputError(
            f"the data has a corpus but no {' and no '.join(missing)} (keys: {', '.join(map(str, parts))})",
            where=place,
            remedy='give {"corpus": …, "queries": …, "qrels": {"query": {"item": grade}}}',
        )
    corpus, queries, gold = parts["corpus"], parts["queries"], parts[judged]
    readings: list[str] = []
    splits = dict(gold) if _is_splits(gold) else {"test": gold}
    chosen = choose_split(split, splits, f"{place}[{judged!r}]")
    return Collection(
        name=_NAME,
        items=_documents(corpus, "corpus", chosen, place, readings),
        queries=_documents(queries, "queries", chosen, place, readings),
        gold=(columns := _judgments(splits[chosen], f"{place}[{judged!r}]")),
        split=chosen,
        splits=in_order(splits),
        source=place,
        format="in memory",
        readings=(*readings, *filter(None, [columns.reading])),
    )


def _judgments(part: Any, place: str) -> Columns:
    if isinstance(part, list) and part and all(isinstance(row, (list, set, str, int)) for row in part):
        # A row for each query of a list of texts: the number of an item, or a list of several.
        part = {str(number): row if isinstance(row, (list, set)) else [row] for number, row in enumerate(part)}
    if isinstance(part, Mapping):
        return from_pairs(part.items(), "gold", place, integers=True)
    if isinstance(part, Sequence) and all(isinstance(row, Mapping) for row in part):
        pyarrow, _ = load_pyarrow()
        part = pyarrow.Table.from_pylist(list(part))
    return columns_from(part, "gold")


def gold_from(data: object) -> Columns:
    """Return only the labels of articles as gold; the records need no texts."""
    placed = ((place, {"text": "", **record}) for place, record in _placed(_rows(data), _place(data)))
    return articles.from_records(placed, _place(data), "test", {"test": data}, "records").gold


def _documents(part: Any, key: str, split: str, place: str, readings: list[str]) -> Documents:
    """Return the texts of a corpus or of queries: records, or a mapping of ids to texts or records.

    How the fields of records were read is added to *readings*.
    """
    where = f"{place}[{key!r}]"
    if _is_splits(part):
        part = part[split] if split in part else next(iter(part.values()))
    if key == "corpus" and type(part).__module__.partition(".")[0] == "datasets":
        readings.append(describe_records(key, list(part.column_names)))
        # A Dataset is immutable and mapped from its file, so it can be iterated over without loading it.
        return Documents(lambda: (parse_document(record, row) for row, record in _placed(part, where)), where)
    rows: Sequence[Record] | None
    if (
        type(part).__module__.partition(".")[0] == "pandas"
        and hasattr(part, "to_dict")
        and not hasattr(part, "columns")
    ):
        part = part.to_dict()  # a Series of texts by id
    if isinstance(part, Mapping):
        rows = [
            {**(dict(value) if isinstance(value, Mapping) else {"text": value}), "id": text_id}
            for text_id, value in part.items()
        ]
    elif isinstance(part, (list, tuple)) and part and all(isinstance(text, str) for text in part):
        rows = [{"id": str(number), "text": text} for number, text in enumerate(part)]
    else:
        rows = rows_or_none(part)
    if not rows:
        raise InputError(
            f"the {key} is {shorten(part)}" if rows is None else f"the {key} is empty",
            where=place,
            remedy='give {"id": "text"}, {"id": {"title": "…", "text": "…"}}, records or a data frame with id and '
            'text, or a list of texts, whose ids are "0", "1", …',
        )
    names = list(dict.fromkeys(name for row in rows for name in row))
    parse = parse_query if key == "queries" else parse_document
    documents = Documents(unique_documents([(row, parse(record, row)) for row, record in _placed(rows, where)]), where)
    if not isinstance(part, Mapping):
        readings.append(describe_records(key, names, further_names(rows[0]) if key == "queries" else ()))
    return documents


def _is_splits(part: object) -> bool:
    """Return True if this maps splits to tables, as a DatasetDict does."""
    return isinstance(part, Mapping) and bool(part) and all(hasattr(rows, "column_names") for rows in part.values())


def _is_record(part: object) -> bool:
    return isinstance(part, Mapping) and "id" in part and "text" in part


def _rows(data: object) -> Sequence[Record]:
    rows = rows_or_none(data)
    if rows is None:
        raise _refused(shorten(data) if isinstance(data, (list, tuple)) else f"an object of type {type(data).__name__}")
    return rows


def rows_or_none(data: Any) -> Sequence[Record] | None:
    """Return the records of a table or list, or None for anything else; no package is imported for that."""
    library = type(data).__module__.partition(".")[0]
    if library == "pandas" and hasattr(data, "to_dict"):
        return data.to_dict("records")  # type: ignore[no-any-return]
    if hasattr(data, "to_dicts"):  # polars
        return data.to_dicts()  # type: ignore[no-any-return]
    if hasattr(data, "to_pylist"):  # pyarrow
        data = data.to_pylist()
    if isinstance(data, (str, bytes, Mapping)) or not isinstance(data, Iterable):
        return None
    rows = list(data)
    return rows if all(isinstance(row, Mapping) for row in rows) else None


def _placed(rows: Iterable[Record], place: str) -> Iterator[PlacedRecord]:
    for number, record in enumerate(rows):
        yield f"{place}: row {number} (counted from 0)", record


def _place(data: object) -> str:
    return f"the {type(data).__name__}"


def _refused(what: str) -> InputError:
    return InputError(f"{what} is not data to evaluate on", remedy=f"give the path of a file or folder, {ACCEPTED}")
