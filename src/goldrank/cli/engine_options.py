"""Options for running on a cluster, and the engine that they select."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

from goldrank.engines import open_engine
from goldrank.tasks.ranking.sharding import ITEMS, Sharding


def add_engine(parser: argparse.ArgumentParser, *, folder: bool = True, shards: bool = True) -> None:
    """Add ``--engine``; with *folder* also ``--work-folder``, with *shards* also ``--shard-items``."""
    group = parser.add_argument_group("cluster (needs pip install 'goldrank[ray]')")
    group.add_argument(
        "--engine",
        metavar="ENGINE",
        help="local (default); ray or ray:N to start a Ray cluster of N workers on this machine; auto, HOST:PORT or "
        "ray://HOST:PORT to use a running cluster",
    )
    if folder:
        group.add_argument(
            "--work-folder",
            metavar="FOLDER",
            help="path or URL that all nodes can access, for shards and checkpoints (default: in the cache)",
        )
    if shards:
        group.add_argument(
            "--shard-items", type=int, metavar="N", help=f"items per shard, a multiple of 4096 (default {ITEMS})"
        )


@contextmanager
def sharing(engine: str | None, folder: str | None = None, items: int | None = None) -> Iterator[Sharding | None]:
    """Open the cluster that the options name, and close it at the end; None stands for this process alone."""
    opened = open_engine(engine or "local")
    if opened is None:
        yield None
        return
    with opened:
        yield Sharding.of(opened, folder, items or ITEMS)
