"""Documents from records: JSON Lines, JSON or Parquet with an id, a title, and a text or sections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from goldrank.data.collections.collection import Document, Documents, Section
from goldrank.data.collections.streams import Source, head, lines, opened, unpacked_size
from goldrank.data.texts import ID_NAMES, TEXT_NAMES
from goldrank.errors import InputError, shorten
from goldrank.io.checks import id_strings, is_missing
from goldrank.io.column_names import listing, normal
from goldrank.io.files import is_parquet, read_bytes
from goldrank.io.fingerprints import file_state
from goldrank.io.formats.json_files import decode_text
from goldrank.io.formats.parquet import load_pyarrow

Record = Mapping[str, object]
Placed = tuple[str, Record]
_SECTIONS_REMEDY = 'write [["heading", "text"], …]'


def read_records(path: Source) -> Iterator[Placed]:
    """Every record of a file with its place; JSON Lines and Parquet are read as they come, anything else whole."""
    start = head(path).removeprefix(b"\xef\xbb\xbf").lstrip()
    if is_parquet(start):
        yield from _parquet_records(path)
    elif start[:1] == b"[" or _is_spread(start):
        yield from _json_records(path)
    else:
        for number, line in lines(path):
            if line.strip():
                place = f"{path}:{number}"
                yield place, _record(decode_text(line, str(path), first_line=number), place)


def _is_spread(start: bytes) -> bool:
    """Whether an object goes on after its first line, so that the lines are no records."""
    first, end, _ = start.partition(b"\n")
    return bool(end) and first[:1] == b"{" and not first.rstrip().endswith(b"}")


def _json_records(path: Source) -> Iterator[Placed]:
    text = read_bytes(path).decode() if isinstance(path, Path) else "\n".join(line for _, line in lines(path))
    content = decode_text(text, str(path), first_line=1)
    if isinstance(content, dict) and not layout(tuple(content))[0]:
        content = [
            {"id": key, **({"text": value} if isinstance(value, str) else _record(value, f"{path}: {shorten(key)}"))}
            for key, value in content.items()
        ]
    for number, value in enumerate(content if isinstance(content, list) else [content], 1):
        yield (place := f"{path}: record {number}"), _record(value, place)


def _record(value: object, place: str) -> Record:
    if not isinstance(value, dict):
        raise InputError(f"{shorten(value)} is no record", where=place, remedy='write {"id": "…", "text": "…"}')
    return value


def _parquet_records(path: Source) -> Iterator[Placed]:
    with parquet_file(path) as file:
        number = 0
        for batch in file.iter_batches(1024):
            for record in batch.to_pylist():
                number += 1
                yield f"{path}: row {number}", record


@contextmanager
def parquet_file(path: Source) -> Iterator[Any]:
    """A Parquet file, opened; what is wrong with it is said of *path*."""
    pyarrow, parquet = load_pyarrow()
    try:
        with opened(path) as stream:
            yield parquet.ParquetFile(stream)
    except (pyarrow.ArrowException, OSError, ValueError, KeyError, IndexError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")[:120]
        raise InputError(
            f"the Parquet file is truncated or corrupt ({reason})", where=str(path), remedy="copy or write it again"
        ) from None


@lru_cache(maxsize=256)
def layout(names: tuple[str, ...]) -> tuple[str | None, str | None, str | None, str | None]:
    """The keys of the id, the title, the text and the sections in a record with these *names*.

    >>> layout(("_id", "Title", "contents"))
    ('_id', 'Title', 'contents', None)
    """
    keys = {normal(name): name for name in reversed(names)}

    def first(wanted: Sequence[str]) -> str | None:
        return next((keys[name] for name in wanted if name in keys), None)

    return first(ID_NAMES), first(("title",)), first(TEXT_NAMES), first(("sections",))


def document(record: Record, place: str) -> Document:
    """The document a record describes; a text that is null is empty.

    >>> document({"_id": 7, "title": "Wine", "text": "Grapes."}, "corpus.jsonl:1")
    Document(id='7', title='Wine', sections=(('', 'Grapes.'),))
    """
    names = tuple(record)
    id_key, title_key, text_key, sections_key = layout(names)
    if id_key is None or not (title_key or text_key or sections_key):
        raise InputError(
            f"there is no {'id' if id_key is None else 'text'} (fields: {listing(names)})",
            where=place,
            remedy=f"call it one of {', '.join(ID_NAMES if id_key is None else TEXT_NAMES)}",
        )
    (text_id,) = id_strings([record[id_key]], role="document", integers=True, place=lambda _: place)
    title = _string(record[title_key], place) if title_key else ""
    found = record[sections_key] if sections_key else None
    if found is not None:
        return Document(text_id, title, _sections(found, place))
    return Document.plain(text_id, _string(record[text_key], place) if text_key else "", title)


def _string(value: object, place: str) -> str:
    if isinstance(value, str):
        return value
    if is_missing(value):
        return ""
    raise InputError(f"the text {shorten(value)} is no string", where=place, remedy="put it in quotes")


def _sections(value: object, place: str) -> tuple[Section, ...]:
    if not isinstance(value, (list, tuple)):
        raise InputError(f"the sections are {shorten(value)}, not a list", where=place, remedy=_SECTIONS_REMEDY)
    return tuple(_section(part, place) for part in value)


def _section(part: object, place: str) -> Section:
    if isinstance(part, str):
        return "", part
    if isinstance(part, dict):
        part = [next((part[key] for key in keys if key in part), "") for keys in (("heading", "title"), ("text",))]
    if not isinstance(part, (list, tuple)) or len(part) != 2:
        raise InputError(f"the section {shorten(part)} is no heading with a text", where=place, remedy=_SECTIONS_REMEDY)
    return _string(part[0], place), _string(part[1], place)


class RecordFile:
    """The documents of a file, read from its beginning at each call; no two have the same id."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._state = file_state(path)
        self._unique = False

    def __call__(self) -> Iterator[Document]:
        """Read them."""
        if file_state(self._path) != self._state:
            raise InputError(
                "the file was changed since it was first read", where=str(self._path), remedy="start again"
            )
        seen: set[str] = set()
        empty = True
        for place, record in read_records(self._path):
            made = document(record, place)
            empty = False
            # Once the whole file was gone through, the ids need not be held again to know that they differ.
            if not self._unique:
                if made.id in seen:
                    raise given_twice(made.id, self._first_place(made.id), place)
                seen.add(made.id)
            yield made
        if empty:
            raise InputError("the file holds no texts", where=str(self._path), remedy="check that it is complete")
        self._unique = True

    def _first_place(self, text_id: str) -> str:
        return next(place for place, record in read_records(self._path) if document(record, place).id == text_id)


def given_twice(text_id: str, first: str, place: str) -> InputError:
    """The error for an id that two documents have."""
    return InputError(
        f"the id {shorten(text_id)} is given twice (first at {first})", where=place, remedy="give every text its own id"
    )


def read_documents(path: Path, *, stream_from: int | None = None) -> Documents:
    """The documents of a file: in memory, or streamed where it holds more than *stream_from* bytes."""
    rows = RecordFile(path)
    if stream_from is not None and unpacked_size(path) > stream_from:
        return Documents(rows, str(path), [path])
    return Documents(list(rows()), str(path), [path])
