"""A comparison of runs as people read it: verdicts first, then the scores and every pair; or as JSON and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from goldrank.comparing import Comparison, Flaw, Pair
from goldrank.reporting.text import formatting, results
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.verdicts import verdict_lines, verdicts
from goldrank.reporting.text.views import View
from goldrank.scoring import best_first

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


def view(comparison: Comparison, *, all_pairs: bool = False) -> View:
    """Return the comparison in all its forms.

    Args:
        comparison: The comparison.
        all_pairs: Whether tables have every pair, instead of the best run against each other one and neighbours.
    """
    return View(
        lambda: as_json(comparison),
        lambda: pair_rows(comparison),
        lambda: [scores_grid(comparison), pairs_grid(comparison, shown_pairs(comparison, all_pairs=all_pairs))],
        lambda: [
            results.warning_lines(comparison.warnings),
            "\n".join(verdict_lines(comparison)),
        ],
        schema="compare",
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
    note = f"Superscripts: significantly better than that run ({describe_test(comparison)}, α = {comparison.alpha:g})."
    if comparison.reduced_to_common:
        note += f" Only the queries that every run answers: {comparison.reduced_to_common} left out."
    return replace(grid, notes=[note, *grid.notes])


def describe_test(comparison: Comparison) -> str:
    """Return the test, the correction, and what it corrects over."""
    over = "the pairs of each metric" if comparison.family == "metric" else "all pairs and metrics"
    corrected = "" if comparison.correction == "none" else f" over {over}"
    return f"{TESTS[comparison.test]}, {CORRECTIONS[comparison.correction]}{corrected}"


def pairs_grid(comparison: Comparison, pairs: Sequence[Pair] | None = None) -> Grid:
    """Return a table of pairs of runs, by default of all, with difference, test and effect."""
    pairs = comparison.pairs if pairs is None else pairs
    headings = [
        "metric",
        "pair",
        "difference",
        "p",
        f"p {CORRECTIONS[comparison.correction]}",
        "effect d",
        "W/T/L",
        "detectable",
    ]
    rows = []
    for pair in pairs:
        metric = comparison.scores[pair.a][pair.metric].metric
        rows.append(
            [
                Cell(formatting.heading(metric)),
                Cell(f"{pair.b} − {pair.a}"),
                Cell(formatting.signed(metric, pair.difference), formatting.signed_interval(metric, pair.interval)),
                Cell(formatting.p_value(pair.p)),
                Cell(formatting.p_value(pair.adjusted), best=pair.adjusted <= comparison.alpha and not pair.unfit),
                Cell(formatting.signed_number(pair.effect, 2)),
                Cell(f"{pair.wins}/{pair.ties}/{pair.losses}"),
                Cell(formatting.value(metric, pair.detectable)),
            ]
        )
    notes = [
        "W/T/L: queries on which the first is better, equal, worse. Effect d: mean difference over its standard "
        "deviation. Detectable: the smallest true difference this many queries would show with power 0.8 at α = 0.05.",
        *dict.fromkeys(f"{pair.metric}: {pair.note}." for pair in comparison.pairs if pair.note),
    ]
    if len(comparison.scores) > 2 and comparison.correction != "none":
        notes.append("Intervals of single differences are not corrected for the number of pairs.")
    if len(pairs) < len(comparison.pairs):
        notes.append(
            f"The best run against each other one, and neighbours: {len(pairs)} of {len(comparison.pairs)} pairs; "
            "--verbose and files have all."
        )
    if comparison.unfit:
        notes.append(f"Not compared, because broken: {', '.join(sorted(comparison.unfit))}.")
    return Grid(headings, rows, notes=notes, text_columns=2, key_columns=2)


def shown_pairs(comparison: Comparison, *, all_pairs: bool) -> list[Pair]:
    """Return the pairs of a table; of three runs or more, each with the better run first, best pairs first."""
    if len(comparison.scores) < 3:
        return comparison.pairs
    pairs = []
    for metric in next(iter(comparison.scores.values())):
        place = {run: at for at, run in enumerate(best_first(comparison.scores, metric))}
        main = comparison.main_pairs(metric)
        of_metric = [pair for pair in comparison.pairs if pair.metric == metric] if all_pairs else main
        ordered = [pair if place[pair.b] < place[pair.a] else pair.reverse() for pair in of_metric]
        pairs += sorted(ordered, key=lambda pair: (place[pair.b], place[pair.a]))
    return pairs


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
        "verdict": verdicts(comparison),
        "decisions": {metric: _decision_json(comparison, metric) for metric in next(iter(comparison.scores.values()))},
        "broken": [_flaw_json(flaw) for flaw in comparison.flaws],
        "pairs": [pair_json(pair, comparison) for pair in comparison.pairs],
    }
    return content


def _decision_json(comparison: Comparison, metric: str) -> dict[str, Any]:
    """Return what the tests say of the run with the best value."""
    direction = next(iter(comparison.scores.values()))[metric].metric.definition.direction
    order = [] if direction == "neither" else comparison.order(metric)
    pairs = {other: comparison.pair(metric, order[0], other) for other in order[1:]}
    outcomes = {other: pair.outcome(comparison.alpha, direction) for other, pair in pairs.items()}
    better_than = [other for other in pairs if other in comparison.better_than(metric, order[0])]
    equal_to = [other for other, outcome in outcomes.items() if outcome == "equal"]
    undecided = [other for other in outcomes if other not in better_than and other not in equal_to]
    return {
        "leader": order[0] if order else None,
        "better_than": better_than,
        "equal_to": equal_to,
        "cannot_tell_from": undecided,
        "cannot_tell": bool(undecided),
    }


def _flaw_json(flaw: Flaw) -> dict[str, Any]:
    return {
        "run": flaw.run,
        "answered": flaw.answered,
        "queries": flaw.queries,
        "retrieved_judged": not flaw.none_judged,
        "compared": not flaw.unfit,
    }


def pair_json(pair: Pair, comparison: Comparison) -> dict[str, Any]:
    """Return the test of a pair as JSON data."""
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
        "outcome": pair.outcome(comparison.alpha, direction),
        "note": pair.note,
    }


def pair_rows(comparison: Comparison) -> list[list[Any]]:
    """Return a row for each pair, after the headings."""
    rows = [pair_json(pair, comparison) for pair in comparison.pairs]
    first = next(iter(comparison.scores.values()))
    more = {
        "test": comparison.test,
        "correction": comparison.correction,
        "profile": first.profile.name,
        "conventions": results.conventions_line(first),
    }
    return [[*rows[0], *more], *([*row.values(), *more.values()] for row in rows)]
