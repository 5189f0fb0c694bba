"""Texts with ids, a corpus or queries, from JSON(L), CSV, TSV, Parquet, plain lines or a BEIR folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PurePath

from goldrank.errors import InputError, shorten
from goldrank.io.checks import id_strings, is_missing
from goldrank.io.column_names import listing, normal
from goldrank.io.files import COMPRESSIONS, PathLike, display_name, is_parquet, read_bytes
from goldrank.io.formats.delimited import split_rows
from goldrank.io.formats.json_files import decode
from goldrank.io.formats.parquet import parquet_table

ID_NAMES = ("_id", "id", "docid", "doc_id", "docno", "qid", "query_id", "pid", "corpus_id", "item_id")
TEXT_NAMES = ("text", "contents", "content", "body", "passage", "sentence", "document", "query")
# One text with its place, its id and its parts (a title and a text, or a text alone).
Row = tuple[str, object, Sequence[object]]


@dataclass(frozen=True)
class Texts:
    """Texts in the order of their file, with the ids that name them.

    >>> Texts(["a", "b"], ["one", " "], "example").empty
    1
    """

    ids: list[str]
    texts: list[str]
    source: str

    @property
    def empty(self) -> int:
        """Texts of which nothing is left without white space."""
        return sum(not text.strip() for text in self.texts)

    def __len__(self) -> int:
        return len(self.ids)


def read_texts(path: PathLike) -> Texts:
    """Read texts with ids; a title is put before its text, a blank between them.

    Records have an ``_id``, ``id`` or ``docid`` and a ``text``; tables a header with those names, or two bare
    columns id and text; a plain text file holds one text a line, whose id is the number of the line. A folder is
    a BEIR data set, and its ``corpus.jsonl`` is read. Compressed files are read as they are.
    """
    if str(path) != "-" and Path(path).is_dir():
        path = beir_file(path, "corpus.jsonl")
    name = display_name(path)
    data = read_bytes(path)
    if is_parquet(data):
        return _gather(_parquet_rows(data, name), name)
    text = data.decode()
    if text.lstrip()[:1] in ("{", "[") and _suffix(path) not in (".txt", ".csv", ".tsv"):
        return _gather(_json_rows(text, name), name)
    if _suffix(path) in (".csv", ".tsv"):
        return _gather(_table_rows(data, name, _suffix(path)[1:]), name)
    # A line of text may hold anything, so nothing but a tab and a header says that a file is no plain text.
    first = text.partition("\n")[0].split("\t")
    if len(first) > 1 and {normal(cell) for cell in first} & set(ID_NAMES):
        return _gather(_table_rows(data, name, "tsv"), name)
    lines = text.removesuffix("\n").split("\n")
    return _gather(((f"{name}:{n}", str(n), [line.rstrip("\r")]) for n, line in enumerate(lines, 1)), name)


def beir_file(folder: PathLike, *names: str) -> Path:
    """The first of *names* that the folder holds, compressed or not."""
    for name in names:
        for suffix in ("", *COMPRESSIONS):
            if (found := Path(folder) / f"{name}{suffix}").is_file():
                return found
    raise InputError(
        f"the folder holds no {' or '.join(names)}",
        where=str(folder),
        remedy="a BEIR folder holds corpus.jsonl, queries.jsonl and qrels/test.tsv; or name the files themselves",
    )


def _suffix(path: PathLike) -> str:
    name = PurePath(path)
    return (PurePath(name.stem).suffix if name.suffix in COMPRESSIONS else name.suffix).lower()


def _gather(rows: Iterable[Row], name: str) -> Texts:
    """Check the ids and join the parts of every text."""
    places, cells, texts = [], [], []
    for place, cell, parts in rows:
        places.append(place)
        cells.append(cell)
        texts.append(_joined(parts, place))
    if not cells:
        raise InputError("the file holds no texts", where=name, remedy="check that it was written completely")
    ids = id_strings(cells, role="text", integers=True, place=lambda row: places[row])
    first: dict[str, int] = {}
    for row, text_id in enumerate(ids):
        if first.setdefault(text_id, row) != row:
            raise InputError(
                f"the id {shorten(text_id)} is given twice (first at {places[first[text_id]]})",
                where=places[row],
                remedy="give every text its own id",
            )
    return Texts(ids, texts, name)


def _joined(parts: Sequence[object], place: str) -> str:
    for part in parts:
        if not isinstance(part, str) and not is_missing(part):
            raise InputError(f"the text {shorten(part)} is no string", where=place, remedy="put it in quotes")
    return " ".join(part for part in parts if isinstance(part, str) and part.strip())


def _json_rows(text: str, name: str) -> Iterator[Row]:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) > 1 and all(line.strip()[0] + line.strip()[-1] == "{}" for _, line in lines[:2]):
        for number, line in lines:
            yield _record(decode(line, name, first_line=number), f"{name}:{number}")
        return
    content = decode(text, name, first_line=1)
    if isinstance(content, dict) and not _named(content, ID_NAMES):
        for number, (key, value) in enumerate(content.items(), 1):
            place = f"{name}: entry {number}"
            yield (
                (place, key, [value])
                if isinstance(value, str)
                else _record({"_id": key, **_object(value, place)}, place)
            )
        return
    for number, record in enumerate(content if isinstance(content, list) else [content], 1):
        yield _record(record, f"{name}: record {number}")


def _object(value: object, place: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise InputError(f"{shorten(value)} is no record", where=place, remedy='write {"id": "…", "text": "…"}')
    return value


def _record(value: object, place: str) -> Row:
    record = _object(value, place)
    take = _columns(list(record), place)
    return place, *take(list(record.values()))


def _columns(names: Sequence[object], where: str) -> Callable[[Sequence[object]], tuple[object, Sequence[object]]]:
    """How to take the id and the parts of the text from a row with columns of these *names*."""
    id_at, text_at, title_at = (_named(names, wanted) for wanted in (ID_NAMES, TEXT_NAMES, ("title",)))
    if not id_at or not (text_at or title_at):
        raise InputError(
            f"there is no {'text' if id_at else 'id'} (fields: {listing(names)})",
            where=where,
            remedy=f"call it one of {', '.join(TEXT_NAMES if id_at else ID_NAMES)}",
        )
    text_columns = [at - 1 for at in (title_at, text_at) if at]
    return lambda row: (row[id_at - 1], [row[at] for at in text_columns])


def _named(names: Iterable[object], wanted: Sequence[str]) -> int:
    """The position, from 1, of the first of the *wanted* names; 0 where there is none."""
    found = [normal(name) for name in names]
    return next((found.index(name) + 1 for name in wanted if name in found), 0)


def _table_rows(data: bytes, name: str, format: str) -> Iterator[Row]:
    rows = split_rows(data, name, format)
    first_line, first = next(rows, (0, []))
    headed = _named(first, ID_NAMES) or _named(first, TEXT_NAMES) or len(first) != 2
    take = _columns(first if headed else ["id", "text"], f"{name}:{first_line}")
    for line, row in rows if headed else chain([(first_line, first)], rows):
        if len(row) != len(first):
            raise InputError(
                f"the row has {len(row)} columns, the first one has {len(first)}",
                where=f"{name}:{line}",
                remedy='put texts that hold a comma, a tab or a line break in "quotes"',
            )
        yield f"{name}:{line}", *take(row)


def _parquet_rows(data: bytes, name: str) -> Iterator[Row]:
    table = parquet_table(data, name)
    take = _columns(table.column_names, name)
    columns = [column.to_pylist() for column in table.columns]
    for number, row in enumerate(zip(*columns, strict=True), 1):
        yield f"{name}: row {number}", *take(row)
