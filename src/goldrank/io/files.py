"""Read whole files of any compression, and write files completely or not at all."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import IO, BinaryIO

import numpy as np

from goldrank.errors import GoldrankError, InputError, reason_of, shorten
from goldrank.io.compression import COMPRESSIONS, compression_of, decompressed, open_compressor, over_limit, size_limit
from goldrank.io.memory_mapping import MappedFile

PathLike = str | os.PathLike[str]

_CHUNK = 1 << 22
# Plain files of at least this size are memory-mapped: copying one would take half as long as scoring it.
_MAP_FROM = 1 << 24


def cache_folder() -> Path:
    """Return the cache folder: $GOLDRANK_CACHE, or that of the platform."""
    if given := os.environ.get("GOLDRANK_CACHE"):
        return Path(given).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("goldrank", appauthor=False)


def data_folder() -> Path:
    """Return the data folder of the platform, for results that the user must not lose."""
    from platformdirs import user_data_path

    return user_data_path("goldrank", appauthor=False)


def display_name(path: PathLike) -> str:
    """Return the name of *path* in messages."""
    return "standard input" if os.fspath(path) == "-" else os.fspath(path)


def read_bytes(path: PathLike) -> bytes:
    """Return the decompressed content of *path* ("-" is standard input), which must be UTF-8 text or Parquet.

    The compression is recognised by the first bytes, not by the name. A byte order mark is removed. Sources of unknown
    size, pipes and archives, are read up to `size_limit`.
    """
    name = display_name(path)
    try:
        return _checked(_content(path, name), name)
    except MemoryError:
        raise InputError(
            "the file does not fit in memory", where=name, remedy="split it, or use a larger machine"
        ) from None


def map_file(path: PathLike) -> MappedFile | None:
    """Map a large Parquet or plain text file into memory, whose text is not checked; return None for any other."""
    try:
        if os.fspath(path) == "-" or not Path(path).is_file() or Path(path).stat().st_size < _MAP_FROM:
            return None
        mapped = MappedFile.open(path)
    except (OSError, ValueError):
        return None  # reading the file will report the error
    if mapped is None:
        return None
    head = mapped[:16]
    if is_parquet(head):
        return mapped
    if head[:3] == b"\xef\xbb\xbf" or compression_of(head) is not None:
        return None
    without_mark(head, display_name(path))
    return mapped


def check_text(data: bytes | MappedFile, name: str, threads: int = 1) -> None:
    """Raise InputError if *data* is not UTF-8 text without NUL bytes."""
    # As signed numbers, all bytes of ASCII text without NUL are above 0.
    values = np.frombuffer(data, np.int8)
    starts = range(0, len(values), _CHUNK)
    with_nul: list[int] = []
    not_ascii: list[int] = []

    def check_chunk(start: int) -> None:
        if with_nul and start > min(with_nul):
            return
        chunk = values[start : start + _CHUNK]
        least = chunk.min()
        if least < 0:
            not_ascii.append(start)
        if least <= 0 and not chunk.all():
            with_nul.append(start)

    if threads <= 1:
        for start in starts:
            check_chunk(start)
    else:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(check_chunk, starts))
    if with_nul:
        _refuse_nul(data[: min(with_nul) + _CHUNK], name)
    if not_ascii:
        _refuse_binary(data[:], name)


def _checked(data: bytes, name: str) -> bytes:
    if is_parquet(data):
        return data
    data = without_mark(data, name)
    if not data:
        raise InputError("the file is empty", where=name, remedy="check that it was written completely")
    _refuse_binary(data, name)
    return data


def is_parquet(data: bytes) -> bool:
    """Return True if *data* starts like a Parquet file; a text whose first word starts with PAR1 does not."""
    return data[:4] == b"PAR1" and data[4:5] < b" " and data[4:5] not in b"\t\n\v\f\r"


def _content(path: PathLike, name: str) -> bytes:
    try:
        if os.fspath(path) == "-":
            return _read_whole(sys.stdin.buffer, name)
        with Path(path).open("rb", buffering=0) as stream:
            refuse_device(stream.fileno(), name)
            return _read_whole(stream, name)
    except FileNotFoundError:
        raise InputError("there is no such file", where=name, remedy=nearest_path(path)) from None
    except IsADirectoryError:
        raise InputError("this is a folder, not a file", where=name, remedy="name a file inside it") from None
    except PermissionError:
        raise InputError("the file may not be read", where=name, remedy="change its permissions") from None
    except (OSError, ValueError) as error:
        what = f"the file cannot be read ({reason_of(error)})"
        raise InputError(what, where=name, remedy="check the path and the disk") from None


def refuse_device(descriptor: int, name: str) -> None:
    """Raise InputError for an endless device such as /dev/zero; terminals and /dev/null are accepted."""
    status = os.fstat(descriptor)
    ends = os.isatty(descriptor) or os.path.samestat(status, Path(os.devnull).stat())
    if stat.S_ISBLK(status.st_mode) or (stat.S_ISCHR(status.st_mode) and not ends):
        raise InputError("this is a device, not a file", where=name, remedy="give a file or a pipe")


def _read_whole(stream: IO[bytes], name: str) -> bytes:
    first = _next_chunk(stream)
    compression = compression_of(first[:16])
    if compression is None and not is_parquet(first):
        # A file that is not text is refused before the rest of it fills the memory.
        _refuse_nul(first, name)
    size = _known_size(stream)
    chunks: Iterator[bytes] = chain([first], iter(partial(_next_chunk, stream), b""))
    if compression is not None:
        chunks = decompressed(chunks, compression, name, packed=size or 0)
    elif size is None:
        chunks = _limited(chunks, name)
    else:
        # One allocation of the right size instead of a buffer that grows.
        stream.seek(0)
        return stream.read()
    content = BytesIO()
    for chunk in chunks:
        content.write(chunk)
    return content.getvalue()


def _next_chunk(stream: IO[bytes]) -> bytes:
    """Return the next bytes; a pipe may return few bytes at a time, and none only at its end."""
    parts, missing = [], _CHUNK
    while missing and (part := stream.read(missing)):
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _known_size(stream: IO[bytes]) -> int | None:
    """Return the size of a plain file; None for other sources."""
    try:
        status = os.fstat(stream.fileno())
    except OSError:  # not a file of the operating system, as in a test
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _limited(chunks: Iterable[bytes], name: str) -> Iterator[bytes]:
    limit, total = size_limit(), 0
    for chunk in chunks:
        total += len(chunk)
        if total > limit:
            raise over_limit(limit, name)
        yield chunk


def nearest_path(path: PathLike) -> str:
    """Return the remedy for a path that does not exist: the path with the most similar name in the same folder."""
    import difflib

    missing = Path(path).expanduser()
    with suppress(OSError, ValueError):
        while not missing.parent.exists():
            missing = missing.parent
        near = difflib.get_close_matches(missing.name, [entry.name for entry in missing.parent.iterdir()], n=1)
        if near:
            return f"did you mean '{missing.parent / near[0]}'?"
    return "check the path"


def without_mark(data: bytes, name: str) -> bytes:
    """Return the data without a byte order mark of UTF-8; raise InputError for other byte order marks."""
    if data[:3] == b"\xef\xbb\xbf":
        return data[3:]
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or data[:4] == b"\x00\x00\xfe\xff":
        encoding = "UTF-32" if b"\x00\x00" in data[:4] else "UTF-16"
        raise InputError(f"the text is encoded as {encoding}", where=name, remedy="save it as UTF-8")
    return data


def _refuse_binary(data: bytes, name: str) -> None:
    _refuse_nul(data, name)
    if data.isascii():
        return
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), _CHUNK):
        chunk = data[start : start + _CHUNK]
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(chunk, final=start + _CHUNK >= len(data))
        except UnicodeDecodeError as error:
            at = start - pending + error.start
            raise InputError(
                f"the text is not valid UTF-8 (byte 0x{data[at]:02x} at offset {at})",
                where=f"{name}:{_line(data, at)}",
                remedy="save it as UTF-8",
            ) from None


def _refuse_nul(data: bytes, name: str) -> None:
    if data[:4] == b"\x04\x22\x4d\x18":
        raise InputError(
            "the file is compressed with LZ4, as ranx saves a run",
            where=name,
            remedy="save it as JSON: ranx.Run.from_file('run.lz4').save('run.json'), or score that Run in Python",
        )
    without_mark(data, name)
    at = data.find(b"\0")
    if at >= 0:
        raise InputError(
            f"this is not a text file (a NUL byte at offset {at})",
            where=f"{name}:{_line(data, at)}",
            remedy="give a UTF-8 text file or a Parquet file",
        )


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1


def write_atomically(path: PathLike, write: Callable[[BinaryIO], object]) -> None:
    """Let *write* fill a new file beside *path* and move it into place, so that no incomplete file is ever visible.

    The suffix decides the compression (.gz, .zst, .xz, .bz2); equal content gives equal bytes. "-" is standard output,
    uncompressed.
    """
    name = os.fspath(path)
    if name == "-":
        write(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    try:
        # Follow a link, so that its target is replaced and the link stays.
        target = Path(path).resolve()
        if target.is_dir():
            raise InputError("this is a folder, not a file", where=name, remedy="name a file inside it")
        if target.exists() and not target.is_file():
            with target.open("wb") as out:
                _write_compressed(out, target.suffix, write)
            return
        _replace(target, write)
    except FileNotFoundError:
        raise InputError("the folder does not exist", where=name, remedy="create it first") from None
    except NotADirectoryError:
        raise InputError("the path leads through a file", where=name, remedy="name a folder") from None
    except PermissionError:
        raise InputError(
            "the file may not be written here", where=name, remedy="choose another folder or its permissions"
        ) from None
    except (OSError, ValueError) as error:
        raise GoldrankError(f"{name}: the file cannot be written ({reason_of(error)}); nothing was kept") from None


def _replace(target: Path, write: Callable[[BinaryIO], object]) -> None:
    temporary = target.with_name(f".{target.name[:80]}.{os.urandom(6).hex()}.tmp")
    try:
        with temporary.open("xb") as out:
            _write_compressed(out, target.suffix, write)
            out.flush()
            os.fsync(out.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o7777)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _write_compressed(out: BinaryIO, suffix: str, write: Callable[[BinaryIO], object]) -> None:
    if suffix not in COMPRESSIONS:
        write(out)
        return
    with open_compressor(out, suffix) as packed:
        write(packed)


def parse_corpus(text: str) -> int | frozenset[str]:
    """Return the size of a corpus that a text names, or the ids in the file that it names, one per line."""
    if text.isdecimal():
        return int(text)
    ids = frozenset(line.strip() for line in read_bytes(text).decode().splitlines() if line.strip())
    if not ids:
        raise InputError("the corpus file has no ids", where=text, remedy="write one item id per line")
    return ids


_KEY = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(~[0-9]+)?")


def is_stored_key(argument: str) -> bool:
    """Return True if an argument may be the key of a stored run: it is written like one, and no file has that name."""
    return _KEY.fullmatch(argument) is not None and not Path(argument).exists()


def run_names(paths: Iterable[str]) -> dict[str, str]:
    """Return the run files by short unique names: their stems, or their paths where stems are equal."""
    paths = list(paths)
    stems = [_stem(path) for path in paths]
    names = {path if stems.count(stem) > 1 else stem: path for path, stem in zip(paths, stems, strict=True)}
    if len(names) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise InputError(f"the run {shorten(twice)} is given twice", remedy="name each run once")
    return names


def _stem(path: str) -> str:
    if path == "-":
        return "stdin"
    name = Path(path).name
    for suffix in (".gz", ".zst", ".xz", ".bz2"):
        name = name.removesuffix(suffix)
    return Path(name).stem or name
