"""Download files: verified by checksum, cached, and resumed after a broken transfer."""

from __future__ import annotations

import http.client
import json
import socket
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from goldrank.errors import GoldrankError, InputError
from goldrank.io.compression import over_limit, size_limit, size_text
from goldrank.io.files import cache_folder, write_atomically
from goldrank.io.fingerprints import content_digest
from goldrank.io.private_files import lock_file, make_private_folder
from goldrank.progress import Progress

_CHUNK = 1 << 16
ANSWER_LIMIT = 1 << 28
"""The most bytes of a response, which is held in memory."""
# The limit of a download of unknown size, because a server could send bytes for ever.
_LARGEST_DOWNLOAD = 1 << 36
# HTTP status codes after which a request is repeated.
_BUSY = (408, 425, 429, 500, 502, 503, 504)


@dataclass(frozen=True)
class _Wanted:
    """A file to download, with the checksum that identifies it."""

    url: str
    algorithm: str
    checksum: str
    size: int | None
    target: Path
    timeout: float

    @property
    def part(self) -> Path:
        return self.target.with_name(self.target.name + ".part")

    @property
    def about_part(self) -> Path:
        return self.target.with_name(self.target.name + ".part.json")

    def forget_part(self) -> None:
        """Delete what was received so far."""
        self.part.unlink(missing_ok=True)
        self.about_part.unlink(missing_ok=True)

    def has(self, path: Path) -> bool:
        """Return True if *path* has the expected size and checksum."""
        if not path.is_file() or (self.size is not None and path.stat().st_size != self.size):
            return False
        return content_digest(path, self.algorithm) == self.checksum


class _BrokenError(Exception):
    """The transfer ended early; what was received is kept."""


def fetch(
    url: str,
    *,
    name: str,
    sha256: str | None = None,
    md5: str | None = None,
    size: int | None = None,
    attempts: int = 5,
    pause: float = 1.0,
    timeout: float = 30.0,
) -> Path:
    """Download the file at *url* unless it is in the cache, and return its path there.

    Args:
        url: An http or https address.
        name: The name of the file in the cache.
        sha256: The expected checksum; one of the two is required.
        md5: The expected checksum, for sites that publish no other.
        size: The expected number of bytes, if known.
        attempts: How many attempts may fail in a row without receiving anything.
        pause: Seconds before the second attempt, doubled before each further one.
        timeout: Seconds of silence after which a transfer counts as broken.

    A broken transfer is resumed, by this call or the next. Processes that need the same file at once download it once.
    """
    wanted = _wanted(url, name, sha256, md5, size, timeout)
    try:
        make_private_folder(wanted.target.parent)
        with wanted.target.with_name(name + ".lock").open("a+b") as lock, lock_file(lock):
            if not wanted.has(wanted.target):
                _download(wanted, attempts, pause)
    except OSError as error:
        raise GoldrankError(
            f"{wanted.target}: the download cannot be kept ({error.strerror or error}); "
            "make room, or set GOLDRANK_CACHE to another folder"
        ) from None
    return wanted.target


def _wanted(url: str, name: str, sha256: str | None, md5: str | None, size: int | None, timeout: float) -> _Wanted:
    if not url.lower().startswith(("http://", "https://")):
        raise InputError("only http and https are fetched", where=url, remedy="give the path of a local file as it is")
    if Path(name).name != name or name in ("", ".", ".."):
        raise InputError(f"{name!r} is not the name of a file", where=url, remedy="name it without folders")
    given = {"sha256": sha256, "md5": md5}
    for algorithm, digits in (("sha256", 64), ("md5", 32)):
        checksum = (given[algorithm] or "").lower()
        if checksum:
            if len(checksum) != digits or set(checksum) - set("0123456789abcdef"):
                raise InputError(
                    f"{checksum!r} is not a {algorithm} checksum", where=url, remedy=f"give {digits} hex digits"
                )
            return _Wanted(url, algorithm, checksum, size, cache_folder() / "downloads" / name, timeout)
    raise InputError("a download without a checksum cannot be trusted", where=url, remedy="give its sha256 or md5")


def _download(wanted: _Wanted, attempts: int, pause: float) -> None:
    furthest = wanted.part.stat().st_size if wanted.part.is_file() else 0
    failures = 0
    with Progress(f"downloading {wanted.target.name}", total=wanted.size, unit="byte") as progress:
        progress.advance(furthest)
        while True:
            try:
                _transfer(wanted, progress)
                break
            except _BrokenError as broken:
                received = wanted.part.stat().st_size if wanted.part.is_file() else 0
                failures = 1 if received > furthest else failures + 1
                furthest = max(furthest, received)
                if failures >= attempts:
                    raise _unreachable(wanted, str(broken)) from None
                time.sleep(pause * 2 ** (failures - 1))
    if not wanted.has(wanted.part):
        checksum, length = content_digest(wanted.part, wanted.algorithm), wanted.part.stat().st_size
        wanted.forget_part()
        raise InputError(
            f"the file received ({length} bytes, {wanted.algorithm} {checksum}) is not the one wanted "
            f"({wanted.algorithm} {wanted.checksum})",
            where=wanted.url,
            remedy="it was removed; try again, or get the file from elsewhere and give its path",
        )
    wanted.part.replace(wanted.target)
    wanted.forget_part()


def _transfer(wanted: _Wanted, progress: Progress) -> None:
    """Request what is missing and append it; raise `_BrokenError` unless the file is then complete."""
    start, mark = _received_part(wanted)
    headers = {"User-Agent": "goldrank", "Accept-Encoding": "identity"}
    if start:
        headers |= {"Range": f"bytes={start}-", "If-Range": mark}
    try:
        with urllib.request.urlopen(urllib.request.Request(wanted.url, headers=headers), timeout=wanted.timeout) as got:
            if got.status != 206 or not str(got.headers.get("Content-Range")).startswith(f"bytes {start}-"):
                start = 0
            length = got.headers.get("Content-Length")
            total = start + int(length) if length and length.isdecimal() else wanted.size
            _remember(wanted, got.headers)
            with wanted.part.open("r+b" if start else "wb") as part:
                part.seek(start)
                part.truncate()
                _append(got, part, wanted, progress)
        received = wanted.part.stat().st_size
        if total is not None and received < total:
            raise _BrokenError(f"the transfer ended after {received} of {total} bytes")
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416:
            # The part received before does not belong to the file that the server has now.
            wanted.forget_part()
        elif error.code not in _BUSY:
            raise _unreachable(wanted, f"HTTP {error.code} {error.reason}") from None
        raise _BrokenError(f"HTTP {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        reason = str(getattr(error.reason, "strerror", None) or error.reason)
        if isinstance(error.reason, socket.gaierror):
            # No name server or no network: another attempt would only keep the user waiting.
            raise _unreachable(wanted, reason) from None
        raise _BrokenError(reason) from None
    except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise _BrokenError(str(error) or type(error).__name__) from None


def _append(source: Any, part: BinaryIO, wanted: _Wanted, progress: Progress) -> None:
    limit = size_limit(smallest=_LARGEST_DOWNLOAD)
    while chunk := _next(source):
        part.write(chunk)
        progress.advance(len(chunk))
        if wanted.size is None and part.tell() > limit:
            part.close()
            wanted.forget_part()
            raise over_limit(limit, wanted.url)
        if wanted.size is not None and part.tell() > wanted.size:
            part.close()
            wanted.forget_part()
            raise InputError(
                f"the server sends more than the {wanted.size} bytes that the file has",
                where=wanted.url,
                remedy="get the file from elsewhere and give its path",
            )


def read_answer(reply: Any, *, seconds: float) -> bytes:
    """Return the whole response of a server, unless it is larger than `ANSWER_LIMIT` or takes longer than *seconds*.

    A timeout only bounds the time without a byte; a server that sends one byte a second never reaches it.
    """
    end = time.monotonic() + seconds
    parts: list[bytes] = []
    size = 0
    while chunk := reply.read1(_CHUNK):
        parts.append(chunk)
        size += len(chunk)
        if size > ANSWER_LIMIT:
            raise EndlessAnswerError(f"more than {size_text(ANSWER_LIMIT)}")
        if time.monotonic() > end:
            raise EndlessAnswerError(f"a text that was not complete after {seconds:.0f} s")
    if reply.length:
        # Unlike read(), read1() does not distinguish a broken connection from the end of the response.
        raise http.client.IncompleteRead(b"", reply.length)
    return b"".join(parts)


class EndlessAnswerError(Exception):
    """The response of a server is too large or takes too long; another request would not help."""


def _next(source: Any) -> bytes:
    try:
        chunk: bytes = source.read1(_CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise _BrokenError(str(error) or type(error).__name__) from None
    return chunk


def _received_part(wanted: _Wanted) -> tuple[int, str]:
    """Return how many bytes were received before, and the validator of the version that they belong to."""
    try:
        about = json.loads(wanted.about_part.read_bytes())
        size = wanted.part.stat().st_size
        if about["url"] == wanted.url and about["mark"] and about["checksum"] == wanted.checksum:
            # The file may be complete: a range may not be empty, so the last byte is requested again.
            return max(0, size - 1), str(about["mark"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        pass
    return 0, ""


def _remember(wanted: _Wanted, headers: Any) -> None:
    tag = headers.get("ETag") or ""
    # A weak tag does not promise the same bytes.
    mark = headers.get("Last-Modified") if not tag or tag.startswith("W/") else tag
    about = json.dumps({"url": wanted.url, "checksum": wanted.checksum, "mark": mark or ""}).encode()
    write_atomically(wanted.about_part, lambda stream: stream.write(about))


def _unreachable(wanted: _Wanted, reason: str) -> InputError:
    return InputError(
        f"the file cannot be downloaded ({reason})",
        where=wanted.url,
        remedy=f"download it by hand and give its path, or put it here: {wanted.target}",
    )
