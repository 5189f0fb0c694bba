"""`goldrank data`: what a collection holds and what is wrong with it, and writing it in another layout."""

from __future__ import annotations

import argparse
from pathlib import Path

from goldrank.cli import options, printing
from goldrank.data.article_statistics import ArticleStatistics
from goldrank.data.checks import QUANTILES, SEVERITIES, CollectionReport, check, check_gold
from goldrank.data.collections import READERS, Collection, read_collection, wiki
from goldrank.data.conversion import WRITERS, convert
from goldrank.errors import InputError, counts
from goldrank.reporting.text.grids import Cell, Grid, render
from goldrank.reporting.text.results import to_json
from goldrank.tasks import TASKS, find_task

_EXAMPLES = """\
  goldrank data check my-folder
  goldrank data check wines.txt --format json
  goldrank data check SDR/data/datasets/wines/gt
  goldrank data check irds:beir/scifact/test --strict
  goldrank data convert cran/ cran-beir --to beir
  goldrank data convert --from-pairs STSBenchmark sem_text_rel_ranked.csv --to evalrank my-evalrank
  goldrank data convert hf:mteb/scifact scifact --to trec --split test
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = options.new_parser("data", "Check a collection of documents, queries and gold, or convert it.", _EXAMPLES)
    actions = made.add_subparsers(dest="action", required=True, metavar="check|convert")
    checking = actions.add_parser("check", help="counts, and what is missing, doubled, empty, misspelt or outside")
    checking.add_argument("path", metavar="PATH", help="a folder or file, irds:NAME, hf:NAME, or a task")
    checking.add_argument("--format", choices=("table", "json", "markdown"), default="table", help="output format")
    checking.add_argument("--strict", action="store_true", help="exit with 1 if there are warnings")
    checking.add_argument("-o", "--output", metavar="FILE", help="write there instead of to standard output")
    converting = actions.add_parser("convert", help="write it in another layout, read it back and compare")
    read = "a folder or file, irds:NAME, hf:NAME, or a task; left out with --from-pairs"
    places = [converting.add_argument("path", metavar="PATH", help=read)]
    written = "the folder to write; for articles and pairs also a file"
    places.append(converting.add_argument("out", metavar="OUT", help=written))
    for place in places:
        # With --from-pairs there is one positional argument. nargs="?" would end the list at the first option.
        place.required = False
    converting.add_argument("--to", required=True, choices=tuple(WRITERS), help="the layout to write")
    converting.add_argument("--overwrite", action="store_true", help="replace what an earlier conversion wrote there")
    options.add_scored_pairs(converting)
    for action in (checking, converting):
        action.add_argument("--collection-format", metavar="F", help=f"{', '.join(READERS)} (default: by content)")
        action.add_argument("--split", metavar="S", help="which split (default: the one people evaluate on)")
        action.add_argument("--debug", action="store_true", help="show a traceback on errors")
    return made


def run(args: argparse.Namespace) -> int:
    """Check or convert."""
    return {"check": _check, "convert": _convert}[args.action](args)


def _check(args: argparse.Namespace) -> int:
    alone = wiki.find_gold_alone(Path(args.path)) if args.collection_format is None else None
    report = check(_read(args, args.path)) if alone is None else check_gold(wiki.read_gold(alone))
    options.emit(to_json(report.as_dict()) if args.format == "json" else _shown(report, args.format), args)
    return 1 if report.of("error") or (args.strict and report.of("warning")) else 0


def _shown(report: CollectionReport, look: str) -> str:
    numbers = {
        "items": report.items,
        "queries": "the items themselves" if report.related else report.queries,
        "queries with gold": report.judged_queries,
        "judged pairs": report.judged_pairs,
        "relevant pairs": report.relevant_pairs,
        "split": f"{report.split} (of {', '.join(report.splits)})" if len(report.splits) > 1 else report.split,
        "format": report.format,
        "checksum": report.checksum,
    }
    grids = []
    if report.items:
        cells = [[Cell(name), Cell(str(value))] for name, value in numbers.items()]
        grids.append(Grid(["collection", report.source or report.name], cells, text_columns=2))
    if report.statistics is not None:
        cells = [[Cell(name), Cell(value)] for name, value in _counted(report.statistics).items()]
        headings = ["articles and those like them", ""] if report.items else ["gold alone", report.source]
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
    text = render(grids, look)
    return text if findings else f"{text}\n\nNothing was found to be wrong."


def _counted(made: ArticleStatistics) -> dict[str, str]:
    """What papers print of such data, as text."""

    def share(number: int, whole: int) -> str:
        return f"{number:,} of {whole:,} ({number / whole:.1%})" if whole else "0"

    rows = {
        "articles": "not here" if made.articles is None else f"{made.articles:,}",
        "sources": f"{made.sources:,}",
        "pairs": f"{made.pairs:,}",
        "similar articles per source": f"{made.similar_mean:.2f} ± {made.similar_deviation:.2f}",
        "pairs whose titles share no word": share(made.titles_share_no_word, made.pairs),
    }
    if made.pairs_with_articles is not None:
        whole = made.pairs_with_articles
        rows |= {
            "sources with an article": share(made.sources_with_article or 0, made.sources),
            "pairs with both articles": share(whole, made.pairs),
            "no word of the source's title in the similar text": share(
                made.target_text_without_source_title or 0, whole
            ),
            "no word of the similar title in the source's text": share(
                made.source_text_without_target_title or 0, whole
            ),
        }
    if made.sections_mean is not None:
        rows["sections per article"] = f"{made.sections_mean:.2f} ± {made.sections_deviation:.2f}"
    if made.words_per_section_mean is not None:
        rows["words per section"] = f"{made.words_per_section_mean:.1f}"
    return rows


def _read(args: argparse.Namespace, path: str) -> Collection:
    """What the path holds, or the data of a named task."""
    if args.collection_format is None and path.partition(":")[0] in TASKS:
        collection: Collection = find_task(path).read(args.split)
        return collection
    return read_collection(path, format=args.collection_format, split=args.split)


def _convert(args: argparse.Namespace) -> int:
    ignored = {f"the path {args.path}": args.out, "--split": args.split, "--collection-format": args.collection_format}
    if args.path is None or (args.from_pairs is None and args.out is None):
        raise InputError("OUT is missing", remedy="give PATH and OUT, or OUT before --from-pairs FILE…")
    if args.from_pairs is not None and any(ignored.values()):
        name = next(name for name, value in ignored.items() if value)
        raise InputError(f"{name} has no effect with --from-pairs", remedy="name the files with --from-pairs only")
    made = options.collection_from_pairs(args)
    collection, out = (_read(args, args.path), args.out) if made is None else (made, args.path)
    remarks = convert(collection, out, args.to, overwrite=args.overwrite)
    asked = "which are the queries too" if collection.related else counts(len(collection.queries), "query", "queries")
    printing.show(
        f"{out}: {counts(len(collection.items), 'item')}, {asked}, "
        f"{counts(len(collection.gold.items), 'judged pair')} of the split {collection.split}, as {args.to}."
    )
    for remark in () if made is None else made.remarks:
        printing.show(f"Data: {remark}.")
    for remark in remarks or ["Read again, it is the same in every part."]:
        printing.show(remark)
    return 0
