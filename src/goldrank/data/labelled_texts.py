"""Texts with a label each, or pairs of texts: what a classifier is trained and tested on, from any table of them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from goldrank.data.collections.splits import choose_split, files_by_split, stem_and_suffix
from goldrank.data.collections.streams import pieces
from goldrank.errors import InputError, counts, shorten
from goldrank.io.checks import is_missing
from goldrank.io.column_names import listing, normal
from goldrank.io.files import PathLike, without_mark
from goldrank.io.formats.delimited import split_rows
from goldrank.io.formats.json_files import decode

SPLITS = ("train", "dev", "test")
TEXT_NAMES = ("text", "text1", "sentence", "sentence1", "sentence_a", "question", "string")
SECOND_NAMES = ("text2", "sentence2", "sentence_b", "second")
LABEL_NAMES = ("label", "class", "category", "target", "gold")
SPLIT_NAMES = ("split", "part", "set")
_SUFFIXES = (".csv", ".tsv", ".jsonl", ".json")


@dataclass(frozen=True, eq=False)
class LabelledTexts:
    """Texts, or pairs of them, each with the label that is right.

    >>> data = LabelledTexts("moods", ("fine", "awful", "great"), ("good", "bad", "good"))
    >>> data.classes, len(data), data.has_splits
    (('bad', 'good'), 3, False)
    """

    name: str
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    seconds: tuple[str, ...] | None = None
    """The second text of each pair."""
    splits: tuple[str, ...] | None = None
    """``train``, ``dev`` or ``test`` of each row; None where rows are split by cross-validation."""
    source: str = ""
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for column in (self.labels, self.seconds, self.splits):
            if column is not None and len(column) != len(self.texts):
                raise InputError(f"there are {len(column)} values for {len(self.texts)} texts", where=self.source)
        fitted = self.rows("train") if self.splits is not None else np.arange(len(self.texts))
        if self.splits is not None:
            for split in ("train", "test"):
                if split not in self.splits:
                    raise InputError(
                        f"no row belongs to the split {split}",
                        where=self.source or None,
                        remedy="give rows of train and of test (dev is optional), or no splits at all",
                    )
        if len(found := {self.labels[row] for row in fitted.tolist()}) < 2:
            what = f"all {len(fitted)} rows to learn from have the label {shorten(next(iter(found)))}" if found else ""
            raise InputError(
                what or "there are no rows",
                where=self.source or None,
                remedy="a classifier needs texts of two classes or more",
            )

    @property
    def classes(self) -> tuple[str, ...]:
        """The different labels, sorted."""
        return tuple(sorted(set(self.labels)))

    @property
    def has_splits(self) -> bool:
        """Whether the data says what to learn from and what to test on."""
        return self.splits is not None

    def rows(self, split: str) -> NDArray[np.int64]:
        """The rows of a split; none without splits."""
        return np.flatnonzero(np.array(self.splits or (), dtype=object) == split).astype(np.int64)

    @cached_property
    def checksum(self) -> str:
        """A digest of texts, labels and splits in order."""
        digest = hashlib.sha256()
        for column in (self.texts, self.seconds, self.labels, self.splits):
            for value in column or ():
                encoded = value.encode("utf-8", "surrogatepass")
                digest.update(len(encoded).to_bytes(8, "little") + encoded)
            digest.update(b"\xff")
        return digest.hexdigest()[:16]

    def __len__(self) -> int:
        return len(self.texts)


@dataclass
class Rows:
    """Labelled rows as they are read, checked one by one, with what has to be told of them."""

    texts: list[str] = field(default_factory=list)
    seconds: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    splits: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def add(self, place: str, label: object, text: object, second: object = None, split: str | None = None) -> None:
        """Take one row that stands at *place*."""
        if isinstance(label, float) or is_missing(label) or not (written := _label(label)):
            raise InputError(
                f"the label {shorten(label)} is none", where=place, remedy="write a word or a whole number"
            )
        for part in (text, *(() if second is None else (second,))):
            if not isinstance(part, str):
                raise InputError(f"the text {shorten(part)} is no string", where=place, remedy="put it in quotes")
            if "\0" in part:
                raise InputError("the text holds a NUL character", where=place, remedy="give a text file")
        self.labels.append(written)
        self.texts.append(str(text).strip())
        if second is not None:
            self.seconds.append(str(second).strip())
        if split is not None:
            self.splits.append(split)

    def finished(self, name: str, source: PathLike) -> LabelledTexts:
        """All rows, once each of them is read."""
        if not self.texts:
            raise InputError("there are no labelled texts", where=str(source), remedy="check that it is complete")
        if empty := sum(not text for text in (*self.texts, *self.seconds)):
            self.remarks.append(f"{counts(empty, 'text')} without a word")
        if self.splits and (strange := _strange(self.labels, self.splits)):
            self.remarks.append(f"{counts(strange, 'test row')} of a class that no training row has")
        return LabelledTexts(
            name,
            tuple(self.texts),
            tuple(self.labels),
            tuple(self.seconds) or None,
            tuple(self.splits) or None,
            str(source),
            tuple(self.remarks),
        )


def _label(label: object) -> str:
    return str(label).strip() if isinstance(label, (str, int)) else ""


def _strange(labels: Sequence[str], splits: Sequence[str]) -> int:
    seen = {label for label, split in zip(labels, splits, strict=True) if split == "train"}
    return sum(split == "test" and label not in seen for label, split in zip(labels, splits, strict=True))


def text_of(file: Path, remarks: list[str]) -> str:
    """What a text file holds, with ``\\n`` after each line; how it was mended is added to the *remarks*.

    Old collections are often in latin-1, and a file that is no UTF-8 is taken for that.
    """
    if not file.is_file():
        raise InputError("there is no such file", where=str(file), remedy="check the path")
    data = b"".join(pieces(file))
    plain = without_mark(data, str(file))
    if not plain.strip():
        raise InputError("the file is empty", where=str(file), remedy="check that it was written completely")
    if len(plain) < len(data):
        remarks.append(f"the byte order mark of {file.name} was left out")
    try:
        text = plain.decode()
    except UnicodeDecodeError:
        text = plain.decode("latin-1")
        remarks.append(f"{file.name} is not UTF-8 and was read as latin-1")
    if ends := text.count("\r\n"):
        remarks.append(f"{counts(ends, 'line')} of {file.name} ended in CRLF")
    return text.replace("\r\n", "\n")


def lines_of(file: Path, remarks: list[str]) -> Iterator[tuple[str, str]]:
    """Every line that is not blank, with its place; blank ones are counted in the *remarks*."""
    blank = 0
    for number, line in enumerate(text_of(file, remarks).removesuffix("\n").split("\n"), 1):
        if line.strip():
            yield f"{file}:{number}", line
        else:
            blank += 1
    if blank:
        remarks.append(f"{counts(blank, 'blank line')} of {file.name} left out")


def read_labelled(path: PathLike) -> LabelledTexts:
    """Read a CSV, TSV or JSON Lines file, or a folder with one per split (train, maybe dev, test).

    The columns are called text (text2 for pairs), label, and maybe split, which is train, dev or test. Without splits
    a probe is cross-validated; without dev its settings are chosen by folds of the training part.
    """
    place = Path(path).expanduser()
    rows = Rows()
    if place.is_dir():
        files = files_by_split(place, _SUFFIXES)
        if not files:
            raise InputError(
                "the folder holds no labelled texts",
                where=str(place),
                remedy="put train, dev and test files into it (.csv, .tsv or .jsonl), or name one file",
            )
        for found, parts in files.items():
            for file in parts:
                _read_table(file, rows, choose_split(found, SPLITS, str(file)))
    else:
        _read_table(place, rows, None)
    return rows.finished(stem_and_suffix(place.resolve())[0], place)


def _read_table(file: Path, rows: Rows, split: str | None) -> None:
    suffix = stem_and_suffix(file)[1]
    records = _records(file, rows.remarks, suffix) if suffix in (".csv", ".tsv") else json_records(file, rows.remarks)
    for place, record in records:
        names = {normal(name): value for name, value in record.items()}
        keys = {role: _named(names, wanted) for role, wanted in _ROLES.items()}
        for role in ("text", "label"):
            if keys[role] is None:
                raise InputError(
                    f"there is no {role} (columns: {listing(list(record))})",
                    where=place,
                    remedy=f"call it one of {', '.join(_ROLES[role])}",
                )
        second = None if keys["second"] is None else names[keys["second"]]
        if keys["second"] is None and rows.seconds:
            raise InputError("the row has no second text, others have one", where=place, remedy="give every row one")
        if second is not None and len(rows.seconds) < len(rows.texts):
            raise InputError("the row has a second text, others have none", where=place, remedy="give every row one")
        part = split
        if split is None and keys["split"] is not None:
            part = choose_split(str(names[keys["split"]]).strip(), SPLITS, place)
        if bool(rows.splits) != (part is not None) and rows.texts:
            raise InputError("some rows have a split and others none", where=place, remedy="give every row one")
        rows.add(place, names[keys["label"] or ""], names[keys["text"] or ""], second, part)


_ROLES = {"text": TEXT_NAMES, "second": SECOND_NAMES, "label": LABEL_NAMES, "split": SPLIT_NAMES}


def _named(names: dict[str, object], wanted: Sequence[str]) -> str | None:
    return next((name for name in wanted if name in names), None)


def json_records(file: Path, remarks: list[str]) -> Iterator[tuple[str, dict[str, object]]]:
    """The records of a JSON Lines file with their places."""
    for place, line in lines_of(file, remarks):
        record = decode(line, str(file), first_line=int(place.rpartition(":")[2]))
        if not isinstance(record, dict):
            raise InputError(
                f"{shorten(record)} is no record", where=place, remedy='write {"text": "…", "label": "…"} in every line'
            )
        yield place, record


def _records(file: Path, remarks: list[str], suffix: str) -> Iterator[tuple[str, dict[str, object]]]:
    table = split_rows(text_of(file, remarks).encode(), str(file), suffix[1:])
    first_line, header = next(table)
    if twice := [name for name, count in Counter(map(normal, header)).items() if count > 1]:
        raise InputError(f"two columns are called {twice[0]}", where=f"{file}:{first_line}", remedy="rename one")
    for line, row in table:
        if len(row) != len(header):
            raise InputError(
                f"the row has {counts(len(row), 'column')}, the first one has {len(header)}",
                where=f"{file}:{line}",
                remedy='put texts that hold a comma, a tab or a line break in "quotes"',
            )
        yield f"{file}:{line}", dict(zip(header, row, strict=True))
