"""`goldrank plot`: draw figures of run files or stored results."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from goldrank.cli import options, printing, stored_runs
from goldrank.cli.masked_command import RULES, add_rules
from goldrank.data.collections import gold_alone
from goldrank.errors import InputError, unknown_name
from goldrank.io.files import run_names
from goldrank.masked.scoring.profiles import READINGS
from goldrank.reporting.figures.comparison import NAMES as RANKS
from goldrank.reporting.plots import plot, refuse_unknown, sources_of
from goldrank.reporting.render.matplotlib_files import require_matplotlib
from goldrank.store import StoredRun

_EXAMPLES = """\
  goldrank plot qrels.txt bm25.run dense.run
  goldrank plot masked-persons-names-majority-3f2a
  goldrank plot KEY KEY --figure accuracy-by-k calibration --unit example -o figures --format pdf
  goldrank plot KEY KEY KEY --figure accuracy-by-size --sizes sizes.csv --theme dark
  goldrank plot KEY --by views masks
  goldrank plot KEY KEY --figure leaderboard differences -M ndcg@10
  goldrank plot --task wines --label small=st:BAAI/bge-small-en-v1.5

Figures of masked runs: accuracy-by-k, accuracy-by-size, accuracy-by-length,
accuracy-by-family, accuracy-by-column, distance-histogram, frequent-answers,
calibration. Figures of rankings: rank-curve, metric-by-cutoff, precision-recall,
rank-histogram; of two or more runs on the same gold also leaderboard,
significance-groups, paired-scatter, differences, metric-by-seconds.
"""
_OF_MASKS = ("unit", "sizes", *RULES)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("plot", "Draw figures of run files or stored results.", _EXAMPLES)
    parser.intermixed = True
    parser.add_argument(
        "keys",
        metavar="GOLD RUN|KEY|FILE|FOLDER",
        nargs="*",
        help="relevance judgements (qrels) and run files; or keys of stored runs; or files or folders of masked "
        "predictions",
    )
    options.add_stored_task(parser)
    options.add_file_options(parser)
    options.add_label(parser, "a run")
    options.add_scores(parser)
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
    options.add_general(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Draw all possible figures, and report those that are not."""
    refuse_unknown(args.figure or ())
    require_matplotlib()
    keywords: dict[str, Any] = {}
    if _are_gold_and_runs(args):
        options.refuse_unused(args, ["store"], "on files, which are not stored")
        masks = "on rankings, which hold no masked predictions"
        options.refuse_unused(args, ["by", *_OF_MASKS], masks)
        if args.profile in READINGS:
            options.refuse_unused(args, ["profile"], masks)
        sources: list[Any] = args.runs
        keywords = {**options.file_keywords(args), "scores": args.scores}
        names = list(run_names(args.runs))
    else:
        remedy = "leave it out, or give GOLD and run files"
        options.refuse_unused(args, ["corpus", "gold_format", "run_format", "scores"], "without gold and runs", remedy)
        notes: list[str] = []
        stored, files = _find_sources(args, notes)
        stored_runs.print_notes(notes)
        _refuse_unused(args, stored, files)
        sources, names = [*stored, *files.values()], [*(run.key for run in stored), *files]
        keywords["store"] = args.store
    plots = plot(
        sources,
        _folder(args, names),
        **keywords,
        labels=options.labels(args),
        figures=args.figure,
        metrics=args.metric,
        **options.keywords(args, ("profile", "unit", "by", "sizes", "data", *RULES, "format", "theme", "size")),
        on_file=lambda path: printing.show(str(path)),
    )
    printing.warn(plots.warnings)
    stored_runs.print_notes([*plots.notes, *(f"left out {figure.name}: {figure.reason}" for figure in plots.left_out)])
    return 0


def _are_gold_and_runs(args: argparse.Namespace) -> bool:
    """Return True if the first argument is a file of gold; the others are then run files."""
    args.keys = stored_runs.expand_tasks(args, args.keys)
    args.gold, *args.runs = args.keys
    if args.task is not None:
        return False
    if args.data is not None or not (args.gold == "-" or args.gold_format or gold_alone.matches(Path(args.gold))):
        return False
    stored_runs.name_files(args)
    return True


def _find_sources(args: argparse.Namespace, notes: list[str]) -> tuple[list[StoredRun], dict[str, str]]:
    """Return the stored runs and the files of predictions by name, those that only a label names too."""
    stored, files = sources_of(args.keys, args.store, notes)
    known = {*(run.model for run in stored), *files, *files.values()}
    only_labelled = [
        spec
        for spec in options.labels(args).values()
        if args.task is None and spec not in known and not any(run.key.startswith(spec) for run in stored)
    ]
    if only_labelled:
        more, more_files = sources_of(only_labelled, args.store, notes)
        stored, files = [*stored, *more], run_names([*files.values(), *more_files.values()])
    return stored, files


def _refuse_unused(args: argparse.Namespace, runs: Sequence[StoredRun], files: Mapping[str, str]) -> None:
    if not files:
        options.refuse_unused(args, ["data"], "on stored runs", "leave it out, or give a file of masked predictions")
    masked = bool(files) or any(run.result_kind == "masked" for run in runs)
    ranked = any(run.result_kind == "ranked" for run in runs)
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
    folder = Path(f"figures-{keys[0].replace(os.sep, '-')}{more}" if args.output is None else args.output)
    if folder.exists() and not folder.is_dir():
        raise InputError("this is a file, not a folder", where=str(folder), remedy="name a folder to write into")
    return folder
