"""`goldrank judge grade`: let a model judge grade the pool."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from goldrank.cli import options, printing
from goldrank.cli.judge_options import add_folder, open_project

if TYPE_CHECKING:
    from goldrank.judging.chat_requests import Limits

EXAMPLES = """\
  goldrank judge grade --judge openai:gpt-4o-mini@https://api.openai.com/v1 --dry-run --price 0.15/0.60
  goldrank judge grade --judge "openai:llama3@http://localhost:11434/v1(concurrency=4)" --max-cost 2 --price 0.15/0.60
  goldrank judge grade my-judging --judge cross:cross-encoder/ms-marco-MiniLM-L6-v2
  goldrank judge grade --judge grades.txt
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    from goldrank.judging.judges import JUDGES

    add_folder(parser)
    kinds = "; ".join(f"{kind.example}: {kind.summary}" for kind in JUDGES.values())
    parser.add_argument(
        "--judge", required=True, metavar="NAME", help=f"the model judge, by its spec: {kinds}; or the path of a file"
    )
    add_limits(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="only estimate requests, tokens and cost; nothing is asked or stored"
    )
    options.add_result(parser, ("table", "json", "csv", "markdown"))


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the limits of requests to a chat model."""
    group = parser.add_argument_group("limits of requests to a chat model")
    group.add_argument("--requests-per-minute", type=float, metavar="N", help="most requests in a minute")
    group.add_argument("--tokens-per-minute", type=float, metavar="N", help="most tokens in a minute")
    group.add_argument(
        "--price",
        metavar="PROMPT/ANSWER",
        help="price of a million tokens of prompts and of answers, such as 0.15/0.60",
    )
    group.add_argument(
        "--max-cost", type=float, metavar="AMOUNT", help="send no request that could raise the cost above this"
    )


def limits(args: argparse.Namespace) -> Limits | None:
    """Return the limits that the options of `add_limits` stand for; None if none is given."""
    from goldrank.judging.chat_requests import Limits
    from goldrank.judging.limits import Price

    names = ("requests_per_minute", "tokens_per_minute", "price", "max_cost")
    settings = options.keywords(args, names)
    if "price" in settings:
        settings["price"] = Price.parse(settings["price"])
    return Limits(**settings) if settings else None


def run(args: argparse.Namespace) -> int:
    """Grade, and print what was graded; 1 if the highest cost ended it early."""
    from goldrank.judging.grading import grade
    from goldrank.reporting.text.model_judges import view

    options.refuse_unwritable(args)
    result = grade(open_project(args), args.judge, limits=limits(args), dry_run=args.dry_run)
    options.emit(view(result), args)
    if result.stopped:
        printing.say(f"{result.stopped}; raise --max-cost and run the same command again to continue")
    return 1 if result.stopped else 0
