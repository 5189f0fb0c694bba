"""Read pairs of texts: a CSV or TSV of queries and relevant items, optionally with a grade."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from goldrank.data.collections.collection import Collection, Document, Documents
from goldrank.data.collections.splits import choose_split, files_by_split, files_in, in_order, stem_and_suffix
from goldrank.errors import InputError, counts, shorten
from goldrank.io.checks import Place, is_number, parse_values
from goldrank.io.column_names import describe_table, find_chosen, first_of, listing, normal
from goldrank.io.columns import group
from goldrank.io.files import PathLike, read_bytes
from goldrank.io.formats.delimited import split_rows
from goldrank.specs import Spec

OPTIONS = ("query", "item", "query_id", "item_id", "grade", "min_grade")
"""The options of ``pairs:FILE(option=value)``: the column of each role, and the lowest grade of a relevant item."""
_NAMES = {
    "query": ("query", "question", "anchor", "sentence1", "query_text", "text1"),
    "item": (
        *("item", "passage", "document", "answer", "context", "positive", "sentence2", "item_text", "text2", "text"),
    ),
    "query_id": ("query_id", "qid", "question_id"),
    "item_id": ("item_id", "doc_id", "docid", "passage_id", "pid", "document_id", "corpus_id", "answer_id"),
    "grade": ("grade", "score", "label", "relevance", "similarity"),
}
# Columns that name the relevant documents of a folder; the others do so only beside an answer or without a text.
_POINTERS = ("expected_file", "expected_files", "expected_document", "expected_doc", "expected_source", "answer_file")
_MAYBE_POINTERS = (
    *("file", "files", "filename", "file_name", "path", "source", "source_file", "url"),
    *("doc_id", "docid", "document_id", "corpus_id", "passage_id", "pid"),
)
_SUFFIXES = (".csv", ".tsv")


def matches(path: Path) -> bool:
    """Return True if this is a CSV or TSV file, or a folder with a single one or one per split."""
    return bool(_files(path))


def read(path: PathLike, split: str | None = None, options: Mapping[str, str] = MappingProxyType({})) -> Collection:
    """Read pairs of texts from a file, or from a folder with one file per split.

    The header names the columns: the query (or question, anchor, sentence1), the item (or passage, document, answer,
    positive, sentence2) and optionally a grade (or score, label), by default 1. Columns called negative contain further
    items. Without columns query_id and item_id, each distinct text is one query or item, numbered in order of
    appearance: q1, q2 … and d1, d2 ….

    A table with two plausible readings is refused: several columns that could be the query, the item or the grade; an
    answer beside a column that names a document; or sentence1, sentence2 and a score that is not a grade. *options*
    choose: the name of the column for each role, and ``min_grade``, below which a pair is judged and not relevant.
    """
    files = _files(Path(path))
    if not files:
        raise InputError(
            "this is neither a CSV or TSV file nor a folder with one per split", where=str(path), remedy="name the file"
        )
    chosen = choose_split(split, files, str(path))
    file = files[chosen]
    pairs = _read_pairs(file, options)

    def place(row: int) -> str:
        return f"{file}:{pairs.lines[row]}"

    values = parse_values(pairs.grades, value="grade", place=place) if pairs.grades else np.ones(len(pairs.lines))
    values, about_grades = _as_grades(values, pairs.columns, options, file)
    distinct, remarks = _merge_repeated(pairs, values.tolist(), place)
    if not distinct:
        raise InputError("the file holds no pairs", where=str(file), remedy="check that it was written completely")
    gold = group(
        [pairs.query_of_row[row] for row in distinct],
        [pairs.item_of_row[row] for row in distinct],
        values[distinct],
        "gold",
        source=str(file),
        place=lambda row: place(distinct[row]),
    )
    remarks += about_grades
    if pairs.negatives:
        remarks.append(f"{counts(pairs.negatives, 'negative')} added to the items, without gold")
    return Collection(
        name=stem_and_suffix(Path(path).resolve())[0],
        items=pairs.items.documents(str(file)),
        queries=pairs.queries.documents(str(file)),
        gold=gold,
        split=chosen,
        splits=in_order(files),
        source=str(path),
        format="pairs",
        remarks=remarks,
        readings=(pairs.columns.describe(file),),
    )


def _as_grades(
    values: NDArray[np.float64], columns: _PairColumns, options: Mapping[str, str], file: Path
) -> tuple[NDArray[np.float64], list[str]]:
    """Return the grades of the rows and remarks on them; scores of similar sentences are refused as grades."""
    lowest = _min_grade(options, columns, file)
    if lowest is not None:
        below = int((values < lowest).sum())
        remark = f"{counts(below, 'pair')} of {len(values)} below the grade {lowest:g}: judged, not relevant"
        return np.where(values < lowest, 0.0, values), [remark]
    if columns.grade is None or "grade" in options or not len(values):
        return values, []
    fractions = int((values != np.trunc(values)).sum())
    distinct = len(np.unique(values))
    name, span = columns.names[columns.grade], f"from {values.min():g} to {values.max():g}"
    is_score = normal(name) in ("score", "similarity") and distinct > 2
    if columns.is_symmetric and (fractions or is_score):
        texts = f"{columns.names[columns.query]} and {columns.names[columns.item]}"
        raise InputError(
            f"the table can be read in two ways: {texts} with a {name} of their similarity ({span}), or queries with "
            "graded items",
            where=str(file),
            remedy=f"-t {quote(f'sentence-pairs:{file}')} correlates a model with the {name}; "
            f"-t {_spec(file, {'min_grade': f'{np.quantile(values, 0.75):g}'})} ranks, and pairs from that {name} up "
            f"are relevant; --from-pairs {quote(str(file))} ranks the best quarter (EvalRank)",
        )
    if fractions:
        return values, [
            f"{fractions} of {counts(len(values), 'grade')} ({span}) are fractions, and any above 0 is relevant; "
            f"{_spec(file, {'min_grade': f'{np.quantile(values, 0.75):g}'})} would set a limit"
        ]
    return values, []


def _min_grade(options: Mapping[str, str], columns: _PairColumns, file: Path) -> float | None:
    if "min_grade" not in options:
        return None
    if columns.grade is None:
        raise InputError(
            f"min_grade has no effect without a column of grades (columns: {listing(columns.names)})",
            where=str(file),
            remedy="name the column with grade=NAME, or leave min_grade out",
        )
    lowest = options["min_grade"].strip()
    if not is_number(lowest) or not np.isfinite(float(lowest)):
        raise InputError(f"min_grade is {shorten(lowest)}, not a number", where=str(file), remedy="write min_grade=4")
    return float(lowest)


def _files(path: Path) -> dict[str, Path]:
    """Return the file of each split; empty if the path is something else."""
    with suppress(OSError):
        if stem_and_suffix(path)[1] in _SUFFIXES and path.is_file():
            return {"test": path}
    named = {split: files[0] for split, files in files_by_split(path, _SUFFIXES).items()}
    if not named and len(alone := files_in(path)) == 1 and stem_and_suffix(alone[0])[1] in _SUFFIXES:
        return {"test": alone[0]}
    return named


@dataclass
class _Side:
    """The queries or the items, each under its given id or a number."""

    letter: str
    role: str
    texts: dict[str, str] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)

    def add(self, text: str, given: str | None, place: str) -> str:
        """Return the id of a text, new or known."""
        if not text:
            raise InputError(f"the {self.role} is empty", where=place, remedy="give it a text, or drop the row")
        if given is None:
            text_id = self.numbers.setdefault(text, f"{self.letter}{len(self.numbers) + 1}")
            self.texts[text_id] = text
            return text_id
        if not given:
            raise InputError(f"the {self.role} id is empty", where=place, remedy="give every row one, or no column")
        if self.texts.setdefault(given, text) != text:
            raise InputError(
                f"the {self.role} {shorten(given)} has another text here than before",
                where=place,
                remedy="give every text its own id",
            )
        return given

    def documents(self, source: str) -> Documents:
        """Return all texts in the order in which they came."""
        return Documents([Document.plain(text_id, text) for text_id, text in self.texts.items()], source)


@dataclass(frozen=True)
class _PairColumns:
    """The positions of the columns of a table of pairs."""

    names: tuple[str, ...]
    query: int
    item: int
    query_id: int | None
    item_id: int | None
    grade: int | None
    negatives: tuple[int, ...]

    @classmethod
    def of(cls, header: Sequence[str], options: Mapping[str, str], file: Path, line: int) -> _PairColumns:
        """Find the columns by their names or as the *options* name them; refuse a header with two plausible readings.

        Raises:
            InputError: there is no column of queries or items, or several columns could have one role.
        """
        where = f"{file}:{line}"
        at = {role: _find_role(role, header, options, file, where) for role in _NAMES}
        query, item = at["query"], at["item"]
        pointer = _pointer(header, at["query"], at["item"])
        if query is not None and pointer is not None and not {"item", "item_id"} & options.keys():
            raise _points_to_files(header, item, pointer, file, where)
        if query is None or item is None:
            raise _without_texts("query" if query is None else "item", header, file, where)
        names = [normal(cell) for cell in header]
        negatives = [at for at, name in enumerate(names) if name.rstrip("_0123456789") in ("negative", "negatives")]
        return cls(tuple(header), query, item, at["query_id"], at["item_id"], at["grade"], tuple(negatives))

    @property
    def is_symmetric(self) -> bool:
        """Whether the texts are called alike, so that neither is a query."""
        pair = normal(self.names[self.query]), normal(self.names[self.item])
        return pair in (("sentence1", "sentence2"), ("text1", "text2"))

    def describe(self, file: Path) -> str:
        """Return the line that says what each column was read as."""
        roles = {name: getattr(self, name) for name in ("query", "item", "query_id", "item_id", "grade")}
        return describe_table(str(file), self.names, {**roles, "negatives": self.negatives or None})


def _find_role(role: str, header: Sequence[str], options: Mapping[str, str], file: Path, where: str) -> int | None:
    """Return the column of a role; raise InputError if several columns could be it."""
    if role in options:
        return find_chosen(header, role, options[role], where)
    positions = [at for at, name in enumerate(header) if normal(name) in _NAMES[role]]
    if len(positions) > 1:
        candidates = [header[at] for at in positions]
        specs = " or ".join(_spec(file, {**options, role: name}) for name in candidates)
        raise InputError(
            f"{', '.join(candidates[:-1])} and {candidates[-1]} could each be the {role.replace('_', ' ')}",
            where=where,
            remedy=f"choose one: -t {specs}",
        )
    return positions[0] if positions else None


def _without_texts(role: str, header: Sequence[str], file: Path, where: str) -> InputError:
    """Return the error for a table without a column of queries or items, with what else it may be."""
    if len(header) == 1 and ";" in header[0]:
        return InputError(
            f"the first line is a single column {shorten(header[0])}, because .csv files are separated by commas",
            where=where,
            remedy="save the table with commas, or with tabs as .tsv",
        )
    pairs, classes = _spec(file, {"query": "COLUMN", "item": "COLUMN"}), Spec("classes", str(file), {"label": "COLUMN"})
    return InputError(
        f"the first line names no column of {'queries' if role == 'query' else 'items'} (columns: {listing(header)})",
        where=where,
        remedy=f"start the file with a header: query, item and maybe grade; known are {', '.join(_NAMES[role])}; or "
        f"name the columns: -t {pairs}; of class labels: -t {quote(str(classes))}",
    )


def _pointer(header: Sequence[str], query: int | None, item: int | None) -> int | None:
    """Return the column that may name the relevant documents of a folder, so that the item is not their text."""
    unsure = item is None or normal(header[item]) == "answer"
    names = (*_POINTERS, *_MAYBE_POINTERS) if unsure else _POINTERS
    position = first_of(header, names)
    return None if position in (query, item) else position


def _points_to_files(header: Sequence[str], item: int | None, pointer: int, file: Path, where: str) -> InputError:
    folder = f"-t FOLDER --questions {quote(str(file))} if {header[pointer]} names documents of a folder"
    if item is None:
        return InputError(
            f"the first line names no column of item texts (columns: {listing(header)})", where=where, remedy=folder
        )
    spec = _spec(file, {"item": header[item]})
    return InputError(
        f"the table can be read in two ways: the texts of {header[item]} are the items to rank, or {header[pointer]} "
        "names the relevant documents",
        where=where,
        remedy=f"-t {spec} if the items are the texts of {header[item]}, {folder}",
    )


def _spec(file: Path, options: Mapping[str, str]) -> str:
    """Return the spec of a table with chosen columns, quoted for the shell."""
    return quote(str(Spec("pairs", str(file), dict(options))))


@dataclass
class _Pairs:
    columns: _PairColumns
    queries: _Side = field(default_factory=lambda: _Side("q", "query"))
    items: _Side = field(default_factory=lambda: _Side("d", "item"))
    lines: list[int] = field(default_factory=list)
    query_of_row: list[str] = field(default_factory=list)
    item_of_row: list[str] = field(default_factory=list)
    grades: list[str] = field(default_factory=list)
    negatives: int = 0


def _read_pairs(file: Path, options: Mapping[str, str]) -> _Pairs:
    rows = split_rows(read_bytes(file), str(file), stem_and_suffix(file)[1][1:])
    first_line, header = next(rows, (1, []))
    columns = _PairColumns.of(header, options, file, first_line)
    pairs = _Pairs(columns)
    negative_texts: list[tuple[str, str]] = []
    for number, row in rows:
        place = f"{file}:{number}"
        pairs.lines.append(number)
        pairs.query_of_row.append(pairs.queries.add(row[columns.query].strip(), _cell(row, columns.query_id), place))
        pairs.item_of_row.append(pairs.items.add(row[columns.item].strip(), _cell(row, columns.item_id), place))
        if columns.grade is not None:
            pairs.grades.append(row[columns.grade].strip())
        negative_texts += [(row[at].strip(), place) for at in columns.negatives]
    _add_negatives(negative_texts, pairs)
    return pairs


def _add_negatives(texts: Sequence[tuple[str, str]], pairs: _Pairs) -> None:
    """Add the texts that are relevant to no query, after all others, so that the ids of those do not change."""
    items = pairs.items
    known = set(items.texts.values())
    for text, place in texts:
        if text and text not in known:
            known.add(text)
            pairs.negatives += 1
            items.add(text, None if items.numbers else _free_id(items, pairs.negatives), place)


def _free_id(items: _Side, number: int) -> str:
    text_id = f"negative{number}"
    while text_id in items.texts:
        text_id += "+"
    return text_id


def _cell(row: Sequence[str], at: int | None) -> str | None:
    return None if at is None else row[at].strip()


def _merge_repeated(pairs: _Pairs, grades: Sequence[float], place: Place) -> tuple[list[int], list[str]]:
    """Return the rows without repeated pairs, and a remark on these; a repeated pair must have the same grade."""
    first: dict[tuple[str, str], int] = {}
    for row, pair in enumerate(zip(pairs.query_of_row, pairs.item_of_row, strict=True)):
        before = first.setdefault(pair, row)
        if grades[before] != grades[row]:
            raise InputError(
                f"the pair has the grade {grades[row]:g} here and {grades[before]:g} before (first at {place(before)})",
                where=place(row),
                remedy="keep one row per query and item",
            )
    again = len(grades) - len(first)
    return list(first.values()), [f"{counts(again, 'pair')} given again left out"] if again else []
