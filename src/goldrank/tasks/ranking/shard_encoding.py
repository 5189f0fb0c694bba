"""Encode texts in shards: workers that hold the model write one file of vectors per shard, and can be resumed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from goldrank import encoders
from goldrank.data.collections import Document
from goldrank.data.collections.records import (
    DOCUMENT_SUFFIXES,
    count_documents,
    documents_between,
    is_parquet_name,
)
from goldrank.data.text_rule import TextRule
from goldrank.encoders.base import Encoder, Fitted, Side, can_resume, check_texts
from goldrank.encoders.truncation import Truncation, count_truncated
from goldrank.engines import Engine
from goldrank.errors import InputError, shorten
from goldrank.io.formats.parquet import load_pyarrow
from goldrank.io.formats.vector_shards import ShardFile, VectorShard, write_vectors
from goldrank.io.remote import absolute, exists, is_folder, join, list_files, read_bytes, shown, stamp, write_whole
from goldrank.io.stored_vectors import StoredVectors
from goldrank.specs import Spec
from goldrank.tasks.ranking.sharding import ITEMS
from goldrank.vectors.cache import EmbeddingCache

MANIFEST = "encoding.json"
"""The file in a folder of vectors that describes the model and the texts."""
# A file of lines is read from its beginning for each of its shards, so that their number is limited.
_MOST_SHARDS = 4
_PLAIN = TextRule(("text",))


@dataclass(frozen=True)
class Piece:
    """The documents *start* to *stop* of one file."""

    path: str
    start: int
    stop: int


@dataclass(frozen=True)
class TextShard:
    """A range of consecutive items: the number of the first, and the pieces of files that hold them."""

    first: int
    count: int
    pieces: tuple[Piece, ...]
    rule: TextRule
    """How a document becomes a text."""

    def read(self) -> tuple[list[str], list[str]]:
        """Return the ids and the texts."""
        ids, texts = [], []
        for piece in self.pieces:
            for document in documents_between(piece.path, piece.start, piece.stop):
                ids.append(document.id)
                texts.append(self.rule.text(document))
        if len(ids) != self.count:
            files = ", ".join(piece.path for piece in self.pieces)
            raise InputError(
                f"there are {len(ids)} documents where there were {self.count}",
                where=files,
                remedy="start again: the files were changed meanwhile",
            )
        return ids, texts


def cut(files: Sequence[str], counts: Sequence[int], rule: TextRule, size: int) -> list[TextShard]:
    """Cut the documents of *files* into shards of *size* documents; the last shard may be smaller.

    Shards do not end with files, so that they do not depend on how the documents are distributed over files.

    Args:
        files: the files of documents.
        counts: the number of documents in each.
        rule: how a document becomes a text.
        size: documents per shard.
    """
    shards: list[TextShard] = []
    pieces: list[Piece] = []
    first = held = 0
    for path, count in zip(files, counts, strict=True):
        start = 0
        while start < count:
            stop = min(start + size - held, count)
            pieces.append(Piece(path, start, stop))
            held += stop - start
            start = stop
            if held == size:
                shards.append(TextShard(first, held, tuple(pieces), rule))
                first, held, pieces = first + held, 0, []
    if held:
        shards.append(TextShard(first, held, tuple(pieces), rule))
    return shards


def are_quick_to_cut(files: Sequence[str], counts: Sequence[int], size: int) -> bool:
    """Return True unless a long file of lines would have to be read from its beginning for each of many shards."""
    return all(is_parquet_name(file) or count <= _MOST_SHARDS * size for file, count in zip(files, counts, strict=True))


def staged(documents: Iterable[Document], rule: TextRule, size: int, folder: str) -> list[TextShard]:
    """Write documents as texts into files of *size* each, for workers that cannot read the original files.

    Existing files are reused: the name of the folder is a digest of its content.
    """
    shards: list[TextShard] = []
    rows, first = iter(documents), 0
    while batch := list(islice(rows, size)):
        path = join(folder, f"{len(shards):06d}.parquet")
        if not exists(path):
            _write_texts([document.id for document in batch], [rule.text(document) for document in batch], path)
        shards.append(TextShard(first, len(batch), (Piece(path, 0, len(batch)),), _PLAIN))
        first += len(batch)
    return shards


def _write_texts(ids: list[str], texts: list[str], path: str) -> None:
    pyarrow, parquet = load_pyarrow()
    # A lone surrogate cannot be encoded as UTF-8; models get U+FFFD for it anyway.
    columns = {"id": ids, "text": check_texts(texts)}
    table = pyarrow.table({name: pyarrow.array(values, pyarrow.string()) for name, values in columns.items()})

    def fill(stream: Any) -> None:
        parquet.write_table(table, stream, compression="zstd", row_group_size=8192)

    write_whole(path, fill)


@dataclass(frozen=True)
class _Order:
    """One shard to encode, and where its vectors go."""

    shard: TextShard
    path: str


class ShardEncoder:
    """A worker's model: encodes one shard after the other and writes their vectors."""

    def __init__(self, model: Any, identity: str, side: Side, started_in: str) -> None:
        # Relative paths in the spec of the model refer to this folder.
        with suppress(OSError):
            os.chdir(started_in)
        loaded = encoders.load(model)
        assert isinstance(loaded, Encoder)
        if loaded.identity != identity:
            raise InputError(
                f"the model here is {loaded.identity}, and {identity} where the work was started",
                remedy="install the same packages and model files on all nodes",
            )
        self._encoder, self._side = loaded, side
        # The vectors are stored as a shard, so that they need not be cached too.
        self._cache = EmbeddingCache(keep=False)

    def __call__(self, order: _Order) -> VectorShard:
        """Encode one shard."""
        ids, texts = order.shard.read()
        vectors = self._cache.encode(self._encoder, texts, self._side)
        if hasattr(vectors, "tocsr"):
            raise InputError(f"{self._encoder.identity} gives sparse vectors", remedy="evaluate it with --engine local")
        write_vectors(order.path, ids, vectors, noted=asdict(count_truncated(self._encoder, texts, self._side)))
        return VectorShard(order.path, order.shard.first, len(ids))


def encode_shards(
    encoder: Encoder, shards: Sequence[TextShard], folder: str, engine: Engine, *, side: Side = "item"
) -> list[VectorShard]:
    """Encode all shards into *folder*, one file for each; shards that exist are not encoded again."""
    orders = [_Order(shard, join(folder, f"{number:06d}.parquet")) for number, shard in enumerate(shards)]
    missing = [order for order in orders if not exists(order.path)]
    if missing:
        make = partial(ShardEncoder, _portable(encoder), encoder.identity, side, str(Path.cwd()))
        what = f"encoding with {encoder.identity}"
        accelerated = getattr(encoder, "accelerated", False)
        for _ in engine.map_with(make, missing, what=what, total=len(missing), accelerated=accelerated):
            pass
    return [VectorShard(order.path, order.shard.first, order.shard.count) for order in orders]


def _portable(encoder: Encoder) -> Any:
    """Return what is sent to the workers: the spec of the model, or the model itself if a spec cannot load it."""
    spec = getattr(encoder, "spec", None)
    if not isinstance(spec, Spec) or spec.kind not in encoders.KINDS or isinstance(encoder, Fitted):
        return encoder
    if not can_resume(encoder):
        return encoder  # an object in memory
    # A function that is not in a module, such as one defined interactively, cannot be imported by name.
    return encoder if "<" in spec.argument or "__main__" in spec.argument else str(spec)


def work_digest(*parts: Any) -> str:
    """Return a digest of everything that decides a result, as its name."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Encoded:
    """The result of `encode_files`."""

    folder: str
    shards: list[VectorShard]
    new: int
    """The number of shards that did not exist before."""
    dimension: int
    truncated: Truncation
    """Counts of truncated texts, including those of shards that existed before."""

    @property
    def count(self) -> int:
        """The number of vectors."""
        return sum(shard.count for shard in self.shards)


def encode_files(
    encoder: Encoder,
    files: Sequence[str],
    folder: str,
    engine: Engine,
    *,
    rule: TextRule = TextRule(),  # noqa: B008 - frozen
    side: Side = "item",
    items: int = ITEMS,
) -> Encoded:
    """Encode the documents of files of records, in their order, into shards of vectors in *folder*.

    The folder records the model and the texts: a second call with the same resumes where the first one stopped, and a
    call with others is refused.
    """
    if isinstance(encoder, Fitted):
        raise InputError(
            f"{encoder.identity} has to be fitted on the whole corpus first",
            remedy="evaluate it with goldrank run, or use another model",
        )
    counts = [count_documents(file) for file in files]
    shards = cut(files, counts, rule, items)
    prompt = getattr(encoder, "prompt", None)
    about = {
        "model": encoder.identity,
        "side": side,
        "prompt": prompt(side) if callable(prompt) else "",
        "text": rule.as_dict(),
        "items": items,
        "files": [[shown(file), count, stamp(file)] for file, count in zip(files, counts, strict=True)],
    }
    _claim(folder, about)
    before = set(list_files(folder, [".parquet"]))
    encoded = encode_shards(encoder, shards, folder, engine, side=side)
    new = sum(shard.path not in before for shard in encoded)
    return Encoded(folder, encoded, new, StoredVectors(encoded).dimension, truncated_in(encoded))


def truncated_in(shards: Sequence[VectorShard]) -> Truncation:
    """Return the counts of truncated texts that were stored in the shards when they were encoded."""
    counted = Truncation()
    for shard in shards:
        with ShardFile(shard.path) as file:
            counted += Truncation(**file.noted)  # type: ignore[arg-type]
    return counted


def _claim(folder: str, about: dict[str, Any]) -> None:
    """Write the manifest of the folder; refuse a folder with another manifest, or with other Parquet files."""
    path = join(folder, MANIFEST)
    if not exists(path):
        if exists(folder) and list_files(folder, [".parquet"]):
            raise InputError(
                "the folder holds Parquet files that goldrank encode did not write",
                where=shown(folder),
                remedy="choose another folder",
            )
        content = json.dumps(about, indent=1).encode()
        write_whole(path, lambda stream: stream.write(content))
        return
    try:
        existing = json.loads(read_bytes(path))
    except (ValueError, RecursionError):
        existing = {}
    for name, value in about.items():
        if existing.get(name) != value:
            raise InputError(
                f"the folder holds vectors of another {name} ({shorten(existing.get(name))}, now {shorten(value)})",
                where=shown(folder),
                remedy="choose another folder, or remove this one",
            )


def files_at(sources: Sequence[str]) -> list[str]:
    """Return the files of paths, folders and URLs; those of a folder sorted by name."""
    files: list[str] = []
    for source in sources:
        path = absolute(source)
        inside = list_files(path, DOCUMENT_SUFFIXES) if is_folder(path) else [path]
        if not inside:
            raise InputError(
                "the folder holds no files of documents",
                where=shown(path),
                remedy=f"their names end in {', '.join(DOCUMENT_SUFFIXES[:4])} …",
            )
        files += inside
    return files
