"""Exact ranks and exact top k on one GPU, equal to those of the CPU bit for bit.

Tensor cores score every pair from numbers rounded to float16; the error is bounded from the actual rounding errors.
Pairs that differ from the gold's score by more than the bound are decided in the registers; the rest is scored again
in float64 on the GPU, and pairs that are still undecided are compared exactly on the CPU. The top k keeps all items
that may still belong to it, and orders them by the float64 scores of the CPU.

For a query q and an item x that are rounded to q' and x', q·x - q'·x' = (q - q')·x + q'·(x - x'), so the rounding
costs at most ‖q - q'‖‖x‖ + ‖q'‖‖x - x'‖ (Cauchy-Schwarz). Tensor cores add a few exact products at a time and truncate
below the last place of the largest (Fasi et al., Numerical behavior of NVIDIA tensor cores, PeerJ Computer Science 7,
2021); `TENSOR_UNIT` (`comparison`) bounds that, with room for groups as small as four.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from goldrank.errors import InputError, MissingExtraError
from goldrank.hits import Floats, Ints
from goldrank.index.cuda.counting import CudaCounter
from goldrank.index.cuda.item_store import ItemStore
from goldrank.index.cuda.search import CudaSearch
from goldrank.index.exact.counting import JudgedRows, RivalCounts
from goldrank.index.exact.index import ExactIndex
from goldrank.index.exact.search import search
from goldrank.index.exact.signs import Matrix
from goldrank.index.exact.vectors import VectorTable

try:
    import torch

    from goldrank.index.cuda import kernels
except ImportError:
    torch = None

_SEARCH_PAIRS = 2**25
# Beyond these scales float32 scores could overflow or underflow: the CPU takes over.
_TAME_EXPONENT = 60


class CudaIndex(ExactIndex):
    """Item vectors that one GPU ranks: kept in its memory if they fit, else streamed through it.

    Args:
        items: one row per item, as for ExactIndex.
        ids: ids of the items; "0", "1", … by default.
        similarity: ``cosine``, ``dot`` or ``l2``.
        device: a torch device; ``cpu`` runs the same steps on the CPU, for tests.
        memory: the bytes of device memory for items; most of the free memory by default.
        threads: the number of threads that read items on the CPU.
        plain: do not use Triton kernels even if they are available.
    """

    spec = "cuda"

    def __init__(
        self,
        items: object,
        ids: Sequence[object] | None = None,
        similarity: str = "cosine",
        *,
        device: str = "cuda",
        memory: int | None = None,
        threads: int | None = None,
        plain: bool = False,
    ) -> None:
        if torch is None:
            raise MissingExtraError("the index cuda", "torch", "cuda")
        if torch.device(device).type == "cuda" and not torch.cuda.is_available():
            raise InputError("torch finds no CUDA device", where="index cuda", remedy="use the index exact")
        super().__init__(items, ids, similarity, threads=threads)
        self._device, self._memory = torch.device(device), memory
        self._tile = None if plain or not kernels.available(self._device) else kernels.Tile()
        self._stores: dict[np.dtype[Any], ItemStore] = {}

    def prepare(self) -> CudaIndex:
        """Copy the items to the device now instead of with the first search."""
        self._store(self._items)
        return self

    def _store(self, items: VectorTable) -> ItemStore:
        if items.dtype not in self._stores:
            longest = float(self._checked().max(initial=0))
            self._stores = {
                items.dtype: ItemStore(
                    items, longest, self._device, self._memory, self._tile, self._threads, squared=self._squared
                )
            }
        return self._stores[items.dtype]

    def _is_tame(self, queries: Matrix) -> bool:
        peaks = np.abs(queries).max(axis=1, initial=0)
        sizes = np.concatenate((peaks[peaks > 0], [length for length in [self._checked().max(initial=0)] if length]))
        return bool((np.abs(np.frexp(sizes)[1]) < _TAME_EXPONENT).all())

    def _count(
        self, query_table: VectorTable, query: Ints, rows: JudgedRows, certify: bool, block: int | None
    ) -> RivalCounts:
        queries = query_table.take(query)
        if not certify or not len(rows.gold) or not self._is_tame(queries):
            return super()._count(query_table, query, rows, certify, block)
        return CudaCounter(queries, self._store(self._items.at(query_table.dtype)), rows).run()

    def _search(self, query_table: VectorTable, k: int) -> Iterator[tuple[Ints, Floats]]:
        items = self._items.at(query_table.dtype)
        size = int(np.clip(_SEARCH_PAIRS // (4 * max(k, 1)), 128, 8192))
        for start in range(0, len(query_table), size):
            queries = query_table.read(start, min(start + size, len(query_table)))
            tame = len(self) and self._is_tame(queries)
            results = CudaSearch(queries, self._store(items), k).run() if tame else {}
            missing = [place for place in range(len(queries)) if place not in results]
            if missing:
                rest = VectorTable(queries[missing], "the queries", normalise=False)
                best = search(rest, items, self._checked(), k, squared=self._squared, threads=self._threads)
                results.update(zip(missing, best, strict=True))
            yield from (results[place] for place in range(len(queries)))
