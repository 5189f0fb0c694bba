"""`goldrank report`: stored runs in one file that opens offline: the verdict, the numbers, and what lies behind."""

from __future__ import annotations

import argparse
import shlex
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import goldrank
from goldrank.cli import options, printing, stored_runs
from goldrank.errors import InputError

if TYPE_CHECKING:
    from goldrank.reporting.document.sections import Report
    from goldrank.store import Store, StoredRun

FORMATS = {"html": ".html", "markdown": ".md", "pdf": ".pdf"}
_SUFFIXES = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown", ".pdf": "pdf"}
_REPEATED = ("profile", "alpha", "level", "interval", "resamples", "seed", "worst", "theme", "title")
_EXAMPLES = """\
  goldrank report wines-bm25-91c0 wines-wordllama-3f2a -o report.html
  goldrank report wines-bm25-91c0 questions-bm25-5e4e -M ndcg@10 -M mrr --worst 20
  goldrank report wines-bm25-91c0 -o report.md
  goldrank report wines-bm25-91c0 -o report.pdf --title "Wines, first round"
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = options.new_parser("report", "Write a report of stored runs, one file that opens offline.", _EXAMPLES)
    made.intermixed = True
    made.add_argument("keys", metavar="KEY", nargs="+", help="stored runs (goldrank runs list); their tasks may differ")
    made.add_argument("-o", "--output", metavar="FILE", help="where to (default report.html, report.md or report.pdf)")
    made.add_argument("--format", choices=tuple(FORMATS), help="default: by the end of FILE, else html")
    made.add_argument("--title", help="title of the report (default: the names of the tasks)")
    made.add_argument("--worst", type=int, default=10, metavar="N", help="queries to show of each task (default 10)")
    made.add_argument("--theme", choices=("auto", "light", "dark"), default="auto", help="colours of the page")
    made.add_argument("--alpha", type=float, default=0.05, help="level of significance (default 0.05)")
    stored_runs.add_store(made)
    options.add_metrics(made)
    # A stored run has a profile of its own, so it must be known whether one was asked for.
    made.set_defaults(profile=None)
    options.add_statistics(made)
    made.add_argument("--debug", action="store_true", help="show a traceback on errors")
    return made


def run(args: argparse.Namespace) -> int:
    """Gather, write, and say where."""
    from goldrank.io.files import write_atomically
    from goldrank.store import Store

    look, path = _destination(args)
    args.output = str(path)
    options.refuse_unwritable(args)
    store = Store.open(args.store)
    runs = [store.get(key) for key in args.keys]
    _refuse_unused(args, runs, look)
    data = _rendered(_report(args, store, runs, look), look, args.theme)
    write_atomically(path, lambda out: out.write(data))
    printing.show(str(path))
    printing.say(f"note: {len(data) / 1e6:.1f} MB, {_opens(look)}.")
    return 0


def _refuse_unused(args: argparse.Namespace, runs: list[StoredRun], look: str) -> None:
    if look != "html":
        options.refuse_unused(args, ["theme"], f"on a report in {look}", "leave it out, or write html")
    kinds = {run.result_kind for run in runs}
    if "ranked" not in kinds:
        names = ("metric", "profile", "worst", *options.CONVENTIONS)
        options.refuse_unused(args, names, "on these runs, none of which holds rankings")
    if kinds == {"measured"}:
        options.refuse_unused(args, options.STATISTICS, "on measurements, which were stored with their intervals")


def _destination(args: argparse.Namespace) -> tuple[str, Path]:
    """The format, and the file to write."""
    by_name = None if args.output is None else _SUFFIXES.get(Path(args.output).suffix.lower())
    look = args.format or by_name or "html"
    path = Path(f"report{FORMATS[look]}" if args.output is None else args.output)
    if path.is_dir():
        raise InputError("this is a folder", where=str(path), remedy="name a file to write")
    return look, path


def _report(args: argparse.Namespace, store: Store, runs: list[StoredRun], look: str) -> Report:
    from threadpoolctl import threadpool_limits

    from goldrank.reporting.document.content import content_of
    from goldrank.reporting.document.sections import Report

    if look == "pdf":
        from goldrank.reporting.document.pdf import find_browser

        # Whether it can be printed at all is found out before the work.
        find_browser()
    # The products of the bootstrap are small: threads wait for each other longer than they work.
    with threadpool_limits(1, "blas"):
        sections = content_of(
            runs,
            store,
            metrics=args.metric,
            profile=args.profile,
            conventions=options.conventions(args),
            bootstrap=options.bootstrap(args),
            alpha=args.alpha,
            worst=args.worst,
        )
    tasks = ", ".join(dict.fromkeys(section.task for section in sections))
    return Report(
        title=args.title or tasks,
        sections=tuple(sections),
        command=_command(args, store, runs, look),
        made=datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        version=goldrank.__version__,
    )


def _command(args: argparse.Namespace, store: Store, runs: list[StoredRun], look: str) -> str:
    """The command line that makes this report again, whole keys and all; the store without its password."""
    words = ["goldrank", "report", *(one.key for one in runs)]
    words += [word for metric in args.metric or () for word in ("-M", metric)]
    known = parser()
    changed = [name for name in _REPEATED if getattr(args, name) != known.get_default(name)]
    given = {name: getattr(args, name) for name in changed} | options.conventions(args)
    words += [word for name, value in given.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    words += ["--store", store.where] if args.store is not None else []
    return shlex.join([*words, "--format", look, "-o", Path(args.output).name])


def _rendered(report: Report, look: str, theme: str) -> bytes:
    if look == "pdf":
        from goldrank.reporting.document.pdf import to_pdf

        return to_pdf(report)
    if look == "markdown":
        from goldrank.reporting.document.markdown import to_markdown

        return to_markdown(report).encode("utf-8", "replace")
    from goldrank.reporting.document.html import to_html

    return to_html(report, theme).encode("utf-8", "replace")


def _opens(look: str) -> str:
    return "complete in itself: it can be mailed and opens offline" if look == "html" else f"as {look}"
