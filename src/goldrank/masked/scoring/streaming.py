"""Scoring predictions of any number in any order: rows are gathered by page on disk, then scored part by part.

Small inputs stay in memory as one part. Larger ones are split by a hash of the page into temporary files, so that all
rows of a page meet in one part and any process can score it, of this machine or of a cluster that reaches the files.
Every part is sorted before it is scored and the parts are put together in the order of the pages: neither the order of
the rows, nor the number of parts, nor that of the processes can change a bit of the result.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from goldrank.engines.base import usable_cores
from goldrank.errors import GoldrankError, InputError
from goldrank.hits import Ints
from goldrank.io.column_names import listing
from goldrank.io.formats.parquet import load_pyarrow
from goldrank.io.remote import shown
from goldrank.masked.scoring.assembly import Part, assembled
from goldrank.masked.scoring.levels import MaskedScores, Rules
from goldrank.masked.scoring.pages import LISTS, OPTIONAL, OPTIONAL_LISTS, REQUIRED, Aliases, Readings, score_part
from goldrank.progress import Progress
from goldrank.tasks.ranking.sharding import Sharding

Batches = Iterable[Any]
Work = Callable[[int], tuple[int, Part]]

_IN_MEMORY = 200_000
"""Up to so many masks, splitting costs more than it saves."""
_PARTS = 64
"""How many files: a part of ten million masks then takes some tens of megabytes."""


def score_stream(
    predictions: Any, rules: Rules, aliases: Aliases, workers: int | None, sharding: Sharding | None = None
) -> MaskedScores:
    """Score predictions; see `goldrank.masked.scoring.levels.score_predictions`."""
    if workers is not None and workers < 1:
        raise InputError(f"{workers} processes cannot score", remedy="ask for at least one")
    readings = rules, rules.beside
    batches = canonical(_batches(predictions))
    held, rows = [], 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows > _IN_MEMORY:
            return _score_on_disk(_chained(held, batches), readings, aliases, workers or usable_cores(), sharding)
    if not rows:
        raise InputError("there are no predictions to score", remedy="check that the file was written completely")
    if sharding is not None:
        return _score_on_disk(iter(held), readings, aliases, 1, sharding)
    pyarrow, _ = load_pyarrow()
    return assembled([score_part(pyarrow.Table.from_batches(held), readings, aliases)], readings)


def _batches(predictions: Any) -> Batches:
    if isinstance(predictions, (str, os.PathLike)):
        from goldrank.masked.predictions.files import prediction_batches

        return prediction_batches(predictions)
    found: Batches = predictions.to_batches() if hasattr(predictions, "to_batches") else predictions
    return found


def _chained(held: list[Any], rest: Iterator[Any]) -> Iterator[Any]:
    while held:
        yield held.pop(0)
    yield from rest


def canonical(batches: Batches) -> Iterator[Any]:
    """Every batch with the columns that scoring reads, in the types of the first batch."""
    pyarrow, _ = load_pyarrow()
    schema = None
    for batch in batches:
        if schema is None:
            schema = _schema(batch.schema, pyarrow)
        columns = [_column(batch, field, pyarrow) for field in schema]
        yield pyarrow.RecordBatch.from_arrays(columns, schema=schema)


def _schema(given: Any, pyarrow: Any) -> Any:
    missing = [name for name in (*REQUIRED, *LISTS) if name not in given.names]
    if missing:
        raise InputError(
            f"the predictions have no column {listing(missing)}", remedy="join them with the data they were made for"
        )
    fields = [pyarrow.field(name, pyarrow.type_for_alias(kind)) for name, kind in (REQUIRED | OPTIONAL).items()]
    lists = (LISTS | OPTIONAL_LISTS).items()
    fields += [pyarrow.field(name, pyarrow.list_(pyarrow.type_for_alias(kind))) for name, kind in lists]
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


def _score_on_disk(
    batches: Iterator[Any], readings: Readings, aliases: Aliases, workers: int, sharding: Sharding | None
) -> MaskedScores:
    with TemporaryDirectory(prefix="goldrank-masked-", dir=_shared_folder(sharding)) as name:
        folder = Path(name)
        rows = _split(batches, folder)
        full = [number for number in range(_PARTS) if rows[number]]
        work = partial(_score_file, folder, readings, dict(aliases))
        scored = _scored(work, full, workers) if sharding is None else _scored_by(sharding, work, full)
        parts: dict[int, Part] = {}
        # Closed first: no process may write into the folder while it is removed.
        with closing(scored), Progress("scoring", total=int(rows.sum()), unit="mask") as progress:
            for number, part in scored:
                parts[number] = part
                _rows_file(folder, number).unlink()
                progress.advance(int(rows[number]))
        return assembled([parts[number] for number in full], readings)


def _shared_folder(sharding: Sharding | None) -> Path | None:
    """Where parts are put for all workers to read; None is this machine's place for temporary files."""
    if sharding is None:
        return None
    if "://" in sharding.folder:
        raise InputError(
            "masked predictions are scored from files that all nodes mount, and this is an address",
            where=shown(sharding.folder),
            remedy="give --work-folder a path",
        )
    folder = Path(sharding.folder)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


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


def _scored(work: Work, full: list[int], workers: int) -> Generator[tuple[int, Part], None, None]:
    """The scores of the parts, made in this process or in several."""
    if workers == 1:
        yield from map(work, full)
        return
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(min(workers, len(full)), get_context("spawn"), initializer=_Shared.set, initargs=(work,))
    try:
        yield from pool.map(_Shared.score, full)
    except BrokenProcessPool:
        raise GoldrankError("a process that scored predictions was ended from outside; score with one worker") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _scored_by(sharding: Sharding, work: Work, full: list[int]) -> Generator[tuple[int, Part], None, None]:
    """The same by the workers of an engine."""
    yield from sharding.engine.map(work, full, what="scoring pages", total=len(full))


class _Shared:
    """What every part needs, sent to a process once."""

    work: Work

    @classmethod
    def set(cls, work: Work) -> None:
        cls.work = work

    @classmethod
    def score(cls, number: int) -> tuple[int, Part]:
        return cls.work(number)


def _score_file(folder: Path, readings: Readings, aliases: Aliases, number: int) -> tuple[int, Part]:
    pyarrow, _ = load_pyarrow()
    with pyarrow.memory_map(str(_rows_file(folder, number))) as source:
        return number, score_part(pyarrow.ipc.open_file(source).read_all(), readings, aliases).store(folder, number)
