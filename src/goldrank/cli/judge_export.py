"""`goldrank judge export`: write the labels of a project as qrels or JSON Lines."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from goldrank.cli import options, printing
from goldrank.cli.judge_options import add_folder, open_project
from goldrank.errors import counts
from goldrank.judging.exports import FORMATS
from goldrank.judging.labels import SOURCES

if TYPE_CHECKING:
    from goldrank.judging.project import JudgingProject

EXAMPLES = """\
  goldrank judge export -o qrels.txt
  goldrank judge export my-judging -o labels.jsonl --format jsonl --source human imported
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    add_folder(parser)
    parser.add_argument("-o", "--output", default="-", metavar="FILE", help="file to write (default: standard output)")
    meanings = options.describe_choices(FORMATS)
    parser.add_argument("--format", choices=tuple(FORMATS), default="trec", help=f"{meanings} (default trec)")
    sources = options.describe_choices(SOURCES)
    parser.add_argument(
        "--source", nargs="+", choices=tuple(SOURCES), default=["human"], help=f"{sources} (default human)"
    )
    parser.add_argument("--judge", metavar="NAME", help="only labels of this person, or grades of this model judge")


def run(args: argparse.Namespace) -> int:
    """Write the file."""
    from goldrank.judging.exports import export

    options.refuse_unwritable(args)
    project = open_project(args)
    written = export(project, args.output, args.format, sources=args.source, judge=args.judge)
    if args.output != "-":
        printing.remark(f"{args.output}: {counts(written, 'line')}")
    if args.format != "jsonl" and args.source == ["human"] and (caution := _caution(project)):
        printing.remark(f"note: {caution}.")
    return 0


def _caution(project: JudgingProject) -> str:
    """Return why scores on the exported qrels would be biased; empty if they would not."""
    units, judged = project.plan.units, {label.pair for label in project.labels("human")}
    design, strata = project.plan.design, project.plan.strata
    if design == "items" or project.plan.in_rounds:
        return "items were sampled, so that plain scores on these qrels are biased"
    if strata is not None and strata.allocation != "proportional":
        return (
            f"the strata of {strata.attribute} have other shares among the judged queries than among all, so that "
            "plain scores on these qrels are biased"
        )
    partly = [
        unit.query
        for unit in units
        if any((unit.query, item) in judged for item in unit.items)
        and not all((unit.query, item) in judged for item in unit.items)
    ]
    if not partly:
        return ""
    return f"{counts(len(partly), 'query is', 'queries are')} judged in part, so that their scores are too low"
