"""`python -m benchmarks.traps`: every trap through goldrank and the installed peers, as a Markdown table."""

from __future__ import annotations

import sys
from collections import Counter

from benchmarks.traps import peers
from benchmarks.traps.all_traps import TRAPS
from benchmarks.traps.trap import ask_goldrank, classify


def main() -> int:
    """Print a row per trap and the totals; exit with 1 where goldrank is silently wrong."""
    names = ["goldrank", *peers.installed()]
    print(
        "| planted error | " + " | ".join(names) + " |\n| :-- | " + " | ".join(":--" for _ in names) + " |", flush=True
    )
    totals: dict[str, Counter[str]] = {name: Counter() for name in names}
    for trap in TRAPS:
        outcomes = [classify(trap, ask_goldrank(trap)), *(peers.ask(name, trap) for name in names[1:])]
        for name, outcome in zip(names, outcomes, strict=True):
            totals[name][outcome] += 1
        print(f"| {trap.error} | " + " | ".join(outcomes) + " |", flush=True)
    for outcome in ("caught", "warned", "right", "SILENT", "–"):
        print(f"| **{outcome}** | " + " | ".join(str(totals[name][outcome]) for name in names) + " |")
    return int(totals["goldrank"]["SILENT"] > 0)


if __name__ == "__main__":
    sys.exit(main())
