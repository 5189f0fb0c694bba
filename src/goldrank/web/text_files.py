"""Find texts of a data set by id, and search queries, without reading the whole file."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from goldrank.io.fingerprints import FileState, file_state
from goldrank.io.formats.parquet import load_pyarrow
from goldrank.store.tables import Load
from goldrank.store.texts import Side, Text, open_texts

LONGEST_SHOWN = 2_000
"""Characters of a text that are shown in a list; a single text is shown in full."""


@dataclass(frozen=True)
class _Group:
    first: tuple[str, str]
    last: tuple[str, str]
    """Side and id of the first and of the last row of a row group."""


@dataclass(frozen=True, eq=False)
class TextFile:
    """A Parquet file that `Texts.save` has written, sorted by side and id."""

    path: Path
    groups: tuple[_Group, ...]
    load: Load
    state: FileState

    @classmethod
    def open(cls, path: Path, load: Load = lambda _part, read: read()) -> TextFile:
        """Open a file of texts; the bounds of its row groups are read once, and row groups are read through *load*."""
        state = file_state(path)
        return cls(path, _groups(path, state), load, state)

    def find(self, ids: Iterable[str], side: Side) -> dict[str, Text]:
        """Return the texts of some ids; ids that are not in the file are left out."""
        wanted = set(ids)
        starts = [group.first for group in self.groups]
        places = {bisect.bisect_right(starts, (side, name)) - 1 for name in wanted}
        texts: dict[str, Text] = {}
        for place in sorted(place for place in places if place >= 0):
            table = self.load((self.path, self.state, place), lambda place=place: next(self._read([place])))  # type: ignore[misc]
            sides, names = table["side"].to_pylist(), table["id"].to_pylist()
            for at, (its_side, name) in enumerate(zip(sides, names, strict=True)):
                if its_side == side and name in wanted:
                    texts[name] = Text(name, table["title"][at].as_py(), table["text"][at].as_py())
        return texts

    def matching(self, words: str, side: Side) -> set[str]:
        """Return the ids of the texts with all words in id, title or text; upper and lower case are equal."""
        pyarrow, _ = load_pyarrow()
        from pyarrow import compute

        between = pyarrow.scalar("\n", pyarrow.large_string())
        ids: set[str] = set()
        groups = [at for at, group in enumerate(self.groups) if group.first[0] <= side <= group.last[0]]
        for table in self._read(groups):
            texts = compute.binary_join_element_wise(table["id"], table["title"], table["text"], between)
            matches = compute.equal(table["side"], side)
            for word in words.split():
                matches = compute.and_(matches, compute.match_substring(texts, word, ignore_case=True))
            ids.update(table["id"].filter(matches).to_pylist())
        return ids

    def _read(self, places: Sequence[int]) -> Iterator[Any]:
        if places:
            with open_texts(self.path) as file:
                for place in places:
                    yield file.read_row_group(place, use_threads=False)


@lru_cache(maxsize=64)
def _groups(path: Path, _state: FileState) -> tuple[_Group, ...]:
    with open_texts(path) as file:
        return tuple(_group(file, place) for place in range(file.num_row_groups))


def _group(file: Any, place: int) -> _Group:
    sides, ids = (file.metadata.row_group(place).column(column).statistics for column in (0, 1))
    known = all(statistics is not None and statistics.has_min_max for statistics in (sides, ids))
    if known and sides.min == sides.max:
        return _Group((sides.min, ids.min), (sides.max, ids.max))
    ends = file.read_row_group(place, columns=["side", "id"])
    first, last = ((ends["side"][at].as_py(), ends["id"][at].as_py()) for at in (0, ends.num_rows - 1))
    return _Group(first, last)
