"""Score any number of predictions in any order: split rows by page into parts on disk, and score each part.

Small inputs stay in memory as one part. Larger ones are split by a hash of the page into temporary files, so that all
rows of a page are in one part, which any process can score, on this machine or on a cluster that can read the files.
Each part is sorted before scoring and the parts are assembled in page order, so that the result does not depend on the
order of the rows or the number of parts or processes.
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
from goldrank.masked.scoring.assembly import Part, assemble
from goldrank.masked.scoring.levels import MaskedScores, Rules
from goldrank.masked.scoring.pages import LISTS, OPTIONAL, OPTIONAL_LISTS, REQUIRED, Aliases, Readings, score_part
from goldrank.progress import Progress
from goldrank.tasks.ranking.sharding import Sharding

Batches = Iterable[Any]
Work = Callable[[int], tuple[int, Part]]

_IN_MEMORY = 200_000
"""Up to this number of masks, splitting costs more than it saves."""
_PARTS = 64
"""Number of parts: a part of ten million masks then takes some tens of megabytes."""


def score_stream(
    predictions: Any, rules: Rules, aliases: Aliases, workers: int | None, sharding: Sharding | None = None
) -> MaskedScores:
    """Score predictions; see `goldrank.masked.scoring.levels.score_predictions`."""
    if workers is not None and workers < 1:
        raise InputError(f"workers={workers} is not a whole number >= 1", remedy="use at least one process")
    readings = rules, rules.beside
    batches = canonical(_batches(predictions))
    in_memory, rows = [], 0
    for batch in batches:
        in_memory.append(batch)
        rows += batch.num_rows
        if rows > _IN_MEMORY:
            stream = _chain(in_memory, batches)
            return _score_on_disk(stream, readings, aliases, workers or usable_cores(), sharding)
    if not rows:
        raise InputError("there are no predictions to score", remedy="check that the file was written completely")
    if sharding is not None:
        return _score_on_disk(iter(in_memory), readings, aliases, 1, sharding)
    pyarrow, _ = load_pyarrow()
    return assemble([score_part(pyarrow.Table.from_batches(in_memory), readings, aliases)], readings)


def _batches(predictions: Any) -> Batches:
    if isinstance(predictions, (str, os.PathLike)):
        from goldrank.masked.predictions.files import prediction_batches

        return prediction_batches(predictions)
    batches: Batches = predictions.to_batches() if hasattr(predictions, "to_batches") else predictions
    return batches


def _chain(first: list[Any], rest: Iterator[Any]) -> Iterator[Any]:
    # Popped, so that no batch stays in memory after its use.
    while first:
        yield first.pop(0)
    yield from rest


def canonical(batches: Batches) -> Iterator[Any]:
    """Yield every batch with the columns that scoring reads, and the further columns of the first batch."""
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
            f"the predictions have no column {listing(missing)}",
            remedy="join them with the data they were made for (--data)",
        )
    fields = [pyarrow.field(name, pyarrow.type_for_alias(kind)) for name, kind in (REQUIRED | OPTIONAL).items()]
    lists = (LISTS | OPTIONAL_LISTS).items()
    fields += [pyarrow.field(name, pyarrow.list_(pyarrow.type_for_alias(kind))) for name, kind in lists]
    known = {field.name for field in fields} | {"hidden"}
    for field in given:
        if field.name not in known and (extra_type := _extra_type(field.type, pyarrow)) is not None:
            fields.append(pyarrow.field(field.name, extra_type))
    return pyarrow.schema(fields)


def _extra_type(column_type: Any, pyarrow: Any) -> Any:
    """Return the type of a further column: float64 for numbers, string for words; None if it cannot be split by."""
    types = pyarrow.types
    if types.is_integer(column_type) or types.is_floating(column_type) or types.is_decimal(column_type):
        return pyarrow.float64()
    words = (types.is_string, types.is_large_string, types.is_boolean, types.is_null, types.is_dictionary)
    return pyarrow.string() if any(is_word(column_type) for is_word in words) else None


def _column(batch: Any, field: Any, pyarrow: Any) -> Any:
    at = batch.schema.get_field_index(field.name)
    if at < 0:
        return pyarrow.nulls(batch.num_rows, field.type)
    try:
        return batch.column(at).cast(field.type)
    except pyarrow.ArrowException as error:
        reason = str(error).partition("\n")[0]
        raise InputError(
            f"the column cannot be converted to {field.type} ({reason})", where=f"column {field.name}"
        ) from None


def _score_on_disk(
    batches: Iterator[Any], readings: Readings, aliases: Aliases, workers: int, sharding: Sharding | None
) -> MaskedScores:
    with TemporaryDirectory(prefix="goldrank-masked-", dir=_shared_folder(sharding)) as name:
        folder = Path(name)
        rows = _split(batches, folder)
        full = [number for number in range(_PARTS) if rows[number]]
        work = partial(_score_file, folder, readings, dict(aliases))
        scored = _score_parts(work, full, workers, sharding)
        parts: dict[int, Part] = {}
        # Closed first, because no process may write to the folder while it is removed.
        with closing(scored), Progress("scoring", total=int(rows.sum()), unit="mask") as progress:
            for number, part in scored:
                parts[number] = part
                _rows_file(folder, number).unlink()
                progress.advance(int(rows[number]))
        return assemble([parts[number] for number in full], readings)


def _shared_folder(sharding: Sharding | None) -> Path | None:
    """Return the folder that all workers can read; None for the local folder of temporary files."""
    if sharding is None:
        return None
    if "://" in sharding.folder:
        raise InputError(
            "the work folder is an address, but masked predictions need a folder that all nodes mount",
            where=shown(sharding.folder),
            remedy="give --work-folder a path",
        )
    folder = Path(sharding.folder)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _split(batches: Iterator[Any], folder: Path) -> Ints:
    """Write each row to the file of its part, and return the number of rows of each part."""
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
    """Return the part of each row: a checksum of its page, which is the same on every machine."""
    encoded = pages.fill_null("").dictionary_encode()
    numbers = [zlib.crc32(page.encode()) % _PARTS for page in encoded.dictionary.to_pylist()]
    parts: Ints = np.array(numbers, np.int64)[encoded.indices.to_numpy(zero_copy_only=False)]
    return parts


def _rows_file(folder: Path, number: int) -> Path:
    return folder / f"rows-{number}.arrow"


def _score_parts(
    work: Work, full: list[int], workers: int, sharding: Sharding | None
) -> Generator[tuple[int, Part], None, None]:
    """Score the parts in this process, in several processes, or by the workers of an engine."""
    if sharding is not None:
        yield from sharding.engine.map(work, full, what="scoring pages", total=len(full))
        return
    if workers == 1:
        yield from map(work, full)
        return
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(min(workers, len(full)), get_context("spawn"), initializer=_Shared.set, initargs=(work,))
    try:
        yield from pool.map(_Shared.score, full)
    except BrokenProcessPool:
        raise GoldrankError("a scoring process was killed, perhaps for lack of memory; score with one worker") from None
    finally:
        pool.shutdown(cancel_futures=True)


class _Shared:
    """The work that is common to all parts, sent to each process once."""

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
