"""Texts in shards: items cut into stretches that any worker can read by itself from files that all of them reach."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from goldrank.data.collections import Document
from goldrank.data.collections.records import documents_between, is_parquet_name
from goldrank.data.text_rule import TextRule
from goldrank.encoders.base import checked_texts
from goldrank.errors import InputError
from goldrank.io.formats.parquet import load_pyarrow
from goldrank.io.remote import exists, join, write_whole

# A file of lines is read from its beginning for each of its shards, which are therefore few.
_MOST_SHARDS = 4


@dataclass(frozen=True)
class Piece:
    """The documents *start* to *stop* of one file."""

    path: str
    start: int
    stop: int


@dataclass(frozen=True)
class TextShard:
    """A stretch of the items: where it starts among all of them, and the pieces of files that hold it."""

    first: int
    count: int
    pieces: tuple[Piece, ...]
    rule: TextRule
    """How a document becomes a text."""

    def read(self) -> tuple[list[str], list[str]]:
        """The ids and the texts."""
        ids, texts = [], []
        for piece in self.pieces:
            for document in documents_between(piece.path, piece.start, piece.stop):
                ids.append(document.id)
                texts.append(self.rule.text(document))
        if len(ids) != self.count:
            files = ", ".join(piece.path for piece in self.pieces)
            raise InputError(
                f"there are {len(ids)} documents where there were {self.count}",
                where=files,
                remedy="start again: the files were changed meanwhile",
            )
        return ids, texts


def cut(files: Sequence[str], counts: Sequence[int], rule: TextRule, size: int) -> list[TextShard]:
    """The documents of *files*, so many in each, one after the other in shards of *size*; the last may be smaller.

    Shards are cut by the number of an item and not by file, so that it makes no difference into how many files the
    same documents were put.
    """
    shards: list[TextShard] = []
    pieces: list[Piece] = []
    first = held = 0
    for path, count in zip(files, counts, strict=True):
        start = 0
        while start < count:
            stop = min(start + size - held, count)
            pieces.append(Piece(path, start, stop))
            held += stop - start
            start = stop
            if held == size:
                shards.append(TextShard(first, held, tuple(pieces), rule))
                first, held, pieces = first + held, 0, []
    if held:
        shards.append(TextShard(first, held, tuple(pieces), rule))
    return shards


def are_quick_to_cut(files: Sequence[str], counts: Sequence[int], size: int) -> bool:
    """Whether no file would have to be read from its beginning for each of many shards, as long files of lines are."""
    return all(is_parquet_name(file) or count <= _MOST_SHARDS * size for file, count in zip(files, counts, strict=True))


_PLAIN = TextRule(("text",))


def staged(documents: Iterable[Document], rule: TextRule, size: int, folder: str) -> list[TextShard]:
    """Documents written as texts into files of *size* each, for workers that cannot read them where they are.

    A file that is there already is taken as it is: the folder is named by what it holds.
    """
    shards: list[TextShard] = []
    rows, first = iter(documents), 0
    while batch := list(islice(rows, size)):
        path = join(folder, f"{len(shards):06d}.parquet")
        if not exists(path):
            _write([document.id for document in batch], [rule.text(document) for document in batch], path)
        shards.append(TextShard(first, len(batch), (Piece(path, 0, len(batch)),), _PLAIN))
        first += len(batch)
    return shards


def _write(ids: list[str], texts: list[str], path: str) -> None:
    pyarrow, parquet = load_pyarrow()
    # Half a surrogate pair has no place in UTF-8; models are given U+FFFD for it anyway.
    columns = {"id": ids, "text": checked_texts(texts)}
    table = pyarrow.table({name: pyarrow.array(values, pyarrow.string()) for name, values in columns.items()})

    def fill(stream: Any) -> None:
        parquet.write_table(table, stream, compression="zstd", row_group_size=8192)

    write_whole(path, fill)
