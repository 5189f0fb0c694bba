"""Read TREC collections: files of <DOC> documents, <top> topics and qrels in one folder."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from goldrank import io
from goldrank.data.collections.collection import Collection, Document, Documents
from goldrank.data.collections.records import DocumentReader, is_large, unique_documents
from goldrank.data.collections.splits import choose_split, in_order, split_of_name, stem_and_suffix
from goldrank.data.collections.streams import head, lines, text_encoding
from goldrank.errors import InputError, counts
from goldrank.io.columns import Columns
from goldrank.io.files import PathLike

_LOOK_AT = 64
_DOCUMENTS = re.compile(rb"<DOC[\s>]", re.IGNORECASE)
_TOPICS = re.compile(rb"<top[\s>]", re.IGNORECASE)
_START, _END = re.compile(r"<DOC(?:\s[^>]*)?>", re.IGNORECASE), re.compile(r"</DOC\s*>", re.IGNORECASE)
_NUMBER = re.compile(r"<DOCNO>(.*?)</DOCNO>", re.IGNORECASE | re.DOTALL)
_TITLE = re.compile(r"<(TITLE|HEADLINE|HEAD|HL|TI)>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_TEXT = re.compile(r"<TEXT>(.*?)(?:</TEXT>|$)", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z!?][^<>]*>")
_TOPIC = re.compile(r"<top(?:\s[^>]*)?>(.*?)</top\s*>", re.IGNORECASE | re.DOTALL)
_PART = re.compile(r"<(num|title|desc|narr)\b[^>]*>(.*?)(?=<[A-Za-z]|</\1>|$)", re.IGNORECASE | re.DOTALL)
# Labels that the topics of the first years repeat after each tag.
_LABEL = re.compile(r"^\s*(?:Number|Topic|Title|Description|Narrative)\s*:", re.IGNORECASE)


def matches(path: Path) -> bool:
    """Return True if one of the first files of the folder contains TREC documents or topics."""
    with suppress(OSError):
        return any(_kind(file) for file in islice(_files(path), _LOOK_AT))
    return False


def read(path: PathLike, split: str | None = None) -> Collection:
    """Read a folder with documents, topics and qrels, which are recognised by their content.

    A query is the title of its topic; description and narrative become its sections. The text of a document is the
    content of TEXT, or of the whole document if there is no TEXT, without tags. Documents of more than
    `records.STREAM_FROM` bytes are read from their files at each iteration.
    """
    folder = Path(path)
    kinds: dict[str, list[Path]] = {"documents": [], "topics": [], "qrels": []}
    for file in _files(folder):
        kind = "qrels" if "qrel" in str(file.relative_to(folder)).lower() else _kind(file)
        if kind:
            kinds[kind].append(file)
    for kind, files in kinds.items():
        if not files:
            raise InputError(
                f"the folder holds no {kind}",
                where=str(folder),
                remedy="a TREC collection is <DOC> documents, <top> topics and a file named qrels in one folder",
            )
    qrels = _by_split(kinds["qrels"])
    if split is None and len(qrels) > 1 and "test" not in qrels:
        raise InputError(
            "there are several qrels", where=str(folder), remedy=f"choose one as the split: {', '.join(qrels)}"
        )
    chosen = choose_split(split, qrels, str(folder))
    encodings = {file: text_encoding(file) for kind in ("documents", "topics") for file in kinds[kind]}
    gold = io.read(qrels[chosen], "gold")
    queries, remarks = _queries(kinds["topics"], encodings, gold)
    latin = [file.name for file, encoding in encodings.items() if encoding != "utf-8"]
    if latin:
        remarks.append(f"{counts(len(latin), 'file')} not in UTF-8, read as latin-1 (the first is {latin[0]})")
    reader = DocumentReader(lambda: _documents(kinds["documents"], encodings))
    return Collection(
        name=folder.resolve().name,
        items=Documents(reader if is_large(kinds["documents"]) else list(reader()), str(folder)),
        queries=queries,
        gold=gold,
        readings=tuple(filter(None, [gold.reading])),
        split=chosen,
        splits=in_order(qrels),
        source=str(folder),
        format="trec",
        remarks=remarks,
    )


def _files(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        return
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from _files(entry)
        elif entry.is_file():
            yield entry


def _by_split(files: Sequence[Path]) -> dict[str, Path]:
    """Return the qrels of each split: a single file is test, others are named by a split or by their whole name."""
    if len(files) == 1:
        return {"test": files[0]}
    stems = [re.sub(r"^qrels?[-_.]?|[-_.]?qrels?$", "", stem_and_suffix(file)[0]) for file in files]
    return {split_of_name(stem) or file.name: file for stem, file in zip(stems, files, strict=True)}


def _kind(file: Path) -> str | None:
    start = head(file, 2048)
    return "documents" if _DOCUMENTS.search(start) else "topics" if _TOPICS.search(start) else None


def _documents(files: Sequence[Path], encodings: Mapping[Path, str]) -> Iterator[tuple[str, Document]]:
    for file in files:
        for number, body in _bodies(file, encodings[file]):
            yield (place := f"{file}:{number}"), _document(body, place)


def _bodies(file: Path, encoding: str) -> Iterator[tuple[int, str]]:
    """Yield the content of each <DOC> element with the number of its first line."""
    started, body = 0, [""]
    for number, line in lines(file, encoding):
        rest = line
        while True:
            if not started:
                tag = _START.search(rest)
                if not tag:
                    break
                started, body, rest = number, [], rest[tag.end() :]
            tag = _END.search(rest)
            if not tag:
                body.append(rest)
                break
            yield started, "\n".join([*body, rest[: tag.start()]])
            started, rest = 0, rest[tag.end() :]
    if started:
        raise InputError(
            "the document has no </DOC>", where=f"{file}:{started}", remedy="check that the file was written completely"
        )


def _document(body: str, place: str) -> Document:
    number = _NUMBER.search(body)
    if number is None or not number[1].strip():
        raise InputError("the document has no <DOCNO>", where=place, remedy="give every document a number")
    title = _TITLE.search(body)
    rest = _NUMBER.sub(" ", body if title is None else f"{body[: title.start()]} {body[title.end() :]}")
    text = " ".join(_TEXT.findall(rest)) or ("" if _TEXT.search(rest) else rest)
    return Document.plain(number[1].strip(), _plain(text), _plain(title[2]) if title else "")


def _plain(text: str) -> str:
    return " ".join(html.unescape(_TAG.sub(" ", text)).split())


def _queries(files: Sequence[Path], encodings: dict[Path, str], gold: Columns) -> tuple[Documents, list[str]]:
    judged = set(gold.queries)
    placed: list[tuple[str, Document]] = []
    renumbered = 0
    for file in files:
        content = "\n".join(line for _, line in lines(file, encodings[file]))
        for topic in _TOPIC.finditer(content):
            place = f"{file}:{content.count(chr(10), 0, topic.start()) + 1}"
            query = _query(topic[1], place)
            # The number of a topic may be 051 where the qrels have 51.
            if query.id not in judged and query.id.lstrip("0") in judged:
                query = Document(query.id.lstrip("0"), query.title, query.sections)
                renumbered += 1
            placed.append((place, query))
    queries = unique_documents(placed)
    if not queries:
        raise InputError("no topic is complete", where=str(files[0]), remedy="close every <top> with </top>")
    remarks = []
    if any(query.sections for query in queries):
        remarks.append("a query is the title of its topic; description and narrative are kept and not used")
    if untitled := sum(not query.title for query in queries):
        remarks.append(f"{counts(untitled, 'topic')} without a title")
    if renumbered:
        remarks.append(f"{counts(renumbered, 'topic')} lost the leading zeros of the number, as in the qrels")
    return Documents(queries, str(files[0].parent if len(files) > 1 else files[0])), remarks


def _query(body: str, place: str) -> Document:
    parts = {part[1].lower(): _plain(_LABEL.sub("", part[2])) for part in reversed(list(_PART.finditer(body)))}
    if not parts.get("num"):
        raise InputError("the topic has no <num>", where=place, remedy="write <num> Number: 301")
    sections = [("description", parts.get("desc", "")), ("narrative", parts.get("narr", ""))]
    return Document(
        parts["num"].split()[0], parts.get("title", ""), tuple((name, text) for name, text in sections if text)
    )
