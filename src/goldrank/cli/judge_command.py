"""`goldrank judge`: pool, judge, and correct for the judge; each action is a module of its own."""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

from goldrank.cli import options

ACTIONS = {
    "start": "rank, pool the results of all systems, and plan what is judged",
    "serve": "judge in a browser",
    "status": "show how far the judging is, and what to do next",
    "export": "write the labels as qrels or JSON Lines",
    "import": "add judgments or clicks that exist already",
    "grade": "let a model judge grade the pool",
    "agreement": "measure how well judges agree, and the biases of model judges",
    "leaderboard": "estimate all systems from human labels, and correct a model judge",
    "next": "decide which system is best, or plan the labels that decide it",
    "prompt": "print the prompt of model judges",
    "queries": "make queries from documents where there is no query log",
}
"""The actions with their help; ``cli/judge_NAME.py`` has ``add_arguments`` and ``run``, and perhaps ``EXAMPLES``."""
_ABOUT = "Make gold where there is none: pool the results of several systems, and judge them."


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    modules = {name: _module(name) for name in ACTIONS}
    examples = "".join(module.EXAMPLES for module in modules.values())
    parser = options.new_parser("judge", _ABOUT, examples)
    actions = parser.add_subparsers(dest="action", required=True, metavar="|".join(ACTIONS))
    for name, module in modules.items():
        action = actions.add_parser(
            name,
            help=ACTIONS[name],
            description=f"{ACTIONS[name][0].upper()}{ACTIONS[name][1:]}.",
            epilog=f"examples:\n{module.EXAMPLES}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(action)
        options.add_general(action)
    return parser


def run(args: argparse.Namespace) -> int:
    """Run the action."""
    return int(_module(args.action).run(args))


def _module(name: str) -> Any:
    return import_module(f"goldrank.cli.judge_{name}")
