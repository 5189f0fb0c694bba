"""Runs whose item ids are one block of text: scored without a Python object for each row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from goldrank.io.columns import Columns
from goldrank.native.fallback.hit_counting import unpacked
from goldrank.native.fallback.table_parser import Packed


@dataclass(frozen=True)
class PackedRun:
    """The checked rows of a run grouped by query, with the fields of `Columns`.

    The id of item *i* is the UTF-8 text from ``offsets[i]`` to ``offsets[i + 1]``.
    """

    queries: list[str]
    starts: NDArray[np.int64]
    offsets: NDArray[np.int64] | NDArray[np.int32]
    text: bytes | memoryview
    values: NDArray[np.float64]
    source: str
    ranks: NDArray[np.float64] | None = None
    unnamed: bool = False
    reading: str = ""

    @classmethod
    def from_packed(cls, packed: Packed, source: str, *, has_ranks: bool = False) -> PackedRun:
        """Wrap what `pack_delimited` and `pack_json` return."""
        queries, starts, offsets, text, values, ranks = packed
        return cls(
            queries,
            np.frombuffer(starts, np.int64),
            np.frombuffer(offsets, np.int64),
            text,
            np.frombuffer(values, np.float64),
            source,
            np.frombuffer(ranks, np.float64) if has_ranks else None,
        )

    def columns(self) -> Columns:
        """Return the same rows with item ids as strings."""
        return Columns(
            self.queries,
            self.starts,
            unpacked(self.offsets, self.text),
            self.values,
            self.source,
            ranks=self.ranks,
            unnamed=self.unnamed,
            reading=self.reading,
        )

    def listed_items(self, rows: int) -> dict[str, list[str]]:
        """Return the items of the queries in about the first *rows* rows."""
        last = int(np.searchsorted(self.starts, rows))
        bounds = self.starts[: last + 1].tolist()
        offsets = self.offsets[: bounds[-1] + 1]
        items = unpacked(offsets, self.text[: int(offsets[-1])])
        parts = zip(self.queries[:last], bounds[:-1], bounds[1:], strict=True)
        return {query: items[start:end] for query, start, end in parts}
