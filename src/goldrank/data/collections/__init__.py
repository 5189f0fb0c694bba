"""Collections of documents, queries and gold: one reader per layout, recognised by the content of a path."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from goldrank.data.collections.collection import Collection, Document, Documents
from goldrank.errors import InputError, shorten, unknown_name
from goldrank.io.files import PathLike, nearest_path
from goldrank.specs import Spec

__all__ = [
    "PREFIXES",
    "READERS",
    "Collection",
    "CollectionReader",
    "Document",
    "Documents",
    "layout_spec",
    "read_collection",
    "refuse_content",
]
# No file system has longer names.
_LONGEST_NAME = 255


@dataclass(frozen=True)
class CollectionReader:
    """The module that reads a layout, which is imported when it is needed, and a description for users.

    The module has ``matches(path) -> bool``, which is fast and reads no whole files, and
    ``read(path, split) -> Collection``; a *split* of None is the split for evaluation. If the layout has options, the
    module lists their names in ``OPTIONS``, and ``read`` takes them as a third argument.
    """

    module: str
    summary: str

    def matches(self, path: Path) -> bool:
        """Return True if the path looks like this layout."""
        return bool(self._load().matches(path))

    def read(self, path: PathLike, split: str | None = None, options: Mapping[str, str] | None = None) -> Collection:
        """Read the collection at *path*."""
        module = self._load()
        known = getattr(module, "OPTIONS", ())
        for name in options or ():
            if name not in known:
                remedy = f"write one of {', '.join(known)}" if known else "leave it out"
                raise unknown_name(f"option of {self.module}", name, known, remedy)
        collection: Collection = module.read(path, split, options) if options else module.read(path, split)
        return collection

    def read_with(self, questions: object, path: PathLike, split: str | None = None) -> Collection:
        """Read the collection at *path* with the questions of a table, which only the reader of folders does."""
        collection: Collection = self._load().read(path, split, questions)
        return collection

    def _load(self) -> Any:
        return import_module(f"goldrank.data.collections.{self.module}")


# Paths are matched in this order: layouts that are recognised most reliably come first.
READERS: dict[str, CollectionReader] = {
    "beir": CollectionReader(
        "beir", "a folder with corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv, or these as Parquet, CSV or TSV"
    ),
    "smart": CollectionReader(
        "smart", "SMART files (.I .T .A .W) as Cranfield, CISI and TIME have them, and the files of NPL and LISA"
    ),
    "articles": CollectionReader(
        "articles", "articles with labels: JSONL, Parquet or a Hugging Face data set, one per split"
    ),
    "classes": CollectionReader(
        "classes",
        "class labels, where items of the same class are relevant to each other: a CSV of id,label or one label per "
        "row of vectors:FILE.npy, or a folder per class",
    ),
    "wiki": CollectionReader(
        "wiki",
        "Wikipedia articles: a CSV of Title,Sections with gold beside it, as JSON or a pickle (SDR's raw_data and gt)",
    ),
    "trec": CollectionReader("trec_topics", "TREC documents and topics with qrels"),
    "evalrank": CollectionReader(
        "evalrank", "EvalRank: a folder with pairs.tsv or pos_pair.txt, and background texts or words"
    ),
    "gold": CollectionReader(
        "gold_alone", "gold (qrels) in any format, without texts: for run files, as in -m run:bm25.run -t qrels.txt"
    ),
    "pairs": CollectionReader(
        "pairs", "CSV or TSV of query and item texts, with a grade: pairs:FILE(query=question,item=answer)"
    ),
    "ir_datasets": CollectionReader("irds", "a name of the ir_datasets package: irds:beir/scifact/test"),
    "hub": CollectionReader(
        "hub", "a Hugging Face data set by name, in the layout of MTEB or of articles: hf:mteb/scifact"
    ),
    "folder": CollectionReader(
        "folder",
        "a folder of .md, .txt, .html, .rst, .pdf or .docx files, with a table of questions (--questions FILE)",
    ),
}

PREFIXES = {"irds:": "ir_datasets", "hf:": "hub", "gold:": "gold"}
"""Prefixes of names and paths that name the reader."""


def read_collection(
    path: PathLike, *, format: str | None = None, split: str | None = None, questions: object = None
) -> Collection:
    """Read a collection from a folder, a file or a name.

    Args:
        path: A folder or file, ``irds:NAME``, ``hf:NAME`` or ``gold:FILE``, or the spec of another layout, such as
            ``pairs:faq.csv(query=question,item=answer)``.
        format: One of ``READERS``; recognised by content if not given.
        split: The split; by default ``test`` if there is one.
        questions: The queries and gold of a folder of documents: a table of questions and file names, by its path or
            as rows.
    """
    text = str(path)
    refuse_content(text)
    if format is not None and format not in READERS:
        raise unknown_name("format of collections", format, READERS, f"one of {', '.join(READERS)}")
    if questions is not None:
        if (reason := _why_no_questions(text, format)) is not None:
            raise InputError(
                f"--questions has no effect here: {reason}",
                where=text,
                remedy="leave it out, or give a folder of documents",
            )
        return READERS["folder"].read_with(questions, path, split)
    if format is not None:
        return READERS[format].read(path, split)
    for prefix, name in PREFIXES.items():
        if text.startswith(prefix):
            return READERS[name].read(text.removeprefix(prefix), split)
    if isinstance(path, str) and (spec := layout_spec(path)) is not None:
        return READERS[spec.kind].read(existing_path(spec.argument), split, spec.options)
    if not Path(text).exists():
        raise InputError("there is no such file or folder", where=text, remedy=nearest_path(text))
    for reader in READERS.values():
        if reader.matches(Path(text).expanduser()):
            return reader.read(path, split)
    from goldrank.data.collections import wiki

    if wiki.find_gold_alone(Path(text)) is not None:
        return wiki.read(path, split)  # raises an error that says what is missing
    raise InputError(
        "this is not a collection that goldrank can read",
        where=text,
        remedy="a folder of documents with --questions FILE, or one with corpus.jsonl, queries.jsonl and "
        "qrels/test.tsv, is the simplest; goldrank list collections shows all layouts",
    )


def takes_questions(path: PathLike) -> bool:
    """Return True if the path is a folder of documents, whose queries come from a table of questions."""
    return _why_no_questions(str(path), None) is None and READERS["folder"].matches(Path(path).expanduser())


def _why_no_questions(text: str, format: str | None) -> str | None:
    """Return why a collection has queries of its own; None for a folder of documents."""
    if format not in (None, "folder") or text.startswith(("irds:", "hf:")):
        return f"{format or 'a data set given by name'} has queries of its own"
    path = Path(text).expanduser()
    if path.exists() and not path.is_dir():
        return "this is not a folder"
    if format is None:
        # Beside documents there may be any tables, which do not make them pairs.
        others = (name for name in READERS if name not in ("folder", "pairs"))
        if (layout := next((name for name in others if READERS[name].matches(path)), None)) is not None:
            return f"this is a collection in the layout {layout}, with queries of its own"
    return None


def layout_spec(text: str) -> Spec | None:
    """Return the parsed spec ``LAYOUT:PATH(option=value)`` of a collection; None for any other text.

    >>> layout_spec("pairs:faq.csv(item=answer)")
    Spec(kind='pairs', argument='faq.csv', options={'item': 'answer'})
    >>> layout_spec("faq.csv") is None
    True
    """
    layout, colon, _ = text.partition(":")
    return Spec.parse(text) if colon and layout in READERS and not Path(text).exists() else None


def existing_path(text: str) -> Path:
    """Return the path of a file or folder; raise InputError if there is none."""
    path = Path(text).expanduser()
    if not text or not path.exists():
        raise InputError("there is no such file or folder", where=text or None, remedy="check the path")
    return path


def refuse_content(text: str) -> None:
    """Raise InputError for a text that is neither a name nor a path, but empty or data."""
    if text.strip() and max(map(len, text.split("/"))) <= _LONGEST_NAME and not any(mark in text for mark in "\n\r\0"):
        return
    from goldrank.data.collections.in_memory import ACCEPTED

    raise InputError(
        f"the text {shorten(text)} of {len(text):,} characters is neither a name nor a path",
        remedy=f"to evaluate on data in memory, give it as Python objects: {ACCEPTED}",
    )
