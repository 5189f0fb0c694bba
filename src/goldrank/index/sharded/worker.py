"""The tasks of a sharded index: read a shard, count or search in it, and store the result as a small file.

A job is a file that all nodes reach, with everything that its tasks have in common; a task names the job and a shard.
Results lie beside the job under the number of their shard, so that a second start finds what is done. Each file begins
with a digest of the rest: what was damaged is noticed.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from goldrank.errors import InputError
from goldrank.hits import Floats, Ints
from goldrank.index.exact.counting import Counter, GoldItems, JudgedRows, RivalCounts
from goldrank.index.exact.search import search
from goldrank.index.exact.vectors import Matrix, VectorTable, single_threaded_blas
from goldrank.io.formats.vector_shards import VectorShard, by_group, open_shard
from goldrank.io.remote import join, read_bytes, shown, write_whole
from goldrank.vectors.transforms import Pipeline

JOB, RESULT = "job.npz", ".result"
COUNTS = ("above", "tied", "tied_docid", "tied_input")
_DIGEST = 16


@dataclass(frozen=True)
class Preparation:
    """The preparation of the rows of a shard before they are compared."""

    transform: str | None
    """Where the transform was saved."""
    digest: str
    """The digest of that file, so that another one of the same name is not mistaken for it."""

    def transformed(self, rows: Matrix) -> Matrix:
        """Return whole row groups with the transform applied."""
        if self.transform is None:
            return rows
        # One thread, as the result may differ in the last bit with the number of threads.
        with single_threaded_blas(1):
            vectors: Matrix = pipeline_at(self.transform, self.digest).apply(rows)
        return vectors


@dataclass(frozen=True)
class GatherTask:
    """Rows wanted of one shard, by their numbers in it."""

    shard: VectorShard
    rows: Ints
    preparation: Preparation


@dataclass(frozen=True)
class CountTask:
    """One shard to count in."""

    job: str
    number: int
    shard: VectorShard


@dataclass(frozen=True)
class SearchTask:
    """One shard to search, and for each query the score below which nothing is wanted any more."""

    job: str
    number: int
    shard: VectorShard
    floors: Floats


@dataclass(frozen=True)
class ShardTopK:
    """The top k of a shard: the number of results per query, and all item numbers and scores in one array each."""

    per_query: Ints
    numbers: Ints
    scores: Floats


def gather(task: GatherTask) -> tuple[VectorShard, Matrix]:
    """Return the shard and the requested rows, prepared; only the row groups that hold them are read.

    A transform is applied to whole groups, because the last bits of a row may depend on the size of its group.
    """
    with open_shard(task.shard) as file:
        if task.preparation.transform is None:
            return task.shard, file.take(task.rows)
        parts, places = [], []
        for group, some, within in by_group(task.rows):
            parts.append(task.preparation.transformed(file.group(group))[within])
            places.append(some)
    rows = np.concatenate(parts)
    rows[np.concatenate(places)] = rows.copy()
    return task.shard, rows


def count(task: CountTask) -> RivalCounts:
    """Count the rivals in one shard, and store the counts beside the job."""
    job = opened_job(task.job)
    items = _ShardVectors(task.shard, job)
    first, arrays = task.shard.first, job.arrays
    rows = JudgedRows(arrays["column"], arrays["gold"] - first, arrays["own"] - first)
    _refuse_other_ids(items, rows.gold, arrays["place"], job.gold_ids)
    counter = Counter(arrays["queries"], items, items.check(1), rows, squared=job.squared, certify=True, gold=job.gold)
    counts = counter.run(block=None, threads=1)
    write_result(result_path(task.job, task.number), {name: getattr(counts, name) for name in COUNTS})
    return counts


def find(task: SearchTask) -> ShardTopK:
    """Return the best items of one shard for each query that reach its floor, and store them with the job."""
    job = opened_job(task.job)
    items = _ShardVectors(task.shard, job)
    query_table = VectorTable(job.arrays["queries"], "the queries", normalise=False)
    depth = min(job.depth, len(items))
    per_query, numbers, scores = np.zeros(len(query_table), np.int64), [], []
    results = search(query_table, items, items.check(1), depth, squared=job.squared, threads=1, least=task.floors)
    for query, (rows, values) in enumerate(results):
        enter = values >= task.floors[query]
        per_query[query] = np.count_nonzero(enter)
        numbers.append(rows[enter] + task.shard.first)
        scores.append(values[enter])
    top_k = ShardTopK(per_query, np.concatenate(numbers), np.concatenate(scores))
    write_result(result_path(task.job, task.number), vars(top_k))
    return top_k


class _ShardVectors(VectorTable):
    """The vectors of one shard; that ids are not given twice was checked for all shards together."""

    def __init__(self, shard: VectorShard, job: ShardJob) -> None:
        with open_shard(shard) as file:
            data, self._names = file.vectors(), file.ids()
        super().__init__(job.preparation.transformed(data), shown(shard.path), None, normalise=job.normalise)

    @cached_property
    def ids(self) -> list[str]:
        """The id of each row, read one by one: a list takes long to build, and few ids are needed without ties."""
        names: list[str] = self._names.to_pylist()
        return names

    def name(self, row: int) -> str:
        """Return the id of one row."""
        return str(self._names[row])


def _refuse_other_ids(items: VectorTable, gold: Ints, place: Ints, gold_ids: list[str]) -> None:
    """Raise InputError unless the judged items in this shard have the ids of the job."""
    for row in np.flatnonzero((gold >= 0) & (gold < len(items))).tolist():
        actual, wanted = items.name(int(gold[row])), gold_ids[int(place[row])]
        if actual != wanted:
            raise InputError(
                f"row {gold[row]} of this shard has the id {actual!r}, where {wanted!r} is expected",
                where=items.what,
                remedy="give the ids in the order of the shards",
            )


@dataclass(frozen=True)
class ShardJob:
    """The data that all tasks of a job share."""

    arrays: dict[str, Any]
    preparation: Preparation
    similarity: str
    depth: int = 0
    gold_ids: list[str] = field(default_factory=list)

    @cached_property
    def gold(self) -> GoldItems:
        """The judged items."""
        return GoldItems(self.arrays["gold_vectors"], self.gold_ids, self.arrays["place"])

    @property
    def squared(self) -> bool:
        """Whether distances rank."""
        return self.similarity == "l2"

    @property
    def normalise(self) -> bool:
        """Whether items are compared at length 1."""
        return self.similarity == "cosine"

    def content(self) -> bytes:
        """Return the job as the content of its file."""
        about = {
            "preparation": vars(self.preparation),
            "similarity": self.similarity,
            "depth": self.depth,
            "gold_ids": self.gold_ids,
        }
        return sealed({**self.arrays, "about": np.frombuffer(json.dumps(about).encode(), np.uint8)})


# A worker has many shards of one job to go through, and seldom more than one job at a time.
@lru_cache(maxsize=2)
def opened_job(folder: str) -> ShardJob:
    """Return the job in a folder, read once: the folder is named by a digest of its content, so it never changes."""
    arrays = unsealed(read_bytes(join(folder, JOB)))
    if arrays is None:
        what = "the file of this job is damaged"
        raise InputError(what, where=shown(folder), remedy="remove this folder and start again")
    about = json.loads(arrays.pop("about").tobytes())
    about["preparation"] = Preparation(**about["preparation"])
    return ShardJob(arrays, **about)


@lru_cache(maxsize=2)
def pipeline_at(path: str, digest: str) -> Pipeline:
    """Load the transform saved at a path, and check its digest."""
    content = read_bytes(path)
    if content_digest(content) != digest:
        raise InputError("the transform was changed meanwhile", where=shown(path), remedy="start again")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "transform.npz")
        copy.write_bytes(content)
        try:
            return Pipeline.load(copy)
        except InputError as error:
            raise InputError(error.what, where=shown(path), remedy=error.remedy) from None


def content_digest(content: bytes) -> str:
    """Return a digest of content."""
    return hashlib.blake2b(content, digest_size=_DIGEST).hexdigest()


def result_path(folder: str, number: int) -> str:
    """Return the path of the result of a shard."""
    return join(folder, f"{number:06d}{RESULT}")


def write_result(path: str, arrays: Mapping[str, Any]) -> None:
    """Write arrays atomically to one file."""
    content = sealed(arrays)
    write_whole(path, lambda stream: stream.write(content))


def read_result(path: str) -> dict[str, Any] | None:
    """Return the arrays of a result; None if its file is damaged."""
    return unsealed(read_bytes(path))


def sealed(arrays: Mapping[str, Any]) -> bytes:
    """Return arrays as bytes with a digest."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    content = stream.getvalue()
    return hashlib.blake2b(content, digest_size=_DIGEST).digest() + content


def unsealed(content: bytes) -> dict[str, Any] | None:
    """Return the arrays; None if the digest does not match."""
    body = memoryview(content)[_DIGEST:]
    if hashlib.blake2b(body, digest_size=_DIGEST).digest() != content[:_DIGEST]:
        return None
    with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
