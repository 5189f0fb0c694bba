"""Report the progress of a judging project."""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from goldrank.errors import counts
from goldrank.judging.labels import SOURCES, Label
from goldrank.judging.plans import Plan, advise, unit_labels
from goldrank.judging.project import FOLDER, JudgingProject
from goldrank.presentation import Result


@dataclass(frozen=True)
class JudgeProgress:
    """The labels of one judge."""

    judge: str
    source: str
    labels: int
    unclear: int
    """How many of them say "cannot judge"."""
    seconds: float | None
    """The median time per label, if times are known."""


@dataclass(frozen=True)
class ModelJudgeProgress:
    """The grades of one model judge."""

    judge: str
    grades: int
    unparsed: int
    """How many answers held no grade."""


@dataclass(frozen=True)
class StratumProgress:
    """The progress of a stratum of queries."""

    stratum: str
    queries: int
    units: int
    """Planned units of the stratum."""
    complete: int
    """Of these, the complete ones, in the order of the plan without a gap."""
    missing: int
    """Labels of a first judge that are missing."""


@dataclass(frozen=True, repr=False)
class JudgingStatus(Result):
    """The progress of a judging project."""

    folder: str
    created: str
    systems: tuple[str, ...]
    pooling: str
    depth: int
    queries: int
    pairs: int
    """Pairs of a query and an item in the pool."""
    design: str
    allocation: str | None
    """How many queries are drawn from each stratum; None without strata."""
    strata: tuple[StratumProgress, ...]
    """The strata that queries are drawn from; none if they are drawn from all."""
    budget: int | None
    units: int
    """Units of the plan; a unit is the items of one query that are judged together."""
    rounds: int
    """The rounds of labels that `goldrank judge next` has asked for; a query may have a unit in each."""
    complete: int
    """Units that are completely labelled, in the order of the plan without a gap."""
    planned: int
    """Labels that the plan asks for."""
    missing: int
    """Labels of a first judge that are missing."""
    missing_second: int
    """Labels of a second judge that are missing."""
    labels: dict[str, int]
    """The number of labels by source."""
    judges: tuple[JudgeProgress, ...]
    model_judges: tuple[ModelJudgeProgress, ...]
    advice: tuple[str, ...]
    """What to know before more labels are spent."""

    @property
    def next_steps(self) -> dict[str, str]:
        """The commands that continue, each with its purpose."""
        steps = {}
        if self.missing:
            steps[command("serve", self.folder)] = f"judge: {counts(self.missing, 'label')} of a first judge missing"
        elif self.missing_second:
            missing = counts(self.missing_second, "label")
            steps[command("serve", self.folder)] = f"let a second judge label a part, to measure agreement: {missing}"
        if sum(judge.source == "human" for judge in self.judges) > 1:
            steps[command("agreement", self.folder)] = "show how far the judges agree"
        is_unplanned = self.design == "next"
        if len(self.systems) > 1 and (is_unplanned or self.complete > 1):
            if not self.model_judges:
                use = "which saves labels" if is_unplanned else "which narrows intervals if it agrees with people"
                grade = command("grade", self.folder, "--judge", "openai:MODEL@URL")
                steps[grade] = f"let a model grade the whole pool, {use}"
            if not is_unplanned:
                steps[command("leaderboard", self.folder)] = "show which system is best, with intervals"
            if not self.missing and self.pooling == "depth":
                steps[command("next", self.folder)] = "plan the labels that decide between the leading systems"
        if self.labels["human"]:
            steps[command("export", self.folder, "-o", "qrels.txt")] = "write the labels as qrels"
        return steps

    @property
    def seconds_left(self) -> float | None:
        """The time that the missing labels will take, at the median speed of all people; None if it is not known."""
        timed = [judge for judge in self.judges if judge.source == "human" and judge.seconds is not None]
        if not timed:
            return None
        speed = statistics.median(judge.seconds for judge in timed if judge.seconds is not None)
        return speed * (self.missing + self.missing_second)


def command(action: str, folder: str, *arguments: str) -> str:
    """Return a command of ``goldrank judge`` on a project, quoted for a shell.

    >>> command("serve", "my project", "--judge", "Ann"), command("status", "judging")
    ("goldrank judge serve 'my project' --judge Ann", 'goldrank judge status')
    """
    return shlex.join(["goldrank", "judge", action, *([] if folder == FOLDER else [folder]), *arguments])


def advice_of(project: JudgingProject) -> list[str]:
    """Return what the user should know about the plan of a project, one sentence each."""
    double = project.provenance.get("start", {}).get("double", 0.0)
    return advise(project.pool, project.plan, project.budget, double)


def status(project: JudgingProject) -> JudgingStatus:
    """Return how far a project is.

    >>> import tempfile
    >>> from goldrank.judging.starting import start
    >>> project = start("questions", models=["bm25", "tfidf"], depth=5, budget=300, folder=tempfile.mkdtemp())
    >>> status(project).missing == sum(len(unit.items) for unit in project.plan.units)
    True
    """
    pool, plan, labels = project.pool, project.plan, project.labels()
    judged: dict[tuple[str, str], int] = {}
    for label in labels:
        if label.source == "human":
            judged[label.pair] = judged.get(label.pair, 0) + 1
    missing_by_query: dict[str, int] = {}
    missing_second = 0
    for unit in plan.units:
        label_counts = [judged.get((unit.query, item), 0) for item in unit.items]
        later = unit_labels(unit, pool) // unit.judges - len(unit.items)
        missing = sum(not count for count in label_counts) + later
        missing_by_query[unit.query] = missing_by_query.get(unit.query, 0) + missing
        missing_second += sum(max(0, unit.judges - max(1, count)) for count in label_counts) + later * (unit.judges - 1)
    complete = project.complete_units()
    return JudgingStatus(
        folder=str(project.folder),
        created=project.created,
        systems=pool.systems,
        pooling=pool.method,
        depth=pool.depth,
        queries=len(pool.items),
        pairs=len(pool),
        design=plan.design,
        allocation=None if plan.strata is None else plan.strata.allocation,
        strata=tuple(_stratum_progress(plan, {unit.query for unit in complete}, missing_by_query)),
        budget=project.budget,
        units=len(plan.units),
        rounds=max((unit.round for unit in plan.units), default=0),
        complete=len(complete),
        planned=plan.labels(pool),
        missing=sum(missing_by_query.values()),
        missing_second=missing_second,
        labels={source: sum(label.source == source for label in labels) for source in SOURCES},
        judges=tuple(_progress(labels)),
        model_judges=tuple(_model_progress(project)),
        advice=tuple(advice_of(project)),
    )


def _stratum_progress(plan: Plan, complete: set[str], missing: Mapping[str, int]) -> Iterable[StratumProgress]:
    planned = {unit.query for unit in plan.units}
    for part in plan.strata.slices if plan.strata is not None else ():
        queries = planned.intersection(part.queries)
        labels = sum(missing[query] for query in queries)
        yield StratumProgress(str(part), len(part), len(queries), len(queries & complete), labels)


def _progress(labels: Iterable[Label]) -> Iterable[JudgeProgress]:
    by_judge: dict[tuple[str, str], list[Label]] = {}
    for label in labels:
        by_judge.setdefault((label.judge, label.source), []).append(label)
    for (judge, source), own in by_judge.items():
        times = [label.seconds for label in own if label.seconds is not None]
        unclear = sum(label.grade is None for label in own)
        yield JudgeProgress(judge, source, len(own), unclear, statistics.median(times) if times else None)


def _model_progress(project: JudgingProject) -> Iterable[ModelJudgeProgress]:
    for judge in project.model_judges():
        grades = project.model_grades(judge)
        yield ModelJudgeProgress(judge, len(grades), sum(grade.grade is None for grade in grades))
