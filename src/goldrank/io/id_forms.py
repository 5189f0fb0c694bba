"""Find ids that differ only in spelling: Unicode form, number format, case or white space."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from goldrank.errors import InputError, shorten

# Two digits of exponent are enough for any id, and keep the decimal small.
_NUMBER = re.compile(r"[+-]?[0-9]{1,60}(\.[0-9]{0,60})?([eE][+-]?[0-9]{1,2})?")


@dataclass(frozen=True)
class IdForms:
    """A difference in spelling between the ids of two sides, with an example."""

    what: str
    """The difference, such as "the number format"."""
    first: str
    second: str
    count: int
    """The number of ids of the first side that differ only in this from one of the second."""
    remedy: str

    def __str__(self) -> str:
        return f"{self.what} (such as {shorten(self.first)} and {shorten(self.second)})"


def compare_forms(first: Iterable[str], second: Iterable[str]) -> IdForms | None:
    """Return the difference in spelling that explains most of the ids in *first* that are not in *second*, or None.

    >>> str(compare_forms(["007", "12"], ["7", "12"]))
    "the number format (such as '007' and '7')"
    """
    ones, others = set(first), set(second)
    unmatched, partners = sorted(ones - others), sorted(others - ones, reverse=True)
    differences = [_compare(unmatched, partners, what, form, remedy) for what, form, remedy in _FORMS]
    return max((forms for forms in differences if forms), key=lambda forms: forms.count, default=None)


def disjoint_queries(gold: Sequence[str], run: Sequence[str]) -> InputError:
    """Return the error for a run that has no query of the gold, with a remedy if only the spelling differs."""
    forms = compare_forms(gold, run)
    return InputError(
        f"no query of the run is in the gold (the run has {shorten(run[0])}, the gold {shorten(gold[0])})",
        remedy=f"the ids differ only in {forms}: {forms.remedy}"
        if forms
        else "check that both use the same query ids and that gold and run are not swapped",
    )


def _compare(
    ones: list[str], others: list[str], what: str, form: Callable[[str], str | None], remedy: str
) -> IdForms | None:
    by_form = {key: text for text in others if (key := form(text)) is not None}
    pairs = [(text, by_form[key]) for text in ones if (key := form(text)) is not None and key in by_form]
    return IdForms(what, *pairs[0], len(pairs), remedy) if pairs else None


def _composed(text: str) -> str | None:
    return None if text.isascii() else unicodedata.normalize("NFC", text)


def _number(text: str) -> str | None:
    if _NUMBER.fullmatch(text) is None:
        return None
    if text.isdigit() and text[0] != "0":
        return text
    value = Decimal(text)
    return f"{value:f}".rstrip("0").rstrip(".") if "." in f"{value:f}" else f"{value:f}"


_FORMS: tuple[tuple[str, Callable[[str], str | None], str], ...] = (
    ("the Unicode normal form", _composed, "write both in NFC, in Python unicodedata.normalize('NFC', id)"),
    ("the number format", _number, "keep ids as text in both files, in pandas dtype=str"),
    ("white space", lambda text: " ".join(text.split()), "write the ids without outer and double white space"),
    ("case", str.casefold, "write the ids in the same case in both files"),
)
