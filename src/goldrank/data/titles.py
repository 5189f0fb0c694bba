"""Match titles that differ only in spelling: HTML entities, encoding, Unicode form, white space, case."""

from __future__ import annotations

import html
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress


def normal_title(title: str) -> str:
    """Return a title without differences that are due to its storage.

    >>> normal_title(" Ratchet &amp;amp;  Clank ")
    'Ratchet & Clank'
    >>> normal_title("Cha\\u0302teau") == "Château"
    True
    """
    while (plain := html.unescape(title)) != title:
        title = plain
    return " ".join(unicodedata.normalize("NFC", title).split())


def repair_encoding(title: str) -> str:
    """Repair a title whose UTF-8 was decoded as Windows-1252 or Latin-1; other titles are returned unchanged.

    >>> repair_encoding("RomanÃ©e-Conti"), repair_encoding("Château")
    ('Romanée-Conti', 'Château')
    """
    if not title.isascii():
        for encoding in ("cp1252", "latin-1"):
            with suppress(UnicodeError):
                return title.encode(encoding).decode("utf-8")
    return title


def match_titles(wanted: Iterable[str], there: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Return the existing spelling of each wanted title, and the wanted titles that do not exist in any spelling.

    The same spelling is preferred, then the same normal form, then the same form with repaired encoding, then the same
    form without case. A form that several existing titles share is ambiguous and matches none of them.

    >>> match_titles(["Dungeons & Dragons", "DOOM", "Tetris"], ["Dungeons &amp; Dragons", "Doom"])
    ({'Dungeons & Dragons': 'Dungeons &amp; Dragons', 'DOOM': 'Doom'}, ['Tetris'])
    """
    spellings = dict.fromkeys(there)
    forms: list[Callable[[str], str]] = [normal_title, _repaired, fold_title]
    by_form = [(form, _by_form(spellings, form)) for form in forms]
    matches: dict[str, str] = {}
    missing: list[str] = []
    for title in dict.fromkeys(wanted):
        others = (alike[shared] for form, alike in by_form if (shared := form(title)) in alike)
        spelling = title if title in spellings else next(others, None)
        if spelling is None:
            missing.append(title)
        else:
            matches[title] = spelling
    return matches, missing


def _repaired(title: str) -> str:
    return repair_encoding(normal_title(title))


def fold_title(title: str) -> str:
    """Return the normal form of a title with its encoding repaired and without case."""
    return _repaired(title).casefold()


def _by_form(spellings: Iterable[str], form: Callable[[str], str]) -> Mapping[str, str]:
    """Return the spelling of each form; forms with several spellings are ambiguous and left out."""
    by_form: defaultdict[str, list[str]] = defaultdict(list)
    for spelling in spellings:
        by_form[form(spelling)].append(spelling)
    return {key: group[0] for key, group in by_form.items() if len(group) == 1}
