"""Collection: the documents to rank, the queries, and the gold of an evaluation."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from pathlib import Path

import numpy as np

from goldrank.errors import InputError, shorten
from goldrank.io.checks import find_duplicate
from goldrank.io.columns import Columns
from goldrank.io.files import PathLike

Section = tuple[str, str]
_DIGESTED_AT_ONCE = 64


@dataclass(frozen=True)
class Document:
    """A text with an id: an article of several sections, a passage, or a query.

    >>> Document.plain("d1", "Grapes and sun.", title="Wine").text
    'Grapes and sun.'
    """

    id: str
    title: str = ""
    sections: tuple[Section, ...] = ()
    """A heading and a text each; a plain text is one section without a heading."""
    lines: tuple[int, ...] = field(default=(), compare=False, repr=False)
    """The line of the file at which the text of each section starts; empty if there are no lines."""
    further: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)
    """The names and values of further fields of a query, by which results can be split."""

    @classmethod
    def plain(cls, id: str, text: str, title: str = "") -> Document:
        """Return a document whose text has no sections."""
        return cls(id, title, (("", text),) if text else ())

    @property
    def text(self) -> str:
        """The texts of all sections, without headings."""
        return " ".join([text for _, text in self.sections if text])

    @property
    def is_empty(self) -> bool:
        """Whether title, headings and texts consist of white space only."""
        return not self.title.strip() and not any(heading.strip() or text.strip() for heading, text in self.sections)


class Documents:
    """Documents in order, held in memory or read from their file at each iteration.

    Args:
        rows: The documents, or a function that reads them from the beginning.
        source: Where they come from, for messages.
        files: The files that hold exactly these documents in this order, if there are such files.

    Of streamed documents only the ids are held in memory.

    >>> documents = Documents([Document.plain("a", "one"), Document.plain("b", "two")], "example")
    >>> [document.text for document in documents], documents.ids
    (['one', 'two'], ['a', 'b'])
    """

    def __init__(
        self,
        rows: Sequence[Document] | Callable[[], Iterable[Document]],
        source: str,
        files: Sequence[PathLike] = (),
    ) -> None:
        self._rows = rows
        self.source = source
        self.files = tuple(str(Path(file).absolute()) for file in files)

    @property
    def streamed(self) -> bool:
        """Whether the documents are read from their file at each iteration."""
        return callable(self._rows)

    def __iter__(self) -> Iterator[Document]:
        return iter(self._rows() if callable(self._rows) else self._rows)

    def __len__(self) -> int:
        return len(self.ids) if callable(self._rows) else len(self._rows)

    @cached_property
    def ids(self) -> list[str]:
        """All ids, which are unique."""
        # Documents in memory are digested only if the checksum is requested.
        ids = self._read_through[0] if callable(self._rows) else [document.id for document in self._rows]
        if not _hashes_differ(ids) and (duplicate := find_duplicate(ids)):
            what = f"the id {shorten(ids[duplicate[0]])} is given twice"
            raise InputError(what, where=self.source, remedy="make ids unique")
        return ids

    def batches(self, size: int) -> Iterator[list[Document]]:
        """Yield the documents in lists of *size*."""
        rows = iter(self)
        while batch := list(islice(rows, size)):
            yield batch

    @cached_property
    def checksum(self) -> str:
        """A digest of ids, titles, headings and texts in order."""
        return self._read_through[1]

    @cached_property
    def _read_through(self) -> tuple[list[str], str]:
        """Ids and digest from one pass, because reading millions of documents takes minutes."""
        ids: list[str] = []
        digest = hashlib.sha256()
        for batch in self.batches(_DIGESTED_AT_ONCE):
            ids += [document.id for document in batch]
            # As `add_text` does, with one update for many texts: an update of its own takes longer than a short text.
            parts: list[bytes] = []
            for document in batch:
                for part in (document.id, document.title, *chain.from_iterable(document.sections)):
                    encoded = part.encode("utf-8", "surrogatepass")
                    parts += (len(encoded).to_bytes(8, "little"), encoded)
                parts.append(b"\xff")
            digest.update(b"".join(parts))
        return ids, digest.hexdigest()[:16]


def further_fields(queries: Documents) -> dict[str, dict[str, str]]:
    """Return the values of the further fields of queries: field -> query -> value; none of streamed documents."""
    values: dict[str, dict[str, str]] = {}
    for query in () if queries.streamed else queries:
        for name, value in query.further:
            values.setdefault(name, {})[query.id] = value
    return values


def _hashes_differ(ids: list[str]) -> bool:
    """Return True if the hashes of all ids differ, which takes less memory than a set of millions of ids."""
    hashes = np.fromiter(map(hash, ids), np.int64, len(ids))
    hashes.sort()
    return not (hashes[1:] == hashes[:-1]).any()


def add_gold(digest: hashlib._Hash, gold: Columns) -> None:
    """Add the queries, items and grades of gold to a digest."""
    # Adding 0.0 turns -0.0 into 0.0, which is the same number.
    values = (gold.values + 0.0).tolist()
    for query, rows in gold.rows_by_query():
        judged = (f"{item}={value!r}" for item, value in zip(gold.items[rows], values[rows], strict=True))
        digest.update("\0".join([query, *judged]).encode("utf-8", "surrogatepass") + b"\xff")


@dataclass(frozen=True, eq=False)
class Collection:
    """The data of an evaluation: items, queries and gold of one split.

    In a *related* collection the articles are both queries and items: ``queries`` and ``items`` are the same object,
    the gold of an article are similar articles, and an article is not ranked for itself.
    """

    name: str
    items: Documents
    queries: Documents
    gold: Columns
    split: str = "test"
    splits: tuple[str, ...] = ("test",)
    """The splits that can be read."""
    source: str = ""
    """The path or name it was read from."""
    format: str = ""
    """The reader that read it."""
    remarks: list[str] = field(default_factory=list)
    """What the reader left out or repaired, one sentence each, for the user."""
    readings: tuple[str, ...] = ()
    """A line for each table: what its columns were read as, and which of them were ignored."""
    ids_only: bool = False
    """Whether the items have no texts, so that only models which look up ids can be evaluated."""
    numbered: bool = False
    """Whether the ids of the items are row numbers, counted from 0, because the source has no ids."""
    gold_order: tuple[int, ...] | None = None
    """The rows of the gold in the order of the source, if that order is needed."""

    def __post_init__(self) -> None:
        if self.gold.subtopics is not None:
            raise InputError(
                "the gold is judged by subtopic, which a collection does not hold",
                where=self.gold.source,
                remedy="give one grade per query and item here; run files are scored by subtopic with `goldrank score`",
            )

    @property
    def has_texts(self) -> bool:
        """Whether the items have texts; gold alone and labelled vectors have ids only."""
        return self.has_corpus and not self.ids_only

    @property
    def has_corpus(self) -> bool:
        """Whether all items are known; gold alone names only those that are judged."""
        return self.format != "gold"

    @property
    def related(self) -> bool:
        """Whether the items themselves are the queries."""
        return self.queries is self.items

    @property
    def notes(self) -> tuple[str, ...]:
        """What users are told of the data: the readings, then the remarks."""
        return (*self.readings, *self.remarks)

    @cached_property
    def checksum(self) -> str:
        """A digest of everything that can change a result."""
        digest = hashlib.sha256(self.items.checksum.encode())
        digest.update(b"related" if self.related else self.queries.checksum.encode())
        add_gold(digest, self.gold)
        return digest.hexdigest()[:16]

    def __repr__(self) -> str:
        queries = "related" if self.related else f"{len(self.queries)} queries"
        return (
            f"Collection({self.name}/{self.split}: {len(self.items)} items, {queries}, {len(self.gold.items)} judged)"
        )
