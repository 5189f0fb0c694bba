"""Split scores by a column of the examples, such as the number of masks or the length."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError, unknown_name
from goldrank.hits import Floats, Hits
from goldrank.masked.scoring.levels import Bools, MaskedScores

UNKNOWN, OTHER = "unknown", "other"
"""Labels of the strata of examples without a value and of rare values."""
# Columns with -1 for unknown values.
_COUNTED = ("masks", "length")


@dataclass(frozen=True, eq=False)
class Stratum:
    """The examples of one class."""

    label: str
    examples: Bools
    """Mask of the rows of ``MaskedScores.examples`` that belong to it."""
    hits: dict[str, Hits]
    """Hits by level, restricted to pages with rows in the stratum. ``page`` is present only if no page has examples in
    several strata, because a page has one answer for all its examples."""


def split_by(scores: MaskedScores, by: str, bins: int = 5) -> list[Stratum]:
    """Split *scores* by a column of their examples.

    Args:
        scores: The scores.
        by: ``masks``, ``length``, ``type`` or any further column of the data.
        bins: For numbers with more distinct values, the number of ranges with about equally many examples; for words,
            the number of most frequent words with a stratum of their own.
    """
    if by not in scores.examples:
        raise unknown_name("column", by, scores.examples, ", ".join(scores.examples))
    if bins < 1:
        raise InputError(f"bins={bins} is not a whole number >= 1", remedy="use at least one class")
    column = scores.examples[by]
    labels, number = _by_word(column, bins) if column.dtype == object else _by_number(column, by, bins)
    page = scores.levels["example"].hits.query_index
    pages_are_whole = not bool(((np.diff(page) == 0) & (np.diff(number) != 0)).any())
    strata = []
    for at, label in enumerate(labels):
        chosen = number == at
        if chosen.any():
            strata.append(Stratum(label, chosen, _hits(scores, chosen, pages_are_whole)))
    return strata


def _by_word(column: NDArray[Any], bins: int) -> tuple[list[str], NDArray[Any]]:
    counts = Counter(value for value in column.tolist() if value is not None)
    # By frequency, then alphabetically, so that the order of the rows has no influence.
    frequent = sorted(counts, key=lambda value: (-counts[value], value))[:bins]
    at = {value: place for place, value in enumerate(frequent)} | {None: len(frequent) + 1}
    number = np.fromiter((at.get(value, len(frequent)) for value in column.tolist()), np.int64, len(column))
    return [*frequent, OTHER, UNKNOWN], number


def _by_number(column: NDArray[Any], by: str, bins: int) -> tuple[list[str], NDArray[Any]]:
    values: Floats = column.astype(np.float64)
    known = ~np.isnan(values)
    if by in _COUNTED:
        known &= values >= 0
    distinct = np.unique(values[known])
    if len(distinct) <= bins:
        labels = [f"{value:.10g}" for value in distinct.tolist()]
        number = np.searchsorted(distinct, values)
    else:
        # The edges are values of the data, not interpolated.
        edges = np.quantile(values[known], np.arange(1, bins) / bins, method="inverted_cdf")
        edges = np.unique(edges[edges > distinct[0]])
        # A range includes its lower edge; the outer ranges are open.
        number = np.searchsorted(edges, values, side="right")
        bounds = [f"{edge:.10g}" for edge in edges.tolist()]
        between = [f"{low} to below {high}" for low, high in pairwise(bounds)]
        labels = [f"below {bounds[0]}", *between, f"{bounds[-1]} and more"] if bounds else ["all"]
    return [*labels, UNKNOWN], np.where(known, number, len(labels))


def _hits(scores: MaskedScores, chosen: Bools, pages_are_whole: bool) -> dict[str, Hits]:
    levels = scores.levels
    # A query without rows would count as wrong.
    by_level = {name: levels[name].hits.restrict_gold(chosen[levels[name].example]) for name in ("mask", "example")}
    if pages_are_whole:
        hits = levels["page"].hits
        keep = np.zeros(len(hits), bool)
        keep[levels["example"].hits.query_index[chosen]] = True
        by_level["page"] = hits.restrict_gold(keep)
    return by_level
