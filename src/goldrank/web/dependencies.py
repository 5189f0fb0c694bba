"""What several addresses are asked with: the explorer itself, pages, orders, keys and conventions."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar

from fastapi import Depends, Query, Request

from goldrank.errors import InputError
from goldrank.metrics import CHOICES, Metric, Profile, parse_all
from goldrank.runs.stored_scores import StoredRuns, own_metrics, own_profile
from goldrank.scoring import Bootstrap
from goldrank.store import StoredRun
from goldrank.web.store_reader import Reader

Entry = TypeVar("Entry")
MOST_KEYS = 20
MOST_METRICS = 40
LARGEST_CUTOFF = 10_000_000
QUICK_RESAMPLES = 1_000


@dataclass(frozen=True)
class Server:
    """What a request is answered from."""

    reader: Reader
    allow_delete: bool = False


def _explorer(request: Request) -> Server:
    found: Server = request.app.state.server
    return found


Explorer = Annotated[Server, Depends(_explorer)]
Order = Annotated[Literal["asc", "desc"], Query(description="Which way.")]
Page = Annotated[int, Query(ge=1, le=1_000_000, description="Which page, from 1.")]
Size = Annotated[int, Query(ge=1, le=200, description="How many on a page.")]
Keys = Annotated[
    list[str],
    Query(alias="key", min_length=1, max_length=MOST_KEYS, description="Keys of stored runs; repeat for several."),
]
ThemeName = Literal["light", "dark"]
Theme = Annotated[ThemeName, Query(description="Colours of the figures.")]


def page_of(entries: Sequence[Entry], page: int, size: int) -> Sequence[Entry]:
    """The entries of one page; none beyond the last."""
    return entries[(page - 1) * size : page * size]


def plain_order(entries: Sequence[Entry], value: Callable[[Entry], Any], order: str) -> list[Entry]:
    """The entries in order of a value, those that have none last either way."""
    valued = [(value(entry), entry) for entry in entries]
    known = [pair for pair in valued if not _is_nothing(pair[0])]
    rest = [entry for found, entry in valued if _is_nothing(found)]
    known.sort(key=lambda pair: pair[0], reverse=order == "desc")
    return [entry for _, entry in known] + rest


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


@dataclass(frozen=True)
class Conditions:
    """What is to be scored and how, as the options of `goldrank score` say it."""

    metrics: tuple[str, ...] | None
    profile: str | None
    changes: dict[str, Any]
    bootstrap: Bootstrap

    @property
    def identity(self) -> Hashable:
        """What tells these conditions from others."""
        return self.metrics, self.profile, tuple(self.changes.items()), self.bootstrap

    def check(self, runs: Sequence[StoredRun]) -> None:
        """Raise where what is asked for is too much, whatever the runs."""
        metrics = parse_all(self.metrics) if self.metrics else []
        _refuse_excess(metrics or [metric for run in runs for metric in parse_all(run.metrics or ["mrr"])])

    def for_runs(self, runs: StoredRuns) -> tuple[list[Metric], Profile]:
        """The metrics and the profile that apply to some runs."""
        profile = own_profile(runs, self.profile)
        metrics = own_metrics(runs, self.metrics, profile, profile_was_asked=self.profile is not None)
        _refuse_excess(metrics)
        return metrics, profile


def _refuse_excess(metrics: Sequence[Metric]) -> None:
    if len(metrics) > MOST_METRICS:
        raise InputError(f"{len(metrics)} metrics are too many at a time", remedy=f"ask for {MOST_METRICS} at most")
    for metric in metrics:
        if metric.cutoff is not None and metric.cutoff > LARGEST_CUTOFF:
            raise InputError(f"the cutoff of {metric} is too large", remedy="leave it out to read all ranks")


def _conditions(
    metric: Annotated[
        list[str] | None, Query(max_length=MOST_METRICS, description="Such as ndcg@10; repeat for several.")
    ] = None,
    profile: Annotated[str | None, Query(max_length=60, description="Conventions by name (/api/profiles).")] = None,
    ties: Annotated[str | None, Query(description=" | ".join(CHOICES["ties"]))] = None,
    precision: Annotated[str | None, Query(description=" | ".join(CHOICES["precision"]))] = None,
    missing: Annotated[str | None, Query(description=" | ".join(CHOICES["missing"]))] = None,
    self_matches: Annotated[str | None, Query(description=" | ".join(CHOICES["self_matches"]))] = None,
    positives: Annotated[str | None, Query(description=" | ".join(CHOICES["positives"]))] = None,
    unjudged: Annotated[str | None, Query(description=" | ".join(CHOICES["unjudged"]))] = None,
    outside: Annotated[str | None, Query(description=" | ".join(CHOICES["outside"]))] = None,
    depth: Annotated[int | None, Query(ge=1, le=LARGEST_CUTOFF, description="Read no ranking further.")] = None,
    relevance_level: Annotated[
        float | None, Query(gt=0, le=1_000_000, description="Smallest grade that counts as relevant.")
    ] = None,
    resamples: Annotated[int | None, Query(ge=100, le=100_000, description="Of the bootstrap.")] = None,
    level: Annotated[float, Query(gt=0, lt=1, description="Of confidence.")] = 0.95,
    interval: Annotated[Literal["bca", "percentile"], Query(description="Kind of bootstrap.")] = "bca",
    seed: Annotated[int, Query(ge=0, le=2**32 - 1, description="Of all random numbers.")] = 0,
) -> Conditions:
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
    metrics = tuple(one for one in metric or () if one) or None
    return Conditions(metrics, profile or None, changes, Bootstrap(resamples or QUICK_RESAMPLES, level, interval, seed))


def _in_full(
    asked: Annotated[Conditions, Depends(_conditions)],
    resamples: Annotated[int, Query(ge=100, le=100_000, description="Of the bootstrap.")] = Bootstrap().resamples,
) -> Conditions:
    return replace(asked, bootstrap=replace(asked.bootstrap, resamples=resamples))


Asked = Annotated[Conditions, Depends(_conditions)]
"""For numbers that are to come at once: few resamples unless more are asked for."""
AskedInFull = Annotated[Conditions, Depends(_in_full)]
"""For numbers that are to equal those of the commands in every digit: as many resamples as they take."""
