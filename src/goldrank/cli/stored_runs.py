"""Stored runs in place of files: which arguments are keys, and the runs that they name."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldrank.cli import printing
from goldrank.errors import InputError, UnknownNameError, shorten

if TYPE_CHECKING:
    from goldrank.analysis.profile_differences import Reason
    from goldrank.metrics import Metric, Profile
    from goldrank.store import StoredRun

_KEY = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def add_store(parser: argparse.ArgumentParser) -> None:
    """Which store."""
    parser.add_argument(
        "--store",
        metavar="S",
        help="folder or database URL of the store (default: $GOLDRANK_STORE or the user's data folder)",
    )


def are_keys(args: argparse.Namespace) -> bool:
    """Whether the arguments name stored runs: the first is no file and reads like a key, and so do all others.

    This runs at every start of `score`, and must not load the database.
    """
    if not _is_key(args.gold):
        return False
    for other in args.runs:
        if not _is_key(other):
            raise InputError(
                f"{shorten(args.gold)} is no file but may be a stored run, {shorten(other)} cannot be one",
                remedy="give GOLD and run files, or keys of stored runs only (goldrank runs list)",
            )
    for option in ("corpus", "gold_format", "run_format"):
        if getattr(args, option) is not None:
            raise InputError(
                f"--{option.replace('_', '-')} goes with files, and {shorten(args.gold)} is a stored run or no file",
                remedy="leave it out, or check the path",
            )
    return True


def _is_key(argument: str) -> bool:
    return _KEY.fullmatch(argument) is not None and not Path(argument).exists()


def refuse_no_runs(args: argparse.Namespace) -> None:
    """The complaint about gold without a run, and about metrics that stand where runs do, as in ir_measures."""
    if not args.runs:
        raise InputError("the following arguments are required: RUN", remedy="give a run file beside the gold")
    for run in args.runs:
        if "@" in run and not Path(run).exists():
            raise InputError(
                f"{shorten(run)} stands where run files do, and there is no such file",
                remedy=f"write -M {run} if it is a metric",
            )


def find(args: argparse.Namespace) -> dict[str, StoredRun]:
    """The stored runs by their full keys, each once."""
    from goldrank.store import Store

    store = Store.open(args.store)
    found: dict[str, StoredRun] = {}
    for key in (args.gold, *args.runs):
        run = _get(store, key)
        if run.key in found:
            raise InputError(f"the run {run.key} is given twice", remedy="name each run once")
        found[run.key] = run
    return found


def _get(store: Any, key: str) -> StoredRun:
    try:
        found: StoredRun = store.get(key)
        return found
    except UnknownNameError as error:
        # Whoever meant a file should not be sent to the store.
        raise UnknownNameError(
            f"there is no file and no stored run {shorten(key)}", where=error.where, remedy=error.remedy
        ) from None


def print_notes(notes: list[str]) -> None:
    """Say on standard error what does not belong into the table."""
    for note in dict.fromkeys(notes):
        printing.say(f"note: {note}.")


def reasons_of(run: StoredRun, metric: Metric, base: Profile, other: Profile) -> list[Reason] | None:
    """Why two profiles differ on a stored run; None where its rankings were not stored as deep as they were counted."""
    from goldrank.analysis.profile_differences import reasons
    from goldrank.scoring import HitCounter
    from goldrank.store.rescoring import rankings_are_whole

    hits, rankings = run.hits(), run.run()
    if rankings is None or not rankings_are_whole(hits, rankings):
        return None
    return reasons(HitCounter(run.gold(), rankings, hits.corpus), metric, base, other)
