"""Decide which system is best from the labels so far, and draw the items of the next round of labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from goldrank.errors import InputError, counts
from goldrank.hits import Floats, Ints
from goldrank.io.files import PathLike
from goldrank.judging.estimates import METRICS, check_metrics, check_systems, choose_judge
from goldrank.judging.labels import combine
from goldrank.judging.plans import Unit, shuffled
from goldrank.judging.pool_scores import PoolScores
from goldrank.judging.project import JudgingProject, open_project
from goldrank.judging.races import Race, RaceStanding
from goldrank.judging.relevance import RelevancePredictions
from goldrank.metrics import Metric
from goldrank.presentation import Result
from goldrank.progress import Progress

LABELS = 100
"""About how many labels a round asks for."""
MARGIN = 0.01
"""Systems that differ by no more are as good as equal, unless another margin is given."""
_CONTINUATIONS, _HOPELESS = 200, 0.05
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
    """The decision that the labels allow so far, and the units that are judged next."""

    folder: str
    metric: str
    judge: str | None
    """The model judge whose grades predict the labels."""
    alpha: float
    margin: float
    decision: Decision
    leader: str
    remaining: tuple[str, ...]
    """The systems that may still be the best, the leader first."""
    dropped: tuple[str, ...]
    """The systems that are significantly worse than another one."""
    pairs: int
    """The pooled pairs of a query and an item."""
    labels: int
    """The pairs with a label that is used."""
    rounds: int
    """The complete rounds of labels."""
    differences: tuple[LeadingDifference, ...]
    added: tuple[Unit, ...]
    """The units that were added to the plan."""
    sentences: tuple[str, ...]

    @property
    def added_labels(self) -> int:
        """The labels that the added units ask for."""
        return sum(len(unit.items) for unit in self.added)


def plan_next(
    folder: PathLike | JudgingProject,
    metric: str | Metric = METRICS[0],
    *,
    judge: str | None = None,
    labels: int = LABELS,
    budget: int | None = None,
    margin: float = MARGIN,
    alpha: float = 0.05,
    dry_run: bool = False,
) -> NextLabels:
    """Say whether the best system is decided, and if it is not, add a round of labels to the plan that can decide it.

    The items of a round are drawn at random; the more a label is expected to change the differences between the
    systems that may still be the best, the more likely. The decision stays valid however often this is called.

    Args:
        folder: The folder of the project, or the project.
        metric: The metric that decides.
        judge: The model judge whose grades predict the labels; the only one that has graded something by default. A
            bad one costs labels, but does not make a wrong decision more likely.
        labels: About how many labels the round asks for.
        budget: How many more labels there can be; None for the whole pool.
        margin: Systems that differ by no more than this are as good as equal.
        alpha: The probability of naming a wrong winner.
        dry_run: Decide only, and leave the plan as it is.

    Raises:
        InputError: The pool was made by one system, or depends on the labels.

    >>> import tempfile
    >>> from goldrank.judging import start
    >>> systems = ["bm25", "random:8"]
    >>> project = start("questions", None, systems, depth=2, sample="next", folder=tempfile.mkdtemp())
    >>> result = plan_next(project, "precision@2", labels=20)
    >>> result.decision, 10 < result.added_labels < 30
    ('continue', True)
    """
    project = folder if isinstance(folder, JudgingProject) else open_project(folder)
    [chosen] = check_metrics([metric], (), project.scale)
    _check(project, labels, budget, margin, alpha)
    name = choose_judge(project, judge)
    race = _replay(project, chosen, name, margin, alpha)
    standing, plan = race.standing(), project.plan
    complete = len(project.complete_units())
    added: list[Unit] = []
    if len(standing.remaining) == 1:
        decision: Decision = "winner"
    elif standing.is_equal:
        decision = "equal"
    elif len(plan.units) > complete:
        decision = "judge_planned"
    elif _is_hopeless(race, budget, plan.seed):
        decision = "cannot_decide"
    else:
        decision = "continue"
        rounds = _draw(project, race, labels if budget is None else min(labels, budget))
        added = list(_units(project, race, rounds))
        if not dry_run:
            project.extend(added, rounds={number: probability for number, (probability, _) in rounds.items()})
    systems = list(project.systems)
    return NextLabels(
        folder=str(project.folder),
        metric=str(chosen),
        judge=name,
        alpha=alpha,
        margin=margin,
        decision=decision,
        leader=systems[standing.leader],
        remaining=tuple(systems[at] for at in (standing.leader, *standing.rivals)),
        dropped=tuple(each for at, each in enumerate(systems) if at not in standing.remaining),
        pairs=len(race.labelled),
        labels=int(race.labelled.sum()),
        rounds=len(race.estimates),
        differences=tuple(_differences(race, standing, systems)),
        added=tuple(added),
        sentences=tuple(_sentences(race, decision, standing, systems, added, len(plan.units) - complete)),
    )


def _check(project: JudgingProject, labels: int, budget: int | None, margin: float, alpha: float) -> None:
    check_systems(project)
    if labels < 1 or (budget is not None and budget < 0):
        raise InputError("the number of labels is too small", remedy="ask for at least one label")
    if not 0 <= margin < 1 or not 0 < alpha < 1:
        raise InputError(
            f"the margin {margin:g} or alpha {alpha:g} is not between 0 and 1", remedy="give 0.01 and 0.05"
        )
    if project.pool.size is not None:
        raise InputError(
            "a pool that depends on the labels cannot be extended by `goldrank judge next`",
            where=str(project.folder),
            remedy="start a project with --pooling depth",
        )


def _replay(project: JudgingProject, metric: Metric, judge: str | None, margin: float, alpha: float) -> Race:
    """Return the race after the labels of the plan and of all complete rounds; pairs without a grade count as 0."""
    scores = PoolScores(metric, project.pool, project.rankings())
    number = {pair: at for at, pair in enumerate(scores.pairs)}
    by_model = {} if judge is None else {entry.pair: entry.grade for entry in project.model_grades(judge)}
    grades = np.array([by_model.get(pair) for pair in scores.pairs], np.float64)
    race = Race(scores, RelevancePredictions(project.pool, grades), margin=margin, alpha=alpha)
    human = combine(project.labels("human"))
    complete, units = project.complete_units(), project.plan.units

    def labels_of(round_number: int) -> tuple[Ints, Floats]:
        pairs = [(unit.query, item) for unit in complete if unit.round == round_number for item in unit.items]
        items = np.unique([number[pair] for pair in pairs]).astype(np.int64)
        return items, np.array([human.get(scores.pairs[at], 0) for at in items.tolist()], np.float64)

    race.learn(*labels_of(0))
    incomplete = {unit.round for unit in units[len(complete) :]}
    rounds = project.rounds()
    with Progress("adding the labels of rounds", total=len(rounds), unit="round") as progress:
        for round_number, probability in rounds.items():
            if incomplete.intersection(range(round_number + 1)):
                break
            race.add_round(probability, *labels_of(round_number))
            progress.advance()
    return race


def _is_hopeless(race: Race, budget: int | None, seed: int) -> bool:
    """Return whether the labels that can still be given would most likely not decide."""
    if budget is None or budget >= (~race.labelled).sum():
        return False
    rng = np.random.default_rng([seed, 3, len(race.estimates)])
    return budget == 0 or race.share_deciding(budget, _CONTINUATIONS, rng) < _HOPELESS


def _draw(project: JudgingProject, race: Race, labels: int) -> dict[int, tuple[Floats, Ints]]:
    """Return the probabilities and the items of the next round, after rounds that happen to ask for nothing."""
    rounds: dict[int, tuple[Floats, Ints]] = {}
    number = len(race.estimates)
    probability = race.probabilities(labels)
    while not rounds or not len(rounds[number][1]):
        number += 1
        rounds[number] = probability, race.draw(probability, np.random.default_rng([project.plan.seed, 2, number]))
    return rounds


def _units(project: JudgingProject, race: Race, rounds: dict[int, tuple[Floats, Ints]]) -> Iterable[Unit]:
    """Yield a unit for each query of which items were drawn, in random order."""
    plan = project.plan
    position = len(plan.units)
    for number, (probability, pairs) in rounds.items():
        by_query: dict[str, dict[str, float]] = {}
        for at in pairs.tolist():
            query, item = race.scores.pairs[at]
            by_query.setdefault(query, {})[item] = float(probability[at])
        for query in shuffled(list(by_query), plan.seed, number):
            items = shuffled(list(by_query[query]), plan.seed, position)
            yield Unit(position, query, items, 1.0, tuple(by_query[query][item] for item in items), round=number)
            position += 1


def _differences(race: Race, standing: RaceStanding, systems: Sequence[str]) -> Iterable[LeadingDifference]:
    low, high = race.intervals()
    leader = standing.leader
    for other in standing.rivals or [at for at in range(len(systems)) if at != leader]:
        limits = float(low[leader, other]), float(high[leader, other])
        yield LeadingDifference(systems[leader], systems[other], float(standing.differences[leader, other]), *limits)


def _sentences(
    race: Race, decision: Decision, standing: RaceStanding, systems: Sequence[str], added: Sequence[Unit], planned: int
) -> Iterable[str]:
    leader = systems[standing.leader]
    others = ", ".join(systems[at] for at in standing.rivals)
    if decision == "winner" and race.labelled.all():
        yield f"Stop: the whole pool is judged, and {leader} is the best system."
    elif decision == "winner":
        yield f"Stop: {leader} is the best system (a wrong one is named with probability at most {race.alpha:g})."
    elif decision == "equal" and race.labelled.all():
        yield f"Stop: the whole pool is judged, and {leader} and {others} are equal."
    elif decision == "equal":
        yield f"Stop: {leader} is at most {race.margin:g} below any other system; {others} may be as good."
    elif decision == "cannot_decide":
        yield (
            f"Stop: the labels that are left cannot decide between {leader} and {others}. In fewer than "
            f"{_HOPELESS:.0%} of {_CONTINUATIONS} continuations like the labels so far they would."
        )
    elif decision == "judge_planned":
        yield f"Not decided: judge {counts(planned, 'unit')} that {'is' if planned == 1 else 'are'} planned first."
    else:
        labels, queries = sum(len(unit.items) for unit in added), len({unit.query for unit in added})
        yield (
            f"Not decided: next are {counts(labels, 'label')} of {counts(queries, 'query', 'queries')} that tell "
            f"{leader} and {others} apart."
        )
