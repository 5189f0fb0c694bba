"""Read whole pages about persons, to be masked: records with a title and a text, or a folder of text files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from goldrank.data.collections.records import find_keys, parse_json_lines, read_records
from goldrank.errors import InputError, shorten
from goldrank.io.checks import id_strings, is_missing
from goldrank.io.column_names import FURTHER, FieldRoles, listing, normal
from goldrank.io.compression import COMPRESSIONS
from goldrank.io.files import PathLike, display_name, read_bytes
from goldrank.io.formats.delimited import table_records

_NAMES_REMEDY = 'write ["Lise Meitner", "Lise"], or Lise Meitner|Lise in a table'


@dataclass(frozen=True)
class Page:
    """A page about the person that its title names."""

    id: str
    title: str
    text: str
    names: tuple[str, ...] = ()
    """Other names that the text may use for the person."""
    extra: Mapping[str, object] = field(default_factory=dict)
    """Further columns that have a value; they are copied to the chunks of the page."""


def read_pages(path: PathLike, fields: FieldRoles | None = None) -> Iterator[Page]:
    """Yield the pages of a file or folder.

    A file is JSON Lines (read line by line), JSON, Parquet, CSV or TSV with id, title, text and optionally names;
    "-" is JSON Lines from standard input. In a folder each .txt file is a page; its id is the name of the file, its
    title the same with blanks for underscores. The role of each field is added to
    *fields*.
    """
    if str(path) != "-" and Path(path).is_dir():
        yield from _folder_pages(Path(path))
        return
    seen: set[str] = set()
    fields = FieldRoles() if fields is None else fields
    fields.source = display_name(path)
    for place, record in _records(path):
        page = _page(record, place, fields)
        if page.id in seen:
            raise InputError(
                f"the page id {shorten(page.id)} appears twice", where=place, remedy="give every page its own id"
            )
        seen.add(page.id)
        yield page
    if not seen:
        raise InputError("the file has no pages", where=display_name(path), remedy="check that it is complete")


def _records(path: PathLike) -> Iterator[tuple[str, Mapping[str, object]]]:
    if str(path) == "-":
        return parse_json_lines(enumerate(read_bytes("-").decode().split("\n"), 1), display_name("-"))
    suffix = next((end for end in reversed(Path(path).suffixes) if end not in COMPRESSIONS), "").lower()
    if suffix in (".csv", ".tsv"):
        return table_records(read_bytes(path), display_name(path), suffix[1:])
    return read_records(Path(path))


def _page(record: Mapping[str, object], place: str, fields: FieldRoles) -> Page:
    names = tuple(record)
    keys = find_keys(names)
    if keys.id is None or keys.title is None or keys.text is None:
        missing = next(name for name in ("id", "title", "text") if getattr(keys, name) is None)
        raise InputError(
            f"the page has no {missing} (fields: {listing(names)})", where=place, remedy="give id, title and text"
        )
    names_key = next((key for key in names if normal(key) == "names"), None)
    (page,) = id_strings([record[keys.id]], role="page", integers=True, place=lambda _: place)
    used = {keys.id: "page", keys.title: "title", keys.text: "text", **({names_key: "names"} if names_key else {})}
    fields.add(names, {**dict.fromkeys(names, FURTHER), **used})
    return Page(
        page,
        _title(_string(record[keys.title], "title", place), place),
        _string(record[keys.text], "text", place),
        _names(record[names_key], place) if names_key else (),
        {key: value for key, value in record.items() if key not in used and not is_missing(value)},
    )


def _string(value: object, field: str, place: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"the {field} {shorten(value)} is not a string", where=place, remedy="put it in quotes")
    return value


def _title(title: str, place: str) -> str:
    if not any(map(str.isalpha, title)):
        what = f"the title {shorten(title)} has no letters" if title.strip() else "the title is empty"
        raise InputError(what, where=place, remedy="give the name of the page's person")
    return title


def _names(value: object, place: str) -> tuple[str, ...]:
    parts: Sequence[object] = ()
    if isinstance(value, str):
        parts = value.split("|")
    elif isinstance(value, (list, tuple)):
        parts = value
    elif value is not None:
        raise InputError(f"the names are {shorten(value)}, not a list", where=place, remedy=_NAMES_REMEDY)
    names = []
    for part in parts:
        if not isinstance(part, str):
            raise InputError(f"the name {shorten(part)} is not a string", where=place, remedy=_NAMES_REMEDY)
        names.append(part.strip())
    return tuple(filter(None, names))


def _folder_pages(folder: Path) -> Iterator[Page]:
    endings = (".txt", *(f".txt{suffix}" for suffix in COMPRESSIONS))
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.name.endswith(endings))
    if not files:
        raise InputError("the folder has no .txt files", where=str(folder), remedy="give a file of pages")
    for file in files:
        page = file.name[: file.name.rindex(".txt")]
        text = read_bytes(file).decode().replace("\r\n", "\n")
        yield Page(page, _title(page.replace("_", " ").strip(), str(file)), text)
