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
from goldrank.encoders.base import Encoder, Fitted, Side, check_texts
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
"""The file that says what the vectors of a folder were made of."""
# A file of lines is read from its beginning for each of its shards, which are therefore few.
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
    """A stretch of the items: where it starts among all of them, and the pieces of files that hold it."""

    first: int
    count: int
    pieces: tuple[Piece, ...]
    rule: TextRule
    """How a document becomes a text."""

    def read(self) -> tuple[list[str], list[str]]:
        """The ids and the texts."""
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
    """The documents of *files*, so many in each, one after the other in shards of *size*; the last may be smaller.

    Shards are cut by the number of an item and not by file, so that it makes no difference into how many files the
    same documents were put.
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
    """Whether no file would have to be read from its beginning for each of many shards, as long files of lines are."""
    return all(is_parquet_name(file) or count <= _MOST_SHARDS * size for file, count in zip(files, counts, strict=True))


def staged(documents: Iterable[Document], rule: TextRule, size: int, folder: str) -> list[TextShard]:
    """Documents written as texts into files of *size* each, for workers that cannot read them where they are.

    A file that is there already is taken as it is: the folder is named by what it holds.
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
    # Half a surrogate pair has no place in UTF-8; models are given U+FFFD for it anyway.
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
