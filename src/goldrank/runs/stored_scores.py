"""Choose profile and metrics for stored runs, count their hits, and check that they can be compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from goldrank.errors import DataWarning, InputError
from goldrank.hits import Hits
from goldrank.masked.scoring.profiles import READINGS, SOURCE
from goldrank.metrics import Conventions, Metric, Profile, find_profile, parse_all
from goldrank.runs.masked import mask_hits
from goldrank.scoring import agree
from goldrank.store import Counted, StoredRun, add_stored_confidence, count_under

StoredRuns = Mapping[str, StoredRun]


def own_profile(runs: StoredRuns, asked: str | None) -> Profile:
    """The profile asked for; as their task changes it where that is the one that all the runs have of their own.

    Runs that guess masks also know ``source`` and ``strict``, which say when a guess is right, not how ranks are read.
    """
    if asked in READINGS:
        for key, run in runs.items():
            if run.result_kind != "masked":
                raise InputError(
                    f"the profile {asked} is one of guesses at masks, and {key} is a run of {run.task}",
                    remedy="leave it out, or see goldrank list profiles",
                )
        return replace(own_profile(runs, None), name=asked, metrics=tuple(next(iter(runs.values())).metrics))
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


def own_metrics(
    runs: StoredRuns, asked: Sequence[str] | None, profile: Profile, *, profile_was_asked: bool
) -> list[Metric]:
    """The metrics asked for; else those of a profile asked for; else those of the runs."""
    if asked is not None:
        return parse_all(asked)
    if profile_was_asked:
        return parse_all(profile.metrics)
    own = dict.fromkeys(metric for run in runs.values() for metric in run.metrics)
    return parse_all(own or profile.metrics)


def count(
    runs: StoredRuns, profile: Profile, changes: Mapping[str, Any], metrics: Sequence[Metric] = ()
) -> tuple[dict[str, Hits], list[str]]:
    """The hits of each run under the conventions, for *metrics*, and what a reader should know about them."""
    agreed = agree(profile, changes)
    counted = {key: count_run(run, profile, agreed) for key, run in runs.items()}
    hits = {key: add_stored_confidence(one.hits, runs[key], metrics, agreed) for key, one in counted.items()}
    return hits, [one.note for one in counted.values() if one.note]


def count_run(run: StoredRun, profile: Profile, agreed: Conventions) -> Counted:
    """The hits of a run under conventions; those of guesses at masks in the reading of the profile, else ``source``."""
    counted = count_under(run, agreed)
    if run.result_kind != "masked":
        return counted
    return replace(counted, hits=mask_hits(run, profile.name if profile.name in READINGS else SOURCE.name))


def refuse_different_gold(runs: StoredRuns, hits: Mapping[str, Hits]) -> None:
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


def different_data(runs: StoredRuns) -> tuple[DataWarning, ...]:
    """Runs of one task over data that have changed between them, although the gold may be the same."""
    warnings = []
    (first, base), *others = runs.items()
    for key, run in others:
        one, other = base.inputs.get("data"), run.inputs.get("data")
        if run.task == base.task and one != other:
            warnings.append(
                DataWarning(
                    "different-data",
                    f"{first} and {key} are of the same task, but their data differ (checksums {one} and {other}).",
                    remedy="Run both again on the same collection.",
                )
            )
    return tuple(warnings)


def _gold(hits: Hits) -> tuple[list[str], list[int], list[str], list[float]]:
    return hits.queries, hits.starts.tolist(), hits.items, hits.grade.tolist()


def distinct_names(runs: StoredRuns) -> dict[str, str]:
    """What to call each run: its model, with as much of its task and settings as tells it from the others."""
    names = {key: one.model for key, one in runs.items()}
    for field in ("task", "context", "k"):
        values = {key: str(one.inputs.get(field, one.task if field == "task" else "")) for key, one in runs.items()}
        if len(set(values.values())) > 1:
            names = {key: f"{name}, {field}={values[key]}" for key, name in names.items()}
    twice = {name for name in names.values() if list(names.values()).count(name) > 1}
    return {key: f"{name} ({key})" if name in twice else name for key, name in names.items()}
