"""Two runs query by query: a scatter plot around the diagonal, and the sorted differences."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from goldrank.errors import counts, list_first
from goldrank.hits import Floats
from goldrank.reporting.figures.captions import describe_conventions
from goldrank.reporting.figures.description import Axis, Figure, LeftOut, Series
from goldrank.reporting.render.themes import short_names
from goldrank.reporting.text import formatting
from goldrank.scoring import Scores

MOST_POINTS = 5_000
_MOST_BARS = 200
_NAME, _SHORT = 30, 18
"""Maximum number of characters of a run's name on axes and in legends."""
_NAMED_QUERIES = 3


def paired_scatter(
    scores: Mapping[str, Scores], a: str, b: str, *, most: int = MOST_POINTS, seed: int = 0
) -> Figure | LeftOut:
    """Plot the first metric of two runs query by query: above the diagonal, *b* has the higher value."""
    metric = scores[a].metrics[0]
    first, second = (scores[run][str(metric)] for run in (a, b))
    winning = {1: (b,), -1: (a,)}
    a, b = short_names([a, b], _NAME)
    both = np.flatnonzero(~(np.isnan(first.values) | np.isnan(second.values)))
    if not len(both):
        return LeftOut("paired-scatter", f"no query has a value of {metric} in both runs")
    shown = both
    if len(both) > most:
        shown = np.sort(np.random.default_rng(seed).choice(both, most, replace=False))
    points_by_winner: dict[int, dict[tuple[float, float], list[str]]] = defaultdict(lambda: defaultdict(list))
    sign = -1 if metric.definition.direction == "lower" else 1
    for at in shown.tolist():
        x, y = float(first.values[at]), float(second.values[at])
        points_by_winner[sign * ((y > x) - (y < x))][x, y].append(first.queries[at])
    short_a, short_b = short_names([a, b], _SHORT)
    titles = {1: f"{short_b} better", -1: f"{short_a} better", 0: "equal"}
    winners = sign * np.sign((second.values - first.values)[both])
    series = []
    for winner, title in titles.items():
        if points := points_by_winner.get(winner):
            series.append(
                Series(
                    f"{title} ({int((winners == winner).sum())})",
                    tuple(x for x, _ in points),
                    tuple(y for _, y in points),
                    mark="points",
                    labels=tuple(list_first(queries, _NAMED_QUERIES) for queries in points.values()),
                    sizes=tuple(len(queries) for queries in points.values()),
                    faint=winner == 0,
                    runs=winning.get(winner),
                )
            )
    low, high = (0.0, 1.0) if metric.definition.range == "[0, 1]" else (None, None)
    better = "above" if sign > 0 else "below"
    return Figure(
        "paired-scatter",
        f"On which queries do the two differ? {metric}, query by query",
        f"{counts(len(both), 'query', 'queries')}; {better} the diagonal {b} is better, in brackets on how many. "
        f"Queries with the same two values are one point, its area their number; "
        f"{describe_conventions(next(iter(scores.values())))}.",
        Axis(f"{metric} of {a}", low=low, high=high),
        Axis(f"{metric} of {b}", low=low, high=high),
        tuple(series),
        diagonal=True,
        note=f"{most} of the queries are drawn, chosen at random (seed {seed})." if len(both) > most else "",
    )


def differences(scores: Mapping[str, Scores], a: str, b: str) -> Figure | LeftOut:
    """Plot the differences of the first metric between *b* and *a*, sorted; many queries are averaged in groups."""
    name, metric = "differences", scores[a].metrics[0]
    gaps = scores[b][str(metric)].values - scores[a][str(metric)].values
    gaps = np.sort(gaps[~np.isnan(gaps)])[::-1]
    winning = {1: (b,), -1: (a,)}
    a, b = short_names([a, b], _NAME)
    if not gaps.any():
        return LeftOut(name, f"{a} and {b} have the same value of {metric} on every query")
    sign = -1 if metric.definition.direction == "lower" else 1
    gaps = gaps[::sign]
    places, heights = _binned(gaps)
    series = []
    for winner, run in zip((1, -1), short_names([b, a], _SHORT), strict=True):
        bars = [(x, y) for x, y in zip(places, heights, strict=True) if sign * y * winner > 0]
        if bars:
            won = int((sign * winner * gaps > 0).sum())
            x, y = zip(*bars, strict=True)
            series.append(Series(f"{run} better ({won})", x, y, mark="bars", runs=winning[winner]))
    equal = int((gaps == 0).sum())
    wide = math.ceil(len(gaps) / len(places))
    return Figure(
        name,
        f"How much does {b} gain, and lose, against {a}?",
        f"{metric} of {b} minus that of {a}, {counts(len(gaps), 'query', 'queries')} sorted by it; "
        f"{formatting.signed(metric, float(gaps.mean()))} in the mean, {counts(equal, 'query', 'queries')} equal; "
        f"{describe_conventions(next(iter(scores.values())))}.",
        Axis("queries, sorted by difference"),
        Axis(f"{metric}: {b} − {a}", line=0),
        tuple(series),
        note=f"Each bar is the mean of up to {wide} neighbouring queries." if wide > 1 else "",
    )


def _binned(gaps: Floats) -> tuple[list[float], list[float]]:
    """Return the places and heights of the bars: one per query, or the means of equally many neighbours."""
    if len(gaps) <= _MOST_BARS:
        return list(range(1, len(gaps) + 1)), gaps.tolist()
    edges = np.linspace(0, len(gaps), _MOST_BARS + 1).round().astype(int)
    heights = [float(gaps[start:end].mean()) for start, end in pairwise(edges.tolist())]
    wide = len(gaps) / _MOST_BARS
    return [(at + 0.5) * wide for at in range(_MOST_BARS)], heights
