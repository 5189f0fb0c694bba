"""Which stored counts serve which conventions: the hits as they are, the stored rankings counted again, or neither."""

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
    """Hits that answer the conventions asked for, and what a reader should know about them."""

    hits: Hits
    note: str = ""


def count_under(stored: StoredRun, conventions: Conventions) -> Counted:
    """The hits of a stored run under *conventions*, from its hits where they can tell and else from its rankings.

    Hits know every tie policy, depth and treatment of the missing and the unjudged. They were counted at one
    precision, and with the query itself among the ranked items or without it; for another choice the rankings
    are counted again, as far down as they were stored.
    """
    if conventions.scores in ("distance", "ignore"):
        raise InputError(
            f"the order of the stored run {stored.key} was decided when it was made, not with "
            f"scores={conventions.scores}",
            remedy="run it again from its file with run:FILE(scores=…), or score the file itself",
        )
    hits = stored.hits()
    without_self = _was_counted_without_self(stored, hits)
    asked = f"self_matches={conventions.self_matches}"
    needs = []
    if conventions.precision != hits.precision:
        needs.append(f"precision={conventions.precision}, as its hits were counted at {hits.precision}")
    if conventions.self_matches in ("drop", "drop_results", "aside") and not without_self:
        needs.append(f"{asked}, as its hits were counted with the query itself in the rankings")
    knows_self = len(hits.own) > 0
    wants_self = without_self and not knows_self and conventions.self_matches in ("first", "implied")
    if wants_self:
        needs.append(f"{asked}, as its hits were counted with the query itself taken out")
    may_keep_self = without_self and not knows_self and conventions.self_matches == "keep"
    if not needs and not may_keep_self:
        return Counted(hits)
    run = stored.run()
    has_self = run is not None and _holds_self(run)
    if not needs and not has_self:
        # Nothing is left of the queries themselves: the items as they were ranked are those that were counted.
        return Counted(hits)
    if run is None or (wants_self and not has_self):
        raise InputError(
            f"the stored run {stored.key} cannot be scored with {' and '.join(needs)}, and "
            + ("no rankings were stored" if run is None else "the stored rankings do not hold it either"),
            remedy="choose other conventions, or run the model again",
        )
    again = HitCounter(stored.gold(), run).count(conventions)
    again = replace(again, corpus=hits.corpus, outside=hits.outside, ignored_queries=hits.ignored_queries)
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
    """The hits with the confidence of the stored rankings, if a metric asks for it and rankings were stored."""
    asked = [metric for metric in metrics if metric.definition.aggregate == "nauc"]
    rankings = run.run() if asked else None
    return hits if rankings is None else add_confidence(hits, rankings, asked, conventions)


def rankings_are_whole(hits: Hits, run: Run) -> bool:
    """Whether the stored run holds every ranking as deep as the hits were counted."""
    return not _shortened(hits, run)


def _shortened(hits: Hits, run: Run) -> int:
    """How many rankings were stored less deep than they were counted."""
    stored = dict(zip(run.queries, np.diff(run.columns.starts).tolist(), strict=True))
    return sum(stored.get(query, 0) < depth for query, depth in zip(hits.queries, hits.depth.tolist(), strict=True))


def _cut_note(stored: StoredRun, hits: Hits, run: Run) -> str:
    cut = _shortened(hits, run)
    deepest = int(np.diff(run.columns.starts).max(initial=0))
    return (
        f"{stored.key}: counted again from the stored rankings, which hold the top {deepest} only "
        f"({cut} were deeper); gold further down counts as not found"
        if cut
        else ""
    )
