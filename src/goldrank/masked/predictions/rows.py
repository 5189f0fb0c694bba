"""Rows of predictions, independent of the file format: validation, and conversion to Arrow record batches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import lt
from types import MappingProxyType
from typing import Any, NamedTuple

from goldrank.data.collections.records import Record
from goldrank.errors import InputError, counts, reason_of, shorten
from goldrank.io.checks import is_missing, non_finite, not_a_number
from goldrank.io.column_names import FieldRoles, listing
from goldrank.io.formats.parquet import load_pyarrow
from goldrank.masked.examples.chunks import Guesses, MaskKey

COLUMNS = ("page", "sequence", "mask", "title", "hidden", "answers", "guesses", "scores", "masks", "length", "type")
"""The columns of every table of predictions; further columns describe the examples, such as page views."""
_PAD = "or pad what is missing (--pad)"
# Tolerance for probabilities that were rounded or summed in single precision.
ROUNDING = 1e-6
LARGEST = (1 << 63) - 1


class PredictionRow(NamedTuple):
    """The predictions of one mask with the other columns of their file."""

    place: str
    key: MaskKey
    guesses: Guesses
    title: str | None = None
    hidden: str | None = None
    masks: int | None = None
    length: int | None = None
    kind: str | None = None
    extra: Record = MappingProxyType({})
    answers: tuple[str, ...] | None = None
    """The right answers; None if the title is the only one."""


@dataclass
class Remarks:
    """Counts of anomalies in predictions that are not errors."""

    masks: int = 0
    unscored: int = 0
    """Masks whose guesses have no scores."""
    empty: int = 0
    """Masks without any guess."""
    blank: int = 0
    """Guesses that are empty or null."""
    padded: int = 0
    """Masks whose names or scores were padded."""
    unsorted: int = 0
    """Masks whose scores are not descending."""
    above_one: int = 0
    """Masks whose scores sum to more than 1."""
    unnumbered: int = 0
    """Rows with the guesses of one mask without its number."""
    late_columns: set[str] = field(default_factory=set)
    """Columns that first appear after the first batch of a stream."""
    columns: FieldRoles = field(default_factory=FieldRoles, compare=False)
    """What each column was read as."""

    def add(self, guesses: Guesses, *, ranked: bool) -> None:
        """Count the guesses of one mask; *ranked* says that they had no scores."""
        scores = guesses.scores
        self.masks += 1
        self.empty += not scores
        self.blank += sum([not name or name.isspace() for name in guesses.names])
        if ranked:
            self.unscored += bool(scores)
        else:
            self.unsorted += any(map(lt, scores, scores[1:]))
            self.above_one += sum(scores) > 1 + ROUNDING

    def sentences(self) -> list[str]:
        """Return one sentence for each kind of anomaly.

        >>> Remarks(masks=3, unscored=1).sentences()
        ['1 of 3 masks has no scores: its guesses count 1/rank']
        """
        sentences = {
            ("has no scores: its guesses count 1/rank", "have no scores: their guesses count 1/rank"): self.unscored,
            ("has no guesses", "have no guesses"): self.empty,
            ("was padded with empty names or scores of 0", "were padded with empty names or scores of 0"): self.padded,
            ("has scores that are not descending", "have scores that are not descending"): self.unsorted,
            ("has scores that sum above 1", "have scores that sum above 1"): self.above_one,
            ("is not numbered and counts as the first", "are not numbered and count as the first"): self.unnumbered,
        }
        remarks = [f"{count} of {self.masks} masks {form[count != 1]}" for form, count in sentences.items() if count]
        if self.blank:
            remarks.append(
                f"{counts(self.blank, 'guess', 'guesses')} without a name (null or empty), which match nothing"
            )
        if self.late_columns:
            remarks.append(f"columns left out, as the first rows lack them: {listing(sorted(self.late_columns))}")
        return remarks


def parse_guesses(
    key: MaskKey,
    names: Sequence[object],
    scores: Sequence[object] | None,
    place: str | None = None,
    *,
    pad: bool = False,
    remarks: Remarks,
) -> Guesses:
    """Validate the guesses of a mask, and count anomalies in *remarks*.

    A null name is a dropped guess: like an empty name it keeps its position and matches nothing. With *pad*, lists of
    unequal length are padded with such names, and a missing score counts 0.
    """
    where = f"{place}: {key.place}" if place else key.place
    ranked = scores is None
    if scores is None:
        scores = [1 / rank for rank in range(1, len(names) + 1)]
    if len(names) != len(scores):
        if not pad:
            raise InputError(
                f"{counts(len(names), 'prediction')} for {counts(len(scores), 'score')}",
                where=where,
                remedy=f'give each name its score, write null (or "") in the place of a name that was dropped, {_PAD}',
            )
        longest = max(len(names), len(scores))
        names, scores = ([*values, *[None] * (longest - len(values))] for values in (names, scores))
    guesses = Guesses(
        tuple([_name(name, where) for name in names]),
        tuple([0.0 if score is None and pad else parse_score(score, where) for score in scores]),
    )
    remarks.padded += pad and (None in names or None in scores)
    remarks.add(guesses, ranked=ranked)
    return guesses


def _name(value: object, where: str) -> str:
    if isinstance(value, str):
        return value
    if not is_missing(value):
        raise InputError(f"the prediction {shorten(value)} is not a string", where=where, remedy="put names in quotes")
    return ""


def parse_score(value: object, where: str) -> float:
    """Return the score in a cell, which may be text; raise an error if it is not a finite number."""
    if value is None:
        raise InputError("a score is missing", where=where, remedy=f"give each name its score, {_PAD}")
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise not_a_number(str(value), value="score", where=where)
    try:
        number = float(value)
    except ValueError:
        raise not_a_number(str(value), value="score", where=where) from None
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise non_finite(str(value)[:20], value="score", where=where)
    return number


def prediction_schema(extra: Mapping[str, str]) -> Any:
    """Return the Arrow schema of a table of predictions with *extra* columns, each int64, double or string."""
    pyarrow, _ = load_pyarrow()
    text, whole, number = pyarrow.string(), pyarrow.int64(), pyarrow.float64()
    texts, numbers = pyarrow.list_(text), pyarrow.list_(number)
    types = (text, whole, whole, text, text, texts, texts, numbers, whole, whole, text)
    of_name = {"int64": whole, "double": number, "string": text}
    return pyarrow.schema([*zip(COLUMNS, types, strict=True), *((name, of_name[kind]) for name, kind in extra.items())])


def extra_types(rows: Sequence[PredictionRow]) -> dict[str, str]:
    """Return the Arrow types of those extra columns of *rows* that have numbers or text."""
    kinds: dict[str, set[str]] = {}
    for row in rows:
        for name, value in row.extra.items():
            kinds.setdefault(name, set()).add(_type_of(value))
    types: dict[str, str] = {}
    for name, values in kinds.items():
        values.discard("")
        if values and "other" not in values and name not in COLUMNS:
            types[name] = "string" if "string" in values else "double" if "double" in values else "int64"
    return types


def _type_of(value: object) -> str:
    """Return the column type for a value; empty for a missing value."""
    if is_missing(value):
        return ""
    if isinstance(value, (str, bool)):
        return "string"
    if isinstance(value, int):
        return "int64" if -LARGEST <= value <= LARGEST else "double"
    return "double" if isinstance(value, float) else "other"


def record_batch(rows: Sequence[PredictionRow], extra: Mapping[str, str]) -> Any:
    """Convert rows to an Arrow record batch with the columns *extra*."""
    pyarrow, _ = load_pyarrow()
    columns: list[Sequence[object]] = [
        [row.key.page for row in rows],
        [row.key.sequence for row in rows],
        [row.key.mask for row in rows],
        [row.title for row in rows],
        [row.hidden for row in rows],
        [row.answers for row in rows],
        [row.guesses.names for row in rows],
        [row.guesses.scores for row in rows],
        [row.masks for row in rows],
        [row.length for row in rows],
        [row.kind for row in rows],
        *([_convert(row, name, kind) for row in rows] for name, kind in extra.items()),
    ]
    target = prediction_schema(extra)
    try:
        arrays = [pyarrow.array(values, field.type) for values, field in zip(columns, target, strict=True)]
    except UnicodeEncodeError:
        row = next(row for row in rows if not _is_encodable(row))
        raise InputError(
            "a text has an unpaired surrogate",
            where=f"{row.place}: {row.key.place}",
            remedy="correct the text; it cannot be encoded as UTF-8",
        ) from None
    except (pyarrow.ArrowException, OverflowError) as error:
        first, last = rows[0], rows[-1]
        raise InputError(
            f"a value between {first.key.place} and {last.key.place} cannot be stored ({reason_of(error)})",
            where=first.place,
            remedy="write whole numbers of at most 64 bits",
        ) from None
    return pyarrow.RecordBatch.from_arrays(arrays, schema=target)


def _is_encodable(row: PredictionRow) -> bool:
    texts = (
        *row.guesses.names,
        *(row.answers or ()),
        row.key.page,
        row.title,
        row.hidden,
        row.kind,
        *row.extra.values(),
    )
    try:
        "".join(text for text in texts if isinstance(text, str)).encode()
    except UnicodeEncodeError:
        return False
    return True


def _convert(row: PredictionRow, name: str, column_type: str) -> object:
    value = row.extra.get(name)
    value_type = _type_of(value)
    if not value_type:
        return None
    if column_type == "string":
        return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    if value_type == column_type or (value_type == "int64" and column_type == "double"):
        return value
    raise InputError(
        f"the column {shorten(name)} has {shorten(value)}, but numbers in the first rows",
        where=row.place,
        remedy="write values of one type in a column, or write Parquet",
    )
