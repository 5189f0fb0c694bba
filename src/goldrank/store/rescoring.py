"""Score stored runs under other conventions: from the stored hits, or by counting the stored rankings again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from goldrank.errors import InputError
from goldrank.hits import Hits, Run
from goldrank.metrics import Conventions, Metric
from goldrank.scoring import HitCounter, add_confidence
from goldrank.store.records import StoredRun


@dataclass(frozen=True, eq=False)
class Counted:
    """Hits under the given conventions, and a note about how they were obtained."""

    hits: Hits
    note: str = ""


def count_under(stored: StoredRun, conventions: Conventions) -> Counted:
    """Return the hits of a stored run under *conventions*, from its hits if possible and else from its rankings.

    Hits support every tie policy, depth and treatment of missing and unjudged items. They were counted at one
    precision, and with or without the query itself among the ranked items; for another choice the rankings are counted
    again, as deep as they were stored.
    """
    if conventions.scores in ("distance", "ignore") and conventions.scores != stored.conventions.get("scores"):
        raise InputError(
            f"the meaning of the scores of the stored run {stored.key} was fixed when it was computed, so "
            f"scores={conventions.scores} cannot be applied",
            remedy="run it again from its file with run:FILE(scores=…), or score the file itself",
        )
    hits = stored.hits()
    without_self = _was_counted_without_self(stored, hits)
    self_matches = f"self_matches={conventions.self_matches}"
    needs = []
    if conventions.precision != hits.precision:
        needs.append(f"precision={conventions.precision}, as its hits were counted at {hits.precision}")
    if conventions.self_matches in ("drop", "drop_results", "aside") and not without_self:
        needs.append(f"{self_matches}, as its hits were counted with the query itself in the rankings")
    knows_self = len(hits.own) > 0
    wants_self = without_self and not knows_self and conventions.self_matches in ("first", "implied")
    if wants_self:
        needs.append(f"{self_matches}, as its hits were counted with the query itself taken out")
    may_keep_self = without_self and not knows_self and conventions.self_matches == "keep"
    if not needs and not may_keep_self:
        return Counted(hits)
    run = stored.run()
    has_self = run is not None and _holds_self(run)
    if not needs and not has_self:
        # The rankings do not hold the queries themselves, so counting them again would give the same hits.
        return Counted(hits)
    if run is None or (wants_self and not has_self):
        raise InputError(
            f"the stored run {stored.key} cannot be scored with {' and '.join(needs)}, and "
            + ("no rankings were stored" if run is None else "the stored rankings do not hold it either"),
            remedy="choose other conventions, or run the model again",
        )
    # The rankings were stored in the order that the meaning of their scores implies.
    again = HitCounter(stored.gold(), run).count(replace(conventions, scores=None))
    again = replace(
        again, corpus=hits.corpus, outside=hits.outside, ignored_queries=hits.ignored_queries, scores=hits.scores
    )
    return Counted(again, _cut_note(stored, hits, run))


def _was_counted_without_self(stored: StoredRun, hits: Hits) -> bool:
    dropped = stored.conventions.get("self_matches") in ("drop", "drop_results", "aside")
    return dropped or bool(stored.inputs.get("exclude_self")) or hits.dropped_self > 0


def _holds_self(run: Run) -> bool:
    columns = run.columns
    bounds = columns.starts.tolist()
    return any(
        query in columns.items[start:end]
        for query, start, end in zip(columns.queries, bounds[:-1], bounds[1:], strict=True)
    )


def add_stored_confidence(hits: Hits, run: StoredRun, metrics: Iterable[Metric], conventions: Conventions) -> Hits:
    """Return the hits with the confidence of the stored rankings, if a metric needs it and rankings were stored."""
    needing = [metric for metric in metrics if metric.definition.aggregate == "nauc"]
    rankings = run.run() if needing else None
    return hits if rankings is None else add_confidence(hits, rankings, needing, conventions)


def rankings_are_whole(hits: Hits, run: Run) -> bool:
    """Return True if every ranking was stored as deep as its hits were counted."""
    return not _count_shortened(hits, run)


def _count_shortened(hits: Hits, run: Run) -> int:
    """Return how many rankings were stored less deep than their hits were counted."""
    stored = dict(zip(run.queries, np.diff(run.columns.starts).tolist(), strict=True))
    return sum(stored.get(query, 0) < depth for query, depth in zip(hits.queries, hits.depth.tolist(), strict=True))


def _cut_note(stored: StoredRun, hits: Hits, run: Run) -> str:
    cut = _count_shortened(hits, run)
    deepest = int(np.diff(run.columns.starts).max(initial=0))
    return (
        f"{stored.key}: counted again from the stored rankings, which hold the top {deepest} only "
        f"({cut} were deeper); gold further down counts as not found"
        if cut
        else ""
    )
