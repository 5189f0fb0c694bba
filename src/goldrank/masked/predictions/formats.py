"""Tables of predictions as people write them, recognised by their columns and turned into one row per mask.

Three layouts are known. *Lists*: the names of a mask in one cell (with a column ``mask``), or those of all masks of
an example or page in one cell (without it). *Wide*: ``prediction_0``, ``prediction_1`` … beside each other. *Tidy*: a
row for each name. Rows may stand in any order, because the key of a mask is all that joins them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from goldrank.errors import InputError, counts, shorten
from goldrank.io.checks import id_strings, is_missing
from goldrank.io.column_names import listing, normal
from goldrank.io.formats.json_files import decode
from goldrank.masked.examples.chunks import MaskKey, place_name
from goldrank.masked.predictions.rows import LARGEST, Record, Remarks, Row, checked, number_of

Placed = tuple[str, Record]
MasksByPage = Mapping[str, Sequence[tuple[int, int]]]
"""The sequence number and the number of masks of each example of a page, in the order of the page."""

# Earlier names win: where a table has both `page_id` and `id`, the second counts the rows.
_ROLES: dict[str, tuple[str, ...]] = {
    "page": ("page", "page_id", "pageid", "id"),
    "sequence": ("sequence", "sequence_number"),
    "mask": ("mask", "mask_index", "mask_number"),
    "title": ("title", "page_title"),
    "hidden": ("hidden",),
    "answers": ("answers",),
    "masks": ("masks",),
    "length": ("length", "input_length"),
    "type": ("type",),
    "text": ("texts", "text", "input_string"),
    "guesses": ("guesses", "predictions"),
    "scores": ("scores",),
}
_TIDY = {"guess": ("guess", "prediction"), "score": ("score",), "rank": ("rank",)}
_NUMBERED = re.compile(r"(?:(prediction|guess)|score)_(\d{1,4})")


@dataclass(frozen=True)
class Columns:
    """Which column of a table says what."""

    roles: Mapping[str, str]
    wide: tuple[tuple[str, str | None], ...]
    """The columns of the first, second … name and of their scores."""
    extra: tuple[str, ...]


def find_columns(names: Sequence[str], where: str) -> Columns:
    """Recognise the layout of a table with the columns *names*."""
    keys = {normal(name): name for name in reversed(names)}
    if twice := next((name for at, name in enumerate(names) if name in names[:at]), None):
        raise InputError(f"two columns are called {shorten(twice)}", where=where, remedy="rename or drop one")
    roles = _first_of(_ROLES, keys)
    if "page" not in roles:
        raise InputError(
            f"there is no column with the id of the page (columns: {listing(names)})",
            where=where,
            remedy=f"call it one of {', '.join(_ROLES['page'])}",
        )
    wide: tuple[tuple[str, str | None], ...] = ()
    if "guesses" not in roles:
        roles.pop("scores", None)
        wide = _wide_columns(keys, where)
        if not wide:
            roles |= _first_of(_TIDY, keys)
    if "guesses" not in roles and "guess" not in roles and not wide:
        raise InputError(
            f"there are no predictions (columns: {listing(names)})",
            where=where,
            remedy="give predictions (a list), prediction_0, prediction_1 …, or prediction with rank",
        )
    taken = {*roles.values(), *(name for pair in wide for name in pair)}
    taken |= {keys[name] for name in _ROLES["text"] if name in keys}
    return Columns(roles, wide, tuple(name for name in names if name not in taken))


def _first_of(wanted: Mapping[str, Sequence[str]], keys: Mapping[str, str]) -> dict[str, str]:
    found = {role: next((keys[name] for name in names if name in keys), None) for role, names in wanted.items()}
    return {role: name for role, name in found.items() if name is not None}


def _wide_columns(keys: Mapping[str, str], where: str) -> tuple[tuple[str, str | None], ...]:
    names: dict[int, str] = {}
    scores: dict[int, str] = {}
    for key, name in keys.items():
        if match := _NUMBERED.fullmatch(key):
            (names if match[1] else scores)[int(match[2])] = name
    if not names:
        return ()
    first, last = min(names), max({*names, *scores})
    for number in range(first, last + 1):
        if number not in names:
            what = f"there is no column prediction_{number}, but one for a later or its score"
            raise InputError(what, where=where, remedy="number the columns without a gap")
    return tuple((names[number], scores.get(number)) for number in range(first, last + 1))


@dataclass
class _Entry:
    """A record with its columns known; for tidy tables, the first record of a mask."""

    place: str
    record: Record
    columns: Columns
    page: str = field(init=False)
    sequence: int | None = field(init=False)
    """None where the table has no sequence numbers."""

    def __post_init__(self) -> None:
        page = self.record[self.columns.roles["page"]]
        self.page = id_strings([page], role="page", integers=True, place=lambda _: self.place)[0]
        self.sequence = self.whole("sequence", "sequence number")
        if self.sequence is None and "sequence" in self.columns.roles:
            raise InputError("the sequence number is missing", where=self.where(), remedy="number every example")

    def get(self, role: str) -> object:
        """What the record says of *role*; None where it says nothing."""
        name = self.columns.roles.get(role)
        value = None if name is None else self.record[name]
        return None if is_blank(value) else value

    def text(self, role: str) -> str | None:
        """The same as text."""
        value = self.get(role)
        return None if value is None else str(value)

    def whole(self, role: str, word: str) -> int | None:
        """The same as a count or number from 0, however it is written."""
        value = self.get(role)
        if value is None:
            return None
        if isinstance(value, str) and len(value) < 20 and value.strip().isdecimal():
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST:
            return value
        raise InputError(
            f"the {word} {shorten(value)} is no whole number from 0", where=self.place, remedy="count from 0"
        )

    def mask(self) -> int:
        """Which mask the record is for: the first where the table does not number them."""
        number = self.whole("mask", "mask")
        if number is None and "mask" in self.columns.roles:
            raise InputError("the number of the mask is missing", where=self.where(), remedy="number masks from 0")
        return number or 0

    def hidden(self) -> Sequence[object] | None:
        """What all masks of the example hid, where the record says so."""
        value = self.get("masks")
        if isinstance(value, str) and value.startswith("["):
            value = _unfolded(value, self.place)
        return value if isinstance(value, (list, tuple)) else None

    def answers(self, mask: int, *, nested: bool) -> tuple[str, ...] | None:
        """The right answers of a mask where the record lists them; *nested* says that it has those of all masks."""
        value = self.get("answers")
        if isinstance(value, str) and value.startswith("["):
            value = _unfolded(value, self.place)
        if nested and isinstance(value, (list, tuple)):
            value = value[mask] if mask < len(value) else None
        all_hidden = self.hidden()
        if value is None and all_hidden is not None and mask < len(all_hidden):
            value = all_hidden[mask] if isinstance(all_hidden[mask], (list, tuple)) else None
        if value is None:
            value = self.titles()
        if value is None:
            return None
        if not isinstance(value, (list, tuple)) or not value or not all(isinstance(one, str) for one in value):
            what = f"the right answers {shorten(value)} are no list of strings"
            raise InputError(what, where=self.where(mask), remedy='write ["…", "…"], or leave them out')
        return tuple(value)

    def titles(self) -> Sequence[object] | None:
        """The titles where the record lists several."""
        value = self.get("title")
        return value if isinstance(value, (list, tuple)) and value else None

    def where(self, mask: int | None = None) -> str:
        """The place, for messages."""
        return f"{self.place}: {place_name(self.page, getattr(self, 'sequence', None), mask)}"


def is_blank(value: object) -> bool:
    """Whether a cell is empty."""
    return value is None or value == "" or is_missing(value)


class RowReader:
    """Turns records of any layout into rows, checked and with remarks."""

    def __init__(self, *, pad: bool = False, remarks: Remarks | None = None, pages: MasksByPage | None = None) -> None:
        self.remarks = Remarks() if remarks is None else remarks
        self._pad = pad
        self._pages = {} if pages is None else pages
        self._columns: dict[tuple[str, ...], Columns] = {}

    def rows(self, records: Iterable[Placed]) -> Iterator[Row]:
        """One row per mask; those of tidy tables come at the end, when all of their names are known."""
        tidy: dict[tuple[str, int | None, int], _TidyMask] = {}
        for place, record in records:
            entry = _Entry(place, record, self._columns_of(record, place))
            if "guess" in entry.columns.roles:
                key = entry.page, entry.sequence, entry.mask()
                tidy.setdefault(key, _TidyMask(entry)).add(entry)
            elif entry.columns.wide:
                yield self._row(entry, entry.mask(), *_wide_lists(entry))
            elif "mask" in entry.columns.roles:
                names, scores = (_list(entry.get(role), role, entry.where) for role in ("guesses", "scores"))
                yield self._row(entry, entry.mask(), names or (), scores)
            else:
                yield from self._nested_rows(entry)
        for mask in tidy.values():
            yield self._row(mask.first, mask.first.mask(), *mask.ranked())

    def _columns_of(self, record: Record, place: str) -> Columns:
        names = tuple(record)
        if names not in self._columns:
            self._columns[names] = find_columns(names, place)
        return self._columns[names]

    def _nested_rows(self, entry: _Entry) -> Iterator[Row]:
        """The masks of a record that has the lists of all of them."""
        lists, scores = (_list(entry.get(role), role, entry.where) for role in ("guesses", "scores"))
        lists = lists or ()
        for other, word in ((scores, "lists of scores"), (entry.hidden(), "masks")):
            if other is not None and len(other) != len(lists):
                what = f"{counts(len(lists), 'list')} of predictions for {len(other)} {word}"
                raise InputError(what, where=entry.where(), remedy="give one list for each mask")
        for number, names in enumerate(lists):
            where = partial(entry.where, number)
            if isinstance(names, str):
                raise InputError(
                    f"the predictions are names ({shorten(names)} …), not a list for each mask",
                    where=where(),
                    remedy="write [[…], …], or say in a column mask which mask they are for",
                )
            its_scores = None if scores is None else _list(scores[number], "scores", where)
            yield self._row(entry, number, _list(names, "guesses", where) or (), its_scores, len(lists))

    def _row(
        self,
        entry: _Entry,
        number: int,
        names: Sequence[object],
        scores: Sequence[object] | None,
        masks: int | None = None,
    ) -> Row:
        nested = masks is not None
        self.remarks.unnumbered += not nested and "mask" not in entry.columns.roles
        hidden: object = entry.text("hidden")
        if (all_hidden := entry.hidden()) is not None:
            hidden, masks = (all_hidden[number] if number < len(all_hidden) else None), len(all_hidden)
            hidden = hidden[0] if isinstance(hidden, (list, tuple)) and hidden else hidden
        elif masks is None:
            masks = entry.whole("masks", "number of masks")
        length = entry.whole("length", "length")
        if length is None and "text" in entry.columns.roles:
            length = len(entry.text("text") or "")
        key = MaskKey(entry.page, entry.sequence or 0, number)
        if entry.sequence is None and (examples := self._pages.get(entry.page)):
            key, masks = _numbered_through(entry.page, number, examples)
            # The record describes the page, which is the example only where there is no other.
            length = length if len(examples) == 1 else None
        return Row(
            entry.place,
            key,
            checked(key, names, scores, entry.place, pad=self._pad, remarks=self.remarks),
            str(titles[0]) if (titles := entry.titles()) else entry.text("title"),
            None if hidden is None else str(hidden),
            masks,
            length,
            entry.text("type"),
            {name: entry.record[name] for name in entry.columns.extra},
            entry.answers(number, nested=nested),
        )


def _wide_lists(entry: _Entry) -> tuple[list[object], list[object] | None]:
    record = entry.record
    pairs = [(record[name], None if score is None else record[score]) for name, score in entry.columns.wide]
    # Rows with fewer names than the table has columns end in empty cells.
    while pairs and is_blank(pairs[-1][0]) and is_blank(pairs[-1][1]):
        pairs.pop()
    return [None if is_blank(name) else name for name, _ in pairs], _given([score for _, score in pairs])


def _given(scores: Sequence[object]) -> list[object] | None:
    """The scores, of which an empty cell is none; None where all are empty."""
    found = [None if score == "" else score for score in scores]
    return None if all(score is None for score in found) else found


class _TidyMask:
    """The names of one mask, gathered from rows that may stand anywhere."""

    def __init__(self, first: _Entry) -> None:
        self.first = first
        self._ranked: dict[int, tuple[object, object]] = {}
        self._unranked: list[tuple[object, object]] = []

    def add(self, entry: _Entry) -> None:
        """Take one more name; a row without one only says that the mask is there."""
        name, rank = entry.get("guess"), entry.whole("rank", "rank")
        score = entry.record[entry.columns.roles["score"]] if "score" in entry.columns.roles else None
        if name is None and is_blank(score):
            return
        if rank is None:
            self._unranked.append((name, number_of(None if score == "" else score, entry.where(entry.mask()))))
        elif rank in self._ranked:
            where = entry.where(entry.mask())
            raise InputError(f"rank {rank} is given twice", where=where, remedy="give every name its own rank")
        else:
            self._ranked[rank] = name, score
        if self._ranked and self._unranked:
            where = entry.where(entry.mask())
            raise InputError("some predictions have a rank and some none", where=where, remedy="rank all or none")

    def ranked(self) -> tuple[list[object], list[object] | None]:
        """The names and their scores: by rank, else the highest score first and equal ones by name."""
        pairs = [pair for _, pair in sorted(self._ranked.items())]
        pairs += sorted(self._unranked, key=lambda pair: (-float(str(pair[1])), str(pair[0])))
        return [name for name, _ in pairs], _given([score for _, score in pairs])


def _numbered_through(page: str, number: int, examples: Sequence[tuple[int, int]]) -> tuple[MaskKey, int]:
    """The key of a mask that is counted through a page; one too many is counted on in the last example."""
    for sequence, masks in examples[:-1]:
        if number < masks:
            return MaskKey(page, sequence, number), masks
        number -= masks
    sequence, masks = examples[-1]
    return MaskKey(page, sequence, number), masks


def _list(value: object, role: str, where: Callable[[], str]) -> Sequence[object] | None:
    """The list in a cell, if any; in CSV it is written as JSON, or as Python prints it."""
    if isinstance(value, str):
        value = _unfolded(value, where())
    if value is None or isinstance(value, (list, tuple)):
        return value
    word, of = ("scores", "finite numbers") if role == "scores" else ("predictions", "names")
    what = f"the {word} {shorten(value)} are no list of {of}"
    raise InputError(what, where=where(), remedy="write [0.5, 0.2]" if role == "scores" else 'write ["…", "…"]')


def _unfolded(text: str, place: str) -> object:
    try:
        return decode(text, place, first_line=1)
    except InputError:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return text
