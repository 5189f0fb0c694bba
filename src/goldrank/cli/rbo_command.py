"""`goldrank rbo`: rank-biased overlap of the rankings of runs, without gold."""

from __future__ import annotations

import argparse
from itertools import combinations
from typing import Any

from goldrank.analysis.rank_overlap import RankOverlap, rbo
from goldrank.cli import options
from goldrank.errors import InputError
from goldrank.hits import Run
from goldrank.ordering import SCORE_READINGS
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.stats import aggregate

_EXAMPLES = """\
  goldrank rbo bm25.run dense.run
  goldrank rbo *.run -p 0.98 --depth 100
  goldrank rbo old.run new.run --per-query --format csv
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("rbo", "Compute the rank-biased overlap of every two runs, without gold.", _EXAMPLES)
    parser.intermixed = True
    parser.add_argument("runs", metavar="RUN", nargs="+", help="two or more run files; - for standard input")
    options.add_run_format(parser)
    parser.add_argument(
        "-p",
        type=float,
        default=0.9,
        metavar="P",
        help="persistence: the probability of reading the next result (default 0.9)",
    )
    options.add_depth(parser)
    parser.add_argument("--scores", choices=tuple(SCORE_READINGS), help=options.CONVENTION_HELP["scores"])
    options.add_per_query(parser)
    options.add_statistics(parser)
    options.add_output(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Compare every two runs and print the overlaps."""
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
    content = [
        {"a": a, "b": b, **overlap.to_dict(), **({"per_query": overlap.per_query} if args.per_query else {})}
        for (a, b), overlap in overlaps.items()
    ]

    def grids() -> list[Grid]:
        per_query = [_per_query(pair, overlap) for pair, overlap in overlaps.items()] if args.per_query else []
        return [*per_query, _grid(overlaps, args)]

    return options.format_result(args.format, content, lambda: _lines(overlaps, args.per_query), grids)


def _lines(overlaps: dict[tuple[str, str], RankOverlap], per_query: bool) -> list[list[Any]]:
    lines: list[list[Any]]
    if per_query:
        lines = [["a", "b", "query", "rbo", "min", "residual"]]
        return lines + [[*pair, *row] for pair, overlap in overlaps.items() for row in _rows(overlap)]
    lines = [["a", "b", "rbo", "low", "high", "min", "residual", "queries"]]
    for pair, overlap in overlaps.items():
        result = overlap.to_dict()
        lines.append([*pair, *result["rbo"].values(), result["min"], result["residual"], result["queries"]])
    return lines


def _rows(overlap: RankOverlap) -> list[tuple[str, float, float, float]]:
    columns = (overlap.values.tolist(), overlap.low.tolist(), overlap.residual.tolist())
    return list(zip(overlap.queries, *columns, strict=True))


def _grid(overlaps: dict[tuple[str, str], RankOverlap], args: argparse.Namespace) -> Grid:
    rows, notes = [], []
    for (a, b), overlap in overlaps.items():
        interval = overlap.interval
        rows.append(
            [
                Cell(f"{a}, {b}"),
                Cell(f"{overlap.mean:.4f}", "" if interval is None else f"[{interval.low:.4f}, {interval.high:.4f}]"),
                Cell(f"{aggregate(overlap.low):.4f}"),
                Cell(f"{aggregate(overlap.residual):.4f}"),
                Cell(str(len(overlap.queries))),
            ]
        )
        for name, number in zip((a, b), overlap.left_out, strict=True):
            if number:
                notes.append(f"{a}, {b}: {number} queries that only {name} has results for are left out.")
    deep = "" if args.depth is None else f", depth {args.depth}"
    notes.insert(0, f"p = {args.p:g}{deep}; equal scores are tied; the overlap lies between min and min + residual.")
    return Grid(["runs", "RBO", "min", "residual", "queries"], rows, notes=notes)


def _per_query(pair: tuple[str, str], overlap: RankOverlap) -> Grid:
    rows = [[Cell(query), *(Cell(f"{number:.4f}") for number in numbers)] for query, *numbers in _rows(overlap)]
    return Grid(["query", "RBO", "min", "residual"], rows, title=", ".join(pair))
