"""`goldrank index`: build, search and describe an index; drop data that was loaded into a database."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from goldrank.cli import options, printing
from goldrank.errors import InputError
from goldrank.hits import Run
from goldrank.redaction import redact
from goldrank.reporting.text.formatting import truncate
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.views import View
from goldrank.units import format_bytes

_EXAMPLES = """\
  goldrank index build corpus.jsonl -m wordllama -o persons.index
  goldrank index build beir/scifact -m wordllama --factory HNSW32 -o scifact.index
  goldrank index search persons.index "who discovered radium?" -k 3
  goldrank index search scifact.index --queries queries.jsonl -k 100 --run scifact.run
  goldrank index info scifact.index --verify
  goldrank index search index.bin "who discovered radium?" -m st:BAAI/bge-base-en-v1.5 --ids ids.txt
  goldrank index drop "pgvector:postgresql://me@localhost/db?table=scifact"
"""
_TEXT_SHOWN = 90


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("index", "Build, search and describe an index of texts.", _EXAMPLES)
    actions = parser.add_subparsers(dest="action", required=True, metavar="build|search|info|drop")
    build = actions.add_parser("build", help="encode texts and write an index folder")
    build.add_argument("data", metavar="DATA", help="texts with ids: JSON(L), CSV, TSV, Parquet, lines, a BEIR folder")
    build.add_argument("-m", "--model", required=True, metavar="MODEL", help="model that encodes the texts")
    build.add_argument("-o", "--output", required=True, metavar="FOLDER", help="folder to write")
    build.add_argument("--factory", default="Flat", metavar="FACTORY", help="exact, or a faiss factory (default Flat)")
    build.add_argument("--transform", metavar="TRANSFORM", help="such as center|whiten:256, fitted on the texts")
    options.add_similarity(build)
    build.add_argument("--no-texts", action="store_true", help="do not store the texts")
    build.add_argument("--overwrite", action="store_true", help="replace an existing index")
    search = actions.add_parser("search", help="find the best items for queries")
    info = actions.add_parser("info", help="show the content and the model of an index")
    for action in (search, info):
        action.add_argument("index", metavar="INDEX", help="an index folder, or a file of faiss.write_index")
    search.add_argument("query", metavar="QUERY", nargs="*", help="texts to search for")
    search.add_argument(
        "--queries", metavar="FILE", help="file of queries with ids, in the formats of DATA; - for standard input"
    )
    search.add_argument("-k", type=int, default=3, metavar="K", help="results per query (default 3)")
    search.add_argument(
        "-m", "--model", metavar="MODEL", help="default: that of the index, unless it runs code or opens connections"
    )
    search.add_argument("--run", metavar="FILE", help="write a run file (TREC, or the format of the suffix)")
    for action in (search, info):
        action.add_argument(
            "--ids", metavar="FILE", help="ids of a faiss file, one per line (default: its own, or 0, 1, …)"
        )
        action.add_argument("--verify", action="store_true", help="check the SHA-256 of every file first")
        options.add_format(action)
    drop = actions.add_parser("drop", help="remove data that goldrank loaded into a database")
    drop.add_argument("spec", metavar="SPEC", help="pgvector:URL, chroma:URL or lancedb:FOLDER/TABLE")
    for action in (build, search, info, drop):
        options.add_general(action)
    return parser


def run(args: argparse.Namespace) -> int:
    """Build, search, describe or drop an index."""
    return {"build": _build, "search": _search, "info": _info, "drop": _drop}[args.action](args)


def _build(args: argparse.Namespace) -> int:
    from goldrank.index.folder import build_index

    index = build_index(
        args.data,
        args.model,
        args.output,
        factory=args.factory,
        transform=args.transform,
        similarity=args.similarity,
        keep_texts=not args.no_texts,
        overwrite=args.overwrite,
    )
    for warning in index.warnings:
        printing.show_prose(f"Warning: {warning}")
    manifest = index.manifest
    size = sum(entry["size"] for entry in manifest.files.values())
    empty = f", {index.empty_texts} of them empty" if index.empty_texts else ""
    printing.show_prose(
        f"{args.output}: {manifest.count} texts{empty}, {manifest.dimension} dimensions, {manifest.similarity}, "
        f"{manifest.index}, {format_bytes(size)}."
    )
    return 0


def _search(args: argparse.Namespace) -> int:
    from goldrank.index.folder import open_index

    if args.run is not None:
        options.refuse_unused(args, ["format"], "beside --run, whose format is that of the suffix")
    queries = _queries(args)
    opened = open_index(args.index, verify=args.verify, ids=args.ids)
    run = opened.search_texts(queries, args.k, model=args.model)
    if args.run is not None:
        tag = redact(opened.model(args.model))
        run.write(args.run, format=None if Path(args.run).suffix else "trec", tag=tag)
        return 0
    printing.show(_view(run, queries, opened.texts).render(args.format, printing.layout()))
    return 0


def _queries(args: argparse.Namespace) -> dict[str, str]:
    """Return the queries by id: those of the file, or those of the command line, numbered from 1."""
    from goldrank.data.texts import read_texts

    if bool(args.query) == bool(args.queries):
        raise InputError("queries come from the command line or from a file", remedy='give "a query" or --queries FILE')
    if args.queries:
        read = read_texts(args.queries)
        queries = dict(zip(read.ids, read.texts, strict=True))
    else:
        queries = {str(number): query for number, query in enumerate(args.query, 1)}
    if empty := [name for name, query in queries.items() if not query.strip()]:
        raise InputError(f"query {empty[0]} is empty", where=args.queries, remedy="write a text to search for")
    return queries


def _view(run: Run, queries: dict[str, str], texts: dict[str, str] | None) -> View:
    def results_of(query: str) -> list[dict[str, Any]]:
        return [
            {"rank": rank, "score": score, "id": item, "text": texts[item] if texts else None}
            for rank, (item, score) in enumerate(run[query].items(), 1)
        ]

    def grid(query: str) -> Grid:
        cells = [
            [
                Cell(str(row["rank"])),
                Cell(f"{row['score']:.4f}"),
                Cell(row["id"]),
                Cell(truncate(" ".join((row["text"] or "").split()), _TEXT_SHOWN)),
            ]
            for row in results_of(query)
        ]
        columns = 4 if texts else 3
        headings = ["rank", "score", "id", "text"][:columns]
        return Grid(headings, [row[:columns] for row in cells], title=queries[query], text_columns=4)

    return View(
        lambda: {"queries": [{"id": id, "text": text, "results": results_of(id)} for id, text in queries.items()]},
        lambda: [
            ["query", "rank", "score", "id", "text"],
            *([query, *row.values()] for query in queries for row in results_of(query)),
        ],
        lambda: [grid(query) for query in queries],
        schema="index-search",
    )


def _info(args: argparse.Namespace) -> int:
    from goldrank.index.folder import open_index
    from goldrank.reporting.text.index import index_view

    opened = open_index(args.index, verify=args.verify, ids=args.ids)
    printing.show(index_view(opened, args.index, verified=args.verify).render(args.format, printing.layout()))
    return 0


def _drop(args: argparse.Namespace) -> int:
    from goldrank.index.base import drop

    dropped = drop(args.spec)
    if not dropped:
        where = redact(args.spec)
        raise InputError("goldrank loaded nothing there", where=where, remedy="check the names in the spec")
    printing.show_prose(f"Dropped {', '.join(dropped)}.")
    return 0
