"""Options and messages that the actions of `goldrank judge` share."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from goldrank.judging.project import FOLDER

if TYPE_CHECKING:
    from goldrank.judging.project import JudgingProject


def add_folder(parser: argparse.ArgumentParser) -> None:
    """Add FOLDER, the folder of the project."""
    parser.add_argument(
        "folder", metavar="FOLDER", nargs="?", default=FOLDER, help=f"folder of the project (default {FOLDER})"
    )


def open_project(args: argparse.Namespace) -> JudgingProject:
    """Open the project of ``FOLDER``."""
    from goldrank.judging.project import JudgingProject

    return JudgingProject.open(args.folder)
