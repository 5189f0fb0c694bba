"""`goldrank data`: check a collection for errors, or convert it to another layout."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from goldrank.cli import options, printing
from goldrank.data.article_statistics import ArticleStatistics
from goldrank.data.checks import QUANTILES, SEVERITIES, CollectionReport, FirstQuery, check, check_gold
from goldrank.data.collections import READERS, Collection, wiki
from goldrank.data.conversion import WRITERS, convert
from goldrank.errors import InputError, counts
from goldrank.reporting.text.formatting import truncate
from goldrank.reporting.text.grids import Cell, Grid, render
from goldrank.reporting.text.results import to_json
from goldrank.tasks.catalogue import load_data
from goldrank.terminal import output_width

_EXAMPLES = """\
  goldrank data check my-folder
  goldrank data check ./docs --questions questions.csv
  goldrank data check wines.txt --format json
  goldrank data check SDR/data/datasets/wines/gt
  goldrank data check irds:beir/scifact/test --strict
  goldrank data convert cran/ cran-beir --to beir
  goldrank data convert --from-pairs STSBenchmark sem_text_rel_ranked.csv --to evalrank my-evalrank
  goldrank data convert hf:mteb/scifact scifact --to trec --split test
"""
_WIDTH = 100
_LONGEST_ID = 24
_PATH = "a folder or file, irds:NAME, hf:NAME, or the name of a task"


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("data", "Check or convert a collection of documents, queries and gold.", _EXAMPLES)
    actions = parser.add_subparsers(dest="action", required=True, metavar="check|convert")
    checking = actions.add_parser("check", help="count, and report missing, duplicate, empty or damaged entries")
    checking.add_argument("path", metavar="PATH", help=_PATH)
    checking.add_argument("--strict", action="store_true", help="exit with code 1 if there are warnings")
    converting = actions.add_parser("convert", help="write the collection in another layout, and verify the result")
    places = [
        converting.add_argument("path", metavar="PATH", help=f"{_PATH}; omit it with --from-pairs"),
        converting.add_argument("out", metavar="OUT", help="folder to write; for articles and pairs also a file"),
    ]
    for place in places:
        # With --from-pairs there is one positional argument. nargs="?" would end the list at the first option.
        place.required = False
    converting.add_argument("--to", required=True, choices=tuple(WRITERS), help="layout to write")
    converting.add_argument("--overwrite", action="store_true", help="replace the result of an earlier conversion")
    options.add_scored_pairs(converting)
    for action in (checking, converting):
        action.add_argument(
            "--collection-format",
            metavar="FORMAT",
            help=f"format of PATH: {', '.join(READERS)} (default: detected from the content)",
        )
        action.add_argument("--split", metavar="SPLIT", help="split to read (default: the usual evaluation split)")
        options.add_questions(action)
    options.add_output(checking, ("table", "json", "markdown"))
    options.add_general(converting)
    return parser


def run(args: argparse.Namespace) -> int:
    """Check or convert the collection."""
    return {"check": _check, "convert": _convert}[args.action](args)


def _check(args: argparse.Namespace) -> int:
    alone = wiki.find_gold_alone(Path(args.path)) if args.collection_format is None else None
    report = check(_load(args)) if alone is None else check_gold(wiki.read_gold(alone))
    options.emit(to_json(report.as_dict(), "data-check") if args.format == "json" else _show(report, args), args)
    return 1 if report.of("error") or (args.strict and report.of("warning")) else 0


def _show(report: CollectionReport, args: argparse.Namespace) -> str:
    numbers = {
        "items": report.items or "not known: this is gold without texts",
        "queries": "the items themselves" if report.related else report.queries,
        "queries with gold": report.judged_queries,
        "judged pairs": report.judged_pairs,
        "relevant pairs": report.relevant_pairs,
        "split": f"{report.split} (of {', '.join(report.splits)})" if len(report.splits) > 1 else report.split,
        "format": report.format,
        "checksum": report.checksum,
    }
    grids = []
    if report.items or not report.related:
        cells = [[Cell(name), Cell(str(value))] for name, value in numbers.items()]
        cells += [[Cell("columns" if not at else ""), Cell(line)] for at, line in enumerate(report.readings)]
        grids.append(Grid(["collection", report.source or report.name], cells, text_columns=2))
    if report.first_query is not None:
        grids.append(_first_query_grid(report.first_query))
    if report.statistics is not None:
        cells = [[Cell(name), Cell(value)] for name, value in _statistics_rows(report.statistics).items()]
        headings = ["related articles", ""] if report.items else ["gold without articles", report.source]
        grids.append(Grid(headings, cells, notes=list(report.published), text_columns=2))
    lengths = [
        [Cell(side), *(Cell(str(words[name])) for name in QUANTILES)] for side, words in report.words.items() if words
    ]
    if lengths:
        grids.append(Grid(["words of", *QUANTILES], lengths))
    findings = [
        [
            Cell(finding.severity, best=finding.severity == "error"),
            Cell(finding.sentence),
            Cell(", ".join(finding.examples)),
        ]
        for finding in report.findings
    ]
    counted = ", ".join(counts(len(report.of(severity)), severity) for severity in SEVERITIES)
    if findings:
        grids.append(Grid(["severity", "finding", "examples"], findings, notes=[f"{counted}."], text_columns=3))
    text = render(grids, args.format, options.layout(args))
    return text if findings else f"{text}\n\nNo problems were found."


def _first_query_grid(first: FirstQuery) -> Grid:
    """Return the first query with its gold as they were read, shortened to the width of the terminal."""
    entries = [(first.id, "query", first.text)]
    entries += [(item.id, f"grade {item.grade:g}", item.text) for item in first.items]
    ids = [truncate(entry[0], _LONGEST_ID) for entry in entries]
    headings = ["first query", "id", "as read"]
    used = max(len(headings[0]), *(len(role) for _, role, _ in entries)) + max(map(len, (headings[1], *ids))) + 6
    width = min(output_width(sys.stdout) or _WIDTH, _WIDTH)
    rows = [
        [
            Cell(role),
            Cell(name),
            Cell(
                "(not in the corpus)" if text is None else truncate(text, max(width - used, _LONGEST_ID)) or "(no text)"
            ),
        ]
        for name, (_, role, text) in zip(ids, entries, strict=True)
    ]
    more = first.judged - len(first.items)
    notes = [f"{counts(more, 'judged item')} more of this query."] if more else []
    return Grid(headings, rows, notes=notes, text_columns=3)


def _statistics_rows(statistics: ArticleStatistics) -> dict[str, str]:
    """Return the statistics that papers publish of such data, as text."""

    def share(number: int, whole: int) -> str:
        return f"{number:,} of {whole:,} ({number / whole:.1%})" if whole else "0"

    rows = {
        "articles": "not available" if statistics.articles is None else f"{statistics.articles:,}",
        "sources": f"{statistics.sources:,}",
        "pairs": f"{statistics.pairs:,}",
        "similar articles per source": f"{statistics.similar_mean:.2f} ± {statistics.similar_deviation:.2f}",
        "pairs whose titles share no word": share(statistics.titles_share_no_word, statistics.pairs),
    }
    if statistics.pairs_with_articles is not None:
        whole = statistics.pairs_with_articles
        rows |= {
            "sources with an article": share(statistics.sources_with_article or 0, statistics.sources),
            "pairs with both articles": share(whole, statistics.pairs),
            "no word of the source's title in the similar text": share(
                statistics.target_text_without_source_title or 0, whole
            ),
            "no word of the similar title in the source's text": share(
                statistics.source_text_without_target_title or 0, whole
            ),
        }
    if statistics.sections_mean is not None:
        rows["sections per article"] = f"{statistics.sections_mean:.2f} ± {statistics.sections_deviation:.2f}"
    if statistics.words_per_section_mean is not None:
        rows["words per section"] = f"{statistics.words_per_section_mean:.1f}"
    return rows


def _load(args: argparse.Namespace) -> Collection:
    data = load_data(args.path, split=args.split, format=args.collection_format, questions=args.questions)
    if not isinstance(data, Collection):
        columns = f" (columns: {'; '.join(data.readings)})" if data.readings else ""
        raise InputError(
            f"{args.path} holds {counts(len(data), 'pair or text', 'pairs or texts')} to measure a model on, and "
            f"nothing to rank{columns}",
            remedy=f"goldrank run -m MODEL -t {args.path} measures it",
        )
    return data


def _convert(args: argparse.Namespace) -> int:
    ignored = {
        f"the path {args.path}": args.out,
        "--split": args.split,
        "--collection-format": args.collection_format,
        "--questions": args.questions,
    }
    if args.path is None or (args.from_pairs is None and args.out is None):
        raise InputError("OUT is missing", remedy="give PATH and OUT, or OUT before --from-pairs FILE…")
    if args.from_pairs is not None and any(ignored.values()):
        name = next(name for name, value in ignored.items() if value)
        raise InputError(f"{name} has no effect with --from-pairs", remedy="name the files with --from-pairs only")
    from_pairs = options.collection_from_pairs(args)
    collection, out = (_load(args), args.out) if from_pairs is None else (from_pairs, args.path)
    remarks = convert(collection, out, args.to, overwrite=args.overwrite)
    queries = (
        "which are also the queries" if collection.related else counts(len(collection.queries), "query", "queries")
    )
    printing.show_prose(
        f"{out}: {counts(len(collection.items), 'item')}, {queries}, "
        f"{counts(len(collection.gold.items), 'judged pair')} of the split {collection.split}, as {args.to}."
    )
    for remark in collection.notes:
        printing.show_prose(f"Data: {remark}.")
    for remark in remarks or ["Verified: the written collection reads back without a difference."]:
        printing.show_prose(remark)
    return 0
