"""Read BEIR folders: corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv, or the same three as other tables."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from goldrank import io
from goldrank.data.collections.collection import Collection
from goldrank.data.collections.records import describe_file, read_documents
from goldrank.data.collections.splits import choose_split, files_in, in_order, stem_and_suffix
from goldrank.data.texts import beir_file
from goldrank.errors import InputError
from goldrank.io.compression import COMPRESSIONS
from goldrank.io.files import PathLike

_QRELS = (".tsv", ".txt", ".csv", ".jsonl", ".json", ".parquet", ".qrels")
_TEXTS = (".jsonl", ".ndjson", ".json", ".parquet", ".pq", ".csv", ".tsv")


def matches(path: Path) -> bool:
    """Return True if the folder holds corpus and queries, or one of them as .jsonl; `read` reports what is missing."""
    if _holds(path, "corpus.jsonl") or (_holds(path, "queries.jsonl") and bool(_qrels(path))):
        return True
    return bool(_tables(path, "corpus")) and bool(_tables(path, "queries"))


def read(path: PathLike, split: str | None = None) -> Collection:
    """Read a folder in the layout of BEIR.

    Corpus and queries are JSON Lines, JSON, Parquet, CSV or TSV. The qrels are in ``qrels/SPLIT.tsv``, or in one
    ``qrels.tsv`` or ``qrels.txt``, which is the split ``test``; they may have any format of gold. All queries of the
    file are read, judged or not. A corpus of more than `records.STREAM_FROM` bytes is read from its file at each
    iteration.
    """
    folder = Path(path)
    remarks: list[str] = []
    corpus, queries = _table(folder, "corpus", remarks), _table(folder, "queries", remarks)
    qrels = _qrels(folder)
    if not qrels:
        raise InputError(
            f"the folder holds {corpus.name} and {queries.name} but no qrels",
            where=str(folder),
            remedy="add qrels/test.tsv with the columns query-id, corpus-id, score",
        )
    chosen = choose_split(split, qrels, str(folder))
    # The judgments are read first, because they are the smallest file and an error in them is reported soon.
    gold = io.read(qrels[chosen], "gold")
    return Collection(
        name=folder.resolve().name,
        items=read_documents(corpus, may_stream=True),
        queries=read_documents(queries, queries=True),
        readings=tuple(filter(None, (describe_file(corpus), describe_file(queries, queries=True), gold.reading))),
        gold=gold,
        split=chosen,
        splits=in_order(qrels),
        source=str(folder),
        format="beir",
        remarks=remarks,
    )


def _table(folder: Path, name: str, remarks: list[str]) -> Path:
    """Return the file of the corpus or the queries; a remark names further ones, which are not read."""
    tables = _tables(folder, name)
    if len(tables) > 1:
        remarks.append(f"the file {tables[0].name} was read, not {', '.join(table.name for table in tables[1:])}")
    return tables[0] if tables else beir_file(folder, f"{name}.jsonl")


def _tables(folder: Path, name: str) -> list[Path]:
    """Return the files of a name with the suffix of a table, JSON Lines first."""
    named = [file for file in files_in(folder) if stem_and_suffix(file)[0] == name]
    known = [file for file in named if stem_and_suffix(file)[1] in _TEXTS]
    return sorted(known, key=lambda file: _TEXTS.index(stem_and_suffix(file)[1]))


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
