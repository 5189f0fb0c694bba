"""A faiss index built from a factory string, with ids, checked input and a fixed order of results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import GoldrankError, InputError, MissingExtraError, shorten
from goldrank.hits import Gold, Hits, Run
from goldrank.index.base import Dense, Similarity, blocks, checked_ids, checked_similarity, checked_vectors
from goldrank.io.columns import Columns
from goldrank.progress import Progress
from goldrank.specs import split_options
from goldrank.vectors.similarity import normalised

_TRAIN_AT_MOST = 1 << 22
_QUERY_BLOCK = 1 << 13
_ADD_BLOCK = 1 << 16


@dataclass(frozen=True)
class Factory:
    """A faiss factory string and the parameters its search is run with.

    >>> Factory.parse("IVF1024,PQ32(nprobe=16)")
    Factory(name='IVF1024,PQ32', parameters='nprobe=16')
    >>> Factory.parse("IVF64(HNSW32),Flat").parameters
    ''
    """

    name: str
    parameters: str = ""

    @classmethod
    def parse(cls, text: str) -> Factory:
        """Parse a factory string; only trailing brackets with ``=`` hold parameters, other brackets belong to faiss."""
        factory = text.strip().removeprefix("faiss:")
        if not factory:
            raise _unknown(text)
        name, parameters = split_options(factory)
        return cls(name, re.sub(r"\s", "", parameters)) if "=" in parameters else cls(factory)

    def __str__(self) -> str:
        return self.name + (f"({self.parameters})" if self.parameters else "")


class FaissIndex:
    """Items in an index of faiss.

    Scores are similarities, and a higher one is always better: the cosine, the inner product, or for ``l2`` *minus*
    the distance (faiss itself gives its square), as in the exact index. Results come in order of score, equal ones by
    descending id; which of several items tied at the cut is taken is faiss's choice.
    """

    def __init__(
        self,
        index: Any,
        ids: list[str],
        similarity: Similarity,
        factory: Factory,
        *,
        labels: NDArray[np.int64] | None = None,
    ) -> None:
        """Wrap a faiss index; *labels* are its sorted labels if those are not 0, 1, …."""
        self.faiss_index, self.ids, self.factory, self._labels = index, ids, factory, labels
        self.similarity: Similarity = similarity
        with _clear_errors(str(factory)):
            _set_parameters(index, factory)

    @classmethod
    def build(
        cls, factory: str, vectors: Any, ids: Sequence[str] | None = None, similarity: Similarity = "cosine"
    ) -> FaissIndex:
        """Train the index if needed, and add the vectors.

        Args:
            factory: a factory string, with search parameters in brackets: ``IVF1024,PQ32(nprobe=16)``.
            vectors: one row per item.
            ids: their ids, by default "0", "1", ….
            similarity: ``cosine`` (vectors are normalised), ``dot`` or ``l2``.

        >>> index = FaissIndex.build("Flat", np.eye(3), ["x", "y", "z"])
        >>> list(index.top_k([[0.9, 0.1, 0.0]], k=2)["0"])
        ['x', 'y']
        """
        faiss, parsed = load_faiss(), Factory.parse(factory)
        matrix = checked_vectors(vectors, "item")
        names = checked_ids(ids, len(matrix), "item")
        metric = faiss.METRIC_L2 if checked_similarity(similarity) == "l2" else faiss.METRIC_INNER_PRODUCT
        if not len(matrix):
            raise InputError("there are no items to index", remedy="check that the data was read completely")
        empty = _empty_index(faiss, parsed.name, matrix.shape[1], metric)
        # Report wrong parameters before the long work, not after it.
        index = cls(empty, names, similarity, parsed)
        with _clear_errors(parsed.name, len(matrix)):
            if not empty.is_trained:
                empty.train(index._prepared(_sample(matrix)))
            # A graph that is built on several cores differs from one build to the next.
            with _threads(faiss, 1 if _is_graph(parsed.name) else None):
                index._add(matrix)
            _set_parameters(empty, parsed)
        return index

    @classmethod
    def check(cls, factory: str, dimension: int | None, count: int, similarity: Similarity) -> None:
        """Raise if *count* vectors of this dimension cannot be indexed."""
        faiss, parsed = load_faiss(), Factory.parse(factory)
        lists, codes = re.search(r"IVF(\d+)", parsed.name), re.search(r"PQ\d+(?:x(\d+))?", parsed.name)
        needed = max(int(lists[1]) if lists else 1, 1 << min(int(codes[1] or 8), 62) if codes else 1)
        if dimension is not None:
            metric = faiss.METRIC_L2 if similarity == "l2" else faiss.METRIC_INNER_PRODUCT
            cls(_empty_index(faiss, parsed.name, dimension, metric), [], similarity, parsed)
        if needed > count:
            raise _too_few(parsed.name, count, needed)

    def _add(self, matrix: Dense) -> None:
        with Progress(f"indexing ({self.factory})", total=len(matrix)) as progress:
            for rows in blocks(len(matrix), _ADD_BLOCK):
                self.faiss_index.add(self._prepared(matrix[rows]))
                progress.advance(rows.stop - rows.start)

    def on_gpu(self) -> FaissIndex:
        """Return the same index on all GPUs."""
        faiss = load_faiss()
        if not hasattr(faiss, "index_cpu_to_all_gpus") or not faiss.get_num_gpus():
            raise InputError(
                "this faiss sees no GPU", remedy="leave the GPU out, or install faiss-gpu on a machine that has one"
            )
        # The clone keeps the search parameters, which could not be set on it by the same means.
        moved = copy(self)
        with _clear_errors(str(self.factory)):
            moved.faiss_index = faiss.index_cpu_to_all_gpus(self.faiss_index)
        return moved

    @property
    def spec(self) -> str:
        """The spec that builds an index like this one."""
        return f"faiss:{self.factory}"

    @property
    def dimension(self) -> int:
        """The dimension of the vectors."""
        return int(self.faiss_index.d)

    @property
    def count(self) -> int:
        """The number of items."""
        return int(self.faiss_index.ntotal)

    @property
    def size(self) -> int:
        """The size of the index as a file, in bytes."""
        counted = 0

        def count(data: bytes) -> int:
            nonlocal counted
            counted += len(data)
            return len(data)

        faiss = load_faiss()
        faiss.write_index(self.faiss_index, faiss.PyCallbackIOWriter(count, 1 << 24))
        return counted

    def top_k(self, queries: Any, k: int, *, query_ids: Sequence[str] | None = None, exclude_self: bool = False) -> Run:
        """Return the k best items of each query, or fewer if the index finds fewer.

        Args:
            queries: one row per query.
            k: how many.
            query_ids: their ids, by default "0", "1", ….
            exclude_self: leave out the item whose id is the query's.
        """
        if k < 1:
            raise InputError(f"k is {k}", remedy="ask for one item or more")
        matrix = checked_vectors(queries, "query", self.dimension)
        names = checked_ids(query_ids, len(matrix), "query")
        selves = self._positions(names) if exclude_self else None
        counts, items, values = [], [], []
        with Progress(f"searching ({self.factory})", total=len(matrix), unit="query vector") as progress:
            for rows in blocks(len(matrix), _QUERY_BLOCK):
                scores, numbers = self._search(matrix[rows], min(k + exclude_self, self.count))
                self._order_ties(scores, numbers)
                is_result = numbers >= 0
                if selves is not None:
                    is_result &= numbers != selves[rows, None]
                    is_result &= is_result.cumsum(axis=1) <= k
                counts.append(is_result.sum(axis=1))
                items += self._id_array[numbers[is_result]].tolist()
                values.append(scores[is_result].astype(np.float64))
                progress.advance(rows.stop - rows.start)
        starts = np.concatenate([[0], *counts]).cumsum().astype(np.int64)
        return Run.from_columns(Columns(names, starts, items, np.concatenate([np.zeros(0), *values]), self.spec))

    def exact_hits(
        self, queries: Any, gold: Gold, *, query_ids: Sequence[str] | None = None, exclude_self: bool = False
    ) -> Hits:
        """Return the exact ranks of the gold; only ``Flat``, which stores the vectors unchanged, supports this."""
        if self.factory.name != "Flat":
            raise InputError(
                f"the index {self.spec} is approximate and finds only its top k, so it knows no exact ranks",
                remedy="use top_k, or the index exact",
            )
        from goldrank.index.exact.index import ExactIndex

        faiss = load_faiss()
        flat = faiss.rev_swig_ptr(self.faiss_index.get_xb(), self.count * self.dimension)
        exact = ExactIndex(flat.reshape(self.count, self.dimension), self.ids, self.similarity)
        return exact.exact_hits(queries, gold, query_ids=query_ids, exclude_self=exclude_self)

    def _prepared(self, block: Dense) -> Dense:
        if self.similarity != "cosine":
            return np.ascontiguousarray(block)
        return np.ascontiguousarray(normalised(block), np.float32)

    def _search(self, block: Dense, k: int) -> tuple[Dense, NDArray[np.int64]]:
        with _tuned_for_small_batches(), _clear_errors(str(self.factory)):
            scores, numbers = self.faiss_index.search(self._prepared(block), k)
        if self._labels is not None:
            numbers = np.where(numbers >= 0, np.searchsorted(self._labels, numbers), -1)
        if self.similarity == "l2":
            scores = -np.sqrt(np.maximum(scores, 0))
        elif self.similarity == "cosine":
            # Rounding puts the product of two unit vectors beyond 1 about as often as not.
            np.clip(scores, -1, 1, out=scores)
        return scores, numbers

    def _order_ties(self, scores: Dense, numbers: NDArray[np.int64]) -> None:
        # Rows without equal scores are in order already, and they are nearly all.
        tied = (scores[:, 1:] >= scores[:, :-1]) & (numbers[:, 1:] >= 0)
        for row in np.flatnonzero(tied.any(axis=1)):
            end = int((numbers[row] >= 0).sum())
            ids = self._id_array[numbers[row, :end]]
            # Code points order like the bytes of UTF-8, so Python's own comparison serves.
            order = sorted(range(end), key=lambda i: (scores[row, i], ids[i]), reverse=True)
            scores[row, :end], numbers[row, :end] = scores[row, order], numbers[row, order]

    def _positions(self, names: Sequence[str]) -> NDArray[np.int64]:
        return np.fromiter((self._position.get(name, -1) for name in names), np.int64, len(names))

    @cached_property
    def _id_array(self) -> NDArray[np.object_]:
        return np.array([*self.ids, None], object)[:-1]

    @cached_property
    def _position(self) -> Mapping[str, int]:
        return {name: position for position, name in enumerate(self.ids)}


def load_faiss() -> Any:
    """Import and return faiss."""
    try:
        import faiss
    except ImportError:
        raise MissingExtraError("this index", "faiss", "models") from None
    return faiss


def _set_parameters(index: Any, factory: Factory) -> None:
    if factory.parameters:
        load_faiss().ParameterSpace().set_index_parameters(index, factory.parameters)


def _sample(matrix: Dense) -> Dense:
    if len(matrix) <= _TRAIN_AT_MOST:
        return matrix
    chosen = np.random.default_rng(0).choice(len(matrix), _TRAIN_AT_MOST, replace=False)
    return matrix[np.sort(chosen)]


def _is_graph(factory: str) -> bool:
    # The order in which threads reach a graph decides its links, so it is built by one unless asked otherwise.
    return re.search(r"(^|,)(HNSW|NSG|NNDescent)", factory) is not None


@contextmanager
def _threads(faiss: Any, count: int | None) -> Iterator[None]:
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(count or before)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


# Below 128,000 numbers in a batch of queries faiss leaves BLAS out and runs at a tenth of its speed.
_TUNED = {"distance_compute_blas_threshold": 2000, "distance_compute_blas_database_bs": 4096}
_tuning = Lock()
_searches = 0
_untuned: dict[str, int] = {}


@contextmanager
def _tuned_for_small_batches() -> Iterator[None]:
    """Set faiss's thresholds for the time of a search; they are global, so the last of several searches restores."""
    global _searches  # noqa: PLW0603
    cvar = load_faiss().cvar
    with _tuning:
        if not _searches:
            _untuned.update({name: getattr(cvar, name) for name in _TUNED})
            for name, value in _TUNED.items():
                setattr(cvar, name, value)
        _searches += 1
    try:
        yield
    finally:
        with _tuning:
            _searches -= 1
            if not _searches:
                for name, value in _untuned.items():
                    setattr(cvar, name, value)


@contextmanager
def _clear_errors(factory: str, count: int | None = None) -> Iterator[None]:
    """Turn errors of faiss into one sentence."""
    try:
        yield
    except RuntimeError as error:
        message = sentence_of(error)
        if few := re.search(
            r"training points \((\d+)\) should be at least as large as number of clusters \((\d+)\)", message
        ):
            raise _too_few(factory, int(few[1]), int(few[2])) from None
        if parameter := re.search(r"could not set parameter (\S+)", message):
            raise InputError(
                f"the index {factory} has no search parameter {shorten(parameter[1])}",
                remedy="IVF has nprobe, HNSW efSearch, and an index with RFlat k_factor_rf",
            ) from None
        raise InputError(f"faiss cannot build or search {factory} ({message})", remedy="try another factory") from None
    except MemoryError:
        raise GoldrankError(f"the index {factory} of {count} vectors does not fit in memory; try one with PQ") from None


def _too_few(factory: str, count: int, needed: int) -> InputError:
    fewer = max(1, min(count // 39, int(4 * count**0.5)))
    listed = re.search(r"IVF(\d+)", factory)
    smaller = f"IVF{fewer}" if listed and int(listed[1]) == needed else "an index without PQ, or PQ with fewer bits"
    return InputError(
        f"{factory} is trained on {needed} vectors or more, and there are {count}",
        remedy=f"use {smaller}, or Flat, which needs no training",
    )


def _empty_index(faiss: Any, factory: str, dimension: int, metric: int) -> Any:
    """Return the empty index that a factory string describes."""
    try:
        return faiss.index_factory(dimension, factory, metric)
    except RuntimeError as error:
        raise _unknown(factory, dimension, sentence_of(error)) from None
    except TypeError:
        # The string holds half a surrogate pair or a NUL.
        raise _unknown(factory, dimension, "faiss cannot read this text") from None


def _unknown(factory: str, dimension: int | None = None, message: str = "") -> InputError:
    if not message or "could not parse" in message:
        return InputError(
            f"faiss knows no index {shorten(factory)}",
            remedy="write a factory such as Flat, HNSW32, IVF1024,PQ32 or PQ96x4fs,RFlat",
        )
    return InputError(
        f"faiss cannot make {shorten(factory)} for {dimension} dimensions ({message})", remedy="try another factory"
    )


def sentence_of(error: Exception) -> str:
    """Return the part of a faiss message that a person can read.

    >>> sentence_of(RuntimeError("Error in void faiss::f(int) at /project/faiss/f.cpp:64: Error: 'a == b' failed: no"))
    'no'
    """
    message = re.sub(r"^Error in .*? at \S+?:\d+: ", "", str(error).strip(), flags=re.DOTALL)
    message = re.sub(
        r"^Error: '(.*?)' failed:? ?", lambda match: "" if match.end() < len(message) else match[1], message
    )
    return message.partition("\n")[0].strip().rstrip(".")
