"""Read pairs of texts: a CSV or TSV of queries and relevant items, optionally with a grade."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from goldrank.data.collections.collection import Collection, Document, Documents
from goldrank.data.collections.splits import choose_split, files_by_split, files_in, in_order, stem_and_suffix
from goldrank.errors import InputError, counts, shorten
from goldrank.io.checks import Place, parse_values
from goldrank.io.column_names import first_of, listing, normal
from goldrank.io.columns import group
from goldrank.io.files import PathLike, read_bytes
from goldrank.io.formats.delimited import split_rows

_QUERY = ("query", "question", "anchor", "sentence1", "query_text", "text1")
_ITEM = ("item", "passage", "document", "answer", "positive", "sentence2", "item_text", "text2", "text")
_GRADE = ("grade", "score", "label", "relevance", "similarity")
_QUERY_ID = ("query_id", "qid", "question_id")
_ITEM_ID = ("item_id", "doc_id", "docid", "passage_id", "pid", "document_id", "corpus_id", "answer_id")
_SUFFIXES = (".csv", ".tsv")


def matches(path: Path) -> bool:
    """Return True if this is a CSV or TSV file, or a folder with a single one or one per split."""
    return bool(_files(path))


def read(path: PathLike, split: str | None = None) -> Collection:
    """Read pairs of texts from a file, or from a folder with one file per split.

    The header names the columns: the query (or question, anchor, sentence1), the item (or passage, document, answer,
    positive, sentence2) and optionally a grade (or score, label), by default 1. Columns called negative contain further
    items. Without columns query_id and item_id, each distinct text is one query or item, numbered in order of
    appearance: q1, q2 … and d1, d2 ….
    """
    files = _files(Path(path))
    if not files:
        raise InputError(
            "this is neither a CSV or TSV file nor a folder with one per split", where=str(path), remedy="name the file"
        )
    chosen = choose_split(split, files, str(path))
    file = files[chosen]
    pairs = _read_pairs(file)

    def place(row: int) -> str:
        return f"{file}:{pairs.lines[row]}"

    values = parse_values(pairs.grades, value="grade", place=place) if pairs.grades else np.ones(len(pairs.lines))
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
    )


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


@dataclass
class _Pairs:
    queries: _Side = field(default_factory=lambda: _Side("q", "query"))
    items: _Side = field(default_factory=lambda: _Side("d", "item"))
    lines: list[int] = field(default_factory=list)
    query_of_row: list[str] = field(default_factory=list)
    item_of_row: list[str] = field(default_factory=list)
    grades: list[str] = field(default_factory=list)
    negatives: int = 0


def _read_pairs(file: Path) -> _Pairs:
    pairs = _Pairs()
    rows = split_rows(read_bytes(file), str(file), stem_and_suffix(file)[1][1:])
    first_line, first = next(rows, (1, []))
    names = [normal(cell) for cell in first]
    query, item = first_of(first, _QUERY), first_of(first, _ITEM)
    if query is None or item is None:
        raise InputError(
            f"the first line names no column of {'queries' if query is None else 'items'} (columns: {listing(first)})",
            where=f"{file}:{first_line}",
            remedy="start the file with a header: query, item and maybe grade; "
            f"known are {', '.join(_QUERY if query is None else _ITEM)}",
        )
    query_id, item_id, grade = (first_of(first, wanted) for wanted in (_QUERY_ID, _ITEM_ID, _GRADE))
    negatives = [at for at, name in enumerate(names) if name.rstrip("_0123456789") in ("negative", "negatives")]
    negative_texts: list[tuple[str, str]] = []
    for number, row in rows:
        place = f"{file}:{number}"
        pairs.lines.append(number)
        pairs.query_of_row.append(pairs.queries.add(row[query].strip(), _cell(row, query_id), place))
        pairs.item_of_row.append(pairs.items.add(row[item].strip(), _cell(row, item_id), place))
        if grade is not None:
            pairs.grades.append(row[grade].strip())
        negative_texts += [(row[at].strip(), place) for at in negatives]
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
