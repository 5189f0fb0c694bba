"""Stored runs as arguments of commands: recognise keys, and load the runs."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from goldrank.cli import printing
from goldrank.errors import InputError, UnknownNameError, shorten

if TYPE_CHECKING:
    from goldrank.analysis.profile_differences import Reason
    from goldrank.metrics import Metric, Profile
    from goldrank.store import Store, StoredRun

_KEY = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add ``--store``."""
    parser.add_argument(
        "--store",
        metavar="STORE",
        help="folder or database URL of the store (default: $GOLDRANK_STORE or the user's data folder)",
    )


def are_keys(args: argparse.Namespace) -> bool:
    """Return True if the arguments are keys of stored runs: none is a file, and all are written like keys.

    It runs at every start of `score`, and must not load the database.

    Raises:
        InputError: Only the first argument may be a key, or an option is given that needs files.
    """
    if not _is_key(args.gold):
        return False
    for other in args.runs:
        if not _is_key(other):
            raise InputError(
                f"there is no file {shorten(args.gold)}, and {shorten(other)} cannot be the key of a stored run",
                remedy="give GOLD and run files, or keys of stored runs only (goldrank runs list)",
            )
    for option in ("corpus", "gold_format", "run_format"):
        if getattr(args, option) is not None:
            raise InputError(
                f"--{option.replace('_', '-')} needs files, and there is no file {shorten(args.gold)}",
                remedy="check the path; for a stored run, leave the option out",
            )
    return True


def _is_key(argument: str) -> bool:
    return _KEY.fullmatch(argument) is not None and not Path(argument).exists()


def refuse_no_runs(args: argparse.Namespace) -> None:
    """Raise InputError if there is no run, or a metric in the place of a run as in ir_measures."""
    if not args.runs:
        raise InputError("no run is given", remedy="give run files after the gold")
    for run in args.runs:
        if "@" in run and not Path(run).exists():
            raise InputError(
                f"there is no run file {shorten(run)}",
                remedy=f"write -M {run} if it is a metric",
            )


def find(args: argparse.Namespace) -> dict[str, StoredRun]:
    """Load the stored runs, by their full keys."""
    from goldrank.store import Store

    store = Store.open(args.store)
    runs: dict[str, StoredRun] = {}
    for key in (args.gold, *args.runs):
        run = _get(store, key)
        if run.key in runs:
            raise InputError(f"the run {run.key} is given twice", remedy="name each run once")
        runs[run.key] = run
    return runs


def _get(store: Store, key: str) -> StoredRun:
    try:
        return store.get(key)
    except UnknownNameError as error:
        # The user may have meant a file.
        raise UnknownNameError(
            f"there is no file and no stored run {shorten(key)}", where=error.where, remedy=error.remedy
        ) from None


def print_notes(notes: list[str]) -> None:
    """Print notes to standard error, each once."""
    for note in dict.fromkeys(notes):
        printing.say(f"note: {note}.")


def reasons_of(run: StoredRun, metric: Metric, base: Profile, other: Profile) -> list[Reason] | None:
    """Return why two profiles differ on a stored run, or None if its rankings were not stored in full."""
    from goldrank.analysis.profile_differences import reasons
    from goldrank.scoring import HitCounter
    from goldrank.store.rescoring import rankings_are_whole

    hits, rankings = run.hits(), run.run()
    if rankings is None or not rankings_are_whole(hits, rankings):
        return None
    return reasons(HitCounter(run.gold(), rankings, hits.corpus), metric, base, other)
