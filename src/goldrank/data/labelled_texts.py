"""LabelledTexts: texts or pairs of texts with labels, on which classifiers are trained and tested."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from goldrank.data.collections.splits import choose_split, files_by_split, stem_and_suffix
from goldrank.data.collections.streams import read_lines, read_text
from goldrank.errors import InputError, counts, shorten
from goldrank.io.checks import is_missing
from goldrank.io.column_names import describe_table, first_of, listing, normal
from goldrank.io.files import PathLike
from goldrank.io.fingerprints import add_text
from goldrank.io.formats.delimited import table_records
from goldrank.io.formats.json_files import decode

SPLITS = ("train", "dev", "test")
_ROLES = {
    "text": ("text", "text1", "sentence", "sentence1", "sentence_a", "question", "string"),
    "second": ("text2", "sentence2", "sentence_b", "second"),
    "label": ("label", "class", "category", "target", "gold"),
    "split": ("split", "part", "set"),
}
_SUFFIXES = (".csv", ".tsv", ".jsonl", ".json")


@dataclass(frozen=True, eq=False)
class LabelledTexts:
    """Texts or pairs of texts, each with its correct label.

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
    """The split of each row: ``train``, ``dev`` or ``test``; None for cross-validation."""
    source: str = ""
    remarks: tuple[str, ...] = ()
    readings: tuple[str, ...] = ()
    """A line for each table: what its columns were read as, and which were ignored."""

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
        if len(labels := {self.labels[row] for row in fitted.tolist()}) < 2:
            what = (
                f"all {len(fitted)} rows to learn from have the label {shorten(next(iter(labels)))}" if labels else ""
            )
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
        """Whether the data is divided into splits for training and testing."""
        return self.splits is not None

    def rows(self, split: str) -> NDArray[np.int64]:
        """Return the rows of a split; empty if there are no splits."""
        return np.flatnonzero(np.array(self.splits or (), dtype=object) == split).astype(np.int64)

    @cached_property
    def checksum(self) -> str:
        """A digest of texts, labels and splits in order."""
        digest = hashlib.sha256()
        for column in (self.texts, self.seconds, self.labels, self.splits):
            for value in column or ():
                add_text(digest, value)
            digest.update(b"\xff")
        return digest.hexdigest()[:16]

    def __len__(self) -> int:
        return len(self.texts)


@dataclass
class LabelledRows:
    """Labelled rows that are being read and checked, with remarks on what was repaired."""

    texts: list[str] = field(default_factory=list)
    seconds: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    splits: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    readings: list[str] = field(default_factory=list)

    def add(self, place: str, label: object, text: object, second: object = None, split: str | None = None) -> None:
        """Add a row; *place* is where it is in the file, for error messages."""
        name = str(label).strip() if isinstance(label, (str, int)) else ""
        if is_missing(label) or not name:
            raise InputError(
                f"the label {shorten(label)} is none", where=place, remedy="write a word or a whole number"
            )
        for part in (text, *(() if second is None else (second,))):
            if not isinstance(part, str):
                raise InputError(f"the text {shorten(part)} is not a string", where=place, remedy="put it in quotes")
            # NUL bytes in the file were refused before, but JSON may contain an escaped one.
            if "\0" in part:
                raise InputError("the text holds a NUL character", where=place, remedy="give a text file")
        self.labels.append(name)
        self.texts.append(str(text).strip())
        if second is not None:
            self.seconds.append(str(second).strip())
        if split is not None:
            self.splits.append(split)

    def finished(self, name: str, source: PathLike) -> LabelledTexts:
        """Return the labelled texts after the last row was added."""
        if not self.texts:
            raise InputError("there are no labelled texts", where=str(source), remedy="check that it is complete")
        if empty := sum(not text for text in (*self.texts, *self.seconds)):
            self.remarks.append(f"{counts(empty, 'text')} without a word")
        rows = list(zip(self.labels, self.splits, strict=False))
        known = {label for label, split in rows if split == "train"}
        if unseen := sum(split == "test" and label not in known for label, split in rows):
            self.remarks.append(f"{counts(unseen, 'test row')} of a class that no training row has")
        return LabelledTexts(
            name,
            tuple(self.texts),
            tuple(self.labels),
            tuple(self.seconds) or None,
            tuple(self.splits) or None,
            str(source),
            tuple(self.remarks),
            tuple(self.readings),
        )


def placed_lines(file: Path, remarks: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each line that is not blank, with its place; blank ones are counted in the *remarks*."""
    blank = 0
    for number, line in enumerate(read_lines(file, remarks), 1):
        if line.strip():
            yield f"{file}:{number}", line
        else:
            blank += 1
    if blank:
        remarks.append(f"{counts(blank, 'blank line')} of {file.name} left out")


def read_labelled(path: PathLike) -> LabelledTexts:
    """Read a CSV, TSV or JSON Lines file, or a folder with one per split (train, maybe dev, test).

    The columns are text (text2 for pairs), label, and optionally split, which is train, dev or test. Without splits, a
    probe is cross-validated; without dev, its penalty is chosen by cross-validation of the training split.
    """
    place = Path(path).expanduser()
    rows = LabelledRows()
    if place.is_dir():
        files = files_by_split(place, _SUFFIXES)
        if not files:
            raise InputError(
                "the folder holds no labelled texts",
                where=str(place),
                remedy="put train, dev and test files into it (.csv, .tsv or .jsonl), or name one file",
            )
        for split, parts in files.items():
            for file in parts:
                _read_table(file, rows, choose_split(split, SPLITS, str(file)))
    else:
        _read_table(place, rows, None)
    return rows.finished(stem_and_suffix(place.resolve())[0], place)


def _read_table(file: Path, rows: LabelledRows, split: str | None) -> None:
    suffix = stem_and_suffix(file)[1]
    records: Iterable[tuple[str, Mapping[str, object]]]
    if suffix in (".csv", ".tsv"):
        records = table_records(read_text(file, rows.remarks).encode(), str(file), suffix[1:])
    else:
        records = json_records(file, rows.remarks)
    fields: dict[str, None] = {}
    for place, record in records:
        names, cells = list(record), list(record.values())
        fields |= dict.fromkeys(names)
        position = {role: _position(role, names, place) for role in _ROLES}
        for role in ("text", "label"):
            if position[role] is None:
                raise InputError(
                    f"there is no {role} (columns: {listing(names)})",
                    where=place,
                    remedy=f"call it one of {', '.join(_ROLES[role])}",
                )
        label, text, second, part = (
            None if (at := position[role]) is None else cells[at] for role in ("label", "text", "second", "split")
        )
        if position["second"] is None and rows.seconds:
            raise InputError("the row has no second text, others have one", where=place, remedy="give every row one")
        if second is not None and len(rows.seconds) < len(rows.texts):
            raise InputError("the row has a second text, others have none", where=place, remedy="give every row one")
        row_split = split
        if split is None and position["split"] is not None:
            row_split = choose_split(str(part).strip(), SPLITS, place)
        if bool(rows.splits) != (row_split is not None) and rows.texts:
            raise InputError("some rows have a split and others none", where=place, remedy="give every row one")
        rows.add(place, label, text, second, row_split)
    if fields:
        roles = {role: first_of(fields, wanted) for role, wanted in _ROLES.items()}
        if split is not None:
            roles["split"] = None
        rows.readings.append(describe_table(str(file), list(fields), roles))


def _position(role: str, names: list[str], place: str) -> int | None:
    """Return the column of a role: the one with its first name, or the only one with another of its names."""
    positions = [at for at, name in enumerate(names) if normal(name) in _ROLES[role]]
    if len(positions) > 1 and normal(names[first_of(names, _ROLES[role]) or 0]) != _ROLES[role][0]:
        raise InputError(
            f"several columns could be the {role}: {listing([names[at] for at in positions])}",
            where=place,
            remedy=f"call the right one {_ROLES[role][0]}",
        )
    return first_of(names, _ROLES[role])


def json_records(file: Path, remarks: list[str]) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the records of a JSON Lines file with their places."""
    for place, line in placed_lines(file, remarks):
        record = decode(line, str(file), first_line=int(place.rpartition(":")[2]))
        if not isinstance(record, dict):
            raise InputError(
                f"{shorten(record)} is not a record",
                where=place,
                remedy='write {"text": "…", "label": "…"} in every line',
            )
        yield place, record
