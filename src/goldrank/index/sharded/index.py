"""The sharded index: exact ranks and top k over items in shards, computed by the workers of an engine.

Counts of shards are exact and add up, and the overall top k is among the top k of the shards, so the result does not
depend on the sharding, the number of workers or the order of tasks, and equals that of ExactIndex. Results of shards
are stored in a folder that all nodes can reach; after a crash only the missing ones are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from goldrank.errors import InputError
from goldrank.hits import Ints
from goldrank.index.exact.counting import JudgedRows, RivalCounts
from goldrank.index.exact.index import ExactIndex
from goldrank.index.exact.vectors import Matrix, VectorTable
from goldrank.index.sharded.merging import MergedTopK
from goldrank.index.sharded.worker import (
    COUNTS,
    JOB,
    RESULT,
    CountTask,
    GatherTask,
    Preparation,
    SearchTask,
    ShardJob,
    ShardTopK,
    content_digest,
    count,
    find,
    gather,
    pipeline_at,
    read_result,
    result_path,
)
from goldrank.io.formats.vector_shards import GROUP_ROWS, VectorShard, shard_stamp
from goldrank.io.remote import join, list_files, read_bytes, remove_tree, shown, write_whole
from goldrank.io.stored_vectors import StoredVectors
from goldrank.vectors.similarity import not_finite

if TYPE_CHECKING:
    from goldrank.engines.base import Engine

Task = TypeVar("Task", CountTask, SearchTask)
Result = TypeVar("Result")


class ShardedItems(VectorTable):
    """The items of all shards as one matrix, whose rows are fetched by their numbers.

    Rows are transformed, but not yet normalised. The rows of the last `gather` stay in memory.
    """

    def __init__(
        self,
        shards: Sequence[VectorShard],
        ids: Sequence[object],
        preparation: Preparation,
        engine: Engine,
        *,
        unit: bool,
    ) -> None:
        self.shards, self._engine, self._preparation = tuple(shards), engine, preparation
        stored = StoredVectors(shards)
        self._count, self._width = len(stored), stored.dimension
        if preparation.transform is not None:
            _refuse_split_blocks(self.shards)
            pipeline = pipeline_at(preparation.transform, preparation.digest)
            self._width = int(pipeline.apply(np.zeros((1, stored.dimension), np.float32)).shape[1])
        self.what, self.dtype, self._normalise = "the items", np.dtype(np.float32), unit
        self._name(ids, self._count)
        self._gathered: tuple[Ints, Matrix] = np.zeros(0, np.int64), np.zeros((0, self._width), np.float32)

    def __len__(self) -> int:
        return self._count

    @property
    def dimension(self) -> int:
        """The dimension after the transform."""
        return self._width

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and numbers in a row."""
        return self._count, self._width

    def __getitem__(self, rows: Ints | Sequence[int]) -> Matrix:
        """Return the rows with these numbers; request many at once, or gather them first."""
        wanted, place = np.unique(np.asarray(rows, np.int64), return_inverse=True)
        if len(wanted) and not (wanted[0] >= 0 and wanted[-1] < self._count):
            raise IndexError(f"there are {self._count} rows")
        return self._fetched(wanted)[place.reshape(-1)]

    def gather(self, rows: Ints) -> None:
        """Fetch rows all at once and keep them in memory, instead of those gathered before."""
        wanted = np.unique(rows)
        self._gathered = wanted, self._fetched(wanted)

    def take(self, rows: Ints) -> Matrix:
        """Return the rows with these numbers, normalised if they are compared so."""
        return self._prepared(self[rows])

    def _fetched(self, wanted: Ints) -> Matrix:
        """Return rows by their ascending numbers, from memory or by one task for each shard that has some of them."""
        rows = np.empty((len(wanted), self._width), np.float32)
        known = np.isin(wanted, self._gathered[0], assume_unique=True)
        rows[known] = self._gathered[1][np.searchsorted(self._gathered[0], wanted[known])]
        missing = np.flatnonzero(~known)
        tasks = []
        for shard in self.shards:
            low, high = np.searchsorted(wanted[missing], [shard.first, shard.first + shard.count])
            if low < high:
                tasks.append(GatherTask(shard, wanted[missing[low:high]] - shard.first, self._preparation))
        for shard, vectors in self._engine.map(gather, tasks, what="gold vectors", total=len(tasks)):
            low, high = np.searchsorted(wanted[missing], [shard.first, shard.first + shard.count])
            rows[missing[low:high]] = vectors
        return rows


class ShardedIndex(ExactIndex):
    """Item vectors in shards, searched like an ExactIndex.

    Args:
        shards: the shards in the order of their items' numbers; float32, as `write_vectors` writes them.
        ids: the ids of all items.
        similarity: ``cosine``, ``dot`` or ``l2``.
        engine: runs the tasks.
        folder: a path or URL for jobs and results that all nodes can reach.
        transform: the file of a fitted Pipeline, which is applied to the items; queries must be transformed already.
    """

    _items: ShardedItems

    def __init__(
        self,
        shards: Sequence[VectorShard],
        ids: Sequence[str],
        similarity: str = "cosine",
        *,
        engine: Engine,
        folder: str,
        transform: str | None = None,
    ) -> None:
        digest = "" if transform is None else content_digest(read_bytes(transform))
        self._preparation = Preparation(transform, digest)
        self._engine, self._folder, self._jobs = engine, folder, set[str]()
        super().__init__(shards, ids, similarity, threads=1)

    def _as_table(self, data: Any, what: str, ids: Sequence[object] | None) -> VectorTable:
        if what == "the items":
            unit = self.similarity == "cosine"
            return ShardedItems(data, ids or (), self._preparation, self._engine, unit=unit)
        if hasattr(data, "tocsr") or np.asarray(data).dtype not in (np.float16, np.float32):
            kind = "sparse" if hasattr(data, "tocsr") else np.asarray(data).dtype
            raise InputError(
                f"vectors in shards are dense float32, these are {kind}",
                where=what,
                remedy="convert them with .astype(np.float32), or rank with vectors in memory",
            )
        return super()._as_table(data, what, ids)

    @property
    def items(self) -> ShardedItems:
        """The item vectors, transformed and not normalised."""
        return self._items

    def forget(self) -> None:
        """Remove the results of this index's jobs from the folder, so that they can no longer be resumed."""
        for job in sorted(self._jobs):
            remove_tree(job)
        self._jobs.clear()

    def _count(
        self, query_table: VectorTable, query: Ints, rows: JudgedRows, certify: bool, block: int | None
    ) -> RivalCounts:
        if not certify:
            raise InputError("items in shards are always counted exactly", remedy="leave out certify")
        total = RivalCounts(*(np.zeros(len(rows.gold), np.int64) for _ in COUNTS))
        if not len(rows.gold):
            return total
        numbers, place = np.unique(rows.gold, return_inverse=True)
        self._items.gather(numbers)
        gold_vectors = self._items.take(numbers)
        if not (finite := np.isfinite(gold_vectors).all(axis=1)).all():
            bad = int(numbers[np.argmin(finite)])
            raise not_finite("the items", bad, self._items.name(bad))
        arrays = {
            "queries": query_table.take(query),
            "column": rows.column,
            "gold": rows.gold,
            "own": rows.own,
            "gold_vectors": gold_vectors,
            "place": place.reshape(-1),
        }
        gold_ids = [self._items.name(number) for number in numbers.tolist()]
        job = self._start(ShardJob(arrays, self._preparation, self.similarity, gold_ids=gold_ids))

        def task(number: int, shard: VectorShard) -> CountTask:
            return CountTask(job, number, shard)

        for counts in self._results(job, count, task, lambda arrays: RivalCounts(**arrays), "exact ranks"):
            for name in COUNTS:
                np.add(getattr(total, name), getattr(counts, name), out=getattr(total, name))
        return total

    def _search(self, query_table: VectorTable, k: int) -> MergedTopK:
        best = MergedTopK(len(query_table), k, self._items.name)
        if not len(query_table) or not k:
            return best
        arrays = {"queries": query_table.read(0, len(query_table))}
        job = self._start(ShardJob(arrays, self._preparation, self.similarity, depth=k))

        def task(number: int, shard: VectorShard) -> SearchTask:
            # Tasks are created when workers are free, with the score floors known by then.
            return SearchTask(job, number, shard, best.floors)

        for top_k in self._results(job, find, task, lambda arrays: ShardTopK(**arrays), "search"):
            best.add(top_k)
        return best

    def _start(self, job: ShardJob) -> str:
        """Write the job where all nodes can read it; return its folder, named by a digest of all its inputs."""
        content = job.content()
        shards = [(shard.path, shard.first, shard.count, shard_stamp(shard)) for shard in self._items.shards]
        name = content_digest(f"{content_digest(content)} {shards}".encode())
        folder = join(self._folder, name)
        self._jobs.add(folder)
        write_whole(join(folder, JOB), lambda stream: stream.write(content))
        return folder

    def _results(
        self,
        job: str,
        work: Callable[[Task], Result],
        make: Callable[[int, VectorShard], Task],
        read: Callable[[dict[str, Any]], Result],
        what: str,
    ) -> Iterator[Result]:
        """Yield the result of every shard: stored ones first, then new ones as they complete."""
        there = set(list_files(job, [RESULT]))
        left: list[int] = []
        for number, shard in enumerate(self._items.shards):
            path = result_path(job, number)
            before = read_result(path) if path in there else None
            if before is not None:
                yield read(before)
            elif shard.count:
                left.append(number)
        tasks = (make(number, self._items.shards[number]) for number in left)
        yield from self._engine.map(work, tasks, what=what, total=len(left))


def _refuse_split_blocks(shards: Sequence[VectorShard]) -> None:
    """Refuse shards that split a block: the last bits of a transformed row may depend on the size of its block."""
    for shard in shards:
        if shard.first % GROUP_ROWS:
            raise InputError(
                f"with a transform, shards start at multiples of {GROUP_ROWS} rows, this one at {shard.first}",
                where=shown(shard.path),
                remedy=f"cut the vectors into shards of a multiple of {GROUP_ROWS} rows",
            )
