"""`goldrank score`: score runs against gold, with intervals and the conventions in use."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from goldrank.cli import options, printing, slice_options, stored_runs
from goldrank.engines.base import usable_cores
from goldrank.metrics import Metric, Profile, find_profile, parse_all
from goldrank.reporting.text import formatting, results
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.views import View
from goldrank.scoring import HitCounter, Scores, all_warnings, resolve_conventions, score_hits

if TYPE_CHECKING:
    from goldrank.slices import Slice

_EXAMPLES = """\
  goldrank score qrels.txt bm25.run
  goldrank score qrels.txt bm25.run dense.run.gz -M ndcg@10 -M mrr@10 -M recall@100
  goldrank score qrels.txt bm25.run -M 'map(denominator=min)@10' --ties expected
  goldrank score qrels.txt bm25.run --profile trec_eval9 --per-query --format csv
  goldrank score gold.json wines.run --profiles sdr,standard --corpus 1000
  goldrank score wines-wordllama-3f2a -M mrr -M hits@1
  goldrank score qrels.txt bm25.run --slices languages.csv
  goldrank score wines-wordllama-3f2a --slice query_length --slice relevant_items
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("score", "Score runs against gold (relevance judgements).", _EXAMPLES)
    options.add_data(parser)
    options.add_texts(parser)
    options.add_label(parser, "a run")
    stored_runs.add_store(parser)
    options.add_metrics(parser)
    parser.add_argument(
        "--profiles", metavar="PROFILE,…", help="compare several profiles side by side, and explain their differences"
    )
    options.add_per_query(parser)
    parser.add_argument("--no-interval", action="store_true", help="compute no confidence intervals")
    parser.add_argument(
        "--threads",
        type=int,
        default=usable_cores(),
        metavar="N",
        help="number of threads that read the runs, or the parts of one large TREC run",
    )
    slice_options.add_slices(parser)
    options.add_statistics(parser)
    options.add_output(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Score the runs and print the result."""
    stored = stored_runs.are_keys(args)
    _refuse_unused(args, stored)
    by_run, explain, slices = _score_stored(args) if stored else _score_files(args)
    if args.profiles:
        view = _side_by_side(by_run, explain, args)
    else:
        view = _one_profile([scores[0] for scores in by_run.values()], slices, args)
    options.emit(view, args)
    return 0


def _refuse_unused(args: argparse.Namespace, stored: bool) -> None:
    if stored:
        options.refuse_unused(args, ["threads"], "on stored runs")
    else:
        options.refuse_unused(args, ["store"], "on files")
    if slice_options.wants_slices(args):
        options.refuse_unused(args, ["per_query"], "beside --slice and --slices", "leave one of the two out")
    if args.profiles:
        options.refuse_unused(args, ["slices", "slice"], "on several profiles", "give one --profile")
        options.refuse_unused(args, ["profile"], "beside --profiles", "name it in --profiles")
        if args.format not in ("json", "csv"):
            remedy = "add --format json or csv, or give one --profile"
            options.refuse_unused(args, ["per_query"], "on a table of several profiles", remedy)
    if args.no_interval:
        options.refuse_unused(args, options.STATISTICS, "beside --no-interval", "leave one of the two out")


Explain = Callable[[str, Metric, Profile, Profile], Sequence[object] | None]
"""Return the reasons why a metric of a run differs between two profiles, or None if they cannot be determined."""


def _score_files(args: argparse.Namespace) -> tuple[dict[str, list[Scores]], Explain, tuple[Slice, ...]]:
    names = stored_runs.name_files(args)
    chosen = [find_profile(name.strip()) for name in (args.profiles or args.profile or "standard").split(",")]
    metrics = parse_all(chosen[0].metrics if args.metric is None else args.metric)
    how, changes = options.bootstrap(args), options.conventions(args)
    options.refuse_unused_level(args, chosen[0])
    gold, corpus = options.read_gold(args), options.read_corpus(args)
    slices = slice_options.read_slices(args, gold)

    counters: dict[str, HitCounter] = {}

    def score_run(name: str, path: str) -> list[Scores]:
        counter = HitCounter(gold, options.read_run(args, path), corpus)
        if args.profiles:
            counters[name] = counter
        result = [counter.score(metrics, entry, resolve_conventions(entry, changes), name, how) for entry in chosen]
        for scores in result:
            scores.warnings  # noqa: B018 - computed now, so that the run can be freed
        return result

    by_run = _map_runs(score_run, names, args.threads)

    def explain(name: str, metric: Metric, base: Profile, other: Profile) -> Sequence[object]:
        from goldrank.analysis.profile_differences import reasons

        return reasons(counters[name], metric, base, other)

    return by_run, explain, slices


def _score_stored(args: argparse.Namespace) -> tuple[dict[str, list[Scores]], Explain, tuple[Slice, ...]]:
    from goldrank.runs import stored_scores

    runs, changes, how = stored_runs.find_named(args), options.conventions(args), options.bootstrap(args)
    names = args.profiles.split(",") if args.profiles else [args.profile]
    chosen = [stored_scores.choose_profile(runs, name and name.strip()) for name in names]
    options.refuse_unused_level(args, chosen[0])
    metrics = stored_scores.choose_metrics(runs, args.metric, chosen[0], profile_was_given=args.profile is not None)
    by_run: dict[str, list[Scores]] = {key: [] for key in runs}
    # The hits are read once for all profiles.
    runs = {key: replace(run, held_hits=run.hits()) for key, run in runs.items()}
    for entry in chosen:
        counted, notes = stored_scores.count_runs(runs, entry, changes, metrics)
        stored_runs.print_notes(notes)
        for key, hits in counted.items():
            by_run[key].append(score_hits(hits, metrics, profile=entry, name=key, bootstrap=how, **changes))

    if warnings := stored_scores.find_different_data(runs):
        first = next(iter(by_run))
        by_run[first] = [
            replace(scores, prior_warnings=(*warnings, *scores.prior_warnings)) for scores in by_run[first]
        ]

    def explain(name: str, metric: Metric, base: Profile, other: Profile) -> Sequence[object] | None:
        return stored_runs.reasons_of(runs[name], metric, base, other)

    slices: tuple[Slice, ...] = ()
    if slice_options.wants_slices(args):
        stored_scores.refuse_different_gold(runs, {key: run.hits() for key, run in runs.items()})
        slices = slice_options.read_slices(args, next(iter(runs.values())).gold(), runs)
    return by_run, explain, slices


def _map_runs(work: Callable[[str, str], list[Scores]], names: dict[str, str], threads: int) -> dict[str, list[Scores]]:
    """Apply *work* to the runs in parallel; reading a file releases the interpreter lock."""
    if len(names) == 1 or threads <= 1:
        return {name: work(name, path) for name, path in names.items()}
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(threads, len(names))) as pool:
        return dict(zip(names, pool.map(work, names.keys(), names.values()), strict=True))


def _one_profile(all_scores: list[Scores], slices: tuple[Slice, ...], args: argparse.Namespace) -> View:
    options.print_warnings(all_warnings(all_scores), args)
    if args.output is not None and args.format not in ("json", "csv"):
        for line in results.counts_lines(all_scores):
            printing.remark(f"note: {line}")
    intervals = not args.no_interval
    if slices:
        from goldrank.reporting.text import slices as slice_views
        from goldrank.slices.results import slice_scores

        return slice_views.scores_view(slice_scores(all_scores, slices, intervals=intervals), intervals=intervals)
    return results.scores_view(all_scores, intervals=intervals, per_query=args.per_query)


def _side_by_side(by_run: dict[str, list[Scores]], explain: Explain, args: argparse.Namespace) -> View:
    intervals = not args.no_interval
    columns = [list(scores) for scores in zip(*by_run.values(), strict=True)]
    warnings = tuple(dict.fromkeys(warning for scores in columns for warning in all_warnings(scores)))
    options.print_warnings(warnings, args)
    flat = [scores for run_scores in by_run.values() for scores in run_scores]
    shape = {"intervals": intervals, "per_query": args.per_query}
    view = View(
        lambda: {"profiles": [results.scores_json(scores, **shape) for scores in columns]},
        lambda: results.scores_rows(flat, **shape),
        lambda: [_profiles_grid(name, scores, explain, intervals) for name, scores in by_run.items()],
        lambda: [results.warning_lines(warnings)],
        schema="score-profiles",
    )
    return view


def _profiles_grid(name: str, columns: list[Scores], explain: Explain, intervals: bool) -> Grid:
    base, *others = columns
    rows, differences = [], []
    for metric in base:
        cells = [
            Cell(
                formatting.value(scores[metric].metric, scores[metric].value),
                formatting.interval(scores[metric].metric, scores[metric].interval) if intervals else "",
            )
            for scores in columns
        ]
        rows.append([Cell(formatting.heading(base[metric].metric)), *cells])
        for other in others:
            if other[metric].value != base[metric].value:
                reasons = explain(name, base[metric].metric, base.profile, other.profile)
                if reasons is None:
                    why = "the rankings were not stored in full, so the reasons are unknown"
                else:
                    why = "; ".join(map(str, reasons)) or "the conventions have an effect only in combination"
                differences.append(f"· {metric}, {other.profile.name}: {why}")
    notes = [
        *(
            ["Why they differ (each convention of the first profile changed alone, and the effect on the mean):"]
            if differences
            else ["The profiles agree on this run."]
        ),
        *differences,
        "",
        results.basis_line(base, intervals=intervals),
        *(results.conventions_note(scores) for scores in columns),
        *(f"{scores.profile.name}: {scores.profile.notes}" for scores in columns if scores.profile.notes),
        *dict.fromkeys(line for scores in columns for line in results.counts_lines([scores])),
    ]
    return Grid(["metric", *(scores.profile.name for scores in columns)], rows, title=name, notes=notes)
