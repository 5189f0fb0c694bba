"""Mean reciprocal rank."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from goldrank.hits import Floats, Ints
from goldrank.metrics.definition import AVERAGE, RELEVANT, Definition, Parameter, Values, register
from goldrank.metrics.expectation import harmonic, mean_over_span
from goldrank.metrics.placement import Placement
from goldrank.metrics.precision_recall import averaged


def _mrr(
    p: Placement, k: int | None, origin: int, of: str, average: str, unfound: str, worst: str, rel: float | None
) -> Values:
    limit = p.count if worst == "queries" else None

    def reciprocal(rank: Ints) -> Floats:
        counted = np.maximum(rank - 1, 1) if origin == 0 else rank
        return 1.0 / (counted if limit is None else np.minimum(counted, limit))

    # The sum of the plain reciprocal over a tie has a closed form; those of the two variants are tabulated.
    cumulative = harmonic if origin == 1 and limit is None else None
    if of == "all":
        return _over_all_gold(p, k, rel, reciprocal, cumulative, unfound, average)
    first = p.groups(rel).of_first()
    value = mean_over_span(first.start, first.size, k, reciprocal, cumulative)
    for i in np.flatnonzero(first.relevant > 1):
        value[i] = _first_of_several(int(first.start[i]), int(first.size[i]), int(first.relevant[i]), k, reciprocal)
    values = np.full(p.count, np.nan if unfound == "skip" else 0.0)
    values[first.query] = value
    return Values(values)


def _over_all_gold(
    p: Placement,
    k: int | None,
    rel: float | None,
    reciprocal: Callable[[Ints], Floats],
    cumulative: Callable[[Ints], Floats] | None,
    unfound: str,
    average: str,
) -> Values:
    relevant = p.is_relevant(p.grade, rel)
    query = p.query[relevant]
    total = p.total(query, mean_over_span(p.alone[relevant], p.alone_size[relevant], k, reciprocal, cumulative))
    gold = p.total(query) if unfound == "skip" else p.relevant_count(rel)
    return averaged(total, gold, average)


def _first_of_several(
    start: int, size: int, relevant: int, k: int | None, reciprocal: Callable[[Ints], Floats]
) -> float:
    """Compute the expected reciprocal rank of the first of several relevant items in one tie.

    The first one is at position x of the tie with probability ``S(x-1) - S(x)``, where ``S(x)``, the probability that
    the first x positions contain none, is the product of ``(size - relevant - i) / (size - i)`` for i < x.
    """
    positions = size - relevant + 1 if k is None else min(size - relevant + 1, k - start)
    if positions <= 0:
        return 0.0
    i = np.arange(positions)
    none_before = np.concatenate(([1.0], np.cumprod((size - relevant - i[:-1]) / (size - i[:-1]))))
    return float(np.sum(none_before * relevant / (size - i) * reciprocal(start + 1 + i)))


register(
    Definition(
        "mrr",
        "Mean reciprocal rank",
        "1 / rank of the first relevant item, 0 if none is in the top k",
        _mrr,
        parameters=(
            Parameter("origin", "0 counts ranks from 0 and lets ranks 0 and 1 both score 1", 1, (1, 0)),
            Parameter(
                "of",
                "all averages over every gold item instead of each query's first",
                "first",
                ("first", "all"),
            ),
            AVERAGE,
            Parameter("unfound", "skip leaves out queries none of whose gold was ranked", "zero", ("zero", "skip")),
            Parameter(
                "worst",
                "queries lets no rank count as larger than the number of queries",
                "none",
                ("none", "queries"),
            ),
            RELEVANT,
        ),
        aliases=("rr", "recip_rank"),
        cite="Kantor & Voorhees, 2000",
        tools=(
            ("trec_eval", "recip_rank: no cutoff"),
            ("ir_measures", "RR@k"),
            ("ranx, sentence-transformers, BEIR, BGE tutorial", "mrr@k"),
            ("SDR", "mrr(origin=0, unfound=skip, worst=queries)"),
            ("transformer_document_embedding", "mrr(origin=0) up to 2023, mrr in 2024"),
            ("EvalRank", "mrr(of=all), one term per positive pair"),
        ),
    )
)
