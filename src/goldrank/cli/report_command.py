"""`goldrank report`: write a report of stored runs that opens offline."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from goldrank.cli import options, printing, stored_runs

if TYPE_CHECKING:
    from goldrank.reporting.document.sections import Report
    from goldrank.store import StoredRun

_EXAMPLES = """\
  goldrank report wines-bm25-91c0 wines-wordllama-3f2a -o report.html
  goldrank report wines-bm25-91c0 questions-bm25-5e4e -M ndcg@10 -M mrr --worst 20
  goldrank report wines-bm25-91c0 -o report.md
  goldrank report wines-bm25-91c0 -o report.pdf --title "Wines, first round"
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("report", "Write a report of stored runs, in one file that opens offline.", _EXAMPLES)
    parser.intermixed = True
    parser.add_argument("keys", metavar="KEY", nargs="+", help="keys of stored runs of any tasks (goldrank runs list)")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="file to write (default report.html, report.md or report.pdf)"
    )
    parser.add_argument(
        "--format", choices=("html", "markdown", "pdf"), help="format (default: by the suffix of FILE, otherwise html)"
    )
    parser.add_argument("--title", metavar="TEXT", help="title of the report (default: the names of the tasks)")
    parser.add_argument("--worst", type=int, default=10, metavar="N", help="queries to show per task (default 10)")
    parser.add_argument(
        "--theme", choices=("auto", "light", "dark"), default="auto", help="colours of the report (default auto)"
    )
    options.add_alpha(parser)
    stored_runs.add_store(parser)
    options.add_metrics(parser)
    options.add_statistics(parser)
    options.add_debug(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Write the report and print its path."""
    from goldrank.reporting.document.report import destination, report
    from goldrank.store import Store

    look, path = destination(args.output, args.format)
    args.output = str(path)
    options.refuse_unwritable(args)
    store = Store.open(args.store)
    runs = [store.get(key) for key in args.keys]
    _refuse_unused(args, runs, look)
    result = report(
        runs,
        path,
        store=store,
        format=look,
        title=args.title,
        worst=args.worst,
        theme=args.theme,
        metrics=args.metric,
        profile=args.profile,
        conventions=options.conventions(args),
        bootstrap=options.bootstrap(args),
        alpha=args.alpha,
    )
    announce(result)
    return 0


def announce(report: Report) -> None:
    """Print where a report was written, and how large it is."""
    assert report.path is not None
    opens = "one file that opens offline" if report.format == "html" else f"as {report.format}"
    printing.show(str(report.path))
    printing.say(f"note: {report.path.stat().st_size / 1e6:.1f} MB, {opens}.")


def _refuse_unused(args: argparse.Namespace, runs: list[StoredRun], look: str) -> None:
    if look != "html":
        options.refuse_unused(args, ["theme"], f"on a report in {look}", "leave it out, or write HTML")
    kinds = {run.result_kind for run in runs}
    if "ranked" not in kinds:
        names = ("metric", "profile", "worst", *options.CONVENTIONS)
        options.refuse_unused(args, names, "on these runs, none of which has rankings")
    if kinds == {"measured"}:
        options.refuse_unused(args, options.STATISTICS, "on measurements, which were stored with their intervals")
