"""`goldrank cache`: which vectors are kept on disk, and how to be rid of them."""

from __future__ import annotations

import argparse
import math
import sys
import time
from datetime import datetime
from typing import Any

from goldrank.cli import options, printing
from goldrank.errors import GoldrankError, InputError
from goldrank.io.cache_entries import KINDS, list_entries, remove_entries
from goldrank.io.files import cache_folder
from goldrank.reporting.text.grids import Cell, Grid, render
from goldrank.reporting.text.results import to_csv, to_json
from goldrank.units import format_bytes
from goldrank.vectors.cache import EmbeddingCache, EmbeddingCacheEntry

_EXAMPLES = """\
  goldrank cache info
  goldrank cache info --model bge --format json
  goldrank cache clear --older-than 90
  goldrank cache clear --model st:BAAI/bge-base-en-v1.5 --yes
  goldrank cache clear --kind shards --older-than 7
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = options.new_parser("cache", "Show or clear the vectors that were kept so as not to encode twice.", _EXAMPLES)
    made.add_argument("action", choices=("info", "clear"))
    kinds = "; ".join(f"{name}: {meaning}" for name, meaning in KINDS.items())
    made.add_argument("--kind", choices=("vectors", *KINDS), default="vectors", help=f"vectors (default), or {kinds}")
    made.add_argument("--model", metavar="TEXT", help="only models whose name contains this")
    made.add_argument("--older-than", type=float, metavar="DAYS", help="only what was not used for so many days")
    made.add_argument("--folder", metavar="DIR", help="the cache there (default: $GOLDRANK_CACHE or the system's)")
    made.add_argument("--yes", action="store_true", help="clear without asking")
    options.add_output(made)
    return made


def run(args: argparse.Namespace) -> int:
    """Show or clear, and print what there is or was."""
    if args.older_than is not None and not (math.isfinite(args.older_than) and args.older_than >= 0):
        raise InputError(f"{args.older_than:g} is not a number of days", remedy="give one from 0 up")
    if args.action == "info":
        options.refuse_unused(args, ["yes"], "on cache info, which removes nothing")
    if args.kind != "vectors":
        return _other_kind(args)
    cache = EmbeddingCache(args.folder)
    entries = cache.matching(args.model, args.older_than)
    if args.action == "clear" and entries:
        _confirm(entries, args)
        # Only what was shown: another process may have added something meanwhile.
        entries = cache.remove(entries)
    options.emit(_text(cache, entries, args), args)
    return 0


def _other_kind(args: argparse.Namespace) -> int:
    """Show or clear what is no encoded text."""
    if args.model is not None or args.folder is not None:
        raise InputError(f"{args.kind} are not kept by model", remedy="leave --model and --folder away")
    before = time.time() - 86400 * (args.older_than or 0.0)
    parts = [part for part in list_entries(args.kind) if args.older_than is None or part.last_used < before]
    folder, size = cache_folder() / args.kind, format_bytes(sum(part.bytes for part in parts))
    if args.action == "clear" and parts:
        _ask(f"{size} of {args.kind}", args)
        remove_entries(parts)
    done = "removed" if args.action == "clear" else "kept"
    rows = [{"name": part.path.name, "bytes": part.bytes, "last_used": _date(part.last_used)} for part in parts]
    if args.format == "json":
        options.emit(to_json({"folder": str(folder), "removed" if args.action == "clear" else "entries": rows}), args)
    elif args.format == "csv":
        options.emit(to_csv([["name", "bytes", "last_used"], *(list(row.values()) for row in rows)]), args)
    elif not parts:
        options.emit(f"Nothing to {'remove' if args.action == 'clear' else 'show'} in {folder}.", args)
    else:
        cells = [[Cell(part.path.name), Cell(format_bytes(part.bytes)), Cell(_date(part.last_used))] for part in parts]
        grid = Grid([args.kind, "size", "last written"], cells, notes=[f"{size} {done} in {folder}."])
        options.emit(render([grid], args.format), args)
    return 0


def _confirm(entries: list[EmbeddingCacheEntry], args: argparse.Namespace) -> None:
    _ask(f"{_total(entries)} of {', '.join(sorted({entry.identity for entry in entries}))}", args)


def _ask(what: str, args: argparse.Namespace) -> None:
    if args.yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(f"this would remove {what}", remedy="add --yes to do so without being asked")
    printing.say(f"Remove {what}? [y/N] ", end="")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise GoldrankError("nothing was removed")


def _text(cache: EmbeddingCache, entries: list[EmbeddingCacheEntry], args: argparse.Namespace) -> str:
    rows = [_row(entry) for entry in entries]
    if args.format == "json":
        return to_json({"folder": str(cache.folder), "removed" if args.action == "clear" else "entries": rows})
    if args.format == "csv":
        headings = ["identity", "side", "prompt", "texts", "dimension", "bytes", "last_used"]
        return to_csv([headings, *([row[name] for name in headings] for row in rows)])
    done = "removed" if args.action == "clear" else "kept"
    note = f"{_total(entries)} {done} in {cache.folder}." if entries else f"Nothing to show in {cache.folder}."
    if not entries and args.action == "clear":
        note = f"Nothing to remove in {cache.folder}."
    others = {kind: sum(part.bytes for part in list_entries(kind)) for kind in KINDS} if args.folder is None else {}
    if sizes := [f"{kind} {format_bytes(size)}" for kind, size in others.items() if size]:
        note += f" Also kept (--kind): {', '.join(sizes)}."
    cells = [
        [
            Cell(entry.identity),
            Cell(entry.side),
            Cell(repr(entry.prompt) if entry.prompt else ""),
            Cell(f"{entry.texts}"),
            Cell(f"{entry.dimension}"),
            Cell(format_bytes(entry.bytes)),
            Cell(_when(entry)),
        ]
        for entry in entries
    ]
    if not cells:
        return note
    headings = ["model", "side", "prompt", "texts", "dimension", "size", "last used"]
    return render([Grid(headings, cells, notes=[note], text_columns=3)], args.format)


def _row(entry: EmbeddingCacheEntry) -> dict[str, Any]:
    return {
        "identity": entry.identity,
        "side": entry.side,
        "prompt": entry.prompt,
        "texts": entry.texts,
        "dimension": entry.dimension,
        "bytes": entry.bytes,
        "last_used": _when(entry),
    }


def _when(entry: EmbeddingCacheEntry) -> str:
    return _date(entry.last_used)


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(sep=" ", timespec="seconds")


def _total(entries: list[EmbeddingCacheEntry]) -> str:
    texts = sum(entry.texts for entry in entries)
    return f"{texts} vector{'s' * (texts != 1)} ({format_bytes(sum(entry.bytes for entry in entries))})"
