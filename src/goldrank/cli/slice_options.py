"""The options of commands that show results by slice, and the slices that they stand for."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from goldrank.cli import printing
from goldrank.hits import Gold

if TYPE_CHECKING:
    from goldrank.slices import Slice
    from goldrank.store import StoredRun


def add_slices(parser: argparse.ArgumentParser) -> None:
    """Add ``--slices`` and ``--slice``."""
    group = parser.add_argument_group("slices (groups of queries)")
    group.add_argument(
        "--slices",
        metavar="FILE",
        help="attributes of queries: CSV, TSV, JSON Lines or Parquet with a column of query ids (query, query_id or "
        "qid, or the first one) and a column for each attribute",
    )
    group.add_argument(
        "--slice",
        action="append",
        metavar="ATTRIBUTE",
        help="show results by this attribute of the queries; repeatable (default: all of --slices)",
    )


def wants_slices(args: argparse.Namespace) -> bool:
    """Return True if the command line has an option of `add_slices`."""
    return args.slices is not None or args.slice is not None


def read_slices(args: argparse.Namespace, gold: Gold, runs: Mapping[str, StoredRun] | None = None) -> tuple[Slice, ...]:
    """Return the slices that the options of `add_slices` stand for; none if they are not given.

    Args:
        args: The arguments of the command.
        gold: The gold, whose queries are cut into slices.
        runs: The stored runs, if the command has them; their data may have attributes of queries.

    Raises:
        InputError: An attribute is unknown, or the file does not fit the gold.
    """
    if not wants_slices(args):
        return ()
    from goldrank.slices import Attributes, make_slices, read_attributes

    attributes = Attributes({})
    if args.slices is not None:
        attributes = read_attributes(args.slices)
        printing.remark(f"note: {attributes.reading}.")
        attributes.refuse_unknown(gold.queries)
    return make_slices(attributes, gold.queries, args.slice)
