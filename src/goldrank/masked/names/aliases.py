"""Read tables of aliases, and group the guesses that name the same person."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from goldrank.errors import InputError, shorten
from goldrank.io.column_names import FieldRoles, listing, normal
from goldrank.io.files import PathLike, display_name, read_bytes
from goldrank.io.formats.delimited import split_rows
from goldrank.io.formats.json_files import decode_text
from goldrank.masked.names.folding import fold
from goldrank.masked.names.parts import AROUND, parse_name
from goldrank.masked.names.patterns import Pattern, Tier
from goldrank.masked.names.variants import spelling

_TITLE_NAMES = ("title", "name", "page")
_WEAK = ("page",)
"""Names that are used only if there is no other, because they may also be ids."""
_ALIAS_NAMES = ("alias", "aliases", "other_name", "other_names", "names")
_SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl"}


GivenAliases = Mapping[str, Sequence[str]] | PathLike | None


def aliases_of(aliases: GivenAliases, columns: FieldRoles | None = None) -> Mapping[str, Sequence[str]]:
    """Return other names of persons by title, read from a file if that is given; *columns* as in `read_aliases`."""
    if aliases is None:
        return {}
    return aliases if isinstance(aliases, Mapping) else read_aliases(aliases, columns)


def read_aliases(path: PathLike, columns: FieldRoles | None = None) -> dict[str, tuple[str, ...]]:
    """Return the other names of each title, from a table with the columns *title* and *alias*.

    CSV and TSV have one alias per row. Records of JSON Lines have one or a list. JSON is a list of such records or
    ``{"John F. Kennedy": ["JFK"]}``. A title may have several rows. The role of each column is added to
    *columns*.
    """
    name = display_name(path)
    aliases: dict[str, dict[str, None]] = {}
    columns = FieldRoles() if columns is None else columns
    columns.source = name
    for place, title, alias in _rows(read_bytes(path), name, _format_of(name), columns):
        for role, cell in (("title", title), ("alias", alias)):
            if not isinstance(cell, str) or not cell.strip():
                raise InputError(f"the {role} {shorten(cell)} is not a name", where=place, remedy="write a name")
        aliases.setdefault(str(title).strip(), {})[str(alias).strip()] = None
    return {title: tuple(names) for title, names in aliases.items()}


def _format_of(name: str) -> str:
    suffixes = [suffix for suffix in Path(name).suffixes if suffix in _SUFFIXES]
    if not suffixes:
        raise InputError(
            "the format of the table is unknown", where=name, remedy=f"use one of the suffixes {', '.join(_SUFFIXES)}"
        )
    return _SUFFIXES[suffixes[-1]]


def _rows(data: bytes, name: str, kind: str, columns: FieldRoles) -> Iterator[tuple[str, object, object]]:
    if kind in ("csv", "tsv"):
        yield from _table_rows(data, name, kind, columns)
    elif kind == "jsonl":
        for number, line in enumerate(data.decode().split("\n"), start=1):
            if line.strip():
                yield from _record_rows(decode_text(line, name, first_line=number), f"{name}:{number}", columns)
    else:
        content = decode_text(data.decode(), name, first_line=1)
        if isinstance(content, dict) and not any(normal(key) in _TITLE_NAMES for key in content):
            for title, aliases in content.items():
                yield from _listed(f"{name}: {shorten(title)}", title, aliases)
        else:
            records = content if isinstance(content, list) else [content]
            for number, record in enumerate(records, start=1):
                yield from _record_rows(record, f"{name}: record {number}", columns)


def _table_rows(data: bytes, name: str, kind: str, columns: FieldRoles) -> Iterator[tuple[str, object, object]]:
    rows = split_rows(data, name, kind)
    line, header = next(rows, (1, []))
    title_at, alias_at = _positions(header, f"{name}:{line}", columns)
    for number, row in rows:
        place = f"{name}:{number}"
        yield place, row[title_at], row[alias_at]


def _record_rows(record: object, place: str, columns: FieldRoles) -> Iterator[tuple[str, object, object]]:
    if not isinstance(record, dict):
        raise InputError(f"{shorten(record)} is not a record", where=place, remedy='write {"title": "…", "alias": "…"}')
    keys = list(record)
    title_at, alias_at = _positions(keys, place, columns)
    yield from _listed(place, record[keys[title_at]], record[keys[alias_at]])


def _listed(place: str, title: object, aliases: object) -> Iterator[tuple[str, object, object]]:
    for alias in aliases if isinstance(aliases, list) else [aliases]:
        yield place, title, alias


def _positions(header: Sequence[str], where: str, columns: FieldRoles) -> tuple[int, int]:
    """Return the positions of the title and the alias, and add what each column was read as to *columns*."""
    title_at, alias_at = (_column(header, names, where) for names in (_TITLE_NAMES, _ALIAS_NAMES))
    columns.add(header, {header[title_at]: "title", header[alias_at]: "alias"})
    return title_at, alias_at


def _column(header: Sequence[str], accepted: tuple[str, ...], where: str) -> int:
    positions = [at for at, name in enumerate(header) if normal(name) in accepted]
    usual = [at for at in positions if normal(header[at]) not in _WEAK]
    if len(usual) > 1:
        raise InputError(
            f"several columns could be the {accepted[0]}: {listing([header[at] for at in usual])}",
            where=where,
            remedy="rename or drop all but one of them",
        )
    if positions:
        return (usual or positions)[0]
    raise InputError(
        f"there is no column {accepted[0]!r} (columns: {listing(header)})",
        where=where,
        remedy="name the columns title and alias",
    )


@dataclass(frozen=True, slots=True)
class _Form:
    """A guess without differences of spelling."""

    key: str
    written: str
    """Its words in written order, which distinguishes spellings of one form."""
    words: tuple[str, ...]
    """Its full names and their spellings; empty if the guess is not a name."""
    fullness: tuple[int, int, int]
    """Number of full names, initials and further marks; a fuller name can absorb a less full one."""


_ONE_NAME = (1, 0, 0)


def group_aliases(guesses: Sequence[str], scores: Sequence[Sequence[float]] | None = None) -> list[int]:
    """Return a group number for each guess; guesses in one group name the same person, judged by the guesses alone.

    A name joins the fuller name in the list that it agrees with. If several fuller names have it as their surname, it
    joins the one whose group has the largest sum of scores, of equal sums the alphabetically first; a given name that
    several names share stays alone. Names join from the fullest down (most names, then most initials), all names of one
    fullness at once, and sums are taken before they join, so the order of the guesses has no influence.
    Groups are numbered by their first guess.

    Args:
        guesses: Guessed names.
        scores: The scores of each guess; by default each guess counts 1.

    >>> group_aliases(["Truman", "he", "Harry S. Truman", "truman's", "Harry Truman"])
    [0, 1, 0, 0, 0]
    >>> group_aliases(["Bess Truman", "Harry Truman", "Truman"], [[0.2], [0.3], [0.4]])
    [0, 1, 1]
    """
    forms = [_form(guess) for guess in guesses]
    spellings: dict[str, tuple[_Form, str]] = {}
    for form, guess in zip(forms, guesses, strict=True):
        # The smallest spelling represents all, so that the order of the guesses has no influence.
        known = spellings.get(form.key)
        if known is None or form.written < known[0].written:
            spellings[form.key] = (form, guess)
    leaders = _leaders(spellings, forms, scores or [(1.0,)] * len(forms))
    numbers: dict[str, int] = {}
    return [numbers.setdefault(leaders[form.key], len(numbers)) for form in forms]


@lru_cache(maxsize=1 << 17)
def _form(guess: str) -> _Form:
    name = parse_name(guess)
    parts = sorted({part for word in name.names for part in word.split("-")})
    words = tuple(part for part in parts if len(part) > 1)
    if not parts:
        return _Form(f"= {fold(guess).strip(AROUND) or guess.strip()}", "", (), (0, 0, 0))
    if not words:
        return _Form(name.key, name.key, (name.key, spelling(name.key)), _ONE_NAME)
    marks = (name.numerals, name.places, name.epithets, name.ordinals, name.qualifiers)
    # Marks are kept apart by kind, so that Henry of York is not Henry the York.
    key = "|".join([" ".join(parts), *(" ".join(sorted(mark)) for mark in marks)]) if any(marks) else " ".join(parts)
    fullness = len(words), len(parts) - len(words), sum(map(len, marks))
    return _Form(key, name.key, (*words, *map(spelling, words)), fullness)


@lru_cache(maxsize=1 << 14)
def _pattern(guess: str) -> Pattern:
    return Pattern(parse_name(guess))


def _leaders(
    spellings: Mapping[str, tuple[_Form, str]], forms: Sequence[_Form], scores: Sequence[Sequence[float]]
) -> dict[str, str]:
    """Return for each name the key of the fullest name in its group."""
    leaders: dict[str, str] = {}
    fuller: dict[str, list[tuple[str, str]]] = {}
    ordered = sorted(spellings.values(), key=lambda entry: entry[0].fullness, reverse=True)
    for fullness, level in groupby(ordered, key=lambda entry: entry[0].fullness):
        alone: list[tuple[_Form, str]] = []
        shared: dict[str, list[str]] = {}
        for form, guess in level:
            candidates = _candidates(form, guess, fuller)
            if len(candidates) > 1:
                shared[form.key] = candidates
            else:
                leaders[form.key] = candidates[0] if candidates else form.key
            if not candidates:
                alone.append((form, guess))
        if shared:
            sums = _sums(leaders, forms, scores)
            for key, candidates in shared.items():
                leaders[key] = min(candidates, key=lambda leader: (-sums[leader], spellings[leader][0].written, leader))
        # Names of one level never join each other, or their order would matter.
        if fullness > _ONE_NAME:
            for form, guess in alone:
                pattern = _pattern(guess)
                for word in pattern.words | pattern.spellings:
                    fuller.setdefault(word, []).append((form.key, guess))
    return leaders


def _candidates(form: _Form, guess: str, fuller: Mapping[str, list[tuple[str, str]]]) -> list[str]:
    """Return the fuller name that agrees with *guess*; if there are several, those with the same surname."""
    names = {key: name for word in form.words if word in fuller for key, name in fuller[word]}
    agreeing = [(key, tier) for key, name in names.items() if (tier := _agreement(name, guess))]
    return [key for key, tier in agreeing if len(agreeing) == 1 or tier >= Tier.SURNAME]


@lru_cache(maxsize=1 << 16)
def _agreement(fuller: str, guess: str) -> int:
    """Return the `Tier` of a guess for a fuller name, or 0 if it does not match."""
    pattern = _pattern(fuller)
    match = pattern.judge(pattern.read(guess))
    return 0 if match is None else match.tier


def _sums(leaders: Mapping[str, str], forms: Sequence[_Form], scores: Sequence[Sequence[float]]) -> dict[str, float]:
    """Return the current sum of scores of each group, exactly rounded."""
    gathered: dict[str, list[float]] = {}
    for form, each in zip(forms, scores, strict=True):
        if (leader := leaders.get(form.key)) is not None:
            gathered.setdefault(leader, []).extend(each)
    return {leader: math.fsum(values) for leader, values in gathered.items()}
