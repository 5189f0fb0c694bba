"""Exact ranks and exact top k on a GPU against plain torch: one command, one table, one JSON file.

    PYTHONPATH=src python benchmarks/cuda_bench.py --output benchmarks/results/cuda.json

Needs torch, triton and numpy. Every ratio is against a peer measured in the same run; the outcome is checked against
float64 products for some queries.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from goldrank.index.cuda import comparison as cuda_comparison
from goldrank.index.cuda import counting as cuda_counting
from goldrank.index.cuda import index as cuda
from goldrank.index.cuda import item_store as cuda_store
from goldrank.index.cuda import kernels as cuda_kernels
from goldrank.index.cuda import search as cuda_search
from goldrank.index.exact.counting import JudgedRows, RivalCounts
from goldrank.index.exact.vectors import VectorTable

Result = dict[str, Any]
CHUNK = 65536
CHECKED = 48
# How many standard deviations of all scores the gold's score is above their mean; "random" is anywhere.
KINDS = {"near": (4.0, 6.0), "middle": (3.0, 4.0), "random": (0.0, 0.0)}


def main() -> None:
    """Run what is asked for and write it down."""
    options = _options()
    torch.manual_seed(11)
    torch.set_float32_matmul_precision("highest")
    result: Result = {
        "machine": _machine(),
        "sizes": {k: getattr(options, k) for k in ("queries", "items", "dimension", "k")},
    }
    _say("machine", result["machine"])
    items = _items(options)
    if options.tiles:
        result["tiles"] = _tiles(options, items)
    else:
        _measure(options, items, result)
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(result, indent=1) + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=8192)
    parser.add_argument("--items", type=int, default=4_000_000)
    parser.add_argument("--dimension", type=int, default=768)
    parser.add_argument("-k", type=int, default=100)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", type=Path)
    parser.add_argument(
        "--tiles", help="measure these tile shapes only: 128x256x64x8x3,… (rows, items, step, warps, stages)"
    )
    return parser.parse_args()


def _measure(options: argparse.Namespace, items: torch.Tensor, result: Result) -> None:
    result["gemm"] = _gemm(options)
    _say("fp16 gemm", result["gemm"])
    host = np.empty(tuple(items.shape), np.float32)
    for start in range(0, len(items), CHUNK):
        host[start : start + CHUNK] = items[start : start + CHUNK].cpu().numpy()
    begun = time.perf_counter()
    index = cuda.CudaIndex(host, similarity="dot", device=options.device)
    store = index._store(index._items)
    result["load_seconds"] = time.perf_counter() - begun
    best = max(result["gemm"].values(), default=0.0)
    for kind in KINDS:
        queries, rows = _asked(options, items, kind)
        result[f"ranks_{kind}"] = _ranks(options, store, items, queries, rows, best, result["gemm"].get("sustained"))
        _say(f"exact ranks, {kind} gold", result[f"ranks_{kind}"])
    queries, rows = _asked(options, items, "near")
    result["top_k"] = _top_k(options, store, items, queries)
    _say("exact top k", result["top_k"])
    del index, store
    result["streamed"] = _streamed(options, items, host, queries, rows)
    _say("streamed from host", result["streamed"])


def _machine() -> Result:
    versions: Result = {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__}
    versions["triton"] = getattr(getattr(cuda_kernels, "triton", None), "__version__", None)
    if torch.cuda.is_available():
        versions["gpu"] = torch.cuda.get_device_name()
        command = [
            "nvidia-smi",
            "--query-gpu=driver_version,clocks.sm,clocks.max.sm,power.limit",
            "--format=csv,noheader",
        ]
        versions["driver, clock, most, power"] = subprocess.run(
            command, capture_output=True, text=True, check=False
        ).stdout.strip()
    return versions


def _items(options: argparse.Namespace) -> torch.Tensor:
    """Unit vectors, made in pieces."""
    items = torch.empty((options.items, options.dimension), device=options.device)
    for start in range(0, options.items, CHUNK):
        part = items[start : start + CHUNK]
        part.normal_()
        part /= torch.linalg.vector_norm(part, dim=1, keepdim=True)
    return items


def _asked(options: argparse.Namespace, items: torch.Tensor, kind: str) -> tuple[np.ndarray[Any, Any], JudgedRows]:
    """Queries with one gold each: among the best few hundred, among the best few thousand, or anywhere at all."""
    gold = torch.randint(0, options.items, (options.queries,), device=items.device)
    queries = torch.randn((options.queries, options.dimension), device=items.device)
    queries /= torch.linalg.vector_norm(queries, dim=1, keepdim=True)
    if kind != "random":
        wanted = torch.empty((options.queries, 1), device=items.device).uniform_(*KINDS[kind]) / options.dimension**0.5
        queries += wanted * items[gold]
        queries /= torch.linalg.vector_norm(queries, dim=1, keepdim=True)
    numbers = np.arange(options.queries)
    return queries.cpu().numpy(), JudgedRows(numbers, gold.cpu().numpy(), np.full(options.queries, -1))


def _gemm(options: argparse.Namespace) -> Result:
    """TFLOP/s of torch's fp16 product, for a square and for the shape of a chunk, ten in a row; the better is the peer.

    A GPU slows down when it gets hot, and what is compared takes longer than ten products: ``sustained`` is the
    square again, for as many products as the ranks are worth.
    """
    rates = {}
    shapes = {"square": (8192, 8192, 8192), "chunk": (options.queries, CHUNK, options.dimension)}
    if options.device == "cpu":
        shapes = {"chunk": (64, 64, 64)}
    work = 2 * options.queries * options.items * options.dimension
    for name, (m, n, k) in shapes.items():
        left, right = (torch.randn((rows, k), device=options.device).half() for rows in (m, n))
        rates[name] = 20e-12 * m * n * k / _seconds(partial(_products, left, right, 10), options.repeats)
        if name == "square":
            times = max(10, round(work / (2 * m * n * k)))
            seconds = _seconds(partial(_products, left, right, times), options.repeats)
            rates["sustained"] = 2e-12 * times * m * n * k / seconds
    return rates


def _products(left: torch.Tensor, right: torch.Tensor, times: int) -> None:
    for _ in range(times):
        left @ right.T


def _ranks(
    options: argparse.Namespace,
    store: cuda_store.ItemStore,
    items: torch.Tensor,
    queries: np.ndarray[Any, Any],
    rows: JudgedRows,
    best: float,
    sustained: float | None,
) -> Result:
    counted: list[RivalCounts] = []
    seconds = _seconds(lambda: counted.append(cuda_counting.CudaCounter(queries, store, rows).run()), options.repeats)
    above = counted[-1].above
    chunk = next(iter(store.chunks()))
    block = cuda_counting.CountedRows(queries, store, rows, np.arange(len(rows.gold)))
    result: Result = {"seconds": seconds}
    everything = np.arange(len(rows.gold))
    result["limits_seconds"] = _seconds(
        lambda: cuda_counting.CountedRows(queries, store, rows, everything), options.repeats
    )
    if store.tile:
        marks = cuda_comparison.OpenPairs(store, cuda_comparison.PAIRS)
        result["kernel_seconds"] = _seconds(lambda: _launch(block, chunk, marks, store), options.repeats)
    plain = _seconds(lambda: _torch_ranks(items, queries, rows), 1)
    work = 2e-12 * options.queries * options.items * options.dimension
    result |= {
        "tflops": work / seconds,
        "share_of_gemm": work / seconds / best if best else None,
        "share_of_sustained_gemm": work / seconds / sustained if sustained else None,
        "torch_fp32_seconds": plain,
        "times_torch": plain / seconds,
        "median_above": float(np.median(above)),
    }
    some = np.linspace(0, options.queries - 1, min(CHECKED, options.queries)).astype(int)
    result["wrong_against_float64"] = int((_float64_ranks(items, queries[some], rows.gold[some]) != above[some]).sum())
    result["checked"] = len(some)
    return result


def _launch(
    block: Any, chunk: cuda_store.ItemChunk, marks: cuda_comparison.OpenPairs, store: cuda_store.ItemStore
) -> None:
    """The kernel alone, without the closer look."""
    operand, tile = block._operand, store.tile
    assert tile is not None
    for first, last in marks.stretches(block._sure.numel(), 0, len(chunk) // tile.items):
        marks.compare(chunk, operand, block._limits, block._slots_of_tile, block._sure, first, last, collect=False)


def _torch_ranks(items: torch.Tensor, queries: np.ndarray[Any, Any], rows: JudgedRows) -> torch.Tensor:
    """What people write: float32 products in chunks, and a count of what is greater."""
    vectors, gold = torch.from_numpy(queries).to(items.device), torch.from_numpy(rows.gold).to(items.device)
    limits = (vectors * items[gold]).sum(dim=1, keepdim=True)
    above = torch.zeros(len(vectors), dtype=torch.int64, device=items.device)
    for start in range(0, len(items), CHUNK):
        above += (vectors @ items[start : start + CHUNK].T > limits).sum(dim=1)
    return above


def _float64_ranks(
    items: torch.Tensor, queries: np.ndarray[Any, Any], gold: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    wide = torch.from_numpy(queries).to(items.device).double()
    numbers = torch.from_numpy(gold).to(items.device)
    limits = (wide * items[numbers].double()).sum(dim=1, keepdim=True)
    above = torch.zeros(len(wide), dtype=torch.int64, device=items.device)
    for start in range(0, len(items), CHUNK):
        scores = wide @ items[start : start + CHUNK].double().T
        here = torch.nonzero((numbers >= start) & (numbers < start + CHUNK))[:, 0]
        scores[here, numbers[here] - start] = -torch.inf
        above += (scores > limits).sum(dim=1)
    found: np.ndarray[Any, Any] = above.cpu().numpy()
    return found


def _top_k(
    options: argparse.Namespace, store: cuda_store.ItemStore, items: torch.Tensor, queries: np.ndarray[Any, Any]
) -> Result:
    found: list[dict[int, Any]] = []
    seconds = _seconds(lambda: found.append(cuda_search.CudaSearch(queries, store, options.k).run()), options.repeats)
    plain = _seconds(lambda: _torch_top_k(items, queries, options.k), 1)
    some = np.linspace(0, options.queries - 1, min(CHECKED, options.queries)).astype(int)
    wrong = 0
    wide = torch.from_numpy(queries[some]).to(items.device).double()
    scores, numbers = _running_top_k(items, wide, options.k)
    for place, best, number in zip(some.tolist(), scores.cpu().numpy(), numbers.cpu().numpy(), strict=True):
        if place not in found[-1]:
            wrong += 1
            continue
        ours, our_scores = found[-1][place]
        wrong += not (np.array_equal(ours, number) and np.allclose(our_scores, best, rtol=0, atol=1e-12))
    return {
        "seconds": seconds,
        "torch_fp32_seconds": plain,
        "times_torch": plain / seconds,
        "left_to_the_processor": options.queries - len(found[-1]),
        "wrong_against_float64": wrong,
        "checked": len(some),
    }


def _torch_top_k(items: torch.Tensor, queries: np.ndarray[Any, Any], k: int) -> Any:
    return _running_top_k(items, torch.from_numpy(queries).to(items.device), k)


def _running_top_k(items: torch.Tensor, asked: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """What people write: products in chunks, the best of each, and the best of those."""
    best = torch.full((len(asked), k), -torch.inf, dtype=asked.dtype, device=asked.device)
    number = torch.zeros((len(asked), k), dtype=torch.int64, device=asked.device)
    for start in range(0, len(items), CHUNK):
        part = items[start : start + CHUNK].to(asked.dtype)
        scores, places = torch.topk(asked @ part.T, min(k, len(part)), dim=1)
        best, order = torch.topk(torch.cat((best, scores), dim=1), k, dim=1)
        number = torch.gather(torch.cat((number, places + start), dim=1), 1, order)
    return best, number


def _streamed(
    options: argparse.Namespace,
    items: torch.Tensor,
    host: np.ndarray[Any, Any],
    queries: np.ndarray[Any, Any],
    rows: JudgedRows,
) -> Result:
    """Ranks with a quarter of the items' size as the device's memory, against the rate of plain copies."""
    start = time.perf_counter()
    index = cuda.CudaIndex(host, similarity="dot", device=options.device, memory=host.nbytes // 4)
    store = index._store(index._items)
    counted: list[RivalCounts] = [cuda_counting.CudaCounter(queries, store, rows).run()]
    first = time.perf_counter() - start
    seconds = _seconds(lambda: counted.append(cuda_counting.CudaCounter(queries, store, rows).run()), options.repeats)
    result: Result = {
        "first_seconds": first,
        "seconds": seconds,
        "gigabytes": host.nbytes * 1e-9,
        "rate": host.nbytes * 1e-9 / seconds,
        "resident": store.resident,
        "same_as_first": bool(np.array_equal(counted[0].above, counted[-1].above)),
    }
    some = np.linspace(0, options.queries - 1, min(CHECKED, options.queries)).astype(int)
    result["wrong_against_float64"] = int(
        (_float64_ranks(items, queries[some], rows.gold[some]) != counted[-1].above[some]).sum()
    )
    if options.device != "cpu":
        pinned = torch.empty(2**28, dtype=torch.float32, pin_memory=True).normal_()
        there = torch.empty(2**28, dtype=torch.float32, device=options.device)
        copying = _seconds(lambda: [there.copy_(pinned, non_blocking=True) for _ in range(8)], options.repeats)
        result["copy_rate"] = 8 * pinned.nbytes * 1e-9 / copying
        result["share_of_copy_rate"] = result["rate"] / result["copy_rate"]
    return result


def _tiles(options: argparse.Namespace, items: torch.Tensor) -> Result:
    """The kernel alone with each of some tile shapes."""
    rates: Result = {"gemm": _gemm(options)}
    _say("fp16 gemm", rates["gemm"])
    host = np.zeros((1, options.dimension), np.float32)
    queries, rows = _asked(options, items, "near")
    store = cuda.CudaIndex(host, similarity="dot", device=options.device)._store(
        VectorTable(host, "items", normalise=False)
    )
    store.exponent, store.longest = 1 - cuda_store.ITEM_BITS, 1.001
    for text in options.tiles.split(","):
        store.tile = cuda_kernels.Tile(*map(int, text.split("x")))
        chunk = store._whole = store.prepared(0, items)
        block = cuda_counting.CountedRows(queries, store, rows, np.arange(len(rows.gold)))
        marks = cuda_comparison.OpenPairs(store, 1024)
        try:
            seconds = _seconds(partial(_launch, block, chunk, marks, store), options.repeats)
        except Exception as error:
            _say(text, repr(error)[:200])
            continue
        rates[text] = {
            "seconds": seconds,
            "tflops": 2e-12 * options.queries * options.items * options.dimension / seconds,
        }
        _say(text, rates[text])
        del chunk, marks
        store._whole = None
    return rates


def _seconds(work: Callable[[], object], repeats: int) -> float:
    """The median of some goes after one to warm up."""
    seconds = []
    for _ in range(repeats + 1):
        _wait()
        start = time.perf_counter()
        work()
        _wait()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _say(what: str, value: object) -> None:
    print(f"{what}: {json.dumps(value)}", flush=True)


if __name__ == "__main__":
    main()
