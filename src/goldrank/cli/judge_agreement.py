"""`goldrank judge agreement`: measure how well judges agree, and the biases of model judges."""

from __future__ import annotations

import argparse

from goldrank.cli import options
from goldrank.cli.judge_options import add_folder, open_project

EXAMPLES = """\
  goldrank judge agreement
  goldrank judge agreement my-judging --judge openai:gpt-4o-mini --format json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    add_folder(parser)
    parser.add_argument(
        "--judge",
        metavar="NAME",
        help="one model judge by its spec, without options and versions if that is clear (default: all)",
    )
    parser.add_argument(
        "--level", type=float, default=0.95, metavar="P", help="confidence level of intervals (default 0.95)"
    )
    options.add_result(parser, ("table", "json", "csv", "markdown"))


def run(args: argparse.Namespace) -> int:
    """Print the agreement."""
    from goldrank.judging.judge_agreement import agreement
    from goldrank.reporting.text.model_judges import view

    options.emit(view(agreement(open_project(args), args.judge, level=args.level)), args)
    return 0
