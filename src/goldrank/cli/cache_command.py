"""`goldrank cache`: list and remove cache entries."""

from __future__ import annotations

import argparse
import math
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from goldrank.cli import options, printing
from goldrank.errors import InputError
from goldrank.io.cache_entries import KINDS, list_entries, remove_entries
from goldrank.io.files import cache_folder
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.views import View
from goldrank.units import format_bytes
from goldrank.vectors.cache import EmbeddingCache, EmbeddingCacheEntry

_EXAMPLES = """\
  goldrank cache info
  goldrank cache info --model bge --format json
  goldrank cache clear --older-than 90
  goldrank cache clear --model st:BAAI/bge-base-en-v1.5 --yes
  goldrank cache clear --kind shards --older-than 7
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("cache", "List or remove cached vectors and other cache entries.", _EXAMPLES)
    parser.add_argument(
        "action", choices=("info", "clear"), metavar="info|clear", help="list the entries, or remove them"
    )
    parser.add_argument(
        "--kind",
        choices=("vectors", *KINDS),
        default="vectors",
        metavar="KIND",
        help=f"vectors: vectors of encoded texts (default); {options.describe_choices(KINDS)}",
    )
    parser.add_argument("--model", metavar="MODEL", help="only vectors of models whose name contains this text")
    parser.add_argument(
        "--older-than", type=float, metavar="DAYS", help="only entries that were not used for this many days"
    )
    parser.add_argument(
        "--folder", metavar="FOLDER", help="folder of the vectors (default: in $GOLDRANK_CACHE or the user's cache)"
    )
    parser.add_argument("--yes", action="store_true", help="remove without confirmation")
    options.add_output(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """List or remove the entries, and print which."""
    if args.older_than is not None and not (math.isfinite(args.older_than) and args.older_than >= 0):
        raise InputError(f"--older-than {args.older_than:g} is not a number of days", remedy="give one from 0 up")
    if args.action == "info":
        options.refuse_unused(args, ["yes"], "on cache info, which removes nothing")
    options.emit(_vectors(args) if args.kind == "vectors" else _other_kind(args), args)
    return 0


def _vectors(args: argparse.Namespace) -> str:
    cache = EmbeddingCache(args.folder)
    entries = cache.matching(args.model, args.older_than)
    if args.action == "clear" and entries:
        models = ", ".join(sorted({entry.identity for entry in entries}))
        printing.confirm_removal(f"{_total(entries)} of {models}", confirmed=args.yes)
        # Only the entries of the confirmation: another process may have added more in the meantime.
        entries = cache.remove(entries)
    others = {kind: sum(part.bytes for part in list_entries(kind)) for kind in KINDS} if args.folder is None else {}
    sizes = ", ".join(f"{kind} {format_bytes(size)}" for kind, size in others.items() if size)
    headings = {
        "identity": "model",
        "side": "side",
        "prompt": "prompt",
        "texts": "texts",
        "dimension": "dimension",
        "bytes": "size",
        "last_used": "last used",
    }
    rows = [{name: getattr(entry, name) for name in headings} for entry in entries]
    other = f" Other entries (--kind): {sizes}." if sizes else ""
    return _show(cache.folder, headings, rows, _total(entries), args, other)


def _total(entries: list[EmbeddingCacheEntry]) -> str:
    texts = sum(entry.texts for entry in entries)
    return f"{texts} vector{'s' * (texts != 1)} ({format_bytes(sum(entry.bytes for entry in entries))})"


def _other_kind(args: argparse.Namespace) -> str:
    options.refuse_unused(args, ["model", "folder"], f"on {args.kind}, which are not cached by model")
    before = time.time() - 86400 * (args.older_than or 0.0)
    entries = [entry for entry in list_entries(args.kind) if args.older_than is None or entry.last_used < before]
    size = f"{format_bytes(sum(entry.bytes for entry in entries))} of {args.kind}"
    if args.action == "clear" and entries:
        printing.confirm_removal(size, confirmed=args.yes)
        remove_entries(entries)
    headings = {"name": args.kind, "bytes": "size", "last_used": "last used"}
    rows = [{"name": entry.path.name, "bytes": entry.bytes, "last_used": entry.last_used} for entry in entries]
    return _show(cache_folder() / args.kind, headings, rows, size, args)


def _show(
    folder: Path,
    headings: dict[str, str],
    rows: list[dict[str, Any]],
    total: str,
    args: argparse.Namespace,
    other: str = "",
) -> str:
    """Return the entries in the format of the arguments; *headings* names the columns of the table."""
    clear = args.action == "clear"
    for row in rows:
        when = datetime.fromtimestamp(row["last_used"]).astimezone()
        row["last_used"] = when.isoformat(sep=" ", timespec="seconds")
    if not rows and args.format not in ("json", "csv"):
        return f"Nothing to {'remove' if clear else 'show'} in {folder}.{other}"

    def text(name: str, value: Any) -> str:
        if name == "bytes":
            return format_bytes(value)
        if name == "last_used":
            return str(value)[: len("2026-11-16 18:20")]
        return (repr(value) if value else "") if name == "prompt" else str(value)

    def grid() -> Grid:
        cells = [[Cell(text(name, value)) for name, value in row.items()] for row in rows]
        note = f"{total} {'removed from' if clear else 'in'} {folder}.{other}"
        return Grid(list(headings.values()), cells, notes=[note], text_columns=max(1, len(headings) - 4))

    return View(
        lambda: {"folder": str(folder), "removed" if clear else "entries": rows},
        lambda: [list(headings), *(list(row.values()) for row in rows)],
        lambda: [grid()],
        schema="cache-clear" if clear else "cache-info",
    ).render(args.format, options.layout(args))
