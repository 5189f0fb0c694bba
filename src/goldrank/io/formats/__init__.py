"""The file formats of gold and runs by name, and the format that a suffix stands for."""

from __future__ import annotations

from importlib import import_module
from pathlib import PurePath
from typing import Any

from goldrank.errors import InputError, shorten, unknown_name
from goldrank.io.columns import TableKind
from goldrank.io.compression import COMPRESSIONS
from goldrank.io.files import PathLike, display_name

FORMATS: dict[str, str] = {
    "trec": "TREC qrels (4 columns) or run (6 columns)",
    "diversity": "TREC diversity qrels: query, subtopic, item, grade",
    "beir": "TSV with the header query-id, corpus-id, score",
    "csv": "comma-separated, with a header or just query, item, value",
    "tsv": "tab-separated, with a header or just query, item, value",
    "json": "queries mapped to items, or a list of records",
    "jsonl": "one JSON record per line",
    "parquet": "a table with query, item and value columns",
}

_MODULES = {
    **dict.fromkeys(("trec", "diversity"), "trec"),
    **dict.fromkeys(("beir", "csv", "tsv"), "delimited"),
    **dict.fromkeys(("json", "jsonl"), "json_files"),
    "parquet": "parquet",
}

# The number of columns of a TREC line, and the position of the value.
TREC_LAYOUT: dict[TableKind, tuple[int, int]] = {"gold": (4, 3), "run": (6, 4)}

_FORMAT_OF_SUFFIX = {
    "": "trec",
    ".qrels": "trec",
    ".run": "trec",
    ".txt": "trec",
    ".trec": "trec",
    ".tsv": "tsv",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}


def format_for(path: PathLike, kind: TableKind) -> str:
    """Return the format to write *path* in, by its suffix (before that of a compression); no suffix means TREC.

    >>> format_for("gold.tsv.gz", "gold"), format_for("bm25.run", "run")
    ('beir', 'trec')
    """
    name = PurePath(path)
    suffix = PurePath(name.stem).suffix if name.suffix in COMPRESSIONS else name.suffix
    format = _FORMAT_OF_SUFFIX.get(suffix.lower())
    if format is None:
        raise InputError(
            f"the suffix {shorten(suffix)} names no format",
            where=display_name(path),
            remedy=f"use one of {', '.join(filter(None, _FORMAT_OF_SUFFIX))}, or name the format",
        )
    return "beir" if format == "tsv" and kind == "gold" else format


def format_module(format: str) -> Any:
    """Import the module of a format, which has ``load`` and ``dump``; raise InputError for an unknown name."""
    if format not in FORMATS:
        raise unknown_name("format", format, FORMATS, "goldrank list formats")
    return import_module(f"goldrank.io.formats.{_MODULES[format]}")
