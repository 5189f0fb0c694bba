"""Options by which commands share their work out to a cluster, and the engine they stand for."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from goldrank.engines import open_engine
from goldrank.tasks.ranking.sharding import ITEMS, Sharding


def add_engine(parser: argparse.ArgumentParser, *, folder: bool = True, shards: bool = True) -> None:
    """Who does the work; with *folder* where workers meet, with *shards* how many items each is given at a time."""
    group = parser.add_argument_group("cluster (extra ray)")
    group.add_argument(
        "--engine",
        metavar="E",
        help="local (default); ray or ray:N, a cluster of N workers on this machine; HOST:PORT, auto or "
        "ray://HOST:PORT, one that is there",
    )
    if folder:
        group.add_argument(
            "--work-folder",
            metavar="F",
            help="path or URL that all nodes reach, for shards and what is done so far (default: in the cache)",
        )
    if shards:
        group.add_argument(
            "--shard-items", type=int, metavar="N", help=f"items in a shard, a multiple of 4096 (default {ITEMS})"
        )


@contextmanager
def sharing(engine: str | None, folder: str | None = None, items: int | None = None) -> Iterator[Sharding | None]:
    """The cluster that the options name, for as long as it is used; None for this process alone."""
    opened = open_engine(engine or "local")
    if opened is None:
        yield None
        return
    with opened:
        yield Sharding.of(opened, folder, items or ITEMS)
