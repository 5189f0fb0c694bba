"""Tell real changes between two aligned rankings from ties and from score noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from goldrank.analysis.alignment import Alignment, Side
from goldrank.hits import Floats, Ints

Status = Literal["same", "ties", "noise", "changed"]
STATUSES: tuple[Status, ...] = ("same", "ties", "noise", "changed")
"""How two rankings of a query differ, the weakest difference first."""
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Changes:
    """The differences between two aligned runs."""

    status: Ints
    """For each query the position of its status in ``STATUSES``."""
    moved: Flags
    """For each common row whether its order relative to another common item really changed."""


def find_changes(aligned: Alignment, tolerance: float) -> Changes:
    """Compare the rankings of each query.

    Two common items are in another order if one run has one of them strictly first and the other run does not. This is
    noise if in both runs their scores differ by at most *tolerance* times the largest absolute score of the query, else
    a real change. Items that both runs put into the same group of equal scores may be listed in any order.

    An item of one list only is a real change, unless both lists have the same length and its score equals the last
    score of both lists (a tie) or nearly so (noise): then the end of the list cuts a tie.
    """
    noise = [tolerance * _largest(side) for side in aligned.sides]
    groups = [side.group[rows] for side, rows in zip(aligned.sides, aligned.common, strict=True)]
    query, count = aligned.common_query, len(aligned.queries)
    moved, reordered = np.zeros(len(query), bool), np.zeros(len(query), bool)
    orders = [
        np.argsort(groups[at] * (groups[1 - at].max(initial=0) + 1) - groups[1 - at], kind="stable") for at in (0, 1)
    ]
    for at, side in enumerate(aligned.sides):
        gaps = _gaps(orders[1 - at], orders[at], side.score[aligned.common[at]])
        reordered |= gaps > 0
        moved |= gaps > noise[at][query]
    listed = np.argsort(aligned.common[1], kind="stable") != np.arange(len(query))
    unmatched = [_unmatched(aligned, at, noise) for at in (0, 1)]

    def mark(rows: Flags) -> Flags:
        return np.bincount(query[rows], minlength=count) > 0

    ties = mark(listed) | unmatched[0][0] | unmatched[1][0]
    is_noise = mark(reordered) | unmatched[0][1] | unmatched[1][1]
    changed = mark(moved) | unmatched[0][2] | unmatched[1][2]
    return Changes(np.where(changed, 3, np.where(is_noise, 2, np.where(ties, 1, 0))), moved)


def _largest(side: Side) -> Floats:
    return np.maximum.reduceat(np.abs(side.score), side.starts[:-1])


def _gaps(order: Ints, other: Ints, score: Floats) -> Floats:
    """Return for each common row the largest difference of *score* to a row that *order* puts on the other side.

    Args:
        order: The common rows by the other run, best first, of equal ones the lower in *score* first; by query.
        other: The common rows by *score*, best first; by query.
        score: The scores of the common rows.
    """
    position = np.empty(len(order), np.int64)
    position[other] = np.arange(len(order))
    ordered, sequence, ranked = score[order], position[order], score[other]
    # The positions of a later query are larger than all before them, so that each query begins anew.
    lowest_before = ranked[np.maximum.accumulate(sequence)]
    highest_after = ranked[np.minimum.accumulate(sequence[::-1])[::-1]]
    gaps = np.empty(len(order))
    gaps[order] = np.maximum(ordered - lowest_before, highest_after - ordered)
    return gaps


def _unmatched(aligned: Alignment, at: int, noise: list[Floats]) -> tuple[Flags, Flags, Flags]:
    """Return for each query whether an item of one list only is a tie, noise, and a real change."""
    side, count = aligned.sides[at], len(aligned.queries)
    is_alone = np.ones(len(side.query), bool)
    is_alone[aligned.common[at]] = False
    query, score = side.query[is_alone], side.score[is_alone]
    last = [other.score[other.starts[1:] - 1][query] for other in aligned.sides]
    distance = np.maximum(np.abs(score - last[0]), np.abs(score - last[1]))
    is_cut = (aligned.sides[0].sizes == aligned.sides[1].sizes)[query]
    is_tie = is_cut & (distance == 0)
    is_noise = is_cut & ~is_tie & (distance <= np.maximum(noise[0], noise[1])[query])
    kinds = (is_tie, is_noise, ~is_tie & ~is_noise)
    return tuple(np.bincount(query[kind], minlength=count) > 0 for kind in kinds)  # type: ignore[return-value]
