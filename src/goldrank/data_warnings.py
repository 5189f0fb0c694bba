"""Detect data that makes the scores of a run, or the comparison of several runs, misleading."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations

import numpy as np

from goldrank.errors import DataWarning, counts, list_first, shorten
from goldrank.hits import Gold, Hits, Run
from goldrank.metrics import Conventions, Metric
from goldrank.ordering import CHOICES_TEXT

SAMPLE_ROWS = 5_000
"""How many rows of a run are checked for item ids; scoring itself does not read the ids of unjudged items."""
NAMED = 5
"""How many ids a message names."""
LEAST_ITEMS = 20
"""Two runs are checked for common items only if each has at least this many unjudged items."""
SHARED_ITEMS = 0.01
"""Two runs that share less than this part of their items seem to rank different corpora."""
JUDGED_DEPTH = 10
JUDGED_GAP = 0.2
"""The difference between the shares of judged items in the top ``JUDGED_DEPTH`` of two runs that causes a warning."""
JUDGED_QUERIES = 10
"""Over fewer queries such a difference may be chance."""

TIED_FIRST = 0.1
"""The share of gold items tied for the first rank, and counted as first, that causes a warning."""

_TIED = {
    "docid": "the order is that of the ids",
    "input": "the order is that of the input",
    "pessimistic": "the gold is last in every list",
    "optimistic": "the gold is first in every list",
    "expected": "the scores are those of a random order",
}


def run_warnings(hits: Hits, conventions: Conventions, name: str) -> Iterator[DataWarning]:
    """Yield the warnings about one run that follow from its hits."""
    if hits.order.contradicts:
        better = "lower" if hits.scores == "distance" else "higher"
        sentence = hits.order.sentence
        yield DataWarning(
            "order-contradicts-scores",
            f"{sentence[0].upper()}{sentence[1:]}; here {better} scores count as better.",
            name,
            f"Say what the scores are with --scores (in Python scores=): {CHOICES_TEXT}.",
        )
    if (tied := _tied_queries(hits)) is not None:
        yield DataWarning(
            "all-tied",
            f"All tied: in {tied[0]} of {tied[1]} queries every result has the same score, so that "
            f"{_TIED[conventions.ties]}.",
            name,
            "Write the scores that the system ranked by, or take the listed order with --scores ignore.",
        )
    first = int((hits.found & (hits.above == 0) & (hits.tied > 0)).sum())
    if tied is None and conventions.ties == "optimistic" and first > TIED_FIRST * len(hits):
        yield DataWarning(
            "gold-tied-first",
            f"{first} of {len(hits)} gold items share the best score with other items, and ties=optimistic counts "
            "each of them first, as where texts without a known word all have one vector.",
            name,
            "Count the mean over the orders with --ties expected, or such texts as misses with --oov miss.",
        )
    missing = missing_queries(hits)
    if conventions.missing == "skip" and missing:
        yield DataWarning(
            "missing-queries",
            f"The run has no results for {len(missing)} of {len(hits.queries)} gold queries, which are left out of "
            f"every mean ({name_some(missing)}).",
            name,
            "Count them as 0 with --missing zero.",
        )
    if hits.order.long_lines:
        yield DataWarning(
            "text-after-tag",
            f"There is text after the tag in {counts(hits.order.long_lines, 'line')}, which is left out, as in "
            "trec_eval.",
            name,
            "Check that no id contains a space, which would shift the columns.",
        )


def _tied_queries(hits: Hits) -> tuple[int, int] | None:
    """Return the number of queries whose results all tie, and of all queries where that is known, if most do."""
    depth = hits.depth[hits.query_index]
    informative = hits.found & (depth > 1)
    # np.unique would import numpy.ma, which takes as long as the whole command.
    known = int((np.bincount(hits.query_index[informative]) > 0).sum())
    tied = int((np.bincount(hits.query_index[informative & (hits.tied == depth - 1)]) > 0).sum())
    return (tied, known) if 2 * tied > known else None


def missing_queries(hits: Hits) -> list[str]:
    """Return the queries of the gold for which the run has no results."""
    return [hits.queries[index] for index in np.flatnonzero(hits.depth == 0).tolist()]


def name_some(ids: Sequence[str]) -> str:
    """Return the first few ids for a message, and how many more there are.

    >>> name_some(["q1", "q2"]), name_some([f"q{n}" for n in range(9)])
    ("'q1', 'q2'", "'q0', 'q1', 'q2', 'q3', 'q4' and 4 more")
    """
    return list_first(ids, NAMED, lambda text: shorten(text, 30))


def id_warnings(gold: Gold, run: Run, hits: Hits, name: str) -> Iterator[DataWarning]:
    """Yield warnings about ids of gold and run that differ only in how they are written.

    Query ids are compared if some are unmatched on both sides. Item ids are compared in the first rows of the run, or
    in all rows if no judged item was ranked at all.
    """
    if hits.found.all() and not hits.ignored_queries:
        return
    from goldrank.io.id_forms import compare_forms

    missing = missing_queries(hits)
    if missing and hits.ignored_queries and (forms := compare_forms(missing, run.listed_items().keys() - gold.queries)):
        yield _form_warning("query", forms.count, str(forms), forms.remedy, name)
    if hits.found.all():
        return
    none_found = not hits.found.any()
    listed = run.listed_items(None if none_found else SAMPLE_ROWS)
    unfound, ranked = _unfound_items(hits, listed)
    if forms := compare_forms(unfound, ranked):
        yield _form_warning("item", forms.count, str(forms), forms.remedy, name)
    elif none_found and len(hits):
        yield DataWarning(
            "no-gold-found",
            f"None of the {len(hits)} judged items is among the results (the gold has {shorten(hits.items[0])}, "
            f"the run {shorten(next(chain.from_iterable(listed.values()), None))}).",
            name,
            "Check that the run ranks the corpus that was judged, with the same item ids.",
        )


def self_matches(listed: Mapping[str, Sequence[str]], name: str) -> Iterator[DataWarning]:
    """Yield a warning if most queries are among their own results; for conventions that keep such results."""
    own = [query for query, items in listed.items() if query in items]
    if 2 * len(own) <= len(listed):
        return
    yield DataWarning(
        "self-matches",
        f"{len(own)} of {len(listed)} queries are among their own results, which count like any other.",
        name,
        "Take them out with --self-matches drop if the queries are items of the corpus.",
    )


def self_matches_by_position(
    listed: Mapping[str, Sequence[str]], dropped: int, name: str, *, counted: bool
) -> Iterator[DataWarning]:
    """Yield warnings about self-matches of queries without ids: item 3 need not be the query at position 3."""
    if counted:
        # If the queries are the items, most queries are their own first result.
        yield from self_matches({query: items[:1] for query, items in listed.items()}, name)
    elif dropped:
        yield DataWarning(
            "dropped-by-position",
            f"{dropped} results were dropped because their id is the position of their query.",
            name,
            "Give dicts with query ids, or self_matches='keep', unless query n is item n.",
        )


def _unfound_items(hits: Hits, listed: Mapping[str, Sequence[str]]) -> tuple[list[str], list[str]]:
    """Return the judged items that the listed queries do not rank, and the unjudged items that these queries rank."""
    positions = {query: position for position, query in enumerate(hits.queries)}
    is_ranked, starts = hits.found.tolist(), hits.starts.tolist()
    unfound: list[str] = []
    ranked: list[str] = []
    for query, items in listed.items():
        position = positions.get(query)
        if position is None:
            continue
        judged = range(starts[position], starts[position + 1])
        missed = [hits.items[row] for row in judged if not is_ranked[row]]
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


def different_queries(missing: Mapping[str, Sequence[str]], skipped: bool) -> Iterator[DataWarning]:
    """Yield a warning if runs lack different queries; *skipped* says that these are left out of the means."""
    if len({frozenset(queries) for queries in missing.values()}) < 2:
        return
    lacking = "; ".join(
        f"{name} lacks {len(queries)} ({name_some(queries)})" for name, queries in missing.items() if queries
    )
    effect = "so that their means are over different queries and none is called best" if skipped else "which count as 0"
    yield DataWarning(
        "different-queries",
        f"The runs do not answer the same queries, {effect}: {lacking}.",
        remedy="Compare them on the queries that all answer: goldrank compare --missing skip.",
    )


def different_depths(depths: Mapping[str, int], metrics: Sequence[Metric]) -> Iterator[DataWarning]:
    """Yield a warning if a metric reads further down than the shallowest run goes.

    A metric without a cutoff reads everything; it is affected if one run is less than half as deep as another.
    """
    answered = {name: depth for name, depth in depths.items() if depth}
    deepest = max(answered.values(), default=0)
    least = min(answered.values(), default=0)
    affected = [
        str(metric)
        for metric in metrics
        if (2 * least < deepest if metric.cutoff is None else least < min(metric.cutoff, deepest))
    ]
    if not affected:
        return
    listed = ", ".join(f"{name} {depth}" for name, depth in answered.items())
    yield DataWarning(
        "different-depths",
        f"The runs have different depths ({listed}), less than these metrics read: {', '.join(affected)}.",
        remedy=f"Cut all runs at the same depth (--depth {least}), or use cutoffs up to {least}.",
    )


def different_items(
    listed: Mapping[str, Mapping[str, Sequence[str]]], gold_items: Sequence[str]
) -> Iterator[DataWarning]:
    """Yield a warning for each pair of runs that share hardly any unjudged item, as runs over different corpora."""
    judged = set(gold_items)
    for a, b in combinations(listed, 2):
        common = listed[a].keys() & listed[b].keys()
        items_a, items_b = (
            set(chain.from_iterable(listed[name][query] for query in common)) - judged for name in (a, b)
        )
        smaller = min(len(items_a), len(items_b))
        if smaller >= LEAST_ITEMS and len(items_a & items_b) < SHARED_ITEMS * smaller:
            yield DataWarning(
                "different-items",
                f"{a} and {b} share {len(items_a & items_b)} of {smaller} items beside the judged ones "
                f"({a} has {shorten(min(items_a - items_b))}, {b} {shorten(min(items_b - items_a))}).",
                remedy="Check that both rank the same corpus, with the same item ids.",
            )


def different_judged_shares(shares: Mapping[str, float]) -> Iterator[DataWarning]:
    """Yield a warning if the shares of judged items among the top results differ much between the runs."""
    if max(shares.values(), default=0.0) - min(shares.values(), default=0.0) < JUDGED_GAP:
        return
    listed = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    yield DataWarning(
        "different-judged-shares",
        f"The runs were not judged alike: of the top {JUDGED_DEPTH} results these shares are judged: {listed}. "
        "Unjudged results count as not relevant, which favours the runs that were judged.",
        remedy="Judge the missing results, or rank judged items only with --unjudged drop.",
    )
