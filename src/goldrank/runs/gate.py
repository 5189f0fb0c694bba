"""Gate a new run against a base run or a saved baseline: find the data of both, refuse what cannot be compared."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from goldrank.baselines import Baseline, applied_parameters, is_baseline, read_baseline
from goldrank.comparing import common_queries, count_runs, refuse_different_queries
from goldrank.data_warnings import name_some
from goldrank.errors import InputError, counts, unknown_name
from goldrank.gating import MARGIN, GateResult, check_runs, check_thresholds, find_margins
from goldrank.hits import Hits
from goldrank.io.files import run_names
from goldrank.metrics import Conventions, Metric, Profile, find_profile, parse_all
from goldrank.runs import stored_scores
from goldrank.runs.file_runs import TextPath
from goldrank.runs.run import was_given_every_query
from goldrank.runs.slice_sources import file_source, stored_source
from goldrank.scoring import (
    Bootstrap,
    Metrics,
    RunSource,
    Score,
    Scores,
    all_warnings,
    conventions_of,
    read_all,
    resolve_conventions,
    score_counted,
)
from goldrank.slices import Attributes, Slice, make_slices, read_attributes
from goldrank.slices.derived import SliceSource
from goldrank.stats import check_alpha
from goldrank.store import Store

BASE, NEW = "base", "new"


@dataclass(frozen=True)
class _Request:
    """The metrics and conventions by which runs are scored."""

    metrics: Metrics
    profile: str | Profile | None
    changes: Mapping[str, Any]
    more_metrics: Sequence[Metric] = ()
    """Metrics of thresholds, which are scored but not compared."""
    baseline: Baseline | None = None

    def __post_init__(self) -> None:
        """Refuse what contradicts the baseline, and score as it was scored."""
        if (saved := self.baseline) is None:
            return
        profile = self.profile.name if isinstance(self.profile, Profile) else self.profile
        other = {name: value for name, value in self.changes.items() if getattr(saved.conventions, name) != value}
        if profile not in (None, saved.profile):
            other = {"profile": profile, **other}
        if other:
            given = ", ".join(f"{name}={value}" for name, value in other.items())
            raise InputError(
                f"the baseline was scored with other conventions than {given}",
                where=saved.source,
                remedy="leave them out, or save the baseline again with them",
            )
        for metric in parse_all(saved.metrics if self.metrics is None else self.metrics):
            if str(metric) not in saved.metrics:
                raise unknown_name(
                    "metric in the baseline", str(metric), saved.metrics, ", ".join(saved.metrics), where=saved.source
                )


@dataclass(frozen=True, eq=False)
class _Counted:
    """The hits of one or two runs by name, with the conventions that they were counted under."""

    hits: dict[str, Hits]
    profile: Profile
    conventions: Conventions
    metrics: list[Metric]
    all_metrics: list[Metric]
    sources: Mapping[str, RunSource]
    slice_source: Callable[[Attributes | None], SliceSource]
    """Returns what slices can be made from, with the given attributes."""
    evaluated: Collection[str] = ()
    """The runs of models that were given every query."""

    def score(self, name: str, bootstrap: Bootstrap) -> Scores:
        return score_counted(
            self.hits[name],
            self.all_metrics,
            self.profile,
            self.conventions,
            name,
            bootstrap,
            self.sources.get(name),
        )


def _count_files(
    gold: Any, runs: Mapping[str, Any], corpus: Any, request: _Request, texts: Sequence[TextPath] = ()
) -> _Counted:
    saved = request.baseline
    chosen = find_profile((saved.profile if saved else request.profile) or "standard")
    conventions = saved.conventions if saved else resolve_conventions(chosen, request.changes)
    metrics = _choose_metrics(request, chosen.metrics)
    every = _unite(metrics, request.more_metrics)
    judged, read = read_all(gold, runs.values())
    hits, sources = count_runs(judged, dict(zip(runs, read, strict=True)), every, conventions, corpus)
    return _Counted(hits, chosen, conventions, metrics, every, sources, lambda given: file_source(judged, texts, given))


def _count_stored(keys: Sequence[Any], store: Any, request: _Request) -> _Counted:
    runs, place = stored_scores.find_runs(keys, store)
    saved = request.baseline
    name = saved.profile if saved else request.profile.name if isinstance(request.profile, Profile) else request.profile
    profile = stored_scores.choose_profile(runs, name)
    changes = saved.conventions.as_dict() if saved else request.changes
    metrics = (
        _choose_metrics(request, ())
        if saved
        else stored_scores.choose_metrics(runs, request.metrics, profile, profile_was_given=name is not None)
    )
    every = _unite(metrics, request.more_metrics)
    hits, _ = stored_scores.count_runs(runs, profile, changes, every)
    stored_scores.refuse_different_gold(runs, hits)
    for warning in stored_scores.find_different_data(runs):
        raise InputError(warning.message.rstrip("."), remedy="run both on the same collection")
    evaluated = [key for key, run in runs.items() if was_given_every_query(run)]
    first = next(iter(runs.values()))
    return _Counted(
        hits,
        profile,
        resolve_conventions(profile, changes),
        metrics,
        every,
        {},
        lambda given: stored_source(first, place, given=given),
        evaluated,
    )


def _choose_metrics(request: _Request, usual: Sequence[str]) -> list[Metric]:
    saved = request.baseline.metrics if request.baseline else usual
    return parse_all(list(saved) if request.metrics is None else request.metrics)


def _unite(metrics: Sequence[Metric], others: Sequence[Metric]) -> list[Metric]:
    return list({str(metric): metric for metric in (*metrics, *others)}.values())


def gate(
    base: Any,
    new: Any,
    metrics: Metrics = None,
    *,
    gold: Any = None,
    margin: float | Mapping[str, float] = MARGIN,
    fail_under: Mapping[str, float] | None = None,
    slices: Any = None,
    slice: str | Sequence[str] | None = None,
    texts: TextPath | Sequence[TextPath] = (),
    sequential: bool = False,
    planned: int | None = None,
    alpha: float = 0.05,
    cannot_tell: str | None = None,
    names: tuple[str, str] | None = None,
    profile: str | Profile | None = None,
    corpus: int | Collection[str] | None = None,
    store: Store | str | os.PathLike[str] | None = None,
    bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
    conventions: Conventions | Mapping[str, Any] | None = None,
    **keywords: Any,
) -> GateResult:
    """Decide whether a run is worse than another one: not worse within a margin, worse, or cannot tell.

    Every metric is checked by two paired tests over the queries, corrected over all checks by Holm's method. The new
    run is *not worse* if its loss is significantly smaller than the margin (also if there is a significant loss within
    the margin), else *worse* if it is significantly lower, else nothing can be told, and the result says how many
    queries would be needed.

    Args:
        base: The run to compare with, as in `compare`; a file of `save_baseline`; or the key of a stored run.
        new: The new run, or the key of a stored run.
        metrics: The metrics to check; by default those of the baseline, of the stored runs, or of the profile.
        gold: The gold, unless both runs are stored or the baseline names its gold file.
        margin: By how much a metric may be worse; one for all metrics, or a mapping.
        fail_under: The smallest value that a metric must have on these queries (the largest where lower is better).
        slices: Attributes of queries, as in `by_slice`, or a tuple of slices: every metric is checked on all queries
            and on each slice of enough queries.
        slice: The attributes to cut the queries by, given or derived; by default all of *slices*.
        texts: Texts of the queries and items of files, as in `report`, for attributes that are derived from them.
        sequential: Use tests that are valid however often they are repeated while queries are added. The new run may
            answer only the first queries of the gold.
        planned: The number of queries planned for a sequential test; by default those of the gold.
        alpha: The significance level.
        cannot_tell: Let "cannot tell" ``pass`` or ``fail``; by default it has an exit code of its own.
        names: The names of the two runs in the result.
        profile, corpus, bootstrap, conventions, keywords: As in `score`.
        store: Where keys are looked up.

    Raises:
        InputError: The runs cannot be compared: other gold, queries, corpus or conventions, or queries without results
            while ``missing`` is not given.

    >>> gold = {f"q{n}": ["right"] for n in range(200)}
    >>> good = {query: {"right": 2, "wrong": 1} for query in gold}
    >>> bad = {query: {"right": 1, "wrong": 2} for query in gold}
    >>> gate(good, good, "mrr", gold=gold).answer, gate(good, bad, "mrr", gold=gold).answer
    ('not_worse', 'worse')
    """
    if cannot_tell not in (None, "pass", "fail"):
        raise unknown_name("value of cannot_tell", str(cannot_tell), ("pass", "fail"), "pass or fail")
    check_alpha(alpha)
    if planned is not None and (slices is not None or slice is not None):
        raise InputError("planned is of all queries and not of slices", remedy="leave planned or the slices out")
    if planned is not None and not sequential:
        raise InputError("planned has no effect without a sequential test", remedy="add sequential, or leave it out")
    changes = conventions_of(gate, conventions, keywords)
    limits = {str(Metric.parse(name)): float(value) for name, value in (fail_under or {}).items()}
    baseline = base if isinstance(base, Baseline) else read_baseline(base) if is_baseline(base) else None
    request = _Request(metrics, profile, changes, parse_all(list(limits)) if limits else (), baseline)
    if gold is None and baseline is not None and not _is_stored(new):
        gold = baseline.find_gold()
    if gold is not None:
        _refuse_with_files(store)
        base_name, new_name = names or (baseline.name if baseline else _name_of(base, BASE), _name_of(new, NEW))
        base_name = base_name if base_name != new_name else f"{base_name} ({BASE})"
        runs = {new_name: new} if baseline else {base_name: base, new_name: new}
        sources = [texts] if isinstance(texts, (str, os.PathLike)) else list(texts)
        counted = _count_files(gold, runs, corpus, request, sources)
    else:
        if texts:
            raise InputError(
                "texts have no effect on stored runs, whose texts are in the store", remedy="leave them out"
            )
        if baseline is None and isinstance(base, (str, os.PathLike)) and Path(base).exists():
            read_baseline(base)  # says why it is none
        counted = _count_stored([new] if baseline else [base, new], store, request)
        base_name, new_name = baseline.name if baseline else next(iter(counted.hits)), list(counted.hits)[-1]
    if baseline is not None:
        baseline.refuse_other_data(counted.hits[new_name], new_name)
    total = counted.hits[new_name].queries
    counted = _select_queries(counted, sequential=sequential, decided="missing" in changes)
    scores = counted.score(new_name, bootstrap)
    if baseline is None:
        both = {base_name: counted.score(base_name, bootstrap), new_name: scores}
        refuse_different_queries(both)
        reference: Mapping[str, Score] = both[base_name]
        warnings = all_warnings(list(both.values()))
    else:
        reference = _score_baseline(baseline, scores, counted, sequential=sequential)
        warnings = scores.warnings
    margins = find_margins(counted.metrics, margin)
    parts, notes = _cut(total, counted, slices, slice)
    ends = {name: planned or len(queries) for name, queries in parts.items()} if sequential else None
    scored = set(scores.placement.queries)
    parts = {name: [query for query in queries if query in scored] for name, queries in parts.items()}
    checks = check_runs(reference, scores, margins, parts, alpha, bootstrap, ends)
    thresholds = check_thresholds(scores, limits)
    return GateResult(
        base=base_name,
        new=new_name,
        checks=checks,
        thresholds=thresholds,
        alpha=alpha,
        scores=scores,
        cannot_tell=cannot_tell,
        planned=ends[""] if ends else None,
        notes=notes,
        warnings=warnings,
    )


def _cut(
    queries: Sequence[str], counted: _Counted, attributes: Any, names: str | Sequence[str] | None
) -> tuple[dict[str, Sequence[str]], tuple[str, ...]]:
    """Return all queries under the name "" and those of each slice that is large enough, and a note on the others."""
    if attributes is None and names is None:
        return {"": queries}, ()
    if isinstance(attributes, tuple) and all(isinstance(part, Slice) for part in attributes):
        slices: tuple[Slice, ...] = attributes
    else:
        known = attributes if isinstance(attributes, (Attributes, type(None))) else read_attributes(attributes)
        if known is not None:
            known.refuse_unknown(queries)
        chosen = [names] if isinstance(names, str) else names
        # Without names, attributes of the data that were not given are not used.
        slices = (
            make_slices(known, queries)
            if known is not None and chosen is None
            else counted.slice_source(known).slices(chosen)
        )
    small = [f"{part} ({counts(len(part), 'query', 'queries')})" for part in slices if part.too_small]
    notes = (f"Not checked, because of too few queries: {', '.join(small)}.",) if small else ()
    return {"": queries, **{str(part): part.queries for part in slices if not part.too_small}}, notes


def _is_stored(new: Any) -> bool:
    """Return True if *new* is a stored run or its key, and not a run or its file."""
    return hasattr(new, "result_kind") or (isinstance(new, str) and not Path(new).exists() and new != "-")


def _refuse_with_files(store: object) -> None:
    if store is not None:
        raise InputError("store has no effect on run files", remedy="leave it out")


def _name_of(run: Any, otherwise: str) -> str:
    """Return the stem of a run file; another name for other runs."""
    return next(iter(run_names([os.fspath(run)]))) if isinstance(run, (str, os.PathLike)) else otherwise


def _select_queries(counted: _Counted, *, sequential: bool, decided: bool) -> _Counted:
    """Return the hits of the queries to compare.

    Raises:
        InputError: A run retrieved nothing that is judged, or has no results for some queries and nobody said how they
            count.
    """
    hits = counted.hits
    for name, run_hits in hits.items():
        if len(run_hits) and not run_hits.found.any():
            raise InputError(
                f"{name} retrieved none of the {len(run_hits)} judged items",
                remedy="check that the results have the item ids of the gold",
            )
    if sequential:
        *_, new = hits
        answered = np.flatnonzero(hits[new].depth > 0)
        if new not in counted.evaluated:
            first = np.arange(len(hits[new].queries)) <= answered.max(initial=-1)
            hits = {name: run_hits.keep_queries(first) for name, run_hits in hits.items()}
    for name, run_hits in hits.items():
        without = [query for query, depth in zip(run_hits.queries, run_hits.depth.tolist(), strict=True) if not depth]
        if without and not decided and name not in counted.evaluated:
            extra = " of those up to the last one that it answered" if sequential else ""
            raise InputError(
                f"{name} answered {len(run_hits.queries) - len(without)} of {len(run_hits.queries)} queries{extra} "
                f"(no results for {name_some(without)})",
                remedy="give a complete run, or say how missing queries count with --missing zero (as 0) or --missing "
                "skip (left out for both runs)",
            )
    if counted.conventions.missing == "skip" and len(hits) > 1:
        hits, _ = common_queries(hits)
    return replace(counted, hits=hits)


def _score_baseline(baseline: Baseline, new: Scores, counted: _Counted, *, sequential: bool) -> dict[str, Score]:
    """Return the scores of the baseline on the queries of *new*, in their order.

    Raises:
        InputError: The queries differ, a metric is computed differently now, or a value is undefined on one side only.
    """
    position = {query: at for at, query in enumerate(baseline.queries)}
    queries = new.placement.queries
    unknown = [query for query in queries if query not in position]
    lacking = [] if sequential else sorted(position.keys() - set(queries))
    if unknown or lacking:
        raise InputError(
            f"{new.name} and the baseline are scored on different queries ({name_some([*unknown, *lacking])})",
            where=baseline.source,
            remedy="save the baseline again with the same --missing, or give a complete run",
        )
    if sequential and list(baseline.queries[: len(queries)]) != queries:
        raise InputError(
            "the queries of the gold are in another order than in the baseline, and a sequential test needs the same",
            where=baseline.source,
            remedy="give the gold that the baseline was saved with",
        )
    applied = applied_parameters(new)
    at = np.array([position[query] for query in queries])
    scores = {}
    for metric in map(str, counted.metrics):
        if applied[metric] != baseline.metrics[metric]:
            raise InputError(
                f"{metric} was computed as {baseline.metrics[metric]}, and is {applied[metric]} now",
                where=baseline.source,
                remedy="save the baseline again",
            )
        values, weights = baseline.values[metric][at], baseline.weights.get(metric)
        if one_sided := np.flatnonzero(np.isnan(values) != np.isnan(new[metric].values)).tolist():
            raise InputError(
                f"{metric} is undefined on one side only for {name_some([queries[place] for place in one_sided])}",
                where=baseline.source,
                remedy="leave the metric out, or save the baseline again",
            )
        if (weights is None) != (new[metric].weights is None):
            raise InputError(f"the weights of {metric} are missing", where=baseline.source, remedy="save it again")
        scores[metric] = replace(new[metric], values=values, weights=None if weights is None else weights[at])
    return scores


def save_baseline(
    path: str | os.PathLike[str],
    run: Any,
    metrics: Metrics = None,
    *,
    gold: Any = None,
    name: str | None = None,
    profile: str | Profile | None = None,
    corpus: int | Collection[str] | None = None,
    store: Store | str | os.PathLike[str] | None = None,
    conventions: Conventions | Mapping[str, Any] | None = None,
    **keywords: Any,
) -> Baseline:
    """Score a run and write its scores for each query to a small JSON file, which `gate` compares later runs with.

    Args:
        path: The file to write. Equal scores give equal bytes.
        run: A run, as in `score`, or the key of a stored run.
        metrics: The metrics to save; by default those of the stored run or of the profile.
        gold: The gold; None for a stored run. The file remembers its path, so that `gate` finds it again.
        name: The name of the run.
        profile, corpus, conventions, keywords: As in `score`.
        store: Where a key is looked up.

    Raises:
        InputError: The run has no results for some queries while ``missing`` is not given, or cannot be scored.

    >>> import tempfile
    >>> path = f"{tempfile.mkdtemp()}/baseline.json"
    >>> save_baseline(path, {"q1": {"d1": 1.0}}, "mrr", gold={"q1": ["d1"]}).means
    {'mrr': 1.0}
    """
    changes = conventions_of(save_baseline, conventions, keywords)
    request = _Request(metrics, profile, changes)
    folder = Path(path).absolute().parent
    if not folder.is_dir():
        raise InputError("the folder does not exist", where=os.fspath(path), remedy="create it first")
    gold_file = ""
    if gold is not None:
        _refuse_with_files(store)
        counted = _count_files(gold, {name or _name_of(run, BASE): run}, corpus, request)
        gold_file = _relative(gold, folder)
    else:
        counted = _count_stored([run], store, request)
        if name is not None:
            raise InputError("a stored run has a name already", remedy="leave the name out")
    [(shown, hits)] = counted.hits.items()
    counted = _select_queries(counted, sequential=False, decided="missing" in changes)
    baseline = Baseline.of(counted.score(shown, Bootstrap()), hits, gold_file)
    baseline.write(path)
    return replace(baseline, source=os.fspath(path))


def _relative(gold: Any, folder: Path) -> str:
    """Return the path of a gold file from a folder; empty if it is none, or is on another drive."""
    source = gold if isinstance(gold, (str, os.PathLike)) else gold.columns.source if hasattr(gold, "columns") else ""
    path = Path(source)
    try:
        return Path(os.path.relpath(path, folder)).as_posix() if path.is_file() else ""
    except ValueError:
        return ""
