"""Read SMART collections: folders with files of documents, queries and judgments, such as Cranfield, CISI and TIME.

NPL and LISA, which have other field marks, are read as well. Known faults of these files are repaired, and each repair
is mentioned in the remarks of the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from goldrank.data.collections import smart_lisa, smart_npl
from goldrank.data.collections.collection import Collection, Document, Documents
from goldrank.data.collections.smart_files import (
    Judgments,
    Records,
    is_judgments,
    is_records,
    read_judgments,
    read_smart,
)
from goldrank.data.collections.splits import choose_split, files_in
from goldrank.data.collections.streams import head
from goldrank.errors import InputError, counts
from goldrank.io.files import PathLike

_QUERIES = re.compile(r"qry|que|query|queries|topic", re.IGNORECASE)
_JUDGMENTS = re.compile(r"rel", re.IGNORECASE)
_NUMBERS = re.compile(r"rj|num", re.IGNORECASE)
# The vocabulary of NPL may look like its documents.
_TERMS = re.compile(r"term|voc", re.IGNORECASE)
_HEAD = 1 << 14
# Longer numbers are not document numbers, and Python refuses to parse integers of thousands of digits.
_DIGITS = 19
# TIME had 425 documents. The copies in circulation have 423, but their judgments still count the two missing ones,
# which were somewhere after number 371 and before number 378.
_TIME_SIZE, _TIME_MISSING, _TIME_LAST_BEFORE, _TIME_FIRST_AFTER = 423, 2, 371, 378


def matches(path: Path) -> bool:
    """Return True if the folder holds a file of SMART records, or one of NPL or LISA."""
    known = (is_records, smart_npl.is_records, smart_lisa.is_documents)
    return any(is_known(start) for start in _starts(path).values() for is_known in known)


def _starts(folder: Path) -> dict[Path, bytes]:
    return {file: head(file, _HEAD) for file in files_in(folder)}


@dataclass(frozen=True)
class _Source:
    """The content of the files of a folder."""

    documents: Records
    queries: Records
    judged: Judgments
    document_file: Path
    """The folder if there are several files."""
    query_file: Path
    remarks: list[str]


def read(path: PathLike, split: str | None = None) -> Collection:
    """Read a folder of SMART files, which are recognised by their content and their usual names.

    The title is field T and the text is field W; authors, sources and references are left out. In Cranfield, as in its
    file, the text begins with the title. Grades are the numbers of the file: in Cranfield from 1, a complete answer, to
    4, and −1 for not relevant. White space inside texts is not changed.
    """
    folder = Path(path)
    choose_split(split, ("test",), str(folder))
    source = _source(folder)
    documents, queries, judged = source.documents, source.queries, source.judged
    document_file, query_file = source.document_file, source.query_file
    remarks = [*_remarks_on_records(documents, document_file), *_remarks_on_records(queries, query_file)]
    remarks += source.remarks
    query_ids, more = _query_ids(queries, judged)
    items, still_more = _item_ids(documents, judged)
    gold = judged.columns(judged.queries, items)
    numbered_queries = [
        Document(i, query.title, query.sections) for i, query in zip(query_ids, queries.documents, strict=True)
    ]
    remarks += [*more, *still_more, *_remarks_on_judgments(judged, query_ids, items, documents)]
    return Collection(
        name=folder.resolve().name,
        items=Documents(documents.documents, str(document_file)),
        queries=Documents(numbered_queries, str(query_file)),
        gold=gold,
        source=str(folder),
        format="smart",
        remarks=remarks,
    )


def _source(folder: Path) -> _Source:
    starts = _starts(folder)
    if any(map(is_records, starts.values())):
        return _smart(folder, starts)
    if any(map(smart_lisa.is_documents, starts.values())):
        return _lisa(folder, starts)
    if any(map(smart_npl.is_records, starts.values())):
        return _npl(folder, starts)
    return _smart(folder, starts)


def _smart(folder: Path, starts: Mapping[Path, bytes]) -> _Source:
    document_file, query_file, judgment_file = _files(folder, starts)
    documents, queries = read_smart(document_file), read_smart(query_file)
    judged = read_judgments(judgment_file, lists=queries.starred)
    return _Source(documents, queries, judged, document_file, query_file, [])


def _npl(folder: Path, starts: Mapping[Path, bytes]) -> _Source:
    records = [file for file, start in starts.items() if smart_npl.is_records(start) and not _TERMS.search(file.name)]
    queries = [file for file in records if _QUERIES.search(file.name)]
    documents = [file for file in records if file not in queries]
    judged = [file for file, start in starts.items() if smart_npl.is_judgments(start)]
    _refuse_missing(folder, (documents, "doc-text"), (queries, "query-text"), (judged, "rlv-ass"))
    document_file, query_file = max(documents, key=lambda file: file.stat().st_size), min(queries, key=_by_name)
    judgments = smart_npl.read_judgments(min(judged, key=_by_name))
    return _Source(
        smart_npl.read_records(document_file),
        smart_npl.read_records(query_file),
        judgments,
        document_file,
        query_file,
        [],
    )


def _lisa(folder: Path, starts: Mapping[Path, bytes]) -> _Source:
    documents = [file for file, start in starts.items() if smart_lisa.is_documents(start)]
    queries = [file for file, start in starts.items() if smart_lisa.is_queries(start)]
    numbers = [file for file, start in starts.items() if _NUMBERS.search(file.name) and smart_lisa.is_numbers(start)]
    listed = [file for file, start in starts.items() if smart_lisa.is_listed(start)]
    judged = [*sorted(numbers, key=_by_name), *sorted(listed, key=_by_name)]
    _refuse_missing(folder, (documents, "LISA0.001"), (queries, "LISA.QUE"), (judged, "LISA.REL"))
    query_file = min(queries, key=_by_name)
    records, remarks = smart_lisa.read_documents(documents)
    (judgments, more), *others = (smart_lisa.read_judgments(file) for file in judged)
    remarks += more
    for other, _ in others:
        if differing := _differing(judgments, other):
            of = counts(differing, "query", "queries")
            remarks.append(f"{other.path.name} has other judgments of {of} than {judgments.path.name}, which is used")
    return _Source(
        records,
        smart_lisa.read_queries(query_file),
        judgments,
        documents[0] if len(documents) == 1 else folder,
        query_file,
        remarks,
    )


def _differing(first: Judgments, second: Judgments) -> int:
    """Return how many queries two files judge differently."""
    pairs = set(zip(first.queries, first.items, strict=True)) ^ set(zip(second.queries, second.items, strict=True))
    return len({query for query, _ in pairs})


def _by_name(file: Path) -> tuple[int, str]:
    return len(file.name), file.name


def _refuse_missing(folder: Path, *kinds: tuple[Sequence[Path], str]) -> None:
    for (files, example), what in zip(kinds, ("documents", "queries", "judgments"), strict=True):
        if not files:
            raise InputError(
                f"the folder holds SMART files, but none of {what}",
                where=str(folder),
                remedy=f"add the file of {what}, named like {example}",
            )


def _files(folder: Path, starts: Mapping[Path, bytes]) -> tuple[Path, Path, Path]:
    """Return the files of documents, queries and judgments."""
    documents: list[Path] = []
    queries: list[Path] = []
    judgments: list[Path] = []
    for file, start in starts.items():
        if is_records(start):
            is_query = start.lstrip().startswith(b"*FIND") or _QUERIES.search(file.name)
            (queries if is_query else documents).append(file)
        elif _JUDGMENTS.search(file.name) and is_judgments(start):
            judgments.append(file)
    _refuse_missing(folder, (documents, "cran.all.1400"), (queries, "cran.qry"), (judgments, "cranqrel"))
    # TIME.REL.ALL has more judgments than TIME.REL; of other files, the one with the shortest name is chosen.
    best = min(judgments, key=lambda file: (not file.name.lower().endswith(".all"), len(file.name), file.name))
    return max(documents, key=lambda file: file.stat().st_size), min(queries, key=lambda file: len(file.name)), best


def _query_ids(queries: Records, judged: Judgments) -> tuple[list[str], list[str]]:
    """Return the ids that the judgments use for the queries, in the order of the queries, and remarks."""
    ids = [query.id for query in queries.documents]
    by_order = [str(number) for number in range(1, len(ids) + 1)]
    if set(judged.queries) <= set(ids) or not set(judged.queries) <= set(by_order):
        return ids, []
    return by_order, [
        f"the judgments count the queries from 1 to {len(ids)} in the order of their file, and so do the ids here, "
        "whatever their .I says"
    ]


def _item_ids(documents: Records, judged: Judgments) -> tuple[list[str], list[str]]:
    """Return the ids of the judged documents in the numbering of the existing documents, and remarks."""
    numbers = [int(item) if item.isdecimal() and len(item) < _DIGITS else 0 for item in judged.items]
    if not documents.starred or len(documents.documents) != _TIME_SIZE or max(numbers) <= _TIME_SIZE:
        return judged.items, []
    moved = sum(number >= _TIME_FIRST_AFTER for number in numbers)
    unsure = sum(_TIME_LAST_BEFORE < number < _TIME_FIRST_AFTER for number in numbers)
    remarks = [
        f"the judgments count {_TIME_SIZE + _TIME_MISSING} documents, of which {_TIME_MISSING} are not there: "
        f"{_TIME_MISSING} was subtracted from the document's number in {counts(moved, 'judgment')} "
        f"(from {_TIME_FIRST_AFTER} on)"
    ]
    if unsure:
        remarks.append(
            f"{counts(unsure, 'judgment')} of numbers {_TIME_LAST_BEFORE + 1} to {_TIME_FIRST_AFTER - 1} may mean "
            "a document that is not there"
        )
    return [str(n - _TIME_MISSING if n >= _TIME_FIRST_AFTER else n) for n in numbers], remarks


def _remarks_on_records(records: Records, file: Path) -> Iterator[str]:
    if records.latin:
        yield f"{file.name} is not UTF-8 and was read as latin-1"
    if records.unended:
        yield f"{file.name} ends inside of a text; it may be incomplete"
    if records.broken:
        yield f"{counts(records.broken, 'text')} of {file.name} held field marks, which were left out"
    if empty := [document.id for document in records.documents if document.is_empty]:
        shown = ", ".join(empty[:5]) + (" …" if len(empty) > 5 else "")
        yield f"{counts(len(empty), 'record')} of {file.name} without any text: {shown}"


def _remarks_on_judgments(
    judged: Judgments, query_ids: Sequence[str], items: Sequence[str], documents: Records
) -> Iterator[str]:
    name = judged.path.name
    if judged.graded:
        negative = sum(grade.startswith("-") for grade in judged.grades)
        values = sorted({float(grade) for grade in judged.grades if not grade.startswith("-")})
        if len(values) > 1:
            shown = ", ".join(f"{value:g}" for value in values)
            turned = ", though there 1 is a complete answer and 4 of least interest" if "cran" in name.lower() else ""
            yield f"the grades are the numbers of {name} as they are ({shown}){turned}"
        if negative:
            yield f"{counts(negative, 'judgment')} with a negative grade: judged, and not relevant"
    else:
        yield f"{name} gives no grades: what it lists has grade 1"
    if unjudged := len(set(query_ids) - set(judged.queries)):
        yield f"{unjudged} of {len(query_ids)} queries are not judged"
    if unknown := len(set(judged.queries) - set(query_ids)):
        yield f"{unknown} of the judged queries are not there"
    ids = {document.id for document in documents.documents}
    if outside := sum(item not in ids for item in items):
        yield f"{counts(outside, 'judgment')} of documents that are not there"
