"""Stored runs as arguments of commands: recognise keys, and load the runs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from goldrank.cli import options, printing
from goldrank.errors import InputError, UnknownNameError, counts, shorten
from goldrank.io.files import is_stored_key, run_names
from goldrank.io.labels import refuse_shared_names

if TYPE_CHECKING:
    from goldrank.analysis.profile_differences import Reason
    from goldrank.metrics import Metric, Profile
    from goldrank.store import Store, StoredRun


def add_store(parser: argparse.ArgumentParser) -> None:
    """Add ``--store``."""
    parser.add_argument(
        "--store",
        metavar="STORE",
        help="folder or database URL of the store (default: $GOLDRANK_STORE or the user's data folder)",
    )


def expand_tasks(args: argparse.Namespace, given: Sequence[str | None]) -> list[str]:
    """Return the arguments of a command, or with ``--task`` the keys of all runs of these tasks.

    Raises:
        InputError: There are both arguments and ``--task``, or neither.
    """
    arguments = [argument for argument in given if argument is not None]
    if args.task is None:
        arguments = arguments or list(options.labels(args).values())
        if not arguments:
            raise InputError("no run is given", remedy="give GOLD and run files, keys of stored runs, or --task TASK")
        return arguments
    if arguments:
        raise InputError(
            f"{shorten(arguments[0])} is given beside --task", remedy="give keys or files, or --task, but not both"
        )
    from goldrank.store import Store

    store = Store.open(args.store)
    keys: list[str] = []
    for task in dict.fromkeys(args.task):
        latest = store.latest(task)
        data = latest[0].inputs.get("data")
        others = sum(run.task == task and run.inputs.get("data") != data for run in store.list())
        if others:
            runs = counts(others, "run of {} on other data is", "runs of {} on other data are").format(task)
            printing.remark(f"note: {runs} left out; name keys to choose runs (goldrank runs list).")
        keys += [run.key for run in latest]
    return keys


def are_keys(args: argparse.Namespace) -> bool:
    """Return True if the arguments are keys of stored runs: none is a file, and all are written like keys.

    It runs at every start of `score`, and must not load the database.

    Raises:
        InputError: Only the first argument may be a key, or an option is given that needs files.
    """
    args.gold, *args.runs = expand_tasks(args, [args.gold, *args.runs])
    if args.task is None and not is_stored_key(args.gold):
        return False
    for other in args.runs:
        if not is_stored_key(other):
            raise InputError(
                f"there is no file {shorten(args.gold)}, and {shorten(other)} cannot be the key of a stored run",
                remedy="give GOLD and run files, or keys of stored runs only (goldrank runs list)",
            )
    for option in ("corpus", "gold_format", "run_format", "texts"):
        if getattr(args, option, None) is not None:
            raise InputError(
                f"--{option.replace('_', '-')} needs files, and there is no file {shorten(args.gold)}",
                remedy="check the path; for a stored run, leave the option out",
            )
    return True


def refuse_no_runs(args: argparse.Namespace) -> None:
    """Raise InputError if there is no run, or a metric in the place of a run as in ir_measures, or a key."""
    if not args.runs:
        raise InputError("no run is given", remedy="give run files after the gold")
    for run in args.runs:
        if is_stored_key(run) and Path(args.gold).exists():
            raise InputError(
                f"there is no run file {shorten(run)}, and keys of stored runs cannot be mixed with files",
                remedy="give files only, or keys only; goldrank runs export writes a stored run to a file",
            )
        if "@" in run and not Path(run).exists():
            raise InputError(
                f"there is no run file {shorten(run)}",
                remedy=f"write -M {run} if it is a metric",
            )


def find(args: argparse.Namespace) -> dict[str, StoredRun]:
    """Load the stored runs by their full keys, those that only a label names too."""
    from goldrank.store import Store

    store = Store.open(args.store)
    runs: dict[str, StoredRun] = {}
    for key in (args.gold, *args.runs):
        run = get(store, key)
        if run.key in runs:
            raise InputError(f"the run {run.key} is given twice", remedy="name each run once")
        runs[run.key] = run
    models = {run.model for run in runs.values()}
    if args.task is None:
        named = [get(store, spec) for spec in options.labels(args).values() if spec not in models]
        runs |= {run.key: run for run in named if run.key not in runs}
    return runs


def find_named(args: argparse.Namespace) -> dict[str, StoredRun]:
    """Load the stored runs by their labels, or by their full keys if they have none."""
    from goldrank.runs.stored_scores import label_runs

    runs = label_runs(find(args), options.labels(args))
    refuse_shared_names(
        {key: run.label or key for key, run in runs.items()}, {key: run.label for key, run in runs.items() if run.label}
    )
    return {run.label or key: run for key, run in runs.items()}


def name_files(args: argparse.Namespace) -> dict[str, str]:
    """Return the run files by their labels or names, those that only a label names too.

    Raises:
        InputError: There is no run, or a key instead of a file.
    """
    labels = options.labels(args)
    args.runs += [spec for spec in labels.values() if spec not in args.runs]
    refuse_no_runs(args)
    return options.labelled(run_names(args.runs), labels)


def get(store: Store | str | None, key: str) -> StoredRun:
    """Load a stored run; *key* may also have been meant as the name of a file."""
    from goldrank.store import Store

    try:
        return Store.open(store).get(key)
    except UnknownNameError as error:
        raise UnknownNameError(
            f"there is no file and no stored run {shorten(key)}", where=error.where, remedy=error.remedy
        ) from None


def print_notes(notes: list[str]) -> None:
    """Print notes to standard error, each once; empty ones are left out."""
    for note in dict.fromkeys(filter(None, notes)):
        printing.remark(f"note: {note}.")


def reasons_of(run: StoredRun, metric: Metric, base: Profile, other: Profile) -> list[Reason] | None:
    """Return why two profiles differ on a stored run, or None if its rankings were not stored in full."""
    from goldrank.analysis.profile_differences import reasons
    from goldrank.scoring import HitCounter
    from goldrank.store.rescoring import rankings_are_whole

    hits, rankings = run.hits(), run.run()
    if rankings is None or not rankings_are_whole(hits, rankings):
        return None
    return reasons(HitCounter(run.gold(), rankings, hits.corpus), metric, base, other)
