"""Collections of documents, queries and gold: one reader per layout, recognised by what a path holds."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from goldrank.data.collections.collection import Collection, Document, Documents
from goldrank.errors import InputError, shorten, unknown_name
from goldrank.io.files import PathLike

__all__ = ["READERS", "Collection", "Document", "Documents", "Reader", "read_collection", "refuse_content"]
# No file system has a longer one.
_LONGEST_NAME = 255


@dataclass(frozen=True)
class Reader:
    """One layout: the module that reads it, and what a user has to know to recognise it.

    The module has ``matches(path) -> bool``, cheap and without reading whole files, and
    ``read(path, split) -> Collection``; a *split* of None is the one people evaluate on.
    """

    module: str
    summary: str

    def matches(self, path: Path) -> bool:
        """Whether the path looks like this layout."""
        found: bool = self._module().matches(path)
        return found

    def read(self, path: PathLike, split: str | None = None) -> Collection:
        """Read it."""
        made: Collection = self._module().read(path, split)
        return made

    def _module(self) -> Any:
        return import_module(self.module)


def _reader(module: str, summary: str) -> Reader:
    return Reader(f"goldrank.data.collections.{module}", summary)


# In this order a path is tried: the layouts with the surest marks first.
READERS: dict[str, Reader] = {
    "beir": _reader("beir", "a folder with corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv"),
    "smart": _reader(
        "smart", "SMART files (.I .T .A .W) as Cranfield, CISI and TIME have them, and the files of NPL and LISA"
    ),
    "articles": _reader("articles", "articles with labels: JSONL, Parquet or a Hugging Face data set, one per split"),
    "wiki": _reader(
        "wiki",
        "Wikipedia articles: a CSV of Title,Sections with gold beside it, as JSON or a pickle (SDR's raw_data and gt)",
    ),
    "trec": _reader("trec_topics", "TREC documents and topics with qrels"),
    "evalrank": _reader("evalrank", "EvalRank: a folder with pairs.tsv or pos_pair.txt, and background texts or words"),
    "pairs": _reader("pairs", "CSV or TSV of query and item texts, with a grade"),
    "ir_datasets": _reader("irds", "a name of the ir_datasets package: irds:beir/scifact/test"),
    "hub": _reader("hub", "a Hugging Face data set by name, in the layout of MTEB or of articles: hf:mteb/scifact"),
}


def read_collection(path: PathLike, *, format: str | None = None, split: str | None = None) -> Collection:
    """Read a collection from a folder, a file or a name.

    Args:
        path: where it lies, or ``irds:NAME`` or ``hf:NAME``.
        format: one of ``READERS``; recognised by content if not given.
        split: which part; by default ``test`` where there is one.
    """
    text = str(path)
    refuse_content(text)
    if format is None:
        for prefix, name in (("irds:", "ir_datasets"), ("hf:", "hub")):
            if text.startswith(prefix):
                return READERS[name].read(text.removeprefix(prefix), split)
    if format is not None:
        if format not in READERS:
            raise unknown_name("format of collections", format, READERS, f"one of {', '.join(READERS)}")
        return READERS[format].read(path, split)
    if not Path(text).exists():
        raise InputError("there is no such file or folder", where=text, remedy="check the path")
    for name in ("beir", "smart", "articles", "wiki", "trec", "evalrank", "pairs", "hub"):
        if READERS[name].matches(Path(text)):
            return READERS[name].read(path, split)
    from goldrank.data.collections import wiki

    if wiki.find_gold_alone(Path(text)) is not None:
        return wiki.read(path, split)  # refuses it with what is missing
    raise InputError(
        "this is no collection that goldrank knows",
        where=text,
        remedy="a folder with corpus.jsonl, queries.jsonl and qrels/test.tsv is the simplest; "
        "goldrank list collections shows all layouts",
    )


def refuse_content(text: str) -> None:
    """Raise for a text that is empty or data, and so neither a name nor a path."""
    if text.strip() and max(map(len, text.split("/"))) <= _LONGEST_NAME and not any(mark in text for mark in "\n\r\0"):
        return
    from goldrank.data.collections.in_memory import ACCEPTED

    raise InputError(
        f"the text {shorten(text)} of {len(text):,} characters is neither a name nor a path",
        remedy=f"to evaluate on data in memory, give it as Python objects: {ACCEPTED}",
    )
