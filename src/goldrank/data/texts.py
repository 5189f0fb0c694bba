"""Texts with ids, a corpus or queries, from JSON(L), CSV, TSV, Parquet, plain lines or a BEIR folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from goldrank.data.collections.collection import Documents
from goldrank.data.collections.records import (
    ID_NAMES,
    TEXT_NAMES,
    PlacedRecord,
    parse_document,
    parse_json,
    parse_json_lines,
    parse_query,
    placed_rows,
    require_keys,
    unique_documents,
)
from goldrank.data.collections.splits import stem_and_suffix
from goldrank.errors import InputError
from goldrank.io.column_names import first_of
from goldrank.io.compression import COMPRESSIONS
from goldrank.io.files import PathLike, display_name, is_parquet, read_bytes
from goldrank.io.formats.delimited import split_rows, table_records
from goldrank.io.formats.parquet import parquet_table


@dataclass(frozen=True)
class TextList:
    """Texts in the order of their file, with their ids.

    >>> TextList(["a", "b"], ["one", " "], "example").empty
    1
    """

    ids: list[str]
    texts: list[str]
    source: str

    @property
    def empty(self) -> int:
        """The number of texts that consist of white space only."""
        return sum(not text.strip() for text in self.texts)

    def __len__(self) -> int:
        return len(self.ids)


def read_texts(path: PathLike) -> TextList:
    """Read texts with ids; titles are prepended to texts.

    Records have an ``_id``, ``id`` or ``docid`` and a ``text``. Tables have a header with these names, or two columns
    id and text without a header. A plain text file has one text per line, with the line number as its id. Of a folder,
    which must be a BEIR data set, ``corpus.jsonl`` is read. Files may be compressed.
    """
    if str(path) != "-" and Path(path).is_dir():
        path = beir_file(path, "corpus.jsonl")
    return texts_of(read_documents(path))


def read_documents(path: PathLike, *, queries: bool = False) -> Documents:
    """Read a file of texts with ids as documents, which keep their titles, and if they may be *queries* all fields."""
    name, parse = display_name(path), parse_query if queries else parse_document
    documents = unique_documents([(place, parse(record, place)) for place, record in _records(path, name)])
    if not documents:
        raise InputError("the file holds no texts", where=name, remedy="check that it was written completely")
    return Documents(documents, name)


def texts_of(documents: Documents) -> TextList:
    """Return the texts of documents, each after its title with a blank between them."""
    texts = [" ".join(part for part in (document.title, document.text) if part.strip()) for document in documents]
    return TextList(documents.ids, texts, documents.source)


def _records(path: PathLike, name: str) -> Iterable[PlacedRecord]:
    data, suffix = read_bytes(path), stem_and_suffix(Path(path))[1]
    if is_parquet(data):
        return placed_rows(parquet_table(data, name).to_pylist(), name)
    text = data.decode()
    numbered = list(enumerate(text.removesuffix("\n").split("\n"), 1))
    if text.lstrip()[:1] in ("{", "[") and suffix not in (".txt", ".csv", ".tsv"):
        first = [line.strip() for _, line in numbered if line.strip()][:2]
        is_lines = len(first) == 2 and all(line[0] + line[-1] == "{}" for line in first)
        return parse_json_lines(numbered, name) if is_lines else parse_json(text, name)
    # Lines of plain text may contain anything; only tabs and a header prove that a file is a table.
    cells = text.partition("\n")[0].split("\t")
    if suffix in (".csv", ".tsv") or (len(cells) > 1 and first_of(cells, ID_NAMES) is not None):
        return _table_records(data, name, suffix[1:] if suffix in (".csv", ".tsv") else "tsv")
    return ((f"{name}:{number}", {"id": str(number), "text": line.rstrip("\r")}) for number, line in numbered)


def _table_records(data: bytes, name: str, format: str) -> Iterable[PlacedRecord]:
    rows = split_rows(data, name, format)
    first_line, first = next(rows, (0, []))
    if len(first) != 2 or first_of(first, (*ID_NAMES, *TEXT_NAMES)) is not None:
        require_keys(tuple(first), f"{name}:{first_line}")
        return table_records(data, name, format)
    return (
        (f"{name}:{line}", dict(zip(("id", "text"), row, strict=True)))
        for line, row in chain([(first_line, first)], rows)
    )


def beir_file(folder: PathLike, *names: str) -> Path:
    """Return the first of *names* that exists in the folder, compressed or not."""
    for name in names:
        for suffix in ("", *COMPRESSIONS):
            if (file := Path(folder) / f"{name}{suffix}").is_file():
                return file
    raise InputError(
        f"the folder holds no {' or '.join(names)}",
        where=str(folder),
        remedy="a BEIR folder holds corpus.jsonl, queries.jsonl and qrels/test.tsv; or name the files themselves",
    )
