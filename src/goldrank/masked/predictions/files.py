"""Read files of predictions as streams, in any layout that `formats` supports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from goldrank.data.collections.records import PlacedRecord
from goldrank.data.collections.streams import head, lines
from goldrank.errors import InputError, shorten
from goldrank.io.checks import is_number
from goldrank.io.column_names import FURTHER
from goldrank.io.compression import compression_of
from goldrank.io.files import PathLike, is_parquet, read_bytes
from goldrank.io.formats.delimited import parse_rows, refuse_ragged
from goldrank.io.formats.json_files import decode_text
from goldrank.io.formats.parquet import load_pyarrow, parquet_faults
from goldrank.masked.examples.chunks import Guesses, MaskKey
from goldrank.masked.predictions.formats import OF_EXAMPLES, MasksByPage, PredictionColumns, RowReader, find_columns
from goldrank.masked.predictions.rows import ROUNDING, Remarks, extra_types, prediction_schema, record_batch

_BATCH = 1 << 16
_REMEDY = "write one JSON object per line"


def read_predictions(
    path: PathLike, *, pad: bool = False, remarks: Remarks | None = None, pages: MasksByPage | None = None
) -> dict[MaskKey, Guesses]:
    """Return all predictions of a file by the key of their mask.

    Args:
        path: JSON Lines, CSV, TSV or Parquet, compressed or not.
        pad: Pad missing names and scores instead of raising an error.
        remarks: Counts of anomalies to add to.
        pages: The masks of the data (`masks_by_page`): if the file has no sequence numbers, its masks are counted
            through the page. Without it they belong to example 0.
    """
    places: dict[MaskKey, str] = {}
    guesses: dict[MaskKey, Guesses] = {}
    reader = RowReader(pad=pad, remarks=remarks, pages=pages)
    reader.remarks.columns.source = str(path)
    for row in reader.rows(_records(Path(path))):
        if row.key in guesses:
            raise InputError(
                f"{row.key.place} appears twice (first at {places[row.key]})",
                where=row.place,
                remedy="keep one row for each page, example and mask",
            )
        guesses[row.key], places[row.key] = row.guesses, row.place
    reader.remarks.columns.ignore(OF_EXAMPLES)
    return guesses


def prediction_batches(
    path: PathLike, *, pad: bool = False, remarks: Remarks | None = None, pages: MasksByPage | None = None
) -> Iterator[Any]:
    """Yield the predictions of a file as Arrow record batches with `rows.COLUMNS` and the further columns of the file.

    The arguments are those of `read_predictions`. Missing values are null. Only tidy tables are held in memory, so a
    mask that appears twice in the file is not detected here.
    """
    reader = RowReader(pad=pad, remarks=remarks, pages=pages)
    reader.remarks.columns.source = str(path)
    file = Path(path)
    if is_parquet(head(file)):
        yield from _from_parquet(file, reader)
    else:
        yield from _row_batches(reader, _records(file))


def _row_batches(
    reader: RowReader, records: Iterable[PlacedRecord], extra: Mapping[str, str] | None = None
) -> Iterator[Any]:
    rows = reader.rows(records)
    while batch := list(islice(rows, _BATCH)):
        if extra is None:
            extra = extra_types(batch)
        else:
            reader.remarks.late_columns |= extra_types(batch).keys() - extra.keys()
        reader.remarks.columns.ignore([FURTHER], unless=extra)
        yield record_batch(batch, extra)


def _records(path: Path) -> Iterator[PlacedRecord]:
    start = head(path).removeprefix(b"\xef\xbb\xbf").lstrip()
    if is_parquet(start):
        _, batches = _parquet_batches(path)
        number = 0
        for batch in batches:
            yield from _placed(batch, path, number)
            number += len(batch)
    elif start[:1] in (b"{", b"["):
        for number, line in lines(path):
            if line.strip():
                record = decode_text(line, str(path), first_line=number)
                if not isinstance(record, dict):
                    raise InputError(f"{shorten(record)} is not a record", where=f"{path}:{number}", remedy=_REMEDY)
                yield f"{path}:{number}", record
    else:
        yield from _table_records(path, "tsv" if b"\t" in start.partition(b"\n")[0] else "csv")


def _placed(batch: Any, path: Path, before: int) -> Iterator[PlacedRecord]:
    for number, record in enumerate(batch.to_pylist(), before + 1):
        yield f"{path}: row {number}", record


def _table_records(path: Path, format: str) -> Iterator[PlacedRecord]:
    text = (f"{line}\n" for _, line in lines(path))
    rows = refuse_ragged(parse_rows(text, str(path), format), str(path))
    first = next(rows, None)
    if first is None:
        return
    first_line, header = first
    extra = frozenset(find_columns(header, f"{path}:{first_line}").extra)
    for line, row in rows:
        record = {name: _typed(cell) if name in extra else cell for name, cell in zip(header, row, strict=True)}
        yield f"{path}:{line}", record


def _typed(cell: str) -> object:
    if not cell:
        return None
    if cell.isdecimal() and len(cell) < 20:
        return int(cell)
    return float(cell) if is_number(cell) else cell


def _parquet_batches(path: Path) -> tuple[list[str], Iterator[Any]]:
    """Return the column names, and the rows in batches."""
    pyarrow, parquet = load_pyarrow()
    with path.open("rb") as stream:
        packed = compression_of(stream.read(16))
    with parquet_faults(str(path)):
        file = parquet.ParquetFile(pyarrow.BufferReader(read_bytes(path)) if packed else path)

    def batches() -> Iterator[Any]:
        with parquet_faults(str(path)), file:
            yield from file.iter_batches(_BATCH)

    return file.schema_arrow.names, batches()


def _from_parquet(path: Path, reader: RowReader) -> Iterator[Any]:
    """Yield batches with the expected columns and types as they are; convert others row by row."""
    names, batches = _parquet_batches(path)
    columns = reader.columns_of(tuple(names), str(path))
    if "mask" not in columns.roles or "guesses" not in columns.roles or "sequence" not in columns.roles:
        yield from _row_batches(reader, _records(path))
        return
    number = 0
    extra: dict[str, str] | None = None
    for batch in batches:
        if extra is None:
            extra = _parquet_extra(batch.schema, columns)
            reader.remarks.columns.ignore([FURTHER], unless=extra)
        canonical = _canonical(batch, columns, extra)
        if canonical is None or not _sound(canonical, reader.remarks):
            yield from _row_batches(reader, _placed(batch, path, number), extra)
        else:
            yield canonical
        number += len(batch)


def _parquet_extra(schema: Any, columns: PredictionColumns) -> dict[str, str]:
    from pyarrow import types

    extra = {}
    for name in columns.extra:
        type_ = schema.field(name).type
        if types.is_integer(type_):
            extra[name] = "int64"
        elif types.is_floating(type_):
            extra[name] = "double"
        elif any(
            fits(type_) for fits in (types.is_string, types.is_large_string, types.is_dictionary, types.is_boolean)
        ):
            extra[name] = "string"
    return extra


def _is_text(type_: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(type_):
        return _is_text(type_.value_type)
    return bool(types.is_string(type_) or types.is_large_string(type_))


def _canonical(batch: Any, columns: PredictionColumns, extra: Mapping[str, str]) -> Any | None:
    """Return the batch with canonical names and types, or None if every row has to be parsed."""
    pyarrow, _ = load_pyarrow()
    target = prediction_schema(extra)
    roles = columns.roles
    # Floats are not valid ids, and lengths have to be computed if there are texts.
    page_fits = any(fits(batch.schema.field(roles["page"]).type) for fits in (_is_text, pyarrow.types.is_integer))
    if not page_fits or "scores" not in roles or ("text" in roles and "length" not in roles):
        return None
    arrays = []
    for field in target:
        name = field.name if field.name in extra else roles.get(field.name)
        if name is None:
            arrays.append(pyarrow.nulls(len(batch), field.type))
            continue
        try:
            arrays.append(batch.column(name).cast(field.type))
        except pyarrow.ArrowException:
            return None
    return pyarrow.RecordBatch.from_arrays(arrays, schema=target)


def _sound(batch: Any, remarks: Remarks) -> bool:
    """Return True if no row of the batch is invalid or needs padding; then count its anomalies."""
    from pyarrow import compute

    names, scores = batch.column("guesses"), batch.column("scores")
    required = [batch.column(name) for name in ("page", "sequence", "mask")]
    if any(column.null_count for column in (*required, names, scores)):
        return False
    sizes = compute.list_value_length(scores).to_numpy()
    flat_names, flat = names.flatten(), scores.flatten()
    if flat_names.null_count or flat.null_count:
        return False
    values = flat.to_numpy()
    sound = (
        np.array_equal(compute.list_value_length(names).to_numpy(), sizes)
        and bool(np.isfinite(values).all())
        and all(bool((column.to_numpy() >= 0).all()) for column in required[1:])
        and not compute.any(compute.equal(required[0], "")).as_py()
    )
    if sound:
        rows = np.repeat(np.arange(len(sizes)), sizes)
        rises = rows[1:][(values[1:] > values[:-1]) & (rows[1:] == rows[:-1])]
        remarks.masks += len(sizes)
        remarks.empty += int((sizes == 0).sum())
        remarks.unsorted += len(np.unique(rises))
        remarks.above_one += int((np.bincount(rows, values, len(sizes)) > 1 + ROUNDING).sum())
        remarks.blank += compute.sum(compute.invert(compute.match_substring_regex(flat_names, r"\S"))).as_py() or 0
    return sound
