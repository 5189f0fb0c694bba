"""Measuring: CPU seconds of a job in a process of its own, and its peak memory."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import subprocess
import sys
import threading
import time
from math import inf
from pathlib import Path


def job_cpu(module: str, job: str, *arguments: str, repeat: int = 1) -> dict[str, float]:
    """Run ``python -m module job …`` and take the best of *repeat*: what it timed itself, and its peak memory.

    Where the job also gives its wall time, that is the best of them too.

    A process of its own for each peer keeps one's memory and warm caches from helping another.
    """
    best: dict[str, float] = {}
    for _ in range(repeat):
        command = [sys.executable, "-m", module, job, *arguments]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=_environment())
        result: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
        wall = min(result.get("result:wall", inf), best.get("result:wall", inf))
        if not best or result["seconds"] < best["seconds"]:
            best = result
        if wall < inf:
            best["result:wall"] = wall
    return best


def warm_up(seconds: float = 0.5) -> None:
    """Keep all cores busy for a while before something short is timed.

    The clock of an idle core rises over some tenths of a second. Work of a tenth of a second would be timed at a low
    clock, and a peer that takes seconds at a high one.
    """
    block, end = bytes(1 << 20), time.perf_counter() + seconds

    def hash_blocks() -> None:
        while time.perf_counter() < end:
            hashlib.blake2b(block)  # without the lock of the interpreter

    threads = [threading.Thread(target=hash_blocks) for _ in range(os.cpu_count() or 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def read_from_disk(path: str | Path) -> None:
    """Drop a file from the page cache, where the system can do it, and read it again.

    A file that was written in small pieces lies in the cache page by page, and mapping it takes ten times as long as
    mapping one that was read from the disk, which lies there in large pieces.
    """
    with Path(path).open("rb+") as file:
        os.fsync(file.fileno())
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        while file.read(1 << 20):
            pass


def command_cpu(*command: str, repeat: int = 3) -> float:
    """CPU seconds of a whole command, cold start included: the best of *repeat*."""
    seconds = []
    for _ in range(repeat):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True, env=_environment())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return min(seconds)


def command_wall(*command: str, repeat: int = 3) -> float:
    """Wall seconds of a whole command, cold start included: the best of *repeat*."""
    seconds = []
    for _ in range(repeat):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=_environment())
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def peak_memory() -> float:
    """Peak resident memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _environment() -> dict[str, str]:
    root = Path(__file__).resolve().parents[1]
    # With this variable, every process would compile all that it imports; an installed package is compiled once.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "PYTHONPATH": f"{root}{os.pathsep}{root / 'src'}", "PYTHONHASHSEED": "0"}
