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
from goldrank.io.fingerprints import add_text

Section = tuple[str, str]


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

    @classmethod
    def plain(cls, id: str, text: str, title: str = "") -> Document:
        """Return a document whose text has no sections."""
        return cls(id, title, (("", text),) if text else ())

    @property
    def text(self) -> str:
        """The texts of all sections, without headings."""
        return " ".join(text for _, text in self.sections if text)

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
        ids = self._read_through[0]
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
        for document in self:
            ids.append(document.id)
            for part in (document.id, document.title, *chain.from_iterable(document.sections)):
                add_text(digest, part)
            digest.update(b"\xff")
        return ids, digest.hexdigest()[:16]


def _hashes_differ(ids: list[str]) -> bool:
    """Return True if the hashes of all ids differ, which takes less memory than a set of millions of ids."""
    hashes = np.fromiter(map(hash, ids), np.int64, len(ids))
    hashes.sort()
    return not (hashes[1:] == hashes[:-1]).any()


@dataclass(frozen=True, eq=False)
class Collection:
    """What an evaluation needs: items, queries and gold of one split.

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
    def related(self) -> bool:
        """Whether the items themselves are the queries."""
        return self.queries is self.items

    @cached_property
    def checksum(self) -> str:
        """A digest of everything that can change a result."""
        digest = hashlib.sha256(self.items.checksum.encode())
        digest.update(b"related" if self.related else self.queries.checksum.encode())
        gold = self.gold
        # Adding 0.0 turns -0.0 into 0.0, which is the same number.
        values = (gold.values + 0.0).tolist()
        for query, rows in gold.rows_by_query():
            judged = (f"{item}={value!r}" for item, value in zip(gold.items[rows], values[rows], strict=True))
            digest.update("\0".join([query, *judged]).encode("utf-8", "surrogatepass") + b"\xff")
        return digest.hexdigest()[:16]

    def __repr__(self) -> str:
        queries = "related" if self.related else f"{len(self.queries)} queries"
        return (
            f"Collection({self.name}/{self.split}: {len(self.items)} items, {queries}, {len(self.gold.items)} judged)"
        )
