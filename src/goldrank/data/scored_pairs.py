"""ScoredPairs: pairs of texts with human similarity scores, read from tables."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import as_file, files
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from goldrank.data.collections.records import given_twice
from goldrank.data.collections.splits import choose_split, stem_and_suffix
from goldrank.data.collections.streams import read_lines, read_text
from goldrank.errors import InputError, counts, shorten
from goldrank.io.checks import find_duplicate, is_missing, is_number, numeric_values, parse_values, refuse_non_finite
from goldrank.io.column_names import describe_columns, first_of, listing
from goldrank.io.fingerprints import add_text
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
_BARE_COLUMNS = "text1 = column 1, text2 = column 2, score = column 3"


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Pairs of words or sentences in the order of their file, with scores that are higher for more similar pairs.

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
    """The subset of each pair, if subsets are correlated separately; else empty."""
    level: Level = "sentence"
    training: tuple[str, ...] = ()
    """Texts of a training split, for models and transforms that are fitted."""
    remarks: tuple[str, ...] = ()
    source: str = ""
    columns: str = ""
    """What each column of the file was read as."""

    @property
    def readings(self) -> tuple[str, ...]:
        """A line for users that says what each column was read as; empty for data that is part of goldrank."""
        return (f"{self.name}: {self.columns}",) if self.columns else ()

    @property
    def oov(self) -> str:
        """The default treatment of texts without a known word."""
        return "skip" if self.level == "word" else "keep"

    @cached_property
    def checksum(self) -> str:
        """A digest of everything that can change a result."""
        digest = hashlib.sha256(self.level.encode())
        digest.update(np.ascontiguousarray(self.scores, "<f8").tobytes())
        for column in (self.ids, self.first, self.second, self.subset, self.training):
            digest.update(len(column).to_bytes(8, "little"))
            for text in column:
                add_text(digest, text)
        return digest.hexdigest()[:16]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, eq=False)
class PairSets:
    """Several sets of pairs, which count equally."""

    name: str
    sets: tuple[ScoredPairs, ...]

    @property
    def level(self) -> Level:
        """What the pairs consist of, which is the same in all sets."""
        return self.sets[0].level

    @property
    def oov(self) -> str:
        """The default treatment of texts without a known word."""
        return self.sets[0].oov

    @cached_property
    def checksum(self) -> str:
        """A digest of everything that can change a result."""
        digests = "\n".join(f"{pairs.name} {pairs.checksum}" for pairs in self.sets)
        return hashlib.sha256(digests.encode()).hexdigest()[:16]

    @property
    def readings(self) -> tuple[str, ...]:
        """What the columns of each set were read as."""
        return tuple(line for pairs in self.sets for line in pairs.readings)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was left out or repaired, with the name of the set."""
        return tuple(f"{pairs.name}: {remark}" for pairs in self.sets for remark in pairs.remarks)

    def __len__(self) -> int:
        return sum(map(len, self.sets))


@dataclass(frozen=True)
class PairRow:
    """A pair as it was read, with its place in the file."""

    place: str
    id: str
    first: object
    second: object
    score: object
    subset: str = ""


def read_word_similarity(path: Path, split: str | None = None) -> ScoredPairs:
    """Read a word-similarity file: lines of ``word word score``, separated by tabs or blanks; # starts a comment."""
    choose_split(split, ("test",), str(path))
    remarks: list[str] = []
    rows = []
    for number, line in enumerate(read_lines(path, remarks), 1):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        cells = [cell.strip() for cell in bare.split("\t")] if "\t" in bare else bare.split()
        if len(cells) != 3:
            raise InputError(
                f"the line has {counts(len(cells), 'column')}, not two words and a score",
                where=f"{path}:{number}",
                remedy="write word, word and score, separated by tabs",
            )
        rows.append(PairRow(f"{path}:{number}", str(number), *cells))
    return gather(rows, path, remarks, "word", _BARE_COLUMNS)


def read_scored_pairs(path: Path, split: str | None = None, level: Level | None = None) -> ScoredPairs:
    """Read a CSV, TSV or JSONL file with two texts and a number in every row.

    The header or the fields name them: sentence1, sentence2 and score, or text1, word1, sentence_A and so on; an id is
    optional. A table without a header has three columns, the score last. If *level* is not given, the pairs are pairs
    of words if every text is a single word.
    """
    choose_split(split, ("test",), str(path))
    remarks: list[str] = []
    text = read_text(path, remarks)
    suffix = stem_and_suffix(path)[1]
    if text.lstrip()[:1] in ("{", "[") and suffix not in (".csv", ".tsv"):
        pairs, columns = _record_rows(text, path)
        return gather(pairs, path, remarks, level, columns)
    tabs = suffix == ".tsv" or (suffix != ".csv" and "\t" in text.partition("\n")[0])
    rows = split_rows(text.encode(), str(path), "tsv" if tabs else "csv")
    pairs, columns = table_rows(rows, path)
    return gather(pairs, path, remarks, level, columns)


def built_in_pairs(split: str | None = None) -> ScoredPairs:
    """Read the sentence pairs that are part of goldrank."""
    with as_file(files("goldrank") / "demo" / "pairs.tsv") as path:
        return replace(read_scored_pairs(path, split, "sentence"), name="sentence-pairs", source="built in", columns="")


def table_rows(rows: Iterator[tuple[int, list[str]]], file: Path) -> tuple[list[PairRow], str]:
    """Read the pairs of a table with a header, or with three columns without one, the score last.

    Returns:
        The pairs, and a description of how each column was read.
    """
    first_line, header = next(rows, (0, []))
    bare = len(header) == 3 and is_number(header[2])
    fields = _Fields.named(["first", "second", "score"] if bare else header, f"{file}:{first_line}")
    pairs = [
        fields.pair(row, str(line), f"{file}:{line}")
        for line, row in (chain([(first_line, header)], rows) if bare else rows)
    ]
    return pairs, _BARE_COLUMNS if bare else fields.description


def _record_rows(text: str, file: Path) -> tuple[list[PairRow], str]:
    if text.lstrip()[0] == "[":
        content: Any = decode(text, str(file), first_line=1)
        placed = [(f"{file}: record {number}", str(number), record) for number, record in enumerate(content, 1)]
    else:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
        placed = [(f"{file}:{n}", str(n), decode(line, str(file), first_line=n)) for n, line in lines]
    pairs, columns = [], ""
    for place, number, record in placed:
        if not isinstance(record, dict):
            raise InputError(f"{shorten(record)} is not a record", where=place, remedy='write {"sentence1": "…", …}')
        fields = _Fields.named(list(record), place)
        pairs.append(fields.pair(list(record.values()), number, place))
        columns = columns or fields.description
    return pairs, columns


@dataclass(frozen=True)
class _Fields:
    """The positions of both texts, the score and maybe an id in a row."""

    names: tuple[object, ...]
    first: int
    second: int
    score: int
    id: int | None

    @classmethod
    def named(cls, names: Sequence[object], where: str) -> _Fields:
        """Find the fields by the names of the columns."""
        pairs = ([first_of(names, [name]) for name in pair] for pair in _TEXT_NAMES)
        first, second = next((pair for pair in pairs if None not in pair), (None, None))
        score = first_of(names, _SCORE_NAMES)
        if first is None or second is None or score is None:
            texts = first is not None
            wanted = ", ".join(_SCORE_NAMES) if texts else ", ".join(" and ".join(pair) for pair in _TEXT_NAMES)
            raise InputError(
                f"there {'is no score' if texts else 'are no two texts'} (columns: {listing(names)})",
                where=where,
                remedy=f"call {'it one of' if texts else 'them'} {wanted}",
            )
        return cls(tuple(names), first, second, score, first_of(names, _ID_NAMES))

    def pair(self, row: Sequence[object], number: str, place: str) -> PairRow:
        """Return the pair of a row; its id is *number* if it has none."""
        given = number if self.id is None else row[self.id]
        if is_missing(given) or given == "":
            raise InputError("the id is missing", where=place, remedy="give every pair an id, or none")
        return PairRow(place, str(given), row[self.first], row[self.second], row[self.score])

    @property
    def description(self) -> str:
        """A description of how each column is read."""
        roles = {"text1": self.first, "text2": self.second, "score": self.score, "id": self.id}
        return describe_columns(self.names, roles)


def gather(rows: list[PairRow], file: Path, remarks: list[str], level: Level | None, columns: str = "") -> ScoredPairs:
    """Check the rows of *file* and return them as a set; if *level* is None, the texts decide it."""
    where = str(file)
    if not rows:
        raise InputError("there are no pairs", where=where, remedy="check that the file was written completely")
    for row in rows:
        for text in (row.first, row.second):
            if not isinstance(text, str):
                raise InputError(
                    f"the text {shorten(text)} is not a string", where=row.place, remedy="put it in quotes"
                )
    if duplicate := find_duplicate([row.id for row in rows]):
        before, again = (rows[at] for at in duplicate)
        raise given_twice(again.id, before.place, again.place)
    first, second = (tuple(str(getattr(row, side)) for row in rows) for side in ("first", "second"))
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
    refuse_non_finite(numbers, value="score", place=place)
    return numbers
