"""`goldrank plot`: draw figures from stored results."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from goldrank.cli import options, printing, stored_runs
from goldrank.cli.masked_command import add_rules
from goldrank.errors import InputError, unknown_name
from goldrank.masked.scoring.profiles import READINGS
from goldrank.reporting.figures.comparison import NAMES as RANKS
from goldrank.reporting.plots import plot, read_sizes, refuse_unknown, sources_of
from goldrank.reporting.render.matplotlib_files import require_matplotlib
from goldrank.store import StoredRun

_EXAMPLES = """\
  goldrank plot masked-persons-names-majority-3f2a
  goldrank plot KEY KEY --figure accuracy-by-k calibration --unit example -o figures --format pdf
  goldrank plot KEY KEY KEY --figure accuracy-by-size --sizes sizes.csv --theme dark
  goldrank plot KEY --by views masks
  goldrank plot KEY KEY --figure leaderboard differences -M ndcg@10

Figures of masked runs: accuracy-by-k, accuracy-by-size, accuracy-by-length,
accuracy-by-family, accuracy-by-column, distance-histogram, frequent-answers,
calibration. Figures of rankings: rank-curve, metric-by-cutoff, precision-recall,
rank-histogram; of two or more runs on the same gold also leaderboard,
critical-difference, paired-scatter, differences, metric-by-seconds.
"""
_OF_MASKS = ("unit", "sizes", "k", "pool", "matcher", "tier", "aliases")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("plot", "Draw figures from stored results.", _EXAMPLES)
    parser.intermixed = True
    parser.add_argument("keys", metavar="KEY|FILE|FOLDER", nargs="+", help="keys of stored runs, or masked predictions")
    parser.add_argument("--data", metavar="DATA", help="the examples to which files of masked predictions belong")
    parser.add_argument(
        "--figure", nargs="+", action="extend", metavar="NAME", help="figures to draw (default: all that are possible)"
    )
    parser.add_argument(
        "--unit", choices=("mask", "example", "page"), default="mask", help="unit of the accuracy (default mask)"
    )
    parser.add_argument(
        "--by",
        nargs="+",
        action="extend",
        metavar="COLUMN",
        help="columns of the examples for accuracy-by-column (default: all)",
    )
    parser.add_argument(
        "--sizes", metavar="FILE", help="CSV or TSV of models: model, parameters (such as 110M), optionally family"
    )
    parser.add_argument(
        "--profile",
        metavar="PROFILE",
        help="of rankings: set of conventions (default: the runs' own); of masked runs: source (default, a part of the "
        "name is right) or strict (the same person); the other reading is shown beside it",
    )
    options.add_metric(parser, "metric of figures of rankings (default: the runs' own); repeatable")
    parser.add_argument("-o", "--output", metavar="FOLDER", help="folder to write (default ./figures-KEY)")
    parser.add_argument(
        "--format", choices=("png", "svg", "pdf"), default="png", help="format of the files (default png)"
    )
    options.add_figure_style(parser)
    add_rules(parser, profile=False)
    stored_runs.add_store(parser)
    options.add_debug(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Draw all possible figures, and report those that are not."""
    refuse_unknown(args.figure or ())
    sizes = None if args.sizes is None else read_sizes(args.sizes)
    require_matplotlib()
    notes: list[str] = []
    runs, files = sources_of(args.keys, args.store, notes)
    stored_runs.print_notes(notes)
    _refuse_unused(args, runs, files)
    plots = plot(
        [*runs.values(), *files.values()],
        _folder(args, [*runs, *files]),
        figures=args.figure,
        metrics=args.metric,
        profile=args.profile,
        unit=args.unit,
        by=args.by,
        sizes=sizes,
        data=args.data,
        k=args.k,
        pool=args.pool,
        matcher=args.matcher,
        tier=args.tier,
        aliases=args.aliases,
        format=args.format,
        theme=args.theme,
        size=args.size,
        store=args.store,
        on_file=lambda path: printing.show(str(path)),
    )
    stored_runs.print_notes([*plots.notes, *(f"left out {figure.name}: {figure.reason}" for figure in plots.left_out)])
    return 0


def _refuse_unused(args: argparse.Namespace, runs: Mapping[str, StoredRun], files: Mapping[str, str]) -> None:
    if not files:
        options.refuse_unused(args, ["data"], "on stored runs", "leave it out, or give a file of masked predictions")
    masked = bool(files) or any(run.result_kind == "masked" for run in runs.values())
    ranked = any(run.result_kind == "ranked" for run in runs.values())
    figures = set(args.figure or ())
    of_masks, of_ranks = [*_OF_MASKS], ["metric"]
    (of_masks if args.profile in READINGS else of_ranks).append("profile")
    if not masked:
        options.refuse_unused(args, ["by", *of_masks], "on these runs, none of which has masked predictions")
    elif figures and figures <= set(RANKS) and not args.by:
        options.refuse_unused(args, of_masks, "on figures of rankings")
    elif figures and not figures & {"accuracy-by-size", "accuracy-by-family"}:
        options.refuse_unused(args, ["sizes"], "unless accuracy-by-size or accuracy-by-family is drawn")
    if not ranked:
        if masked and args.profile not in (None, *READINGS):
            raise unknown_name("profile of masked runs", args.profile, READINGS, ", ".join(READINGS))
        options.refuse_unused(args, of_ranks, "on these runs, none of which has rankings")
    elif figures and not figures & set(RANKS):
        options.refuse_unused(args, of_ranks, "on figures of masked runs")


def _folder(args: argparse.Namespace, keys: Sequence[str]) -> Path:
    more = f"-and-{len(keys) - 1}-more" if len(keys) > 1 else ""
    folder = Path(f"figures-{keys[0]}{more}" if args.output is None else args.output)
    if folder.exists() and not folder.is_dir():
        raise InputError("this is a file, not a folder", where=str(folder), remedy="name a folder to write into")
    return folder
