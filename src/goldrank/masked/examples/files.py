"""Read and write chunks as JSON Lines, plain or compressed, line by line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, TypeVar

from goldrank.data.collections.streams import lines
from goldrank.errors import InputError, counts, shorten
from goldrank.io.checks import id_strings
from goldrank.io.column_names import FURTHER, FieldRoles, listing
from goldrank.io.files import PathLike, display_name, read_bytes, write_atomically
from goldrank.io.formats.json_files import decode_text
from goldrank.masked.examples.chunks import MASK, Chunk
from goldrank.masked.predictions.rows import LARGEST

_ROLES = {
    "id": "page",
    "sequence_number": "sequence",
    "title": "title",
    "type": "type",
    "size": "size",
    "texts": "text",
    "masks": "masks",
    "answers": "answers",
}
FIELDS = tuple(_ROLES)
"""The known fields of a line; any other field is kept as a further column."""
_NEEDED = ("id", "sequence_number", "title", "texts", "masks")
# The published files repeat the text in this field.
_COPY = "input_string"
_Value = TypeVar("_Value")


def read_chunks(
    path: PathLike,
    *,
    strict: bool = True,
    on_fault: Callable[[InputError], None] | None = None,
    fields: FieldRoles | None = None,
) -> Iterator[Chunk]:
    """Yield the chunks of a JSON Lines file, plain or compressed; "-" is standard input, which is read as a whole.

    Args:
        path: One object per line: id, sequence_number, title, texts, masks, and optionally type, size, answers and
            further columns. If several answers are right, the title is a list, or an entry of ``masks`` is a list, or
            ``answers`` has a list (or null) for each mask; the last two replace the title.
        strict: Reject chunks whose number of masks differs from that in the text, or whose title has no letters.
            Otherwise such chunks are yielded as they are, for a check to count them.
        on_fault: Called with the error of each rejected line, which is then skipped; without it the error is raised.
        fields: The role of each field is added to it.
    """
    empty = True
    fields = FieldRoles() if fields is None else fields
    fields.source = display_name(path)
    for place, line in _lines(path):
        if not line.strip():
            continue
        empty = False
        try:
            chunk = _chunk(line, place, fields)
            if strict:
                _refuse_faulty(chunk, place)
        except InputError as error:
            if on_fault is None:
                raise
            on_fault(error)
        else:
            yield chunk
    if empty:
        raise InputError("the file has no chunks", where=display_name(path), remedy="check that it is complete")


def _lines(path: PathLike) -> Iterator[tuple[str, str]]:
    if str(path) == "-":
        numbered: Iterable[tuple[int, str]] = enumerate(read_bytes(path).decode().split("\n"), 1)
    else:
        numbered = lines(Path(path))
    for number, line in numbered:
        yield f"{display_name(path)}:{number}", line


def _chunk(line: str, place: str, fields: FieldRoles) -> Chunk:
    name, _, number = place.rpartition(":")
    record = decode_text(line, name, first_line=int(number))
    if not isinstance(record, dict):
        raise InputError(f"{shorten(record)} is not a chunk", where=place, remedy='write {"id": …, "texts": …, …}')
    if missing := next((field for field in _NEEDED if field not in record), None):
        raise InputError(
            f"the field '{missing}' is missing (there are {listing(list(record)) or 'none'})",
            where=place,
            remedy=f"give {', '.join(_NEEDED)}",
        )
    (page,) = id_strings([record["id"]], role="page", integers=True, place=lambda _: place)
    text = _typed(record, "texts", str, "a string", place)
    titles = record["title"]
    if isinstance(titles, list):
        titles = _answers(titles, "title", place)
        record = {**record, "title": titles[0]}
    masks, listed = _masks(record["masks"], place)
    listed = _listed_answers(record.get("answers"), listed, place)
    if isinstance(titles, tuple) and len(titles) > 1:
        listed = [answers or titles for answers in listed]
    extra = {name: value for name, value in record.items() if name not in FIELDS and (name != _COPY or value != text)}
    fields.add(record, {**_ROLES, **dict.fromkeys(extra, FURTHER)})
    return Chunk(
        page=page,
        sequence=_whole(record, "sequence_number", place),
        title=_typed(record, "title", str, "a string or a list of strings", place),
        text=text,
        masks=masks,
        kind=_typed(record, "type", str, "a string", place, "original"),
        size=_whole(record, "size", place, 0),
        extra=extra,
        answers=tuple(listed) if any(listed) else (),
    )


def _typed(
    record: Mapping[str, object], field: str, kind: type[_Value], words: str, place: str, default: _Value | None = None
) -> _Value:
    value = record.get(field, default)
    if value is None and default is not None:
        return default
    # In Python, True is an int.
    if isinstance(value, kind) and not isinstance(value, bool):
        return value
    raise InputError(f"'{field}' is {shorten(value)}, not {words}", where=place, remedy=f"write {words} there")


def _whole(record: Mapping[str, object], field: str, place: str, default: int | None = None) -> int:
    value = _typed(record, field, int, "a whole number", place, default)
    if not -LARGEST <= value <= LARGEST:
        raise InputError(f"'{field}' is {shorten(value)}", where=place, remedy="write a number of at most 18 digits")
    return value


def _masks(value: object, place: str) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the hidden text of each mask, and the right answers of those that list them."""
    remedy = "list the hidden text of each mask in text order"
    if not isinstance(value, list):
        raise InputError(f"'masks' is {shorten(value)}, not a list", where=place, remedy=remedy)
    hidden: list[str] = []
    listed: list[tuple[str, ...]] = []
    for number, entry in enumerate(value):
        answers = _answers(entry, f"mask {number}", place) if isinstance(entry, list) else ()
        text = answers[0] if answers else entry
        if not isinstance(text, str):
            raise InputError(f"mask {number} is {shorten(text)}, not a string", where=place, remedy=remedy)
        hidden.append(text)
        listed.append(answers)
    return tuple(hidden), listed


def _answers(values: Sequence[object], what: str, place: str) -> tuple[str, ...]:
    """Return the distinct right answers of a list."""
    remedy = "list at least one right answer, as non-empty strings"
    if not values:
        raise InputError(f"the list of right answers of {what} is empty", where=place, remedy=remedy)
    for value in values:
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{shorten(value)} is not an answer of {what}", where=place, remedy=remedy)
    return tuple(dict.fromkeys(map(str, values)))


def _listed_answers(value: object, listed: list[tuple[str, ...]], place: str) -> list[tuple[str, ...]]:
    """Return the right answers of each mask from the field 'answers', or else those from 'masks'."""
    if value is None:
        return listed
    if not isinstance(value, list) or len(value) != len(listed):
        raise InputError(
            f"'answers' is {shorten(value)}, not a list for each of {counts(len(listed), 'mask')}",
            where=place,
            remedy="give every mask the list of its right answers, or null",
        )
    for number, answers in enumerate(value):
        if answers is not None and not isinstance(answers, list):
            what = f"the right answers of mask {number} are {shorten(answers)}, not a list"
            raise InputError(what, where=place, remedy="give every mask the list of its right answers, or null")
    return [
        _answers(answers, f"mask {number}", place) if answers is not None else listed[number]
        for number, answers in enumerate(value)
    ]


def _refuse_faulty(chunk: Chunk, place: str) -> None:
    if not any(map(str.isalpha, chunk.title)):
        what = f"the title {shorten(chunk.title)} has no letters" if chunk.title.strip() else "the title is empty"
        raise InputError(what, where=place, remedy="give the name of the page's person")
    in_text, hidden = chunk.text.count(MASK), len(chunk.masks)
    if in_text == hidden:
        return
    numbers = f"{counts(in_text, MASK)} in the text for {hidden} in 'masks'"
    if in_text < hidden:
        what = f"a mask token is missing from the text ({numbers})"
    else:
        what = f"the text has more masks than 'masks' ({numbers})"
    raise InputError(what, where=place, remedy="correct the chunk; `goldrank masked check` lists all such chunks")


def write_chunks(chunks: Iterable[Chunk], path: PathLike) -> int:
    """Write chunks as JSON Lines atomically and return their number; the suffix selects the compression."""
    written = 0

    def write(out: BinaryIO) -> None:
        nonlocal written
        for chunk in chunks:
            out.write(_line(chunk).encode())
            written += 1

    write_atomically(path, write)
    return written


def _line(chunk: Chunk) -> str:
    answers = [listed or None for listed in chunk.answers]
    values = (chunk.page, chunk.sequence, chunk.title, chunk.kind, chunk.size, chunk.text, chunk.masks, answers)
    record = {**chunk.extra, **dict(zip(FIELDS, values, strict=True))}
    if not answers:
        del record["answers"]
    # Columns of tables may hold dates and decimals, which JSON cannot represent.
    in_order = {name: record[name] for name in (*FIELDS, *chunk.extra) if name in record}
    return json.dumps(in_order, ensure_ascii=False, default=str) + "\n"
