"""Explain why two profiles give different values for the same run: switch each convention on its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from goldrank.errors import InputError
from goldrank.metrics import Metric, Profile
from goldrank.scoring import Bootstrap, HitCounter, score_hits

_NEGLIGIBLE = 1e-12


@dataclass(frozen=True)
class Reason:
    """One convention or parameter in which two profiles differ, and the change of the metric by it alone."""

    name: str
    base: Any
    other: Any
    shift: float | None
    """The change of the mean if only this is switched to the other profile; None if that is not possible."""

    def __str__(self) -> str:
        moved = "cannot stand alone" if self.shift is None else f"{self.shift:+.4f}"
        return f"{self.name} {self.base} → {self.other} ({moved})"


def reasons(counter: HitCounter, metric: Metric, base: Profile, other: Profile) -> list[Reason]:
    """List the differences of two profiles that change *metric* on their own."""
    start = _mean(counter, metric, base)
    differences = []
    for name, (ours, theirs) in base.conventions.differences(other.conventions).items():
        changed = _switch(base, name, theirs)
        differences.append(Reason(name, ours, theirs, _shift(start, counter, metric, changed)))
    ours_set, theirs_set = base.apply(metric).parameters, other.apply(metric).parameters
    for name, value in theirs_set.items():
        if value != ours_set[name]:
            settings = {**base.settings, metric.name: {**base.settings.get(metric.name, {}), name: value}}
            changed = replace(base, settings=settings)
            shift = _shift(start, counter, metric, changed)
            differences.append(Reason(f"{metric.name} {name}", ours_set[name], value, shift))
    return [reason for reason in differences if reason.shift is None or abs(reason.shift) > _NEGLIGIBLE]


def _switch(base: Profile, name: str, value: Any) -> Profile | None:
    try:
        return replace(base, conventions=replace(base.conventions, **{name: value}))
    except InputError:
        return None


def _shift(start: float | None, counter: HitCounter, metric: Metric, changed: Profile | None) -> float | None:
    after = None if changed is None else _mean(counter, metric, changed)
    return None if start is None or after is None else after - start


def _mean(counter: HitCounter, metric: Metric, profile: Profile) -> float | None:
    """Return the mean, or None if this profile refuses the metric on this data."""
    try:
        hits = counter.count(profile.conventions)
        return score_hits(hits, [metric], profile=profile, bootstrap=Bootstrap())[str(metric)].value
    except InputError:
        return None
