"""`goldrank plot`: figures from stored results, without a model."""

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
from goldrank.reporting.render.themes import SIZES, THEMES
from goldrank.store import StoredRun

_EXAMPLES = """\
  goldrank plot masked-persons-names-majority-3f2a
  goldrank plot KEY KEY --figure accuracy-by-k calibration --unit example -o figures --format pdf
  goldrank plot KEY KEY KEY --figure accuracy-by-size --sizes sizes.csv --theme dark
  goldrank plot KEY --by views masks
  goldrank plot KEY KEY --figure leaderboard differences -M ndcg@10

Figures of masked runs: accuracy-by-k, accuracy-by-size, accuracy-by-length, accuracy-by-family, accuracy-by-column,
distance-histogram, frequent-answers, calibration. Figures of runs that rank: rank-curve, metric-by-cutoff,
precision-recall, rank-histogram; of two or more on the same gold also leaderboard, critical-difference,
paired-scatter, differences, metric-by-seconds. Without --figure all are drawn that the runs allow. SIZES is a table
with the columns model, parameters (such as 110M) and perhaps family.
"""
_OF_MASKS = ("unit", "sizes", "k", "pool", "matcher", "tier", "aliases")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    command = options.new_parser("plot", "Figures from stored results, without a model.", _EXAMPLES)
    command.intermixed = True
    command.add_argument("keys", metavar="KEY|FILE|FOLDER", nargs="+", help="stored runs, or guesses at masks")
    command.add_argument("--data", metavar="DATA", help="the examples that files of guesses at masks are about")
    command.add_argument("--figure", nargs="+", action="extend", metavar="NAME", help="only these (default: all)")
    command.add_argument(
        "--unit", choices=("mask", "example", "page"), default="mask", help="what accuracy counts (default mask)"
    )
    command.add_argument(
        "--by",
        nargs="+",
        action="extend",
        metavar="COLUMN",
        help="columns of the examples for accuracy-by-column (default: all that the data has)",
    )
    command.add_argument("--sizes", metavar="FILE", help="CSV or TSV with model, parameters and perhaps family")
    command.add_argument(
        "--profile",
        metavar="P",
        help="conventions of rank figures (default: the runs' own); of masked runs source (default, a part of the name "
        "is right) or strict (the same person), with the other reading beside it",
    )
    options.add_metric(command, "of rank figures (default: the runs' own; repeatable)")
    command.add_argument("-o", "--output", metavar="FOLDER", help="where to write (default ./figures-KEY)")
    command.add_argument("--format", choices=("png", "svg", "pdf"), default="png", help="of the files (default png)")
    command.add_argument("--theme", choices=tuple(THEMES), default="light", help="colours (default light)")
    command.add_argument("--size", choices=tuple(SIZES), default="double", help="columns of a paper (default double)")
    add_rules(command, profile=False)
    stored_runs.add_store(command)
    command.add_argument("--debug", action="store_true", help="show a traceback on errors")
    return command


def run(args: argparse.Namespace) -> int:
    """Draw every figure that the runs allow, and say which ones they do not."""
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
    stored_runs.print_notes([*plots.notes, *(f"left out {one.name}: {one.reason}" for one in plots.left_out)])
    return 0


def _refuse_unused(args: argparse.Namespace, runs: Mapping[str, StoredRun], files: Mapping[str, str]) -> None:

    if not files:
        options.refuse_unused(args, ["data"], "on stored runs", "leave it out, or give a file of guesses at masks")
    masked = bool(files) or any(one.result_kind == "masked" for one in runs.values())
    ranked = any(one.result_kind == "ranked" for one in runs.values())
    asked = set(args.figure or ())
    of_masks, of_ranks = [*_OF_MASKS], ["metric"]
    (of_masks if args.profile in READINGS else of_ranks).append("profile")
    if not masked:
        options.refuse_unused(args, ["by", *of_masks], "on these runs, none of which holds guesses at masks")
    elif asked and asked <= set(RANKS) and not args.by:
        options.refuse_unused(args, of_masks, "on figures of rankings")
    elif asked and not asked & {"accuracy-by-size", "accuracy-by-family"}:
        options.refuse_unused(args, ["sizes"], "unless accuracy-by-size or accuracy-by-family is drawn")
    if not ranked:
        if masked and args.profile not in (None, *READINGS):
            raise unknown_name("profile of masked runs", args.profile, READINGS, ", ".join(READINGS))
        options.refuse_unused(args, of_ranks, "on these runs, none of which holds rankings")
    elif asked and not asked & set(RANKS):
        options.refuse_unused(args, of_ranks, "on figures of masked runs")


def _folder(args: argparse.Namespace, keys: Sequence[str]) -> Path:
    more = f"-and-{len(keys) - 1}-more" if len(keys) > 1 else ""
    folder = Path(f"figures-{keys[0]}{more}" if args.output is None else args.output)
    if folder.exists() and not folder.is_dir():
        raise InputError("this is a file, not a folder", where=str(folder), remedy="name a folder to write into")
    return folder
