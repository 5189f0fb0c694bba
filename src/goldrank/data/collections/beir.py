"""Read BEIR folders: corpus.jsonl, queries.jsonl and the judgments of each split in qrels/SPLIT.tsv."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from goldrank import io
from goldrank.data.collections.collection import Collection
from goldrank.data.collections.records import read_documents
from goldrank.data.collections.splits import choose_split, files_in, in_order, stem_and_suffix
from goldrank.data.texts import beir_file
from goldrank.errors import InputError
from goldrank.io.compression import COMPRESSIONS
from goldrank.io.files import PathLike

_QRELS = (".tsv", ".txt", ".csv", ".jsonl", ".json", ".parquet", ".qrels")


def matches(path: Path) -> bool:
    """Return True if the folder holds corpus.jsonl, or queries.jsonl with qrels; `read` reports what is missing."""
    return _holds(path, "corpus.jsonl") or (_holds(path, "queries.jsonl") and bool(_qrels(path)))


def read(path: PathLike, split: str | None = None) -> Collection:
    """Read a folder in the layout of BEIR.

    The qrels are in ``qrels/SPLIT.tsv``, or in one ``qrels.tsv`` or ``qrels.txt``, which is the split ``test``; they
    may have any format of gold. All queries of the file are read, judged or not. A corpus of more than
    `records.STREAM_FROM` bytes is read from its file at each iteration.
    """
    folder = Path(path)
    corpus, queries = beir_file(folder, "corpus.jsonl"), beir_file(folder, "queries.jsonl")
    qrels = _qrels(folder)
    if not qrels:
        raise InputError(
            "the folder holds corpus.jsonl and queries.jsonl but no qrels",
            where=str(folder),
            remedy="add qrels/test.tsv with the columns query-id, corpus-id, score",
        )
    chosen = choose_split(split, qrels, str(folder))
    # The judgments are read first, because they are the smallest file and an error in them is reported soon.
    gold = io.read(qrels[chosen], "gold")
    return Collection(
        name=folder.resolve().name,
        items=read_documents(corpus, may_stream=True),
        queries=read_documents(queries),
        gold=gold,
        split=chosen,
        splits=in_order(qrels),
        source=str(folder),
        format="beir",
    )


def _holds(folder: Path, name: str) -> bool:
    with suppress(OSError):
        return any((folder / f"{name}{suffix}").is_file() for suffix in ("", *COMPRESSIONS))
    return False


def _qrels(folder: Path) -> dict[str, Path]:
    """Return the judgments of each split."""
    qrels: dict[str, Path] = {}
    for file in files_in(folder / "qrels"):
        stem, suffix = stem_and_suffix(file)
        if suffix in _QRELS and stem.lower() not in ("readme", "license"):
            qrels.setdefault(stem, file)
    if not qrels:
        for file in files_in(folder):
            stem, suffix = stem_and_suffix(file)
            if stem == "qrels" and suffix in _QRELS:
                qrels.setdefault("test", file)
    return qrels
