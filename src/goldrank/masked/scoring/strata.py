"""Strata: the same scores for the examples of each number of masks, range of lengths, or value of any column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError, unknown_name
from goldrank.hits import Floats, Hits
from goldrank.masked.scoring.levels import Bools, MaskedScores

UNKNOWN, OTHER = "unknown", "other"
"""The strata of examples without a value, and of those whose value is too rare for one of its own."""
# Where these are not known they are -1.
_COUNTED = ("masks", "length")


@dataclass(frozen=True, eq=False)
class Stratum:
    """The examples that have one thing in common."""

    label: str
    examples: Bools
    """Which rows of ``MaskedScores.examples`` belong to it."""
    hits: dict[str, Hits]
    """By level, with only the pages that have rows here. ``page`` is there where no page has examples in two strata,
    as a page is one answer from all of them."""


def strata(scores: MaskedScores, by: str, bins: int | Sequence[float] = 5) -> list[Stratum]:
    """Split *scores* by a column of their examples.

    Args:
        scores: what was scored.
        by: ``masks``, ``length``, ``type`` or any further column of the data.
        bins: for numbers with more distinct values than this, into how many ranges with about equally many examples,
            or the edges of the ranges; for words, how many of the most frequent get a stratum of their own.
    """
    if by not in scores.examples:
        raise unknown_name("column", by, scores.examples, ", ".join(scores.examples))
    if isinstance(bins, int) and bins < 1:
        raise InputError(f"{bins} strata cannot be made", remedy="ask for at least one")
    column = scores.examples[by]
    labels, number = _by_word(column, bins) if column.dtype == object else _by_number(column, by, bins)
    whole = _pages_are_whole(scores, number)
    made = []
    for at, label in enumerate(labels):
        chosen = number == at
        if chosen.any():
            made.append(Stratum(label, chosen, _hits(scores, chosen, whole)))
    return made


def _by_word(column: NDArray[Any], bins: int | Sequence[float]) -> tuple[list[str], NDArray[Any]]:
    if not isinstance(bins, int):
        raise InputError("a column of words has no edges", remedy="say how many of its values to show")
    counts = Counter(value for value in column.tolist() if value is not None)
    # By frequency, then by the alphabet: the order of the rows must not matter.
    kept = sorted(counts, key=lambda value: (-counts[value], value))[:bins]
    at = {value: place for place, value in enumerate(kept)} | {None: len(kept) + 1}
    number = np.fromiter((at.get(value, len(kept)) for value in column.tolist()), np.int64, len(column))
    return [*kept, OTHER, UNKNOWN], number


def _by_number(column: NDArray[Any], by: str, bins: int | Sequence[float]) -> tuple[list[str], NDArray[Any]]:
    values: Floats = column.astype(np.float64)
    known = ~np.isnan(values)
    if by in _COUNTED:
        known &= values >= 0
    distinct = np.unique(values[known])
    if isinstance(bins, int) and len(distinct) <= bins:
        labels = [f"{value:.10g}" for value in distinct.tolist()]
        number = np.searchsorted(distinct, values)
    else:
        edges = _edges(values[known], bins)
        # A range holds its lower edge; the outer ones are open.
        number = np.searchsorted(edges, values, side="right")
        bounds = [f"{edge:.10g}" for edge in edges.tolist()]
        between = [f"{low} to below {high}" for low, high in pairwise(bounds)]
        labels = [f"below {bounds[0]}", *between, f"{bounds[-1]} and more"] if bounds else ["all"]
    return [*labels, UNKNOWN], np.where(known, number, len(labels))


def _edges(values: Floats, bins: int | Sequence[float]) -> Floats:
    """The inner edges of the ranges."""
    if isinstance(bins, int):
        # Edges are values of the data, which no interpolation rounds.
        inner = np.quantile(values, np.arange(1, bins) / bins, method="inverted_cdf")
        return np.unique(inner[inner > values.min()])
    edges = np.asarray(bins, np.float64)
    if not len(edges) or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
        raise InputError("the edges of strata must rise", remedy="for example 500, 1000, 2000")
    return edges


def _pages_are_whole(scores: MaskedScores, number: NDArray[Any]) -> bool:
    page = scores.levels["example"].hits.query_index
    return not bool(((np.diff(page) == 0) & (np.diff(number) != 0)).any())


def _hits(scores: MaskedScores, chosen: Bools, whole: bool) -> dict[str, Hits]:
    made = {name: _kept(scores.levels[name].hits, chosen[scores.levels[name].example]) for name in ("mask", "example")}
    if whole:
        hits = scores.levels["page"].hits
        keep = np.zeros(len(hits), bool)
        keep[scores.levels["example"].hits.query_index[chosen]] = True
        made["page"] = _kept(hits, keep)
    return made


def _kept(hits: Hits, keep: Bools) -> Hits:
    """Those rows and their pages: a page without rows would count as one that got everything wrong."""
    rows = hits.keep_rows(keep)
    return rows.keep_queries(np.diff(rows.starts) > 0)
