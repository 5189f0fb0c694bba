"""`goldrank meta`: which intrinsic evaluator predicts which downstream score, across models?"""

from __future__ import annotations

import argparse
from typing import Any

from goldrank.analysis.meta import MetaResult, Table, evaluate_meta, read_table, rows_from_store
from goldrank.analysis.meta.result import Extreme, bounds, or_lowest, signed
from goldrank.cli import figure_files, options, printing, stored_runs
from goldrank.errors import InputError, counts
from goldrank.reporting.figures.evaluators import meta_heat_map, meta_pivot
from goldrank.reporting.text import formatting, results
from goldrank.reporting.text.grids import Cell, Grid, render
from goldrank.reporting.text.meta import as_json
from goldrank.stats import CORRELATIONS

_EXAMPLES = """\
  goldrank meta scores.csv --downstream accuracy f1
  goldrank meta scores.csv --intrinsic 'STS*' EvalRank --kind kendall --plot map.png
  goldrank meta logs.csv --where level=sentence --where run_dist_metric=cos --where metric=MRR,spearman,accuracy
  goldrank meta scores.csv --cluster --pivot accuracy --plot pivot.png
  goldrank meta --from-store --downstream 'probe-*' --format json

A table has the columns model, evaluator, value, and may have kind (intrinsic or downstream) and family; or it
is a log table with model, task, metric, value. An evaluator is named in full, by its first words, or by a pattern.
"""
_SHOWN = 12


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = options.new_parser("meta", "Which intrinsic evaluator predicts which downstream score?", _EXAMPLES)
    made.intermixed = True
    made.add_argument("table", metavar="TABLE", nargs="?", help="CSV, TSV, JSON(L) or Parquet; - is stdin")
    made.add_argument("--intrinsic", nargs="+", action="extend", metavar="E", help="evaluators that are to predict")
    made.add_argument("--downstream", nargs="+", action="extend", metavar="E", help="scores that are to be predicted")
    made.add_argument("--kind", choices=CORRELATIONS, default="spearman", help="of correlation (default spearman)")
    made.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="COLUMN=VALUE",
        help="only rows that have it; several values after commas, * for any text; repeat it for further columns",
    )
    made.add_argument("--lower", nargs="+", action="extend", default=[], metavar="E", help="here less is better")
    made.add_argument("--cluster", action="store_true", help="resample families of models instead of models")
    made.add_argument("--alpha", type=float, default=0.05, help="level of significance (default 0.05)")
    made.add_argument("--plot", metavar="FILE", help="draw the heat map, or with --pivot that, as .png, .pdf or .svg")
    made.add_argument("--pivot", metavar="E", help="draw each evaluator's order of the models against this score's")
    made.add_argument("--from-store", action="store_true", help="take the stored runs instead of a table")
    stored_runs.add_store(made)
    options.add_statistics(made)
    options.add_output(made)
    return made


def run(args: argparse.Namespace) -> int:
    """Evaluate and show."""
    how = options.bootstrap(args)
    if not 0 < args.alpha < 1:
        raise InputError(f"alpha is {args.alpha:g}, not between 0 and 1", remedy="give one such as 0.05")
    if args.pivot is not None and args.plot is None:
        raise InputError("--pivot draws a figure", remedy="name its file with --plot")
    options.refuse_unwritable(args)
    if args.plot is not None:
        figure_files.check_file(args.plot)
    made = evaluate_meta(
        _table(args),
        args.intrinsic,
        args.downstream,
        args.kind,
        resamples=how.resamples,
        seed=how.seed,
        level=how.level,
        method=how.method,
        cluster=args.cluster,
        lower=args.lower,
        alpha=args.alpha,
    )
    if args.plot is not None:
        figure = meta_heat_map(made) if args.pivot is None else meta_pivot(made, args.pivot)
        figure_files.draw_into(args.plot, [figure])
    if args.format != "json":
        for warning in made.warnings:
            printing.say(f"warning: {warning}.")
    options.emit(show(made, args.format), args)
    return 0


def _table(args: argparse.Namespace) -> Table:
    if args.from_store == (args.table is not None):
        raise InputError(
            "a table and --from-store are given" if args.from_store else "there is neither a table nor --from-store",
            remedy="give one of them",
        )
    if not args.from_store:
        options.refuse_unused(args, ["store"], "on a table", "leave it out, or take the stored runs with --from-store")
        return read_table(args.table, _where(args.where))
    from goldrank.store import Store

    conditions = _where(args.where)
    if set(conditions) - {"task", "model"} or any(len(values) > 1 for values in conditions.values()):
        raise InputError(
            "of stored runs --where chooses by task or model, one of each", remedy="for example --where model='st:*'"
        )
    store = Store.open(args.store)
    rows = rows_from_store(store, **{name: values[0] for name, values in conditions.items()})
    if not rows:
        raise InputError("the store holds no such runs", where=store.where, remedy="make some with goldrank run")
    return Table.of(rows, store.where)


def _where(written: list[str]) -> dict[str, list[str]]:
    conditions: dict[str, list[str]] = {}
    for one in written:
        column, equals, value = one.partition("=")
        if not (column and equals and value):
            raise InputError(f"--where {one!r} names no column and value", remedy="write --where level=sentence, say")
        conditions.setdefault(column.strip(), []).extend(part.strip() for part in value.split(","))
    return conditions


def show(made: MetaResult, look: str) -> str:
    """The result in the format asked for; for people the verdict comes first."""
    if look == "json":
        return results.to_json(as_json(made))
    if look == "csv":
        return _csv(made)
    grids = [_cell_grid(made)] + [_difference_grid(made)] * (len(made.intrinsic) > 1)
    shown = render(grids, look)
    return "\n".join(made.verdicts()) + "\n\n" + shown if look == "table" else shown


def _cell_grid(made: MetaResult) -> Grid:
    best = {
        column: max(or_lowest(made.cells[row, column].value) for row in made.intrinsic) for column in made.downstream
    }
    rows = []
    for name in made.ranked:
        overall = made.overall[name]
        cells = [made.cells[name, column] for column in made.downstream]
        rows.append(
            [
                Cell(name),
                Cell(signed(overall.mean), bounds(overall.interval), best=name == made.ranked[0]),
                *(
                    Cell(
                        signed(cell.value),
                        bounds(cell.interval),
                        "*" if cell.adjusted < made.alpha else "",
                        best=cell.value == best[cell.downstream],
                    )
                    for cell in cells
                ),
                Cell(_extreme(overall.lowest), f"to {_extreme(overall.highest)}"),
            ]
        )
    return Grid(["evaluator", "mean", *made.downstream, "one model left out"], rows, notes=_notes(made))


def _notes(made: MetaResult) -> list[str]:
    sizes = {cell.models for cell in made.cells.values()}
    over = f"{min(sizes)} to {max(sizes)}" if len(sizes) > 1 else f"{max(sizes)}"
    drawn = f"{len(set(made.families.values()))} families" if made.clustered else "models"
    notes = [
        f"{made.kind.capitalize()} correlation over {over} models; {made.level:.0%} intervals, bootstrap over {drawn} "
        f"({made.resamples} resamples, seed {made.seed}). * p < {made.alpha:g} by permutation after Holm over "
        f"{len(made.cells)} cells. One model left out: the lowest and highest mean."
    ]
    if made.lower:
        notes.append(f"Less is better, so taken with the opposite sign: {', '.join(made.lower)}.")
    if made.missing:
        notes.append(f"{made.missing} values are missing; each cell is over the models that have both.")
    neither = [e for e in made.table.evaluators if e not in made.intrinsic and e not in made.downstream]
    if neither:
        notes.append(f"Left out: {', '.join(neither[:_SHOWN])}{' …' if len(neither) > _SHOWN else ''}.")
    return notes + [remark[:1].upper() + remark[1:] + "." for remark in made.table.remarks]


def _difference_grid(made: MetaResult) -> Grid:
    best = made.ranked[0]
    rows = [
        [
            Cell(f"{best} − {one.second}"),
            Cell(_plus(one.difference), bounds(one.interval)),
            Cell(formatting.p_value(one.p)),
            Cell(formatting.p_value(one.adjusted), best=one.adjusted < made.alpha),
            Cell(f"{sum(p < made.alpha for p in one.williams.values())} of {len(one.williams)}"),
        ]
        for one in made.against(best)
    ]
    notes = [
        "p: bootstrap over the same resamples, two-sided. Holm: over "
        f"{counts(len(made.differences), 'pair')} of evaluators. Williams: tasks on which Williams' test of the two "
        f"dependent correlations gives p < {made.alpha:g}, in either direction, uncorrected."
    ]
    return Grid(["mean correlation", "difference", "p", "p after Holm", "Williams"], rows, notes=notes)


def _plus(value: float) -> str:
    return "+" * (value > 0) + signed(value)


def _extreme(extreme: Extreme) -> str:
    return signed(extreme[0])


def _csv(made: MetaResult) -> str:
    content = as_json(made)
    fields = ["intrinsic", "downstream", "value", "low", "high", "models", "p", "p_adjusted"]
    fields += ["left_out_low", "left_out_low_model", "left_out_high", "left_out_high_model"]
    lines: list[list[Any]] = [[*fields, "kind", "level"]]
    for row in content["cells"]:
        lines.append([*(row[name] for name in fields), made.kind, made.level])
    for row in content["evaluators"]:
        filled = {**row, "intrinsic": row["evaluator"], "downstream": "mean", "value": row["mean"]}
        filled["models"] = len(made.models)
        lines.append([*(filled.get(name) for name in fields), made.kind, made.level])
    return results.to_csv(lines)
