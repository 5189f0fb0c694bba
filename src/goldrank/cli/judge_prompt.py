"""`goldrank judge prompt`: print the prompt of model judges."""

from __future__ import annotations

import argparse

from goldrank.cli import printing
from goldrank.judging.project import JudgingProject

EXAMPLES = """\
  goldrank judge prompt
  goldrank judge prompt my-judging
  goldrank judge grade --judge "openai:gpt-4o-mini(prompt=prompt.txt)"
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        help="fill in the grades, the first query and the first passage of this project",
    )


def run(args: argparse.Namespace) -> int:
    """Print the prompt."""
    from goldrank.judging.grading import first_question
    from goldrank.judging.judges.prompt import PROMPT, fill_prompt

    prompt = PROMPT
    if args.folder is not None:
        project = JudgingProject.open(args.folder)
        prompt = fill_prompt(PROMPT, first_question(project), project.scale)
    printing.show(prompt, end="")
    return 0
