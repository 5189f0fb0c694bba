"""`goldrank rbo`: how alike the rankings of two runs are, without gold."""

from __future__ import annotations

import argparse
from itertools import combinations
from typing import Any

from goldrank.analysis.rank_overlap import RankOverlap, rbo
from goldrank.cli import options
from goldrank.errors import InputError
from goldrank.hits import Run
from goldrank.ordering import SCORE_READINGS
from goldrank.reporting.text import results
from goldrank.reporting.text.grids import Cell, Grid, render
from goldrank.stats import aggregate

_EXAMPLES = """\
  goldrank rbo bm25.run dense.run
  goldrank rbo *.run -p 0.98 --depth 100
  goldrank rbo old.run new.run --per-query --format csv
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    command = options.new_parser("rbo", "Rank-biased overlap of every two runs, without gold.", _EXAMPLES)
    command.intermixed = True
    command.add_argument("runs", metavar="RUN", nargs="+", help="two run files or more; - is stdin")
    command.add_argument("--run-format", metavar="F", help="format of the runs (default: recognised by content)")
    command.add_argument(
        "-p", type=float, default=0.9, metavar="P", help="persistence: the chance to read on (default 0.9)"
    )
    command.add_argument("--depth", type=int, metavar="N", help="read no ranking further than this")
    command.add_argument(
        "--scores", choices=tuple(SCORE_READINGS), help="what the scores are, or to take the listed order"
    )
    command.add_argument("--per-query", action="store_true", help="show the value of every query")
    options.add_statistics(command)
    options.add_output(command)
    return command


def run(args: argparse.Namespace) -> int:
    """Compare every two runs and show the overlaps."""
    names = options.run_names(args.runs)
    if len(names) < 2:
        raise InputError("an overlap needs two runs or more", remedy="name at least two")
    how = options.bootstrap(args)
    runs = {name: Run.read(path, format=args.run_format) for name, path in names.items()}
    if args.scores is None:
        for name, ranked in runs.items():
            ranked.order.refuse(name)
    overlaps = {
        (a, b): rbo(runs[a], runs[b], args.p, depth=args.depth, scores=args.scores, bootstrap=how)
        for a, b in combinations(runs, 2)
    }
    options.emit(_show(overlaps, args), args)
    return 0


def _show(overlaps: dict[tuple[str, str], RankOverlap], args: argparse.Namespace) -> str:
    if args.format == "json":
        return results.to_json(
            [
                {"a": a, "b": b, **found.to_dict(), **({"per_query": found.per_query} if args.per_query else {})}
                for (a, b), found in overlaps.items()
            ]
        )
    if args.format == "csv":
        return _csv(overlaps, args.per_query)
    grids = [_per_query(pair, found) for pair, found in overlaps.items()] if args.per_query else []
    return render([*grids, _grid(overlaps, args)], args.format)


def _csv(overlaps: dict[tuple[str, str], RankOverlap], per_query: bool) -> str:
    lines: list[list[Any]]
    if per_query:
        lines = [["a", "b", "query", "rbo", "min", "residual"]]
        lines += [[*pair, *row] for pair, found in overlaps.items() for row in _rows(found)]
    else:
        lines = [["a", "b", "rbo", "low", "high", "min", "residual", "queries"]]
        for pair, found in overlaps.items():
            result = found.to_dict()
            lines.append([*pair, *result["rbo"].values(), result["min"], result["residual"], result["queries"]])
    return results.to_csv(lines)


def _rows(found: RankOverlap) -> list[tuple[str, float, float, float]]:
    columns = (found.values.tolist(), found.low.tolist(), found.residual.tolist())
    return list(zip(found.queries, *columns, strict=True))


def _grid(overlaps: dict[tuple[str, str], RankOverlap], args: argparse.Namespace) -> Grid:
    rows, notes = [], []
    for (a, b), found in overlaps.items():
        interval = found.interval
        rows.append(
            [
                Cell(f"{a}, {b}"),
                Cell(f"{found.mean:.4f}", "" if interval is None else f"[{interval.low:.4f}, {interval.high:.4f}]"),
                Cell(f"{aggregate(found.low):.4f}"),
                Cell(f"{aggregate(found.residual):.4f}"),
                Cell(str(len(found.queries))),
            ]
        )
        for name, number in zip((a, b), found.left_out, strict=True):
            if number:
                notes.append(f"{a}, {b}: {number} queries that only {name} answers are left out.")
    deep = "" if args.depth is None else f", depth {args.depth}"
    notes.insert(0, f"p = {args.p:g}{deep}; equal scores are tied; min and residual bound what lies below the lists.")
    return Grid(["runs", "RBO", "min", "residual", "queries"], rows, notes=notes)


def _per_query(pair: tuple[str, str], found: RankOverlap) -> Grid:
    rows = [[Cell(query), *(Cell(f"{number:.4f}") for number in numbers)] for query, *numbers in _rows(found)]
    return Grid(["query", "RBO", "min", "residual"], rows, title=", ".join(pair))
