"""Scoring predictions of any number in any order: rows are gathered by page on disk, then scored part by part.

Small inputs stay in memory as one part. Larger ones are split by a hash of the page into temporary files, so that all
rows of a page meet in one part and any process can score it. Every part is sorted before it is scored and the parts
are put together in the order of the pages: neither the order of the rows, nor the number of parts, nor that of the
processes can change a bit of the result.
"""

from __future__ import annotations

import gc
import os
import zlib
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing, contextmanager
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from goldrank.errors import GoldrankError, InputError
from goldrank.hits import Ints
from goldrank.io.names import listing
from goldrank.io.parquet import load_pyarrow
from goldrank.progress import Progress
from goldrank.tasks.masked.chunks import MaskKey
from goldrank.tasks.masked.joining import name_of
from goldrank.tasks.masked.legacy import DISTANCE_BINS, SUMS, PageSums
from goldrank.tasks.masked.levels import DESCRIBED, FURTHER, PLACES, Bools, MaskedScores, Part, Rules, assembled
from goldrank.tasks.masked.names import MATCHERS, Person
from goldrank.tasks.masked.pooling import Place, Tiers, answers, place, pool

Aliases = Mapping[str, Sequence[str]]
Batches = Iterable[Any]

_IN_MEMORY = 200_000
"""Up to so many masks, splitting costs more than it saves."""
_PARTS = 64
"""How many files: a part of ten million masks then takes some tens of megabytes."""
_REQUIRED = {"page": "string", "sequence": "int64", "mask": "int64", "title": "string"}
_OPTIONAL = {"masks": "int64", "length": "int64", "type": "string"}
_LISTS = {"guesses": "string", "scores": "float64"}
_KEY = ("page", "sequence", "mask")
# So many masks are Python objects at a time.
_BLOCK = 20_000


def score_stream(predictions: Any, rules: Rules, aliases: Aliases, workers: int | None) -> MaskedScores:
    """Score predictions; see `goldrank.tasks.masked.levels.score_predictions`."""
    if workers is not None and workers < 1:
        raise InputError(f"{workers} processes cannot score", remedy="ask for at least one")
    batches = _canonical(_batches(predictions))
    held, rows = [], 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows > _IN_MEMORY:
            return _score_on_disk(_chained(held, batches), rules, aliases, workers or _cores())
    if not rows:
        raise InputError("there are no predictions to score", remedy="check that the file was written completely")
    pyarrow, _ = load_pyarrow()
    return assembled([score_part(pyarrow.Table.from_batches(held), rules, aliases)], rules)


def _batches(predictions: Any) -> Batches:
    if isinstance(predictions, (str, os.PathLike)):
        from goldrank.tasks.masked.predictions import prediction_batches

        return prediction_batches(predictions)
    found: Batches = predictions.to_batches() if hasattr(predictions, "to_batches") else predictions
    return found


def _chained(held: list[Any], rest: Iterator[Any]) -> Iterator[Any]:
    while held:
        yield held.pop(0)
    yield from rest


def _cores() -> int:
    # Where a container or a scheduler grants fewer cores than the machine has, only those count.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _canonical(batches: Batches) -> Iterator[Any]:
    """Every batch with the columns that scoring reads, in the types of the first batch."""
    pyarrow, _ = load_pyarrow()
    schema = None
    for batch in batches:
        if schema is None:
            schema = _schema(batch.schema, pyarrow)
        columns = [_column(batch, field, pyarrow) for field in schema]
        yield pyarrow.RecordBatch.from_arrays(columns, schema=schema)


def _schema(given: Any, pyarrow: Any) -> Any:
    missing = [name for name in (*_REQUIRED, *_LISTS) if name not in given.names]
    if missing:
        raise InputError(
            f"the predictions have no column {listing(missing)}", remedy="join them with the data they were made for"
        )
    fields = [pyarrow.field(name, pyarrow.type_for_alias(kind)) for name, kind in (_REQUIRED | _OPTIONAL).items()]
    fields += [pyarrow.field(name, pyarrow.list_(pyarrow.type_for_alias(kind))) for name, kind in _LISTS.items()]
    known = {field.name for field in fields} | {"hidden"}
    for field in given:
        if field.name not in known and (kind := _kind_of_extra(field.type, pyarrow)) is not None:
            fields.append(pyarrow.field(field.name, kind))
    return pyarrow.schema(fields)


def _kind_of_extra(kind: Any, pyarrow: Any) -> Any:
    """Numbers to bin by, words to split by; anything else is no column to split by."""
    types = pyarrow.types
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return pyarrow.float64()
    words = (types.is_string, types.is_large_string, types.is_boolean, types.is_null, types.is_dictionary)
    return pyarrow.string() if any(is_kind(kind) for is_kind in words) else None


def _column(batch: Any, field: Any, pyarrow: Any) -> Any:
    at = batch.schema.get_field_index(field.name)
    if at < 0:
        return pyarrow.nulls(batch.num_rows, field.type)
    try:
        return batch.column(at).cast(field.type)
    except pyarrow.ArrowException as error:
        reason = str(error).partition("\n")[0]
        raise InputError(
            f"the column cannot be read as {field.type} ({reason})", where=f"column {field.name}"
        ) from None


def _score_on_disk(batches: Iterator[Any], rules: Rules, aliases: Aliases, workers: int) -> MaskedScores:
    with TemporaryDirectory(prefix="goldrank-masked-") as name:
        folder = Path(name)
        rows = _split(batches, folder)
        full = [number for number in range(_PARTS) if rows[number]]
        scored = _scored(folder, full, rules, aliases, workers)
        parts = []
        # Closed first: no process may write into the folder while it is removed.
        with closing(scored), Progress("scoring", total=int(rows.sum()), unit="mask") as progress:
            for number, part in zip(full, scored, strict=True):
                parts.append(part)
                progress.advance(int(rows[number]))
        return assembled(parts, rules)


def _split(batches: Iterator[Any], folder: Path) -> Ints:
    """Write each row to the file of its part; how many rows each part has."""
    pyarrow, _ = load_pyarrow()
    rows = np.zeros(_PARTS, np.int64)
    writers: list[Any] = []
    with ExitStack() as stack, Progress("sorting by page", unit="mask") as progress:
        for batch in batches:
            if not writers:
                paths = (str(_rows_file(folder, number)) for number in range(_PARTS))
                writers = [stack.enter_context(pyarrow.ipc.new_file(path, batch.schema)) for path in paths]
            part = _parts_of(batch.column(0))
            counts = np.bincount(part, minlength=_PARTS)
            gathered = batch.take(pyarrow.array(np.argsort(part, kind="stable")))
            starts = np.cumsum(counts) - counts
            for number in np.flatnonzero(counts).tolist():
                writers[number].write_batch(gathered.slice(int(starts[number]), int(counts[number])))
            rows += counts
            progress.advance(batch.num_rows)
    pyarrow.default_memory_pool().release_unused()
    return rows


def _parts_of(pages: Any) -> Ints:
    """The part of each row: a checksum of its page, which is the same in every process and on every machine."""
    encoded = pages.fill_null("").dictionary_encode()
    numbers = [zlib.crc32(page.encode()) % _PARTS for page in encoded.dictionary.to_pylist()]
    parts: Ints = np.array(numbers, np.int64)[encoded.indices.to_numpy(zero_copy_only=False)]
    return parts


def _rows_file(folder: Path, number: int) -> Path:
    return folder / f"rows-{number}.arrow"


def _scored(folder: Path, full: list[int], rules: Rules, aliases: Aliases, workers: int) -> Generator[Part, None, None]:
    """The scores of the parts, made in this process or in several."""
    if workers == 1:
        for number in full:
            yield _score_file(folder, number, rules, aliases)
        return
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(
        min(workers, len(full)), get_context("spawn"), initializer=_Shared.set, initargs=(folder, rules, dict(aliases))
    )
    try:
        yield from pool.map(_score_shared, full)
    except BrokenProcessPool:
        raise GoldrankError("a process that scored predictions was ended from outside; score with one worker") from None
    finally:
        pool.shutdown(cancel_futures=True)


class _Shared:
    """What every part needs, sent to a process once."""

    given: tuple[Path, Rules, Aliases]

    @classmethod
    def set(cls, folder: Path, rules: Rules, aliases: Aliases) -> None:
        cls.given = folder, rules, aliases


def _score_shared(number: int) -> Part:
    folder, rules, aliases = _Shared.given
    return _score_file(folder, number, rules, aliases)


def _score_file(folder: Path, number: int, rules: Rules, aliases: Aliases) -> Part:
    pyarrow, _ = load_pyarrow()
    path = _rows_file(folder, number)
    with pyarrow.memory_map(str(path)) as source:
        stored = score_part(pyarrow.ipc.open_file(source).read_all(), rules, aliases).store(folder, number)
    path.unlink()
    return stored


def score_part(table: Any, rules: Rules, aliases: Aliases) -> Part:
    """Score all pages of *table*, which has the columns of the stream in any order of rows."""
    sorted_rows = _sorted(table)
    scorer = _Scorer(rules, aliases)
    starts = [*np.flatnonzero(sorted_rows.new_page).tolist(), len(sorted_rows.table)]
    with _uncollected():
        for first, last in _blocks(starts):
            _score_block(scorer, sorted_rows, starts[first : last + 1])
    return scorer.part(sorted_rows)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the search for reference cycles: scoring makes none, and looking at every kept object takes a fifth."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Sorted:
    """A part's rows in order of page, sequence number and mask, checked."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.sequence = table["sequence"].to_numpy()
        self.mask = table["mask"].to_numpy()
        self.new_page = _changes(table["page"])
        self.new_example = self.new_page | (np.diff(self.sequence, prepend=self.sequence[0]) != 0)


def _sorted(table: Any) -> _Sorted:
    """The rows in order; what cannot be scored is refused with the mask's name."""
    pyarrow, _ = load_pyarrow()
    from pyarrow import compute

    for name in (*_REQUIRED, *_LISTS):
        _refuse(table, compute.is_null(table[name]), f"the column {name} is empty", "fill it in for every mask")
    guesses, scores = table["guesses"], table["scores"]
    unequal = compute.not_equal(compute.list_value_length(guesses), compute.list_value_length(scores))
    _refuse(table, unequal, "the predictions and scores differ in number", "give each name its score")
    names, numbers = compute.list_flatten(guesses), compute.list_flatten(scores)
    nameless, bad = compute.is_null(names), compute.invert(compute.is_finite(numbers).fill_null(False))
    for fault, what in ((nameless, "a prediction is null"), (bad, "a score is no finite number")):
        if compute.any(fault).as_py():
            of = compute.list_parent_indices(guesses).to_numpy()
            rows = np.zeros(len(table), bool)
            rows[of[fault.to_numpy()]] = True
            _refuse(table, pyarrow.array(rows), what, "write names with finite scores, or leave the guess out")
    table = table.take(compute.sort_indices(table, sort_keys=[(name, "ascending") for name in _KEY])).combine_chunks()
    rows_in_order = _Sorted(table)
    same = ~rows_in_order.new_example & (np.diff(rows_in_order.mask, prepend=rows_in_order.mask[0]) == 0)
    _refuse(table, pyarrow.array(same), "the mask is there twice", "keep one row for each mask")
    retitled = _changes(table["title"]) & ~rows_in_order.new_page
    _refuse(table, pyarrow.array(retitled), "the page has two titles", "give all its rows the same title")
    return rows_in_order


def _changes(column: Any) -> Bools:
    """Whether each value differs from the one before; the first one does."""
    codes = column.combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
    changed: Bools = np.diff(codes, prepend=-1) != 0
    return changed


def _refuse(table: Any, fault: Any, what: str, remedy: str) -> None:
    """Raise where *fault* is true anywhere, naming the first of those masks in order."""
    from pyarrow import compute

    if not compute.any(fault).as_py():
        return
    keys = table.select(_KEY).filter(fault).sort_by([(name, "ascending") for name in _KEY]).slice(0, 1).to_pylist()
    raise InputError(what, where=name_of(MaskKey(**keys[0])), remedy=remedy)


def _blocks(starts: list[int]) -> Iterator[tuple[int, int]]:
    """Runs of whole pages with about _BLOCK rows, as positions in *starts*."""
    first = 0
    for at in range(1, len(starts)):
        if starts[at] - starts[first] >= _BLOCK or at == len(starts) - 1:
            yield first, at
            first = at


def _score_block(scorer: _Scorer, rows: _Sorted, starts: list[int]) -> None:
    low, high = starts[0], starts[-1]
    table = rows.table.slice(low, high - low)
    columns = [table[name].to_pylist() for name in ("guesses", "scores")]
    new = rows.new_example[low:high]
    for start, end in pairwise(starts):
        at = slice(start - low, end - low)
        cuts = [*np.flatnonzero(new[at]).tolist(), end - start]
        title = rows.table["title"][start].as_py()
        scorer.add_page(title, columns[0][at], columns[1][at], cuts)


class _Scorer:
    """Scores pages one after another and keeps what is said of each row."""

    def __init__(self, rules: Rules, aliases: Aliases) -> None:
        self.rules, self.aliases = rules, aliases
        self.mask_places: list[Place] = []
        self.example_places: list[Place] = []
        self.page_places: list[Place] = []
        self.depths: list[tuple[int, int, int]] = []
        self.sums: list[dict[str, float]] = []
        self.distances: Ints = np.zeros(DISTANCE_BINS, np.int64)
        self.answers: Counter[str] = Counter()
        self.unanswered = 0

    def add_page(self, title: str, names: list[list[str]], scores: list[list[float]], cuts: list[int]) -> None:
        """Score one page: the guesses of its masks in order, and where its examples begin and end."""
        rules, other_names = self.rules, self.aliases.get(title, ())
        person = Person(title, other_names)
        by_names = Tiers(person)
        tiers = by_names if rules.matcher == "names" else Tiers(MATCHERS[rules.matcher](title, other_names))
        legacy = PageSums(title, person.display, self.distances)
        kept = [answers(said, numbers, rules.k) for said, numbers in zip(names, scores, strict=True)]
        for said, numbers in kept:
            self.mask_places.append(place(said, numbers, [tiers[name] >= rules.tier for name in said]))
            first = said[numbers.index(max(numbers))] if said else None
            legacy.add(said, max([by_names[name] for name in said], default=0), first)
            if first is None:
                self.unanswered += 1
            else:
                self.answers[first.strip()] += 1
        pooled = [pool(kept[start:end], rules, tiers) for start, end in pairwise(cuts)]
        self.example_places += [groups.place() for groups in pooled]
        whole = pooled[0] if len(pooled) == 1 else pool(kept, rules, tiers)
        self.page_places.append(whole.place())
        longest = max(len(said) for said, _ in kept)
        self.depths.append((longest, max(len(groups.names) for groups in pooled), len(whole.names)))
        self.sums.append(legacy.values)

    def part(self, rows: _Sorted) -> Part:
        """The tables of all pages scored."""
        pyarrow, _ = load_pyarrow()
        table, starts = rows.table, np.flatnonzero(rows.new_example)
        page_starts = np.flatnonzero(rows.new_page)
        described = table.take(pyarrow.array(starts))
        extra = [name for name in table.column_names if name not in {*_REQUIRED, *_LISTS, *DESCRIBED}]
        examples = {name: described[name] for name in ("sequence", *DESCRIBED)}
        examples |= {FURTHER + name: described[name] for name in extra}
        examples["rows"] = pyarrow.array(np.diff(starts, append=len(table)))
        pages = table.select(["page", "title"]).take(pyarrow.array(page_starts))
        columns = {name: pages[name] for name in ("page", "title")}
        columns["masks"] = pyarrow.array(np.diff(page_starts, append=len(table)))
        columns["examples"] = pyarrow.array(np.diff(np.searchsorted(starts, page_starts), append=len(starts)))
        for name, depth in zip(("mask", "example", "page"), zip(*self.depths, strict=True), strict=True):
            columns[f"{name}_depth"] = pyarrow.array(depth, pyarrow.int64())
        columns |= {name: pyarrow.array([sums[name] for sums in self.sums], pyarrow.float64()) for name in SUMS}
        spoken = pyarrow.array(list(self.answers), pyarrow.string()), pyarrow.array(list(self.answers.values()))
        keys = {name: table[name] for name in ("sequence", "mask")}
        tables = {
            "masks": keys | _columns(self.mask_places, "top"),
            "examples": examples | _columns(self.example_places, "share"),
            "pages": columns | _columns(self.page_places, "share"),
            "answers": {"answer": spoken[0], "count": spoken[1].cast(pyarrow.int64())},
            "distances": {"count": self.distances},
        }
        return Part({name: pyarrow.table(made) for name, made in tables.items()}, self.unanswered)


def _columns(places: list[Place], confidence: str) -> dict[str, Any]:
    """The places as columns; *confidence* says which of their numbers is the confidence."""
    values = dict(zip(Place._fields, map(np.array, zip(*places, strict=True)), strict=True))
    return {name: values[confidence if name == "confidence" else name] for name in PLACES}
