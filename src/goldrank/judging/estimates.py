"""Estimate the scores of systems from human labels of a random sample, and correct the grades of a model judge."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from goldrank import stats
from goldrank.errors import InputError, counts, shorten
from goldrank.hits import Floats, Gold, Run
from goldrank.io.files import PathLike
from goldrank.judging.judge_agreement import judge_quality
from goldrank.judging.judges import find_judge
from goldrank.judging.labels import GradeScale, by_query, combine
from goldrank.judging.plans import Unit, draw_probabilities, unit_labels
from goldrank.judging.pools import Pool
from goldrank.judging.project import JudgingProject, open_project
from goldrank.judging.sampled_items import sampled_values
from goldrank.judging.strata import LEAST, Strata
from goldrank.metrics import Metric, parse_all
from goldrank.presentation import Result
from goldrank.scoring import Metrics, score
from goldrank.stats.prediction_powered import MeanEstimates, estimate_means

METRICS = ("ndcg@10", "precision@10", "mrr")
"""The metrics unless others are asked for."""
ITEM_METRICS = ("precision@10",)
"""The same for a plan that samples items."""
FEW = 20
"""Below this number of judged queries the intervals have not been checked by simulation."""

Target = Literal["pool", "queries"]
Believe = Literal["human", "corrected"]
Verdict = Literal["higher", "lower", "cannot_tell"]


@dataclass(frozen=True)
class JudgedEstimate:
    """An estimated mean over all queries with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class SystemEstimate:
    """The estimates of one metric of one system."""

    metric: str
    system: str
    human: JudgedEstimate
    """From the human labels alone."""
    model: float | None
    """With the grades of the model judge in place of human labels: not corrected, and without an interval."""
    corrected: JudgedEstimate | None
    """From the grades of the model judge, corrected by the human labels."""
    weight: float | None
    """The weight of the grades of the model judge in the corrected estimate; 0 makes it the human one."""
    bias: JudgedEstimate | None
    """Model-only value less the human one, as the sample shows it."""

    def believed(self, believe: Believe) -> JudgedEstimate:
        """Return the estimate to believe."""
        return self.corrected if believe == "corrected" and self.corrected is not None else self.human


@dataclass(frozen=True)
class DifferenceEstimate:
    """The estimated difference of two systems: the first less the second."""

    metric: str
    system: str
    other: str
    human: JudgedEstimate
    model: float | None
    corrected: JudgedEstimate | None
    weight: float | None
    p: float
    """Of the believed estimate, corrected by Holm's method over the pairs of the metric."""
    verdict: Verdict
    """Whether the first system is significantly higher or lower."""

    def believed(self, believe: Believe) -> JudgedEstimate:
        """Return the estimate to believe."""
        return self.corrected if believe == "corrected" and self.corrected is not None else self.human


@dataclass(frozen=True)
class OutsideSystem:
    """A system that did not contribute to the pool, which has no estimate but two values between which it may be."""

    metric: str
    system: str
    unjudged: float
    """The share of its results, at the depth of the pool, that are not in the pool."""
    none_relevant: float
    """Its mean over the judged queries if none of its results outside of the pool is relevant."""
    all_relevant: float
    """The same if all of them had the best grade."""


@dataclass(frozen=True)
class JudgedStratum:
    """A stratum of queries, and how many of them are judged."""

    stratum: str
    queries: int
    judged: int


@dataclass(frozen=True, repr=False)
class JudgedLeaderboard(Result):
    """The estimates of all systems, which of them to believe, and why."""

    folder: str
    design: str
    target: Target
    level: float
    queries: int
    """All queries of the pool."""
    judged: int
    """The queries whose units are complete, in the random order of the plan."""
    strata: tuple[JudgedStratum, ...]
    """The strata that queries were drawn from; none if they were drawn from all."""
    labels: int
    unclear: int
    """Pairs that no judge could judge; they count as not relevant."""
    judge: str | None
    usable: bool
    """Whether the model judge agrees with people better than by chance."""
    believe: Believe
    systems: tuple[SystemEstimate, ...]
    differences: tuple[DifferenceEstimate, ...]
    outside: tuple[OutsideSystem, ...]
    sentences: tuple[str, ...]
    """Which estimates to believe and why, and what the leading system is, metric by metric."""


@dataclass(frozen=True, eq=False)
class Judged:
    """The part of a project that estimates use: whole pools of a random sample of queries, judged by people."""

    project: JudgingProject
    queries: list[str]
    units: list[Unit]
    """The complete units of the sample, in their order."""
    human: dict[tuple[str, str], int]
    unclear: int
    rankings: dict[str, Run]
    strata: Strata | None

    @property
    def positions(self) -> list[int]:
        """The positions of the judged queries in ``queries``."""
        numbers = {query: number for number, query in enumerate(self.queries)}
        return [numbers[unit.query] for unit in self.units]

    @property
    def stratum_numbers(self) -> NDArray[np.int64] | None:
        """The stratum of each judged query, from 0; None if they were drawn from all queries."""
        if self.strata is None:
            return None
        return np.array([self.strata.number[unit.query] for unit in self.units], np.int64)

    def estimate(
        self,
        sample: Floats,
        everything: Floats | None = None,
        *,
        level: float = 0.95,
        signed: bool = False,
        beyond: bool = False,
    ) -> MeanEstimates:
        """Estimate means over all queries from (judged queries, C) values and (all queries, C) predictions."""
        return estimate_means(
            sample,
            None if everything is None else everything[self.positions],
            None if everything is None else everything.mean(axis=0),
            population=len(self.queries) if self.strata is None else self.strata.sizes,
            strata=self.stratum_numbers,
            level=level,
            signed=signed,
            beyond=beyond,
        )


def score_systems(
    pool: Pool,
    grades: Mapping[tuple[str, str], int],
    rankings: Mapping[str, Run],
    metrics: Sequence[Metric],
    queries: Collection[str],
) -> dict[str, Floats]:
    """Return the values of each metric as (queries, systems).

    Args:
        pool: The pool; its items without a grade count as not relevant.
        grades: The grade of each pair of query and item.
        rankings: The ranking of each system.
        metrics: The metrics.
        queries: The queries; the rows of the results.
    """
    known = by_query(grades)
    gold = {
        query: {**dict.fromkeys(pool.ids(query), 0), **known.get(query, {})} for query in queries if pool.items[query]
    }
    columns: dict[str, list[Floats]] = {str(metric): [] for metric in metrics}
    for run in rankings.values():
        scores = score(Gold(gold), run, metrics) if gold else {}
        for name, column in columns.items():
            per_query = scores[name].per_query if scores else {}
            # A query without any result or relevant item scores 0 for every system.
            column.append(np.nan_to_num(np.array([per_query.get(query, 0.0) for query in queries], dtype=np.float64)))
    return {name: np.stack(column, axis=1) for name, column in columns.items()}


def check_metrics(metrics: Metrics, usual: Sequence[str], scale: GradeScale) -> list[Metric]:
    """Return the metrics; raise InputError for one that is not a mean over queries, where higher is better.

    ERR, which depends on the highest grade, takes that of the scale instead of the highest one among the labels.
    """
    chosen = parse_all(usual if metrics is None else metrics)
    chosen = [each.with_defaults({"max": scale.best}) if each.name == "err" else each for each in chosen]
    for metric in chosen:
        definition = metric.definition
        if definition.aggregate != "mean" or definition.range != "[0, 1]" or definition.direction != "higher":
            raise InputError(
                f"{metric} cannot be estimated from a sample: it is not a mean over queries of values from 0 to 1",
                remedy="choose other metrics with -M, such as ndcg@10",
            )
    return chosen


def read_judged(project: JudgingProject) -> Judged:
    """Return the random sample that people have judged; raise InputError for what cannot be corrected.

    Raises:
        InputError: The pool was made by one system, no unit is complete, or the labels were chosen by hand.
    """
    check_systems(project)
    where = str(project.folder)
    labels, queries = project.labels(), project.queries
    plan, units = project.plan, project.complete_units()
    chances = draw_probabilities((unit.query for unit in units), len(queries), plan.strata)
    sampled = []
    for unit, chance in zip(units, chances, strict=True):
        if unit.round:
            break
        if math.isnan(unit.probability):
            raise InputError(
                f"query {shorten(unit.query)} was chosen by hand, so that the labels are not a random sample",
                where=where,
                remedy="judge the queries in the order of a plan that goldrank judge start makes",
            )
        if not math.isclose(unit.probability, chance):
            break
        sampled.append(unit)
    if not sampled:
        people = sum(label.source == "human" for label in labels)
        if labels and not people:
            raise InputError(
                "all labels are imported: nobody drew their queries at random, so that they cannot be corrected for",
                where=where,
                remedy="judge a random sample with goldrank judge serve, or score with goldrank judge export",
            )
        if plan.in_rounds or plan.design == "next":
            raise InputError(
                "the labels were asked for to find the best system, and are no random sample of queries",
                where=where,
                remedy="goldrank judge next says which system is best; to estimate means, judge a project that "
                "goldrank judge start makes with --sample queries",
            )
        raise InputError(
            f"no query is completely judged ({counts(people, 'label')})",
            where=where,
            remedy="judge with goldrank judge serve; goldrank judge status says what is missing",
        )
    human = [label for label in labels if label.source == "human"]
    sample = {(unit.query, item) for unit in sampled for item in unit.items}
    combined = {pair: grade for pair, grade in combine(human).items() if pair in sample}
    return Judged(project, queries, sampled, combined, len(sample) - len(combined), project.rankings(), plan.strata)


def check_systems(project: JudgingProject) -> None:
    """Raise InputError if the pool was made by one system."""
    if len(project.systems) < 2:
        raise InputError(
            f"the pool was made by one system, {project.systems[0]}: what other systems would find is not known",
            where=str(project.folder),
            remedy="start another project with all systems that you want to compare",
        )


def leaderboard(
    folder: PathLike | JudgingProject,
    metrics: Metrics = None,
    *,
    judge: str | None = None,
    target: Target = "pool",
    level: float = 0.95,
    others: Mapping[str, Run] | None = None,
) -> JudgedLeaderboard:
    """Estimate the scores of all systems of a judging project, and their differences.

    What is estimated is the mean over all queries of the project, with the labels that people would give to the whole
    pool; items outside of the pool count as not relevant. Labels that `goldrank judge next` asked for are left out,
    because they are no random sample of queries; `plan_next` uses them.

    Args:
        folder: The folder of the project, or the project.
        metrics: Means over queries of values from 0 to 1, such as ``ndcg@10``.
        judge: The model judge whose grades are corrected; the only one that has graded something by default.
        target: ``queries`` widens the intervals so that they hold for queries like these instead of these.
        level: The confidence level.
        others: Systems that did not contribute to the pool. They get no estimate.

    Raises:
        InputError: The labels are no random sample, or the pool was made by one system.

    >>> import tempfile
    >>> from goldrank.judging import start
    >>> project = start("questions", None, ["bm25", "random:8"], depth=2, limit=10, folder=tempfile.mkdtemp())
    >>> for unit in project.plan.units[:3]:
    ...     for item in unit.items:
    ...         _ = project.add_label(unit.query, item, 3, "ann")
    >>> result = leaderboard(project, "precision@2")
    >>> result.judged, result.believe, result.systems[0].human.value
    (3, 'human', 1.0)
    """
    project = folder if isinstance(folder, JudgingProject) else open_project(folder)
    if target not in ("pool", "queries"):
        raise InputError(f"the target {shorten(target)} is not known", remedy="give pool or queries")
    judged = read_judged(project)
    design = project.plan.design
    strata = _judged_strata(judged)
    if len(judged.units) < 2:
        raise InputError(
            "one query is judged, and an interval needs two",
            where=str(project.folder),
            remedy="judge more with goldrank judge serve",
        )
    sampled_items = design == "items"
    chosen = check_metrics(metrics, ITEM_METRICS if sampled_items else METRICS, project.scale)
    name, usable, reason = _find_model(project, judge)
    queries = judged.queries
    if sampled_items:
        # The values vary between queries and by the sampled items; the variance between queries contains both.
        human = sampled_values(project.pool, judged.units, judged.human, judged.rankings, chosen)
        name = name if judge is not None else None
        usable, reason = False, "The plan samples items, which are corrected for by their probabilities alone."
        target = "queries"
    else:
        human = score_systems(
            project.pool, judged.human, judged.rankings, chosen, [unit.query for unit in judged.units]
        )
    grades = {}
    if name is not None:
        grades = {entry.pair: entry.grade for entry in project.model_grades(name) if entry.grade is not None}
    model = None
    if name is not None:
        model = score_systems(project.pool, grades, judged.rankings, chosen, queries)
    build = _Builder(judged, target, level, name is not None and usable)
    for metric in map(str, chosen):
        build.add(metric, human[metric], None if model is None else model[metric])
    believe = build.believe
    return JudgedLeaderboard(
        folder=str(project.folder),
        design=design,
        target=target,
        level=level,
        queries=len(queries),
        judged=len(judged.units),
        strata=strata,
        labels=sum(len(unit.items) for unit in judged.units),
        unclear=judged.unclear,
        judge=name,
        usable=name is not None and usable,
        believe=believe,
        systems=tuple(build.systems),
        differences=tuple(build.differences),
        outside=tuple(_outside(judged, chosen, others or {})) if not sampled_items else (),
        sentences=tuple(_sentences(build, judged, name, reason, believe)),
    )


def _judged_strata(judged: Judged) -> tuple[JudgedStratum, ...]:
    """Return the strata; raise InputError if one has too few judged queries for a variance."""
    numbers = judged.stratum_numbers
    if judged.strata is None or numbers is None:
        return ()
    judged_queries = np.bincount(numbers, minlength=len(judged.strata.slices)).tolist()
    parts = zip(judged.strata.slices, judged_queries, strict=True)
    strata = tuple(JudgedStratum(str(part), len(part), count) for part, count in parts)
    if short := [part for part in strata if part.judged < LEAST]:
        project = judged.project
        # The plan begins with so many of each stratum.
        units = project.plan.units[: LEAST * len(strata)]
        labelled = {label.pair for label in project.labels("human")}
        missing = sum(unit_labels(unit, project.pool) // unit.judges for unit in units)
        missing -= sum((unit.query, item) in labelled for unit in units for item in unit.items)
        listing = ", ".join(f"{part.stratum} has {part.judged}" for part in short)
        raise InputError(
            f"a stratum needs {LEAST} judged queries, and {listing}; missing are {counts(missing, 'label')}",
            where=str(project.folder),
            remedy="judge more with goldrank judge serve, which asks for them first",
        )
    return strata


def choose_judge(project: JudgingProject, judge: str | None) -> str | None:
    """Return the full name of the model judge, the only one that has graded if none is given; None without any."""
    known = project.model_judges()
    if judge is None and len(known) > 1:
        raise InputError(f"{len(known)} model judges have graded: {', '.join(known)}", remedy="choose one with --judge")
    return None if judge is None and not known else find_judge(known, judge or known[0])


def _find_model(project: JudgingProject, judge: str | None) -> tuple[str | None, bool, str]:
    """Return the model judge, whether it agrees with people better than by chance, and why."""
    name = choose_judge(project, judge)
    if name is None:
        return None, False, ""
    quality = judge_quality(project, name)
    return name, quality.usable, quality.reason


class _Builder:
    """Collects the estimates of each metric."""

    def __init__(self, judged: Judged, target: Target, level: float, corrects: bool) -> None:
        self.judged, self.level, self.corrects = judged, level, corrects
        self.beyond = target == "queries"
        self.names = list(judged.rankings)
        self.pairs = list(combinations(range(len(self.names)), 2))
        self.systems: list[SystemEstimate] = []
        self.differences: list[DifferenceEstimate] = []
        self.ratios: list[float] = []

    @property
    def believe(self) -> Believe:
        """The estimates to believe: the corrected ones if any of them uses the grades of the judge."""
        weights = [*(entry.weight for entry in self.systems), *(entry.weight for entry in self.differences)]
        return "corrected" if any(weights) else "human"

    def add(self, metric: str, human: Floats, model: Floats | None) -> None:
        """Add the estimates of a metric from its values, (judged queries, systems) and (all queries, systems)."""
        alone, corrected = self._estimate(human, model, signed=False)
        bias = None
        if model is not None:
            bias, _ = self._estimate(model[self.judged.positions] - human, None, signed=True)
        for at, system in enumerate(self.names):
            self.systems.append(
                SystemEstimate(
                    metric=metric,
                    system=system,
                    human=_bounded(alone, at, 0.0),
                    model=None if model is None else float(model[:, at].mean()),
                    corrected=None if corrected is None else _bounded(corrected, at, 0.0),
                    weight=None if corrected is None else float(corrected.weight[at]),
                    bias=None if bias is None else _bounded(bias, at, -1.0),
                )
            )
        first, second = (np.array(column) for column in zip(*self.pairs, strict=True))
        differences = None if model is None else model[:, first] - model[:, second]
        alone, corrected = self._estimate(human[:, first] - human[:, second], differences, signed=True)
        believed = alone if corrected is None else corrected
        adjusted = stats.holm(believed.p)
        if corrected is not None and (width := float(np.sum(alone.high - alone.low))):
            self.ratios.append(float(np.sum(corrected.high - corrected.low)) / width)
        for at, (a, b) in enumerate(self.pairs):
            verdict: Verdict = "cannot_tell"
            if adjusted[at] <= 1 - self.level:
                verdict = "higher" if believed.value[at] > 0 else "lower"
            self.differences.append(
                DifferenceEstimate(
                    metric=metric,
                    system=self.names[a],
                    other=self.names[b],
                    human=_bounded(alone, at, -1.0),
                    model=None if differences is None else float(differences[:, at].mean()),
                    corrected=None if corrected is None else _bounded(corrected, at, -1.0),
                    weight=None if corrected is None else float(corrected.weight[at]),
                    p=float(adjusted[at]),
                    verdict=verdict,
                )
            )

    def _estimate(
        self, sample: Floats, everything: Floats | None, *, signed: bool
    ) -> tuple[MeanEstimates, MeanEstimates | None]:
        alone = self.judged.estimate(sample, level=self.level, signed=signed, beyond=self.beyond)
        if everything is None or not self.corrects:
            return alone, None
        corrected = self.judged.estimate(sample, everything, level=self.level, signed=signed, beyond=self.beyond)
        return alone, corrected


def _bounded(estimates: MeanEstimates, at: int, least: float) -> JudgedEstimate:
    """Return one estimate, with its limits inside the range of the metric."""
    low, high = max(least, float(estimates.low[at])), min(1.0, float(estimates.high[at]))
    return JudgedEstimate(float(estimates.value[at]), low, high)


def _outside(judged: Judged, metrics: Sequence[Metric], others: Mapping[str, Run]) -> Iterable[OutsideSystem]:
    project = judged.project
    queries = [unit.query for unit in judged.units]
    for name, run in others.items():
        if name in project.systems:
            raise InputError(f"{shorten(name)} is a system of the pool", remedy="give the run another name")
        answered = set(run)
        top = {query: _top(run[query], project.pool.depth) for query in project.queries if query in answered}
        if not top:
            raise InputError(
                "the run answers none of the queries of the project", where=name, remedy="check the ids of the queries"
            )
        missing = {
            query: [item for item in items if (query, item) not in project.pairs] for query, items in top.items()
        }
        share = sum(map(len, missing.values())) / max(1, sum(map(len, top.values())))
        best = {(query, item): project.scale.best for query in queries for item in missing.get(query, ())}
        bounds = [
            score_systems(project.pool, {**judged.human, **extra}, {name: run}, metrics, queries)
            for extra in ({}, best)
        ]
        for metric in map(str, metrics):
            low, high = (float(judged.estimate(values[metric]).value[0]) for values in bounds)
            yield OutsideSystem(metric, name, share, low, high)


def _top(ranking: Mapping[str, float], depth: int) -> list[str]:
    from goldrank.encoders.rankings import top_items

    return list(top_items(ranking, depth))


def _sentences(build: _Builder, judged: Judged, judge: str | None, reason: str, believe: Believe) -> Iterable[str]:
    sample = f"{len(judged.units)} of {counts(len(judged.queries), 'query', 'queries')}, drawn at random"
    if judged.strata is not None:
        sample += f" from each of {len(judged.strata.slices)} strata of {judged.strata.attribute}"
    if believe == "corrected":
        narrower = 1 - float(np.mean(build.ratios or [1.0]))
        yield (
            f"Believe the corrected estimates: people judged {sample}, {judge} graded all of them, and the error that "
            f"it made on the judged ones is subtracted. Intervals of differences are {narrower:.0%} narrower than from "
            "human labels alone."
        )
    else:
        yield f"Believe the human estimates: people judged {sample}."
        if judge is not None:
            use = reason if not build.corrects else "Its grades do not predict the human values of these metrics."
            yield f"{judge} is not used for correction. {use}"
    if judged.project.plan.in_rounds:
        yield (
            "The labels that `goldrank judge next` asked for are left out, because they are no random sample of "
            "queries. It uses all labels to say which system is best."
        )
    if len(judged.units) < FEW:
        yield (
            f"Fewer than {FEW} queries are judged: the intervals are wide, and their coverage was checked from {FEW} "
            "queries on."
        )
    if judge is not None and build.systems:
        shown = [entry for entry in build.systems if entry.bias and not entry.bias.low <= 0 <= entry.bias.high]
        if shown:
            worst = max(shown, key=lambda entry: abs(entry.bias.value) if entry.bias else 0.0)
            assert worst.bias is not None
            yield (
                f"Do not believe the model-only values: {judge} scores {worst.system} {abs(worst.bias.value):.3f} too "
                f"{'high' if worst.bias.value > 0 else 'low'} in {worst.metric} "
                f"[{worst.bias.low:+.3f}, {worst.bias.high:+.3f}]."
            )
        else:
            yield "Do not rely on the model-only values: no bias is shown in the sample, but they have no intervals."
    for metric in dict.fromkeys(entry.metric for entry in build.systems):
        yield _lead(build, metric, believe)


def _lead(build: _Builder, metric: str, believe: Believe) -> str:
    rows = [entry for entry in build.systems if entry.metric == metric]
    best = max(rows, key=lambda entry: entry.believed(believe).value).system
    open_ = []
    for entry in build.differences:
        if entry.metric == metric and best in (entry.system, entry.other):
            won: Verdict = "higher" if entry.system == best else "lower"
            if entry.verdict != won:
                open_.append(entry.other if entry.system == best else entry.system)
    if not open_:
        return f"{metric}: {best} is significantly higher than every other system."
    return f"{metric}: {best} has the highest estimate; not significantly higher than {', '.join(open_)}."
