"""Score without leaks and with near-duplicates merged, to show how much of a score is due to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from goldrank import stats
from goldrank.encoders.rankings import top_items
from goldrank.hits import Gold, Run
from goldrank.scoring import Scores, score
from goldrank.tasks.ranking.data import RankingData
from goldrank.tasks.ranking.data_quality import DataQuality
from goldrank.tasks.ranking.task import RankingTask

MOST_RESULTS = 5_000_000
"""Longer runs are not scored again without near-duplicates."""


def score_effects(
    quality: DataQuality, data: RankingData, scores: Mapping[str, Scores], runs: Iterable[tuple[str, Run]]
) -> dict[str, str]:
    """Return, by the code of a warning, how the first metric of each model changes without its cause.

    Args:
        quality: leaks and near-duplicates of the data.
        data: the data that was ranked.
        scores: the scores of each model.
        runs: the rankings of each model; they are read only if there are near-duplicates.
    """
    effects = {}
    for code, leaking in quality.leaks.by_code().items():
        if leaking:
            effects[code] = _without(frozenset(leaking), scores)
    if quality.groups:
        effects["near-duplicate-items"] = _collapsed(quality.groups, data, scores, runs)
    return effects


def _without(leaking: frozenset[str], scores: Mapping[str, Scores]) -> str:
    changes = []
    for model, model_scores in scores.items():
        metric, value = next(iter(model_scores.items()))
        clean = np.array([query not in leaking for query in value.queries], bool)
        if not clean.any():
            return "No query is left without these."
        weights = None if value.weights is None else value.weights[clean]
        rest = stats.aggregate(value.values[clean], weights, value.metric.definition.aggregate)
        changes.append(f"{rest:.4f} instead of {value.value:.4f} ({model})")
    return f"Without these queries {metric} is {', '.join(changes)}."


def _collapsed(
    groups: tuple[tuple[str, ...], ...],
    data: RankingData,
    scores: Mapping[str, Scores],
    runs: Iterable[tuple[str, Run]],
) -> str:
    changes = []
    for model, run in runs:
        if len(run.columns.items) > MOST_RESULTS:
            continue
        model_scores = scores[model]
        metric = model_scores.metrics[0]
        conventions = model_scores.conventions.as_dict()
        changed = {"profile": model_scores.profile, "corpus": data.corpus, **conventions}
        before = score(data.gold, run, [metric], **changed)[str(metric)].value
        judged, ranked = collapse_duplicates(data.gold, run, groups, data.task)
        after = score(Gold(judged), Run(ranked), [metric], **changed)[str(metric)].value
        changes.append(f"{after - before:+.4f} ({model})")
    if not changes:
        return "What they do to the scores was not computed."
    return f"Counted as one item each, near-duplicates change {metric} by {', '.join(changes)}."


def collapse_duplicates(
    gold: Gold, run: Run, groups: tuple[tuple[str, ...], ...], task: RankingTask
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """Return gold and rankings in which each group of near-duplicates is one item.

    The item has the best rank and the highest grade of its group. If queries are corpus items, the query itself is
    left out of its ranking, so that a copy of the query is an item like any other.

    >>> gold, run = Gold({"q": {"b": 1}}), Run({"q": {"a": 3.0, "c": 2.0, "b": 1.0}})
    >>> from goldrank.tasks.catalogue import find_task
    >>> collapse_duplicates(gold, run, (("a", "b"),), find_task("questions"))
    ({'q': {'a': 1.0}}, {'q': {'a': 3.0, 'c': 2.0}})
    """
    first = {item: group[:2] for group in groups for item in group}
    related = task.kind != "retrieval"

    def named(item: str, query: str) -> str:
        names = first.get(item, (item,))
        return names[0] if names[0] != query or not related or len(names) < 2 or item == query else names[1]

    judged: dict[str, dict[str, float]] = {}
    for query, grades in gold.to_dict().items():
        row = judged.setdefault(query, {})
        for item, grade in grades.items():
            name = named(item, query)
            row[name] = max(grade, row.get(name, grade))
    rankings: dict[str, dict[str, float]] = {}
    for query, ranking in run.to_dict().items():
        merged = rankings.setdefault(query, {})
        for item, value in top_items(ranking).items():
            if not (related and item == query):
                merged.setdefault(named(item, query), value)
    return judged, rankings
