"""Find columns of a table by their usual names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from goldrank.errors import InputError, shorten
from goldrank.io.columns import VALUE_WORD, TableKind

# Earlier groups take precedence: if a table has both `query_id` and `query`, the latter is the text of the query, and
# if it has `docno` and `docid` (PyTerrier), the latter is a number inside the index.
QUERY = (("query_id", "queryid", "qid", "q_id", "topic_id"), ("query", "topic"))
ITEM = (
    ("docno",),
    ("item_id", "itemid", "doc_id", "docid", "document_id", "corpus_id", "pid", "passage_id", "did"),
    ("item", "doc", "document"),
)
# A table with a `grade` or `label` instead of a score is gold, so these names are not accepted for a run.
VALUE: dict[TableKind, tuple[tuple[str, ...], ...]] = {
    "gold": (("grade", "relevance", "rel", "label"), ("score", "value", "sim", "similarity")),
    "run": (("score", "sim", "similarity"), ("value", "relevance", "rel")),
}

SUBTOPIC = ("subtopic", "subtopic_id")


def normal(name: object) -> str:
    """Return a column name in a normal form: lower case, without outer spaces, with underscores for hyphens and spaces.

    >>> normal(" Query-ID ")
    'query_id'
    """
    return str(name).strip().lower().replace("-", "_").replace(" ", "_")


def find_columns(
    names: Sequence[object],
    kind: TableKind,
    *,
    where: str,
    query: str | None = None,
    item: str | None = None,
    value: str | None = None,
) -> list[int]:
    """Return the positions of the query, item and value columns, and of a fourth column if there is one.

    The fourth is the subtopic of gold or the rank of a run, which is no score but shows how the run was ordered. Names
    that the caller gives must match exactly.

    >>> find_columns(["query-id", "corpus-id", "score"], "gold", where="qrels.tsv")
    [0, 1, 2]
    """
    fourth = first_of(names, SUBTOPIC if kind == "gold" else ("rank",))
    return [
        query_column(names, where=where, given=query),
        _find(names, "item", ITEM, item, where),
        _find(names, VALUE_WORD[kind], VALUE[kind], value, where),
        *([] if fourth is None else [fourth]),
    ]


def first_of(names: Iterable[object], wanted: Sequence[str]) -> int | None:
    """Return the position in *names* of the first of the *wanted* names that occurs in any case; None if none does.

    >>> first_of(["Text", "_ID"], ("id", "_id")), first_of(["Text"], ("id", "_id"))
    (1, None)
    """
    normalised = [normal(name) for name in names]
    return next((normalised.index(name) for name in wanted if name in normalised), None)


def query_column(names: Sequence[object], *, where: str, given: str | None = None) -> int:
    """Return the position of the query column, for records that hold a query with all its results."""
    return _find(names, "query", QUERY, given, where)


def _find(names: Sequence[object], role: str, groups: Sequence[Sequence[str]], given: str | None, where: str) -> int:
    if given is not None:
        matches = [position for position, name in enumerate(names) if name == given]
        if not matches:
            raise InputError(
                f"there is no column {shorten(given)} (columns: {listing(names)})",
                where=where,
                remedy=f"name the {role} column as it is written in the table",
            )
        return matches[0]
    normalised = [normal(name) for name in names]
    for accepted in groups:
        matches = [position for position, name in enumerate(normalised) if name in accepted]
        if len(matches) > 1:
            raise InputError(
                f"several columns could be the {role}: {listing([names[m] for m in matches])}",
                where=where,
                remedy=f"keep or rename one, so that a single column is the {role}",
            )
        if matches:
            return matches[0]
    accepted_names = ", ".join(name for accepted in groups for name in accepted)
    raise InputError(
        f"there is no {role} column (columns: {listing(names)})",
        where=where,
        remedy=f"call it one of {accepted_names}",
    )


def listing(names: Sequence[object], limit: int = 12) -> str:
    """Return column names for a message, shortened if there are many."""
    shown = ", ".join(shorten(str(name), 30) for name in names[:limit])
    return (shown or "none") + (f" and {len(names) - limit} more" if len(names) > limit else "")
