"""Read and write gold and runs in any supported format."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from goldrank.errors import InputError, shorten
from goldrank.io.columns import Columns, Kind
from goldrank.io.files import PathLike, display_name, is_parquet, map_text, read_bytes, write_atomically
from goldrank.io.formats import FORMATS, format_for, refuse_unknown
from goldrank.io.memory_mapping import MappedFile, unchanged

__all__ = ["FORMATS", "Columns", "Kind", "open_rows", "parse_rows", "read", "write"]


def read(path: PathLike, kind: Kind, format: str | None = None) -> Columns:
    """Read gold or a run from *path* ("-" is standard input), of any format and compression.

    The format is recognised from the content unless *format* names it. Gold may also be a pickle of plain data, as SDR
    publishes it; nothing in it is executed. Any fault of the file is an `InputError` with the place and the remedy.
    """
    if kind == "gold" and format is None and _is_pickle(path):
        return _read_pickle(path)
    data, name, recognised = open_rows(path, kind, format)
    return parse_rows(data, name, kind, recognised)


def _is_pickle(path: PathLike) -> bool:
    with suppress(OSError, ValueError), Path(path).open("rb") as file:
        start = file.read(2)
        return len(start) == 2 and start[0] == 0x80 and 2 <= start[1] <= 5
    return False


def _read_pickle(path: PathLike) -> Columns:
    from goldrank.io.formats.pickles import read_restricted
    from goldrank.io.mappings import from_pairs

    content = read_restricted(path)
    if not isinstance(content, Mapping):
        raise InputError(
            f"the pickle holds {shorten(content)}, not gold",
            where=display_name(path),
            remedy='write {"query": {"item": grade}}',
        )
    return from_pairs(content.items(), "gold", display_name(path), integers=True)


def open_rows(path: PathLike, kind: Kind, format: str | None = None) -> tuple[bytes | MappedFile, str, str]:
    """Return the content of a file, the name it has in messages, and its format; no row is parsed yet.

    A large TREC file comes as a map, any other as bytes.
    """
    from goldrank.io.formats.detection import recognise

    if format is not None:
        refuse_unknown(format)
    name = display_name(path)
    mapped = map_text(path)
    if mapped is not None and (format or _recognise_head(mapped, kind, name)) == "trec":
        return mapped, name, "trec"
    data = read_bytes(path)
    if format is None:
        return data, name, recognise(data, kind, name)
    if is_parquet(data) and format != "parquet":
        raise InputError("this is a Parquet file", where=name, remedy="leave the format out or say parquet")
    return data, name, format


def _recognise_head(mapped: MappedFile, kind: Kind, name: str) -> str | None:
    """Return the format that the first lines show; None where they do not show one."""
    from goldrank.io.formats.detection import recognise

    head = mapped[: 1 << 16]
    try:
        return recognise(head[: head.rfind(b"\n") + 1], kind, name)
    except InputError:
        return None


def parse_rows(data: bytes | MappedFile, name: str, kind: Kind, format: str) -> Columns:
    """Parse the rows of a file that `open_rows` opened."""
    with unchanged(data):
        columns = _load(data, kind, name, format)
    if not columns.queries:
        raise no_rows(name)
    return columns


def no_rows(name: str) -> InputError:
    """Return the error for a file without rows."""
    return InputError("the file holds no rows", where=name, remedy="check that it was written completely")


def write(columns: Columns, path: PathLike, kind: Kind, format: str | None = None, tag: str = "goldrank") -> None:
    """Write *columns* to *path* ("-" is standard output), whole or not at all.

    The suffix tells the format unless *format* names it, and a second suffix (.gz, .zst, .xz, .bz2) the
    compression. *tag* is the last column of a TREC run.
    """
    content = _dump(columns, kind, format_for(path, kind) if format is None else format, tag)

    def fill(out: BinaryIO) -> None:
        out.write(content)

    write_atomically(path, fill)


def _load(data: bytes | MappedFile, kind: Kind, name: str, format: str) -> Columns:
    if format == "trec":
        from goldrank.io.formats import trec

        return trec.load(data, kind, name)
    if format == "diversity":
        from goldrank.io.formats import trec

        if kind != "gold":
            raise InputError("diversity qrels are gold, not a run", where=name, remedy="name the run's own format")
        return trec.load_subtopics(data, name)
    assert isinstance(data, bytes)  # only TREC files are mapped
    if format == "parquet":
        from goldrank.io.formats import parquet

        return parquet.load(data, kind, name)
    if format in ("json", "jsonl"):
        from goldrank.io.formats import json_files

        return (json_files.load_json if format == "json" else json_files.load_jsonl)(data, kind, name)
    from goldrank.io.formats import delimited

    return delimited.load(data, kind, name, format)


def _dump(columns: Columns, kind: Kind, format: str, tag: str) -> bytes:
    refuse_unknown(format)
    if format == "diversity" and columns.subtopics is None:
        raise InputError("there are no subtopics to write", where=columns.source, remedy="write trec instead")
    if format in ("trec", "diversity"):
        from goldrank.io.formats import trec

        return trec.dump(columns, kind, tag)
    if format == "parquet":
        from goldrank.io.formats import parquet

        return parquet.dump(columns, kind)
    if format in ("json", "jsonl"):
        from goldrank.io.formats import json_files

        return (json_files.dump_json if format == "json" else json_files.dump_jsonl)(columns, kind)
    from goldrank.io.formats import delimited

    return delimited.dump(columns, kind, format)
