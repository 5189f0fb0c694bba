"""Read a table of questions with the files that answer them, as queries and gold for a folder of documents."""

from __future__ import annotations

import ast
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from shlex import quote

import numpy as np

from goldrank.data.collections.collection import Document, Documents
from goldrank.data.collections.splits import stem_and_suffix
from goldrank.data.collections.tables import RecordTable, read_table
from goldrank.errors import InputError, UnknownNameError, counts, shorten, similar_names, unknown_name
from goldrank.io.checks import is_missing, is_number
from goldrank.io.column_names import describe_table, listing, normal
from goldrank.io.columns import Columns, group
from goldrank.io.metadata import metadata_fields
from goldrank.specs import Spec, parse_options, split_options

QUERY_NAMES = ("question", "query", "question_text", "query_text", "user_input", "prompt", "anchor", "text")
ITEM_NAMES = (
    *("expected_file", "expected_files", "answer_file", "answer_files", "source_file", "relevant_file", "gold_file"),
    *("relevant_files", "file", "files", "filename", "file_name", "file_path", "path", "expected", "expected_source"),
    *("expected_doc", "expected_document", "expected_documents", "source", "sources", "doc_id", "docid", "document_id"),
    *("document", "documents", "doc", "docs", "item", "item_id", "corpus_id", "positive", "positives", "context"),
    *("contexts", "gold", "relevant", "id", "_id"),
)
GRADE_NAMES = ("grade", "relevance", "rel", "label", "score")
ID_NAMES = ("query_id", "qid", "question_id", "id", "_id")
# These names are used only if the table has no column with another name of the same list.
_WEAK = ("text", "id", "_id")
_IN_MEMORY = "TABLE"
_SEPARATORS = (";", "|", "\n", ",")
_OPTIONS = ("query", "items", "grade", "id", "sheet")


@dataclass(frozen=True)
class QuestionTable:
    """A table, and the columns that the user chose by their names."""

    table: RecordTable
    chosen: Mapping[str, str]
    written: str
    """The table as the user wrote it, without options, for messages."""

    @classmethod
    def open(cls, source: object) -> QuestionTable:
        """Read the table of a path, ``PATH(query=COLUMN, items=COLUMN, grade=COLUMN, id=COLUMN, sheet=NAME)`` or rows.

        >>> QuestionTable.open([{"question": "How?", "expected_file": "a.md"}]).query
        'question'
        """
        chosen: dict[str, str] = {}
        written = _IN_MEMORY
        if isinstance(source, (str, Path)):
            written = str(source)
            path, options = split_options(written)
            if options and not Path(written).exists():
                chosen = parse_options(options, written)
                source = written = path
            for name in chosen:
                if name not in _OPTIONS:
                    raise unknown_name("option of --questions", name, _OPTIONS, f"one of {', '.join(_OPTIONS)}")
        opened = cls(read_table(source, chosen.get("sheet")), chosen, written)
        opened.query  # noqa: B018 - refuse a table without questions before the documents are read
        return opened

    @property
    def query(self) -> str:
        """The name of the column of questions."""
        candidates = self.candidates("query", QUERY_NAMES)
        if len(candidates) > 1:
            raise self.ambiguous("query", candidates, "hold the questions")
        if not candidates:
            raise self._missing("query", "hold the questions", "question")
        return candidates[0]

    def candidates(self, role: str, known: Sequence[str], without: Sequence[str] = ()) -> list[str]:
        """Return the columns that can have a role: the one that the user chose, or those with a *known* name."""
        if role in self.chosen:
            if self.chosen[role] not in self.table.names:
                raise InputError(
                    f"there is no column {shorten(self.chosen[role])} (columns: {listing(self.table.names)})",
                    where=self.table.source,
                    remedy=f"name the column for {role}= as it is written in the table",
                )
            return [self.chosen[role]]
        used = {*without, *(self.chosen[other] for other in self.chosen if other != "sheet")}
        named = [(normal(name), name) for name in self.table.names if name not in used]
        matching = [name for plain, name in named if plain in known and plain not in _WEAK]
        return matching or [name for weak in _WEAK for plain, name in named if plain == weak and weak in known][:1]

    def ambiguous(self, role: str, candidates: Sequence[str], what: str) -> InputError:
        """Return the error for two columns that can both have a role."""
        ways = " or ".join(f'--questions "{self.written}({role}={name})"' for name in candidates[:2])
        return InputError(
            f"{len(candidates)} columns can {what}: {listing(candidates)}",
            where=self.table.source,
            remedy=f"choose one: {ways}",
        )

    def other_readings(self, items: str) -> str:
        """Return the options for a table whose column *items* does not hold names of documents."""
        if self.written == _IN_MEMORY:
            return "call the column with the names of the files expected_file"
        other = f'name the column of the files with --questions "{self.written}(items=COLUMN)"'
        if stem_and_suffix(Path(self.written))[1] not in (".csv", ".tsv"):
            return other
        pairs = quote(str(Spec("pairs", self.written, {"query": self.query, "item": items})))
        return f"{other}, or write -t {pairs} if {items} holds texts to rank"

    def _missing(self, role: str, what: str, usual: str) -> InputError:
        return InputError(
            f"no column is known to {what} (columns: {listing(self.table.names)})",
            where=self.table.source,
            remedy=f'call it {usual}, or name it: --questions "{self.written}({role}=COLUMN)"',
        )

    def item_candidates(self) -> list[str]:
        """Return the columns that can name the files; at least one."""
        candidates = self.candidates("items", ITEM_NAMES, [self.query])
        if not candidates:
            raise self._missing("items", "name the files", "expected_file")
        return candidates

    def single(self, role: str, known: Sequence[str], without: Sequence[str]) -> str | None:
        """Return the column of a role that need not be there; refuse several columns that do not agree."""
        candidates = self.candidates(role, known, without)
        cells = [[str(record.get(name)) for _, record in self.table.rows] for name in candidates]
        if any(others != cells[0] for others in cells[1:]):
            raise self.ambiguous(role, candidates, f"be the {role}")
        return candidates[0] if candidates else None


class NameMatcher:
    """Finds the document that a name in a table means.

    A name is the path of the document in its folder, the last parts of that path, or either of them without suffix,
    in any case and with either kind of slash; the name of the folder itself may stand before it.

    >>> names = NameMatcher(Path("docs"), ["guide/install.md", "faq.md"])
    >>> [names.find(name) for name in ("guide\\\\Install.md", "install", "docs/faq.md", "pricing.md")]
    [['guide/install.md'], ['guide/install.md'], ['faq.md'], []]
    """

    def __init__(self, folder: Path, ids: Sequence[str]) -> None:
        self.ids = ids
        self._exact = {unicodedata.normalize("NFC", name): name for name in ids}
        # By path and its last parts; names with suffix and without are apart, because the former are more certain.
        self._tails: tuple[dict[str, list[str]], dict[str, list[str]]] = ({}, {})
        for name in ids:
            path = PurePosixPath(_plain(name))
            for tails, whole in zip(self._tails, (path, path.with_suffix("")), strict=True):
                for start in range(len(whole.parts)):
                    tails.setdefault("/".join(whole.parts[start:]), []).append(name)
        self._folders = sorted(
            {_plain(place.as_posix()) for place in (folder, folder.absolute(), folder.resolve())}
            | {_plain(folder.resolve().name)},
            key=len,
            reverse=True,
        )

    def find(self, name: str) -> list[str]:
        """Return the ids that a name can mean: none, one, or several."""
        exact = unicodedata.normalize("NFC", name.replace("\\", "/").removeprefix("./"))
        if exact in self._exact:
            return [self._exact[exact]]
        plain = _plain(name)
        forms = [plain]
        forms += [plain.removeprefix(f"{place}/") for place in self._folders if plain.startswith(f"{place}/")]
        for tails in self._tails:
            for form in forms:
                if form in tails:
                    whole = [match for match in tails[form] if _plain(match) == form]
                    return whole or tails[form]
        return []


def _plain(name: str) -> str:
    """Return a path in the form in which paths are compared."""
    return unicodedata.normalize("NFC", name.replace("\\", "/").removeprefix("./").strip("/ ")).casefold()


@dataclass(frozen=True)
class Questions:
    """The queries and the gold of a table, and what users are told of it."""

    queries: Documents
    gold: Columns
    reading: str
    """The line that says what each column was read as."""
    remarks: list[str]


@dataclass
class _Rows:
    """The judged pairs of a table, with their places."""

    texts: dict[str, str] = field(default_factory=dict)
    """The text of each query by id."""
    numbers: dict[str, str] = field(default_factory=dict)
    """The id of each text, if the table has no ids."""
    pairs: dict[tuple[str, str], tuple[float, str]] = field(default_factory=dict)
    repeated: int = 0
    further: dict[str, dict[str, str]] = field(default_factory=dict)
    """The further columns of each query, by which results can be split."""

    def query(self, text: str, given: str | None, place: str) -> str:
        if given is None:
            given = self.numbers.setdefault(text, f"q{len(self.numbers) + 1}")
        if self.texts.setdefault(given, text) != text:
            raise InputError(
                f"the question {shorten(given)} has another text here than before",
                where=place,
                remedy="give every question its own id",
            )
        return given

    def add(self, query: str, item: str, grade: float, place: str) -> None:
        before = self.pairs.setdefault((query, item), (grade, place))
        if before[0] != grade:
            raise InputError(
                f"{shorten(item)} has the grade {grade:g} here and {before[0]:g} before (first at {before[1]})",
                where=place,
                remedy="keep one row per question and file",
            )
        self.repeated += before[1] != place


def read_questions(source: QuestionTable, folder: Path, ids: Sequence[str], left_out: Mapping[str, str]) -> Questions:
    """Return queries and gold of a table of questions for the documents *ids* of a folder.

    Args:
        source: The table.
        folder: The folder of the documents.
        ids: The ids of the documents, which are paths in the folder.
        left_out: The documents that could not be read, with the reasons.
    """
    names = NameMatcher(folder, ids)
    table, query = source.table, source.query
    items = _item_column(source, names)
    grade = source.single("grade", GRADE_NAMES, [query, items])
    query_id = source.single("id", ID_NAMES, [query, items, *([grade] if grade else [])])
    rows, blank, problems = _Rows(), 0, list[InputError]()
    without_file: list[str] = []
    for place, record in table.rows:
        if all(_is_blank(cell) for cell in record.values()):
            blank += 1
            continue
        cell = record.get(query)
        if not isinstance(cell, str) or not cell.strip():
            raise InputError("the question is empty", where=place, remedy="write a question, or delete the row")
        if _is_blank(record.get(items)):
            without_file.append(place)
            continue
        given = None if query_id is None else _text(record.get(query_id), "id", place)
        name = rows.query(cell.strip(), given, place)
        # A question with several rows has the fields of its first one.
        rows.further.setdefault(name, metadata_fields(record, without=(query, items, grade, query_id)))
        files = split_names(record.get(items), names)
        grades = _grades(record, items, grade, len(files), place)
        for file, value in zip(files, grades, strict=True):
            matches = names.find(file)
            if len(matches) == 1:
                rows.add(name, matches[0], value, place)
            else:
                problems.append(_unmatched(file, matches, names, left_out, place, source.other_readings(items)))
    if without_file:
        shown = ", ".join(place.rpartition(":")[2].strip() for place in without_file[:5])
        raise InputError(
            f"{counts(len(without_file), 'question')} without a file in the column {items} (line {shown})",
            where=table.source,
            remedy="name the file that answers each question, or delete the rows",
        )
    if problems:
        first = problems[0]
        more = f" (and {counts(len(problems) - 1, 'more name')} like it)" if len(problems) > 1 else ""
        raise type(first)(f"{first.what}{more}", where=first.where, remedy=first.remedy)
    if not rows.pairs:
        raise InputError("the table holds no questions", where=table.source, remedy="check that it is complete")
    columns = {"query": query, "items": items, "grade": grade, "id": query_id}
    positions = {role: None if name is None else table.names.index(name) for role, name in columns.items()}
    queries = [
        replace(Document.plain(name, text), further=tuple(rows.further.get(name, {}).items()))
        for name, text in rows.texts.items()
    ]
    used = {name.partition(".")[0] for fields in rows.further.values() for name in fields}
    further = [at for at, name in enumerate(table.names) if name in used]
    return Questions(
        Documents(queries, table.source),
        _gold(rows, table),
        describe_table(table.source, table.names, positions, further),
        [*table.remarks, *_row_remarks(rows, blank)],
    )


def _gold(rows: _Rows, table: RecordTable) -> Columns:
    pairs = list(rows.pairs)
    places = [place for _, place in rows.pairs.values()]
    return group(
        [query for query, _ in pairs],
        [item for _, item in pairs],
        np.array([grade for grade, _ in rows.pairs.values()], np.float64),
        "gold",
        source=table.source,
        place=places.__getitem__,
    )


def _row_remarks(rows: _Rows, blank: int) -> Iterator[str]:
    if blank:
        yield f"{counts(blank, 'blank row')} of the questions left out"
    if rows.repeated:
        yield f"{counts(rows.repeated, 'pair')} of a question and a file given again left out"


def _item_column(source: QuestionTable, names: NameMatcher) -> str:
    """Return the column that names the files: of several with a usual name the one whose cells are names of files."""
    candidates = source.item_candidates()
    if len(candidates) == 1:
        return candidates[0]
    meanings = {name: [_meant(record.get(name), names) for _, record in source.table.rows] for name in candidates}
    plausible = [name for name in candidates if any(meanings[name])]
    if len(plausible) > 1 and any(meanings[name] != meanings[plausible[0]] for name in plausible):
        raise source.ambiguous("items", plausible, "name the files")
    return (plausible or candidates)[0]


def _meant(cell: object, names: NameMatcher) -> list[str]:
    """Return the documents that a cell names; empty if a name matches none or several."""
    matches = [names.find(name) for name in split_names(cell, names)]
    return sorted(match[0] for match in matches) if all(len(match) == 1 for match in matches) else []


def split_names(cell: object, names: NameMatcher) -> list[str]:
    """Return the names in a cell: a list, a text that is one name, a JSON list, or names between ; | , or line breaks.

    A separator is used only where the whole cell is not the name of a document, which may itself hold one.
    """
    if isinstance(cell, Mapping):
        return [str(name).strip() for name in cell]
    if isinstance(cell, (list, tuple, set)) or hasattr(cell, "tolist"):
        values = cell.tolist() if hasattr(cell, "tolist") else cell
        return [str(name).strip() for name in (values if isinstance(values, (list, tuple, set)) else [values])]
    if _is_blank(cell):
        return []
    text = str(cell).strip()
    if names.find(text):
        return [text]
    if text[:1] + text[-1:] == "[]" and (listed := _parse_list(text)) is not None:
        return listed
    by_separator = [
        [part for piece in text.split(mark) if (part := piece.strip().strip("\"'"))]
        for mark in _SEPARATORS
        if mark in text
    ]
    complete = [parts for parts in by_separator if parts and all(names.find(part) for part in parts)]
    return next((parts for parts in (*complete, *by_separator) if parts), [text])


def _parse_list(text: str) -> list[str] | None:
    """Return a list of texts that is written as JSON or as Python; None for anything else."""
    for parse in (json.loads, ast.literal_eval):
        try:
            values = parse(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(values, list) and all(isinstance(value, (str, int)) for value in values):
            return [str(value).strip() for value in values]
    return None


def _unmatched(
    name: str, matches: Sequence[str], names: NameMatcher, left_out: Mapping[str, str], place: str, remedy: str
) -> InputError:
    """Return the error for a name that matches no document, or several; *remedy* is for one like no document."""
    if matches:
        return InputError(
            f"{shorten(name)} can be {' or '.join(map(repr, matches[:3]))}",
            where=place,
            remedy="write the path in the folder",
        )
    for unreadable, reason in left_out.items():
        if _plain(unreadable).endswith(_plain(name)):
            return InputError(
                f"{unreadable} is the answer but was left out: {reason}",
                where=place,
                remedy="repair the file, or delete the row",
            )
    near = {PurePosixPath(other).name.lower(): other for other in names.ids}
    known = dict.fromkeys([*near, *(other.lower() for other in names.ids)])
    has = f"the folder has {counts(len(names.ids), 'document')}"
    if similar_names(name, known):
        return unknown_name("document", name, known, has, where=place)
    return UnknownNameError(
        f"there is no document {shorten(name)} ({has}, such as {shorten(names.ids[0])})", where=place, remedy=remedy
    )


def _grades(record: Mapping[str, object], items: str, grade: str | None, count: int, place: str) -> list[float]:
    """Return the grade of each file of a row: from the cell itself if it maps files to grades, or the grade column."""
    cell = record.get(items)
    values: Sequence[object]
    if isinstance(cell, Mapping):
        values = list(cell.values())
    elif grade is None:
        return [1.0] * count
    else:
        given = record.get(grade)
        values = given if isinstance(given, (list, tuple)) else re.split(r"[;|,]", str(given))
        values = list(values) * count if len(values) == 1 else values
    if len(values) != count:
        raise InputError(
            f"there are {counts(count, 'file')} and {counts(len(values), 'grade')}",
            where=place,
            remedy="give one grade for all files, or one for each",
        )
    for value in values:
        if isinstance(value, bool) or not is_number(str(value)):
            raise InputError(
                f"the grade {shorten(value)} is not a number",
                where=place,
                remedy="write a number, or choose another column for grade=",
            )
    return [float(str(value)) for value in values]


def _is_blank(cell: object) -> bool:
    return is_missing(cell) or (isinstance(cell, str) and not cell.strip())


def _text(cell: object, role: str, place: str) -> str:
    text = "" if _is_blank(cell) else str(cell).strip()
    if not text:
        raise InputError(f"the {role} is empty", where=place, remedy=f"give every row an {role}")
    return text
