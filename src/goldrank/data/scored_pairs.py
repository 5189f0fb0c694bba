"""Pairs of texts with the similarity that people gave them: STS, SICK, STR, word similarity, and any table of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import as_file, files
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldrank.data.collections.splits import stem_and_suffix
from goldrank.data.collections.streams import pieces
from goldrank.errors import InputError, counts, shorten
from goldrank.io.checks import is_missing, is_number, numeric_values, parse_values
from goldrank.io.column_names import listing, normal
from goldrank.io.files import without_mark
from goldrank.io.formats.delimited import split_rows
from goldrank.io.formats.json_files import decode

Level = Literal["word", "sentence"]
_TEXT_NAMES = (
    ("sentence1", "sentence2"),
    ("sentence_1", "sentence_2"),
    ("sentence_a", "sentence_b"),
    ("text1", "text2"),
    ("text_1", "text_2"),
    ("text_a", "text_b"),
    ("word1", "word2"),
    ("word_1", "word_2"),
    ("first", "second"),
    ("a", "b"),
)
_SCORE_NAMES = ("score", "relatedness_score", "similarity", "relatedness", "gold", "rating", "human_(mean)", "label")
_ID_NAMES = ("id", "_id", "pair_id", "pairid", "index")
_BARE_COLUMNS = "texts in columns 1 and 2, score in column 3"


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Pairs of words or sentences in the order of their file, the higher the score the more alike.

    >>> pairs = ScoredPairs("tiny", ("1", "2"), ("cat", "cat"), ("dog", "car"), np.array([7.0, 1.0]), level="word")
    >>> len(pairs), pairs.first[0], pairs.second[0]
    (2, 'cat', 'dog')
    """

    name: str
    ids: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]
    scores: NDArray[np.float64]
    subset: tuple[str, ...] = ()
    """The part that each pair belongs to, where parts are correlated by themselves; empty where there are none."""
    level: Level = "sentence"
    training: tuple[str, ...] = ()
    """Texts of a training split, for what has to be fitted."""
    remarks: tuple[str, ...] = ()
    source: str = ""
    columns: str = ""
    """What each column of the file was taken for, in words."""

    @property
    def oov(self) -> str:
        """What becomes of texts without a known word unless something else is asked for."""
        return "skip" if self.level == "word" else "keep"

    @cached_property
    def checksum(self) -> str:
        """A digest of everything that can change a result."""
        digest = hashlib.sha256(self.level.encode())
        digest.update(np.ascontiguousarray(self.scores, "<f8").tobytes())
        for column in (self.ids, self.first, self.second, self.subset, self.training):
            digest.update(len(column).to_bytes(8, "little"))
            for text in column:
                encoded = text.encode("utf-8", "surrogatepass")
                digest.update(len(encoded).to_bytes(8, "little") + encoded)
        return digest.hexdigest()[:16]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, eq=False)
class PairSets:
    """Several sets of pairs, each of which counts alike."""

    name: str
    sets: tuple[ScoredPairs, ...]

    @property
    def level(self) -> Level:
        """Of what the pairs are; all sets are alike in that."""
        return self.sets[0].level

    @property
    def oov(self) -> str:
        """What becomes of texts without a known word unless something else is asked for."""
        return self.sets[0].oov

    @cached_property
    def checksum(self) -> str:
        """A digest of everything that can change a result."""
        told = "\n".join(f"{one.name} {one.checksum}" for one in self.sets)
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was left out or mended, with the name of the set."""
        return tuple(f"{one.name}: {remark}" for one in self.sets for remark in one.remarks)

    def __len__(self) -> int:
        return sum(map(len, self.sets))


class PairRow(NamedTuple):
    """One pair as it was read, with the place it stands in."""

    place: str
    id: str
    first: object
    second: object
    score: object
    subset: str = ""


def read_word_similarity(path: Path, split: str | None = None) -> ScoredPairs:
    """A word-similarity file: ``word word score`` a line, parted by tabs or blanks; lines that start with # are not."""
    only_test(split, path)
    remarks: list[str] = []
    rows = []
    for number, line in enumerate(file_lines(path, remarks), 1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        cells = [cell.strip() for cell in bare.split("\t")] if "\t" in bare else bare.split()
        if len(cells) != 3:
            raise InputError(
                f"the line has {counts(len(cells), 'column')}, not two words and a score",
                where=f"{path}:{number}",
                remedy="write word, word and score, parted by tabs",
            )
        rows.append(PairRow(f"{path}:{number}", str(number), *cells))
    return gather(rows, path, remarks, "word", _BARE_COLUMNS)


def read_scored_pairs(path: Path, split: str | None = None, level: Level | None = None) -> ScoredPairs:
    """Any CSV, TSV or JSONL file with two texts and a number in every row.

    The header or the fields name them: sentence1, sentence2 and score, or text1, word1, sentence_A and the like; an
    id is taken if there is one. A table without a header has three columns, the score last. Where the *level* is not
    said, pairs are of words if no text has two.
    """
    only_test(split, path)
    remarks: list[str] = []
    text = file_text(path, remarks)
    suffix = stem_and_suffix(path)[1]
    if text.lstrip()[:1] in ("{", "[") and suffix not in (".csv", ".tsv"):
        found, columns = _records(text, path)
        return gather(found, path, remarks, level, columns)
    tabs = suffix == ".tsv" or (suffix != ".csv" and "\t" in text.partition("\n")[0])
    rows = split_rows(text.encode(), str(path), "tsv" if tabs else "csv")
    found, columns = table_rows(rows, path)
    return gather(found, path, remarks, level, columns)


def built_in_pairs(split: str | None = None) -> ScoredPairs:
    """The sentence pairs that goldrank brings along."""
    with as_file(files("goldrank") / "demo" / "pairs.tsv") as path:
        return replace(read_scored_pairs(path, split, "sentence"), name="sentence-pairs", source="built in")


def table_rows(rows: Iterator[tuple[int, list[str]]], file: Path) -> tuple[list[PairRow], str]:
    """Read the pairs of a table, whose header names the columns or which has three, the score last.

    Returns:
        The pairs, and what each column was taken for.
    """
    first_line, header = next(rows, (0, []))
    bare = len(header) == 3 and is_number(header[2])
    fields = _Fields.named(["first", "second", "score"] if bare else header, f"{file}:{first_line}")
    found = []
    for line, row in chain([(first_line, header)], rows) if bare else rows:
        place = f"{file}:{line}"
        if len(row) != len(header):
            raise InputError(
                f"the row has {counts(len(row), 'column')}, the first one has {len(header)}",
                where=place,
                remedy='put texts that hold a comma, a tab or a line break in "quotes"',
            )
        found.append(PairRow(place, *fields.take(row, str(line), place)))
    return found, _BARE_COLUMNS if bare else fields.description


def _records(text: str, file: Path) -> tuple[list[PairRow], str]:
    if text.lstrip()[0] == "[":
        content: Any = decode(text, str(file), first_line=1)
        placed = [(f"{file}: record {number}", str(number), record) for number, record in enumerate(content, 1)]
    else:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        placed = [(f"{file}:{n}", str(n), decode(line, str(file), first_line=n)) for n, line in lines]
    found, columns = [], ""
    for place, number, record in placed:
        if not isinstance(record, dict):
            raise InputError(f"{shorten(record)} is no record", where=place, remedy='write {"sentence1": "…", …}')
        fields = _Fields.named(list(record), place)
        found.append(PairRow(place, *fields.take(list(record.values()), number, place)))
        columns = columns or fields.description
    return found, columns


@dataclass(frozen=True)
class _Fields:
    """Where a row holds its two texts, its score and maybe an id."""

    names: tuple[object, ...]
    texts: tuple[int, int]
    score: int
    id: int | None

    @classmethod
    def named(cls, names: Sequence[object], where: str) -> _Fields:
        """Find them by the names of the columns."""
        found = [normal(name) for name in names]
        texts = next((pair for pair in _TEXT_NAMES if set(pair) <= set(found)), None)
        score = next((name for name in _SCORE_NAMES if name in found), None)
        if texts is None or score is None:
            wanted = ", ".join(_SCORE_NAMES) if texts else ", ".join(" and ".join(pair) for pair in _TEXT_NAMES)
            raise InputError(
                f"there {'is no score' if texts else 'are no two texts'} (columns: {listing(names)})",
                where=where,
                remedy=f"call {'it one of' if texts else 'them'} {wanted}",
            )
        id_at = next((found.index(name) for name in _ID_NAMES if name in found), None)
        return cls(tuple(names), (found.index(texts[0]), found.index(texts[1])), found.index(score), id_at)

    def take(self, row: Sequence[object], number: str, place: str) -> tuple[str, object, object, object]:
        """The id (the *number* where there is none), both texts and the score of a row."""
        given = number if self.id is None else row[self.id]
        if is_missing(given) or given == "":
            raise InputError("the id is missing", where=place, remedy="give every pair an id, or none")
        return str(given), row[self.texts[0]], row[self.texts[1]], row[self.score]

    @property
    def description(self) -> str:
        """What each column is taken for."""
        first, second = (f"{self.names[at]}" for at in self.texts)
        used = {*self.texts, self.score, self.id}
        return describe_columns(
            f"texts {first} and {second}, score {self.names[self.score]}",
            None if self.id is None else f"{self.names[self.id]}",
            [f"{name}" for at, name in enumerate(self.names) if at not in used],
        )


def describe_columns(taken: str, id_name: str | None, unused: Sequence[str]) -> str:
    """Say in words what the columns of a file were taken for.

    >>> describe_columns("texts a and b, score s", "n", ["x"])
    'texts a and b, score s, id n; not read: x'
    """
    named = taken if id_name is None else f"{taken}, id {id_name}"
    return f"{named}; not read: {', '.join(unused)}" if unused else named


def gather(rows: list[PairRow], file: Path, remarks: list[str], level: Level | None, columns: str = "") -> ScoredPairs:
    """Check the rows of a *file* and make them one set; where no *level* is said, the texts tell it."""
    where = str(file)
    if not rows:
        raise InputError("there are no pairs", where=where, remedy="check that the file was written completely")
    seen: dict[str, str] = {}
    for row in rows:
        for text in (row.first, row.second):
            if not isinstance(text, str):
                raise InputError(f"the text {shorten(text)} is no string", where=row.place, remedy="put it in quotes")
        if seen.setdefault(row.id, row.place) != row.place:
            raise InputError(
                f"the id {shorten(row.id)} is given twice (first at {seen[row.id]})",
                where=row.place,
                remedy="give every pair its own id",
            )
    first, second = (tuple(str(row[at]) for row in rows) for at in (2, 3))
    scores = _scores(rows)
    if (scores == scores[0]).all():
        raise InputError(f"all {len(rows)} scores are {scores[0]:g}", where=where, remedy="give scores that differ")
    if empty := sum(not text.strip() for text in first + second):
        remarks.append(counts(empty, "text is empty", "texts are empty"))
    words = all(len(text.split()) == 1 for text in first + second)
    subset = tuple(row.subset for row in rows) if any(row.subset for row in rows) else ()
    ids, kind = tuple(row.id for row in rows), level or ("word" if words else "sentence")
    name = file.name if file.is_dir() else stem_and_suffix(file)[0]
    return ScoredPairs(
        name, ids, first, second, scores, subset, kind, remarks=tuple(remarks), source=where, columns=columns
    )


def _scores(rows: list[PairRow]) -> NDArray[np.float64]:
    cells = [row.score for row in rows]

    def place(row: int) -> str:
        return rows[row].place

    if all(isinstance(cell, str) for cell in cells):
        return parse_values([str(cell).strip() for cell in cells], value="score", place=place)
    numbers = numeric_values(cells, value="score", place=place)
    if not np.isfinite(numbers).all():
        where = place(int(np.flatnonzero(~np.isfinite(numbers))[0]))
        raise InputError("the score is not finite", where=where, remedy="drop the pair or give it a score")
    return numbers


def file_text(file: Path, remarks: list[str]) -> str:
    """The text of a file, line breaks made alike; what had to be mended is added to the *remarks*."""
    packed = b"".join(pieces(file))
    data = without_mark(packed, str(file))
    if not data.strip():
        raise InputError("the file is empty", where=str(file), remedy="check that it was written completely")
    if (at := data.find(b"\0")) >= 0:
        line = data.count(b"\n", 0, at) + 1
        raise InputError("it holds a NUL byte, which no text does", where=f"{file}:{line}", remedy="give a text file")
    if len(data) < len(packed):
        remarks.append(f"{file.name} starts with a byte order mark, taken away")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")
        remarks.append(f"{file.name} is not UTF-8 and was read as latin-1")
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
        remarks.append(f"{file.name} ends its lines with CRLF, read as line breaks")
    return text


def file_lines(file: Path, remarks: list[str]) -> list[str]:
    """The lines of a file, blank ones too, so that they can be counted."""
    # Only the line feed ends a line: sentences may hold the other characters that str.splitlines breaks at.
    return file_text(file, remarks).removesuffix("\n").split("\n")


def only_test(split: str | None, path: Path) -> None:
    """Raise for any other split than the one there is."""
    if split not in (None, "test"):
        raise InputError(f"there is no split {split!r}", where=str(path), remedy="these pairs have one split, test")
