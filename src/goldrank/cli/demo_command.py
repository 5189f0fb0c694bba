"""`goldrank demo`: evaluate built-in models on built-in tasks, show leaderboards and write a report."""

from __future__ import annotations

import argparse
import time

from goldrank.cli import options, printing, report_command, stored_runs
from goldrank.errors import MissingExtraError
from goldrank.reporting.document.report import report
from goldrank.reporting.text.leaderboards import leaderboard_view
from goldrank.runs.run import Leaderboard
from goldrank.runs.run import run as run_models
from goldrank.store import Store

MODELS = ("random", "bm25", "tfidf", "wordllama", "fuse:rrf(bm25,wordllama)")
TASKS = ("wines", "games", "questions")
_EXAMPLES = """\
  goldrank demo
  goldrank demo --store ./my-runs -o demo.html
"""
REPORT = "goldrank-demo.html"


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser(
        "demo", "Evaluate five built-in models on three built-in tasks, and write a report.", _EXAMPLES
    )
    stored_runs.add_store(parser)
    parser.add_argument("-o", "--output", metavar="FILE", default=REPORT, help=f"file of the report (default {REPORT})")
    options.add_general(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Run and print the commands of a first evaluation."""
    options.refuse_unwritable(args)
    started = time.perf_counter()
    store = Store.open(args.store)
    written = " ".join(f'"{model}"' if "(" in model else model for model in MODELS)
    printing.show(f"$ goldrank run -m {written} -t {' '.join(TASKS)} --worst 3\n")
    boards = run_models(
        MODELS,
        TASKS,
        store,
        report=printing.remark,
        on_leaderboard=lambda board: printing.show(_leaderboard(board), end="\n\n"),
    )
    fresh = sum(outcome.fresh for board in boards for outcome in board.outcomes)
    total = sum(len(board.outcomes) for board in boards)
    best = boards[-1].best.stored.key
    printing.show_prose(
        f"{total} results, {fresh} of them evaluated now, in {time.perf_counter() - started:.1f} s; "
        f"they are in {store.where}."
    )
    try:
        report_command.announce(report(boards, args.output, title="goldrank demo"))
    except MissingExtraError as error:
        printing.remark(f"note: no report was written: {error}.")
    printing.show_prose(
        f"Next: goldrank serve · goldrank runs show {best} · goldrank score {best} --profile beir · "
        f"goldrank run -m bm25 -t ./my-folder"
    )
    return 0


def _leaderboard(board: Leaderboard) -> str:
    return leaderboard_view(board, worst=3).render("table", printing.layout())
