"""Texts in shards become vectors in shards: by workers that hold the model, each shard once, whatever is killed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from goldrank import encoders
from goldrank.data.collections.records import DOCUMENT_SUFFIXES, count_documents
from goldrank.data.text_rule import TextRule
from goldrank.encoders.base import Encoder, Fitted, Side
from goldrank.encoders.truncation import Truncation, count_truncated
from goldrank.engines import Engine
from goldrank.errors import InputError, shorten
from goldrank.io.formats.vector_shards import ShardFile, VectorShard, write_vectors
from goldrank.io.remote import absolute, exists, is_folder, join, list_files, read_bytes, shown, stamp, write_whole
from goldrank.io.stored_vectors import StoredVectors
from goldrank.specs import Spec
from goldrank.tasks.ranking.sharding import ITEMS
from goldrank.tasks.ranking.text_shards import TextShard, cut
from goldrank.vectors.cache import EmbeddingCache

MANIFEST = "encoding.json"
"""The file that says what the vectors of a folder were made of."""


@dataclass(frozen=True)
class _Order:
    """One shard to encode, and where its vectors go."""

    shard: TextShard
    path: str


class ShardEncoder:
    """A worker's model: encodes one shard after the other and writes their vectors."""

    def __init__(self, model: Any, identity: str, side: Side, started_in: str) -> None:
        # What is named by a relative path is named from there.
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
        # The shard itself is what is kept.
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
    """The vectors of all shards in *folder*, a file for each; those that are there already are not made again."""
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
    """What travels to the workers: the name of the model, or the model itself where a name does not make it."""
    spec = getattr(encoder, "spec", None)
    if not isinstance(spec, Spec) or spec.kind not in encoders.KINDS or isinstance(encoder, Fitted):
        return encoder
    # A function that stands in no module, such as one typed in, has a name that nobody can import.
    return encoder if "<" in spec.argument or "__main__" in spec.argument else str(spec)


def work_digest(*parts: Any) -> str:
    """A name for the work that is decided by these parts."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Encoded:
    """What `encode_files` made of the texts."""

    folder: str
    shards: list[VectorShard]
    made: int
    """How many of the shards were made now, and not before."""
    dimension: int
    truncated: Truncation
    """What the model did not read of the texts, those of shards made before included."""

    @property
    def count(self) -> int:
        """Texts that have a vector."""
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

    The folder says what its vectors were made of; a second call with the same goes on where the first one stopped, and
    one with anything else is refused.
    """
    if isinstance(encoder, Fitted):
        raise InputError(
            f"{encoder.identity} first has to see the whole corpus",
            remedy="evaluate it with goldrank run, or use another",
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
    made = encode_shards(encoder, shards, folder, engine, side=side)
    dimension = StoredVectors(made).dimension
    return Encoded(folder, made, sum(shard.path not in before for shard in made), dimension, truncated_in(made))


def truncated_in(shards: Sequence[VectorShard]) -> Truncation:
    """What the model did not read of the texts of shards, as was noted in them when they were encoded."""
    counted = Truncation()
    for shard in shards:
        with ShardFile(shard.path) as file:
            counted += Truncation(**file.noted)  # type: ignore[arg-type]
    return counted


def _claim(folder: str, about: dict[str, Any]) -> None:
    """Write down what the folder is for; refuse one that is for something else."""
    path = join(folder, MANIFEST)
    if not exists(path):
        if exists(folder) and list_files(folder, [".parquet"]):
            raise InputError(
                "the folder holds Parquet files of someone else", where=shown(folder), remedy="choose another folder"
            )
        content = json.dumps(about, indent=1).encode()
        write_whole(path, lambda stream: stream.write(content))
        return
    try:
        there = json.loads(read_bytes(path))
    except (ValueError, RecursionError):
        there = {}
    for name, value in about.items():
        if there.get(name) != value:
            raise InputError(
                f"the folder holds vectors of another {name} ({shorten(there.get(name))}, now {shorten(value)})",
                where=shown(folder),
                remedy="choose another folder, or remove this one",
            )


def files_at(sources: Sequence[str]) -> list[str]:
    """The files that paths, folders and addresses stand for, those of a folder in the order of their names."""
    found: list[str] = []
    for source in sources:
        place = absolute(source)
        files = list_files(place, DOCUMENT_SUFFIXES) if is_folder(place) else [place]
        if not files:
            raise InputError(
                "the folder holds no files of documents",
                where=shown(place),
                remedy=f"their names end in {', '.join(DOCUMENT_SUFFIXES[:4])} …",
            )
        found += files
    return found
