"""Read and write gold and runs in any supported format."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from goldrank.errors import InputError, shorten
from goldrank.io.columns import Columns, TableKind
from goldrank.io.files import PathLike, check_text, display_name, is_parquet, map_file, read_bytes, write_atomically
from goldrank.io.formats import FORMATS, format_for, format_module
from goldrank.io.memory_mapping import MappedFile, unchanged
from goldrank.io.packed import PackedRun

__all__ = ["FORMATS", "Columns", "RowsFile", "TableKind", "open_rows", "read", "write"]


# The formats that are recognised by their first bytes and read without a copy of the file.
_MAPPED = ("trec", "csv", "tsv", "beir", "parquet")


def read(path: PathLike, kind: TableKind, format: str | None = None) -> Columns:
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
    """A large TREC, CSV, TSV or Parquet file is mapped, any other is read."""
    name: str
    """The name of the file in messages."""
    kind: TableKind
    format: str

    @property
    def is_unchecked(self) -> bool:
        """Whether it may still turn out to be no text: a mapped TREC run, which is checked while it is counted."""
        return isinstance(self.data, MappedFile) and (self.format, self.kind) == ("trec", "run")

    def check_text(self, threads: int = 1) -> None:
        """Raise InputError if the file is not text."""
        if self.is_unchecked:
            check_text(self.data, self.name, threads)

    def parse(self) -> Columns:
        """Parse the rows."""
        with unchanged(self.data):
            self.check_text()
            data = self.data if self.format in ("trec", "parquet") else bytes(self.data)
            columns: Columns = format_module(self.format).load(data, self.kind, self.name, self.format)
        if not columns.queries:
            raise no_rows(self.name)
        return columns

    def pack(self) -> PackedRun | None:
        """Read the rows of a run without an object for each; return None if they must be parsed."""
        pack = getattr(format_module(self.format), "pack", None)
        if pack is None or self.kind != "run":
            return None
        with unchanged(self.data):
            packed: PackedRun | None = pack(self.data, self.name, self.format)
        return packed


def open_rows(path: PathLike, kind: TableKind, format: str | None = None, threads: int = 1) -> RowsFile:
    """Open a file and recognise its format, unless *format* names it.

    *threads* check the text of a large table. The text of a large TREC run is checked when its rows are used.
    """
    from goldrank.io.formats.detection import recognise

    if format is not None:
        format_module(format)  # refuses an unknown name before the file is read
    name = display_name(path)
    data: bytes | MappedFile | None = map_file(path)
    recognised = None if data is None else format or _recognise_head(data, kind, name)
    if data is None or recognised not in _MAPPED:
        data = read_bytes(path)
        recognised = format or recognise(data, kind, name)
    if is_parquet(data[:16]) and recognised != "parquet":
        raise InputError("this is a Parquet file", where=name, remedy="leave the format out or say parquet")
    file = RowsFile(data, name, kind, recognised)
    if isinstance(data, MappedFile) and recognised != "parquet" and not file.is_unchecked:
        with unchanged(data):
            check_text(data, name, threads)
    return file


def _recognise_head(data: bytes | MappedFile, kind: TableKind, name: str) -> str | None:
    """Return the format of the first lines; None if it cannot be recognised."""
    from goldrank.io.formats.detection import recognise

    head = data[: 1 << 16]
    if is_parquet(head):
        return "parquet"
    lines = head[: head.rfind(b"\n") + 1]
    try:
        check_text(lines, name)
        return recognise(lines, kind, name)
    except InputError:
        return None


def no_rows(name: str) -> InputError:
    """Return the error for a file without rows."""
    return InputError("the file holds no rows", where=name, remedy="check that it was written completely")


def write(columns: Columns, path: PathLike, kind: TableKind, format: str | None = None, tag: str = "goldrank") -> None:
    """Write *columns* to *path* ("-" is standard output), whole or not at all.

    The suffix decides the format unless *format* names it, and a second suffix (.gz, .zst, .xz, .bz2) the
    compression. *tag* is the last column of a TREC run.
    """
    if format is None:
        format = format_for(path, kind)
    content = format_module(format).dump(columns, kind, format, tag)
    write_atomically(path, lambda out: out.write(content))
