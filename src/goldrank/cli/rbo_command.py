"""`goldrank rbo`: rank-biased overlap of the rankings of runs, without gold."""

from __future__ import annotations

import argparse
from itertools import combinations

from goldrank.analysis.rank_overlap import rbo
from goldrank.cli import options
from goldrank.errors import InputError
from goldrank.hits import Run
from goldrank.io.files import run_names
from goldrank.ordering import SCORE_READINGS
from goldrank.reporting.text.overlap import overlaps_view

_EXAMPLES = """\
  goldrank rbo bm25.run dense.run
  goldrank rbo *.run -p 0.98 --depth 100
  goldrank rbo old.run new.run --per-query --format csv
"""


def build_parser() -> argparse.ArgumentParser:
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
    names = run_names(args.runs)
    if len(names) < 2:
        raise InputError("an overlap needs two runs or more", remedy="name at least two")
    how = options.bootstrap(args)
    runs = {name: options.say_reading(Run.read(path, format=args.run_format)) for name, path in names.items()}
    if args.scores is None:
        for name, ranked in runs.items():
            ranked.order.refuse(name)
    overlaps = {
        (a, b): rbo(runs[a], runs[b], args.p, depth=args.depth, scores=args.scores, bootstrap=how)
        for a, b in combinations(runs, 2)
    }
    options.emit(overlaps_view(overlaps, per_query=args.per_query), args)
    return 0
