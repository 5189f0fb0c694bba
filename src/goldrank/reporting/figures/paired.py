"""Two runs against each other, query by query: as points around the diagonal, and as sorted differences."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import pairwise

import numpy as np

from goldrank.comparing import Comparison
from goldrank.errors import counts
from goldrank.hits import Floats
from goldrank.reporting.figures.captions import conventions_of, first_of, metric_of
from goldrank.reporting.figures.description import Axis, Figure, LeftOut, Series
from goldrank.reporting.render.themes import short_names
from goldrank.reporting.text import formatting

MOST_POINTS = 5_000
_MOST_BARS = 200
_NAME, _SHORT = 30, 18
"""How many characters of a run's name axes and legends have room for."""
_NAMED_QUERIES = 3


def paired_scatter(
    comparison: Comparison, a: str, b: str, metric: str | None = None, *, most: int = MOST_POINTS, seed: int = 0
) -> Figure | LeftOut:
    """Two runs query by query: those above the diagonal went better for *b* (where more is better)."""
    chosen = metric_of(comparison, metric)
    first, second = (comparison.scores[run][str(chosen)] for run in (a, b))
    a, b = short_names([a, b], _NAME)
    both = np.flatnonzero(~(np.isnan(first.values) | np.isnan(second.values)))
    if not len(both):
        return LeftOut("paired-scatter", f"no query has a value of {chosen} in both runs")
    drawn = both
    if len(both) > most:
        drawn = np.sort(np.random.default_rng(seed).choice(both, most, replace=False))
    ways: dict[int, dict[tuple[float, float], list[str]]] = defaultdict(lambda: defaultdict(list))
    sign = -1 if chosen.definition.direction == "lower" else 1
    for at in drawn.tolist():
        x, y = float(first.values[at]), float(second.values[at])
        ways[sign * ((y > x) - (y < x))][x, y].append(first.queries[at])
    short_a, short_b = short_names([a, b], _SHORT)
    titles = {1: f"{short_b} better", -1: f"{short_a} better", 0: "equal"}
    whole = sign * np.sign((second.values - first.values)[both])
    series = []
    for way, title in titles.items():
        if points := ways.get(way):
            series.append(
                Series(
                    f"{title} ({int((whole == way).sum())})",
                    tuple(x for x, _ in points),
                    tuple(y for _, y in points),
                    mark="points",
                    labels=tuple(map(_listed, points.values())),
                    sizes=tuple(len(queries) for queries in points.values()),
                    faint=way == 0,
                )
            )
    low, high = (0.0, 1.0) if chosen.definition.range == "[0, 1]" else (None, None)
    better = "above" if sign > 0 else "below"
    return Figure(
        "paired-scatter",
        f"On which queries do the two differ? {chosen}, query by query",
        f"{counts(len(both), 'query', 'queries')}; {better} the diagonal {b} is better, in brackets on how many. "
        f"Queries with the same two values are one point, its area their number; "
        f"{conventions_of(first_of(comparison))}.",
        Axis(f"{chosen} of {a}", low=low, high=high),
        Axis(f"{chosen} of {b}", low=low, high=high),
        tuple(series),
        diagonal=True,
        note=f"{most} of the queries are drawn, chosen at random (seed {seed})." if len(both) > most else "",
    )


def differences(comparison: Comparison, a: str, b: str, metric: str | None = None) -> Figure | LeftOut:
    """What *b* gains and loses against *a* on each query, sorted; neighbours are averaged where there are many."""
    name, chosen = "differences", metric_of(comparison, metric)
    gaps = comparison.scores[b][str(chosen)].values - comparison.scores[a][str(chosen)].values
    gaps = np.sort(gaps[~np.isnan(gaps)])[::-1]
    a, b = short_names([a, b], _NAME)
    if not gaps.any():
        return LeftOut(name, f"{a} and {b} have the same value of {chosen} on every query")
    if chosen.definition.direction == "lower":
        gaps = gaps[::-1]
    places, heights = _binned(gaps)
    sign = -1 if chosen.definition.direction == "lower" else 1
    series = []
    for way, run in zip((1, -1), short_names([b, a], _SHORT), strict=True):
        chosen_bars = [(x, y) for x, y in zip(places, heights, strict=True) if sign * y * way > 0]
        if chosen_bars:
            won = int((sign * way * gaps > 0).sum())
            x, y = zip(*chosen_bars, strict=True)
            series.append(Series(f"{run} better ({won})", x, y, mark="bars"))
    equal = int((gaps == 0).sum())
    wide = math.ceil(len(gaps) / len(places))
    return Figure(
        name,
        f"How much does {b} gain, and lose, against {a}?",
        f"{chosen} of {b} minus that of {a}, {counts(len(gaps), 'query', 'queries')} sorted by it; "
        f"{formatting.signed(chosen, float(gaps.mean()))} in the mean, {counts(equal, 'query', 'queries')} equal; "
        f"{conventions_of(first_of(comparison))}.",
        Axis("queries, sorted by difference"),
        Axis(f"{chosen}: {b} − {a}", line=0),
        tuple(series),
        note=f"Each bar is the mean of up to {wide} neighbouring queries." if wide > 1 else "",
    )


def _binned(gaps: Floats) -> tuple[list[float], list[float]]:
    """Places and heights of the bars: one a query, or the means of equally many neighbours."""
    if len(gaps) <= _MOST_BARS:
        return list(range(1, len(gaps) + 1)), gaps.tolist()
    edges = np.linspace(0, len(gaps), _MOST_BARS + 1).round().astype(int)
    heights = [float(gaps[start:end].mean()) for start, end in pairwise(edges.tolist())]
    wide = len(gaps) / _MOST_BARS
    return [(at + 0.5) * wide for at in range(_MOST_BARS)], heights


def _listed(queries: list[str]) -> str:
    more = len(queries) - _NAMED_QUERIES
    return ", ".join(queries[:_NAMED_QUERIES]) + (f" and {more} more" if more > 0 else "")
