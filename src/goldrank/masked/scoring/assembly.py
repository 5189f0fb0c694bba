"""Assemble the scores of parts into levels, in the order of the pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from goldrank.hits import Hits, Ints
from goldrank.io.files import write_atomically
from goldrank.io.formats.parquet import load_pyarrow
from goldrank.masked.scoring.levels import FREQUENT, LEVELS, Level, MaskedCounts, MaskedScores, Rules

COUNTS = ("above", "tied", "tied_docid", "tied_input")
RANK_COLUMNS = (*COUNTS, "right", "margin", "confidence")
"""The columns of each level."""
DESCRIBED = ("masks", "length", "type")
"""The known columns of an example."""
FURTHER = "further:"
"""Prefix of further columns inside a part, so that their names do not collide with known ones."""


_Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Part:
    """The scores of some pages, as Arrow tables with sorted rows.

    ``masks`` has ``sequence`` and ``mask``; ``examples`` has ``sequence``, ``rows`` (its masks), ``DESCRIBED``
    and further columns; ``pages`` has ``page``, ``title``, the numbers of ``examples`` and ``masks``, and legacy sums;
    ``answers`` has ``answer`` and ``count``; ``distances`` has ``count``. The ranks of a level in a reading are in
    `rank_table`, that of pages with the depth of each level.
    """

    tables: Mapping[str, Any]
    unanswered: int
    led_by_no_name: int

    def store(self, folder: Path, number: int) -> Part:
        """Write the tables to files in *folder*, and return a part that reads them from there."""
        paths = {name: folder / f"{name}-{number}.arrow" for name in self.tables}
        for name, table in self.tables.items():
            # Two workers may score the same part if one of them was considered lost.
            write_atomically(paths[name], partial(_write_table, table))
        return Part(_Stored({name: str(path) for name, path in paths.items()}), self.unanswered, self.led_by_no_name)


def _write_table(table: Any, stream: BinaryIO) -> None:
    pyarrow, _ = load_pyarrow()
    with pyarrow.ipc.new_file(stream, table.schema) as writer:
        writer.write_table(table)


def rank_table(level: str, reading: int) -> str:
    """Return the name of the table with the ranks of a level in the first reading (0) or the second (1)."""
    return f"{level}-ranks-{reading}"


class _Stored(dict[str, Any]):
    """Tables in files, memory-mapped on each access."""

    def __getitem__(self, name: str) -> Any:
        pyarrow, _ = load_pyarrow()
        return pyarrow.ipc.open_file(pyarrow.memory_map(super().__getitem__(name))).read_all()


def _numbers(table: Any, name: str, default: int = 0) -> NDArray[Any]:
    values: NDArray[Any] = table[name].fill_null(default).to_numpy()
    return values


def _starts(counts: Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(counts)))


def _destinations(starts: Ints, pages: Ints, counts: Ints) -> Ints:
    """Return the target rows of a part that has *counts* rows of each of *pages*."""
    before = np.cumsum(counts) - counts
    targets: Ints = np.repeat(starts[pages] - before, counts) + np.arange(counts.sum())
    return targets


class _LevelRows:
    """The rows of one level in page order with their ranks in each reading, filled part by part."""

    def __init__(self, rows: int, readings: int) -> None:
        self.example = np.full(rows, -1, np.int64)
        self.items = np.empty(rows, object)
        self.ranks = [_RankArrays(rows) for _ in range(readings)]

    def fill(self, where: Ints, part: Part, level: str, items: list[str]) -> None:
        self.items[where] = items
        for at, ranks in enumerate(self.ranks):
            ranks.fill(where, part.tables[rank_table(level, at)])


class _RankArrays:
    """The ranks of one level in one reading."""

    def __init__(self, rows: int) -> None:
        # Most counts are 0, and zero-initialised memory is not allocated until it is written.
        self.counts = {name: np.zeros(rows, np.int64) for name in COUNTS}
        self.right = np.empty(rows, np.bool_)
        self.margin, self.confidence = np.empty(rows), np.empty(rows)

    def fill(self, where: Ints, table: Any) -> None:
        for name, column in self.counts.items():
            values = table[name].to_numpy()
            counted = np.flatnonzero(values)
            column[where[counted]] = values[counted]
        for name in ("right", "margin", "confidence"):
            getattr(self, name)[where] = table[name].to_numpy()


def _levels(
    rows: Mapping[str, _LevelRows], names: Mapping[str, list[str]], pages: _Pages, depths: _Columns, at: int
) -> dict[str, Level]:
    """Return the levels in one reading; all readings share the names of the rows."""
    levels = {}
    for level, of in rows.items():
        ranks = of.ranks[at]
        grade = np.broadcast_to(np.float64(1), len(of.items))
        hits = Hits(
            queries=pages.names,
            starts=pages.starts[level],
            items=names[level],
            grade=grade,
            depth=depths[f"{level}_depth"],
            **ranks.counts,  # type: ignore[arg-type]
        )
        levels[level] = Level(level, hits, ranks.right, ranks.margin, ranks.confidence, of.example)
    return levels


class _Pages:
    """All pages in order."""

    def __init__(self, parts: list[Part]) -> None:
        pyarrow, _ = load_pyarrow()
        from pyarrow import compute

        table = pyarrow.concat_tables([part.tables["pages"].select(["page", "examples", "masks"]) for part in parts])
        order = compute.sort_indices(table, sort_keys=[("page", "ascending")]).to_numpy()
        self.names: list[str] = table["page"].take(pyarrow.array(order)).to_pylist()
        self.rank = np.empty(len(order), np.int64)
        self.rank[order] = np.arange(len(order))
        self.starts = {
            "mask": _starts(_numbers(table, "masks")[order]),
            "example": _starts(_numbers(table, "examples")[order]),
            "page": np.arange(len(order) + 1),
        }

    def fill(self, columns: _Columns, where: Ints, table: Any, names: Iterable[str]) -> None:
        for name in names:
            values = _numbers(table, name)
            columns.setdefault(name, np.empty(len(self.names), values.dtype))[where] = values


def assemble(parts: list[Part], readings: Sequence[Rules]) -> MaskedScores:
    """Assemble the scores of all parts in page order, with the second reading beside the first."""
    from goldrank.masked.scoring.legacy import SUMS, legacy_scores

    frequent, pages = _most_frequent(parts), _Pages(parts)
    starts = pages.starts
    rows = {name: _LevelRows(int(starts[name][-1]), len(readings)) for name in LEVELS}
    columns: _Columns = {}
    sums: _Columns = {}
    depths: list[_Columns] = [{} for _ in readings]
    present = np.empty(int(starts["example"][-1]), np.int64)
    distances: Ints = np.sum([_numbers(part.tables["distances"], "count") for part in parts], axis=0)
    items = _Items()
    done = 0
    for part in parts:
        table, examples, masks = (part.tables[name] for name in ("pages", "examples", "masks"))
        at = pages.rank[done : done + len(table)]
        done += len(at)
        pages.fill(sums, at, table, SUMS)
        for number, of in enumerate(depths):
            pages.fill(of, at, part.tables[rank_table("page", number)], [f"{name}_depth" for name in LEVELS])
        rows["page"].fill(at, part, "page", table["title"].to_pylist())
        to = _destinations(starts["example"], at, _numbers(table, "examples"))
        sequences = _numbers(examples, "sequence").tolist()
        rows["example"].fill(to, part, "example", [items[key] for key in sequences])
        rows["example"].example[to], present[to] = to, _numbers(examples, "rows")
        _describe(columns, to, examples, len(present))
        to_masks = _destinations(starts["mask"], at, _numbers(table, "masks"))
        keys = zip(_numbers(masks, "sequence").tolist(), _numbers(masks, "mask").tolist(), strict=True)
        rows["mask"].fill(to_masks, part, "mask", [items[key] for key in keys])
        rows["mask"].example[to_masks] = np.repeat(to, _numbers(examples, "rows"))
    columns["page"] = np.array(pages.names, object)[np.repeat(np.arange(len(pages.names)), np.diff(starts["example"]))]
    columns["masks"] = np.where(columns["masks"] < 0, present, columns["masks"])
    counts = MaskedCounts(
        pages=len(pages.names),
        examples=len(present),
        masks=int(starts["mask"][-1]),
        unanswered=sum(part.unanswered for part in parts),
        led_by_no_name=sum(part.led_by_no_name for part in parts),
        absent=int(np.maximum(columns["masks"] - present, 0).sum()),
    )
    legacy = legacy_scores(sums, np.diff(starts["mask"]).astype(np.float64), distances)
    names = {level: of.items.tolist() for level, of in rows.items()}
    levels = [_levels(rows, names, pages, of, number) for number, of in enumerate(depths)]
    first = ("page", "sequence", *DESCRIBED)
    ordered = {name: columns[name] for name in (*first, *(name for name in columns if name not in first))}
    beside: MaskedScores | None = None
    for rules, of_reading in zip(reversed(readings), reversed(levels), strict=True):
        beside = MaskedScores(rules, of_reading, ordered, counts, legacy, frequent, beside)
    assert beside is not None
    return beside


class _Items(dict[Any, str]):
    """Names of masks and examples within a page; pages share them, so one string serves many rows."""

    def __missing__(self, key: int | tuple[int, int]) -> str:
        name = self[key] = str(key) if isinstance(key, int) else f"{key[0]}:{key[1]}"
        return name


def _describe(columns: _Columns, where: Ints, table: Any, rows: int) -> None:
    pyarrow, _ = load_pyarrow()
    for name in table.column_names:
        if name in RANK_COLUMNS or name == "rows":
            continue
        kind = table.schema.field(name).type
        if pyarrow.types.is_string(kind):
            # Dictionary-encoded, so that equal words are one object.
            encoded = table[name].combine_chunks().dictionary_encode()
            words = np.array([*encoded.dictionary.to_pylist(), None], object)
            values = words[encoded.indices.fill_null(len(words) - 1).to_numpy(zero_copy_only=False)]
        elif pyarrow.types.is_integer(kind):
            values = _numbers(table, name, -1)
        else:
            values = table[name].to_numpy()
        plain = name.removeprefix(FURTHER)
        if plain not in columns:
            columns[plain] = np.empty(rows, values.dtype)
        columns[plain][where] = values


def _most_frequent(parts: list[Part]) -> Counter[str]:
    pyarrow, _ = load_pyarrow()
    from pyarrow import compute

    answers = pyarrow.concat_tables([part.tables["answers"] for part in parts])
    summed = answers.group_by("answer", use_threads=False).aggregate([("count", "sum")])
    keys = [("count_sum", "descending"), ("answer", "ascending")]
    best = summed.take(compute.sort_indices(summed, sort_keys=keys)[:FREQUENT])
    return Counter(dict(zip(best["answer"].to_pylist(), best["count_sum"].to_pylist(), strict=True)))
