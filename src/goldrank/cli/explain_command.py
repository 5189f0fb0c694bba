"""`goldrank explain`: definition, formula and variants of a metric, and the tools that print them."""

from __future__ import annotations

import argparse

from goldrank.analysis.explanation import explain
from goldrank.cli import options, printing
from goldrank.metrics.names import split_list
from goldrank.reporting.text.explanation import view
from goldrank.reporting.text.results import to_json

_EXAMPLES = """\
  goldrank explain ndcg@10
  goldrank explain recall --profile bge
  goldrank explain mpr --format json
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("explain", "Explain metrics: definition, formula, variants, tools.", _EXAMPLES)
    parser.add_argument("metric", metavar="METRIC", nargs="+", help="metrics such as ndcg@10")
    parser.add_argument("--profile", metavar="PROFILE", help="explain the variant of this profile")
    options.add_format(parser, ("text", "json"))
    options.add_general(parser)
    parser.set_defaults(output=None)
    return parser


def run(args: argparse.Namespace) -> int:
    """Print the explanations."""
    views = [view(explain(metric, args.profile)) for listed in args.metric for metric in split_list(listed)]
    if args.format == "json":
        content = {"explanations": [explanation.content() for explanation in views]}
        options.emit(to_json(content, "explain"), args)
    else:
        options.emit("\n\n".join(explanation.render("table", printing.layout()) for explanation in views), args)
    return 0
