"""Check raw cells: convert them to ids and numbers, or refuse them with the place of their row."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError, shorten

Place = Callable[[int], str]
"""Returns the place of a row, such as "bm25.run:17", for the number of the row."""

# float() also accepts "1_000", "nan", "infinity" and the digits of every script.
_DECIMAL = frozenset("0123456789+-.eE \t")


def parse_values(tokens: Sequence[str], *, value: str, place: Place) -> NDArray[np.float64]:
    """Parse numbers; the first token that is not a finite decimal number is refused."""
    try:
        numbers = np.array(list(map(float, tokens)), np.float64)
    except ValueError:
        numbers = None
    if numbers is None or not _DECIMAL.issuperset("".join(tokens)) or not np.isfinite(numbers).all():
        for row, token in enumerate(tokens):
            _refuse_token(token, value, place(row))
    assert numbers is not None  # a token that float() rejects was refused above
    return numbers


def parse_ranks(cells: Sequence[object]) -> NDArray[np.float64]:
    """Parse the cells of a rank column; cells without a number become NaN, because ranks are not used for scoring."""
    ranks = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        try:
            ranks[row] = float(cell)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            continue
    return np.where(np.isfinite(ranks), ranks, np.nan)


def is_number(token: str) -> bool:
    """Return True if *token* is a number, finite or not, which distinguishes a row from a header."""
    try:
        float(token)
    except ValueError:
        return False
    return True


def _refuse_token(token: str, value: str, where: str) -> None:
    if not is_number(token):
        raise not_a_number(token, value=value, where=where)
    if not np.isfinite(float(token)):
        raise non_finite(token, value=value, where=where)
    if not _DECIMAL.issuperset(token):
        raise not_a_number(token, value=value, where=where)


def id_strings(cells: Sequence[object], *, role: str, integers: bool, place: Place) -> list[str]:
    """Return ids as strings: text stays, integers become decimal if *integers*, anything else is refused.

    *role* is the word for messages: "query" or "item".
    """
    kinds = set(map(type, cells))
    if kinds <= {str}:
        ids: list[str] = list(cells)  # type: ignore[arg-type]
    elif integers and kinds <= {int}:
        ids = list(map(str, cells))
    else:
        ids = [_id_string(cell, role, integers, place, row) for row, cell in enumerate(cells)]
    if not all(ids):
        raise InputError(f"the {role} id is empty", where=place(ids.index("")), remedy=f"give every row a {role} id")
    _refuse_surrogates(ids, role, place)
    return ids


def _id_string(cell: object, role: str, integers: bool, place: Place, row: int) -> str:
    if isinstance(cell, str):
        return str(cell)
    if integers and isinstance(cell, (int, np.integer)) and not isinstance(cell, bool):
        return str(int(cell))
    if isinstance(cell, (float, np.floating)) and abs(float(cell)) >= _EXACT:
        raise _rounded_id(repr(float(cell)), role, place(row))
    if is_missing(cell):
        raise InputError(f"the {role} id is missing ({cell})", where=place(row), remedy="drop the row or give it an id")
    raise InputError(
        f"the {role} id {shorten(cell)} is of type {type(cell).__name__}, not a string",
        where=place(row),
        remedy=f"ids are strings: use str({role})",
    )


# Notations of integers that were converted to a double: 9007199254740992.0 and 9.007199254740993e+15.
_FLOAT_NOTATION = re.compile(r"[0-9]{16,}\.0|[0-9]\.[0-9]{5,}[eE]\+?(1[5-9]|2[0-9])")
_EXACT = 2.0**53


def refuse_rounded(ids: Sequence[str], *, role: str, place: Place) -> None:
    """Raise InputError for an id that was a floating-point number and is too large to be exact."""
    if "." not in "".join(ids):
        return
    for row, text in enumerate(ids):
        if _FLOAT_NOTATION.fullmatch(text) and float(text) >= _EXACT:
            raise _rounded_id(text, role, place(row))


def _rounded_id(text: str, role: str, where: str) -> InputError:
    return InputError(
        f"the {role} id {shorten(text)} was a floating-point number, which holds no whole number above 2**53 exactly",
        where=where,
        remedy="write the ids as text from the start, pandas.read_csv(…, dtype=str)",
    )


def _refuse_surrogates(ids: list[str], role: str, place: Place) -> None:
    joined = "".join(ids)
    if joined.isascii():
        return
    try:
        joined.encode()
    except UnicodeEncodeError:
        row = next(row for row, text in enumerate(ids) if any("\ud800" <= c <= "\udfff" for c in text))
        raise InputError(
            f"the {role} id {ascii(ids[row])[:80]} holds half of a surrogate pair, which is not a character",
            where=place(row),
            remedy="repair the text of the id; it cannot be written as UTF-8",
        ) from None


def numeric_values(cells: Sequence[object], *, value: str, place: Place) -> NDArray[np.float64]:
    """Return real numbers as float64; booleans, text and missing cells are refused."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "iuf":
        return cells.astype(np.float64)
    if not set(map(type, cells)) <= {int, float}:
        for row, cell in enumerate(cells):
            _refuse_value(cell, value, place(row))
    try:
        return np.array([float(cell) for cell in cells], np.float64)  # type: ignore[arg-type]
    except OverflowError:
        row = next(row for row, cell in enumerate(cells) if isinstance(cell, int) and abs(cell) >= 1 << 1023)
        raise non_finite("of more than 300 digits", value=value, where=place(row)) from None


def _refuse_value(cell: object, value: str, where: str) -> None:
    if isinstance(cell, (int, float, np.integer, np.floating)) and not isinstance(cell, bool):
        return
    if is_missing(cell):
        raise InputError(f"the {value} is missing ({cell})", where=where, remedy=f"drop the row or give it a {value}")
    raise InputError(
        f"the {value} {shorten(cell)} is of type {type(cell).__name__}, not a number",
        where=where,
        remedy=f"every {value} must be a real number: convert it with int() or float()",
    )


def is_missing(cell: object) -> bool:
    """Return True if *cell* is a missing value: None, NaN, or NA and NaT of pandas."""
    return (
        cell is None
        or (isinstance(cell, (float, np.floating)) and bool(np.isnan(cell)))
        or type(cell).__name__ in {"NAType", "NaTType"}
    )


def refuse_non_finite(values: NDArray[np.float64], *, value: str, place: Place) -> None:
    """Raise for the first value that is NaN or infinite."""
    finite = np.isfinite(values)
    if not finite.all():
        row = int(np.argmin(finite))
        raise non_finite(str(values[row]), value=value, where=place(row))


def non_finite(token: str, *, value: str, where: str) -> InputError:
    """Return the error for a value that is NaN, infinite or too large for a double."""
    return InputError(
        f"the {value} {shorten(token)} is not a finite number",
        where=where,
        remedy=f"every {value} must be a finite decimal number",
    )


def not_a_number(token: str, *, value: str, where: str) -> InputError:
    """Return the error for a value that is not a decimal number."""
    return InputError(
        f"the {value} {shorten(token)} is not a number",
        where=where,
        remedy=f"write the {value} as a decimal number such as 1 or 0.25",
    )


def find_duplicate(values: Sequence[Hashable]) -> tuple[int, int] | None:
    """Return the positions of the first value that is repeated: of its first and of its second occurrence.

    >>> find_duplicate(["a", "b", "c", "b"]), find_duplicate(["a", "b"])
    ((1, 3), None)
    """
    if len(set(values)) == len(values):
        return None
    first: dict[Hashable, int] = {}
    return next((first[value], at) for at, value in enumerate(values) if first.setdefault(value, at) != at)
