"""`goldrank meta`: measure which intrinsic evaluators predict downstream scores across models."""

from __future__ import annotations

import argparse

from goldrank.analysis.meta import meta
from goldrank.cli import figure_files, options, printing, stored_runs
from goldrank.errors import InputError
from goldrank.reporting.figures.evaluators import meta_heat_map, meta_pivot
from goldrank.reporting.text.meta import view
from goldrank.stats import CORRELATIONS
from goldrank.store import Store

_EXAMPLES = """\
  goldrank meta scores.csv --downstream accuracy f1
  goldrank meta scores.csv --intrinsic 'STS*' EvalRank --correlation kendall --plot map.png
  goldrank meta logs.csv --where level=sentence --where run_dist_metric=cos --where metric=MRR,spearman,accuracy
  goldrank meta scores.csv --cluster --pivot accuracy --plot pivot.png
  goldrank meta --from-store --downstream 'probe-*' --format json

A table has the columns model, evaluator and value, and optionally kind (intrinsic
or downstream) and family; or it is a log table with model, task, metric and value.
Evaluators are selected by full name, by their first words, or by a pattern.
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("meta", "Measure which intrinsic evaluators predict downstream scores.", _EXAMPLES)
    parser.intermixed = True
    parser.add_argument(
        "table", metavar="TABLE", nargs="?", help="CSV, TSV, JSON(L) or Parquet file; - for standard input"
    )
    parser.add_argument(
        "--intrinsic", nargs="+", action="extend", metavar="NAME", help="evaluators that predict (default: by kind)"
    )
    parser.add_argument(
        "--downstream", nargs="+", action="extend", metavar="NAME", help="scores to predict (default: by kind)"
    )
    parser.add_argument(
        "--correlation", choices=CORRELATIONS, default="spearman", help="kind of correlation (default spearman)"
    )
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="COLUMN=VALUE",
        help="use only rows with this value; several values separated by commas, * matches any text; repeatable",
    )
    parser.add_argument(
        "--lower", nargs="+", action="extend", default=[], metavar="NAME", help="scores of which lower is better"
    )
    parser.add_argument("--cluster", action="store_true", help="resample families of models instead of models")
    options.add_alpha(parser)
    parser.add_argument("--plot", metavar="FILE", help="draw a heat map, or with --pivot the orders of models")
    parser.add_argument("--pivot", metavar="NAME", help="downstream score to whose order of models others are compared")
    parser.add_argument("--from-store", action="store_true", help="use the stored runs instead of a table")
    stored_runs.add_store(parser)
    options.add_statistics(parser)
    options.add_output(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Compute the meta-evaluation and print the result."""
    how = options.bootstrap(args)
    if args.pivot is not None and args.plot is None:
        raise InputError("--pivot draws a figure", remedy="name its file with --plot")
    options.refuse_unwritable(args)
    if args.plot is not None:
        figure_files.check_file(args.plot)
    result = meta(
        _table(args),
        args.intrinsic,
        args.downstream,
        args.correlation,
        where=_where(args.where),
        cluster=args.cluster,
        lower=args.lower,
        alpha=args.alpha,
        bootstrap=how,
    )
    if args.plot is not None:
        figure = meta_heat_map(result) if args.pivot is None else meta_pivot(result, args.pivot)
        figure_files.draw_into(args.plot, [figure])
    stored_runs.print_notes([result.table.reading])
    if args.format != "json":
        for warning in result.warnings:
            printing.say(f"warning: {warning}.")
    options.emit(view(result), args)
    return 0


def _table(args: argparse.Namespace) -> str | Store:
    if args.from_store == (args.table is not None):
        raise InputError(
            "a table and --from-store are given" if args.from_store else "there is neither a table nor --from-store",
            remedy="give one of them",
        )
    if args.from_store:
        return Store.open(args.store)
    options.refuse_unused(args, ["store"], "on a table", "leave it out, or use the stored runs with --from-store")
    table: str = args.table
    return table


def _where(written: list[str]) -> dict[str, list[str]]:
    conditions: dict[str, list[str]] = {}
    for condition in written:
        column, equals, value = condition.partition("=")
        if not (column and equals and value):
            raise InputError(
                f"--where {condition!r} is not a column with a value", remedy="write it as in --where level=sentence"
            )
        conditions.setdefault(column.strip(), []).extend(part.strip() for part in value.split(","))
    return conditions
