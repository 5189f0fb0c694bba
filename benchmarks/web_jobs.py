"""The explorer over a large store: the first page, single queries, a comparison, and memory; one job per process.

A thousand runs of fifty thousand queries are a few different runs whose tables are hard-linked under a thousand keys:
the server cannot tell, as it knows runs by their rows and folders, but the disk of the machine need not hold them all.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

DISTINCT, DEPTH, GOLD = 4, 20, 2
PAIRS, LOOKS = 10, 5
_SERVE = "import sys; from goldrank.cli.main import main; sys.exit(main(['serve', *sys.argv[1:]]))"


def goldrank_explorer(runs: str, queries: str) -> tuple[float, dict[str, float]]:
    """Seconds to the first page of a server just started; then 50 clicks on queries, five in each of ten pairs."""
    with tempfile.TemporaryDirectory() as folder:
        keys = fill(Path(folder), int(runs), int(queries))
        return _measure(folder, keys, int(queries))


def goldrank_compare(runs: str, queries: str) -> tuple[float, dict[str, float]]:
    """CPU seconds of a server for the first comparison of some runs, after the list of runs was looked at."""
    with tempfile.TemporaryDirectory() as folder:
        keys = fill(Path(folder), int(runs), int(queries), distinct=int(runs))
        with _serving(folder) as (url, process):
            _get(url, "api/runs", size=50)
            before = _idle_cpu_of(process)
            _get(url, "api/compare", key=keys)
            return _cpu_of(process) - before, {"server_peak_mb": _peak_of(process)}


@contextmanager
def _serving(folder: str) -> Iterator[tuple[str, int]]:
    """Start the explorer of a store; its address and its process."""
    command = [sys.executable, "-c", _SERVE, "--port", "0", "--store", folder]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        (url,) = re.findall(r"http://\S+/", server.stdout.readline() + server.stdout.readline())
        yield url, server.pid
    finally:
        server.terminate()
        server.wait(60)


def _measure(folder: str, keys: list[str], queries: int) -> tuple[float, dict[str, float]]:
    with _serving(folder) as (url, process):
        started = time.perf_counter()
        page = _get(url, "").decode()
        for name in re.findall(r'(?:src|href)="/(static/[^"]+)"', page):
            _get(url, name)
        _get(url, "api/about")
        listed = json.loads(_get(url, "api/runs", size=50))
        first = time.perf_counter() - started
        assert listed["total"] == len(keys)
        clicks = _click(url, keys, queries)
        searched = _seconds(url, "api/queries", key=keys[0], q="number 77")
        peak = _peak_of(process)
    return first, {
        "drill_down_median": statistics.median(clicks),
        "drill_down_first_of_a_pair": statistics.median(clicks[::LOOKS]),
        "drill_down_worst": max(clicks),
        "search": searched,
        "server_peak_mb": peak,
    }


def _click(url: str, keys: list[str], queries: int) -> list[float]:
    rng = np.random.default_rng(5)
    clicks = []
    for _ in range(PAIRS):
        pair = [keys[at] for at in rng.choice(len(keys), 2, replace=False)]
        clicks += [
            _seconds(url, "api/query", key=pair, query=f"q{number}") for number in rng.choice(queries, LOOKS).tolist()
        ]
    return clicks


def _get(url: str, address: str, **parameters: Any) -> bytes:
    query_string = urllib.parse.urlencode(parameters, doseq=True)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{url}{address}{'?' if query_string else ''}{query_string}", timeout=120) as answer:
        content: bytes = answer.read()
    return content


def _seconds(url: str, address: str, **parameters: Any) -> float:
    started = time.perf_counter()
    _get(url, address, **parameters)
    return time.perf_counter() - started


def _peak_of(process: int) -> float:
    status = Path(f"/proc/{process}/status")
    return int(re.findall(r"VmHWM:\s+(\d+)", status.read_text())[0]) / 1024 if status.is_file() else float("nan")


def _cpu_of(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _idle_cpu_of(process: int) -> float:
    """Return the CPU seconds of a server once it has loaded what its pages need, which it does after its start."""
    used = -1.0
    while (now := _cpu_of(process)) > used:
        used = now
        time.sleep(0.5)
    return used


def fill(folder: Path, runs: int, queries: int, distinct: int = DISTINCT) -> list[str]:
    """A store of that many runs, of which so many are different; the keys."""
    from goldrank.store import Store
    from goldrank.store.texts import Text

    store = Store.open(folder)
    checksum = "5e" * 20
    stored = [_save(store, number, queries, checksum) for number in range(min(distinct, runs))]
    words = np.random.default_rng(1).integers(0, 5_000, (queries, 40)).tolist()
    contents = [" ".join(f"word{word}" for word in line) for line in words]
    texts = store.texts(checksum)
    assert texts is not None
    texts.save(
        (Text(f"q{number}", "", f"number {number} {line[:80]}") for number, line in enumerate(contents)),
        (Text(f"d{number}", f"Item {number}", contents[number % queries]) for number in range(2 * queries)),
    )
    return [run.key for run in stored] + _link(store, stored, runs - len(stored))


def _save(store: Any, number: int, queries: int, data: str) -> Any:
    from goldrank import Gold, Run
    from goldrank.scoring import score_hits
    from goldrank.store import RunRecord
    from goldrank.tasks.ranking.evaluation import summary_of

    rng = np.random.default_rng(number)
    items = 2 * queries
    gold = {f"q{q}": {f"d{(q * 2 + at) % items}": 1 for at in range(GOLD)} for q in range(queries)}
    ranked = rng.integers(0, items, (queries, DEPTH))
    hit = rng.random(queries) < 0.6
    ranked[hit, rng.integers(0, DEPTH, int(hit.sum()))] = (np.flatnonzero(hit) * 2) % items
    run = Run(
        {f"q{q}": {f"d{item}": -float(at) for at, item in enumerate(row)} for q, row in enumerate(ranked.tolist())}
    )
    hits = run.hits(Gold(gold), corpus=items)
    metrics = ("ndcg@10", "mrr@10", "recall@10")
    return store.save(
        RunRecord(
            "large",
            f"model-{number}",
            {"task": "large", "model": f"model-{number}", "data": data},
            {"seconds": 60.0, "goldrank": "benchmark"},
            hits=hits,
            run=run,
            metrics=metrics,
            summary=summary_of(score_hits(hits, metrics)),
        )
    )


def _link(store: Any, stored: list[Any], more: int) -> list[str]:
    """Further rows whose tables are hard links to those of the stored runs."""
    from sqlalchemy import select

    from goldrank.store.rows import with_checksum
    from goldrank.store.schema import RUNS

    keys = []
    with store._database.writing() as connection:
        rows = {row["key"]: dict(row) for row in connection.execute(select(RUNS)).mappings()}
        for number in range(more):
            original = stored[number % len(stored)]
            folder = original.folder.with_name(f"linked-{number}")
            folder.mkdir()
            for file in original.folder.iterdir():
                os.link(file, folder / file.name)
            row = rows[original.key] | {
                "digest": f"{number:064x}",
                "key": f"large-linked-{number}",
                "model": f"model-{number % 40} variant {number}",
                "task": f"large-{number % 20}",
                "folder": folder.name,
            }
            connection.execute(RUNS.insert().values(with_checksum(row)))
            keys.append(row["key"])
    return keys


JOBS = {"goldrank_explorer": goldrank_explorer, "goldrank_compare": goldrank_compare}

if __name__ == "__main__":
    seconds, result = JOBS[sys.argv[1]](sys.argv[2], sys.argv[3])
    peak = result.pop("server_peak_mb")
    print(json.dumps({"seconds": seconds, "peak_mb": peak, **{f"result:{k}": v for k, v in result.items()}}))
