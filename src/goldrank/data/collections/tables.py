"""Read any table as records with their places: CSV, TSV, JSON, JSON Lines, Parquet, an Excel sheet, or Python rows."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from goldrank.data.collections.in_memory import rows_or_none
from goldrank.data.collections.records import PlacedRecord, placed_rows, read_records
from goldrank.data.collections.splits import stem_and_suffix
from goldrank.errors import InputError, MissingExtraError, reason_of, shorten, unknown_name
from goldrank.io.files import read_bytes
from goldrank.io.formats.delimited import table_records

TABLE_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".pq", ".xlsx")
_RECORDS = (".jsonl", ".ndjson", ".json", ".parquet", ".pq")


@dataclass(frozen=True)
class RecordTable:
    """The names of the columns, and the rows as records with their places."""

    source: str
    names: list[str]
    rows: list[PlacedRecord]
    remarks: tuple[str, ...] = ()


def read_table(source: object, sheet: str | None = None) -> RecordTable:
    """Read a table.

    Args:
        source: The path of a file with one of `TABLE_SUFFIXES`, also compressed; or a list of records, a data frame or
            an Arrow table.
        sheet: The name of a sheet of an Excel file; by default the first one.
    """
    if not isinstance(source, (str, Path)):
        rows = rows_or_none(source)
        if rows is None:
            raise InputError(
                f"{shorten(source)} is not a table", remedy="give a path, a list of records or a data frame"
            )
        name = f"the {type(source).__name__}"
        return _checked(name, list(placed_rows(rows, name)))
    path = Path(source).expanduser()
    suffix = stem_and_suffix(path)[1]
    if path.is_dir():
        raise InputError("this is a folder, not a table", where=str(source), remedy="give a file, such as a .csv file")
    if suffix not in TABLE_SUFFIXES:
        raise InputError(
            f"the name of a table does not end in {shorten(suffix)}" if suffix else "the file name has no suffix",
            where=str(source),
            remedy=f"give a file that ends in {', '.join(TABLE_SUFFIXES)}",
        )
    if sheet is not None and suffix != ".xlsx":
        raise InputError("sheet has no effect on this file", where=str(source), remedy="leave it out")
    if suffix == ".xlsx":
        return _read_sheet(path, sheet)
    name = str(source)
    if suffix in _RECORDS and path.is_file():
        return _checked(name, list(read_records(path)))
    data = read_bytes(path)
    format = suffix[1:] if suffix in (".csv", ".tsv") else "csv"
    remarks: tuple[str, ...] = ()
    header = data.partition(b"\n")[0]
    if format == "csv" and b";" in header and header.count(b";") > header.count(b","):
        # What a spreadsheet writes as CSV where the comma is the decimal mark.
        format, remarks = "semicolon", (f"in {name}, semicolons separate the columns",)
    return _checked(name, list(table_records(data, name, format)), remarks)


def _checked(source: str, rows: list[PlacedRecord], remarks: tuple[str, ...] = ()) -> RecordTable:
    if not rows:
        raise InputError("the table has no rows", where=source, remedy="check that it was written completely")
    names = dict.fromkeys(name for _, record in rows for name in record)
    return RecordTable(source, [str(name) for name in names], rows, remarks)


def _read_sheet(path: Path, sheet: str | None) -> RecordTable:
    try:
        import openpyxl
        from openpyxl.utils.exceptions import InvalidFileException
    except ImportError:
        raise MissingExtraError("reading .xlsx files", "openpyxl", "documents") from None
    if not path.is_file():
        read_bytes(path)  # raises the error for a file that does not exist
    try:
        book = openpyxl.load_workbook(BytesIO(path.read_bytes()), read_only=True, data_only=True)
        names = list(book.sheetnames)
        if sheet is not None and sheet not in names:
            raise unknown_name("sheet", sheet, names, f"it has {', '.join(names)}", where=str(path))
        chosen = sheet or names[0]
        rows = list(book[chosen].iter_rows(values_only=True))
    except (InvalidFileException, zipfile.BadZipFile, KeyError, OSError, ValueError, TypeError, EOFError) as error:
        raise InputError(
            f"the file is not a readable Excel file ({reason_of(error)})", where=str(path), remedy="save it as .xlsx"
        ) from None
    remarks: tuple[str, ...] = ()
    if sheet is None and len(names) > 1:
        remarks = (f"of {path}, only the first sheet, {shorten(chosen)}, was read of {len(names)}",)
    return _checked(str(path), list(_sheet_records(rows, str(path))), remarks)


def _sheet_records(rows: list[tuple[object, ...]], name: str) -> Iterator[PlacedRecord]:
    numbered = [(number, row) for number, row in enumerate(rows, 1) if any(cell is not None for cell in row)]
    if not numbered:
        return
    header = ["" if cell is None else str(cell).strip() for cell in numbered[0][1]]
    for number, row in numbered[1:]:
        yield f"{name}: row {number}", {key: cell for key, cell in zip(header, row, strict=False) if key}
