"""The sound data that the traps damage: 30 queries with two relevant items each, and rankings of 20 items."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from benchmarks.traps.trap import Judgments, Rankings

_random = random.Random(14)
QUERIES = [f"q{number:02}" for number in range(1, 31)]
ITEMS = [f"d{number:03}" for number in range(200)]


def _gold() -> Judgments:
    return {query: dict.fromkeys(_random.sample(ITEMS, 2), 1) for query in QUERIES}


def _run(gold: Judgments, best: int, worst: int, depth: int = 20) -> Rankings:
    """Rankings of *depth* items in which the relevant items stand between two ranks."""
    run: Rankings = {}
    for query, judged in gold.items():
        others = [item for item in _random.sample(ITEMS, depth + 2) if item not in judged]
        ranking = others[: depth - len(judged)]
        for item in judged:
            ranking.insert(_random.randint(best - 1, worst - 1), item)
        run[query] = {item: round(1 - 0.04 * place, 4) for place, item in enumerate(ranking)}
    return run


GOLD = _gold()
RUN = _run(GOLD, 1, 6)
WORSE = _run(GOLD, 3, 18)


def qrels(gold: Mapping[str, Mapping[str, float]], line: str = "{query} 0 {item} {grade}") -> str:
    """TREC qrels."""
    return "".join(
        line.format(query=query, item=item, grade=grade) + "\n"
        for query, judged in gold.items()
        for item, grade in judged.items()
    )


def trec(
    run: Mapping[str, Mapping[str, float]],
    line: str = "{query} Q0 {item} {rank} {score} tag",
    score: Callable[[int, float], object] = lambda rank, score: score,
) -> str:
    """A TREC run whose rank column counts in the order of the mapping."""
    return "".join(
        line.format(query=query, item=item, rank=rank, score=score(rank, value)) + "\n"
        for query, ranking in run.items()
        for rank, (item, value) in enumerate(ranking.items(), start=1)
    )


def rename_items(rows: Mapping[str, Mapping[str, float]], rename: Callable[[str], str]) -> dict[str, dict[str, float]]:
    """The same rows with other item ids."""
    return {query: {rename(item): value for item, value in ranking.items()} for query, ranking in rows.items()}


def ndcg10(gold: Mapping[str, Mapping[str, float]], run: Mapping[str, Mapping[str, float]]) -> float:
    """nDCG@10 with linear gain over all queries of the gold, written out: the reference of the traps."""
    import math

    total = 0.0
    for query, judged in gold.items():
        ranking = sorted(run.get(query, {}).items(), key=lambda entry: (entry[1], entry[0]), reverse=True)[:10]
        gains = [max(judged.get(item, 0), 0) / math.log2(place + 2) for place, (item, _) in enumerate(ranking)]
        ideal = sorted((max(grade, 0) for grade in judged.values()), reverse=True)[:10]
        best = sum(grade / math.log2(place + 2) for place, grade in enumerate(ideal))
        total += sum(gains) / best if best else 0.0
    return total / len(gold)


TRUTH = ndcg10(GOLD, RUN)
