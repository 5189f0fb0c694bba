"""`goldrank compare`: paired significance tests of every two runs, with the smallest detectable difference."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from goldrank.analysis.across import INCOMPLETE
from goldrank.cli import options, slice_options, stored_runs
from goldrank.comparing import Comparison, compare, compare_hits
from goldrank.errors import InputError, shorten
from goldrank.metrics import find_profile, parse_all
from goldrank.reporting.text import across
from goldrank.reporting.text.comparison import CORRECTIONS, TESTS, view

if TYPE_CHECKING:
    from goldrank.slices import Slice

_EXAMPLES = """\
  goldrank compare qrels.txt bm25.run dense.run
  goldrank compare qrels.txt *.run -M ndcg@10 -M mrr@10 --correction bh
  goldrank compare qrels.txt a.run b.run -M hit_rate@10 --test mcnemar
  goldrank compare qrels.txt *.run -M ndcg@10 --test tukey
  goldrank compare qrels.txt a.run b.run --missing skip --format json
  goldrank compare wines-bm25-91c0 wines-wordllama-3f2a -M mrr
  goldrank compare qrels.txt a.run b.run --slices languages.csv
  goldrank compare wines-bm25-91c0 wines-wordllama-3f2a --slice query_length --find-slices
  goldrank compare --across --task wines --task games --task questions
  goldrank compare --across --task wines --task games --incomplete tasks -M ndcg@10 --format latex
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("compare", "Compare runs by paired tests over their queries.", _EXAMPLES)
    options.add_data(parser)
    options.add_texts(parser)
    options.add_label(parser, "a run")
    stored_runs.add_store(parser)
    options.add_metrics(parser)
    parser.add_argument(
        "--test",
        choices=tuple(TESTS),
        default="randomisation",
        help="two-sided paired test (default randomisation)",
    )
    parser.add_argument(
        "--correction",
        choices=tuple(name for name in CORRECTIONS if name != "tukey"),
        help="correction for multiple comparisons (default holm; --test tukey needs none)",
    )
    parser.add_argument(
        "--family",
        choices=("metric", "all"),
        default="metric",
        help="correct over the pairs of each metric (default), or over all pairs of all metrics",
    )
    _add_across(parser)
    options.add_alpha(parser)
    slice_options.add_slices(parser)
    parser.add_argument(
        "--find-slices",
        action="store_true",
        help="find the slices on which two runs differ most, corrected for the search; without --slice and --slices "
        "by all attributes of the queries, derived ones too",
    )
    options.add_statistics(parser)
    options.add_output(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Compare the runs and print the result."""
    if args.across:
        return _run_across(args)
    options.refuse_unused(args, ["incomplete", "resample_tasks"], "without --across")
    how = {
        **options.keywords(args, ("test", "correction", "family", "alpha")),
        "bootstrap": options.bootstrap(args),
        **options.conventions(args),
    }
    comparison, slices = _compare_stored(args, how) if stored_runs.are_keys(args) else _compare_files(args, how)
    every = args.output is not None or args.format != "table" or args.verbose
    if not slices:
        options.print_warnings(comparison.warnings, args)
        options.emit(view(comparison, all_pairs=every), args)
        return 0
    from goldrank.reporting.text.slices import comparison_view
    from goldrank.slices.results import slice_comparison
    from goldrank.slices.search import find_slices

    search = find_slices(comparison, slices) if args.find_slices else None
    # Attributes that were not named are searched only: their tables would hide what was found.
    sliced = slice_comparison(comparison, slices if slice_options.wants_slices(args) else (), search)
    options.print_warnings(sliced.warnings, args)
    options.emit(comparison_view(sliced, all_pairs=every), args)
    return 0


def _add_across(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("across tasks")
    group.add_argument(
        "--across",
        action="store_true",
        help="compare the models of stored runs across their tasks, by the first metric of each task",
    )
    group.add_argument(
        "--incomplete",
        choices=tuple(INCOMPLETE),
        default="error",
        help=f"if a model has no result on a task: {options.describe_choices(INCOMPLETE)} (default error)",
    )
    group.add_argument(
        "--resample-tasks",
        action="store_true",
        help="resample tasks instead of the queries within tasks, for a statement on tasks like these",
    )


def _run_across(args: argparse.Namespace) -> int:
    from goldrank.analysis.across import compare_across

    unused = [
        "test",
        "correction",
        "family",
        "interval",
        "slice",
        "slices",
        "find_slices",
        *(["resamples", "seed"] if args.resample_tasks else []),
    ]
    options.refuse_unused(args, unused, "on --across" + " --resample-tasks" * args.resample_tasks)
    if len(args.metric or ()) > 1:
        raise InputError("several metrics are given with --across", remedy="name the main metric only")
    if not stored_runs.are_keys(args):
        raise InputError(
            "files cannot be compared across tasks", remedy="give keys of stored runs, or --task TASK for each task"
        )
    result = compare_across(
        stored_runs.find(args).values(),
        store=args.store,
        labels=options.labels(args),
        metrics=args.metric,
        **options.keywords(args, ("profile", "incomplete", "resample_tasks", "alpha")),
        bootstrap=options.bootstrap(args),
        **options.conventions(args),
    )
    options.emit(across.view(result), args)
    return 0


Compared = tuple[Comparison, tuple["Slice", ...]]


def _compare_files(args: argparse.Namespace, how: dict[str, Any]) -> Compared:
    names = stored_runs.name_files(args)
    options.refuse_unused(args, ["store"], "on files")
    options.refuse_unused_level(args, find_profile(args.profile or "standard"))
    _refuse_one_run(names, f", and {shorten(args.gold)} is read as the gold")
    metrics = None if args.metric is None else parse_all(args.metric)
    gold = options.read_gold(args)
    slices = slice_options.read_slices(args, gold, search=args.find_slices)
    comparison = compare(
        gold,
        {name: options.read_run(args, path) for name, path in names.items()},
        metrics,
        profile=args.profile or "standard",
        corpus=options.read_corpus(args),
        **how,
    )
    return comparison, slices


def _compare_stored(args: argparse.Namespace, how: dict[str, Any]) -> Compared:
    from goldrank.runs import stored_scores
    from goldrank.runs.run import was_given_every_query

    runs = stored_runs.find_named(args)
    _refuse_one_run(runs)
    profile = stored_scores.choose_profile(runs, args.profile)
    options.refuse_unused_level(args, profile)
    metrics = stored_scores.choose_metrics(runs, args.metric, profile, profile_was_given=args.profile is not None)
    hits, notes = stored_scores.count_runs(runs, profile, options.conventions(args), metrics)
    stored_scores.refuse_different_gold(runs, hits)
    stored_runs.print_notes(notes)
    slices: tuple[Slice, ...] = ()
    if slice_options.wants_slices(args) or args.find_slices:
        first = next(iter(runs.values()))
        slices = slice_options.read_slices(args, first.gold(), runs, search=args.find_slices)
    evaluated = [key for key, run in runs.items() if was_given_every_query(run)]
    comparison = compare_hits(hits, metrics, profile=profile, evaluated=evaluated, **how)
    return replace(comparison, prior_warnings=stored_scores.find_different_data(runs)), slices


def _refuse_one_run(runs: Mapping[str, object], gold: str = "") -> None:
    if len(runs) < 2:
        raise InputError(f"a comparison needs two runs or more{gold}", remedy="name at least two runs")
