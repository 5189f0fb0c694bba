"""`goldrank compare`: paired tests of every two runs, corrected, with the smallest difference the data can show."""

from __future__ import annotations

import argparse
from typing import Any

from goldrank.cli import numbers, options, results, stored
from goldrank.cli.grids import Cell, Grid, render
from goldrank.comparing import Comparison, Pair, compare, compare_hits
from goldrank.errors import InputError
from goldrank.metrics import parse_all

_EXAMPLES = """\
  goldrank compare qrels.txt bm25.run dense.run
  goldrank compare qrels.txt *.run -m ndcg@10 -m mrr@10 --correction bh
  goldrank compare qrels.txt a.run b.run -m hit_rate@10 --test mcnemar
  goldrank compare qrels.txt a.run b.run --common --format json
  goldrank compare wines-bm25-91c0 wines-wordllama-3f2a -m mrr
"""
_TESTS = {
    "randomisation": "randomisation test",
    "t": "t test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "mcnemar": "McNemar's exact test",
}
_CORRECTIONS = {"holm": "after Holm", "bh": "after Benjamini–Hochberg", "none": "uncorrected"}


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = options.new_parser("compare", "Compare runs query by query.", _EXAMPLES)
    options.add_data(made, "*")
    stored.add_store(made)
    options.add_metrics(made)
    # A stored run has a profile of its own, so it must be known whether one was asked for.
    made.set_defaults(profile=None)
    made.add_argument("--test", choices=tuple(_TESTS), default="randomisation", help="paired test (two-sided)")
    made.add_argument("--correction", choices=tuple(_CORRECTIONS), default="holm", help="for several comparisons")
    made.add_argument(
        "--family",
        choices=("metric", "all"),
        default="metric",
        help="correct over the pairs of each metric, or over all",
    )
    made.add_argument("--alpha", type=float, default=0.05, help="level of significance (default 0.05)")
    made.add_argument("--common", action="store_true", help="only the queries for which every run has results")
    options.add_statistics(made)
    options.add_output(made)
    return made


def run(args: argparse.Namespace) -> int:
    """Compare and show."""
    how = {
        "common": args.common,
        "test": args.test,
        "correction": args.correction,
        "family": args.family,
        "alpha": args.alpha,
        "bootstrap": options.bootstrap(args),
        **options.conventions(args),
    }
    comparison = _compare_stored(args, how) if stored.are_keys(args) else _compare_files(args, how)
    options.emit(show(comparison, args.format), args)
    return 0


def _compare_files(args: argparse.Namespace, how: dict[str, Any]) -> Comparison:
    stored.refuse_no_runs(args)
    names = options.run_names(args.runs)
    metrics = None if args.metric is None else parse_all(args.metric)
    gold = options.read_gold(args)
    return compare(
        gold,
        {name: options.read_run(args, path) for name, path in names.items()},
        metrics,
        profile=args.profile or "standard",
        corpus=options.read_corpus(args),
        **how,
    )


def _compare_stored(args: argparse.Namespace, how: dict[str, Any]) -> Comparison:
    runs = stored.find(args)
    if len(runs) < 2:
        raise InputError("a comparison needs two runs or more", remedy="name at least two")
    profile = stored.own_profile(runs, args.profile)
    metrics = stored.own_metrics(runs, args, profile)
    hits, notes = stored.count(runs, profile, options.conventions(args))
    stored.refuse_different_gold(runs, hits)
    stored.print_notes(notes)
    return compare_hits(hits, metrics, profile=profile, **how)


def show(comparison: Comparison, look: str) -> str:
    """The comparison in the format asked for."""
    if look == "json":
        return results.to_json(as_json(comparison))
    if look == "csv":
        return _as_csv(comparison)
    shown = render([scores_grid(comparison), _pairs_grid(comparison)], look)
    verdicts = "\n".join(_verdict(pair, comparison) for pair in comparison.pairs)
    return verdicts + "\n\n" + shown if look == "table" else shown


def scores_grid(comparison: Comparison) -> Grid:
    """Runs by metrics, with superscripts for the runs that each significantly beats."""
    runs = list(comparison.scores)
    marks = dict(zip(runs, numbers.letters(len(runs)), strict=True))
    superscripts = {
        (run, metric): "".join(sorted(marks[beaten] for beaten in comparison.better_than(metric, run))).translate(
            numbers.SUPERSCRIPTS
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
    return f"{_TESTS[comparison.test]}, {_CORRECTIONS[comparison.correction]}{corrected}"


def _pairs_grid(comparison: Comparison) -> Grid:
    headings = [
        "metric",
        "b − a",
        "difference",
        "p",
        f"p {_CORRECTIONS[comparison.correction]}",
        "effect d",
        "W/T/L",
        "detectable",
    ]
    rows = []
    for pair in comparison.pairs:
        metric = comparison.scores[pair.a][pair.metric].metric
        rows.append(
            [
                Cell(numbers.heading(metric)),
                Cell(f"{pair.b} − {pair.a}"),
                Cell(numbers.signed(metric, pair.difference), _bounds(pair, comparison)),
                Cell(numbers.p_value(pair.p)),
                Cell(numbers.p_value(pair.adjusted), best=pair.adjusted <= comparison.alpha),
                Cell("–" if pair.effect != pair.effect else f"{pair.effect:+.2f}".replace("-", "−")),
                Cell(f"{pair.wins}/{pair.ties}/{pair.losses}"),
                Cell(numbers.value(metric, pair.detectable)),
            ]
        )
    notes = [
        "W/T/L: queries on which the first is better, equal, worse. Effect d: mean difference over its standard "
        "deviation. Detectable: the smallest true difference this many queries would show with power 0.8 at α = 0.05.",
        *dict.fromkeys(f"{pair.metric}: {pair.note}." for pair in comparison.pairs if pair.note),
    ]
    return Grid(headings, rows, notes=notes, text_columns=2)


def _bounds(pair: Pair, comparison: Comparison) -> str:
    if pair.interval is None:
        return ""
    metric = comparison.scores[pair.a][pair.metric].metric
    return f"[{numbers.signed(metric, pair.interval.low)}, {numbers.signed(metric, pair.interval.high)}]"


def _verdict(pair: Pair, comparison: Comparison) -> str:
    metric = comparison.scores[pair.a][pair.metric].metric
    winner = pair.winner(comparison.alpha, metric.definition.direction)
    size = f"{numbers.value(metric, abs(pair.difference))} {_bounds(pair, comparison)}".rstrip()
    if winner is not None:
        loser = pair.a if winner == pair.b else pair.b
        p = numbers.p_value(pair.adjusted)
        p = f"p {p}" if p.startswith("<") else f"p = {p}"
        return f"{winner} beats {loser} on {pair.metric} by {size}, {p} {_CORRECTIONS[comparison.correction]}."
    if pair.note and pair.p != pair.p:
        return f"On {pair.metric}, {pair.b} and {pair.a} differ by {size}, untested: {pair.note}."
    could = numbers.value(metric, pair.detectable)
    return (
        f"On {pair.metric} the data cannot tell {pair.b} from {pair.a}: {numbers.signed(metric, pair.difference)}, "
        f"p = {numbers.p_value(pair.adjusted)}; {pair.queries} queries could show a difference of {could}."
    )


def as_json(comparison: Comparison) -> dict[str, Any]:
    """The scores in the shape of `score`, and every pair."""
    content = results.scores_json(list(comparison.scores.values()), intervals=True, per_query=False)
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
        "difference": results.number(pair.difference),
        "low": None if pair.interval is None else pair.interval.low,
        "high": None if pair.interval is None else pair.interval.high,
        "p": results.number(pair.p),
        "p_adjusted": results.number(pair.adjusted),
        "effect": results.number(pair.effect),
        "detectable": results.number(pair.detectable),
        "wins": pair.wins,
        "ties": pair.ties,
        "losses": pair.losses,
        "better": pair.winner(comparison.alpha, direction),
        "note": pair.note,
    }


def _as_csv(comparison: Comparison) -> str:
    rows = [_pair_json(pair, comparison) for pair in comparison.pairs]
    first = next(iter(comparison.scores.values()))
    more = {
        "test": comparison.test,
        "correction": comparison.correction,
        "profile": first.profile.name,
        "conventions": results.conventions_line(first),
    }
    return results.to_csv([[*rows[0], *more], *([*row.values(), *more.values()] for row in rows)])
