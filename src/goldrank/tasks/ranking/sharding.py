"""Sharding: the engine, the shared folder and the shard size of distributed work."""

from __future__ import annotations

from dataclasses import dataclass

from goldrank.engines import Engine
from goldrank.errors import InputError
from goldrank.io.files import cache_folder
from goldrank.io.formats.vector_shards import GROUP_ROWS
from goldrank.io.remote import absolute

ITEMS = 1 << 16
"""Items in a shard: as many as the local engine hands to a model at a time, so that they meet in the same batches."""


@dataclass(frozen=True)
class Sharding:
    """How work is shared out: the engine, a folder that all its workers reach, and how many items make a shard."""

    engine: Engine
    folder: str
    items: int = ITEMS

    def __post_init__(self) -> None:
        # Transforms take so many rows at a time, and give the same bits only for the same ones.
        if self.items < 1 or self.items % GROUP_ROWS:
            raise InputError(
                f"a shard cannot have {self.items} items", remedy=f"give a multiple of {GROUP_ROWS}, such as {ITEMS}"
            )

    @classmethod
    def of(cls, engine: Engine, folder: str | None = None, items: int = ITEMS) -> Sharding:
        """Share out work by *folder*, which is one in the cache where none is given."""
        return cls(engine, absolute(folder or str(cache_folder() / "shards")), items)
