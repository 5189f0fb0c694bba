"""Decide which system is best from the labels so far, and draw the queries that are judged next."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError, counts
from goldrank.hits import Floats
from goldrank.io.files import PathLike
from goldrank.judging.deciding_items import DecidingItems
from goldrank.judging.estimates import METRICS, check_metrics, find_model, read_judged, score_systems
from goldrank.judging.plans import Unit, shuffled
from goldrank.judging.project import JudgingProject, open_project
from goldrank.metrics import Metric
from goldrank.presentation import Result
from goldrank.stats.weighted_draws import Draws, bet_on_draws, sequential_intervals

QUERIES = 10
"""The queries that are drawn at once."""
MARGIN = 0.01
"""Systems that differ by no more are as good as equal, unless another margin is given."""
_CONTINUATIONS, _HOPELESS = 40, 0.05
"""So many continuations are tried; if a smaller share of them than this decides, the rest cannot decide."""

Decision = Literal["winner", "equal", "cannot_decide", "judge_planned", "continue"]


@dataclass(frozen=True)
class LeadingDifference:
    """The leading system against one that it has not beaten, or that it beat in the end."""

    system: str
    other: str
    value: float
    low: float
    """Of an interval that is valid at every look; not corrected for the number of systems."""
    high: float


@dataclass(frozen=True, repr=False)
class NextLabels(Result):
    """What the labels decide so far, and what is judged next."""

    folder: str
    metric: str
    judge: str | None
    alpha: float
    margin: float
    decision: Decision
    leader: str
    remaining: tuple[str, ...]
    """The systems that may still be the best, the leader first."""
    dropped: tuple[str, ...]
    """The systems that are significantly worse than another one."""
    queries: int
    judged: int
    """The judged queries that count for this metric."""
    differences: tuple[LeadingDifference, ...]
    added: tuple[Unit, ...]
    """The units that were added to the plan."""
    sentences: tuple[str, ...]

    @property
    def added_labels(self) -> int:
        """The labels that the added units ask for."""
        return sum(len(unit.items) for unit in self.added)


@dataclass(frozen=True, eq=False)
class Race:
    """The differences of all ordered pairs of systems on the queries drawn so far.

    Attributes:
        draws: One stream for each pair (a, b), the values of a less those of b.
        pairs: The positions of the systems of each stream.
        margin: Of practical equality.
        alpha: The probability of naming a wrong winner.
    """

    draws: Draws
    pairs: NDArray[np.int64]
    margin: float
    alpha: float

    def decide(self) -> RaceResult:
        """Return which systems may still be the best.

        A wrong winner is named only if one of the true statements "b is not better than the best system" is rejected
        for some b. There is one for each other system, so that each test is at alpha / (systems − 1) (Bonferroni).
        """
        systems = int(self.pairs.max()) + 1
        level = self.alpha / (systems - 1)
        means = np.array([[0.0], [-self.margin]])
        result = bet_on_draws(self.draws, means, level)
        better, no_worse = result.log_capital >= math.log(1 / level)
        lost = {int(b) for b in self.pairs[better, 1]}
        alive = [at for at in range(systems) if at not in lost]
        if not alive:  # contradictory rejections, which have a probability of at most alpha
            alive = list(range(systems))
        lead = _leader(alive, self.pairs, result.value)
        equal = all(no_worse[at] or better[at] for at, (a, b) in enumerate(self.pairs) if a == lead and b in alive)
        return RaceResult(alive, lead, equal, result.value)

    def has_gaps(self, systems: Collection[int]) -> bool:
        """Return whether some difference of these systems is not known on a query that was drawn."""
        streams = [at for at, (a, b) in enumerate(self.pairs.tolist()) if a in systems and b in systems]
        return bool(np.isnan(self.draws.values[:, streams]).any())


@dataclass(frozen=True, eq=False)
class RaceResult:
    """The systems that may still be the best, the leader among them, and the estimated differences."""

    alive: list[int]
    leader: int
    equal: bool
    """Whether the leader is shown to be at most the margin below every other one."""
    values: Floats


def _leader(alive: list[int], pairs: NDArray[np.int64], values: Floats) -> int:
    """Return the system with the largest mean difference to the others that are left."""
    gains = dict.fromkeys(alive, 0.0)
    for (a, b), value in zip(pairs.tolist(), values.tolist(), strict=True):
        if a in gains and b in gains:
            gains[a] += 0.0 if math.isnan(value) else value
    return max(alive, key=lambda at: gains[at])


def plan_next(
    folder: PathLike | JudgingProject,
    metric: str | Metric = METRICS[0],
    *,
    judge: str | None = None,
    queries: int = QUERIES,
    budget: int | None = None,
    margin: float = MARGIN,
    alpha: float = 0.05,
    dry_run: bool = False,
) -> NextLabels:
    """Say whether the best system is decided, and if it is not, add queries to the plan that can decide it.

    Queries are drawn at random, without replacement, and only items are asked for that matter to the systems that may
    still be the best. The tests stay valid however often this is called.

    Args:
        folder: The folder of the project, or the project.
        metric: The metric that decides.
        judge: The model judge that predicts; the only one that has graded something by default.
        queries: How many queries are added at once.
        budget: How many more labels there can be; None for the whole pool.
        margin: Systems that differ by no more than this are as good as equal.
        alpha: The probability of naming a wrong winner.
        dry_run: Decide only, and leave the plan as it is.

    Raises:
        InputError: The labels are no random sample, or the pool depends on the labels.

    >>> import tempfile
    >>> from goldrank.judging import start
    >>> systems = ["bm25", "random:8"]
    >>> project = start("questions", None, systems, depth=2, limit=10, budget=12, folder=tempfile.mkdtemp())
    >>> for unit in project.plan.units:
    ...     for item in unit.items:
    ...         _ = project.add_label(unit.query, item, 3, "ann")
    >>> result = plan_next(project, "precision@2", queries=2)
    >>> result.decision, len(result.added)
    ('continue', 2)
    """
    project = folder if isinstance(folder, JudgingProject) else open_project(folder)
    [chosen] = check_metrics([metric], ())
    _check(project, queries, budget, margin, alpha)
    judged = read_judged(project)
    name, usable, reason = find_model(project, judge)
    prediction = None
    if name is not None and usable:
        grades = {entry.pair: entry.grade for entry in project.model_grades(name) if entry.grade is not None}
        prediction = score_systems(project.pool, grades, judged.rankings, [chosen], judged.queries)[str(chosen)]
    complete = project.complete_units()
    items = DecidingItems(chosen, project.pool, judged.rankings)
    scores = score_systems(project.pool, judged.human, judged.rankings, [chosen], [unit.query for unit in complete])[
        str(chosen)
    ]
    race = make_race(complete, scores, items, prediction, margin=margin, alpha=alpha)
    result = race.decide()
    added: list[Unit] = []
    used = len(race.draws.drawn)
    if len(result.alive) == 1:
        decision: Decision = "winner"
    elif result.equal:
        decision = "equal"
    elif used == len(judged.queries):
        # Queries that were drawn for another metric lack items that this one needs.
        decision = "cannot_decide" if race.has_gaps(result.alive) else "equal"
    elif len(project.plan.units) > len(complete):
        decision = "judge_planned"
    else:
        decision, added = _draw(project, race, result, items, queries, budget)
    if added and not dry_run:
        project.extend(added, design="active")
    systems = list(judged.rankings)
    return NextLabels(
        folder=str(project.folder),
        metric=str(chosen),
        judge=name if usable else None,
        alpha=alpha,
        margin=margin,
        decision=decision,
        leader=systems[result.leader],
        remaining=tuple(sorted((systems[at] for at in result.alive), key=lambda each: each != systems[result.leader])),
        dropped=tuple(each for at, each in enumerate(systems) if at not in result.alive),
        queries=len(judged.queries),
        judged=used,
        differences=tuple(_differences(race, result, systems)),
        added=tuple(added),
        sentences=tuple(_sentences(project, decision, result, systems, items, added, name, usable, reason, race)),
    )


def _check(project: JudgingProject, queries: int, budget: int | None, margin: float, alpha: float) -> None:
    if queries < 1 or (budget is not None and budget < 0):
        raise InputError("the number of queries or labels is too small", remedy="give at least one query")
    if not 0 <= margin < 1 or not 0 < alpha < 1:
        raise InputError(
            f"the margin {margin:g} or alpha {alpha:g} is not between 0 and 1", remedy="give 0.01 and 0.05"
        )
    if project.pool.size is not None or project.plan.design == "items":
        what = "a pool that depends on the labels" if project.pool.size is not None else "a plan that samples items"
        raise InputError(
            f"{what} cannot be extended by `goldrank judge next`",
            where=str(project.folder),
            remedy="start a project with --pooling depth --sample queries",
        )


def make_race(
    units: Sequence[Unit],
    scores: Floats,
    items: DecidingItems,
    prediction: Floats | None = None,
    *,
    margin: float = MARGIN,
    alpha: float = 0.05,
) -> Race:
    """Return the race of all systems after some units were judged.

    Args:
        units: The judged units in the order in which they were drawn.
        scores: (units, systems) values of the metric from the labels of these units.
        items: The items that decide the metric.
        prediction: (queries, systems) values of all queries by a model judge.
        margin: Of practical equality.
        alpha: The probability of naming a wrong winner.
    """
    queries, pairs = items.queries, items.pairs
    position = {query: at for at, query in enumerate(queries)}
    first, second = pairs.T
    values = scores[:, first] - scores[:, second]
    for row, unit in enumerate(units):
        asked = set(unit.items)
        for column, pair in enumerate(pairs.tolist()):
            if not asked.issuperset(items.of(unit.query, pair)):
                values[row, column] = math.nan
    probability = np.array([unit.probability for unit in units])
    predicted = np.zeros((len(queries), len(pairs)))
    if prediction is not None:
        predicted = prediction[:, first] - prediction[:, second]
    draws = Draws(
        values,
        np.array([position[unit.query] for unit in units], np.int64),
        probability,
        probability,  # uniform over the queries left
        predicted,
        items.bounds,
    )
    return Race(draws, pairs, margin, alpha)


def _draw(
    project: JudgingProject, race: Race, result: RaceResult, items: DecidingItems, queries: int, budget: int | None
) -> tuple[Decision, list[Unit]]:
    """Return the units of the next draws; none if the rest cannot decide."""
    names, plan = project.queries, project.plan
    drawn = set(race.draws.drawn.tolist())
    left = [at for at in range(len(names)) if at not in drawn]
    sizes = [len(items.of(names[at], result.alive)) for at in left]
    affordable = len(left)
    if budget is not None and budget < sum(sizes):
        affordable = int(len(left) * budget / sum(sizes))
        if _share_deciding(race, result, left, affordable, plan.seed) < _HOPELESS:
            return "cannot_decide", []
    rng = np.random.default_rng([plan.seed, 2, len(plan.units)])
    units: list[Unit] = []
    for number in rng.permutation(left)[: max(affordable, 1)].tolist():
        # Where the systems that are left cannot differ nothing is asked, and their differences are known to be 0.
        asked = shuffled(items.of(names[number], result.alive), plan.seed, number)
        chance, position = 1 / (len(left) - len(units)), len(plan.units) + len(units)
        units.append(Unit(position, names[number], asked, chance, (1.0,) * len(asked)))
        if sum(bool(unit.items) for unit in units) == queries:
            break
    return "continue", units


def _share_deciding(race: Race, result: RaceResult, left: Sequence[int], count: int, seed: int) -> float:
    """Return in which share of continuations with *count* more queries the leader is decided against the next one.

    A continuation takes the predicted differences of the queries left, with errors like those of the judged queries.
    """
    rivals = [at for at, (a, b) in enumerate(race.pairs.tolist()) if a == result.leader and b in result.alive]
    rival = min(rivals, key=lambda at: math.inf if math.isnan(result.values[at]) else result.values[at])
    draws = race.draws
    usable = ~np.isnan(draws.values[:, rival])
    if not usable.any():
        return 1.0
    predicted, values = draws.predicted[:, rival], draws.values[usable, rival]
    drawn = draws.drawn[usable]
    spread = float((predicted[drawn] ** 2).sum())
    slope = float(np.clip((values * predicted[drawn]).sum() / spread, 0, 1)) if spread else 0.0
    errors = values - slope * predicted[drawn]
    rng = np.random.default_rng([seed, 3, len(draws.drawn)])
    rest = rng.permutation(np.array(left, np.int64))[:count]
    opposite = next(at for at, pair in enumerate(race.pairs.tolist()) if pair == race.pairs[rival][::-1].tolist())
    invented = slope * predicted[rest, None] + rng.choice(errors, (len(rest), _CONTINUATIONS))
    invented = np.clip(invented, -draws.bounds[rest, rival, None], draws.bounds[rest, opposite, None])
    both = []
    chance = 1 / (len(left) - np.arange(len(rest)))
    for stream, sign in ((rival, 1), (opposite, -1)):
        repeated = np.repeat(draws.values[:, [stream]], _CONTINUATIONS, axis=1)
        both.append(
            Draws(
                np.concatenate([repeated, sign * invented]),
                np.concatenate([draws.drawn, rest]),
                np.concatenate([draws.probability, chance]),
                np.concatenate([draws.floor, chance]),
                np.repeat(draws.predicted[:, [stream]], _CONTINUATIONS, axis=1),
                np.repeat(draws.bounds[:, [stream]], _CONTINUATIONS, axis=1),
            )
        )
    level = race.alpha / int(race.pairs.max())
    mean = np.array([[0.0], [-race.margin]])
    decided = [(bet_on_draws(part, mean, level).log_capital >= math.log(1 / level)).any(axis=0) for part in both]
    return float((decided[0] | decided[1]).mean())


def _differences(race: Race, result: RaceResult, systems: list[str]) -> Iterable[LeadingDifference]:
    order = [at for at, (a, b) in enumerate(race.pairs.tolist()) if a == result.leader]
    alive = [at for at in order if race.pairs[at, 1] in result.alive] or order
    streams = np.array(alive, np.int64)
    lookup = {(a, b): at for at, (a, b) in enumerate(race.pairs.tolist())}
    reverse = np.array([lookup[int(b), int(a)] for a, b in race.pairs[streams]], np.int64)
    limits = sequential_intervals(race.draws.select(streams), race.draws.select(reverse))
    for at, interval in zip(alive, limits, strict=True):
        a, b = race.pairs[at]
        yield LeadingDifference(systems[a], systems[b], float(result.values[at]), interval.low, interval.high)


def _sentences(
    project: JudgingProject,
    decision: Decision,
    result: RaceResult,
    systems: list[str],
    items: DecidingItems,
    added: list[Unit],
    judge: str | None,
    usable: bool,
    reason: str,
    race: Race,
) -> Iterable[str]:
    leader = systems[result.leader]
    others = ", ".join(systems[at] for at in result.alive if at != result.leader)
    left = len(project.queries) - len(race.draws.drawn)
    if decision == "winner":
        yield f"Stop: {leader} is the best system (a wrong one is named with probability at most {race.alpha:g})."
    elif decision == "equal" and left:
        yield f"Stop: {leader} is at most {race.margin:g} below any other system; {others} may be as good."
    elif decision == "equal":
        yield f"Stop: every query is judged, and {leader} and {others} differ by at most {race.margin:g}."
    elif decision == "cannot_decide" and not left:
        yield f"Stop: the labels cannot decide between {leader} and {others}: some were asked for another metric."
    elif decision == "cannot_decide":
        yield (
            f"Stop: the labels that are left cannot decide between {leader} and {others}. In fewer than "
            f"{_HOPELESS:.0%} of {_CONTINUATIONS} continuations like the labels so far they would."
        )
    elif decision == "judge_planned":
        open_units = len(project.plan.units) - len(project.complete_units())
        yield f"Not decided: judge the {counts(open_units, 'query', 'queries')} that are planned first."
    else:
        labels, asked = sum(len(unit.items) for unit in added), sum(bool(unit.items) for unit in added)
        yield (
            f"Not decided: next are {counts(labels, 'label')} of {counts(asked, 'query', 'queries')} that tell "
            f"{leader} and {others} apart."
        )
    if decision in ("judge_planned", "continue"):
        if items.needs_whole_pools and len(result.alive) < len(systems):
            yield "This metric is normalised by all relevant items, so that whole pools are judged."
        if judge is not None and not usable:
            yield f"{judge} is not used to predict. {reason}"
