"""Rank by vectors in shards: the workers of an engine encode, store and search the items.

Items are cut into shards by their number alone, each as large as the batches of the local engine, so that texts are
encoded in the same batches and rows transformed in the same blocks. Everything after that is exact. Rankings and hits
are therefore equal to those of one machine, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from goldrank.data.collections.records import count_documents
from goldrank.encoders.base import Encoder, Fitted, can_resume, is_live
from goldrank.index.base import checked_similarity
from goldrank.index.sharded.index import ShardedIndex
from goldrank.io.formats.vector_shards import GROUP_ROWS, VectorShard, write_vectors
from goldrank.io.remote import exists, join, remove_tree, write_whole
from goldrank.io.stored_vectors import StoredVectors
from goldrank.tasks.ranking.by_vectors import Sides, encoded_queries, fitting_rows, rank_by_vectors, ranked, rows_of
from goldrank.tasks.ranking.data import RankingData
from goldrank.tasks.ranking.encoding import Encoding
from goldrank.tasks.ranking.evaluation import Ranked
from goldrank.tasks.ranking.out_of_vocabulary import KnownTexts
from goldrank.tasks.ranking.shard_encoding import (
    TextShard,
    are_quick_to_cut,
    cut,
    encode_shards,
    staged,
    truncated_in,
    work_digest,
)
from goldrank.tasks.ranking.sharding import Sharding
from goldrank.vectors.cache import reuses_vectors
from goldrank.vectors.transforms import Pipeline

_FINISHED = "finished"
"""The file that marks the vectors of a live model as those of an evaluation that has ended."""


@dataclass(frozen=True, eq=False)
class Jobs:
    """The results of a search in the shared folder, to be removed once the evaluation is stored."""

    index: ShardedIndex

    def remove(self) -> None:
        """Remove them."""
        self.index.forget()


@dataclass(frozen=True, eq=False)
class LiveShards:
    """The vectors of a live model in the shared folder, which no later evaluation uses once this one is stored."""

    shards: list[VectorShard]

    def remove(self) -> None:
        """Mark them; they are removed later, because the rankings may still be computed from them."""
        for folder in {shard.path.rpartition("/")[0] for shard in self.shards}:
            write_whole(join(folder, _FINISHED), lambda stream: stream.write(b""))


def rank_in_shards(encoder: Encoder, data: RankingData, sharding: Sharding) -> Ranked:
    """Rank as `rank_by_vectors` does, with the workers of an engine.

    Items that cannot be cut into shards are ranked on this machine, and a remark says so.
    """
    reason = _why_local(encoder, data)
    if reason is not None:
        local = rank_by_vectors(encoder, replace(data, sharding=None))
        remark = f"ranked on this machine, not by {sharding.engine.name}: {reason}"
        return replace(local, remarks=(*local.remarks, remark))
    encode = Encoding.of(encoder, data.item_texts if isinstance(encoder, Fitted) else ())
    shards = _vector_shards(encode, data, sharding)
    stored = StoredVectors(shards)
    if data.queries_are_items:
        queries: Any = stored[rows_of(data.query_ids, data.item_ids)]
    else:
        queries = encoded_queries(encode, data)
    sides = Sides(stored, data.item_ids, queries, data.query_ids)
    pipeline = Pipeline.parse(data.settings.transform)
    if pipeline.learns:
        pipeline.fit(fitting_rows(sides, encode, data))
    index = ShardedIndex(
        shards,
        data.item_ids,
        checked_similarity(data.settings.similarity),
        engine=sharding.engine,
        folder=join(sharding.folder, "jobs"),
        transform=_saved(pipeline, sharding.folder) if pipeline.steps else None,
    )
    if pipeline.steps:
        # A query that is an item has exactly the vector that the workers computed for that item.
        same = data.queries_are_items
        queries = index.items[rows_of(data.query_ids, data.item_ids)] if same else pipeline.apply(queries)
    sides = Sides(index.items, data.item_ids, queries, data.query_ids)
    run, hits = ranked(index, sides, None, data)
    if not hasattr(encoder, "by"):
        encode.truncated["item"] = truncated_in(shards)
    checkpoints = (Jobs(index), LiveShards(shards)) if is_live(encoder) else (Jobs(index),)
    return Ranked(run, hits, tuple(pipeline.notes), tuple(encode.warnings()), checkpoints)


def _why_local(encoder: Encoder, data: RankingData) -> str | None:
    """Return the reason why the items cannot be cut into shards; None if they can."""
    settings = data.settings
    if settings.scoring != "single":
        return f"{settings.scoring} compares several vectors of a document"
    if settings.index != "exact":
        return f"the index {settings.index} is searched where it is"
    if getattr(encoder, "sparse", False):
        return "its vectors are sparse"
    if KnownTexts.of(encoder, data) is not None:
        return "the model does not know a word of some texts"
    return None


def _vector_shards(encode: Encoding, data: RankingData, sharding: Sharding) -> list[VectorShard]:
    """Return the vectors of all items in shards; encode those that do not exist yet."""
    encoder = encode.encoder
    prompt = getattr(encoder, "prompt", None)
    digest = work_digest(
        encoder.identity,
        prompt("item") if callable(prompt) else "",
        data.collection.items.checksum,
        data.text_rule.as_dict(),
        sharding.items,
    )
    folder = join(sharding.folder, "vectors", digest)
    if getattr(encoder, "by", None) == "id":
        return _existing_shards(encoder, data) or list(_look_up(encode, data, sharding, folder))
    stale = not can_resume(encoder) or exists(join(folder, _FINISHED))
    if is_live(encoder) and stale and not reuses_vectors(encoder) and exists(folder):
        remove_tree(folder)
    texts = join(sharding.folder, "texts", digest)
    shards = encode_shards(encoder, _text_shards(data, sharding, texts), folder, sharding.engine)
    if exists(texts):
        remove_tree(texts)
    return shards


def _text_shards(data: RankingData, sharding: Sharding, folder: str) -> list[TextShard]:
    """Return shards of the original files if workers can read these in pieces; else write the texts for them."""
    items, rule = data.collection.items, data.text_rule
    # A remote folder implies nodes that cannot read the files of this machine.
    if items.files and "://" not in sharding.folder:
        counts = [count_documents(file) for file in items.files]
        if are_quick_to_cut(items.files, counts, sharding.items):
            return cut(items.files, counts, rule, sharding.items)
    return staged(items, rule, sharding.items, folder)


def _existing_shards(encoder: Any, data: RankingData) -> list[VectorShard]:
    """Return the encoder's own shards if they hold the vectors of exactly these items in this order."""
    shards: list[VectorShard] = list(getattr(encoder, "shards", ()))
    split_blocks = Pipeline.parse(data.settings.transform).steps and any(shard.first % GROUP_ROWS for shard in shards)
    return shards if shards and not split_blocks and encoder.has_order(data.item_ids) else []


def _look_up(encode: Encoding, data: RankingData, sharding: Sharding, folder: str) -> Iterator[VectorShard]:
    """Look vectors up by id, and write them in the order of the items."""
    ids, first = iter(data.item_ids), 0
    while batch := list(islice(ids, sharding.items)):
        path = join(folder, f"{first // sharding.items:06d}.parquet")
        if not exists(path):
            write_vectors(path, batch, encode(batch, "item"))
        yield VectorShard(path, first, len(batch))
        first += len(batch)


def _saved(pipeline: Pipeline, folder: str) -> str:
    """Save the transform for the workers, and return its path."""
    path = join(folder, "transforms", f"{work_digest(pipeline.identity)}.npz")
    if not exists(path):
        with TemporaryDirectory() as name:
            local = Path(name, "transform.npz")
            pipeline.save(local)
            content = local.read_bytes()
        write_whole(path, lambda stream: stream.write(content))
    return path
