"""Readers of the explorer at once beside a writer: percentiles of the time until an answer.

`python -m benchmarks.web_load [READERS] [ROUNDS]` starts `goldrank serve` over a store of 200 runs, a process that
stores runs without a pause, and as many readers as asked for; each asks for its next page when the last one is there,
in the mix of tests/web/test_concurrency.py. With `--source FOLDER` the server and the writer are those of another
checkout, for a comparison under the same conditions.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

RUNS, QUERIES = 200, 1_000
_SERVE = "import sys; from goldrank.cli.main import main; sys.exit(main(sys.argv[1:]))"
_FILL = """
import json, sys
from pathlib import Path
from benchmarks.web_jobs import fill
print(json.dumps(fill(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
"""
_WRITE = """
import sys
from pathlib import Path
from benchmarks.web_jobs import _save
from goldrank.store import Store
store, number = Store.open(sys.argv[1]), 1_000
while True:
    _save(store, number, 200, "5e" * 20)
    number += 1
    print(number, flush=True)
"""


async def _get(stream: tuple[asyncio.StreamReader, asyncio.StreamWriter], address: str) -> tuple[int, bytes]:
    reader, writer = stream
    writer.write(f"GET {address} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(re.findall(rb"content-length: (\d+)", head.lower())[0])
    return int(head.split()[1]), await reader.readexactly(length)


async def _read(
    port: int, number: int, rounds: int, keys: list[str], spread: bool, times: dict[str, list[float]]
) -> None:
    rng = np.random.default_rng(number)
    stream = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)

    async def timed(name: str, address: str, **parameters: object) -> bytes:
        started = time.perf_counter()
        query_string = urlencode(parameters, doseq=True)
        status, content = await _get(stream, f"{address}?{query_string}" if query_string else address)
        assert status == 200, content[:300]
        times.setdefault(name, []).append(time.perf_counter() - started)
        return content

    for _ in range(rounds):
        listed = json.loads(await timed("runs", "/api/runs", size=50))
        newest = listed["runs"][0]["key"]
        await timed("about", "/api/about")
        pair = [keys[at] for at in rng.choice(len(keys), 2, replace=False)] if spread else [keys[0], newest]
        await timed("query", "/api/query", key=pair, query=f"q{rng.integers(100)}")
        await timed("score", "/api/score", key=newest, resamples=100 + number)
        await timed("queries", "/api/queries", key=newest)
    stream[1].close()


def _percentiles(seconds: list[float]) -> str:
    return "  ".join(f"p{p} {np.percentile(seconds, p):6.3f}" for p in (50, 90, 99)) + f"  max {max(seconds):6.3f}"


def main() -> None:
    """Print the percentiles of each kind of request and of all, in seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", nargs="?", type=int, default=50)
    parser.add_argument("rounds", nargs="?", type=int, default=6)
    parser.add_argument(
        "--spread", action="store_true", help="look at queries of any two runs, not of first and newest"
    )
    parser.add_argument("--source", type=Path, default=Path(__file__).parents[1])
    args = parser.parse_args()
    times, took = measure(args.readers, args.rounds, args.spread, args.source)
    for name, seconds in times.items():
        print(f"{name:8} {_percentiles(seconds)}")
    everything = [second for seconds in times.values() for second in seconds]
    print(
        f"{'all':8} {_percentiles(everything)}  {len(everything) / took:.0f} requests/s, load {os.getloadavg()[0]:.1f}"
    )


def measure(
    readers: int = 50, rounds: int = 6, spread: bool = False, source: Path = Path(__file__).parents[1]
) -> tuple[dict[str, list[float]], float]:
    """Return the seconds of every request by its kind, and how long all of them took together."""
    path = os.pathsep.join([str(source / "src"), str(source)])
    environment = {**os.environ, "PYTHONPATH": path}
    with tempfile.TemporaryDirectory() as folder:
        filling = [sys.executable, "-c", _FILL, folder, str(RUNS), str(QUERIES)]
        keys = json.loads(subprocess.check_output(filling, env=environment, cwd=source))
        command = [sys.executable, "-c", _SERVE, "serve", "--port", "0", "--store", folder]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=source)
        writer = subprocess.Popen(
            [sys.executable, "-c", _WRITE, folder], stdout=subprocess.PIPE, text=True, env=environment, cwd=source
        )
        try:
            assert server.stdout is not None
            assert writer.stdout is not None
            port = int(re.findall(r":(\d+)/", server.stdout.readline() + server.stdout.readline())[0])
            writer.stdout.readline()
            times: dict[str, list[float]] = {}

            async def read_all() -> float:
                # A server is measured that has been asked before: the first request loads packages.
                await _read(port, 0, 1, keys, False, {})
                started = time.perf_counter()
                await asyncio.gather(*(_read(port, at, rounds, keys, spread, times) for at in range(readers)))
                return time.perf_counter() - started

            took = asyncio.run(read_all())
        finally:
            for process in (server, writer):
                process.terminate()
            for process in (server, writer):
                process.wait(60)
    return times, took


if __name__ == "__main__":
    main()
