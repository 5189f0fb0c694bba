"""Stretches of files of documents, wherever they lie: Parquet by row groups, JSON Lines from their beginning."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import PurePath

from goldrank.data.collections.collection import Document
from goldrank.data.collections.records import Placed, document, parquet_file, read_records
from goldrank.io.files import COMPRESSIONS

ENDINGS = (
    ".parquet",
    ".pq",
    *(f"{ending}{packed}" for ending in (".jsonl", ".ndjson") for packed in ("", *COMPRESSIONS)),
)
"""How the names of files end that hold documents in shards."""


def count_documents(path: str) -> int:
    """How many documents a file holds; of Parquet only the footer is read."""
    if is_parquet_name(path):
        with parquet_file(path) as file:
            return int(file.metadata.num_rows)
    return sum(1 for _ in read_records(path))


def documents_between(path: str, start: int, stop: int) -> Iterator[Document]:
    """The documents *start* to *stop* of a file."""
    records = _rows(path, start, stop) if is_parquet_name(path) else islice(read_records(path), start, stop)
    for place, record in records:
        yield document(record, place)


def is_parquet_name(path: str) -> bool:
    """Whether a file is Parquet, going by its name."""
    return PurePath(path.partition("?")[0]).suffix.lower() in (".parquet", ".pq")


def _rows(path: str, start: int, stop: int) -> Iterator[Placed]:
    with parquet_file(path) as file:
        before = 0
        for group in range(file.num_row_groups):
            count = file.metadata.row_group(group).num_rows
            low, high = max(start - before, 0), min(stop - before, count)
            if low < high:
                rows = file.read_row_group(group).slice(low, high - low).to_pylist()
                for number, record in enumerate(rows, before + low + 1):
                    yield f"{path}: row {number}", record
            before += count
