"""Unpack gzip, Zstandard, xz and bzip2 piece by piece: all streams of a file, each of them whole, up to a limit."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from goldrank.errors import InputError, reason_of

_LIMIT_VARIABLE = "GOLDRANK_MAX_BYTES"
_SMALLEST_LIMIT = 1 << 30
# Text hardly ever shrinks to less than a tenth; what was made to fill memory or disk does, to a thousandth and less.
_RATIO = 20
_PIECE = 1 << 18
# Zstandard unpacks all that it is given, and 4 bytes may become 128 KB.
_ZSTD_PIECE = 1 << 12
# What xz may take for itself: its strongest setting needs 65 MB.
_XZ_MEMORY = 1 << 29


def compression_of(head: bytes) -> str | None:
    """The name of the compression that a file beginning like this has."""
    if head[:2] == b"\x1f\x8b":
        return "gzip"
    if head[:4] == b"\x28\xb5\x2f\xfd":
        return "Zstandard"
    if head[:6] == b"\xfd7zXZ\x00":
        return "xz"
    if head[:3] == b"BZh" and head[4:10] in (b"1AY&SY", b"\x17rE8P\x90"):
        return "bzip2"
    return None


def size_limit(packed: int = 0, smallest: int = _SMALLEST_LIMIT) -> int:
    """How many bytes are taken from a source that does not say its size: a pipe, or *packed* bytes of an archive.

    $GOLDRANK_MAX_BYTES, else 1 GiB (or *smallest*) or 20 times the packed size.
    """
    if given := os.environ.get(_LIMIT_VARIABLE):
        if not given.isdecimal() or not int(given):
            raise InputError(
                f"{_LIMIT_VARIABLE}={given!r} is no number of bytes", remedy="give a whole number such as 4000000000"
            )
        return int(given)
    return max(smallest, _RATIO * packed)


def over_limit(limit: int, name: str, *, packed: bool = False) -> InputError:
    """The error for a source that gives more than `size_limit`."""
    what = f"the file unpacks to more than {size_text(limit)}" if packed else f"more than {size_text(limit)} came"
    instead = "unpack it first" if packed else "write it to a file first"
    return InputError(
        what, where=name, remedy=f"if it is meant to be so large, set {_LIMIT_VARIABLE} to a larger number or {instead}"
    )


def size_text(size: int) -> str:
    """A number of bytes with its unit.

    >>> size_text(1 << 30), size_text(3 << 20), size_text(1000)
    ('1 GiB', '3 MiB', '1000 bytes')
    """
    for shift, unit in ((30, "GiB"), (20, "MiB")):
        if size >= 1 << shift:
            return f"{size / (1 << shift):.3g} {unit}"
    return f"{size} bytes"


def decompressed(pieces: Iterable[bytes], compression: str, name: str, *, packed: int) -> Iterator[bytes]:
    """The content of an archive in pieces.

    Args:
        pieces: the bytes of the file, from its beginning.
        compression: as `compression_of` names it.
        name: of the file, for messages.
        packed: how many bytes the file has, for the limit.
    """
    limit, total = size_limit(packed), 0
    unpacker = _Unpacker(compression, name)
    try:
        for piece in pieces:
            for part in unpacker.take(piece):
                total += len(part)
                if total > limit:
                    raise over_limit(limit, name, packed=True)
                yield part
        unpacker.finish()
    except unpacker.faults as error:
        raise InputError(
            f"the {compression} file is truncated or corrupt ({reason_of(error)})",
            where=name,
            remedy="copy or download it again",
        ) from None


def open_archive(path: Path, compression: str) -> BinaryIO:
    """The content of an archive as a stream that is read from its beginning to its end."""
    return cast(BinaryIO, io.BufferedReader(_Archive(path, compression), _PIECE))


class _Archive(io.RawIOBase):
    def __init__(self, path: Path, compression: str) -> None:
        self._file = path.open("rb")
        pieces = iter(lambda: self._file.read(_PIECE), b"")
        self._parts = decompressed(pieces, compression, str(path), packed=path.stat().st_size)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            self._rest = next(self._parts, b"")
        part, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._file.close()
        super().close()


class _Unpacker:
    """The streams of a file one after another; what stands between or behind them is refused."""

    def __init__(self, compression: str, name: str) -> None:
        self._compression = compression
        self._make, faults = _engine(compression, name)
        self.faults: tuple[type[Exception], ...] = (EOFError, OSError, ValueError, *faults)
        self._stream: Any = self._make()
        self._padding = 0
        """Zero bytes since the end of the last stream."""
        self._head = b""
        """The first bytes of a stream that are too few to be known by."""

    def take(self, data: bytes) -> Iterator[bytes]:
        """What this piece of the file unpacks to."""
        while data:
            if self._stream is None:
                data = self._begin(data)
                if not data:
                    return
            for part in self._stream.take(data):
                if part:
                    yield part
            data = self._stream.unused_data if self._stream.eof else b""
            if self._stream.eof:
                self._stream = None

    def _begin(self, data: bytes) -> bytes:
        """Skip padding and start the next stream; what it starts with, or nothing where more has to come."""
        if not self._head and self._compression in ("gzip", "xz"):
            rest = data.lstrip(b"\0")
            self._padding += len(data) - len(rest)
            data = rest
            if not data:
                return b""
        if self._compression == "xz" and self._padding % 4:
            raise ValueError(f"{self._padding} zero bytes behind a stream")
        self._head += data
        magic = {"gzip": b"\x1f\x8b", "xz": b"\xfd7zXZ\x00", "bzip2": b"BZh", "Zstandard": b""}[self._compression]
        if not self._head.startswith(magic[: len(self._head)]):
            raise ValueError("the stream is followed by something else")
        if len(self._head) < len(magic):
            return b""
        data, self._head, self._padding = self._head, b"", 0
        self._stream = self._make()
        return data

    def finish(self) -> None:
        """Refuse a file whose last stream is not complete."""
        if self._stream is not None or self._head:
            raise EOFError("the last stream is not complete")
        if self._compression == "xz" and self._padding % 4:
            raise ValueError(f"{self._padding} zero bytes behind a stream")


class _Gzip:
    def __init__(self) -> None:
        import zlib

        self._inner = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def take(self, data: bytes) -> Iterator[bytes]:
        while data and not self._inner.eof:
            yield self._inner.decompress(data, _PIECE)
            data = self._inner.unconsumed_tail


class _Bounded:
    """The decompressors of lzma and bz2 (and of Zstandard from Python 3.14 on), which share their interface."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    @property
    def eof(self) -> bool:
        return bool(self._inner.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._inner.unused_data)

    def take(self, data: bytes) -> Iterator[bytes]:
        yield self._inner.decompress(data, _PIECE)
        while not self._inner.eof and not self._inner.needs_input:
            yield self._inner.decompress(b"", _PIECE)


class _Zstd:
    """A frame of the package zstandard, whose stream reader takes a truncated frame for complete."""

    def __init__(self, zstandard: Any) -> None:
        self._inner = zstandard.ZstdDecompressor().decompressobj()
        self.unused_data = b""

    @property
    def eof(self) -> bool:
        return bool(self._inner.eof)

    def take(self, data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), _ZSTD_PIECE):
            yield self._inner.decompress(data[start : start + _ZSTD_PIECE])
            if self._inner.eof:
                self.unused_data = bytes(self._inner.unused_data) + data[start + _ZSTD_PIECE :]
                return


def _engine(compression: str, name: str) -> tuple[Any, tuple[type[Exception], ...]]:
    """What makes the reader of one stream, and what it may raise."""
    if compression == "gzip":
        import zlib

        return _Gzip, (zlib.error,)
    if compression == "xz":
        import lzma

        return lambda: _Bounded(lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)), (lzma.LZMAError,)
    if compression == "bzip2":
        import bz2

        return lambda: _Bounded(bz2.BZ2Decompressor()), ()
    if sys.version_info >= (3, 14):
        from compression import zstd

        return lambda: _Bounded(zstd.ZstdDecompressor()), (zstd.ZstdError,)
    zstandard = load_zstandard(name)
    return lambda: _Zstd(zstandard), (zstandard.ZstdError,)


def load_zstandard(name: str) -> Any:
    """The package that unpacks Zstandard, or what to do without it."""
    try:
        import zstandard
    except ImportError:
        raise InputError(
            "Zstandard files need the package zstandard, which is not installed",
            where=name,
            remedy="run: pip install zstandard",
        ) from None
    return zstandard
