"""`goldrank explain`: what a metric means, its variants, and which tool prints which."""

from __future__ import annotations

import argparse

from goldrank.analysis.explanation import explain
from goldrank.cli import options
from goldrank.reporting.text.explanation import view
from goldrank.reporting.text.results import to_json

_EXAMPLES = """\
  goldrank explain ndcg@10
  goldrank explain recall --profile bge
  goldrank explain mpr --format json
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    command = options.new_parser("explain", "Definition, formula, variants and who prints which.", _EXAMPLES)
    command.add_argument("metric", metavar="METRIC", nargs="+", help="such as ndcg@10")
    command.add_argument("--profile", metavar="P", help="as this profile computes it")
    command.add_argument("--format", choices=("text", "json"), default="text")
    command.add_argument("--debug", action="store_true", help="show a traceback on errors")
    command.set_defaults(output=None)
    return command


def run(args: argparse.Namespace) -> int:
    """Explain and print."""
    views = [view(explain(metric, args.profile)) for metric in args.metric]
    if args.format == "json":
        options.emit(to_json([one.content() for one in views]), args)
    else:
        options.emit("\n\n".join(one.render("table") for one in views), args)
    return 0
