"""The options of commands that show results by slice, and the slices that they stand for."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from goldrank.cli import options, printing
from goldrank.hits import Gold

if TYPE_CHECKING:
    from goldrank.slices import Attributes, Slice
    from goldrank.store import StoredRun


def add_slices_file(group: argparse._ActionsContainer) -> None:
    """Add ``--slices``."""
    group.add_argument(
        "--slices",
        metavar="FILE",
        help="attributes of queries: CSV, TSV, JSON Lines or Parquet with a column of query ids (query, query_id or "
        "qid, or the first one) and a column for each attribute",
    )


def add_slices(parser: argparse.ArgumentParser) -> None:
    """Add ``--slices`` and ``--slice``."""
    group = parser.add_argument_group("slices (groups of queries; see goldrank list slices)")
    add_slices_file(group)
    group.add_argument(
        "--slice",
        action="append",
        metavar="ATTRIBUTE",
        help="show results by this attribute: a column of --slices, a further field of the queries, or a derived one "
        "such as query_length; repeatable (default: all of --slices)",
    )


def wants_slices(args: argparse.Namespace) -> bool:
    """Return True if the command line has an option of `add_slices`."""
    return args.slices is not None or args.slice is not None


def read_given(args: argparse.Namespace) -> Attributes | None:
    """Read the file of ``--slices``; None if there is none."""
    if args.slices is None:
        return None
    from goldrank.slices import read_attributes

    attributes = read_attributes(args.slices)
    printing.remark(f"note: {attributes.reading}.")
    return attributes


def read_slices(
    args: argparse.Namespace, gold: Gold, runs: Mapping[str, StoredRun] | None = None, *, search: bool = False
) -> tuple[Slice, ...]:
    """Return the slices that the options of `add_slices` stand for; none if they are not given.

    Args:
        args: The arguments of the command.
        gold: The gold, whose queries are cut into slices.
        runs: The stored runs, if the command has them; the attributes and texts of their data are in the store.
        search: Whether slices are searched for, so that without names all attributes are used, derived ones too.

    Raises:
        InputError: An attribute is unknown or needs texts, or the file does not fit the gold.
    """
    if not wants_slices(args) and not search:
        options.refuse_unused(args, ["texts"], "without --slice", "name an attribute that is derived from texts")
        return ()
    given = read_given(args)
    if given is not None:
        given.refuse_unknown(gold.queries)
        if args.slice is None and not search:
            from goldrank.slices import make_slices

            return make_slices(given, gold.queries)
    from goldrank.runs.slice_sources import file_source, stored_source

    if runs is None:
        source = file_source(gold, getattr(args, "texts", None) or (), given)
    else:
        from goldrank.store import Store

        source = stored_source(next(iter(runs.values())), Store.open(args.store), gold, given)
    return source.slices(args.slice, derive=search)
