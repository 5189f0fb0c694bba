"""Documents from records: JSON Lines, JSON, Parquet, CSV or TSV with an id, a title, and a text or sections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

from goldrank.data.collections.collection import Document, Documents, Section
from goldrank.data.collections.splits import stem_and_suffix
from goldrank.data.collections.streams import Source, head, lines, opened, unpacked_size
from goldrank.errors import InputError, shorten
from goldrank.io.checks import find_duplicate, id_strings, is_missing
from goldrank.io.column_names import describe_table, first_of, listing
from goldrank.io.compression import COMPRESSIONS
from goldrank.io.files import is_parquet, read_bytes
from goldrank.io.fingerprints import file_state
from goldrank.io.formats.delimited import table_records
from goldrank.io.formats.json_files import decode_text
from goldrank.io.formats.parquet import load_pyarrow, parquet_faults
from goldrank.io.metadata import metadata_fields

ID_NAMES = ("_id", "id", "docid", "doc_id", "docno", "qid", "query_id", "pid", "corpus_id", "item_id")
TEXT_NAMES = ("text", "contents", "content", "body", "passage", "sentence", "document", "query", "question")
STREAM_FROM = 1 << 26
"""Documents of at least this number of bytes are streamed instead of held in memory."""
DOCUMENT_SUFFIXES = (
    ".parquet",
    ".pq",
    *(f"{suffix}{compression}" for suffix in (".jsonl", ".ndjson") for compression in ("", *COMPRESSIONS)),
)
"""The suffixes of files that may be shards of a corpus."""

Record = Mapping[str, object]
PlacedRecord = tuple[str, Record]
_SECTIONS_REMEDY = 'write [["heading", "text"], …]'


def read_records(path: Source) -> Iterator[PlacedRecord]:
    """Yield each record of a file with its place; JSON Lines and Parquet are streamed, others read whole."""
    start = head(path).removeprefix(b"\xef\xbb\xbf").lstrip()
    suffix = stem_and_suffix(path)[1] if isinstance(path, Path) else ""
    if suffix in (".csv", ".tsv"):
        yield from table_records(read_bytes(path), str(path), suffix[1:])
    elif is_parquet(start):
        with parquet_file(path) as file:
            rows = (record for batch in file.iter_batches(1024) for record in batch.to_pylist())
            yield from placed_rows(rows, str(path))
    elif start[:1] == b"[" or _is_spread(start):
        text = read_bytes(path).decode() if isinstance(path, Path) else "\n".join(line for _, line in lines(path))
        yield from parse_json(text, str(path))
    else:
        yield from parse_json_lines(lines(path), str(path))


def placed_rows(rows: Iterable[Record], name: str) -> Iterator[PlacedRecord]:
    """Yield the rows of a table with their places, counted from 1."""
    for number, record in enumerate(rows, 1):
        yield f"{name}: row {number}", record


def _is_spread(start: bytes) -> bool:
    """Return True if a JSON object continues after the first line, so that lines are not records."""
    first, end, _ = start.partition(b"\n")
    return bool(end) and first[:1] == b"{" and not first.rstrip().endswith(b"}")


def parse_json_lines(numbered: Iterable[tuple[int, str]], name: str) -> Iterator[PlacedRecord]:
    """Yield the record of each line that is not blank."""
    for number, line in numbered:
        if line and not line.isspace():
            place = f"{name}:{number}"
            yield place, _record(decode_text(line, name, first_line=number), place)


def parse_json(text: str, name: str) -> Iterator[PlacedRecord]:
    """Yield the records of a JSON text: a list of them, a single one, or an object of ids with texts or records."""
    content = decode_text(text, name, first_line=1)
    if isinstance(content, dict) and find_keys(tuple(content)).id is None:
        content = [
            {"id": key, **({"text": value} if isinstance(value, str) else _record(value, f"{name}: {shorten(key)}"))}
            for key, value in content.items()
        ]
    for number, value in enumerate(content if isinstance(content, list) else [content], 1):
        yield (place := f"{name}: record {number}"), _record(value, place)


def _record(value: object, place: str) -> Record:
    if not isinstance(value, dict):
        raise InputError(f"{shorten(value)} is not a record", where=place, remedy='write {"id": "…", "text": "…"}')
    return value


@contextmanager
def parquet_file(path: Source) -> Iterator[Any]:
    """Open a Parquet file; any fault of it raises InputError."""
    _, parquet = load_pyarrow()
    with parquet_faults(str(path)), opened(path) as stream:
        yield parquet.ParquetFile(stream)


@dataclass(frozen=True)
class RecordKeys:
    """The keys of a record for its id, title, text and sections; None for those that it does not have."""

    id: str | None
    title: str | None
    text: str | None
    sections: str | None


@lru_cache(maxsize=256)
def find_keys(names: tuple[str, ...]) -> RecordKeys:
    """Return the keys of a document in a record with these *names*.

    >>> find_keys(("_id", "Title", "contents"))
    RecordKeys(id='_id', title='Title', text='contents', sections=None)
    """

    def first(wanted: Sequence[str]) -> str | None:
        position = first_of(names, wanted)
        return None if position is None else names[position]

    return RecordKeys(first(ID_NAMES), first(("title",)), first(TEXT_NAMES), first(("sections",)))


def describe_records(source: str, names: Sequence[str], further: Sequence[str] = (), **roles: int | None) -> str:
    """Return the line that says what the fields of documents were read as; *roles* are those of other fields.

    *further* are the fields that are kept with the documents.

    >>> describe_records("corpus.jsonl", ["_id", "title", "text", "metadata"])
    'corpus.jsonl: id = _id, title = title, text = text; ignored: metadata'
    """
    keys = find_keys(tuple(names))
    columns = {"id": keys.id, "title": keys.title, "text": keys.text, "sections": keys.sections}
    positions = {role: None if name is None else list(names).index(name) for role, name in columns.items()}
    return describe_table(source, names, {**positions, **roles}, [list(names).index(name) for name in further])


def require_keys(names: tuple[str, ...], place: str) -> RecordKeys:
    """Return the keys of a document; raise InputError for a record without an id or without any text."""
    keys = find_keys(names)
    if keys.id is None or not (keys.title or keys.text or keys.sections):
        raise InputError(
            f"there is no {'id' if keys.id is None else 'text'} (fields: {listing(names)})",
            where=place,
            remedy=f"call it one of {', '.join(ID_NAMES if keys.id is None else TEXT_NAMES)}",
        )
    return keys


def parse_document(record: Record, place: str) -> Document:
    """Return the document of a record; a text that is null becomes empty.

    >>> parse_document({"_id": 7, "title": "Wine", "text": "Grapes."}, "corpus.jsonl:1")
    Document(id='7', title='Wine', sections=(('', 'Grapes.'),))
    """
    keys = require_keys(tuple(record), place)
    value = record[keys.id or ""]
    if type(value) is str and value and value.isascii():
        text_id: str = value
    else:
        (text_id,) = id_strings([value], role="document", integers=True, place=lambda _: place)
    title = _string(record[keys.title], place) if keys.title else ""
    sections = record[keys.sections] if keys.sections else None
    if sections is not None:
        return Document(text_id, title, _sections(sections, place))
    text = _string(record[keys.text], place) if keys.text else ""
    return Document(text_id, title, (("", text),) if text else ())


def parse_query(record: Record, place: str) -> Document:
    """Return the query of a record with its further fields, by which results can be split.

    >>> parse_query({"_id": 7, "text": "Grapes?", "language": "en"}, "queries.jsonl:1").further
    (('language', 'en'),)
    """
    further = metadata_fields(record, without=_document_fields(record))
    return replace(parse_document(record, place), further=tuple(further.items()))


def further_names(record: Record) -> list[str]:
    """Return the fields of a query that `parse_query` keeps as further ones."""
    others = [name for name in record if name not in _document_fields(record)]
    return [name for name in others if metadata_fields({name: record[name]})]


def _document_fields(record: Record) -> set[str | None]:
    keys = find_keys(tuple(record))
    return {keys.id, keys.title, keys.text, keys.sections}


def _string(value: object, place: str) -> str:
    if isinstance(value, str):
        return value
    if is_missing(value):
        return ""
    raise InputError(f"the text {shorten(value)} is not a string", where=place, remedy="put it in quotes")


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
        raise InputError(
            f"the section {shorten(part)} is not a heading with a text", where=place, remedy=_SECTIONS_REMEDY
        )
    return _string(part[0], place), _string(part[1], place)


class DocumentReader:
    """Read documents from the beginning at each call, and refuse repeated ids.

    Args:
        read: Yields the documents with their places.
    """

    def __init__(self, read: Callable[[], Iterable[tuple[str, Document]]]) -> None:
        self._read = read
        self._unique = False

    def __call__(self) -> Iterator[Document]:
        """Yield the documents."""
        seen: set[str] = set()
        for place, document in self._read():
            # After all documents were read once, their ids are known to be unique.
            if not self._unique:
                if document.id in seen:
                    # The places of millions of documents are not held in memory, so the first one is searched for.
                    raise given_twice(
                        document.id, next(first for first, other in self._read() if other.id == document.id), place
                    )
                seen.add(document.id)
            yield document
        self._unique = True


def unique_documents(placed: Sequence[tuple[str, Document]]) -> list[Document]:
    """Return documents that are given with their places, and refuse repeated ids."""
    if duplicate := find_duplicate([document.id for _, document in placed]):
        (first, _), (again, document) = (placed[at] for at in duplicate)
        raise given_twice(document.id, first, again)
    return [document for _, document in placed]


def given_twice(text_id: str, first: str, place: str) -> InputError:
    """Return the error for an id that two texts have."""
    return InputError(
        f"the id {shorten(text_id)} is given twice (first at {first})", where=place, remedy="give every text its own id"
    )


def is_large(files: Iterable[Path]) -> bool:
    """Return True if *files* hold more than `STREAM_FROM` bytes."""
    return sum(map(unpacked_size, files)) > STREAM_FROM


def read_documents(path: Path, *, may_stream: bool = False, queries: bool = False) -> Documents:
    """Return the documents of a file of records; those of a large file are streamed if *may_stream* is set.

    *queries* keep their further fields.
    """
    state, parse = file_state(path), parse_query if queries else parse_document

    def read() -> Iterator[tuple[str, Document]]:
        if file_state(path) != state:
            raise InputError("the file was changed since it was first read", where=str(path), remedy="start again")
        empty = True
        for place, record in read_records(path):
            empty = False
            yield place, parse(record, place)
        if empty:
            raise InputError("the file holds no texts", where=str(path), remedy="check that it is complete")

    reader = DocumentReader(read)
    return Documents(reader if may_stream and is_large([path]) else list(reader()), str(path), [path])


def describe_file(path: Path, *, queries: bool = False) -> str:
    """Return the line that says what the fields of the first record of a file were read as."""
    _, record = next(read_records(path), ("", None))
    if record is None:
        return ""
    return describe_records(str(path), list(record), further_names(record) if queries else ())


def count_documents(path: str) -> int:
    """Return how many documents a file holds; of Parquet only the footer is read."""
    if is_parquet_name(path):
        with parquet_file(path) as file:
            return int(file.metadata.num_rows)
    return sum(1 for _ in read_records(path))


def documents_between(path: str, start: int, stop: int) -> Iterator[Document]:
    """Yield the documents *start* to *stop* of a file: of Parquet by row groups, of JSON Lines from its beginning."""
    records = _parquet_rows(path, start, stop) if is_parquet_name(path) else islice(read_records(path), start, stop)
    for place, record in records:
        yield parse_document(record, place)


def is_parquet_name(path: str) -> bool:
    """Return True if the name of a file ends like that of a Parquet file."""
    return PurePath(path.partition("?")[0]).suffix.lower() in (".parquet", ".pq")


def _parquet_rows(path: str, start: int, stop: int) -> Iterator[PlacedRecord]:
    with parquet_file(path) as file:
        before = 0
        for group in range(file.num_row_groups):
            count = file.metadata.row_group(group).num_rows
            low, high = max(start - before, 0), min(stop - before, count)
            if low < high:
                rows = file.read_row_group(group).slice(low, high - low).to_pylist()
                for number, record in enumerate(rows, before + low + 1):
                    yield f"{path}: row {number}", record
            before += count
