"""`goldrank judge queries`: make queries from documents where there is no query log."""

from __future__ import annotations

import argparse

from goldrank.cli import options, printing
from goldrank.cli.judge_grade import add_limits, limits

EXAMPLES = """\
  goldrank judge queries ./docs -o queries.jsonl -m bm25 wordllama
  goldrank judge queries ./docs -o queries.jsonl --llm openai:gpt-4o-mini --query-kind llm title terms --count 150
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    from goldrank.judging.known_items import LLM, RULES

    parser.add_argument(
        "docs", metavar="DOCS", help="folder of documents, file of texts with ids, or task or collection"
    )
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE",
        help="file of queries to write (*.jsonl); the gold and the documents to search are written beside it",
    )  # fmt: skip
    parser.add_argument(
        "--llm", metavar="SPEC", help="chat model that writes the queries, such as openai:MODEL@URL (default: by rule)"
    )
    meanings = options.describe_choices(RULES)
    parser.add_argument(
        "--query-kind", nargs="+", action="extend", choices=(*RULES, LLM),
        help=f"kinds of queries, in turn: {meanings}; llm: written by --llm (default: all rules, or llm with --llm)",
    )  # fmt: skip
    parser.add_argument("--count", type=int, default=100, metavar="N", help="how many queries (default 100)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the choice of documents (default 0)")
    parser.add_argument(
        "-m", "--model", nargs="+", action="extend", default=[], metavar="MODEL",
        help="systems that search the documents, to show whether their order depends on the kind of queries",
    )  # fmt: skip
    add_limits(parser)
    options.add_format(parser, ("table", "json", "csv", "markdown"))


def run(args: argparse.Namespace) -> int:
    """Make the queries, and print what was measured on them."""
    from goldrank.judging.making_queries import make_queries
    from goldrank.reporting.text.made_queries import view

    result = make_queries(
        args.docs,
        args.output,
        llm=args.llm,
        kinds=args.query_kind,
        count=args.count,
        seed=args.seed,
        models=args.model,
        limits=limits(args),
    )
    printing.show(view(result).render(args.format, printing.layout()))
    return 0
