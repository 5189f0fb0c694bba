"""Read the files of LISA: documents that end with a row of stars, queries that end with a hash sign, and judgments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from goldrank.data.collections.collection import Document
from goldrank.data.collections.smart_files import (
    END_OF_FILE,
    Judgments,
    Records,
    judgments,
    plain_id,
    read_numbered,
    verbatim,
)
from goldrank.data.collections.streams import lines, text_encoding
from goldrank.errors import InputError, counts, shorten

_DOCUMENT = re.compile(r"\s*Document\s+(\d+)\s*", re.IGNORECASE)
_STARS = re.compile(r"\s*\*{10,}\s*")
_QUERY = re.compile(r"\s*Query\s+(\d+)\s*", re.IGNORECASE)
_COUNT = re.compile(r"\s*(\d{1,18})\s+Relevant\s+Refs\s*:?\s*", re.IGNORECASE)


def is_documents(start: bytes) -> bool:
    """Return True if a file with this beginning contains documents."""
    return re.match(rb"\s*Document\s+\d+[ \t]*\r?\n", start, re.IGNORECASE) is not None


def is_queries(start: bytes) -> bool:
    """Return True if a file with this beginning contains queries."""
    return re.match(rb"\s*\d+[ \t]*\r?\n.*?#[ \t]*\r?$", start, re.DOTALL | re.MULTILINE) is not None


def is_listed(start: bytes) -> bool:
    """Return True if a file with this beginning contains judgments in words (LISA.REL)."""
    return re.match(rb"\s*Query\s+\d+[ \t]*\r?\n\s*\d+\s+Relevant\s+Refs", start, re.IGNORECASE) is not None


def is_numbers(start: bytes) -> bool:
    """Return True if a file with this beginning contains judgments as numbers only (LISARJ.NUM)."""
    words = start.split()[:4]
    return len(words) > 2 and all(map(bytes.isdigit, words))


def read_documents(paths: Sequence[Path]) -> tuple[Records, list[str]]:
    """Read the documents of several files, which are parts of one collection, and return them with remarks.

    The title ends at the first blank line. Some document numbers occur twice; the first document counts.
    """
    documents: dict[str, Document] = {}
    repeated = different = unended = 0
    latin = False
    for path in paths:
        encoding = text_encoding(path)
        latin |= encoding != "utf-8"
        bodies, ended = _bodies(path, encoding)
        unended += not ended
        for text_id, body in bodies:
            document = _document(text_id, body)
            known = documents.setdefault(text_id, document)
            repeated += known is not document
            different += known != document
    remarks = []
    if repeated:
        difference = f", {different} of them with another text" if different else ", with the same text"
        remarks.append(f"{counts(repeated, 'document')} with the number of an earlier one left out{difference}")
    return Records([*documents.values()], 0, starred=False, latin=latin, unended=unended), remarks


def _bodies(path: Path, encoding: str) -> tuple[list[tuple[str, list[str]]], bool]:
    """Return the number and the lines of each document, and whether the last one is complete."""
    bodies: list[tuple[str, list[str]]] = []
    inside = False
    for number, line in lines(path, encoding):
        if inside and _STARS.fullmatch(line):
            inside = False
        elif inside:
            bodies[-1][1].append(line)
        elif mark := _DOCUMENT.fullmatch(line):
            bodies.append((plain_id(mark[1]), []))
            inside = True
        elif line.strip(END_OF_FILE).strip():
            raise InputError(
                f"{shorten(line.strip())} stands between two documents",
                where=f"{path}:{number}",
                remedy="start every document with 'Document' and its number, and end it with a row of stars",
            )
    if inside and bodies and bodies[-1][1] and not bodies[-1][1][-1].strip(END_OF_FILE).strip():
        bodies[-1][1].pop()
    return bodies, not inside


def _document(text_id: str, body: list[str]) -> Document:
    start = next((at for at, line in enumerate(body) if line.strip()), len(body))
    blank = next((at for at in range(start, len(body)) if not body[at].strip()), len(body))
    return Document.plain(text_id, verbatim(body[blank:]), verbatim(body[start:blank]))


def read_queries(path: Path) -> Records:
    """Read the queries of a file: a number, and a text that ends in a hash sign."""
    remedy = "write a number on its own line, and the text with # at its end"
    return read_numbered(path, "#", inline=True, remedy=remedy)


def read_judgments(path: Path) -> tuple[Judgments, list[str]]:
    """Read judgments in either form, and return them with remarks."""
    numbered = [(number, line.strip(END_OF_FILE)) for number, line in lines(path, text_encoding(path))]
    first = next((line for _, line in numbered if line.strip()), "")
    flat, wrong = _listed(numbered, path) if _QUERY.fullmatch(first) else (_numbers(numbered, path), 0)
    remarks = []
    if wrong:
        remarks.append(f"{counts(wrong, 'query', 'queries')} of {path.name} list another number of documents than said")
    return judgments(path, flat), remarks


def _listed(numbered: Iterable[tuple[int, str]], path: Path) -> tuple[list[tuple[int, str, str]], int]:
    """Return rows of line number, query and document, and how many queries do not list as many documents as stated."""
    flat: list[tuple[int, str, str]] = []
    announced: dict[str, int] = {}
    query: str | None = None
    for number, line in numbered:
        if mark := _QUERY.fullmatch(line):
            query = mark[1]
        elif query is not None and (mark := _COUNT.fullmatch(line)):
            announced[query] = int(mark[1])
        else:
            for token in line.split():
                if token == "-1":
                    query = None
                elif query is None or not (token.isascii() and token.isdigit()):
                    raise InputError(
                        f"{shorten(token)} is not a document of a query",
                        where=f"{path}:{number}",
                        remedy="write 'Query 1', '2 Relevant Refs:' and the numbers of the documents, ended by -1",
                    )
                else:
                    flat.append((number, query, token))
    listed: dict[str, int] = dict.fromkeys(announced, 0)
    for _, of, _ in flat:
        listed[of] = listed.get(of, 0) + 1
    return flat, sum(listed[of] != count for of, count in announced.items())


def _numbers(numbered: Iterable[tuple[int, str]], path: Path) -> list[tuple[int, str, str]]:
    """Return rows of line, query and document, from lists of a query, the number of its documents, and their ids."""
    tokens = [(number, token) for number, line in numbered for token in line.split()]
    for number, token in tokens:
        if not (token.isascii() and token.isdigit()) or len(token) > 18:
            raise InputError(
                f"{shorten(token)} is not the number of a query or document",
                where=f"{path}:{number}",
                remedy="write the query, how many documents are relevant to it, and their numbers",
            )
    flat: list[tuple[int, str, str]] = []
    at = 0
    while at < len(tokens):
        line, query = tokens[at]
        count = int(tokens[at + 1][1]) if at + 1 < len(tokens) else None
        listed = [] if count is None else tokens[at + 2 : at + 2 + count]
        if count is None or len(listed) != count:
            raise InputError(
                f"query {shorten(query)} has {len(listed)} documents where {'a number' if count is None else count} of "
                "them is said to follow",
                where=f"{path}:{line}",
                remedy="check that the file is complete",
            )
        flat += [(number, query, item) for number, item in listed]
        at += 2 + count
    return flat
