"""Files of predictions, in any layout that `prediction_formats` knows: read in streams, written in one."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path, PurePath
from typing import Any, BinaryIO

import numpy as np

from goldrank.data.collections.streams import head, lines
from goldrank.errors import InputError, counts, shorten
from goldrank.io.checks import is_number
from goldrank.io.decompression import compression_of
from goldrank.io.files import COMPRESSIONS, PathLike, is_parquet, read_bytes, write_atomically
from goldrank.io.formats.json_files import decode_text
from goldrank.io.formats.parquet import load_pyarrow
from goldrank.masked.examples.chunks import Guesses, MaskKey
from goldrank.masked.predictions.formats import Columns, MasksByPage, Placed, RowReader, find_columns
from goldrank.masked.predictions.rows import ROUNDING, Remarks, extra_types, name_of, record_batch, schema

_BATCH = 1 << 16
_REMEDY = "write one JSON object a line"


def read_predictions(
    path: PathLike, *, pad: bool = False, remarks: Remarks | None = None, pages: MasksByPage | None = None
) -> dict[MaskKey, Guesses]:
    """All predictions of a file by the key of their mask.

    Args:
        path: JSON Lines, CSV, TSV or Parquet, compressed or not.
        pad: Fill up missing names and scores instead of refusing them.
        remarks: Where to count what is worth a word.
        pages: The masks of the data (`masks_by_page`): where the file has no sequence numbers, its masks are counted
            through the page. Without it they belong to example 0.
    """
    places: dict[MaskKey, str] = {}
    found: dict[MaskKey, Guesses] = {}
    for row in RowReader(pad=pad, remarks=remarks, pages=pages).rows(_records(Path(path))):
        if row.key in found:
            raise InputError(
                f"{name_of(row.key)} is given twice (first at {places[row.key]})",
                where=row.place,
                remedy="keep one row for each page, example and mask",
            )
        found[row.key], places[row.key] = row.guesses, row.place
    return found


def prediction_batches(
    path: PathLike, *, pad: bool = False, remarks: Remarks | None = None, pages: MasksByPage | None = None
) -> Iterator[Any]:
    """The predictions of a file as Arrow record batches with the columns of `joining.COLUMNS` and the file's others.

    Arguments are those of `read_predictions`. What the file does not say is null. Only tidy tables are held in memory;
    therefore a mask that stands twice in the file is not noticed here.
    """
    reader = RowReader(pad=pad, remarks=remarks, pages=pages)
    file = Path(path)
    if is_parquet(head(file)):
        yield from _from_parquet(file, reader)
    else:
        yield from _row_batches(reader, _records(file))


def _row_batches(reader: RowReader, records: Iterable[Placed], extra: Mapping[str, str] | None = None) -> Iterator[Any]:
    rows = reader.rows(records)
    while batch := list(islice(rows, _BATCH)):
        if extra is None:
            extra = extra_types(batch)
        else:
            reader.remarks.late_columns |= extra_types(batch).keys() - extra.keys()
        yield record_batch(batch, extra)


def _records(path: Path) -> Iterator[Placed]:
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
                    raise InputError(f"{shorten(record)} is no record", where=f"{path}:{number}", remedy=_REMEDY)
                yield f"{path}:{number}", record
    else:
        yield from _table_records(path, "\t" if b"\t" in start.partition(b"\n")[0] else ",")


def _placed(batch: Any, path: Path, before: int) -> Iterator[Placed]:
    for number, record in enumerate(batch.to_pylist(), before + 1):
        yield f"{path}: row {number}", record


def _table_records(path: Path, delimiter: str) -> Iterator[Placed]:
    # A cell may hold a whole text; csv's own limit is for those who cannot know the size beforehand.
    csv.field_size_limit(max(csv.field_size_limit(), 1 << 30))
    text = (f"{line}\n" for _, line in lines(path))
    rows = csv.reader(text, delimiter=delimiter, skipinitialspace=delimiter == ",", strict=True)
    header: list[str] | None = None
    extra: frozenset[str] = frozenset()
    line = 1
    try:
        for row in rows:
            place, line = f"{path}:{line}", rows.line_num + 1
            if not row:
                continue
            if header is None:
                header, extra = row, frozenset(find_columns(row, place).extra)
                continue
            if len(row) != len(header):
                raise InputError(
                    f"the row has {counts(len(row), 'column')}, the header has {len(header)}",
                    where=place,
                    remedy='put cells that hold a comma, a tab or a line break in "quotes"',
                )
            yield place, {name: _typed(cell) if name in extra else cell for name, cell in zip(header, row, strict=True)}
    except csv.Error as error:
        raise InputError(
            f"the row is not valid CSV or TSV ({error})", where=f"{path}:{line}", remedy="close every quote"
        ) from None


def _typed(cell: str) -> object:
    if not cell:
        return None
    if cell.isdecimal() and len(cell) < 20:
        return int(cell)
    return float(cell) if is_number(cell) else cell


def _parquet_batches(path: Path) -> tuple[list[str], Iterator[Any]]:
    """The names of the columns, and the rows in batches."""
    pyarrow, parquet = load_pyarrow()
    with path.open("rb") as stream:
        packed = compression_of(stream.read(16))
    faults = (pyarrow.ArrowException, OSError, ValueError, KeyError, IndexError)

    def refused(error: Exception) -> InputError:
        reason = str(error).partition("\n")[0].rstrip(".")[:120]
        what = f"the Parquet file is truncated or corrupt ({reason})"
        return InputError(what, where=str(path), remedy="copy or write it again")

    def batches(file: Any) -> Iterator[Any]:
        with file:
            try:
                yield from file.iter_batches(_BATCH)
            except faults as error:
                raise refused(error) from None

    try:
        file = parquet.ParquetFile(pyarrow.BufferReader(read_bytes(path)) if packed else path)
    except faults as error:
        raise refused(error) from None
    return file.schema_arrow.names, batches(file)


def _from_parquet(path: Path, reader: RowReader) -> Iterator[Any]:
    """Batches whose columns are as they should be are passed on as they are; others row by row."""
    names, batches = _parquet_batches(path)
    columns = find_columns(names, str(path))
    if "mask" not in columns.roles or "guesses" not in columns.roles or "sequence" not in columns.roles:
        yield from _row_batches(reader, _records(path))
        return
    number = 0
    extra: dict[str, str] | None = None
    for batch in batches:
        if extra is None:
            extra = _parquet_extra(batch.schema, columns)
        canonical = _canonical(batch, columns, extra)
        if canonical is None or not _sound(canonical, reader.remarks):
            yield from _row_batches(reader, _placed(batch, path, number), extra)
        else:
            yield canonical
        number += len(batch)


def _parquet_extra(of: Any, columns: Columns) -> dict[str, str]:
    from pyarrow import types

    found = {}
    for name in columns.extra:
        type_ = of.field(name).type
        if types.is_integer(type_):
            found[name] = "int64"
        elif types.is_floating(type_):
            found[name] = "double"
        elif any(
            fits(type_) for fits in (types.is_string, types.is_large_string, types.is_dictionary, types.is_boolean)
        ):
            found[name] = "string"
    return found


def _is_text(type_: Any) -> bool:
    from pyarrow import types

    if types.is_dictionary(type_):
        return _is_text(type_.value_type)
    return bool(types.is_string(type_) or types.is_large_string(type_))


def _canonical(batch: Any, columns: Columns, extra: Mapping[str, str]) -> Any | None:
    """The batch with our names and types; None where that needs a look at every row."""
    pyarrow, _ = load_pyarrow()
    wanted = schema(extra)
    roles = columns.roles
    # Ids must not be made of floats, nor lengths be left out where they can be counted.
    page_fits = any(fits(batch.schema.field(roles["page"]).type) for fits in (_is_text, pyarrow.types.is_integer))
    if not page_fits or "scores" not in roles or ("text" in roles and "length" not in roles):
        return None
    arrays = []
    for field in wanted:
        name = field.name if field.name in extra else roles.get(field.name)
        if name is None:
            arrays.append(pyarrow.nulls(len(batch), field.type))
            continue
        try:
            arrays.append(batch.column(name).cast(field.type))
        except pyarrow.ArrowException:
            return None
    return pyarrow.RecordBatch.from_arrays(arrays, schema=wanted)


def _sound(batch: Any, remarks: Remarks) -> bool:
    """Whether nothing in the batch needs to be refused or filled in; if so, what is remarkable is counted."""
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


def write_predictions(batches: Iterable[Any], path: PathLike) -> int:
    """Write record batches (or a table) of predictions as Parquet or JSON Lines, in one piece; how many masks."""
    name = PurePath(path)
    suffix = PurePath(name.stem).suffix if name.suffix in COMPRESSIONS else name.suffix
    pyarrow, _ = load_pyarrow()
    found = batches.to_batches() if isinstance(batches, pyarrow.Table) else batches
    counted = [0]

    def each() -> Iterator[Any]:
        for batch in found:
            counted[0] += len(batch)
            yield batch

    if os.fspath(path) == "-" or suffix in (".jsonl", ".ndjson"):
        write_atomically(path, lambda out: _write_lines(each(), out))
    elif name.suffix == ".parquet":
        write_atomically(path, lambda out: _write_parquet(each(), out))
    else:
        raise InputError(
            f"the suffix {shorten(''.join(name.suffixes[-2:]))} names no format of predictions",
            where=str(path),
            remedy="end it in .parquet (which is compressed inside), .jsonl, .jsonl.gz, .jsonl.xz or .jsonl.zst",
        )
    return counted[0]


def _write_lines(batches: Iterable[Any], out: BinaryIO) -> None:
    for batch in batches:
        for record in batch.to_pylist():
            said = {key: value for key, value in record.items() if value is not None}
            out.write(json.dumps(said, ensure_ascii=False).encode() + b"\n")


def _write_parquet(batches: Iterable[Any], out: BinaryIO) -> None:
    pyarrow, parquet = load_pyarrow()
    writer = None
    pending: list[Any] = []
    try:
        for batch in batches:
            writer = writer or parquet.ParquetWriter(out, batch.schema, compression="zstd")
            pending.append(batch)
            # Batches may be tiny, and a row group for each would be slow to read.
            if sum(map(len, pending)) >= _BATCH:
                writer.write_table(pyarrow.Table.from_batches(pending))
                pending.clear()
        writer = writer or parquet.ParquetWriter(out, schema({}), compression="zstd")
        if pending:
            writer.write_table(pyarrow.Table.from_batches(pending))
    finally:
        if writer is not None:
            writer.close()
