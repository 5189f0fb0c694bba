"""`goldrank index`: build an index of texts, search it, say what it is; drop what was loaded into a database."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from goldrank.cli import options, printing
from goldrank.errors import InputError
from goldrank.hits import Run
from goldrank.redaction import redact
from goldrank.reporting.text import results
from goldrank.reporting.text.grids import Cell, Grid, render
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
_FORMATS = ("table", "json", "csv", "markdown", "latex")
_TEXT_SHOWN = 90


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    command = options.new_parser("index", "Build an index of texts, search it, and say what it is.", _EXAMPLES)
    actions = command.add_subparsers(dest="action", required=True, metavar="build|search|info|drop")
    build = actions.add_parser("build", help="encode texts and write an index folder")
    build.add_argument("data", metavar="DATA", help="texts with ids: JSON(L), CSV, TSV, Parquet, lines, a BEIR folder")
    build.add_argument("-m", "--model", required=True, metavar="MODEL", help="what encodes the texts")
    build.add_argument("-o", "--output", required=True, metavar="DIR", help="the folder to write")
    build.add_argument("--factory", default="Flat", metavar="F", help="exact, or a faiss factory (default Flat)")
    build.add_argument("--transform", metavar="T", help="such as center|whiten:256, fitted on the texts")
    build.add_argument("--similarity", choices=("cosine", "dot", "l2"), default="cosine")
    build.add_argument("--no-texts", action="store_true", help="do not keep the texts")
    build.add_argument("--overwrite", action="store_true", help="replace an index that is there")
    search = actions.add_parser("search", help="the best items for queries")
    search.add_argument("index", metavar="INDEX", help="an index folder, or a file of faiss.write_index")
    search.add_argument("query", metavar="QUERY", nargs="*")
    search.add_argument("--queries", metavar="FILE", help="queries with ids, in the same formats; - is stdin, by lines")
    search.add_argument("-k", type=int, default=3, help="results of each query (default 3)")
    search.add_argument(
        "-m",
        "--model",
        metavar="MODEL",
        help="default: that of the index, unless it runs code or opens connections",
    )
    search.add_argument("--run", metavar="FILE", help="write a run there (TREC, or what the suffix says)")
    info = actions.add_parser("info", help="what an index holds and what command it")
    info.add_argument("index", metavar="INDEX", help="an index folder, or a file of faiss.write_index")
    for action in (search, info):
        action.add_argument(
            "--ids", metavar="FILE", help="ids of a faiss file, one per line (default: its own, or 0, 1, …)"
        )
        action.add_argument("--verify", action="store_true", help="check the SHA-256 of every file first")
        action.add_argument("--format", choices=_FORMATS, default="table", help="output format (default table)")
    drop = actions.add_parser("drop", help="remove what goldrank loaded into a database, and nothing else")
    drop.add_argument("spec", metavar="SPEC", help="pgvector:URL, chroma:URL or lancedb:FOLDER/TABLE")
    for action in (build, search, info, drop):
        action.add_argument("--debug", action="store_true", help="show a traceback on errors")
    return command


def run(args: argparse.Namespace) -> int:
    """Build, search, describe or drop."""
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
        printing.show(f"Warning: {warning}")
    manifest = index.manifest
    size = sum(entry["size"] for entry in manifest.files.values())
    empty = f", {index.empty_texts} of them empty" if index.empty_texts else ""
    printing.show(
        f"{args.output}: {manifest.count} texts{empty}, {manifest.dimension} dimensions, {manifest.similarity}, "
        f"{manifest.index}, {format_bytes(size)}."
    )
    return 0


def _search(args: argparse.Namespace) -> int:
    from goldrank.index.folder import open_index

    if args.run is not None:
        options.refuse_unused(args, ["format"], "beside --run, whose format the suffix of its file says")
    queries = _queries(args)
    opened = open_index(args.index, verify=args.verify, ids=args.ids)
    found = opened.search_texts(queries, args.k, model=args.model)
    if args.run is not None:
        tag = redact(opened.model(args.model))
        found.write(args.run, format=None if Path(args.run).suffix else "trec", tag=tag)
        return 0
    printing.show(_shown(found, queries, opened.texts, args.format))
    return 0


def _queries(args: argparse.Namespace) -> dict[str, str]:
    """The queries by id: those of the file, then those of the command line, numbered from 1."""
    from goldrank.data.texts import read_texts

    if bool(args.query) == bool(args.queries):
        raise InputError("queries come from the command line or from a file", remedy='give "a query" or --queries FILE')
    if args.queries:
        read = read_texts(args.queries)
        queries = dict(zip(read.ids, read.texts, strict=True))
    else:
        queries = {str(number): query for number, query in enumerate(args.query, 1)}
    if empty := [name for name, query in queries.items() if not query.strip()]:
        raise InputError(f"query {empty[0]} is empty", where=args.queries, remedy="write what to search for")
    return queries


def _shown(found: Run, queries: dict[str, str], texts: dict[str, str] | None, look: str) -> str:
    if look in ("json", "csv"):
        rows = [row for query in queries for row in _rows(found, query, texts)]
        if look == "csv":
            return results.to_csv([["query", "rank", "score", "id", "text"], *(list(row.values()) for row in rows)])
        return results.to_json(
            {
                "queries": [
                    {"id": query, "text": text, "results": [_without_query(row) for row in _rows(found, query, texts)]}
                    for query, text in queries.items()
                ]
            }
        )
    grids = []
    for query, text in queries.items():
        cells = [
            [Cell(str(row["rank"])), Cell(f"{row['score']:.4f}"), Cell(row["id"]), Cell(_short(row["text"] or ""))]
            for row in _rows(found, query, texts)
        ]
        headings = ["rank", "score", "id", "text"]
        kept = 4 if texts else 3
        grids.append(Grid(headings[:kept], [row[:kept] for row in cells], title=text, text_columns=4))
    return render(grids, look)


def _rows(found: Run, query: str, texts: dict[str, str] | None) -> list[dict[str, Any]]:
    return [
        {"query": query, "rank": rank, "score": score, "id": item, "text": texts[item] if texts else None}
        for rank, (item, score) in enumerate(found[query].items(), 1)
    ]


def _without_query(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "query"}


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _TEXT_SHOWN else line[: _TEXT_SHOWN - 1] + "…"


def _info(args: argparse.Namespace) -> int:
    from goldrank.index.folder import open_index
    from goldrank.reporting.text.index import index_view

    opened = open_index(args.index, verify=args.verify, ids=args.ids)
    printing.show(index_view(opened, args.index, verified=args.verify).render(args.format))
    return 0


def _drop(args: argparse.Namespace) -> int:
    from goldrank.index.base import drop

    dropped = drop(args.spec)
    if not dropped:
        where = redact(args.spec)
        raise InputError("nothing is there that goldrank loaded", where=where, remedy="check the names in the spec")
    printing.show(f"Dropped {', '.join(dropped)}.")
    return 0
