"""Recognise the layout of a table of predictions by its columns, and convert it to one row per mask.

There are three layouts. *Lists*: the names of a mask in one cell (with a column ``mask``), or those of all masks of an
example or page in one cell (without it). *Wide*: columns ``prediction_0``, ``prediction_1`` … *Tidy*: one row per name.
Rows may be in any order, because they are joined by the key of the mask.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from goldrank.data.collections.records import PlacedRecord, Record
from goldrank.errors import InputError, counts, shorten
from goldrank.io.checks import find_duplicate, id_strings, is_missing
from goldrank.io.column_names import FURTHER, listing, normal
from goldrank.io.formats.json_files import decode
from goldrank.masked.examples.chunks import MaskKey, describe_place
from goldrank.masked.predictions.rows import LARGEST, PredictionRow, Remarks, parse_guesses, parse_score

MasksByPage = Mapping[str, Sequence[tuple[int, int]]]
"""The sequence number and the number of masks of each example of a page, in the order of the page."""

# Earlier names take precedence: in a table with both `page_id` and `id`, the latter numbers the rows.
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
# Where the examples are given too, these are read from them instead of from the predictions.
OF_EXAMPLES = ("title", "hidden", "answers", "masks", "length", "type", "text", FURTHER)
# A table in which several columns could have one of these roles is refused. `id` may also number the rows.
_DECISIVE = ("page", "sequence", "mask", "title", "guesses", "guess")
_NUMBERED = re.compile(r"(?:(prediction|guess)|score)_(\d{1,4})")


@dataclass(frozen=True)
class PredictionColumns:
    """The columns of a table by role."""

    roles: Mapping[str, str]
    wide: tuple[tuple[str, str | None], ...]
    """The columns of the first, second … name and its score."""
    extra: tuple[str, ...]

    @property
    def role_of(self) -> dict[str, str]:
        """The role of each column that is not ignored."""
        return {
            **dict.fromkeys(self.extra, FURTHER),
            **{name: "guesses" for name, _ in self.wide},
            **{score: "scores" for _, score in self.wide if score is not None},
            **{name: role for role, name in self.roles.items()},
        }


def find_columns(names: Sequence[str], where: str) -> PredictionColumns:
    """Recognise the layout of a table with the columns *names*."""
    keys = {normal(name): name for name in reversed(names)}
    if repeated := find_duplicate(names):
        twice = names[repeated[0]]
        raise InputError(f"two columns are called {shorten(twice)}", where=where, remedy="rename or drop one")
    roles = _first_of(_ROLES, keys, where)
    if "page" not in roles:
        raise InputError(
            f"there is no column with the id of the page (columns: {listing(names)})",
            where=where,
            remedy=f"call it one of {', '.join(_ROLES['page'])}",
        )
    wide = _wide_columns(keys, where)
    tidy = _first_of(_TIDY, keys, where)
    layouts = [roles.get("guesses"), wide[0][0] if wide else None, tidy.get("guess")]
    if len(several := [name for name in layouts if name is not None]) > 1:
        raise _ambiguous(several, "the predictions", where)
    if "guesses" not in roles:
        roles.pop("scores", None)
        roles |= {} if wide else tidy
    if "guesses" not in roles and "guess" not in roles and not wide:
        raise InputError(
            f"there are no predictions (columns: {listing(names)})",
            where=where,
            remedy="give predictions (a list), prediction_0, prediction_1 …, or prediction with rank",
        )
    used = {*roles.values(), *(name for pair in wide for name in pair)}
    used |= {keys[name] for name in _ROLES["text"] if name in keys}
    return PredictionColumns(roles, wide, tuple(name for name in names if name not in used))


def _first_of(roles: Mapping[str, Sequence[str]], keys: Mapping[str, str], where: str) -> dict[str, str]:
    candidates = {role: [keys[name] for name in names if name in keys] for role, names in roles.items()}
    for role in _DECISIVE:
        several = [name for name in candidates.get(role, ()) if normal(name) != "id"]
        if len(several) > 1:
            raise _ambiguous(several, f"the {role}", where)
    return {role: names[0] for role, names in candidates.items() if names}


def _ambiguous(names: Sequence[str], what: str, where: str) -> InputError:
    return InputError(
        f"several columns could be {what}: {listing(names)}", where=where, remedy="rename or drop all but one of them"
    )


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
            what = f"there is no column prediction_{number}, but one for a later prediction or a score"
            raise InputError(what, where=where, remedy="number the columns without a gap")
    return tuple((names[number], scores.get(number)) for number in range(first, last + 1))


@dataclass
class _Entry:
    """A record with its recognised columns; for tidy tables, the first record of a mask."""

    place: str
    record: Record
    columns: PredictionColumns
    page: str = field(init=False)
    sequence: int | None = field(init=False)
    """None if the table has no sequence numbers."""

    def __post_init__(self) -> None:
        page = self.record[self.columns.roles["page"]]
        self.page = id_strings([page], role="page", integers=True, place=lambda _: self.place)[0]
        self.sequence = self.whole("sequence", "sequence number")
        if self.sequence is None and "sequence" in self.columns.roles:
            raise InputError("the sequence number is missing", where=self.where(), remedy="number every example")

    def get(self, role: str) -> object:
        """Return the value for *role*, or None if there is none."""
        name = self.columns.roles.get(role)
        value = None if name is None else self.record[name]
        return None if is_blank(value) else value

    def text(self, role: str) -> str | None:
        """Return the value for *role* as text."""
        value = self.get(role)
        return None if value is None else str(value)

    def whole(self, role: str, word: str) -> int | None:
        """Return the value for *role* as a whole number >= 0; text and integral floats are accepted."""
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
            f"the {word} {shorten(value)} is not a whole number >= 0", where=self.place, remedy="count from 0"
        )

    def mask(self) -> int:
        """Return the number of the mask; 0 if the table does not number masks."""
        number = self.whole("mask", "mask")
        if number is None and "mask" in self.columns.roles:
            raise InputError("the number of the mask is missing", where=self.where(), remedy="number masks from 0")
        return number or 0

    def hidden(self) -> Sequence[object] | None:
        """Return the hidden texts of all masks of the example, if the record has them."""
        value = self.get("masks")
        if isinstance(value, str) and value.startswith("["):
            value = _parse_literal(value, self.place)
        return value if isinstance(value, (list, tuple)) else None

    def answers(self, mask: int, *, nested: bool) -> tuple[str, ...] | None:
        """Return the right answers of a mask if the record lists them; *nested* if it lists those of all masks."""
        value = self.get("answers")
        if isinstance(value, str) and value.startswith("["):
            value = _parse_literal(value, self.place)
        if nested and isinstance(value, (list, tuple)):
            value = value[mask] if mask < len(value) else None
        all_hidden = self.hidden()
        if value is None and all_hidden is not None and mask < len(all_hidden):
            value = all_hidden[mask] if isinstance(all_hidden[mask], (list, tuple)) else None
        if value is None:
            value = self.titles()
        if value is None:
            return None
        if not isinstance(value, (list, tuple)) or not value or not all(isinstance(answer, str) for answer in value):
            what = f"the right answers {shorten(value)} are not a list of strings"
            raise InputError(what, where=self.where(mask), remedy='write ["…", "…"], or leave them out')
        return tuple(value)

    def titles(self) -> Sequence[object] | None:
        """Return the titles if the record has a list of them."""
        value = self.get("title")
        return value if isinstance(value, (list, tuple)) and value else None

    def where(self, mask: int | None = None) -> str:
        """Return the place for messages."""
        return f"{self.place}: {describe_place(self.page, getattr(self, 'sequence', None), mask)}"


def is_blank(value: object) -> bool:
    """Return True if a cell is empty."""
    return value is None or value == "" or is_missing(value)


class RowReader:
    """Converts records of any layout to validated rows."""

    def __init__(self, *, pad: bool = False, remarks: Remarks | None = None, pages: MasksByPage | None = None) -> None:
        self.remarks = Remarks() if remarks is None else remarks
        self._pad = pad
        self._pages = {} if pages is None else pages
        self._columns: dict[tuple[str, ...], PredictionColumns] = {}

    def rows(self, records: Iterable[PlacedRecord]) -> Iterator[PredictionRow]:
        """Yield one row per mask; those of tidy tables come last, when all their names are known."""
        tidy: dict[tuple[str, int | None, int], _TidyMask] = {}
        for place, record in records:
            entry = _Entry(place, record, self.columns_of(tuple(record), place))
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

    def columns_of(self, names: tuple[str, ...], place: str) -> PredictionColumns:
        """Return the columns of a record by role; their roles are added to the remarks."""
        if names not in self._columns:
            self._columns[names] = find_columns(names, place)
            self.remarks.columns.add(names, self._columns[names].role_of)
        return self._columns[names]

    def _nested_rows(self, entry: _Entry) -> Iterator[PredictionRow]:
        """Yield the masks of a record that has the lists of all masks."""
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
                    remedy="write [[…], …], or add a column mask with the number of the mask",
                )
            own_scores = None if scores is None else _list(scores[number], "scores", where)
            yield self._row(entry, number, _list(names, "guesses", where) or (), own_scores, len(lists))

    def _row(
        self,
        entry: _Entry,
        number: int,
        names: Sequence[object],
        scores: Sequence[object] | None,
        masks: int | None = None,
    ) -> PredictionRow:
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
            # The record describes the page, which is the example only if there is no other.
            length = length if len(examples) == 1 else None
        return PredictionRow(
            entry.place,
            key,
            parse_guesses(key, names, scores, entry.place, pad=self._pad, remarks=self.remarks),
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
    # Rows with fewer names than columns end with empty cells.
    while pairs and is_blank(pairs[-1][0]) and is_blank(pairs[-1][1]):
        pairs.pop()
    return [None if is_blank(name) else name for name, _ in pairs], _scores_or_none([score for _, score in pairs])


def _scores_or_none(cells: Sequence[object]) -> list[object] | None:
    """Return the scores, with None for empty cells; None if all cells are empty."""
    scores = [None if cell == "" else cell for cell in cells]
    return None if all(score is None for score in scores) else scores


class _TidyMask:
    """The names of one mask, collected from rows anywhere in the table."""

    def __init__(self, first: _Entry) -> None:
        self.first = first
        self._ranked: dict[int, tuple[object, object]] = {}
        self._unranked: list[tuple[object, object]] = []

    def add(self, entry: _Entry) -> None:
        """Add one name; a row without a name only states that the mask exists."""
        name, rank = entry.get("guess"), entry.whole("rank", "rank")
        score = entry.record[entry.columns.roles["score"]] if "score" in entry.columns.roles else None
        if name is None and is_blank(score):
            return
        if rank is None:
            self._unranked.append((name, parse_score(None if score == "" else score, entry.where(entry.mask()))))
        elif rank in self._ranked:
            where = entry.where(entry.mask())
            raise InputError(f"rank {rank} appears twice", where=where, remedy="give every name its own rank")
        else:
            self._ranked[rank] = name, score
        if self._ranked and self._unranked:
            where = entry.where(entry.mask())
            raise InputError("some predictions have a rank and some do not", where=where, remedy="rank all or none")

    def ranked(self) -> tuple[list[object], list[object] | None]:
        """Return the names and scores ordered by rank, or else by descending score and name."""
        pairs = [pair for _, pair in sorted(self._ranked.items())]
        pairs += sorted(self._unranked, key=lambda pair: (-float(str(pair[1])), str(pair[0])))
        return [name for name, _ in pairs], _scores_or_none([score for _, score in pairs])


def _numbered_through(page: str, number: int, examples: Sequence[tuple[int, int]]) -> tuple[MaskKey, int]:
    """Return the key of a mask that is counted through a page; surplus masks belong to the last example."""
    for sequence, masks in examples[:-1]:
        if number < masks:
            return MaskKey(page, sequence, number), masks
        number -= masks
    sequence, masks = examples[-1]
    return MaskKey(page, sequence, number), masks


def _list(value: object, role: str, where: Callable[[], str]) -> Sequence[object] | None:
    """Return the list in a cell, if any; in CSV it is a JSON or Python literal."""
    if isinstance(value, str):
        value = _parse_literal(value, where())
    if value is None or isinstance(value, (list, tuple)):
        return value
    word, of = ("scores", "finite numbers") if role == "scores" else ("predictions", "names")
    what = f"the {word} {shorten(value)} are not a list of {of}"
    raise InputError(what, where=where(), remedy="write [0.5, 0.2]" if role == "scores" else 'write ["…", "…"]')


def _parse_literal(text: str, place: str) -> object:
    try:
        return decode(text, place, first_line=1)
    except InputError:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return text
