"""Choose profile and metrics for stored runs, count their hits, and check that they can be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np

from goldrank.comparing import Comparison, compare_hits
from goldrank.errors import DataWarning, GoldrankError, InputError
from goldrank.hits import Hits
from goldrank.io.labels import assign_labels, refuse_shared_names
from goldrank.masked.scoring.profiles import READINGS, SOURCE
from goldrank.metrics import Conventions, Metric, Profile, find_profile, parse_all
from goldrank.runs.masked import mask_hits
from goldrank.runs.masked_results import MaskedPredictions
from goldrank.runs.run import Leaderboard, Leaderboards, Measures, was_given_every_query
from goldrank.scoring import Metrics, best_first, resolve_conventions
from goldrank.store import Counted, Store, StoredRun, add_stored_confidence, count_under
from goldrank.tasks.catalogue import find_task
from goldrank.tasks.measurement import MeasurementTask

StoredRuns = Mapping[str, StoredRun]

_SETTINGS = ("chunk", "similarity", "transform", "fit_on", "scoring", "index", "oov", "rerank", "depth")
"""The settings that tell runs of one model apart in tables and figures."""


def find_runs(runs: Any, store: Store | str | PathLike[str] | None = None) -> tuple[dict[str, StoredRun], Store]:
    """Return stored runs by their full keys, and the store.

    Args:
        runs: A key, a stored run, the result of `goldrank.run` or `goldrank.masked.predict`, or a list of these.
        store: Where keys are looked up; by default the store of such a result, or that of the user.

    Raises:
        InputError: A run is given twice.
    """
    several = (Leaderboards, MaskedPredictions)
    listed = [runs] if isinstance(runs, (str, StoredRun, Leaderboard, *several)) else list(runs)
    if store is None:
        store = next((entry.store for entry in listed if isinstance(entry, several)), None)
    place = Store.open(store)
    by_key: dict[str, StoredRun] = {}
    for entry in listed:
        if isinstance(entry, Leaderboard):
            stored = [outcome.stored for outcome in entry.outcomes]
        elif isinstance(entry, several):
            stored = entry.runs
        else:
            stored = [entry if isinstance(entry, StoredRun) else place.get(entry)]
        for run in stored:
            if run.key in by_key:
                raise InputError(f"the run {run.key} is given twice", remedy="name each run once")
            by_key[run.key] = run
    return by_key, place


def label_runs(runs: StoredRuns, labels: Mapping[str, str]) -> dict[str, StoredRun]:
    """Return the runs with their labels, by key.

    Args:
        runs: The runs, by key.
        labels: What each label stands for: a key, the beginning of one, or a model.
    """
    assigned = assign_labels(labels, {key: (run.model,) for key, run in runs.items()})
    return {key: replace(run, label=assigned.get(key, run.label)) for key, run in runs.items()}


def choose_profile(runs: StoredRuns, name: str | None) -> Profile:
    """Return the profile to score stored runs under.

    Args:
        runs: the runs, by key.
        name: the profile that the user chose, or None for that of the runs. If the runs were stored under it, it
            includes the conventions that their task changes. For masked runs it may also be ``source`` or ``strict``,
            which say when a guess is right.

    Raises:
        InputError: the profile is unknown, or the runs have different conventions and none was chosen.
    """
    if name in READINGS:
        for key, run in runs.items():
            if run.result_kind != "masked":
                raise InputError(
                    f"the profile {name} is for runs of masked entities, and {key} is a run of {run.task}",
                    remedy="leave it out, or see goldrank list profiles",
                )
        return replace(choose_profile(runs, None), name=name, metrics=tuple(next(iter(runs.values())).metrics))
    if name is not None and any(run.profile != name for run in runs.values()):
        return find_profile(name)
    (first, base), *others = runs.items()
    for key, run in others:
        if (run.profile, run.conventions) != (base.profile, base.conventions):
            raise InputError(
                f"{first} and {key} were stored with different conventions "
                f"({_conventions_text(base)}; {_conventions_text(run)})",
                remedy="choose one profile for all with --profile",
            )
    return profile_of(base)


def profile_of(run: StoredRun) -> Profile:
    """Return the profile of a run with the conventions that its task changes."""
    chosen = find_profile(run.profile)
    return replace(chosen, conventions=resolve_conventions(chosen, run.conventions))


def _conventions_text(run: StoredRun) -> str:
    return ", ".join([run.profile, *(f"{name}={value}" for name, value in run.conventions.items())])


def choose_metrics(runs: StoredRuns, metrics: Metrics, profile: Profile, *, profile_was_given: bool) -> list[Metric]:
    """Return the metrics that the user chose, else those of a profile that the user chose, else those of the runs."""
    if metrics is not None:
        return parse_all(metrics)
    if profile_was_given:
        return parse_all(profile.metrics)
    own = dict.fromkeys(metric for run in runs.values() for metric in run.metrics)
    return parse_all(own or profile.metrics)


def count_runs(
    runs: StoredRuns, profile: Profile, changes: Mapping[str, Any], metrics: Sequence[Metric] = ()
) -> tuple[dict[str, Hits], list[str]]:
    """Return the hits of each run under the conventions, with what *metrics* need, and notes on the counting."""
    agreed = resolve_conventions(profile, changes)
    counted = {key: count_run(run, profile, agreed) for key, run in runs.items()}
    hits = {key: add_stored_confidence(result.hits, runs[key], metrics, agreed) for key, result in counted.items()}
    return hits, [result.note for result in counted.values() if result.note]


def count_run(run: StoredRun, profile: Profile, agreed: Conventions) -> Counted:
    """Return the hits of a run under conventions; masked runs are read by the masked profile, ``source`` by default."""
    counted = count_under(run, agreed)
    if run.result_kind != "masked":
        return counted
    return replace(counted, hits=mask_hits(run, profile.name if profile.name in READINGS else SOURCE.name))


def compare_stored(
    runs: StoredRuns,
    names: Mapping[str, str],
    measures: Measures,
    *,
    main_only: bool = False,
    only: Collection[str] | None = None,
) -> tuple[Comparison, dict[str, Hits], list[str]]:
    """Compare stored runs of one task exactly as `goldrank compare` does, the best run first.

    Args:
        runs: The runs, by key.
        names: The name of each run in the comparison, by key.
        measures: How they are compared.
        main_only: Whether to compare by the first metric only.
        only: The queries to compare on; all if None.

    Returns:
        The comparison, the hits by key, and notes on the counting.
    """
    profile = choose_profile(runs, measures.profile)
    metrics = choose_metrics(runs, measures.metrics, profile, profile_was_given=measures.profile is not None)
    metrics = metrics[:1] if main_only else metrics
    hits, notes = count_runs(runs, profile, measures.conventions, metrics)
    refuse_different_gold(runs, hits)
    if only is not None:
        chosen = np.array([query in only for query in next(iter(hits.values())).queries], bool)
        hits = {key: of_run.keep_queries(chosen) for key, of_run in hits.items()}
    compared = compare_hits(
        {names[key]: of_run for key, of_run in hits.items()},
        metrics,
        profile=profile,
        evaluated=[names[key] for key, run in runs.items() if was_given_every_query(run)],
        alpha=measures.alpha,
        bootstrap=measures.bootstrap,
        **measures.conventions,
    )
    return replace(compared, scores=best_first(compared.scores)), hits, notes


def compare_measured(named: StoredRuns) -> tuple[dict[tuple[str, str], float], list[str]]:
    """Return the p-values of all pairs of measured runs after Holm, the better run first, or why there are none."""
    if len(named) > 1 and any(run.predictions_checksum is None for run in named.values()):
        return {}, ["The predictions were not stored, so the models could not be tested against each other."]
    try:
        task = find_task(next(iter(named.values())).task)
        return (task.compare_all(named) if isinstance(task, MeasurementTask) else {}), []
    except GoldrankError as error:
        return {}, [f"The models could not be tested against each other: {error}."] if len(named) > 1 else []


def comparable_groups(runs: Sequence[StoredRun]) -> list[dict[str, StoredRun]]:
    """Group the runs of one task on the same data, in the order in which they were given.

    Whether their gold is the same is checked when it is read.
    """
    groups: dict[object, dict[str, StoredRun]] = {}
    for run in runs:
        basis = tuple(str(run.inputs.get(name)) for name in ("data", "split", "limit"))
        group = groups.setdefault((run.task, run.result_kind, basis), {})
        if run.key in group:
            raise InputError(f"the run {run.key} is given twice", remedy="name each run once")
        group[run.key] = run
    return list(groups.values())


def refuse_different_gold(runs: StoredRuns, hits: Mapping[str, Hits]) -> None:
    """Raise InputError if runs differ in task, gold or corpus, so that their models cannot be compared."""
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


def find_different_data(runs: StoredRuns) -> tuple[DataWarning, ...]:
    """Return a warning for each run whose data differs from that of the first run of the same task."""
    (first, base), *others = runs.items()
    expected = base.inputs.get("data")
    return tuple(
        DataWarning(
            "different-data",
            f"{first} and {key} are of the same task, but their data differ (checksums {expected} and {checksum}).",
            remedy="Run both again on the same collection.",
        )
        for key, run in others
        if run.task == base.task and (checksum := run.inputs.get("data")) != expected
    )


def _gold(hits: Hits) -> tuple[list[str], list[int], list[str], list[float]]:
    return hits.queries, hits.starts.tolist(), hits.items, hits.grade.tolist()


def distinct_names(runs: StoredRuns) -> dict[str, str]:
    """Return a name for each run: its label, or its model with what makes the names distinct (settings, date, key).

    Raises:
        InputError: A label stands for several runs, or is the name of another run.
    """
    labels = {key: run.label for key, run in runs.items() if run.label}
    others = _distinct_models({key: run for key, run in runs.items() if key not in labels})
    names = {key: labels.get(key) or others[key] for key in runs}
    refuse_shared_names(names, labels)
    return names


def _distinct_models(runs: StoredRuns) -> dict[str, str]:
    names = {key: run.model for key, run in runs.items()}
    for field in ("task", "context", "k"):
        values = {key: str(run.inputs.get(field, run.task if field == "task" else "")) for key, run in runs.items()}
        if len(set(values.values())) > 1:
            names = {key: f"{name}, {field}={values[key]}" for key, name in names.items()}
    names = _with_settings(names, runs)
    dates = {key: f"{run.evaluated:%Y-%m-%d %H:%M:%S} UTC" for key, run in runs.items() if run.evaluated is not None}
    repeated = {name for name, count in Counter(names.values()).items() if count > 1}
    names = {key: f"{name}, {dates[key]}" if name in repeated and key in dates else name for key, name in names.items()}
    repeated = {name for name, count in Counter(names.values()).items() if count > 1}
    return {key: f"{name} ({key})" if name in repeated else name for key, name in names.items()}


def _with_settings(names: Mapping[str, str], runs: StoredRuns) -> dict[str, str]:
    """Add the settings in which runs of one name differ, such as ``bm25, chunk=heading``."""
    result = dict(names)
    for name in {name for name, count in Counter(names.values()).items() if count > 1}:
        keys = [key for key in names if names[key] == name]
        for setting in _SETTINGS:
            values = [runs[key].inputs.get(setting) or "none" for key in keys]
            if len(set(values)) > 1:
                result |= {key: f"{result[key]}, {setting}={value}" for key, value in zip(keys, values, strict=True)}
    return result
