"""What the writers of text files share: how a number is written, and what a list of rows cannot say."""

from __future__ import annotations

from goldrank.errors import InputError, shorten
from goldrank.io.columns import Columns, Kind


def number_text(value: float, kind: Kind) -> str:
    """The shortest decimal that reads back as the same double; a whole grade is written as an integer.

    >>> number_text(2.0, "gold"), number_text(2.0, "run")
    ('2', '2.0')
    """
    return repr(value).removesuffix(".0") if kind == "gold" else repr(value)


def counts(number: int, noun: str, plural: str | None = None) -> str:
    """A count with its noun.

    >>> counts(1, "column"), counts(5, "column"), counts(2, "query", "queries")
    ('1 column', '5 columns', '2 queries')
    """
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def row_queries(columns: Columns) -> list[str]:
    """The query of every row."""
    sizes = (columns.starts[1:] - columns.starts[:-1]).tolist()
    return [query for query, size in zip(columns.queries, sizes, strict=True) for _ in range(size)]


def refuse_empty_queries(columns: Columns, format: str) -> None:
    """Raise for a query without items, which would vanish from a file that holds one row per item."""
    sizes = columns.starts[1:] - columns.starts[:-1]
    if len(sizes) and not sizes.all():
        raise InputError(
            f"the query {shorten(columns.queries[int(sizes.argmin())])} has no items, "
            f"which a {format} file cannot hold",
            where=columns.source,
            remedy="write json instead, or leave the query out",
        )
