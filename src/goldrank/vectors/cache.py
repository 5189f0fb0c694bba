"""The embedding cache: vectors are stored on disk batch by batch, so that no text is encoded twice."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import Encoder, Side, Vectors
from goldrank.errors import GoldrankError, InputError, shorten
from goldrank.io.files import PathLike, cache_folder, write_atomically
from goldrank.io.private_files import make_private_folder
from goldrank.progress import Progress
from goldrank.vectors.shards import SET_ASIDE_NAME, SHARD_NAME, TEMPORARY_NAME, Floats, Hashes, ShardFolder, texts_in

_MANIFEST = "manifest.json"
_FORMAT = "goldrank embeddings 1"
_FOLDER_DIGITS = 32
# Shards are merged beyond these counts; a killed run leaves at most the first number of small shards behind.
_MERGE_WHILE_ENCODING = 64
_MERGE_AFTERWARDS = 16


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
    set_aside: int = 0
    """Damaged files that were moved aside; their texts were encoded again."""


class EmbeddingCache:
    """A cache of vectors by encoder, side, prompt and text.

    The key of a text is the hash of its UTF-8 bytes (lone surrogates are allowed). Texts are stored in one folder per
    encoder identity, side and prompt. The identity must therefore change with everything that can change a vector,
    including what the encoder was fitted on.

    Each batch is written before the next is encoded, so a killed run loses one batch. Any number of processes may
    share a folder. Sparse vectors are not cached because they are quick to compute.

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
        place = _EntryFolder.of(self.folder, encoder, side)
        shards = self._shards.setdefault(place.folder, ShardFolder(place.folder))
        hashes = _hash_all(texts)
        vectors, held = shards.gather(hashes) if self._keeps else (None, np.zeros(len(hashes), bool))
        self.counts.set_aside = sum(folder.set_aside for folder in self._shards.values())
        self.counts.reused += int(held.sum())
        if self._keeps:
            place.touch()
        if held.all():
            return np.empty((0, 0), np.float32) if vectors is None else vectors
        missing = np.flatnonzero(~held)
        _, first, which = np.unique(hashes[missing], axis=0, return_index=True, return_inverse=True)
        firsts = missing[first]
        for rows, new in self._batches(encoder, texts, side, firsts):
            if hasattr(new, "tocsr"):
                return encode_uncached(encoder, texts, side)
            checked = _checked(new, len(rows), None if vectors is None else vectors.shape[1], encoder)
            if vectors is None:
                vectors = np.empty((len(texts), checked.shape[1]), np.float32)
            vectors[rows] = checked
            self.counts.encoded += len(rows)
            self._keep(place, shards, hashes[rows], checked)
        self._tidy(shards)
        assert vectors is not None
        vectors[missing] = vectors[firsts[which.ravel()]]
        return vectors

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

    def touch(self) -> None:
        """Record the time of use in the manifest's modification time."""
        with suppress(OSError):
            os.utime(self.folder / _MANIFEST)


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
    return sorted(ours) + [path for path in files if path.name == _MANIFEST]


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
