"""Attributes of queries, read from tables, and the slices that they cut the queries into."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from goldrank.data.collections.tables import read_table
from goldrank.errors import InputError, counts, shorten, unknown_name
from goldrank.io.checks import find_duplicate, id_strings
from goldrank.io.column_names import QUERY, describe_table, first_of
from goldrank.io.metadata import metadata_fields

SMALLEST = 5
"""Values of an attribute that fewer queries have are merged, because no interval or test says anything about them."""
MOST_SLICES = 20
"""An attribute with more values than this keeps the most frequent ones; the others are merged."""
BANDS = 4
MOST_NUMBERS = 6
"""A numeric attribute with more values than this is cut into `BANDS` quantile bands."""
OTHER, NO_VALUE = "(other)", "(none)"


@dataclass(frozen=True)
class Attributes:
    """The values of attributes of queries: attribute -> query -> value; queries without a value are absent."""

    values: Mapping[str, Mapping[str, str]]
    source: str = "the attributes"
    """Where they come from, for messages."""
    reading: str = ""
    """The line that says what the columns of a table were read as."""

    @property
    def queries(self) -> set[str]:
        """The queries that have a value of any attribute."""
        return {query for column in self.values.values() for query in column}

    def __or__(self, other: Attributes) -> Attributes:
        """Return both; where an attribute is in both, that of *other*."""
        names = " and ".join(part.source for part in (self, other) if part.values)
        return Attributes({**self.values, **other.values}, names or self.source, self.reading or other.reading)

    def refuse_unknown(self, queries: Sequence[str], owner: str = "the gold") -> None:
        """Raise InputError if a query is not among *queries*.

        Args:
            queries: The queries that may have attributes.
            owner: What holds them, for messages.

        Raises:
            InputError: Queries are unknown, or none is known.
        """
        known, listed = set(queries), self.queries
        unknown = sorted(listed - known)
        if listed and len(unknown) == len(listed):
            raise InputError(
                f"none of its {counts(len(listed), 'query', 'queries')} is in {owner} (it has {shorten(unknown[0])}, "
                f"{owner} has {shorten(next(iter(queries), ''))})",
                where=self.source,
                remedy=f"write the ids of queries as in {owner}",
            )
        if unknown:
            raise InputError(
                f"{counts(len(unknown), 'query is', 'queries are')} not in {owner}, such as {shorten(unknown[0])}",
                where=self.source,
                remedy="correct the ids, or remove these rows",
            )


@dataclass(frozen=True)
class Slice:
    """The queries with one value, or one band of values, of an attribute."""

    attribute: str
    value: str
    queries: tuple[str, ...] = field(repr=False)
    """In the order of the gold."""
    too_small: bool = False
    """Whether there are too few queries for an interval or a test."""

    def __str__(self) -> str:
        return f"{self.attribute}={self.value}"

    def __len__(self) -> int:
        return len(self.queries)


def read_attributes(source: object) -> Attributes:
    """Read the attributes of queries from a table with a row per query.

    The column of the ids is called query, query_id or qid, or is the first one; every other column is an attribute.

    Args:
        source: A file (CSV, TSV, JSON, JSON Lines, Parquet or XLSX), a list of records, a data frame or an Arrow table;
            or a mapping of attributes to the values of queries.

    Raises:
        InputError: The table has no attribute, or a query has two rows.

    >>> read_attributes([{"qid": 1, "language": "de"}, {"qid": 2, "language": None}]).values
    {'language': {'1': 'de'}}
    >>> read_attributes({"language": {"q1": "de"}}).values
    {'language': {'q1': 'de'}}
    """
    if isinstance(source, Mapping) and all(isinstance(column, Mapping) for column in source.values()):
        return Attributes(
            {str(name): {str(query): str(value) for query, value in column.items()} for name, column in source.items()}
        )
    table = read_table(source)
    named = next((at for group in QUERY if (at := first_of(table.names, group)) is not None), 0)
    id_column = table.names[named]
    values: dict[str, dict[str, str]] = {}
    places = [place for place, _ in table.rows]
    cells = [record.get(id_column) for _, record in table.rows]
    queries = id_strings(cells, role="query", integers=True, place=places.__getitem__)
    if duplicate := find_duplicate(queries):
        first, again = duplicate
        raise InputError(
            f"the query {shorten(queries[again])} has two rows (first at {places[first]})",
            where=places[again],
            remedy="keep one row per query",
        )
    for query, (_, record) in zip(queries, table.rows, strict=True):
        for name, value in metadata_fields(record, without=(id_column,)).items():
            values.setdefault(name, {})[query] = value
    if not values:
        raise InputError(
            "there is no attribute beside the ids of queries",
            where=table.source,
            remedy="add a column such as language, with a value for each query",
        )
    used = {name.partition(".")[0] for name in values}
    further = [at for at, name in enumerate(table.names) if name in used and at != named]
    return Attributes(values, table.source, describe_table(table.source, table.names, {"query": named}, further))


def make_slices(
    attributes: Attributes,
    queries: Sequence[str],
    names: Iterable[str] | None = None,
    *,
    smallest: int = SMALLEST,
) -> tuple[Slice, ...]:
    """Cut queries into slices by attributes.

    A numeric attribute with many values is cut into bands of about as many queries each. Other values that fewer than
    *smallest* queries have, or that are not among the `MOST_SLICES` most frequent ones, are merged into ``(other)``.

    Args:
        attributes: The values.
        queries: The queries that are scored.
        names: The attributes to cut by; None for all that divide the queries.
        smallest: Slices of fewer queries are merged, or marked as too small.

    Raises:
        InputError: An attribute does not exist or does not divide the queries.

    >>> lengths = {f"q{number}": str(number) for number in range(20)}
    >>> [slice.value for slice in make_slices(Attributes({"length": lengths}), list(lengths))]
    ['0–4', '5–9', '10–14', '15–19']
    """
    chosen = list(attributes.values) if names is None else list(dict.fromkeys(names))
    slices: list[Slice] = []
    for name in chosen:
        if name not in attributes.values:
            listing = f"there are {', '.join(attributes.values) or 'none'}"
            raise unknown_name("attribute of queries", name, attributes.values, listing, where=attributes.source)
        parts = _cut(name, attributes.values[name], queries, smallest)
        if all(part.too_small or part.value == OTHER for part in parts) or len(parts) < 2:
            if names is None:
                continue
            raise InputError(
                f"the attribute {shorten(name)} does not divide the queries: {_why(parts, smallest)}",
                where=attributes.source,
                remedy="choose another attribute, or group its values",
            )
        slices += parts
    if not slices and names is None:
        raise InputError(
            f"no attribute divides the queries into slices of {smallest} or more ({', '.join(chosen) or 'none'})",
            where=attributes.source,
            remedy="add an attribute with few values, such as language",
        )
    return tuple(slices)


def _why(parts: Sequence[Slice], smallest: int) -> str:
    if len(parts) == 1 and parts[0].value != OTHER:
        return f"all have the value {shorten(parts[0].value)}"
    return f"no value has {smallest} queries or more"


def _cut(name: str, values: Mapping[str, str], queries: Sequence[str], smallest: int) -> list[Slice]:
    """Return the slices of one attribute: numbers in their order, other values by their size, then the merged ones."""
    by_query = {query: values.get(query, NO_VALUE) for query in queries}
    present = {value for value in by_query.values() if value != NO_VALUE}
    numbers = _numbers(present)
    if numbers is not None and len(set(numbers.values())) > MOST_NUMBERS:
        bands = _bands(numbers, [value for value in by_query.values() if value != NO_VALUE])
        by_query = {query: bands.get(value, value) for query, value in by_query.items()}
        order = list(dict.fromkeys(bands[value] for value in sorted(numbers, key=numbers.__getitem__)))
    elif numbers is not None:
        order = sorted(numbers, key=numbers.__getitem__)
    else:
        sizes: dict[str, int] = dict.fromkeys(sorted(present), 0)
        for value in by_query.values():
            if value != NO_VALUE:
                sizes[value] += 1
        order = sorted(sizes, key=lambda value: -sizes[value])
    members: dict[str, list[str]] = {value: [] for value in [*order, NO_VALUE]}
    for query, value in by_query.items():
        members[value].append(query)
    own = [value for value in order if len(members[value]) >= smallest][:MOST_SLICES]
    rest = [value for value in order if value not in own]
    if len(rest) > 1:
        merged = {query for value in rest for query in members.pop(value)}
        members[OTHER] = [query for query in queries if query in merged]
        rest = [OTHER]
    shown = [value for value in (*own, *rest, NO_VALUE) if members[value]]
    return [Slice(name, value, tuple(members[value]), len(members[value]) < smallest) for value in shown]


def _numbers(values: Iterable[str]) -> dict[str, float] | None:
    """Return the number that each value stands for; None if a value is not a finite number."""
    try:
        numbers = {value: float(value) for value in values}
    except ValueError:
        return None
    return numbers if numbers and all(np.isfinite(list(numbers.values()))) else None


def _bands(numbers: Mapping[str, float], sample: Sequence[str]) -> dict[str, str]:
    """Return the name of the quantile band of each value; equal numbers are in the same band."""
    known = np.array([numbers[value] for value in sample])
    edges = np.quantile(known, np.arange(1, BANDS) / BANDS, method="inverted_cdf")
    bands: dict[int, list[float]] = {}
    for number in sorted(set(numbers.values())):
        bands.setdefault(int(np.searchsorted(edges, number)), []).append(number)
    limits = [(band[0], band[-1]) for band in bands.values()]
    # Six digits are easy to read; all are written where six do not tell neighbours apart.
    short = all(f"{low[1]:g}" != f"{high[0]:g}" for low, high in pairwise(limits))
    names = {number: _band_name(band[0], band[-1], short) for band in bands.values() for number in band}
    return {value: names[number] for value, number in numbers.items()}


def _band_name(low: float, high: float, short: bool) -> str:
    first, last = (f"{number:g}" if short else repr(number).removesuffix(".0") for number in (low, high))
    if first == last:
        return first
    return f"{first}–{last}" if low >= 0 else f"{first} to {last}"
