"""Parse numbers with size suffixes, and format durations and sizes in bytes."""

from __future__ import annotations

import re
from decimal import Decimal

from goldrank.errors import InputError, shorten

_SUFFIXES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "g": 10**9, "t": 10**12}
_WRITTEN = re.compile(r"(\d+(?:[_,]\d{3})*(?:\.\d+)?)(?:e\+?(\d{1,2}))?\s*([kmbgt]?)", re.IGNORECASE | re.ASCII)
_MOST = 10**15
_REMEDY = "write a number such as 20000, 1_000_000, 5M, 2k, 1B or 1e9"


def parse_count(text: str, what: str, *, least: int = 1) -> int:
    """Parse a whole number: digits, with `_` or `,` between thousands, an exponent, or the suffix k, M, B, G or T.

    >>> [parse_count(text, "items") for text in ("1e9", "1_000_000", "5M", "2.5k", "1B")]
    [1000000000, 1000000, 5000000, 2500, 1000000000]
    """
    number = _number(text, what)
    if number != number.to_integral_value():
        raise InputError(f"{what} is {shorten(text)}, which is not a whole number", remedy=_REMEDY)
    if number < least:
        raise InputError(f"{what} is {shorten(text)}", remedy=f"give {least} or more")
    return int(number)


def parse_amount(text: str, what: str, where: str = "") -> float:
    """Parse a number above 0, whole or not, in the same notation as `parse_count`.

    >>> parse_amount("12.5", "words")
    12.5
    """
    number = _number(text, what, where)
    if number <= 0:
        raise InputError(f"{what} is {shorten(text)}", where=where, remedy="give a number above 0")
    return float(number)


def _number(text: str, what: str, where: str = "") -> Decimal:
    written = _WRITTEN.fullmatch(text.strip())
    if written is None:
        raise InputError(f"{what} is {shorten(text)}, which is not a number of 0 or more", where=where, remedy=_REMEDY)
    digits, exponent, suffix = written.groups()
    number = Decimal(re.sub("[_,]", "", digits)) * Decimal(10) ** int(exponent or 0) * _SUFFIXES[suffix.lower()]
    if number > _MOST:
        raise InputError(f"{what} is {shorten(text)}, which is more than {_MOST:.0e}", where=where, remedy=_REMEDY)
    return number


def format_duration(seconds: float) -> str:
    """Return a duration in a unit that needs few digits.

    >>> [format_duration(seconds) for seconds in (0.0004, 0.25, 42, 600, 9000, 1e6, 1e9)]
    ['<1 ms', '0.25 s', '42 s', '10 min', '2.5 h', '11.6 days', '31.7 years']
    """
    if seconds == 0:
        return "–"
    if seconds < 0.001:
        return "<1 ms"
    if seconds < 90:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    for unit, size, most in (("min", 60, 90), ("h", 3600, 48), ("days", 86400, 730)):
        if seconds / size < most:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / (365.25 * 86400):.3g} years"


def format_bytes(size: float) -> str:
    """Return a size in bytes in decimal units.

    >>> [format_bytes(size) for size in (0, 900, 307_200_045, 3.1e12, 2e16)]
    ['0 B', '900 B', '307.2 MB', '3.1 TB', '20.0 PB']
    """
    units = ("B", "kB", "MB", "GB", "TB", "PB")
    power = min(len(units) - 1, max(0, len(str(int(size))) - 1) // 3)
    return f"{size:.0f} B" if power == 0 else f"{size / 1000**power:.1f} {units[power]}"
