"""The texts of a data set for a server: a few of them found by id, and queries searched, without reading all."""

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
"""Characters of a text in a list; a single text is shown as it was stored."""


@dataclass(frozen=True)
class _Group:
    first: tuple[str, str]
    last: tuple[str, str]
    """The sides and ids that the group of rows begins and ends with."""


@dataclass(frozen=True, eq=False)
class TextFile:
    """A file that `Texts.keep` wrote, its groups of rows known by their ends."""

    path: Path
    groups: tuple[_Group, ...]
    load: Load
    state: FileState

    @classmethod
    def open(cls, path: Path, load: Load = lambda _part, read: read()) -> TextFile:
        """The texts in that file; which rows are where is read once, and groups of rows come from *load*."""
        state = file_state(path)
        return cls(path, _groups(path, state), load, state)

    def find(self, ids: Iterable[str], side: Side) -> dict[str, Text]:
        """The texts of some ids; those that are not there are left out."""
        wanted = set(ids)
        starts = [group.first for group in self.groups]
        places = {bisect.bisect_right(starts, (side, name)) - 1 for name in wanted}
        found: dict[str, Text] = {}
        for place in sorted(place for place in places if place >= 0):
            table = self.load((self.path, self.state, place), lambda place=place: next(self._read([place])))  # type: ignore[misc]
            sides, names = table["side"].to_pylist(), table["id"].to_pylist()
            for at, (its_side, name) in enumerate(zip(sides, names, strict=True)):
                if its_side == side and name in wanted:
                    found[name] = Text(name, table["title"][at].as_py(), table["text"][at].as_py())
        return found

    def matching(self, words: str, side: Side) -> set[str]:
        """The ids of the texts that hold all the words in id, title or text, whatever their case."""
        pyarrow, _ = load_pyarrow()
        from pyarrow import compute

        between = pyarrow.scalar("\n", pyarrow.large_string())
        found: set[str] = set()
        for table in self._read(self._of(side)):
            said = compute.binary_join_element_wise(table["id"], table["title"], table["text"], between)
            keep = compute.equal(table["side"], side)
            for word in words.split():
                keep = compute.and_(keep, compute.match_substring(said, word, ignore_case=True))
            found.update(table["id"].filter(keep).to_pylist())
        return found

    def _of(self, side: Side) -> list[int]:
        return [at for at, group in enumerate(self.groups) if group.first[0] <= side <= group.last[0]]

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
    known = all(one is not None and one.has_min_max for one in (sides, ids))
    if known and sides.min == sides.max:
        return _Group((sides.min, ids.min), (sides.max, ids.max))
    ends = file.read_row_group(place, columns=["side", "id"])
    first, last = ((ends["side"][at].as_py(), ends["id"][at].as_py()) for at in (0, ends.num_rows - 1))
    return _Group(first, last)
