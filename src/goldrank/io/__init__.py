"""Read and write gold and runs in any supported format."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from goldrank.errors import InputError, shorten
from goldrank.io.columns import Columns, Kind
from goldrank.io.files import PathLike, display_name, is_parquet, map_text, read_bytes, write_atomically
from goldrank.io.formats import FORMATS, format_for, refuse_unknown
from goldrank.io.memory_mapping import MappedFile, unchanged

__all__ = ["FORMATS", "Columns", "Kind", "RowsFile", "open_rows", "read", "write"]


def read(path: PathLike, kind: Kind, format: str | None = None) -> Columns:
    """Read gold or a run from *path* ("-" is standard input), of any format and compression.

    The format is recognised from the content unless *format* names it. Gold may also be a pickle of plain data, as SDR
    publishes it; nothing in it is executed. Any fault of the file is an `InputError` with the place and the remedy.
    """
    if kind == "gold" and format is None and _is_pickle(path):
        return _read_pickle(path)
    return open_rows(path, kind, format).parse()


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


@dataclass(frozen=True)
class RowsFile:
    """An open file of gold or of a run whose rows are not parsed yet."""

    data: bytes | MappedFile
    """A large TREC file is mapped, any other is read."""
    name: str
    """What it is called in messages."""
    kind: Kind
    format: str

    def parse(self) -> Columns:
        """Parse the rows."""
        with unchanged(self.data):
            columns = _load(self.data, self.kind, self.name, self.format)
        if not columns.queries:
            raise no_rows(self.name)
        return columns


def open_rows(path: PathLike, kind: Kind, format: str | None = None) -> RowsFile:
    """Open a file and recognise its format, unless *format* names it."""
    from goldrank.io.formats.detection import recognise

    if format is not None:
        refuse_unknown(format)
    name = display_name(path)
    mapped = map_text(path)
    if mapped is not None and (format or _recognise_head(mapped, kind, name)) == "trec":
        return RowsFile(mapped, name, kind, "trec")
    data = read_bytes(path)
    if format is None:
        return RowsFile(data, name, kind, recognise(data, kind, name))
    if is_parquet(data) and format != "parquet":
        raise InputError("this is a Parquet file", where=name, remedy="leave the format out or say parquet")
    return RowsFile(data, name, kind, format)


def _recognise_head(mapped: MappedFile, kind: Kind, name: str) -> str | None:
    """Return the format that the first lines show; None where they do not show one."""
    from goldrank.io.formats.detection import recognise

    head = mapped[: 1 << 16]
    try:
        return recognise(head[: head.rfind(b"\n") + 1], kind, name)
    except InputError:
        return None


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
