"""RankingEvaluation: the rankings of one model on one task, with hits and scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from goldrank.errors import DataWarning
from goldrank.hits import Gold, Hits, Run
from goldrank.metrics import Conventions, Metric, Profile, find_profile, parse_all
from goldrank.presentation import Result
from goldrank.scoring import (
    Bootstrap,
    HitCounter,
    Metrics,
    Scores,
    add_confidence,
    conventions_of,
    resolve_conventions,
    score_hits,
)
from goldrank.store import RunRecord
from goldrank.tasks.ranking.data_quality import DataQuality

if TYPE_CHECKING:
    from goldrank.tasks.ranking.data import Corpus, RankingData
    from goldrank.tasks.ranking.models import Model
    from goldrank.tasks.ranking.task import RankingTask
    from goldrank.tasks.task import PartCost


class Removable(Protocol):
    """A checkpoint of an evaluation under way."""

    def remove(self) -> None:
        """Delete it."""


@dataclass(frozen=True)
class Ranked:
    """The rankings that a model computed for a task."""

    run: Run
    hits: Hits | None = None
    """Exact hits over all items, if the run holds only the top."""
    remarks: tuple[str, ...] = ()
    warnings: tuple[DataWarning, ...] = ()
    """What makes the scores of this model misleading, such as truncated texts."""
    checkpoints: tuple[Removable, ...] = ()
    """To be removed once the result is stored."""
    parts: tuple[PartCost, ...] = ()
    """Of a composed model."""


@dataclass(frozen=True, eq=False, repr=False)
class RankingEvaluation(Result):
    """One model on one ranking task.

    >>> import goldrank
    >>> result = goldrank.evaluate("bm25", "questions", limit=20)
    >>> result.scores["ndcg@10"].value > 0.3
    True
    """

    data: RankingData
    model: Model
    ranked: Ranked
    seconds: float
    """How long ranking took, as if no vectors had been cached."""

    @property
    def parts(self) -> tuple[PartCost, ...]:
        """What the parts of a composed model took."""
        return self.ranked.parts

    @property
    def run(self) -> Run:
        """The rankings, as deep as the settings say."""
        return self.ranked.run

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks about how the rankings were computed."""
        return self.ranked.remarks

    @property
    def warnings(self) -> tuple[DataWarning, ...]:
        """What makes the scores of this model misleading, such as truncated texts."""
        return self.ranked.warnings

    def discard_checkpoints(self) -> None:
        """Remove the checkpoints of the evaluation."""
        for checkpoint in self.ranked.checkpoints:
            checkpoint.remove()

    @property
    def task(self) -> RankingTask:
        """The task that the model was evaluated on."""
        return self.data.task

    @property
    def gold(self) -> Gold:
        """The relevant items of each query."""
        return self.data.gold

    @property
    def corpus(self) -> Corpus | None:
        """The ids of all items; None if the corpus is not known."""
        return self.data.corpus

    @cached_property
    def _counter(self) -> HitCounter:
        return HitCounter(self.gold, self.run, self.corpus)

    @cached_property
    def hits(self) -> Hits:
        """The ranks of the gold, self-matches excluded if queries are items."""
        return self.hits_under(resolve_conventions(find_profile("standard"), self.task.conventions))

    def hits_under(self, conventions: Conventions) -> Hits:
        """Return the hits under *conventions*; they are counted again only if they may differ."""
        return self.ranked.hits if self.ranked.hits is not None else self._counter.count(conventions)

    @property
    def inputs(self) -> dict[str, Any]:
        """Everything that decided the result, as it is stored."""
        return self.data.inputs(self.model)

    @cached_property
    def scores(self) -> Scores:
        """The task's own metrics under its own profile."""
        return self.score()

    def score(
        self,
        metrics: Metrics = None,
        profile: str | None = None,
        bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
        conventions: Conventions | Mapping[str, Any] | None = None,
        **keywords: Any,
    ) -> Scores:
        """Score the rankings; another profile than the task's brings its own conventions and metrics."""
        changes = conventions_of(self.score, conventions, keywords)
        scoring = Scoring.of(self.data, metrics, profile, changes, bootstrap)
        if self.ranked.hits is None:
            return self._counter.score(
                scoring.metrics, scoring.profile, scoring.conventions, self.model.spec, bootstrap
            )
        return self._score_hits(self.ranked.hits, scoring)

    def _score_hits(self, hits: Hits, scoring: Scoring) -> Scores:
        return scoring.score(add_confidence(hits, self.run, scoring.metrics, scoring.conventions), self.model.spec)

    @cached_property
    def stored_scores(self) -> Scores:
        """The task's own metrics as they are computed from what is stored, which has no subtopics."""
        scoring = Scoring.of(self.data)
        hits = replace(self.hits_under(scoring.conventions), subtopics=None)
        return self._score_hits(hits, scoring)

    def record(self, environment: Mapping[str, Any], quality: DataQuality) -> RunRecord:
        """Return what is stored: hits, the top of the rankings, and the summary of the task's own metrics."""
        return RunRecord(
            task=self.task.name,
            model=self.model.spec,
            inputs=self.inputs,
            environment={
                **environment,
                "seconds": self.seconds,
                "warnings": [warning.to_dict() for warning in self.warnings],
                "data_warnings": [warning.to_dict() for warning in quality.warnings],
                # Reports and the explorer show remarks, so these include the warnings.
                "remarks": [*(warning.message for warning in (*quality.warnings, *self.warnings)), *self.remarks],
            },
            hits=self.hits,
            run=self.run if self.ranked.hits is None else self.run.head(self.data.counted_depth),
            profile=self.task.profile,
            metrics=tuple(self.task.default_metrics),
            conventions=dict(self.task.conventions),
            summary=summary_of(self.stored_scores),
        )


@dataclass(frozen=True)
class Scoring:
    """The metrics, conventions and bootstrap by which all models on a task are scored."""

    metrics: list[Metric]
    profile: Profile
    conventions: Conventions
    bootstrap: Bootstrap

    @classmethod
    def of(
        cls,
        data: RankingData,
        metrics: Metrics = None,
        profile: str | None = None,
        conventions: Mapping[str, Any] | None = None,
        bootstrap: Bootstrap = Bootstrap(),  # noqa: B008 - frozen
    ) -> Scoring:
        """Return the scoring of a task; whatever is None is the task's own, or that of another *profile*."""
        task = data.task
        chosen = find_profile(profile or data.preset_profile or task.profile)
        own = chosen.name == task.profile
        if metrics is None:
            metrics = task.default_metrics if own else chosen.metrics
        changes = {**(task.conventions if own else {}), **(conventions or {})}
        return cls(parse_all(metrics), chosen, resolve_conventions(chosen, changes), bootstrap)

    def score(self, hits: Hits, name: str) -> Scores:
        """Score hits that were counted under these conventions."""
        conventions = self.conventions.as_dict()
        return score_hits(hits, self.metrics, profile=self.profile, name=name, bootstrap=self.bootstrap, **conventions)

    def is_of(self, scores: Scores) -> bool:
        """Return whether *scores* were computed this way."""
        return self == Scoring(scores.metrics, scores.profile, scores.conventions, scores.bootstrap)


def summary_of(scores: Scores) -> dict[str, dict[str, Any]]:
    """Return the value of every metric with its interval as JSON can hold it."""
    summary: dict[str, dict[str, Any]] = {}
    for name, metric_score in scores.items():
        value, interval = metric_score.value, metric_score.interval
        summary[name] = {"value": value if math.isfinite(value) else None}
        if interval is not None:
            summary[name] |= {"low": interval.low, "high": interval.high, "method": interval.method}
    return summary
