"""`goldrank judge serve`: judge passages in a browser, by default on this machine only."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from goldrank.cli import serving
from goldrank.cli.judge_options import add_folder, open_project

if TYPE_CHECKING:
    from goldrank.judging.project import JudgingProject

EXAMPLES = """\
  goldrank judge serve --open
  goldrank judge serve my-judging --judge Ann
  goldrank judge serve --host 0.0.0.0 --token "$(openssl rand -hex 16)"
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    add_folder(parser)
    add_page(parser)


def add_page(parser: argparse._ActionsContainer) -> None:
    """Add the options of the judging page."""
    parser.add_argument("--judge", metavar="NAME", help="the only judge (default: the page asks for the name)")
    serving.add_address(parser, "the judging page")


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    serve(open_project(args), args)
    return 0


def serve(project: JudgingProject, args: argparse.Namespace) -> None:
    """Serve the judging page of a project with the options of `add_page`."""
    serving.check_installed("goldrank judge serve")
    from goldrank.judging.progress import status
    from goldrank.web.app import create_judging_app

    with serving.listening(args, "could judge in your place") as address:
        app = create_judging_app(project, access=address.access, judge=args.judge)
        now = status(project)
        labelled = now.planned - now.missing - now.missing_second
        serving.serve(app, address, f"{labelled:,} of {now.planned:,} labels in {now.folder}\ngoldrank: judge at")
