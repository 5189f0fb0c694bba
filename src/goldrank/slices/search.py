"""Find the slices on which two runs differ most, with p-values that are corrected for the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from goldrank.comparing import Comparison, paired_differences
from goldrank.errors import InputError
from goldrank.hits import Floats
from goldrank.slices.attributes import SMALLEST, Slice

RESAMPLES = 10_000
_SIGNS_AT_ONCE = 500
# Statistics closer than this count as equal: rounding must not decide.
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class FoundSlice:
    """A slice on which two runs were compared in a search."""

    slice: Slice
    metric: str
    difference: float
    """The mean difference on the slice, *b* minus *a*."""
    difference_elsewhere: float
    """The mean difference on all other queries."""
    statistic: float
    p: float
    """The p-value of this slice alone, not corrected."""
    adjusted: float
    """The p-value after the correction for all slices and metrics that were searched."""


@dataclass(frozen=True)
class SliceSearch:
    """The slices of a search, the largest statistic first."""

    a: str
    b: str
    found: tuple[FoundSlice, ...]
    candidates: int
    """How many slices were searched."""
    resamples: int
    alpha: float

    @property
    def significant(self) -> tuple[FoundSlice, ...]:
        """The slices on which the runs differ significantly."""
        return tuple(entry for entry in self.found if entry.adjusted <= self.alpha)


def find_slices(
    comparison: Comparison, slices: Sequence[Slice], *, resamples: int = RESAMPLES, seed: int | None = None
) -> SliceSearch:
    """Find the slices on which two runs differ most.

    Searched are all slices that are not too small, and the intersections of two slices of different attributes. If the
    two runs were interchangeable, the difference of every query would have either sign with equal probability; so the
    signs of all queries are flipped at random many times, and each time the largest statistic over all slices and
    metrics is noted. The adjusted p-value of a slice is the share of these maxima that reach its own statistic (the
    single-step maxT procedure of Westfall and Young [1]_), which controls the probability of any false discovery at α,
    however many slices are searched and however they overlap. The statistic is |Σd| / √Σd² over the queries of a slice.

    Args:
        comparison: A comparison of two runs.
        slices: The slices; those that are too small are left out.
        resamples: How often the signs are flipped.
        seed: Of the random signs; by default that of the bootstrap.

    Raises:
        InputError: There are not exactly two runs, or no metric has differences of means.

    References:
        .. [1] P. Westfall, S. Young, Resampling-Based Multiple Testing (1993), section 2.3.
    """
    if len(comparison.scores) != 2:
        raise InputError(
            f"slices are searched for two runs, and there are {len(comparison.scores)}", remedy="give two runs"
        )
    (a, first), (b, second) = comparison.scores.items()
    tested = {name: paired_differences(first[name], second[name]) for name in first}
    columns = {name: column for name, column in tested.items() if column is not None}
    metrics = list(columns)
    if not metrics:
        raise InputError("none of the metrics has a paired test of means", remedy="choose a mean such as ndcg@10")
    candidates = _candidates(slices, first.placement.queries)
    if not candidates:
        raise InputError(f"no slice has {SMALLEST} queries or more", remedy="give attributes with few values")
    differences = np.column_stack(list(columns.values()))
    members = np.array([member for _, member in candidates]).T
    tests = permutation_tests(differences, members, resamples, first.bootstrap.seed if seed is None else seed)
    found = []
    for at, (part, member) in enumerate(candidates):
        for column, name in enumerate(metrics):
            inside, outside = differences[member, column], differences[~member, column]
            found.append(
                FoundSlice(
                    slice=part,
                    metric=name,
                    difference=_mean(inside),
                    difference_elsewhere=_mean(outside),
                    statistic=float(tests.statistic[at, column]),
                    p=float(tests.p[at, column]),
                    adjusted=float(tests.adjusted[at, column]),
                )
            )
    found.sort(key=lambda entry: -entry.statistic)
    return SliceSearch(a, b, tuple(found), len(candidates), resamples, comparison.alpha)


def _candidates(slices: Sequence[Slice], queries: Sequence[str]) -> list[tuple[Slice, NDArray[np.bool_]]]:
    """Return the slices and the intersections of two with their members; equal sets of queries are searched once."""
    number = {query: at for at, query in enumerate(queries)}
    seen: dict[bytes, tuple[Slice, NDArray[np.bool_]]] = {}

    def add(part: Slice, member: NDArray[np.bool_]) -> None:
        if SMALLEST <= member.sum() < len(queries):
            seen.setdefault(np.packbits(member).tobytes(), (part, member))

    singles = []
    for part in slices:
        member = np.zeros(len(queries), bool)
        member[[number[query] for query in part.queries if query in number]] = True
        singles.append((part, member))
        add(part, member)
    for (first, of_first), (second, of_second) in combinations(singles, 2):
        if first.attribute != second.attribute:
            both = of_first & of_second
            names = tuple(query for query in first.queries if query in number and both[number[query]])
            add(Slice(f"{first.attribute}={first.value}, {second.attribute}", second.value, names), both)
    return list(seen.values())


@dataclass(frozen=True, eq=False)
class SliceTests:
    """The tests of all slices (rows) and metrics (columns)."""

    statistic: Floats
    p: Floats
    adjusted: Floats


def permutation_tests(differences: Floats, members: NDArray[np.bool_], resamples: int, seed: int) -> SliceTests:
    """Test all slices at once by exchanging the two runs at random, query by query.

    Args:
        differences: (queries, metrics) the difference of each query, NaN where it is undefined.
        members: (queries, slices) whether a query is in a slice.
        resamples: How often the runs are exchanged.
        seed: Of the random signs.
    """
    known, weights = np.nan_to_num(differences), members.astype(np.float64)
    scale = np.sqrt(weights.T @ known**2)  # exchanging the runs does not change it
    scale[scale == 0] = np.inf
    observed = np.abs(weights.T @ known) / scale
    random = np.random.default_rng(seed)
    maxima, reached_alone = [], np.zeros_like(observed)
    for start in range(0, resamples, _SIGNS_AT_ONCE):
        size = min(_SIGNS_AT_ONCE, resamples - start)
        signs = random.integers(0, 2, (size, len(known)), np.int8) * 2.0 - 1.0
        # The same signs for all metrics: exchanging two runs exchanges them on every metric.
        statistics = np.stack(
            [np.abs((signs * column) @ weights) / scale[:, at] for at, column in enumerate(known.T)], axis=2
        )
        maxima.append(statistics.max(axis=(1, 2)))
        reached_alone += (statistics >= observed - _TOLERANCE).sum(axis=0)
    reached = resamples - np.searchsorted(np.sort(np.concatenate(maxima)), observed - _TOLERANCE)
    return SliceTests(observed, (1 + reached_alone) / (1 + resamples), (1 + reached) / (1 + resamples))


def _mean(values: Floats) -> float:
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else float("nan")
