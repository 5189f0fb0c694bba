"""`goldrank report`: write a report of run files or stored runs that opens offline."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from goldrank.cli import options, printing, slice_options, stored_runs
from goldrank.units import format_bytes

if TYPE_CHECKING:
    from goldrank.reporting.document.sections import Report
    from goldrank.store import StoredRun

_EXAMPLES = """\
  goldrank report qrels.txt bm25.run dense.run -o report.html
  goldrank report qrels.txt *.run --texts ./my-folder
  goldrank report qrels.txt *.run --texts corpus.jsonl --texts queries.tsv
  goldrank report qrels.txt *.run --slices languages.csv
  goldrank report --task wines -o report.html
  goldrank report --task wines --label small=st:BAAI/bge-small-en-v1.5
  goldrank report wines-bm25-91c0 wines-wordllama-3f2a -o report.html
  goldrank report wines-bm25-91c0 questions-bm25-5e4e -M ndcg@10 -M mrr --worst 20
  goldrank report wines-bm25-91c0 -o report.md
  goldrank report wines-bm25-91c0 -o report.pdf --title "Wines, first round"
  goldrank report wines-bm25-91c0 --format json
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    about = "Write a report of run files or stored runs, in one file that opens offline."
    parser = options.new_parser("report", about, _EXAMPLES)
    options.add_data(parser)
    options.add_texts(parser)
    options.add_label(parser, "a run")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="file to write (default report.html, report.md or report.pdf; for JSON standard output)",
    )
    parser.add_argument(
        "--format",
        choices=("html", "markdown", "pdf", "json"),
        help="format (default: by the suffix of FILE, otherwise html); json has everything but the figures",
    )
    parser.add_argument("--title", metavar="TEXT", help="title of the report (default: the names of the tasks)")
    parser.add_argument("--worst", type=int, default=10, metavar="N", help="queries to show per task (default 10)")
    parser.add_argument(
        "--theme", choices=("auto", "light", "dark"), default="auto", help="colours of the report (default auto)"
    )
    options.add_alpha(parser)
    stored_runs.add_store(parser)
    options.add_metrics(parser)
    slice_options.add_slices(parser)
    options.add_statistics(parser)
    options.add_general(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Write the report and print its path, or print its content as JSON."""
    from goldrank.reporting.document.report import destination, report
    from goldrank.reporting.text.views import view_of

    as_json = args.format == "json"
    look, path = ("json", None) if as_json else destination(args.output, args.format)
    args.output = args.output if path is None else str(path)
    options.refuse_unwritable(args)
    if look != "html":
        options.refuse_unused(args, ["theme"], f"on a report in {look}", "leave it out, or write HTML")
    keywords: dict[str, Any] = {}
    if stored_runs.are_keys(args):
        runs: Any = list(stored_runs.find(args).values())
        _refuse_unused(args, runs)
        keywords["store"] = args.store
    else:
        stored_runs.name_files(args)
        options.refuse_unused(args, ["store"], "on files, which are not stored")
        runs, keywords = args.runs, options.file_keywords(args)
    result = report(
        runs,
        path,
        **keywords,
        labels=options.labels(args),
        format=None if as_json else look,
        metrics=args.metric,
        conventions=options.conventions(args),
        bootstrap=options.bootstrap(args),
        slice_names=args.slice,
        **options.keywords(args, ("title", "worst", "theme", "profile", "alpha", "slices")),
    )
    printing.warn(result.warnings)
    stored_runs.print_notes(list(result.notes))
    if as_json:
        options.emit(view_of(result), args)
    else:
        announce(result)
    return 0


def announce(report: Report) -> None:
    """Print where a report was written, and how large it is."""
    assert report.path is not None
    opens = "one file that opens offline" if report.format == "html" else f"as {report.format}"
    printing.show(str(report.path))
    printing.remark(f"note: {format_bytes(report.path.stat().st_size)}, {opens}.")


def _refuse_unused(args: argparse.Namespace, runs: list[StoredRun]) -> None:
    kinds = {run.result_kind for run in runs}
    if "ranked" not in kinds:
        names = ("metric", "profile", "worst", "slices", "slice", *options.CONVENTIONS)
        options.refuse_unused(args, names, "on these runs, none of which has rankings")
    if kinds == {"measured"}:
        options.refuse_unused(args, options.STATISTICS, "on measurements, which were stored with their intervals")
