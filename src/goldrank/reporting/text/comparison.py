"""A comparison of runs as people read it: verdicts first, then the scores and every pair; or as JSON and CSV."""

from __future__ import annotations

from typing import Any

from goldrank.comparing import Comparison, Pair
from goldrank.metrics import Metric
from goldrank.reporting.text import formatting, results
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.views import View

TESTS = {
    "randomisation": "randomisation test",
    "t": "t test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "mcnemar": "McNemar's exact test",
    "tukey": "Tukey's HSD, two-way analysis of variance with queries as blocks",
}
CORRECTIONS = {
    "holm": "after Holm",
    "bh": "after Benjamini–Hochberg",
    "none": "uncorrected",
    "tukey": "after Tukey",
}


def view(comparison: Comparison) -> View:
    """Return the comparison in all its forms."""
    return View(
        lambda: as_json(comparison),
        lambda: _rows(comparison),
        lambda: [scores_grid(comparison), pairs_grid(comparison)],
        lambda: [
            results.warning_lines(comparison.warnings),
            "\n".join(verdict(pair, comparison) for pair in comparison.pairs),
        ],
    )


def scores_grid(comparison: Comparison) -> Grid:
    """Return a table of runs by metrics, with superscripts for the runs that each significantly beats."""
    runs = list(comparison.scores)
    marks = dict(zip(runs, formatting.letters(len(runs)), strict=True))
    superscripts = {
        (run, metric): "".join(sorted(marks[beaten] for beaten in comparison.better_than(metric, run))).translate(
            formatting.SUPERSCRIPTS
        )
        for run in runs
        for metric in comparison.scores[run]
    }
    grid = results.score_grid(
        list(comparison.scores.values()),
        intervals=True,
        marks=superscripts,
        labels={run: f"{marks[run]} {run}" for run in runs},
    )
    note = f"Superscripts: significantly better than that run ({_tested(comparison)}, α = {comparison.alpha:g})."
    if comparison.reduced_to_common:
        note += f" Reduced to the common queries: {comparison.reduced_to_common} left out."
    return Grid(grid.headings, grid.rows, notes=[note, *grid.notes])


def _tested(comparison: Comparison) -> str:
    over = "the pairs of each metric" if comparison.family == "metric" else "all pairs and metrics"
    corrected = "" if comparison.correction == "none" else f" over {over}"
    return f"{TESTS[comparison.test]}, {CORRECTIONS[comparison.correction]}{corrected}"


def pairs_grid(comparison: Comparison) -> Grid:
    """Return a table of all pairs of runs with difference, test and effect."""
    headings = [
        "metric",
        "b − a",
        "difference",
        "p",
        f"p {CORRECTIONS[comparison.correction]}",
        "effect d",
        "W/T/L",
        "detectable",
    ]
    rows = []
    for pair in comparison.pairs:
        metric = comparison.scores[pair.a][pair.metric].metric
        rows.append(
            [
                Cell(formatting.heading(metric)),
                Cell(f"{pair.b} − {pair.a}"),
                Cell(formatting.signed(metric, pair.difference), formatting.signed_interval(metric, pair.interval)),
                Cell(formatting.p_value(pair.p)),
                Cell(formatting.p_value(pair.adjusted), best=pair.adjusted <= comparison.alpha),
                Cell("–" if pair.effect != pair.effect else f"{pair.effect:+.2f}".replace("-", "−")),
                Cell(f"{pair.wins}/{pair.ties}/{pair.losses}"),
                Cell(formatting.value(metric, pair.detectable)),
            ]
        )
    notes = [
        "W/T/L: queries on which the first is better, equal, worse. Effect d: mean difference over its standard "
        "deviation. Detectable: the smallest true difference this many queries would show with power 0.8 at α = 0.05.",
        *dict.fromkeys(f"{pair.metric}: {pair.note}." for pair in comparison.pairs if pair.note),
    ]
    return Grid(headings, rows, notes=notes, text_columns=2)


def _size_bounds(pair: Pair, metric: Metric) -> str:
    """Format the interval of the absolute difference, whose direction counts as positive."""
    if pair.interval is None:
        return ""
    ends = [pair.interval.low, pair.interval.high]
    low, high = ends if pair.difference >= 0 else [-end for end in reversed(ends)]
    return f"[{_end(metric, low)}, {_end(metric, high)}]"


def _end(metric: Metric, value: float) -> str:
    return formatting.value(metric, value) if value >= 0 else formatting.signed(metric, value)


def verdict(pair: Pair, comparison: Comparison) -> str:
    """Return a sentence on which of two runs is better, or whether the data cannot tell."""
    metric = comparison.scores[pair.a][pair.metric].metric
    winner = pair.winner(comparison.alpha, metric.definition.direction)
    size = f"{formatting.value(metric, abs(pair.difference))} {_size_bounds(pair, metric)}".rstrip()
    if winner is not None:
        loser = pair.a if winner == pair.b else pair.b
        p = formatting.p_clause(pair.adjusted)
        return f"{winner} beats {loser} on {pair.metric} by {size}, {p} {CORRECTIONS[comparison.correction]}."
    if pair.note and pair.p != pair.p:
        return f"On {pair.metric}, {pair.b} and {pair.a} differ by {size}, untested: {pair.note}."
    could = formatting.value(metric, pair.detectable)
    return (
        f"On {pair.metric} the data cannot tell {pair.b} from {pair.a}: {formatting.signed(metric, pair.difference)}, "
        f"p = {formatting.p_value(pair.adjusted)}; {pair.queries} queries could show a difference of {could}."
    )


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Return the scores in the shape of `goldrank score`, and every pair."""
    content = results.scores_json(list(comparison.scores.values()), intervals=True, per_query=False)
    content["warnings"] = [warning.to_dict() for warning in comparison.warnings]
    content["comparison"] = {
        "test": comparison.test,
        "correction": comparison.correction,
        "family": comparison.family,
        "alpha": comparison.alpha,
        "queries_left_out": comparison.reduced_to_common,
        "pairs": [_pair_json(pair, comparison) for pair in comparison.pairs],
    }
    return content


def _pair_json(pair: Pair, comparison: Comparison) -> dict[str, Any]:
    direction = comparison.scores[pair.a][pair.metric].metric.definition.direction
    return {
        "metric": pair.metric,
        "a": pair.a,
        "b": pair.b,
        "queries": pair.queries,
        "difference": pair.difference,
        **results.limits(pair.interval),
        "p": pair.p,
        "p_adjusted": pair.adjusted,
        "effect": pair.effect,
        "detectable": pair.detectable,
        "wins": pair.wins,
        "ties": pair.ties,
        "losses": pair.losses,
        "better": pair.winner(comparison.alpha, direction),
        "note": pair.note,
    }


def _rows(comparison: Comparison) -> list[list[Any]]:
    rows = [_pair_json(pair, comparison) for pair in comparison.pairs]
    first = next(iter(comparison.scores.values()))
    more = {
        "test": comparison.test,
        "correction": comparison.correction,
        "profile": first.profile.name,
        "conventions": results.conventions_line(first),
    }
    return [[*rows[0], *more], *([*row.values(), *more.values()] for row in rows)]
