"""Stored runs in place of files: which arguments are keys, and what is scored when a key is all that is given."""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldrank.errors import InputError, shorten
from goldrank.hits import Hits
from goldrank.metrics import Metric, Profile, parse_all
from goldrank.metrics import profile as find_profile
from goldrank.scoring import agree

if TYPE_CHECKING:
    from goldrank.reasons import Reason
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
    """The complaint about gold without a run."""
    if not args.runs:
        raise InputError("the following arguments are required: RUN", remedy="give a run file beside the gold")


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
    except InputError as error:
        if "there is no" not in error.what:
            raise
        # Whoever meant a file should not be sent to the store.
        raise InputError(
            f"there is no file and no stored run {shorten(key)}", where=error.where, remedy=error.remedy
        ) from None


def own_profile(runs: dict[str, StoredRun], asked: str | None) -> Profile:
    """The profile asked for; as their task changes it where that is the one that all the runs have of their own."""
    if asked is not None and any(run.profile != asked for run in runs.values()):
        return find_profile(asked)
    (first, base), *others = runs.items()
    for key, run in others:
        if (run.profile, run.conventions) != (base.profile, base.conventions):
            raise InputError(
                f"{first} and {key} have different conventions of their own "
                f"({_conventions_text(base)}; {_conventions_text(run)})",
                remedy="choose one for all with --profile",
            )
    return profile_of(base)


def profile_of(run: StoredRun) -> Profile:
    """The run's own profile, as its task changes it."""
    chosen = find_profile(run.profile)
    return replace(chosen, conventions=agree(chosen, run.conventions))


def _conventions_text(run: StoredRun) -> str:
    return ", ".join([run.profile, *(f"{name}={value}" for name, value in run.conventions.items())])


def own_metrics(runs: dict[str, StoredRun], args: argparse.Namespace, profile: Profile) -> list[Metric]:
    """The metrics asked for; else those of a profile asked for; else those of the runs."""
    if args.metric is not None:
        return parse_all(args.metric)
    if args.profile is not None:
        return parse_all(profile.metrics)
    own = dict.fromkeys(metric for run in runs.values() for metric in run.metrics)
    return parse_all(own or profile.metrics)


def count(runs: dict[str, StoredRun], profile: Profile, changes: dict[str, Any]) -> tuple[dict[str, Hits], list[str]]:
    """The hits of each run under the conventions, and what a reader should know about them."""
    from goldrank.store import count_under

    counted = {key: count_under(run, agree(profile, changes)) for key, run in runs.items()}
    return {key: one.hits for key, one in counted.items()}, [one.note for one in counted.values() if one.note]


def print_notes(notes: list[str]) -> None:
    """Say on standard error what does not belong into the table."""
    for note in dict.fromkeys(notes):
        print(f"goldrank: note: {note}.", file=sys.stderr)


def reasons_of(run: StoredRun, metric: Metric, base: Profile, other: Profile) -> list[Reason] | None:
    """Why two profiles differ on a stored run; None where its rankings were not stored as deep as they were counted."""
    from goldrank.reasons import reasons
    from goldrank.store.rescoring import rankings_are_whole

    hits, rankings = run.hits(), run.run()
    if rankings is None or not rankings_are_whole(hits, rankings):
        return None
    return reasons(run.gold(), rankings, metric, base, other, hits.corpus)


def refuse_different_gold(runs: dict[str, StoredRun], hits: dict[str, Hits]) -> None:
    """Raise where a comparison would not be one of the models: other tasks, other gold, other corpora."""
    (first, base), *others = runs.items()
    for key, run in others:
        if run.task != base.task:
            what = f"{first} and {key} are of different tasks ({base.task} and {run.task})"
        elif _gold(hits[first]) != _gold(hits[key]):
            what = f"{first} and {key} were judged by different gold"
        elif hits[first].corpus != hits[key].corpus:
            what = f"{first} and {key} ranked different corpora ({hits[first].corpus} and {hits[key].corpus} items)"
        else:
            continue
        raise InputError(what, remedy="compare runs of one task with the same data, split and limit")


def _gold(hits: Hits) -> tuple[list[str], list[int], list[str], list[float]]:
    return hits.queries, hits.starts.tolist(), hits.items, hits.grade.tolist()
