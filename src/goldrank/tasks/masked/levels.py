"""What scoring masked predictions gives: where the right name landed, per mask, per example and per page.

Each level is a Hits whose queries are the pages, so every rank metric applies and every interval is clustered by
page, whatever is counted within it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError, unknown_name
from goldrank.hits import Floats, Hits, Ints
from goldrank.io.parquet import load_pyarrow
from goldrank.stats import Sample
from goldrank.tasks.masked.names import MATCHERS, Tier

if TYPE_CHECKING:
    import pyarrow

Pool = Literal["alias", "gold"]
Average = Literal["micro", "macro"]
Bools = NDArray[np.bool_]

LEVELS = ("mask", "example", "page")
"""From the single guess to all that was said of a person."""
POOLS = ("alias", "gold")


@dataclass(frozen=True)
class Rules:
    """What counts as right, and how guesses are pooled into one answer."""

    matcher: str = "names"
    """One of ``MATCHERS``: ``names``, or ``original`` and ``seed`` as others define it."""
    tier: Tier = Tier.GIVEN
    """The least agreement that is right."""
    pool: Pool = "alias"
    """``alias`` pools all guesses that name the same person, right or wrong; ``gold`` is the original definition:
    all right guesses together, every other by its case-folded string."""
    k: int | None = None
    """Only the first so many guesses of each mask count; None for all."""

    def __post_init__(self) -> None:
        if self.matcher not in MATCHERS:
            raise unknown_name("matcher", self.matcher, MATCHERS, ", ".join(MATCHERS))
        if self.pool not in POOLS:
            raise unknown_name("pool", self.pool, POOLS, ", ".join(POOLS))
        if self.k is not None and self.k < 1:
            raise InputError(f"k is {self.k}", remedy="keep at least one guess of each mask")


@dataclass(frozen=True)
class Group:
    """Guesses taken as one answer."""

    name: str
    """The member that decides whether the group is right."""
    total: float
    """The sum of its members' scores, exactly rounded, so that no order of the guesses changes it."""
    right: bool
    members: tuple[str, ...]
    """The spellings in the group, in the order of their first appearance."""


@dataclass(frozen=True, eq=False)
class Level:
    """One level of scoring: one row per mask, example or page, sorted by page, sequence number and mask."""

    name: str
    """``mask``, ``example`` or ``page``."""
    hits: Hits
    """One query per page; its gold items are the masks ("SEQUENCE:MASK"), the examples ("SEQUENCE") or the title."""
    right: Bools
    """Whether the first answer is right; of equal scores the one that was said first."""
    margin: Floats
    """The best right answer's score less the best wrong one's, over the sum of all; NaN where there is no answer."""
    confidence: Floats
    """The first answer's score (masks), or its share of the sum of all; NaN where there is no answer."""
    example: Ints
    """The row of ``MaskedScores.examples`` that each row belongs to; -1 for pages."""

    def sample(self, values: Floats | Bools, average: Average = "micro") -> Sample:
        """*values*, one per row, as a value per page: ``micro`` weighs pages by their rows, ``macro`` alike."""
        defined = ~np.isnan(values)
        pages, page = len(self.hits.queries), self.hits.query_index
        counts = np.bincount(page[defined], minlength=pages).astype(np.float64)
        sums = np.bincount(page[defined], values[defined].astype(np.float64), minlength=pages)
        means = np.divide(sums, counts, out=np.full(pages, np.nan), where=counts > 0)
        return Sample(means, counts if average == "micro" else None)


@dataclass(frozen=True)
class MaskedCounts:
    """What was scored; shown with every result."""

    pages: int
    examples: int
    masks: int
    unanswered: int
    """Masks without any guess: they count as wrong."""
    absent: int
    """Masks that the examples are said to have and the predictions do not hold: they are not counted at all."""


@dataclass(frozen=True, eq=False)
class Legacy:
    """The name-matching scores of the original project, each as a value per page weighted by its masks."""

    coded: dict[str, Sample]
    """``pnms``, ``nld``, ``lnms`` and ``w-pnms`` as coded there, faults included."""
    right: dict[str, Sample]
    """The same four done right."""
    distances: Ints
    """How many first guesses lie at which normalised distance from the title: equal bins from 0 to 1."""


@dataclass(frozen=True, eq=False)
class MaskedScores:
    """All levels of one set of predictions, and what results can be split by."""

    rules: Rules
    levels: dict[str, Level]
    """By name: ``mask``, ``example``, ``page``."""
    examples: dict[str, NDArray[Any]]
    """One row per example: ``page`` and ``type`` (str), ``sequence``, ``masks`` and ``length`` (int64; -1 where a
    length is not known), then further columns of the data (float64 with NaN, or str with None, for no value)."""
    counts: MaskedCounts
    legacy: Legacy
    frequent: Counter[str] = field(default_factory=Counter)
    """The most frequent first answers to masks, at most ``FREQUENT``."""


FREQUENT = 1000
"""How many of the most frequent first answers are kept."""


def score_predictions(
    predictions: str | PathLike[str] | pyarrow.Table | Iterable[pyarrow.RecordBatch],
    rules: Rules = Rules(),  # noqa: B008 - frozen
    *,
    aliases: Mapping[str, Sequence[str]] | None = None,
    workers: int | None = None,
) -> MaskedScores:
    """Score predictions in canonical columns, in whatever order the rows come.

    Args:
        predictions: a file of predictions, or their table or record batches (see `goldrank.tasks.masked.predictions`);
            read once, never held as a whole.
        rules: what counts as right and how guesses are pooled.
        aliases: other names of the persons, by title.
        workers: how many processes score; by default one per core where there is enough to do. The result is the
            same to the bit for any number.
    """
    from goldrank.tasks.masked.streaming import score_stream

    return score_stream(predictions, rules, aliases or {}, workers)


COUNTS = ("above", "tied", "tied_docid", "tied_input")
PLACES = (*COUNTS, "right", "margin", "confidence")
"""What each level says of each of its rows."""
DESCRIBED = ("masks", "length", "type")
"""What the data says of an example, beside its further columns."""
FURTHER = "further:"
"""What the names of further columns begin with inside a part, so that none is taken for one of ours."""


@dataclass(frozen=True, eq=False)
class Part:
    """The scores of some pages, as Arrow tables whose rows are in order.

    ``masks`` has ``sequence``, ``mask`` and the places; ``examples`` has ``sequence``, ``rows`` (its masks here), the
    places, ``DESCRIBED`` and further columns; ``pages`` has ``page``, ``title``, ``examples`` and ``masks`` (how many),
    a depth for each level, the places and legacy sums; ``answers`` has ``answer`` and ``count``; ``distances`` has
    ``count``.
    """

    tables: Mapping[str, Any]
    unanswered: int

    def store(self, folder: Path, number: int) -> Part:
        """The same part with its tables in files of *folder*."""
        pyarrow, _ = load_pyarrow()
        for name, table in self.tables.items():
            with pyarrow.ipc.new_file(str(folder / f"{name}-{number}.arrow"), table.schema) as writer:
                writer.write_table(table)
        return Part(_Stored({name: str(folder / f"{name}-{number}.arrow") for name in self.tables}), self.unanswered)


class _Stored(dict[str, Any]):
    """Tables in files, each mapped into memory whenever it is asked for and released when it is no longer used."""

    def __getitem__(self, name: str) -> Any:
        pyarrow, _ = load_pyarrow()
        return pyarrow.ipc.open_file(pyarrow.memory_map(super().__getitem__(name))).read_all()


def _numbers(table: Any, name: str, default: int = 0) -> NDArray[Any]:
    found: NDArray[Any] = table[name].fill_null(default).to_numpy()
    return found


def _starts(counts: Ints) -> Ints:
    return np.concatenate(([0], np.cumsum(counts)))


def _destinations(starts: Ints, pages: Ints, counts: Ints) -> Ints:
    """Where the rows of a part go, which has *counts* rows of each of *pages*."""
    before = np.cumsum(counts) - counts
    where: Ints = np.repeat(starts[pages] - before, counts) + np.arange(counts.sum())
    return where


class _Places:
    """The places of one level, filled part by part."""

    def __init__(self, rows: int) -> None:
        # Most counts are 0, and memory that is zero from the start takes no room until something else is written.
        self.counts = {name: np.zeros(rows, np.int64) for name in COUNTS}
        self.right = np.empty(rows, np.bool_)
        self.margin, self.confidence = np.empty(rows), np.empty(rows)
        self.example = np.full(rows, -1, np.int64)
        self.items = np.empty(rows, object)

    def fill(self, where: Ints, table: Any, items: list[str]) -> None:
        for name, column in self.counts.items():
            values = table[name].to_numpy()
            counted = np.flatnonzero(values)
            column[where[counted]] = values[counted]
        for name in ("right", "margin", "confidence"):
            getattr(self, name)[where] = table[name].to_numpy()
        self.items[where] = items

    def level(self, name: str, pages: list[str], starts: Ints, depth: Ints) -> Level:
        items = self.items.tolist()
        del self.items
        grade = np.broadcast_to(np.float64(1), len(items))
        hits = Hits(queries=pages, starts=starts, items=items, grade=grade, depth=depth, **self.counts)  # type: ignore[arg-type]
        return Level(name, hits, self.right, self.margin, self.confidence, self.example)


class _Pages:
    """All pages in order, and what is said of each, filled part by part."""

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
        self.columns: dict[str, NDArray[Any]] = {}

    def fill(self, where: Ints, table: Any, names: Iterable[str]) -> None:
        for name in names:
            values = _numbers(table, name)
            self.columns.setdefault(name, np.empty(len(self.names), values.dtype))[where] = values


def assembled(parts: list[Part], rules: Rules) -> MaskedScores:
    """Put the scores of all parts together in the order of the pages."""
    from goldrank.tasks.masked.legacy import SUMS, finished

    frequent, pages = _most_frequent(parts), _Pages(parts)
    starts = pages.starts
    places = {name: _Places(int(starts[name][-1])) for name in LEVELS}
    columns: dict[str, NDArray[Any]] = {}
    present = np.empty(int(starts["example"][-1]), np.int64)
    distances: Ints = np.sum([_numbers(part.tables["distances"], "count") for part in parts], axis=0)
    items = _Items()
    done = 0
    for part in parts:
        table, examples, masks = (part.tables[name] for name in ("pages", "examples", "masks"))
        at = pages.rank[done : done + len(table)]
        done += len(at)
        pages.fill(at, table, (*(f"{name}_depth" for name in LEVELS), *SUMS))
        places["page"].fill(at, table, table["title"].to_pylist())
        to = _destinations(starts["example"], at, _numbers(table, "examples"))
        places["example"].fill(to, examples, [items[key] for key in _numbers(examples, "sequence").tolist()])
        places["example"].example[to], present[to] = to, _numbers(examples, "rows")
        _describe(columns, to, examples, len(present))
        to_masks = _destinations(starts["mask"], at, _numbers(table, "masks"))
        keys = zip(_numbers(masks, "sequence").tolist(), _numbers(masks, "mask").tolist(), strict=True)
        places["mask"].fill(to_masks, masks, [items[key] for key in keys])
        places["mask"].example[to_masks] = np.repeat(to, _numbers(examples, "rows"))
    columns["page"] = np.array(pages.names, object)[np.repeat(np.arange(len(pages.names)), np.diff(starts["example"]))]
    columns["masks"] = np.where(columns["masks"] < 0, present, columns["masks"])
    counts = MaskedCounts(
        pages=len(pages.names),
        examples=len(present),
        masks=int(starts["mask"][-1]),
        unanswered=sum(part.unanswered for part in parts),
        absent=int(np.maximum(columns["masks"] - present, 0).sum()),
    )
    legacy = finished(pages.columns, np.diff(starts["mask"]).astype(np.float64), distances)
    levels = {
        name: places[name].level(name, pages.names, starts[name], pages.columns[f"{name}_depth"]) for name in LEVELS
    }
    first = ("page", "sequence", *DESCRIBED)
    ordered = {name: columns[name] for name in (*first, *(name for name in columns if name not in first))}
    return MaskedScores(rules, levels, ordered, counts, legacy, frequent)


class _Items(dict[Any, str]):
    """The names of masks and examples within a page: pages number them alike, so one string serves many rows."""

    def __missing__(self, key: int | tuple[int, int]) -> str:
        name = self[key] = str(key) if isinstance(key, int) else f"{key[0]}:{key[1]}"
        return name


def _describe(columns: dict[str, NDArray[Any]], where: Ints, table: Any, rows: int) -> None:
    pyarrow, _ = load_pyarrow()
    for name in table.column_names:
        if name in PLACES or name == "rows":
            continue
        kind = table.schema.field(name).type
        if pyarrow.types.is_string(kind):
            # Through a dictionary, so that equal words are one object.
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
