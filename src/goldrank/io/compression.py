"""Decompress and compress gzip, Zstandard, xz and bzip2: in pieces, all streams of a file, up to a limit."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from goldrank.errors import InputError, reason_of

_SUFFIXES = {"gzip": ".gz", "Zstandard": ".zst", "xz": ".xz", "bzip2": ".bz2"}
COMPRESSIONS = tuple(_SUFFIXES.values())
"""The suffixes of compressed files."""
_FIRST_BYTES = {"gzip": b"\x1f\x8b", "Zstandard": b"\x28\xb5\x2f\xfd", "xz": b"\xfd7zXZ\x00", "bzip2": b"BZh"}
_LIMIT_VARIABLE = "GOLDRANK_MAX_BYTES"
_SMALLEST_LIMIT = 1 << 30
# Text rarely compresses to less than a tenth; archives made to fill memory or disk compress to a thousandth and less.
_RATIO = 20
_PIECE = 1 << 18
# Zstandard decompresses its whole input at once, and 4 bytes may become 128 KB.
_ZSTD_PIECE = 1 << 12
# Memory that xz may use: its strongest setting needs 65 MB.
_XZ_MEMORY = 1 << 29


def compression_of(head: bytes) -> str | None:
    """Return the name of the compression of a file that begins like this; None for a file that is not compressed."""
    name = next((name for name, first in _FIRST_BYTES.items() if head.startswith(first)), None)
    if name == "bzip2" and head[4:10] not in (b"1AY&SY", b"\x17rE8P\x90"):
        return None
    return name


def size_limit(packed: int = 0, smallest: int = _SMALLEST_LIMIT) -> int:
    """Return how many bytes are read from a source of unknown size: a pipe, or an archive of *packed* bytes.

    This is $GOLDRANK_MAX_BYTES, or the larger of 1 GiB (or *smallest*) and 20 times the packed size.
    """
    if given := os.environ.get(_LIMIT_VARIABLE):
        if not given.isdecimal() or not int(given):
            raise InputError(
                f"{_LIMIT_VARIABLE}={given!r} is not a number of bytes", remedy="give a whole number such as 4000000000"
            )
        return int(given)
    return max(smallest, _RATIO * packed)


def over_limit(limit: int, name: str, *, packed: bool = False) -> InputError:
    """Return the error for a source with more bytes than `size_limit`."""
    what = f"the file unpacks to more than {size_text(limit)}" if packed else f"more than {size_text(limit)} came"
    instead = "unpack it first" if packed else "write it to a file first"
    return InputError(
        what, where=name, remedy=f"if it is meant to be so large, set {_LIMIT_VARIABLE} to a larger number or {instead}"
    )


def size_text(size: int) -> str:
    """Return a number of bytes with its unit.

    >>> size_text(1 << 30), size_text(3 << 20), size_text(1000)
    ('1 GiB', '3 MiB', '1000 bytes')
    """
    for shift, unit in ((30, "GiB"), (20, "MiB")):
        if size >= 1 << shift:
            return f"{size / (1 << shift):.3g} {unit}"
    return f"{size} bytes"


def decompressed(pieces: Iterable[bytes], compression: str, name: str, *, packed: int) -> Iterator[bytes]:
    """Yield the content of a compressed file in pieces.

    Args:
        pieces: The bytes of the file, from its beginning.
        compression: Its name, as in `compression_of`.
        name: The name of the file, for messages.
        packed: How many bytes the file has, for the limit.
    """
    limit, total = size_limit(packed), 0
    unpacker = _Unpacker(compression)
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
    """Open the content of a compressed file as a stream that is read from beginning to end."""
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
    """Decompress the streams of a file one after another, and refuse anything between or after them."""

    def __init__(self, compression: str) -> None:
        self._compression, self._engine = compression, _engine(compression)
        self.faults: tuple[type[Exception], ...] = (EOFError, OSError, ValueError, *self._engine.faults)
        self._stream: Any = self._engine.start()
        self._padding = 0
        """Zero bytes since the end of the last stream."""
        self._head = b""
        """The first bytes of a stream, while they are too few to recognise it."""

    def take(self, data: bytes) -> Iterator[bytes]:
        """Yield what this piece of the file decompresses to."""
        while data:
            if self._stream is None:
                data = self._begin(data)
                if not data:
                    return
            step = self._engine.step or len(data)
            for start in range(0, len(data), step):
                yield from filter(None, self._engine.unpack(self._stream, data[start : start + step]))
                if self._stream.eof:
                    data = self._stream.unused_data + data[start + step :]
                    self._stream = None
                    break
            else:
                return

    def _begin(self, data: bytes) -> bytes:
        """Skip padding and start the next stream; return its first bytes, or nothing if more bytes are needed."""
        if not self._head and self._compression in ("gzip", "xz"):
            rest = data.lstrip(b"\0")
            self._padding += len(data) - len(rest)
            data = rest
            if not data:
                return b""
        self._refuse_padding()
        self._head += data
        # Zstandard also has skippable frames, with other first bytes.
        first = b"" if self._compression == "Zstandard" else _FIRST_BYTES[self._compression]
        if not self._head.startswith(first[: len(self._head)]):
            raise ValueError("the stream is followed by something else")
        if len(self._head) < len(first):
            return b""
        data, self._head, self._padding = self._head, b"", 0
        self._stream = self._engine.start()
        return data

    def finish(self) -> None:
        """Refuse a file whose last stream is not complete."""
        if self._stream is not None or self._head:
            raise EOFError("the last stream is not complete")
        self._refuse_padding()

    def _refuse_padding(self) -> None:
        if self._compression == "xz" and self._padding % 4:
            raise ValueError(f"{self._padding} zero bytes behind a stream")


@dataclass(frozen=True)
class _Engine:
    """A decompression library: *start* a stream, *unpack* a piece with it, and the *faults* that it raises."""

    start: Callable[[], Any]
    unpack: Callable[[Any, bytes], Iterable[bytes]]
    faults: tuple[type[Exception], ...] = ()
    step: int = 0
    """The most bytes to unpack at once; 0 for a library that limits its output itself."""


def _engine(compression: str) -> _Engine:
    if compression == "gzip":
        import zlib

        return _Engine(lambda: zlib.decompressobj(wbits=31), _unpack_zlib, (zlib.error,))
    if compression == "xz":
        import lzma

        start = partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
        return _Engine(start, _unpack_bounded, (lzma.LZMAError,))
    if compression == "bzip2":
        import bz2

        return _Engine(bz2.BZ2Decompressor, _unpack_bounded)
    if sys.version_info >= (3, 14):
        from compression import zstd

        return _Engine(zstd.ZstdDecompressor, _unpack_bounded, (zstd.ZstdError,))
    import zstandard

    # The stream reader of this package does not notice that a frame is truncated.
    return _Engine(
        zstandard.ZstdDecompressor().decompressobj,
        lambda stream, data: [stream.decompress(data)],
        (zstandard.ZstdError,),
        _ZSTD_PIECE,
    )


def _unpack_zlib(stream: Any, data: bytes) -> Iterator[bytes]:
    while data and not stream.eof:
        yield stream.decompress(data, _PIECE)
        data = stream.unconsumed_tail


def _unpack_bounded(stream: Any, data: bytes) -> Iterator[bytes]:
    """Unpack with lzma, bz2 or the Zstandard of Python 3.14, which share their interface."""
    yield stream.decompress(data, _PIECE)
    while not stream.eof and not stream.needs_input:
        yield stream.decompress(b"", _PIECE)


def open_compressor(out: BinaryIO, suffix: str) -> BinaryIO:
    """Return a stream that compresses what is written to it into *out*, by the compression of *suffix*."""
    if suffix == ".gz":
        import gzip

        # No name and no time in the header: equal content gives equal bytes.
        return cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0))
    if suffix == ".xz":
        import lzma

        return cast(BinaryIO, lzma.LZMAFile(out, "wb"))
    if suffix == ".bz2":
        import bz2

        return cast(BinaryIO, bz2.BZ2File(out, "wb"))
    if sys.version_info >= (3, 14):
        from compression import zstd

        return cast(BinaryIO, zstd.ZstdFile(out, "wb"))
    import zstandard

    return cast(BinaryIO, zstandard.ZstdCompressor().stream_writer(out, closefd=False))
