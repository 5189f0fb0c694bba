"""Agreement of judges: of people among themselves, and of model judges with people, by grade, and their biases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from goldrank.errors import counts
from goldrank.io.files import PathLike
from goldrank.judging.judges import find_judge
from goldrank.judging.labels import GradeScale, Label, combine
from goldrank.judging.project import JudgingProject
from goldrank.presentation import Result
from goldrank.stats.agreement import (
    ALPHA_LEVELS,
    KAPPA_WEIGHTS,
    Agreement,
    cohen_kappa,
    jackknife_interval,
    krippendorff_alpha,
)
from goldrank.stats.intervals import Interval, Sample, aggregate, intervals, wilson
from goldrank.stats.resampling import Floats

Pair = tuple[str, str]


@dataclass(frozen=True)
class Share:
    """The share of the pairs of one human grade to which a model judge gives a grade."""

    human: int
    model: int
    number: int
    share: float | None
    """Of the pairs with this human grade; None if there are none."""
    interval: Interval | None


@dataclass(frozen=True)
class Bias:
    """The dependence of the error of a model judge, its grade less the human one, on something else than relevance.

    Pairs with the same human grade are compared, because every judge that errs at all gives low grades too high and
    high ones too low.
    """

    name: str
    """``length``, ``position`` or ``system:NAME``."""
    unit: str
    """What the value is per."""
    value: float | None
    interval: Interval | None
    reason: str = ""
    """Why there is no value or no interval."""

    @property
    def is_shown(self) -> bool:
        """Whether the interval excludes 0."""
        return self.interval is not None and not self.interval.low <= 0 <= self.interval.high


@dataclass(frozen=True)
class JudgeQuality:
    """The agreement of a model judge with people."""

    judge: str
    pairs: int
    """The pairs with a human label and a grade of the judge."""
    queries: int
    unparsed: int
    """The pairs with a human label for which the judge has an answer that is not a grade; they are left out."""
    kappas: dict[str, Agreement]
    """Cohen's kappa by its weights: plain, linear and quadratic."""
    error: float | None
    """The mean of the judge's grade less the human one: above 0 if the judge is lenient."""
    error_interval: Interval | None
    confusion: tuple[Share, ...]
    """For each human grade, how often the judge gives each grade."""
    biases: tuple[Bias, ...]
    usable: bool
    """Whether estimates may be corrected with this judge: whether it is shown to agree better than by chance."""
    reason: str
    """Why it is usable or not, in a sentence."""


@dataclass(frozen=True)
class HumanAgreement:
    """The agreement of people among themselves."""

    judges: dict[str, int]
    """How many pairs each judge has graded."""
    doubly: int
    """The pairs that at least two judges have graded."""
    alphas: dict[str, Agreement]
    """Krippendorff's alpha by level of measurement: nominal, ordinal and interval."""
    kappas: dict[tuple[str, str], Agreement]
    """Quadratic kappa of each two judges who have graded the same pairs."""


@dataclass(frozen=True, repr=False)
class AgreementReport(Result):
    """The agreement of people, and of model judges with them."""

    scale: GradeScale
    humans: HumanAgreement
    models: tuple[JudgeQuality, ...]
    notes: tuple[str, ...] = ()


def agreement(folder: PathLike | JudgingProject, judge: str | None = None, *, level: float = 0.95) -> AgreementReport:
    """Return how well the people of a project agree among themselves, and the model judges with them.

    Args:
        folder: The folder of the project.
        judge: The model judge; all that have graded something if it is not given.
        level: The confidence level of the intervals.

    >>> import tempfile
    >>> from goldrank.judging import start
    >>> project = start("questions", None, ["bm25", "random:8"], depth=2, limit=10, folder=tempfile.mkdtemp())
    >>> for unit in project.plan.units:
    ...     for at, item in enumerate(unit.items):
    ...         for person in ("ann", "bob"):
    ...             _ = project.add_label(unit.query, item, at, person)
    >>> agreement(project).humans.alphas["ordinal"].value
    1.0
    """
    project = folder if isinstance(folder, JudgingProject) else JudgingProject.open(folder)
    labels = project.labels("human", "imported")
    known = project.model_judges()
    names = known if judge is None else [find_judge(known, judge)]
    notes = []
    if weak := len(project.labels("weak")):
        notes.append(f"Left out, because clicks are no human judgments: {counts(weak, 'weak label')}.")
    if names and project.plan.in_rounds:
        notes.append(
            "Labels that `goldrank judge next` asked for are not compared with model judges: it asks for the items on "
            "which these are most likely wrong."
        )
    return AgreementReport(
        project.scale,
        human_agreement(labels, level=level),
        tuple(judge_quality(project, name, level=level) for name in names),
        tuple(notes),
    )


def human_agreement(labels: Iterable[Label], *, level: float = 0.95) -> HumanAgreement:
    """Return how well the judges of these labels agree; labels without a grade count as not given."""
    grades: dict[str, dict[Pair, int]] = {}
    for label in labels:
        if label.grade is not None:
            grades.setdefault(label.judge, {})[label.pair] = label.grade
    pairs = sorted({pair for given in grades.values() for pair in given})
    table = np.array([[given.get(pair, math.nan) for given in grades.values()] for pair in pairs], float)
    table = table.reshape(len(pairs), len(grades))
    queries = [query for query, _ in pairs]
    kappas = {}
    for (at, first), (other, second) in combinations(enumerate(grades), 2):
        result = cohen_kappa(table[:, at], table[:, other], weights="quadratic", queries=queries, level=level)
        if result.units:
            kappas[first, second] = result
    return HumanAgreement(
        {judge: len(given) for judge, given in grades.items()},
        int(((~np.isnan(table)).sum(axis=1) >= 2).sum()),
        {name: krippendorff_alpha(table, measurement=name, queries=queries, level=level) for name in ALPHA_LEVELS},
        kappas,
    )


def judge_quality(project: JudgingProject, judge: str, *, level: float = 0.95) -> JudgeQuality:
    """Return how well a model judge agrees with the human labels of a project, and whether it may correct estimates.

    Labels that `goldrank judge next` asked for are left out: it asks for the items on which the judge is most likely
    wrong.

    Args:
        project: The project.
        judge: The model judge; options and versions may be left out.
        level: The confidence level of the intervals, and of the test whether it agrees better than by chance.

    >>> import tempfile
    >>> from goldrank.judging import start
    >>> project = start("questions", None, ["bm25", "random:8"], depth=2, limit=10, folder=tempfile.mkdtemp())
    >>> _ = project.add_label(project.queries[0], project.pool.ids(project.queries[0])[0], 3, "ann")
    >>> from goldrank.judging import grade
    >>> _ = grade(project, "overlap(thresholds=0.05/0.1/0.2)")
    >>> judge_quality(project, "overlap").usable  # a single label shows nothing
    False
    """
    name = find_judge(project.model_judges(), judge)
    in_rounds = {(unit.query, item) for unit in project.plan.units if unit.round for item in unit.items}
    human = combine(label for label in project.labels("human", "imported") if label.pair not in in_rounds)
    model = {entry.pair: entry.grade for entry in project.model_grades(name) if entry.pair in human}
    judged = {item for (_, item), grade in model.items() if grade is not None}
    return quality_of(
        name,
        human,
        model,
        best=project.scale.best,
        lengths={item: len(" ".join(project.item_text(item)).split()) for item in judged},
        ranks={(query, entry.item): entry.ranks for query, pooled in project.pool.items.items() for entry in pooled},
        systems=project.systems,
        level=level,
    )


def quality_of(
    judge: str,
    human: Mapping[Pair, int],
    model: Mapping[Pair, int | None],
    *,
    best: int,
    lengths: Mapping[str, int] | None = None,
    ranks: Mapping[Pair, Mapping[str, int]] | None = None,
    systems: Sequence[str] = (),
    level: float = 0.95,
) -> JudgeQuality:
    """Return how well the grades of a model agree with human grades.

    Args:
        judge: The name of the judge.
        human: The human grade of each pair of query and item.
        model: The grade of the judge for each pair; None if its answer is not a grade.
        best: The highest grade.
        lengths: The words of each item, to measure the bias for long texts.
        ranks: The ranks of each pair in the systems, to measure the biases for positions and systems.
        systems: The systems.
        level: The confidence level.

    >>> human = {(f"q{n // 4}", f"d{n}"): n % 4 for n in range(40)}
    >>> quality = quality_of("copy", human, human, best=3)
    >>> quality.usable, quality.kappas["plain"].value
    (True, 1.0)
    """
    pairs = [pair for pair in human if model.get(pair) is not None]
    unparsed = sum(pair in model and model[pair] is None for pair in human)
    numbered = {query: number for number, query in enumerate(dict.fromkeys(query for query, _ in pairs))}
    data = _Graded(
        np.array([numbered[query] for query, _ in pairs], np.int64),
        np.array([human[pair] for pair in pairs], float),
        np.array([model[pair] for pair in pairs], float),
        len(numbered),
        level,
    )
    queries = [query for query, _ in pairs]
    kappas: dict[str, Agreement] = {
        weights: cohen_kappa(data.human, data.model, weights=weights, queries=queries, level=level)
        for weights in KAPPA_WEIGHTS
    }
    [(error, error_interval)] = data.means([data.model - data.human], [np.ones(len(pairs))])
    usable, reason = _verdict(kappas["quadratic"], len(numbered), level)
    return JudgeQuality(
        judge,
        len(pairs),
        len(numbered),
        unparsed,
        kappas,
        error,
        error_interval,
        tuple(_confusion(data, best)),
        tuple(_biases(data, pairs, lengths, ranks or {}, systems)),
        usable,
        reason,
    )


@dataclass(frozen=True, eq=False)
class _Graded:
    """The pairs that people and the judge have graded."""

    query: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    human: Floats
    model: Floats
    queries: int
    level: float

    def sums(self, values: Floats) -> Floats:
        """Return the sum of the values of each query."""
        result: Floats = np.bincount(self.query, values, self.queries).astype(np.float64)
        return result

    def means(self, columns: Sequence[Floats], weights: Sequence[Floats]) -> list[tuple[float | None, Interval | None]]:
        """Return Σwv / Σw over all pairs for each column, with an interval over queries."""
        samples = []
        for values, given in zip(columns, weights, strict=True):
            weight, total = self.sums(given), self.sums(given * values)
            samples.append(Sample(np.divide(total, weight, out=np.zeros(self.queries), where=weight > 0), weight))
        computed = intervals(samples, resamples=2000, level=self.level)
        return [
            (aggregate(sample.values, sample.weights), interval)
            if self.queries and sample.weights.any()
            else (None, None)
            for sample, interval in zip(samples, computed, strict=True)
            if sample.weights is not None
        ]


def _verdict(kappa: Agreement, queries: int, level: float) -> tuple[bool, str]:
    """Return whether a judge is better than chance, and why.

    Quadratic kappa is above 0 exactly if the grades are positively correlated with the human ones, which is what a
    correction needs.
    """
    if kappa.value is None or kappa.interval is None:
        missing = kappa.reason if queries != 1 else "only one query has human labels"
        return False, f"It cannot be shown to agree with people better than by chance: {missing}."
    text = f"quadratic kappa is {kappa.value:.2f}, and its {level:.0%} interval "
    if kappa.interval.low > 0:
        return True, f"It agrees with people better than by chance: {text}is above 0."
    return False, f"It is not shown to agree with people better than by chance: {text}reaches 0 or less."


def _confusion(data: _Graded, best: int) -> Iterable[Share]:
    cells = [(human, model) for human in range(best + 1) for model in range(best + 1)]
    columns = [(data.model == model).astype(float) for _, model in cells]
    weights = [(data.human == human).astype(float) for human, _ in cells]
    means = data.means(columns, weights)
    for (human, model), (share, interval), given in zip(cells, means, weights, strict=True):
        number, of_grade = int(given[data.model == model].sum()), int(given.sum())
        if share is not None and number in (0, of_grade):
            # The same in each query, so that resampling queries shows no variation.
            yield Share(human, model, number, share, wilson(number, of_grade, data.level))
        else:
            yield Share(human, model, number, share, interval)


def _biases(
    data: _Graded,
    pairs: Sequence[Pair],
    lengths: Mapping[str, int] | None,
    ranks: Mapping[Pair, Mapping[str, int]],
    systems: Sequence[str],
) -> Iterable[Bias]:
    if lengths is not None:
        words = np.array([max(1, lengths.get(item, 0)) for _, item in pairs], float)
        yield _bias("length", "each doubling of the words", data, np.log2(words))
    if any(ranks.get(pair) for pair in pairs):
        best_ranks = np.array([min(ranks.get(pair, {}).values(), default=1) for pair in pairs], float)
        yield _bias("position", "each doubling of the best rank", data, np.log2(best_ranks))
    for system in systems:
        retrieved = np.array([system in ranks.get(pair, {}) for pair in pairs], float)
        yield _bias(f"system:{system}", "items that the system retrieved, against others", data, retrieved)


def _bias(name: str, unit: str, data: _Graded, x: Floats) -> Bias:
    """Return the slope of the judge's error on *x* among pairs with the same human grade, with an interval."""
    slope = _slopes(data, x)
    if data.queries < 2:
        return Bias(name, unit, None, None, "fewer than two queries have human labels")
    value = float(slope(np.zeros((1, data.queries)))[0])
    if math.isnan(value):
        return Bias(name, unit, None, None, "pairs with the same human grade do not differ in it")
    interval = jackknife_interval(value, slope(np.eye(data.queries)), data.level)
    return Bias(name, unit, value, interval, "" if interval else "without one of the queries it is undefined")


def _slopes(data: _Graded, x: Floats) -> Callable[[Floats], Floats]:
    """Return a function from rows of omitted queries, 1 for omitted, to the least-squares slope within human grades."""
    x = x - x.mean() if len(x) else x
    error = data.model - data.human
    grades = np.unique(data.human)
    within = [[data.sums(values * (data.human == grade)) for grade in grades] for values in (np.ones(len(x)), x, error)]
    squares, products = data.sums(x * x), data.sums(x * error)

    def slope(omitted: Floats) -> Floats:
        left = 1 - omitted
        number, sum_x, sum_error = (np.stack([left @ column for column in columns], axis=1) for columns in within)
        share = np.divide(sum_x, number, out=np.zeros_like(sum_x), where=number > 0)
        spread = left @ squares - (share * sum_x).sum(axis=1)
        covariance = left @ products - (share * sum_error).sum(axis=1)
        enough = spread > 1e-9 * max(1.0, float(squares.sum()))
        result: Floats = np.divide(covariance, spread, out=np.full(len(left), math.nan), where=enough)
        return result

    return slope
