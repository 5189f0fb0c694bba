"""The report of several runs over many queries, as a user makes it; one job per process."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.web_jobs import fill


def goldrank_report(runs: str, queries: str) -> tuple[float, dict[str, float]]:
    """CPU and wall seconds of the whole command, cold start included, and the size of the file."""
    with tempfile.TemporaryDirectory() as folder:
        keys = fill(Path(folder) / "store", int(runs), int(queries), distinct=int(runs))
        out = Path(folder) / "report.html"
        command = [sys.executable, "-m", "goldrank", "report", *keys, "-o", str(out), "--store", f"{folder}/store"]
        started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True)
        wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        return seconds, {"wall": wall, "megabytes": out.stat().st_size / 1e6, "peak_mb": after.ru_maxrss / 1024}


JOBS = {"goldrank_report": goldrank_report}

if __name__ == "__main__":
    seconds, result = JOBS[sys.argv[1]](sys.argv[2], sys.argv[3])
    peak = result.pop("peak_mb")
    print(json.dumps({"seconds": seconds, "peak_mb": peak, **{f"result:{k}": v for k, v in result.items()}}))
