"""Rows of predictions as every format gives them: checked one by one, and gathered into batches of columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import lt
from types import MappingProxyType
from typing import Any, NamedTuple

from goldrank.errors import InputError, counts, shorten
from goldrank.io.checks import is_missing, non_finite, not_a_number
from goldrank.io.column_names import listing
from goldrank.io.files import reason_of
from goldrank.io.formats.parquet import load_pyarrow
from goldrank.masked.examples.chunks import Guesses, MaskKey, place_name

Record = Mapping[str, object]
COLUMNS = ("page", "sequence", "mask", "title", "hidden", "answers", "guesses", "scores", "masks", "length", "type")
"""The columns that every table of predictions has; further ones describe the examples, such as page views."""
_PAD = "or pad what is missing (--pad)"
# Scores are probabilities that were rounded or summed in single precision.
ROUNDING = 1e-6
LARGEST = (1 << 63) - 1


class Row(NamedTuple):
    """The predictions of one mask, and what their file says of it."""

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
    """The right answers; None where the title is the one right answer."""


@dataclass
class Remarks:
    """What was found in predictions that is no error and yet worth a word."""

    masks: int = 0
    unscored: int = 0
    """Masks whose guesses have no scores."""
    empty: int = 0
    """Masks without any guess."""
    blank: int = 0
    """Guesses that are an empty string or null."""
    padded: int = 0
    """Masks whose names or scores were filled up."""
    unsorted: int = 0
    """Masks whose scores rise somewhere in the list."""
    above_one: int = 0
    """Masks whose scores sum to more than 1."""
    unnumbered: int = 0
    """Rows with the guesses of one mask that do not say which."""
    late_columns: set[str] = field(default_factory=set)
    """Columns that appeared too late in a stream to be kept."""

    def add(self, guesses: Guesses, *, ranked: bool) -> None:
        """Look at the guesses of one more mask, whose scores are its ranks where it is *ranked*."""
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
        """One sentence for each thing found.

        >>> Remarks(masks=3, unscored=1).sentences()
        ['1 of 3 masks has no scores: its guesses count 1/rank']
        """
        said = {
            ("has no scores: its guesses count 1/rank", "have no scores: their guesses count 1/rank"): self.unscored,
            ("has no guesses", "have no guesses"): self.empty,
            ("was padded with empty names or scores of 0", "were padded with empty names or scores of 0"): self.padded,
            ("has scores that are not descending", "have scores that are not descending"): self.unsorted,
            ("has scores that sum above 1", "have scores that sum above 1"): self.above_one,
            ("is not numbered and taken as the first", "are not numbered and taken as the first"): self.unnumbered,
        }
        found = [f"{count} of {self.masks} masks {says[count != 1]}" for says, count in said.items() if count]
        if self.blank:
            found.append(
                f"{counts(self.blank, 'guess', 'guesses')} without a name (null or empty), which match nothing"
            )
        if self.late_columns:
            found.append(f"columns left out, as the first rows lack them: {listing(sorted(self.late_columns))}")
        return found


def name_of(key: MaskKey) -> str:
    """How messages call a mask.

    >>> name_of(MaskKey("12", 3, 1))
    'page 12, example 3, mask 1'
    """
    return place_name(*key)


def checked(
    key: MaskKey,
    names: Sequence[object],
    scores: Sequence[object] | None,
    place: str | None = None,
    *,
    pad: bool = False,
    remarks: Remarks,
) -> Guesses:
    """The guesses of a mask, refused where a name or score is missing or no such thing, with remarks on the rest.

    A null in place of a name is a guess that was dropped: like an empty one it keeps its place and matches nothing.
    With *pad*, lists of unequal length are filled up so, and a missing score counts 0.
    """
    where = f"{place}: {name_of(key)}" if place else name_of(key)
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
        tuple([0.0 if score is None and pad else number_of(score, where) for score in scores]),
    )
    remarks.padded += pad and (None in names or None in scores)
    remarks.add(guesses, ranked=ranked)
    return guesses


def _name(value: object, where: str) -> str:
    if isinstance(value, str):
        return value
    if not is_missing(value):
        raise InputError(f"the prediction {shorten(value)} is no string", where=where, remedy="put names in quotes")
    return ""


def number_of(value: object, where: str) -> float:
    """The score in a cell, which may be written as text; what is not finite is refused."""
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


def schema(extra: Mapping[str, str]) -> Any:
    """The Arrow schema of a table of predictions with *extra* columns, each int64, double or string."""
    pyarrow, _ = load_pyarrow()
    text, whole, number = pyarrow.string(), pyarrow.int64(), pyarrow.float64()
    texts, numbers = pyarrow.list_(text), pyarrow.list_(number)
    types = (text, whole, whole, text, text, texts, texts, numbers, whole, whole, text)
    of_name = {"int64": whole, "double": number, "string": text}
    return pyarrow.schema([*zip(COLUMNS, types, strict=True), *((name, of_name[kind]) for name, kind in extra.items())])


def extra_types(rows: Sequence[Row]) -> dict[str, str]:
    """The extra columns of *rows* that hold numbers or text, with their Arrow types."""
    kinds: dict[str, set[str]] = {}
    for row in rows:
        for name, value in row.extra.items():
            kinds.setdefault(name, set()).add(_kind(value))
    types: dict[str, str] = {}
    for name, found in kinds.items():
        found.discard("")
        if found and "other" not in found and name not in COLUMNS:
            types[name] = "string" if "string" in found else "double" if "double" in found else "int64"
    return types


def _kind(value: object) -> str:
    """What column a value needs; nothing for one that is missing."""
    if is_missing(value):
        return ""
    if isinstance(value, (str, bool)):
        return "string"
    if isinstance(value, int):
        return "int64" if -LARGEST <= value <= LARGEST else "double"
    return "double" if isinstance(value, float) else "other"


def record_batch(rows: Sequence[Row], extra: Mapping[str, str]) -> Any:
    """The rows as an Arrow record batch with the columns *extra*."""
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
        *([_fitted(row, name, kind) for row in rows] for name, kind in extra.items()),
    ]
    wanted = schema(extra)
    try:
        arrays = [pyarrow.array(values, field.type) for values, field in zip(columns, wanted, strict=True)]
    except UnicodeEncodeError:
        row = next(row for row in rows if not _is_text(row))
        raise InputError(
            "a text holds half of a surrogate pair, which is no character",
            where=f"{row.place}: {name_of(row.key)}",
            remedy="repair the text; it cannot be written as UTF-8",
        ) from None
    except (pyarrow.ArrowException, OverflowError) as error:
        first, last = rows[0], rows[-1]
        raise InputError(
            f"a value between {name_of(first.key)} and {name_of(last.key)} cannot be kept ({reason_of(error)})",
            where=first.place,
            remedy="write whole numbers of at most 64 bits",
        ) from None
    return pyarrow.RecordBatch.from_arrays(arrays, schema=wanted)


def _is_text(row: Row) -> bool:
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


def _fitted(row: Row, name: str, kind: str) -> object:
    value = row.extra.get(name)
    its_kind = _kind(value)
    if not its_kind:
        return None
    if kind == "string":
        return value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    if its_kind == kind or (its_kind == "int64" and kind == "double"):
        return value
    raise InputError(
        f"the column {shorten(name)} holds {shorten(value)}, but whole numbers or numbers in the first rows",
        where=row.place,
        remedy="write one kind of value in a column, or write Parquet",
    )
