"""Files gone through piece by piece, decompressed as they come, so that none is ever held whole."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from goldrank.errors import GoldrankError, InputError
from goldrank.io.files import COMPRESSIONS, compression_of, load_zstandard, reason_of, without_mark

Source = Path | str
"""A file of this machine, or the address of one anywhere."""

_PIECE = 1 << 18
# Small, because a packed piece may unfold to a thousand times its size.
_PACKED_PIECE = 1 << 12


def opened(path: Source) -> BinaryIO:
    """The file, to be read from its beginning."""
    if isinstance(path, Path):
        return path.open("rb")
    from goldrank.io.remote import open_input

    return cast(BinaryIO, open_input(path))


def head(path: Source, size: int = 4096) -> bytes:
    """The first bytes of what a file holds, for a look at it; nothing where it cannot be read."""
    found = b""
    with suppress(GoldrankError, OSError):
        for piece in pieces(path):
            found += piece
            if len(found) >= size:
                break
    return found[:size]


def pieces(path: Source) -> Iterator[bytes]:
    """The decompressed content in pieces; the compression is recognised by the first bytes."""
    try:
        with opened(path) as stream:
            compression = compression_of(stream.read(16))
            stream.seek(0)
            if compression is None:
                yield from _read(stream)
            else:
                yield from _unpacked(stream, compression, str(path))
    except (OSError, ValueError) as error:
        what = f"the file cannot be read ({reason_of(error)})"
        raise InputError(what, where=str(path), remedy="check the path and the disk") from None


def _read(stream: BinaryIO, size: int = _PIECE) -> Iterator[bytes]:
    return iter(lambda: stream.read(size), b"")


def _unpacked(stream: BinaryIO, compression: str, name: str) -> Iterator[bytes]:
    unpacked, faults = _unpacker(stream, compression, name)
    try:
        yield from unpacked
    except faults as error:
        raise InputError(
            f"the {compression} file is truncated or corrupt ({reason_of(error)})",
            where=name,
            remedy="copy or download it again",
        ) from None


def _unpacker(stream: BinaryIO, compression: str, name: str) -> tuple[Iterator[bytes], tuple[type[Exception], ...]]:
    """The content in pieces, and what may be raised on the way."""
    if compression == "gzip":
        import gzip
        import zlib

        return _read(cast(BinaryIO, gzip.GzipFile(fileobj=stream))), (EOFError, OSError, zlib.error)
    if compression == "xz":
        import lzma

        return _read(cast(BinaryIO, lzma.LZMAFile(stream))), (EOFError, lzma.LZMAError)
    if compression == "bzip2":
        import bz2

        return _read(cast(BinaryIO, bz2.BZ2File(stream))), (EOFError, OSError, ValueError)
    if sys.version_info >= (3, 14):
        from compression import zstd

        return _read(cast(BinaryIO, zstd.ZstdFile(stream))), (EOFError, zstd.ZstdError)
    zstandard = load_zstandard(name)
    return _zstd_pieces(stream, zstandard), (EOFError, zstandard.ZstdError)


def _zstd_pieces(stream: BinaryIO, zstandard: Any) -> Iterator[bytes]:
    # One frame at a time, because the stream reader of the package takes a truncated frame for complete.
    frame = zstandard.ZstdDecompressor().decompressobj()
    for piece in _read(stream, _PACKED_PIECE):
        rest = piece
        while rest:
            if frame.eof:
                frame = zstandard.ZstdDecompressor().decompressobj()
            yield frame.decompress(rest)
            rest = frame.unused_data if frame.eof else b""
    if not frame.eof:
        raise EOFError("the last frame is not complete")


def lines(path: Source, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Every line with its number, from 1, without its end; what is no text is refused with its line."""
    number = 0
    for number, line in enumerate(_byte_lines(path), 1):
        yield number, _decoded(line, path, number, encoding)
    if not number:
        raise InputError("the file is empty", where=str(path), remedy="check that it was written completely")


def _byte_lines(path: Source) -> Iterator[bytes]:
    pending: list[bytes] = []
    start = True
    for piece in pieces(path):
        if start and piece:
            # Only the first piece can hold a mark, and it is as long as one.
            piece, start = without_mark(piece, str(path)), False  # noqa: PLW2901
        *whole, rest = piece.split(b"\n")
        if whole:
            yield b"".join([*pending, whole[0]])
            yield from whole[1:]
            pending = []
        pending.append(rest)
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


def text_encoding(path: Path) -> str:
    """UTF-8 where all of the file is, else latin-1, in which the old collections were written."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for piece in pieces(path):
            decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def unpacked_size(path: Path) -> int:
    """About how many bytes a file holds: text shrinks to a quarter when it is packed."""
    return path.stat().st_size * (4 if path.suffix in COMPRESSIONS else 1)
