"""`goldrank meta`: which intrinsic evaluator predicts which downstream score, across models?"""

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
  goldrank meta scores.csv --intrinsic 'STS*' EvalRank --kind kendall --plot map.png
  goldrank meta logs.csv --where level=sentence --where run_dist_metric=cos --where metric=MRR,spearman,accuracy
  goldrank meta scores.csv --cluster --pivot accuracy --plot pivot.png
  goldrank meta --from-store --downstream 'probe-*' --format json

A table has the columns model, evaluator, value, and may have kind (intrinsic or downstream) and family; or it
is a log table with model, task, metric, value. An evaluator is named in full, by its first words, or by a pattern.
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    command = options.new_parser("meta", "Which intrinsic evaluator predicts which downstream score?", _EXAMPLES)
    command.intermixed = True
    command.add_argument("table", metavar="TABLE", nargs="?", help="CSV, TSV, JSON(L) or Parquet; - is stdin")
    command.add_argument("--intrinsic", nargs="+", action="extend", metavar="E", help="evaluators to predict with")
    command.add_argument("--downstream", nargs="+", action="extend", metavar="E", help="scores to be predicted")
    command.add_argument("--kind", choices=CORRELATIONS, default="spearman", help="of correlation (default spearman)")
    command.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="COLUMN=VALUE",
        help="only rows that have it; several values after commas, * for any text; repeat it for further columns",
    )
    command.add_argument("--lower", nargs="+", action="extend", default=[], metavar="E", help="here less is better")
    command.add_argument("--cluster", action="store_true", help="resample families of models instead of models")
    command.add_argument("--alpha", type=float, default=0.05, help="level of significance (default 0.05)")
    command.add_argument("--plot", metavar="FILE", help="draw the heat map or the pivot, as .png, .pdf or .svg")
    command.add_argument("--pivot", metavar="E", help="draw each evaluator's order of the models against this score's")
    command.add_argument("--from-store", action="store_true", help="take the stored runs instead of a table")
    stored_runs.add_store(command)
    options.add_statistics(command)
    options.add_output(command)
    return command


def run(args: argparse.Namespace) -> int:
    """Evaluate and show."""
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
        args.kind,
        where=_where(args.where),
        cluster=args.cluster,
        lower=args.lower,
        alpha=args.alpha,
        bootstrap=how,
    )
    if args.plot is not None:
        figure = meta_heat_map(result) if args.pivot is None else meta_pivot(result, args.pivot)
        figure_files.draw_into(args.plot, [figure])
    if args.format != "json":
        for warning in result.warnings:
            printing.say(f"warning: {warning}.")
    options.emit(view(result).render(args.format), args)
    return 0


def _table(args: argparse.Namespace) -> str | Store:
    if args.from_store == (args.table is not None):
        raise InputError(
            "a table and --from-store are given" if args.from_store else "there is neither a table nor --from-store",
            remedy="give one of them",
        )
    if args.from_store:
        return Store.open(args.store)
    options.refuse_unused(args, ["store"], "on a table", "leave it out, or take the stored runs with --from-store")
    table: str = args.table
    return table


def _where(written: list[str]) -> dict[str, list[str]]:
    conditions: dict[str, list[str]] = {}
    for one in written:
        column, equals, value = one.partition("=")
        if not (column and equals and value):
            raise InputError(f"--where {one!r} names no column and value", remedy="write --where level=sentence, say")
        conditions.setdefault(column.strip(), []).extend(part.strip() for part in value.split(","))
    return conditions
