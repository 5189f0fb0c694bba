"""`goldrank judge import`: add judgments or clicks that exist already."""

from __future__ import annotations

import argparse

from goldrank.cli import options, printing
from goldrank.cli.judge_options import add_folder, open_project
from goldrank.errors import counts
from goldrank.judging.imports import SOURCES

EXAMPLES = """\
  goldrank judge import qrels.txt
  goldrank judge import clicks.csv --source weak --min-clicks 3
  goldrank judge import my-judging labels.jsonl --judge Ann
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    add_folder(parser)
    parser.add_argument(
        "file",
        metavar="FILE",
        help="qrels in any format, a table of query, item and grade, or an export as JSON Lines; of --source weak a "
        "table of query, item, clicks and perhaps impressions",
    )
    parser.add_argument(
        "--source", choices=SOURCES, default="human", help="human: judged by people (default); weak: from clicks"
    )
    parser.add_argument("--judge", metavar="NAME", help="who judged (default: imported:FILE)")
    parser.add_argument(
        "--min-clicks", type=int, default=1, metavar="N",
        help="an item with N clicks has grade 1, one with fewer grade 0 (default 1)",
    )  # fmt: skip
    options.add_format(parser, ("table", "json"))


def run(args: argparse.Namespace) -> int:
    """Import the file."""
    from goldrank.judging.imports import import_labels
    from goldrank.reporting.text.judging import import_view

    if args.source != "weak":
        options.refuse_unused(args, ["min_clicks"], "without --source weak")
    project = open_project(args)
    result = import_labels(project, args.file, args.source, judge=args.judge, min_clicks=args.min_clicks)
    if result.reading:
        printing.remark(f"note: {result.reading}.")
    if result.outside:
        printing.remark(
            f"note: {counts(result.outside, 'judgment')} left out, whose pairs are not in the pool "
            f"(the first is {result.first_outside})."
        )
    printing.show(import_view(result).render(args.format, printing.layout()))
    return 0
