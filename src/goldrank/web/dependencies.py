"""Parameters that several routes share: the explorer, pages, sort order, keys and scoring options."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Depends, Query, Request

from goldrank.errors import InputError
from goldrank.metrics import CHOICES, Metric, Profile, parse_all
from goldrank.runs.stored_scores import StoredRuns, choose_metrics, choose_profile
from goldrank.scoring import Bootstrap
from goldrank.store import StoredRun
from goldrank.web.store_reader import StoreReader

Entry = TypeVar("Entry")
MOST_KEYS = 20
MOST_METRICS = 40
LARGEST_CUTOFF = 10_000_000


@dataclass(frozen=True)
class Server:
    """The state that all routes share."""

    reader: StoreReader
    allow_delete: bool = False


def _explorer(request: Request) -> Server:
    server: Server = request.app.state.server
    return server


Explorer = Annotated[Server, Depends(_explorer)]
SortOrder = Annotated[Literal["asc", "desc"], Query(description="Ascending or descending.")]
Page = Annotated[int, Query(ge=1, le=1_000_000, description="Number of the page, from 1.")]
Size = Annotated[int, Query(ge=1, le=200, description="Entries per page.")]
Keys = Annotated[
    list[str],
    Query(alias="key", min_length=1, max_length=MOST_KEYS, description="Keys of stored runs; repeat for several."),
]
SliceName = Annotated[
    str, Query(alias="slice", max_length=1_000, description="Only the queries of this slice, such as language=de.")
]
Attribute = Annotated[str, Query(max_length=500, description="Attribute of the queries to show results by.")]
ThemeName = Literal["light", "dark"]
Theme = Annotated[ThemeName, Query(description="Colours of the figures.")]


def page_of(entries: Sequence[Entry], page: int, size: int) -> Sequence[Entry]:
    """Return the entries of one page; none if there is no such page."""
    return entries[(page - 1) * size : page * size]


def sort_entries(entries: Sequence[Entry], value: Callable[[Entry], Any], order: str) -> list[Entry]:
    """Return the entries sorted by a value; those without a value come last in both orders."""
    known: list[tuple[Any, Entry]] = []
    unknown: list[Entry] = []
    for entry in entries:
        key = value(entry)
        if key is None or (isinstance(key, float) and math.isnan(key)):
            unknown.append(entry)
        else:
            known.append((key, entry))
    known.sort(key=lambda pair: pair[0], reverse=order == "desc")
    return [*(entry for _, entry in known), *unknown]


@dataclass(frozen=True)
class ScoringOptions:
    """Metrics, profile, conventions and bootstrap of a request, like the options of `goldrank score`."""

    metrics: tuple[str, ...] | None
    profile: str | None
    changes: dict[str, Any]
    bootstrap: Bootstrap

    @property
    def identity(self) -> Hashable:
        """A key for caches: equal options have equal keys."""
        return self.metrics, self.profile, tuple(self.changes.items()), self.bootstrap

    def check(self, runs: Sequence[StoredRun]) -> None:
        """Raise InputError if there are too many metrics or a cutoff is too large."""
        metrics = parse_all(self.metrics) if self.metrics else []
        # Runs of a task mostly have the same metrics.
        _refuse_excess(metrics or parse_all([metric for run in runs for metric in run.metrics or ["mrr"]]))

    def for_runs(self, runs: StoredRuns) -> tuple[list[Metric], Profile]:
        """Return the metrics and the profile for some runs."""
        profile = choose_profile(runs, self.profile)
        metrics = choose_metrics(runs, self.metrics, profile, profile_was_given=self.profile is not None)
        _refuse_excess(metrics)
        return metrics, profile


def _refuse_excess(metrics: Sequence[Metric]) -> None:
    if len(metrics) > MOST_METRICS:
        raise InputError(f"{len(metrics)} metrics are too many at a time", remedy=f"ask for {MOST_METRICS} at most")
    for metric in metrics:
        if metric.cutoff is not None and metric.cutoff > LARGEST_CUTOFF:
            raise InputError(f"the cutoff of {metric} is too large", remedy="leave it out to read all ranks")


def _scoring_options(
    metric: Annotated[
        list[str] | None, Query(max_length=MOST_METRICS, description="Such as ndcg@10; repeat for several.")
    ] = None,
    profile: Annotated[str | None, Query(max_length=60, description="Name of a profile (/api/profiles).")] = None,
    ties: Annotated[str | None, Query(description=" | ".join(CHOICES["ties"]))] = None,
    precision: Annotated[str | None, Query(description=" | ".join(CHOICES["precision"]))] = None,
    missing: Annotated[str | None, Query(description=" | ".join(CHOICES["missing"]))] = None,
    self_matches: Annotated[str | None, Query(description=" | ".join(CHOICES["self_matches"]))] = None,
    positives: Annotated[str | None, Query(description=" | ".join(CHOICES["positives"]))] = None,
    unjudged: Annotated[str | None, Query(description=" | ".join(CHOICES["unjudged"]))] = None,
    outside: Annotated[str | None, Query(description=" | ".join(CHOICES["outside"]))] = None,
    depth: Annotated[
        int | None, Query(ge=1, le=LARGEST_CUTOFF, description="Read each ranking down to this rank only.")
    ] = None,
    relevance_level: Annotated[
        float | None, Query(gt=0, le=1_000_000, description="Smallest grade that counts as relevant.")
    ] = None,
    resamples: Annotated[int, Query(ge=100, le=100_000, description="Resamples of the bootstrap.")] = (
        Bootstrap().resamples
    ),
    level: Annotated[float, Query(gt=0, lt=1, description="Confidence level.")] = 0.95,
    interval: Annotated[Literal["bca", "percentile"], Query(description="Kind of bootstrap.")] = "bca",
    seed: Annotated[int, Query(ge=0, le=2**32 - 1, description="Seed of the bootstrap.")] = 0,
) -> ScoringOptions:
    given = {
        "ties": ties,
        "precision": precision,
        "missing": missing,
        "self_matches": self_matches,
        "positives": positives,
        "unjudged": unjudged,
        "outside": outside,
        "depth": depth,
        "relevance_level": relevance_level,
    }
    changes = {name: value for name, value in given.items() if value is not None and value != ""}
    metrics = tuple(filter(None, metric or ())) or None
    bootstrap = Bootstrap(resamples, level, interval, seed)
    return ScoringOptions(metrics, profile or None, changes, bootstrap)


ScoringParameters = Annotated[ScoringOptions, Depends(_scoring_options)]
"""Options with the defaults of the commands, so that scores and intervals are equal to theirs."""
