"""`goldrank judge leaderboard`: estimate the scores of all systems from human labels and a model judge."""

from __future__ import annotations

import argparse

from goldrank.cli import options
from goldrank.cli.judge_options import add_folder, open_project

EXAMPLES = """\
  goldrank judge leaderboard
  goldrank judge leaderboard -M ndcg@10 -M map --judge cross --target queries
  goldrank judge leaderboard --others new-system.run --format json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    add_folder(parser)
    options.add_metric(
        parser, "mean over queries of values from 0 to 1 (default ndcg@10, precision@10, mrr); repeatable"
    )
    parser.add_argument(
        "--judge", metavar="NAME", help="model judge whose grades are corrected (default: the one that has graded)"
    )
    parser.add_argument(
        "--target",
        choices=("pool", "queries"),
        default="pool",
        help="what intervals are for: the queries of the pool (default), or queries like these, which widens them",
    )
    parser.add_argument(
        "--others",
        nargs="+",
        metavar="RUN",
        help="run files of systems that are not in the pool, which get no estimate",
    )
    options.add_alpha(parser)
    options.add_result(parser)


def run(args: argparse.Namespace) -> int:
    """Print the leaderboard."""
    from goldrank.hits import Run
    from goldrank.judging.estimates import leaderboard
    from goldrank.reporting.text.judged_estimates import view

    result = leaderboard(
        open_project(args),
        args.metric,
        judge=args.judge,
        target=args.target,
        level=1 - args.alpha,
        others={path: Run.read(path) for path in args.others or []},
    )
    options.emit(view(result), args)
    return 0
