"""Build Columns from mappings of queries to items, as in JSON files and Python objects."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, repeat

import numpy as np

from goldrank.errors import InputError, shorten
from goldrank.io.checks import Place, find_duplicate, id_strings, numeric_values, refuse_non_finite
from goldrank.io.column_names import ITEM, VALUE, listing, normal
from goldrank.io.columns import VALUE_WORD, Columns, TableKind, group


def from_pairs(pairs: Iterable[tuple[object, object]], kind: TableKind, source: str, *, integers: bool) -> Columns:
    """Return the columns of (query, answer) pairs; an answer has any of the forms that `unfold` accepts."""
    listed: list[object] = []
    items: list[object] = []
    values: list[object] = []
    ends: list[int] = []
    are_dicts = True
    for query, answer in pairs:
        # Composing the place takes ten times as long as unfolding a mapping, which needs none.
        where = "" if isinstance(answer, Mapping) else f"{source}: query {shorten(query)}"
        more_items, more_values = unfold(answer, kind, where=where)
        listed.append(query)
        items += more_items
        values += more_values
        ends.append(len(items))
        are_dicts &= isinstance(answer, dict)

    def place(row: int) -> str:
        position = bisect_right(ends, row)
        within = row - (ends[position - 1] if position else 0)
        return f"{source}: query {shorten(listed[position])}, item {within + 1}"

    queries = id_strings(listed, role="query", integers=integers, place=lambda row: source)
    if duplicate := find_duplicate(queries):
        raise InputError(
            f"the query {shorten(queries[duplicate[0]])} is listed twice",
            where=source,
            remedy="join its items under one key",
        )
    ids = id_strings(items, role="item", integers=integers, place=place)
    by_subtopic = kind == "gold" and values and all(isinstance(value, Mapping) and value for value in values)
    if are_dicts and ids == items and not by_subtopic:
        # The keys of a dict differ, and its rows are together already.
        numbers = numeric_values(values, value=VALUE_WORD[kind], place=place)
        refuse_non_finite(numbers, value=VALUE_WORD[kind], place=place)
        return Columns(queries, np.array([0, *ends], np.int64), ids, numbers, source)
    sizes = [end - start for start, end in zip([0, *ends], ends, strict=False)]
    rows = list(chain.from_iterable(map(repeat, queries, sizes)))
    if by_subtopic:
        return _by_subtopic(rows, ids, values, source, place, queries, integers)  # type: ignore[arg-type]
    numbers = numeric_values(values, value=VALUE_WORD[kind], place=place)
    return group(rows, ids, numbers, kind, source=source, place=place, listed=queries)


def _by_subtopic(
    queries: list[str],
    items: list[str],
    judged: list[Mapping[object, object]],
    source: str,
    place: Place,
    listed: list[str],
    integers: bool,
) -> Columns:
    """Return the columns of gold whose items have a grade for each subtopic: ``{"q1": {"d3": {"1": 2, "2": 1}}}``."""
    rows = list(chain.from_iterable(map(repeat, range(len(items)), map(len, judged))))

    def place_of(row: int) -> str:
        return place(rows[row])

    subtopics = [subtopic for grades in judged for subtopic in grades]
    return group(
        [queries[row] for row in rows],
        [items[row] for row in rows],
        numeric_values([grade for grades in judged for grade in grades.values()], value="grade", place=place_of),
        "gold",
        source=source,
        place=place_of,
        listed=listed,
        subtopics=id_strings(subtopics, role="subtopic", integers=integers, place=place_of),
    )


def unfold(answer: object, kind: TableKind, *, where: str) -> tuple[list[object], list[object]]:
    """Return the items and values of one query.

    An answer is a mapping of items to values, a list of (item, value) pairs, a list of records with an id and
    a value, or a list of items alone. Items alone have grade 1 in gold; in a run they are a ranking, best
    first, and the scores n, n - 1, …, 1 keep that order.
    """
    if isinstance(answer, Mapping):
        return list(answer.keys()), list(answer.values())
    if kind == "gold" and isinstance(answer, AbstractSet):
        answer = sorted(answer, key=str)
    if isinstance(answer, np.ndarray):
        answer = answer.tolist()
    if not isinstance(answer, Sequence) or isinstance(answer, (str, bytes)):
        raise _unknown_shape(answer, kind, where)
    entries = list(answer)
    if all(isinstance(entry, Mapping) for entry in entries):
        cells = [_record(entry, kind, f"{where}, item {n}") for n, entry in enumerate(entries, start=1)]
    elif any(isinstance(entry, (list, tuple)) for entry in entries):
        cells = [_pair(entry, kind, f"{where}, item {n}") for n, entry in enumerate(entries, start=1)]
    elif kind == "gold":
        return entries, [1] * len(entries)
    else:
        return entries, list(range(len(entries), 0, -1))
    return [item for item, _ in cells], [value for _, value in cells]


def _pair(entry: object, kind: TableKind, where: str) -> tuple[object, object]:
    if not isinstance(entry, (list, tuple)) or len(entry) != 2:
        raise InputError(
            f"{shorten(str(entry))} is not a pair of item and {VALUE_WORD[kind]}",
            where=where,
            remedy=f'write every entry as ["item", {VALUE_WORD[kind]}]',
        )
    return entry[0], entry[1]


def _record(entry: Mapping[object, object], kind: TableKind, where: str) -> tuple[object, object]:
    cell_of = {normal(key): cell for key, cell in entry.items()}
    cells = []
    for role, groups in (("item", (*ITEM, ("id",))), (VALUE_WORD[kind], VALUE[kind])):
        named = next((name for names in groups for name in names if name in cell_of), None)
        if named is None:
            raise InputError(
                f"the record has no {role} (keys: {listing(list(entry))})",
                where=where,
                remedy=f'write every entry as {{"id": …, "{VALUE_WORD[kind]}": …}}',
            )
        cells.append(cell_of[named])
    return cells[0], cells[1]


def _unknown_shape(answer: object, kind: TableKind, where: str) -> InputError:
    value = VALUE_WORD[kind]
    return InputError(
        f"the query holds {shorten(answer)} of type {type(answer).__name__}, not its items",
        where=where,
        remedy=f'write {{"item": {value}}} or a list of items',
    )
