"""Sharding: the engine, the shared folder and the shard size of distributed work."""

from __future__ import annotations

from dataclasses import dataclass

from goldrank.engines import Engine
from goldrank.errors import InputError
from goldrank.io.files import cache_folder
from goldrank.io.formats.vector_shards import GROUP_ROWS
from goldrank.io.remote import absolute

ITEMS = 1 << 16
"""Items in a shard: the batch size of the local engine, so that texts are encoded in the same batches."""


@dataclass(frozen=True)
class Sharding:
    """The engine of distributed work, a folder that all its workers can reach, and the number of items in a shard."""

    engine: Engine
    folder: str
    items: int = ITEMS

    def __post_init__(self) -> None:
        # The result of a transform is bit-identical only if it processes the same blocks of rows.
        if self.items < 1 or self.items % GROUP_ROWS:
            raise InputError(
                f"a shard cannot have {self.items} items", remedy=f"give a multiple of {GROUP_ROWS}, such as {ITEMS}"
            )

    @classmethod
    def of(cls, engine: Engine, folder: str | None = None, items: int = ITEMS) -> Sharding:
        """Return a sharding with *folder*, by default one in the cache."""
        return cls(engine, absolute(folder or str(cache_folder() / "shards")), items)
