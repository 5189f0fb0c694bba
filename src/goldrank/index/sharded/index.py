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
from goldrank.hits import Ints, Run
from goldrank.index.exact.counting import RivalCounts
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

    A row comes transformed, and not yet at length 1. The rows of the last `gather` stay in memory.
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
        """The rows with these numbers; many of them are better asked for at once, or gathered first."""
        wanted, place = np.unique(np.asarray(rows, np.int64), return_inverse=True)
        if len(wanted) and not (wanted[0] >= 0 and wanted[-1] < self._count):
            raise IndexError(f"there are {self._count} rows")
        return self._fetched(wanted)[place.reshape(-1)]

    def gather(self, rows: Ints) -> None:
        """Fetch rows all at once and keep them for whoever asks next; those gathered before are let go."""
        wanted = np.unique(rows)
        self._gathered = wanted, self._fetched(wanted)

    def take(self, rows: Ints) -> Matrix:
        """The rows with these numbers as they are compared."""
        return self._prepared(self[rows])

    def _fetched(self, wanted: Ints) -> Matrix:
        """Rows by their numbers, which ascend: from memory, or by one task for each shard that has some of them."""
        rows = np.empty((len(wanted), self._width), np.float32)
        known = np.isin(wanted, self._gathered[0], assume_unique=True)
        rows[known] = self._gathered[1][np.searchsorted(self._gathered[0], wanted[known])]
        missing = np.flatnonzero(~known)
        tasks = []
        for shard in self.shards:
            low, high = np.searchsorted(wanted[missing], [shard.first, shard.first + shard.count])
            if low < high:
                tasks.append(GatherTask(shard, wanted[missing[low:high]] - shard.first, self._preparation))
        for shard, found in self._engine.map(gather, tasks, what="gold vectors", total=len(tasks)):
            low, high = np.searchsorted(wanted[missing], [shard.first, shard.first + shard.count])
            rows[missing[low:high]] = found
        return rows


class ShardedIndex(ExactIndex):
    """Item vectors in shards, to ask for exact hits or the top k as an ExactIndex is.

    Args:
        shards: where the vectors lie, in the order of their numbers; float32, as `write_vectors` writes them.
        ids: the ids of all items.
        similarity: ``cosine``, ``dot`` or ``l2``.
        engine: who does the work.
        folder: where jobs and results are kept, a path or URL that all nodes reach.
        transform: where a fitted Pipeline was saved, which is applied to the items; queries come transformed.
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
        """The vectors that an ExactIndex of this similarity would have been given, row by row."""
        return self._items

    def forget(self) -> None:
        """Remove what the jobs of this index left in the folder, after which nothing of them can be resumed."""
        for job in sorted(self._jobs):
            remove_tree(job)
        self._jobs.clear()

    def _count(
        self,
        query_table: VectorTable,
        query: Ints,
        own: Ints,
        query_of_row: Ints,
        gold: Ints,
        certify: bool,
        block: int | None,
    ) -> RivalCounts:
        if not certify:
            raise InputError("items in shards are always counted exactly", remedy="leave out certify")
        total = RivalCounts(*(np.zeros(len(gold), np.int64) for _ in COUNTS))
        if not len(gold):
            return total
        used, column = np.unique(query_of_row, return_inverse=True)
        numbers, place = np.unique(gold, return_inverse=True)
        self._items.gather(numbers)
        gold_vectors = self._items.take(numbers)
        if not (finite := np.isfinite(gold_vectors).all(axis=1)).all():
            bad = int(numbers[np.argmin(finite)])
            raise not_finite("the items", bad, self._items.name(bad))
        arrays = {
            "queries": query_table.take(query[used]),
            "column": column.reshape(-1),
            "gold": gold,
            "own": own[used],
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

    def top_k(
        self, queries: object, k: int, query_ids: Sequence[object] | None = None, exclude_self: bool = False
    ) -> Run:
        """Return the best *k* items of each query, equal to those of ExactIndex."""
        query_table = self._query_vectors(queries, query_ids)
        wanted = min(_positive_depth(k), len(self))
        depth = min(wanted + exclude_self, len(self))
        best = MergedTopK(len(query_table), depth, self._items.name)
        if len(query_table) and depth:
            self._search(query_table, best)
        return self._as_run(query_table, best, wanted, exclude_self)

    def _search(self, query_table: VectorTable, best: MergedTopK) -> None:
        arrays = {"queries": query_table.read(0, len(query_table))}
        job = self._start(ShardJob(arrays, self._preparation, self.similarity, depth=best.depth))

        def task(number: int, shard: VectorShard) -> SearchTask:
            # Tasks are made when there is room for them, with what was learnt up to then.
            return SearchTask(job, number, shard, best.floors)

        for top_k in self._results(job, find, task, lambda arrays: ShardTopK(**arrays), "search"):
            best.add(top_k)

    def _start(self, job: ShardJob) -> str:
        """Write the job where all nodes find it; gives its folder, named by all that decides the results."""
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


def _positive_depth(k: object) -> int:
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise InputError(f"k is {k!r}", remedy="give a whole number of at least 1 as k")
    return int(k)


def _refuse_split_blocks(shards: Sequence[VectorShard]) -> None:
    """A transform works on blocks of rows, and the last bits of a row may depend on how many stand in its block."""
    for shard in shards:
        if shard.first % GROUP_ROWS:
            raise InputError(
                f"with a transform, shards start at multiples of {GROUP_ROWS} rows, this one at {shard.first}",
                where=shown(shard.path),
                remedy=f"cut the vectors into shards of a multiple of {GROUP_ROWS} rows",
            )
