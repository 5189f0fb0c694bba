"""The embedding cache: vectors are stored on disk batch by batch, so that no text is encoded twice."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import Encoder, Side, Vectors, can_resume, is_live
from goldrank.errors import GoldrankError, InputError, shorten
from goldrank.io.files import PathLike, cache_folder, write_atomically
from goldrank.io.private_files import make_private_folder
from goldrank.progress import Progress
from goldrank.vectors.shards import (
    SET_ASIDE_NAME,
    SHARD_NAME,
    TEMPORARY_NAME,
    Floats,
    Hashes,
    ShardFolder,
    as_keys,
    texts_in,
)

_MANIFEST = "manifest.json"
_UNFINISHED = "unfinished"
_FORMAT = "goldrank embeddings 1"
_FOLDER_DIGITS = 32
_MOST_LISTS = 256
"""The number of lists of texts whose encoding times a manifest holds."""
# Shards are merged beyond these counts; a killed run leaves at most the first number of small shards behind.
_MERGE_WHILE_ENCODING = 64
_MERGE_AFTERWARDS = 16
# How many cached vectors of an interrupted evaluation are compared with new ones of a live model before all are used.
_COMPARED = 16
_SAME_COSINE = 0.9999
"""Servers return slightly different numbers for the same text in another batch."""


@dataclass(frozen=True)
class EmbeddingCacheEntry:
    """The cached vectors of one encoder, side and prompt."""

    identity: str
    side: str
    prompt: str
    texts: int
    dimension: int
    bytes: int
    last_used: float
    """Seconds since 1970."""
    folder: Path


@dataclass
class CacheCounts:
    """Counts of the work of an `EmbeddingCache`."""

    reused: int = 0
    """Rows read from disk."""
    encoded: int = 0
    """Texts that had to be encoded."""
    earlier: int = 0
    """Rows read from disk that a live model returned in an earlier evaluation."""
    set_aside: int = 0
    """Damaged files that were moved aside; their texts were encoded again."""


@dataclass
class Elapsed:
    """The duration of a block of `measure_seconds`."""

    seconds: float = 0.0
    """Known once the block has ended."""
    saved: float = 0.0
    """The part that the cache saved."""


_measured: ContextVar[Elapsed | None] = ContextVar("measured", default=None)


@contextmanager
def measure_seconds() -> Iterator[Elapsed]:
    """Measure how long a block takes as if the cache had been empty, so that costs do not depend on what ran before.

    What encoding the reused texts would take is what the same list of texts took, else the mean over all texts of the
    same encoder.
    """
    outer, elapsed, started = _measured.get(), Elapsed(), time.perf_counter()
    token = _measured.set(elapsed)
    try:
        yield elapsed
    finally:
        _measured.reset(token)
        elapsed.seconds = time.perf_counter() - started + elapsed.saved
        if outer is not None:
            outer.saved += elapsed.saved


class EmbeddingCache:
    """A cache of vectors by encoder, side, prompt and text.

    The key of a text is the hash of its UTF-8 bytes (lone surrogates are allowed). Texts are stored in one folder per
    encoder identity, side and prompt. The identity must therefore change with everything that can change a vector,
    including what the encoder was fitted on.

    Each batch is written before the next is encoded, so a killed run loses one batch. Any number of processes may
    share a folder. Sparse vectors are not cached because they are quick to compute. The vectors of a live model, which
    may change while its identity stays the same, are cached only inside `live_vectors`.

    Args:
        folder: the folder of the cache; `default_folder()` by default.
        batch: texts encoded and written at a time.
        unwritable: ``error``, or ``ignore`` to go on without caching if the folder cannot be written to; `problem`
            then holds the reason.
        keep: with False nothing is looked up or stored, for callers that store the vectors themselves. Texts are
            batched in the same way, so that a model that pads its batches returns the same bits.
    """

    def __init__(
        self, folder: PathLike | None = None, *, batch: int = 1024, unwritable: str = "error", keep: bool = True
    ) -> None:
        if unwritable not in ("error", "ignore"):
            raise InputError(f"there is no setting unwritable={unwritable!r}", remedy="choose error or ignore")
        if batch < 1:
            raise InputError(f"a batch of {batch} texts cannot be encoded", remedy="give 1 or more")
        self.folder = default_folder() if folder is None else Path(folder)
        self.batch = batch
        self.counts = CacheCounts()
        self.problem: str | None = None
        """Why nothing is cached, with unwritable="ignore"; None if the cache works."""
        self._ignores, self._keeps = unwritable == "ignore", keep
        self._shards: dict[Path, ShardFolder] = {}

    def encode(self, encoder: Encoder, texts: Sequence[str], side: Side) -> Vectors:
        """Return one float32 row per text, in order; only texts that are not cached are encoded, each once."""
        if side not in ("query", "item"):
            raise InputError(f"there is no side {side!r}", remedy="choose query or item")
        if isinstance(texts, str):
            raise InputError("one text was given where several are expected", remedy="put it into a list")
        if self._keeps and is_live(encoder) and id(encoder) not in _LIVE_SESSIONS:
            passing = EmbeddingCache(self.folder, batch=self.batch, keep=False)
            passing.counts = self.counts
            return passing.encode(encoder, texts, side)
        place = _EntryFolder.of(self.folder, encoder, side)
        shards = self._shards.setdefault(place.folder, ShardFolder(place.folder))
        hashes = _hash_all(texts)
        earlier = False
        if self._keeps and is_live(encoder):
            earlier = self._refresh(encoder, place, shards, texts, hashes, side)
        vectors, held = shards.gather(hashes) if self._keeps else (None, np.zeros(len(hashes), bool))
        self.counts.set_aside = sum(folder.set_aside for folder in self._shards.values())
        self.counts.reused += int(held.sum())
        self.counts.earlier += int(held.sum()) if earlier else 0
        if self._keeps:
            place.touch()
            if (elapsed := _measured.get()) is not None and held.any():
                elapsed.saved += place.seconds_saved(hashes, held)
        if held.all():
            return np.empty((0, 0), np.float32) if vectors is None else vectors
        missing = np.flatnonzero(~held)
        _, first, which = np.unique(as_keys(hashes[missing]), return_index=True, return_inverse=True)
        firsts, started = missing[first], time.perf_counter()
        for rows, new in self._batches(encoder, texts, side, firsts):
            if hasattr(new, "tocsr"):
                return encode_uncached(encoder, texts, side)
            checked = _checked(new, len(rows), None if vectors is None else vectors.shape[1], encoder)
            if vectors is None:
                vectors = np.empty((len(texts), checked.shape[1]), np.float32)
            vectors[rows] = checked
            self.counts.encoded += len(rows)
            self._keep(place, shards, hashes[rows], checked)
        if self._keeps and self.problem is None:
            place.record_seconds(time.perf_counter() - started, len(firsts), None if held.any() else hashes)
        self._tidy(shards)
        assert vectors is not None
        equal = firsts[which]
        repeated = equal != missing
        vectors[missing[repeated]] = vectors[equal[repeated]]
        return vectors

    def _refresh(
        self,
        encoder: Encoder,
        place: _EntryFolder,
        shards: ShardFolder,
        texts: Sequence[str],
        hashes: Hashes,
        side: Side,
    ) -> bool:
        """Remove the vectors that a live model returned in earlier evaluations, unless this one may use them.

        Returns:
            Whether there are such vectors.
        """
        session = _LIVE_SESSIONS[id(encoder)]
        state = session.entries.get(place.folder)
        if state is None:
            # The marker of an evaluation that did not end: its vectors are used if the model still returns the same.
            state = "own" if session.reuse else "resumed" if place.unfinished.is_file() else "stale"
        if state == "resumed":
            vectors, held = shards.gather(hashes)
            rows = _spread(np.flatnonzero(held), _COMPARED)
            if vectors is not None and len(rows):
                again = np.asarray(encode_uncached(encoder, [texts[row] for row in rows], side), np.float32)
                if not _are_equal(vectors[rows], again):
                    state = "stale"
        if state == "stale":
            if session.entries.get(place.folder) == "resumed":
                _remove(place.folder)
                raise GoldrankError(
                    f"{shorten(encoder.identity)} has changed while its vectors were compared with those of an "
                    "interrupted evaluation, which are removed now; start again"
                )
            _remove(place.folder)
            state = "own"
        session.entries[place.folder] = state
        if not session.reuse:
            place.mark_unfinished()
        return session.reuse or state == "resumed"

    def _batches(
        self, encoder: Encoder, texts: Sequence[str], side: Side, chosen: NDArray[np.intp]
    ) -> Iterator[tuple[NDArray[np.intp], Vectors]]:
        # Longest first: little padding, a cautious estimate of the remaining time, and memory runs out early if at all.
        order = np.array(sorted(chosen.tolist(), key=lambda i: len(texts[i]), reverse=True))
        with Progress(f"encoding with {encoder.identity}", total=len(order), unit="text") as progress:
            for start in range(0, len(order), self.batch):
                rows = order[start : start + self.batch]
                yield rows, encode_uncached(encoder, [texts[i] for i in rows], side)
                progress.advance(len(rows))

    def _keep(self, place: _EntryFolder, shards: ShardFolder, hashes: Hashes, rows: Floats) -> None:
        if self.problem is not None or not self._keeps:
            return
        try:
            try:
                place.prepare(rows.shape[1])
                shards.add(hashes, rows)
            except InputError:
                # Another process may have just cleared the cache; if not, the second attempt fails in the same way.
                place.prepare(rows.shape[1])
                shards.add(hashes, rows)
        except GoldrankError as error:
            if not self._ignores:
                raise
            self.problem = str(error)
        self._merge(shards, _MERGE_WHILE_ENCODING)

    def _tidy(self, shards: ShardFolder) -> None:
        if self._keeps:
            self._merge(shards, _MERGE_AFTERWARDS)
            with suppress(OSError):
                shards.remove_stale()

    def _merge(self, shards: ShardFolder, more_than: int) -> None:
        # All vectors are on disk already: if there is no space to merge them, nothing is lost.
        with suppress(GoldrankError, OSError):
            if self.problem is None:
                shards.compact(more_than)

    def info(self) -> list[EmbeddingCacheEntry]:
        """Return the entries, most recently used first."""
        try:
            folders = [Path(entry.path) for entry in os.scandir(self.folder) if _is_ours(entry)]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(
                f"the cache cannot be read ({error.strerror})", where=str(self.folder), remedy="name another folder"
            ) from None
        entries = [entry for folder in folders if (entry := _entry(folder)) is not None]
        return sorted(entries, key=lambda entry: (-entry.last_used, entry.identity, entry.side))

    def matching(self, identity: str | None = None, older_than: float | None = None) -> list[EmbeddingCacheEntry]:
        """Return entries whose identity contains *identity* and whose last use is over *older_than* days ago."""
        before = time.time() - 86400 * (older_than or 0.0)
        return [
            entry
            for entry in self.info()
            if (identity is None or identity.lower() in entry.identity.lower())
            and (older_than is None or entry.last_used < before)
        ]

    def clear(self, identity: str | None = None, older_than: float | None = None) -> list[EmbeddingCacheEntry]:
        """Remove and return the entries of `matching`; files that the cache did not write stay."""
        return self.remove(self.matching(identity, older_than))

    def remove(self, entries: list[EmbeddingCacheEntry]) -> list[EmbeddingCacheEntry]:
        """Remove these entries, and return them."""
        for entry in entries:
            _remove(entry.folder)
            self._shards.pop(entry.folder, None)
        return entries


@dataclass
class _LiveSession:
    """An evaluation of a live model: which cached vectors it may use."""

    reuse: bool
    entries: dict[Path, str] = field(default_factory=dict)
    """By folder: ``own`` if the vectors are those of this session, ``resumed`` if also of one that did not end."""


_LIVE_SESSIONS: dict[int, _LiveSession] = {}
"""The open sessions by the id of the encoder, which may not be hashable."""


@contextmanager
def live_vectors(encoders: Iterable[Encoder], *, reuse: bool = False) -> Iterator[None]:
    """Cache the vectors of live models for one evaluation, so that it can resume after an interruption.

    Vectors of earlier evaluations are removed. Those of an evaluation that did not end are used if the model returns
    the same for a sample of their texts.

    Args:
        encoders: The live models; those that cannot be resumed are not cached.
        reuse: Take the vectors of earlier evaluations as they are.
    """
    cached = [encoder for encoder in encoders if can_resume(encoder)]
    opened = {id(encoder): _LiveSession(reuse) for encoder in cached}
    _LIVE_SESSIONS.update(opened)
    try:
        yield
        for session in opened.values():
            for folder in session.entries:
                with suppress(OSError):
                    (folder / _UNFINISHED).unlink(missing_ok=True)
    finally:
        for encoder in cached:
            _LIVE_SESSIONS.pop(id(encoder), None)


def reuses_vectors(encoder: Encoder) -> bool:
    """Return True if the vectors of earlier evaluations of a live model are to be taken as they are."""
    session = _LIVE_SESSIONS.get(id(encoder))
    return session is not None and session.reuse


def _spread(rows: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """Return *count* of the rows, evenly spread; all if there are fewer."""
    places: NDArray[np.intp] = np.linspace(0, len(rows) - 1, min(count, len(rows))).round().astype(np.intp)
    return rows[places]


def _are_equal(cached: Floats, encoded: Floats) -> bool:
    """Return True if vectors are the same but for the precision of a server."""
    if cached.shape != encoded.shape:
        return False
    a, b = cached.astype(np.float64), encoded.astype(np.float64)
    lengths = np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)
    products = (a * b).sum(axis=1)
    alike = products >= _SAME_COSINE * lengths[0] * lengths[1]
    return bool((alike & np.isclose(*lengths, rtol=1 - _SAME_COSINE, atol=0.0)).all())


@dataclass(frozen=True)
class _EntryFolder:
    """The folder of one encoder, side and prompt."""

    folder: Path
    about: dict[str, Any]

    @classmethod
    def of(cls, folder: Path, encoder: Encoder, side: Side) -> _EntryFolder:
        prompt = getattr(encoder, "prompt", None)
        about = {"identity": encoder.identity, "side": side, "prompt": prompt(side) if callable(prompt) else ""}
        name = hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=_FOLDER_DIGITS // 2).hexdigest()
        return cls(folder / name, about)

    def prepare(self, dimension: int) -> None:
        """Create the folder and its manifest if they do not exist."""
        manifest = self.folder / _MANIFEST
        try:
            make_private_folder(self.folder)
            if _manifest(self.folder) is not None:
                return
        except OSError as error:
            raise InputError(
                f"the cache cannot be written to ({error.strerror})",
                where=str(self.folder.parent),
                remedy="set GOLDRANK_CACHE to another folder, or make this one writable",
            ) from None
        content = {"format": _FORMAT, **self.about, "dimension": dimension}
        write_atomically(manifest, lambda stream: stream.write(json.dumps(content, indent=2).encode()))

    @property
    def unfinished(self) -> Path:
        """The marker of an evaluation of a live model that has not ended."""
        return self.folder / _UNFINISHED

    def mark_unfinished(self) -> None:
        """Write the marker; without it an interrupted evaluation starts again, which is not an error."""
        with suppress(OSError):
            make_private_folder(self.folder)
            self.unfinished.touch()

    def seconds_saved(self, hashes: Hashes, held: NDArray[np.bool_]) -> float:
        """Return how long encoding the cached ones among some texts took, as far as it was recorded."""
        times = _EncodingTimes.of(_manifest(self.folder) or {})
        if held.all() and (known := times.lists.get(_list_digest(hashes))) is not None:
            return known
        return int(held.sum()) * times.seconds / max(1, times.texts)

    def record_seconds(self, seconds: float, texts: int, hashes: Hashes | None) -> None:
        """Add the duration of encoding some texts to the manifest; *hashes* are given if they were a whole list.

        If two processes do so at once, one of the durations may be lost.
        """
        about = _manifest(self.folder)
        if about is None:
            return
        times = _EncodingTimes.of(about)
        lists = times.lists | ({} if hashes is None else {_list_digest(hashes): seconds})
        latest = dict(list(lists.items())[-_MOST_LISTS:])
        about |= asdict(_EncodingTimes(times.seconds + seconds, times.texts + texts, latest))
        with suppress(GoldrankError, OSError):
            write_atomically(self.folder / _MANIFEST, lambda out: out.write(json.dumps(about, indent=2).encode()))

    def touch(self) -> None:
        """Record the time of use in the manifest's modification time."""
        with suppress(OSError):
            # The clock of the file system may stand still between two uses.
            now = time.time_ns()
            os.utime(self.folder / _MANIFEST, ns=(now, now))


@dataclass(frozen=True)
class _EncodingTimes:
    """The time that encoding took, as the manifest holds it."""

    seconds: float = 0.0
    texts: int = 0
    lists: dict[str, float] = field(default_factory=dict)
    """The seconds of whole lists of texts, by their digests."""

    @classmethod
    def of(cls, about: Mapping[str, Any]) -> _EncodingTimes:
        """Return what a manifest holds; nothing if it is damaged."""
        try:
            lists = {str(name): float(seconds) for name, seconds in about["lists"].items()}
            return cls(float(about["seconds"]), int(about["texts"]), lists)
        except (LookupError, TypeError, ValueError, AttributeError):
            return cls()


def _list_digest(hashes: Hashes) -> str:
    """Return a digest of a list of texts that does not depend on their order."""
    return "-".join(f"{part:016x}" for part in (*hashes.sum(axis=0, dtype=np.uint64).tolist(), len(hashes)))


def default_folder() -> Path:
    """Return the folder of the cache, which GOLDRANK_CACHE can change."""
    return cache_folder() / "embeddings"


def encode_uncached(encoder: Encoder, texts: Sequence[str], side: Side) -> Vectors:
    """Return the vectors of *texts*, as queries or as items."""
    return encoder.encode_queries(texts) if side == "query" else encoder.encode_items(texts)


def _checked(encoded: Vectors, count: int, dimension: int | None, encoder: Encoder) -> Floats:
    with np.errstate(over="ignore"):
        vectors = np.asarray(encoded, np.float32)
    name = shorten(encoder.identity)
    if vectors.ndim != 2 or len(vectors) != count or vectors.shape[1] == 0:
        raise GoldrankError(f"{name} gave an array of shape {vectors.shape} for {count} texts; check the encoder")
    if dimension is not None and vectors.shape[1] != dimension:
        raise GoldrankError(
            f"{name} gave {vectors.shape[1]} dimensions, but {dimension} before under the same identity; "
            "give the changed model another identity, or clear the cache: goldrank cache clear"
        )
    if not np.isfinite(vectors).all():
        raise GoldrankError(f"{name} gave a vector that is not finite; check the model and its dtype")
    return vectors


def _hash_all(texts: Sequence[str]) -> Hashes:
    blake2b = hashlib.blake2b
    try:
        digests = [blake2b(text.encode(), digest_size=16).digest() for text in texts]
    except UnicodeEncodeError:
        # Slower, but the bytes of all other texts are the same.
        digests = [blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
    except AttributeError:
        place = next(i for i, text in enumerate(texts) if not isinstance(text, str))
        raise InputError(f"text {place} is {shorten(texts[place])}, not a string", remedy="give strings") from None
    return np.frombuffer(b"".join(digests), "<u8").reshape(-1, 2)


def _is_ours(entry: os.DirEntry[str]) -> bool:
    named_so = len(entry.name) == _FOLDER_DIGITS and set(entry.name) <= set("0123456789abcdef")
    return named_so and entry.is_dir(follow_symlinks=False)


def _files(folder: Path) -> list[Path]:
    """Return the files in *folder* that the cache wrote, the manifest last."""
    patterns = (SHARD_NAME, SET_ASIDE_NAME, TEMPORARY_NAME)
    files = [Path(entry.path) for entry in os.scandir(folder) if entry.is_file(follow_symlinks=False)]
    ours = [path for path in files if any(name.fullmatch(path.name) for name in patterns)]
    others = {path.name: path for path in files if path.name in (_UNFINISHED, _MANIFEST)}
    return sorted(ours) + [others[name] for name in (_UNFINISHED, _MANIFEST) if name in others]


def _entry(folder: Path) -> EmbeddingCacheEntry | None:
    """Return the entry in *folder*; None if the folder is not one of the cache's or was removed meanwhile."""
    try:
        files = _files(folder)
        shards = [texts_in(path) for path in files if SHARD_NAME.fullmatch(path.name)]
        about = _manifest(folder)
        if about is None:
            if not any(count for count, _ in shards):
                return None
            about = {"identity": "(manifest damaged)", "side": "", "prompt": "", "dimension": shards[0][1]}
        return EmbeddingCacheEntry(
            identity=str(about["identity"]),
            side=str(about["side"]),
            prompt=str(about["prompt"]),
            texts=sum(count for count, _ in shards),
            dimension=int(about["dimension"]),
            bytes=sum(path.stat().st_size for path in files),
            # The manifest comes last, and is touched at each use.
            last_used=files[-1].stat().st_mtime,
            folder=folder,
        )
    except FileNotFoundError:
        return None


def _manifest(folder: Path) -> dict[str, Any] | None:
    try:
        about = json.loads((folder / _MANIFEST).read_bytes())
        texts = all(isinstance(about[name], str) for name in ("identity", "side", "prompt"))
        return about if about["format"] == _FORMAT and texts and type(about["dimension"]) is int else None
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return None


def _remove(folder: Path) -> None:
    try:
        for path in _files(folder):
            path.unlink(missing_ok=True)
    except FileNotFoundError:
        return
    except OSError as error:
        raise GoldrankError(f"{folder}: the cache cannot be cleared ({error.strerror})") from None
    with suppress(OSError):
        folder.rmdir()  # stays if it holds anything else
