"""Collections of documents, queries and gold: one reader per layout, recognised by the content of a path."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from goldrank.data.collections.collection import Collection, Document, Documents
from goldrank.errors import InputError, shorten, unknown_name
from goldrank.io.files import PathLike

__all__ = ["READERS", "Collection", "CollectionReader", "Document", "Documents", "read_collection", "refuse_content"]
# No file system has longer names.
_LONGEST_NAME = 255


@dataclass(frozen=True)
class CollectionReader:
    """The module that reads a layout, which is imported when it is needed, and a description for users.

    The module has ``matches(path) -> bool``, which is fast and reads no whole files, and
    ``read(path, split) -> Collection``; a *split* of None is the split for evaluation.
    """

    module: str
    summary: str

    def matches(self, path: Path) -> bool:
        """Return True if the path looks like this layout."""
        return bool(self._load().matches(path))

    def read(self, path: PathLike, split: str | None = None) -> Collection:
        """Read the collection at *path*."""
        collection: Collection = self._load().read(path, split)
        return collection

    def _load(self) -> Any:
        return import_module(f"goldrank.data.collections.{self.module}")


# Paths are matched in this order: layouts that are recognised most reliably come first.
READERS: dict[str, CollectionReader] = {
    "beir": CollectionReader("beir", "a folder with corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv"),
    "smart": CollectionReader(
        "smart", "SMART files (.I .T .A .W) as Cranfield, CISI and TIME have them, and the files of NPL and LISA"
    ),
    "articles": CollectionReader(
        "articles", "articles with labels: JSONL, Parquet or a Hugging Face data set, one per split"
    ),
    "wiki": CollectionReader(
        "wiki",
        "Wikipedia articles: a CSV of Title,Sections with gold beside it, as JSON or a pickle (SDR's raw_data and gt)",
    ),
    "trec": CollectionReader("trec_topics", "TREC documents and topics with qrels"),
    "evalrank": CollectionReader(
        "evalrank", "EvalRank: a folder with pairs.tsv or pos_pair.txt, and background texts or words"
    ),
    "pairs": CollectionReader("pairs", "CSV or TSV of query and item texts, with a grade"),
    "ir_datasets": CollectionReader("irds", "a name of the ir_datasets package: irds:beir/scifact/test"),
    "hub": CollectionReader(
        "hub", "a Hugging Face data set by name, in the layout of MTEB or of articles: hf:mteb/scifact"
    ),
}


def read_collection(path: PathLike, *, format: str | None = None, split: str | None = None) -> Collection:
    """Read a collection from a folder, a file or a name.

    Args:
        path: A folder or file, or ``irds:NAME`` or ``hf:NAME``.
        format: One of ``READERS``; recognised by content if not given.

        split: The split; by default ``test`` if there is one.
    """
    text = str(path)
    refuse_content(text)
    if format is not None:
        if format not in READERS:
            raise unknown_name("format of collections", format, READERS, f"one of {', '.join(READERS)}")
        return READERS[format].read(path, split)
    for prefix, name in (("irds:", "ir_datasets"), ("hf:", "hub")):
        if text.startswith(prefix):
            return READERS[name].read(text.removeprefix(prefix), split)
    if not Path(text).exists():
        raise InputError("there is no such file or folder", where=text, remedy="check the path")
    for reader in READERS.values():
        if reader.matches(Path(text)):
            return reader.read(path, split)
    from goldrank.data.collections import wiki

    if wiki.find_gold_alone(Path(text)) is not None:
        return wiki.read(path, split)  # raises an error that says what is missing
    raise InputError(
        "this is not a collection that goldrank can read",
        where=text,
        remedy="a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv is the simplest; "
        "goldrank list collections shows all layouts",
    )


def refuse_content(text: str) -> None:
    """Raise InputError for a text that is neither a name nor a path, but empty or data."""
    if text.strip() and max(map(len, text.split("/"))) <= _LONGEST_NAME and not any(mark in text for mark in "\n\r\0"):
        return
    from goldrank.data.collections.in_memory import ACCEPTED

    raise InputError(
        f"the text {shorten(text)} of {len(text):,} characters is neither a name nor a path",
        remedy=f"to evaluate on data in memory, give it as Python objects: {ACCEPTED}",
    )
