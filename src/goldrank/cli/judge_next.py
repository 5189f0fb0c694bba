"""`goldrank judge next`: decide which system is best, or add to the plan what decides it."""

from __future__ import annotations

import argparse

from goldrank.cli import options
from goldrank.cli.judge_options import add_folder, open_project

EXAMPLES = """\
  goldrank judge next -M precision@10
  goldrank judge next my-judging -M ndcg@10 --judge cross --labels 50 --budget 300
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    from goldrank.judging.next_labels import LABELS, MARGIN

    add_folder(parser)
    parser.add_argument(
        "-M", "--metric", default="ndcg@10", metavar="METRIC", help="metric that decides (default ndcg@10)"
    )
    parser.add_argument(
        "--judge", metavar="NAME", help="model judge that predicts the labels (default: the one that has graded)"
    )
    parser.add_argument(
        "--labels", type=int, default=LABELS, metavar="N", help=f"about how many labels to ask for (default {LABELS})"
    )
    parser.add_argument("--budget", type=int, metavar="N", help="labels that can still be given (default: all)")
    parser.add_argument(
        "--within",
        type=float,
        default=MARGIN,
        metavar="X",
        help=f"systems that differ by no more are as good as equal (default {MARGIN})",
    )
    parser.add_argument("--dry-run", action="store_true", help="decide only, and leave the plan as it is")
    options.add_alpha(parser)
    options.add_result(parser)


def run(args: argparse.Namespace) -> int:
    """Decide, extend the plan, and print the result."""
    from goldrank.judging.next_labels import plan_next
    from goldrank.reporting.text.judged_estimates import view

    result = plan_next(
        open_project(args),
        args.metric,
        judge=args.judge,
        labels=args.labels,
        budget=args.budget,
        margin=args.within,
        alpha=args.alpha,
        dry_run=args.dry_run,
    )
    options.emit(view(result), args)
    return 0
