"""What makes the scores of one run, or of several side by side, misleading: each as a DataWarning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from goldrank.errors import DataWarning, counts, shorten
from goldrank.hits import Gold, Hits, Run
from goldrank.metrics import Conventions, Metric
from goldrank.ordering import CHOICES_TEXT

SAMPLE_ROWS = 5_000
"""How much of a run is read for its item ids, which scoring does not look at."""
NAMED = 5
"""How many ids a message names."""
LEAST_ITEMS = 20
"""Two runs need so many unjudged items each before it means anything that they share none."""
SHARED_ITEMS = 0.01
"""Two runs that share a smaller part of their items than this seem to rank different corpora."""
JUDGED_DEPTH = 10
JUDGED_GAP = 0.2
"""Runs whose shares of judged items among the top ``JUDGED_DEPTH`` are so far apart were not judged alike."""
JUDGED_QUERIES = 10
"""Over fewer queries such a difference may be chance."""

TIED_FIRST = 0.1
"""Such a share of the gold tied for the first rank, and counted first, is no success of the model."""

_TIED = {
    "docid": "the order is that of the ids",
    "input": "the order is that of the input",
    "pessimistic": "the gold stands last in every list",
    "optimistic": "the gold stands first in every list",
    "expected": "the scores are those of a random order",
}


def run_warnings(hits: Hits, conventions: Conventions, name: str) -> list[DataWarning]:
    """What is misleading in one run, as far as its hits can tell."""
    warnings = []
    if hits.order.contradicts:
        reads = "lower" if hits.scores == "distance" else "higher"
        said = hits.order.sentence
        warnings.append(
            DataWarning(
                "order-contradicts-scores",
                f"{said[0].upper()}{said[1:]}; here {reads} scores count as better.",
                name,
                f"Say what the scores are with --scores (in Python scores=): {CHOICES_TEXT}.",
            )
        )
    if (tied := _tied_queries(hits)) is not None:
        warnings.append(
            DataWarning(
                "all-tied",
                f"All tied: in {tied[0]} of {tied[1]} queries every result has the same score, so that "
                f"{_TIED[conventions.ties]}.",
                name,
                "Write the scores that the system ranked by, or take the listed order with --scores ignore.",
            )
        )
    first = int((hits.found & (hits.above == 0) & (hits.tied > 0)).sum())
    if tied is None and conventions.ties == "optimistic" and first > TIED_FIRST * len(hits):
        warnings.append(
            DataWarning(
                "gold-tied-first",
                f"{first} of {len(hits)} gold items share the best score with other items, and ties=optimistic counts "
                "each of them first, as where texts without a known word all have one vector.",
                name,
                "Count the mean over the orders with --ties expected, or such texts as misses with --oov miss.",
            )
        )
    missing = missing_queries(hits)
    if conventions.missing == "skip" and missing:
        warnings.append(
            DataWarning(
                "missing-queries",
                f"The run has no results for {len(missing)} of {len(hits.queries)} gold queries, which are left out of "
                f"every mean ({name_some(missing)}).",
                name,
                "Count them as 0 with --missing zero.",
            )
        )
    if hits.order.long_lines:
        warnings.append(
            DataWarning(
                "text-after-tag",
                f"There is text after the tag in {counts(hits.order.long_lines, 'line')}, which is left out, as in "
                "trec_eval.",
                name,
                "Check that no id holds a space, which would shift the columns.",
            )
        )
    return warnings


def _tied_queries(hits: Hits) -> tuple[int, int] | None:
    """How many queries of how many have equal scores throughout, if those are most; read off the found items."""
    depth = hits.depth[hits.query_index]
    informative = hits.found & (depth > 1)
    # Not by np.unique, which imports numpy.ma and so costs a command as much as its work.
    known = int((np.bincount(hits.query_index[informative]) > 0).sum())
    tied = int((np.bincount(hits.query_index[informative & (hits.tied == depth - 1)]) > 0).sum())
    return (tied, known) if 2 * tied > known else None


def missing_queries(hits: Hits) -> list[str]:
    """The queries of the gold for which the run has no results."""
    return [hits.queries[index] for index in np.flatnonzero(hits.depth == 0).tolist()]


def name_some(ids: Sequence[str]) -> str:
    """The first few ids of many, for a message.

    >>> name_some(["q1", "q2"]), name_some([f"q{n}" for n in range(9)])
    ("'q1', 'q2'", "'q0', 'q1', 'q2', 'q3', 'q4' and 4 more")
    """
    shown = ", ".join(shorten(text, 30) for text in ids[:NAMED])
    return shown + (f" and {len(ids) - NAMED} more" if len(ids) > NAMED else "")


def id_warnings(gold: Gold, run: Run, hits: Hits, name: str) -> list[DataWarning]:
    """Ids of gold and run that differ only in how they are written.

    Queries are compared where some are missing on both sides; items in the first rows of the run, and in all of
    them where no judged item was found at all.
    """
    if hits.found.all() and not hits.ignored_queries:
        return []
    from goldrank.io.id_forms import compare_forms

    warnings = []
    missing = missing_queries(hits)
    if missing and hits.ignored_queries and (forms := compare_forms(missing, run.listed().keys() - gold.queries)):
        warnings.append(_form_warning("query", forms.count, str(forms), forms.remedy, name))
    if hits.found.all():
        return warnings
    none_found = not hits.found.any()
    listed = run.listed(None if none_found else SAMPLE_ROWS)
    unfound, ranked = _unfound_items(hits, listed)
    if forms := compare_forms(unfound, ranked):
        warnings.append(_form_warning("item", forms.count, str(forms), forms.remedy, name))
    elif none_found and len(hits):
        warnings.append(
            DataWarning(
                "no-gold-found",
                f"None of the {len(hits)} judged items is among the results (the gold has {shorten(hits.items[0])}, "
                f"the run {shorten(next(chain.from_iterable(listed.values()), None))}).",
                name,
                "Check that the run ranks the corpus that was judged, with the same item ids.",
            )
        )
    return warnings


def self_matches(listed: Mapping[str, Sequence[str]], name: str) -> list[DataWarning]:
    """A run that lists most queries among their own results, where the conventions keep such results."""
    own = [query for query, items in listed.items() if query in items]
    if 2 * len(own) <= len(listed):
        return []
    return [
        DataWarning(
            "self-matches",
            f"{len(own)} of {len(listed)} queries are among their own results, which count like any other.",
            name,
            "Take them out with --self-matches drop if the queries are items of the corpus.",
        )
    ]


def self_matches_by_position(
    listed: Mapping[str, Sequence[str]], dropped: int, name: str, *, kept: bool
) -> list[DataWarning]:
    """The same for queries that are only counted: an item with the number of a query need not be that query."""
    if kept:
        # Where items are searched for by themselves, most come back first.
        return self_matches({query: items[:1] for query, items in listed.items()}, name)
    if not dropped:
        return []
    return [
        DataWarning(
            "dropped-by-position",
            f"{dropped} results were dropped because their id is the position of their query.",
            name,
            "Give dicts with query ids, or self_matches='keep', unless query n is item n.",
        )
    ]


def _unfound_items(hits: Hits, listed: Mapping[str, Sequence[str]]) -> tuple[list[str], list[str]]:
    """The judged items that were not found among the listed queries, and what was listed there without being judged."""
    index = {query: place for place, query in enumerate(hits.queries)}
    found, starts = hits.found.tolist(), hits.starts.tolist()
    unfound: list[str] = []
    ranked: list[str] = []
    for query, items in listed.items():
        place = index.get(query)
        if place is None:
            continue
        judged = range(starts[place], starts[place + 1])
        missed = [hits.items[row] for row in judged if not found[row]]
        if missed:
            unfound += missed
            ranked += set(items).difference(hits.items[row] for row in judged)
    return unfound, ranked


def _form_warning(role: str, count: int, forms: str, remedy: str, name: str) -> DataWarning:
    return DataWarning(
        f"{role}-id-forms",
        f"{counts(count, f'{role} id')} of the gold and the run differ only in {forms}, and do not match.",
        name,
        f"{remedy[0].upper()}{remedy[1:]}.",
    )


def different_queries(missing: Mapping[str, Sequence[str]], skipped: bool) -> list[DataWarning]:
    """Runs that answer different queries; *skipped* says that the others are left out of their means."""
    if len({frozenset(queries) for queries in missing.values()}) < 2:
        return []
    lacking = "; ".join(
        f"{name} lacks {len(queries)} ({name_some(queries)})" for name, queries in missing.items() if queries
    )
    effect = "so that their means are over different queries and none is called best" if skipped else "which count as 0"
    return [
        DataWarning(
            "different-queries",
            f"The runs do not answer the same queries, {effect}: {lacking}.",
            remedy="Compare them on the queries that all answer: goldrank compare --common.",
        )
    ]


def different_depths(depths: Mapping[str, int], metrics: Sequence[Metric]) -> list[DataWarning]:
    """Runs of different depths, where a metric reads further down than the shallower ones go.

    A metric without a cutoff reads everything, and is named where one run is less than half as deep as another.
    """
    answered = {name: depth for name, depth in depths.items() if depth}
    deepest = max(answered.values(), default=0)
    least = min(answered.values(), default=0)
    concerned = [
        str(metric)
        for metric in metrics
        if (2 * least < deepest if metric.cutoff is None else least < min(metric.cutoff, deepest))
    ]
    if not concerned:
        return []
    listed = ", ".join(f"{name} {depth}" for name, depth in answered.items())
    return [
        DataWarning(
            "different-depths",
            f"The runs have different depths ({listed}), less than these metrics read: {', '.join(concerned)}.",
            remedy=f"Cut all runs at the same depth (--depth {least}), or use cutoffs up to {least}.",
        )
    ]


def different_items(listed: Mapping[str, Mapping[str, Sequence[str]]], gold_items: Sequence[str]) -> list[DataWarning]:
    """Runs that hardly share an item beside the judged ones, as runs over different corpora do."""
    warnings = []
    judged = set(gold_items)
    names = list(listed)
    for place, one in enumerate(names):
        for other in names[place + 1 :]:
            common = listed[one].keys() & listed[other].keys()
            first, second = (
                set(chain.from_iterable(listed[name][query] for query in common)) - judged for name in (one, other)
            )
            smaller = min(len(first), len(second))
            if smaller >= LEAST_ITEMS and len(first & second) < SHARED_ITEMS * smaller:
                warnings.append(
                    DataWarning(
                        "different-items",
                        f"{one} and {other} share {len(first & second)} of {smaller} items beside the judged ones "
                        f"({one} has {shorten(min(first - second))}, {other} {shorten(min(second - first))}).",
                        remedy="Check that both rank the same corpus, with the same item ids.",
                    )
                )
    return warnings


def different_judged_shares(shares: Mapping[str, float]) -> list[DataWarning]:
    """Runs of whose top results very different shares are judged, by the share of each run."""
    if max(shares.values(), default=0.0) - min(shares.values(), default=0.0) < JUDGED_GAP:
        return []
    listed = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    return [
        DataWarning(
            "different-judged-shares",
            f"The runs were not judged alike: of the top {JUDGED_DEPTH} results these shares are judged: {listed}. "
            "Unjudged results count as not relevant, which favours the runs that were judged.",
            remedy="Judge the missing results, or rank judged items only with --unjudged drop.",
        )
    ]
