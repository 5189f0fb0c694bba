"""`goldrank serve`: serve the explorer of stored runs or run files, by default to this machine only."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from goldrank.cli import options, printing, serving, stored_runs
from goldrank.errors import InputError, counts, shorten

if TYPE_CHECKING:
    from goldrank.store import Store

_EXAMPLES = """\
  goldrank serve
  goldrank serve --store ./my-runs --port 9000 --open
  goldrank serve qrels.txt bm25.run dense.run --open
  goldrank serve qrels.txt *.run --texts ./my-folder
  goldrank serve --host 0.0.0.0 --token "$(openssl rand -hex 16)"
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("serve", "Explore all stored runs, or some run files, in a browser.", _EXAMPLES)
    parser.intermixed = True
    parser.add_argument(
        "gold", metavar="GOLD", nargs="?", help="relevance judgements (qrels) of run files (default: show stored runs)"
    )
    parser.add_argument("runs", metavar="RUN", nargs="*", help="run files, which are not stored")
    options.add_file_options(parser)
    options.add_texts(parser)
    options.add_scores(parser)
    options.add_metric(parser, "metric of run files (default: those of the profile); repeatable")
    options.add_profile(parser)
    stored_runs.add_store(parser)
    serving.add_address(parser, "the explorer")
    parser.add_argument("--allow-delete", action="store_true", help="let visitors delete runs")
    options.add_general(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    serving.check_installed("goldrank serve")
    with serving.listening(args, "could read the store") as address, _shown_store(args) as (store, shown):
        from goldrank.web.app import create_app

        app = create_app(store, access=address.access, allow_delete=args.allow_delete)
        threading.Thread(target=_load_packages, daemon=True).start()
        serving.serve(app, address, f"{shown}\ngoldrank: explore them at")
    return 0


@contextmanager
def _shown_store(args: argparse.Namespace) -> Iterator[tuple[Store, str]]:
    """Return the store to show and what it holds: the user's, or a temporary one of the given files."""
    from goldrank.store import Store

    of_files = ["corpus", "gold_format", "run_format", "texts", "scores", "metric", "profile"]
    if args.gold is None:
        options.refuse_unused(args, of_files, "on stored runs", "leave it out, or give GOLD and run files")
        store = Store.open(args.store)
        yield store, f"{len(store.list())} stored runs in {store.where}"
        return
    from goldrank.runs.file_runs import file_runs

    if not Path(args.gold).exists() and args.gold != "-":
        raise InputError(
            f"there is no gold file {shorten(args.gold)}",
            remedy="give GOLD and run files; the stored runs are all shown without any arguments",
        )
    stored_runs.refuse_no_runs(args)
    options.refuse_unused(args, ["store"], "on files, which are not stored")
    options.refuse_unused(args, ["allow_delete"], "on files, which are not stored")
    keywords = options.file_keywords(args)
    gold = keywords.pop("gold")
    how = {"scores": args.scores, "metrics": args.metric, "profile": args.profile or "standard"}
    with file_runs(gold, args.runs, **keywords, **how, keep_rankings=True) as files:
        printing.warn(files.warnings)
        stored_runs.print_notes(list(files.notes))
        stay = "nothing is stored for later (goldrank run -m run:FILE -t GOLD does that)"
        yield files.store, f"{counts(len(files.runs), 'run file')}; {stay}"


def _load_packages() -> None:
    """Import the packages that the pages of runs need, while the visitor looks at the list of runs."""
    from goldrank.io.formats.parquet import load_pyarrow

    load_pyarrow()
    import scipy.special  # noqa: F401
