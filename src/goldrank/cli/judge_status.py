"""`goldrank judge status`: show how far the judging is, and what to do next."""

from __future__ import annotations

import argparse

from goldrank.cli import options
from goldrank.cli.judge_options import add_folder, open_project

EXAMPLES = """\
  goldrank judge status
  goldrank judge status my-judging --format json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    add_folder(parser)
    options.add_result(parser, ("table", "json", "csv", "markdown"))


def run(args: argparse.Namespace) -> int:
    """Print the status."""
    from goldrank.judging.progress import status
    from goldrank.reporting.text.judging import view

    options.emit(view(status(open_project(args))), args)
    return 0
