"""Read and decompress files in pieces, without holding a whole file in memory."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

from goldrank.errors import GoldrankError, InputError, counts, reason_of
from goldrank.io.compression import COMPRESSIONS, compression_of, decompressed, size_text
from goldrank.io.files import nearest_path, refuse_device, without_mark

Source = Path | str
"""A local file, or the URL of a remote one."""

_PIECE = 1 << 18
_LONGEST_LINE = 1 << 28


def opened(path: Source) -> BinaryIO:
    """Open a file for reading from its beginning."""
    if isinstance(path, Path):
        stream = path.open("rb")
        refuse_device(stream.fileno(), str(path))
        return stream
    from goldrank.io.remote import open_input

    return cast(BinaryIO, open_input(path))


def head(path: Source, size: int = 4096) -> bytes:
    """Return the first bytes of the decompressed content of a file; empty if it cannot be read."""
    start = b""
    with suppress(GoldrankError, OSError):
        for piece in pieces(path):
            start += piece
            if len(start) >= size:
                break
    return start[:size]


def pieces(path: Source) -> Iterator[bytes]:
    """Yield the decompressed content in pieces; the compression is recognised by the first bytes."""
    try:
        with opened(path) as stream:
            compression = compression_of(stream.read(16))
            stream.seek(0)
            if compression is None:
                yield from _read(stream)
            else:
                packed = stream.seek(0, os.SEEK_END)
                stream.seek(0)
                yield from decompressed(_read(stream), compression, str(path), packed=packed)
    except (OSError, ValueError) as error:
        what = f"the file cannot be read ({reason_of(error)})"
        remedy = nearest_path(path) if isinstance(error, FileNotFoundError) else "check the path and the disk"
        raise InputError(what, where=str(path), remedy=remedy) from None


def _read(stream: BinaryIO, size: int = _PIECE) -> Iterator[bytes]:
    return iter(lambda: stream.read(size), b"")


def lines(path: Source, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Yield each line without its end, with its number from 1; raise InputError for a line that is not text."""
    number = 0
    for block in _blocks(path):
        text = _plain_text(block, encoding)
        if text is None:
            for line in block.split(b"\n"):
                number += 1
                yield number, _decoded(line, path, number, encoding)
        else:
            whole = text.split("\n")
            yield from enumerate(whole, number + 1)
            number += len(whole)
    if not number:
        raise InputError("the file is empty", where=str(path), remedy="check that it was written completely")


def _plain_text(block: bytes, encoding: str) -> str | None:
    """Return the text of several lines that have nothing to refuse or to remove; else None."""
    with suppress(UnicodeDecodeError):
        return None if b"\0" in block or b"\r" in block else block.decode(encoding)
    return None


def _blocks(path: Source) -> Iterator[bytes]:
    """Yield whole lines together, without the end of the last."""
    pending: list[bytes] = []
    start, waiting = True, 0
    for piece in pieces(path):
        if start and piece:
            # Only the first piece can begin with a byte order mark, and it is at least as long.
            piece, start = without_mark(piece, str(path)), False  # noqa: PLW2901
        whole, end, rest = piece.rpartition(b"\n")
        if end:
            yield b"".join([*pending, whole])
            pending, waiting = [], 0
        pending.append(rest)
        waiting += len(rest)
        # An endless line, as of a device or a damaged archive, would fill the memory.
        if b"\0" in rest:
            yield b"".join(pending)  # to be refused with its number
            return
        if waiting > _LONGEST_LINE:
            what = f"this is not a text file (a line has more than {size_text(_LONGEST_LINE)})"
            raise InputError(what, where=str(path), remedy="give a text file")
    if last := b"".join(pending):
        yield last


def _decoded(line: bytes, path: Source, number: int, encoding: str) -> str:
    if b"\0" in line:
        raise InputError(
            "this is not a text file (it holds a NUL byte)", where=f"{path}:{number}", remedy="give a text file"
        )
    try:
        return line.decode(encoding).rstrip("\r")
    except UnicodeDecodeError as error:
        raise InputError(
            f"the text is not valid UTF-8 (byte 0x{line[error.start]:02x} at column {error.start + 1})",
            where=f"{path}:{number}",
            remedy="save it as UTF-8",
        ) from None


def read_text(file: Path, remarks: list[str]) -> str:
    """Return the text of a file with ``\\n`` as line ends; remarks on repairs are added to *remarks*.

    A file that is not UTF-8 is read as latin-1, which many old data sets use.
    """
    if not file.is_file():
        raise InputError("there is no such file", where=str(file), remedy=nearest_path(file))
    content = b"".join(pieces(file))
    data = without_mark(content, str(file))
    if not data.strip():
        raise InputError("the file is empty", where=str(file), remedy="check that it was written completely")
    if (at := data.find(b"\0")) >= 0:
        line = data.count(b"\n", 0, at) + 1
        raise InputError("the text holds a NUL byte", where=f"{file}:{line}", remedy="give a text file")
    if len(data) < len(content):
        remarks.append(f"the byte order mark of {file.name} was left out")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")
        remarks.append(f"{file.name} is not UTF-8 and was read as latin-1")
    if line_ends := text.count("\r\n"):
        remarks.append(f"{counts(line_ends, 'line')} of {file.name} ended in CRLF")
    return text.replace("\r\n", "\n")


def read_lines(file: Path, remarks: list[str]) -> list[str]:
    """Return the lines of `read_text`, including blank ones, so that line numbers are right."""
    # Only a line feed ends a line: sentences may contain the other characters at which str.splitlines splits.
    return read_text(file, remarks).removesuffix("\n").split("\n")


def text_encoding(path: Path) -> str:
    """Return "utf-8" if the whole file is valid UTF-8, else "latin-1", which old collections use."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for piece in pieces(path):
            decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def unpacked_size(path: Path) -> int:
    """Estimate the decompressed size of a file in bytes: text compresses to about a quarter."""
    return path.stat().st_size * (4 if path.suffix in COMPRESSIONS else 1)
