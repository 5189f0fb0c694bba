"""Find columns of a table by their usual names."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from goldrank.errors import InputError, list_first, shorten
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

FURTHER = "further"
"""The role of columns that describe a row and have no other role; results can be split by them."""
SUBTOPIC = ("subtopic", "subtopic_id")
_MOST_COLUMNS = 12
"""Maximum number of columns that a message names."""


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

    The fourth is the subtopic of gold or the rank of a run, which is not a score but shows how the run was ordered.
    Names that the caller gives must match exactly.

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


def find_chosen(names: Sequence[object], role: str, chosen: str, where: str) -> int:
    """Return the position of the column that the option ``role=chosen`` names; raise InputError if there is none."""
    at = first_of(names, [normal(chosen)])
    if at is None:
        raise InputError(
            f"there is no column {shorten(chosen)} to be the {role} (columns: {listing(names)})",
            where=where,
            remedy=f"write {role}=NAME with the name of a column",
        )
    return at


Roles = Mapping[str, int | Sequence[int] | None]
"""The position or positions of the column of each role; None for a role that no column has."""


def describe_columns(names: Sequence[object], roles: Roles, further: Sequence[int] = ()) -> str:
    """Say what each column of a table was read as, which are only kept with the rows, and which were ignored.

    >>> describe_columns(["question", "answer", "expected_file"], {"query": 0, "item": 1, "grade": None})
    'query = question, item = answer; ignored: expected_file'
    >>> describe_columns([*(f"guess_{n}" for n in range(9)), "views"], {"guesses": range(9)}, [9])
    'guesses = guess_0 + guess_1 + … + guess_8; further columns: views'
    """
    positions = {role: [at] if isinstance(at, int) else list(at) for role, at in roles.items() if at is not None}
    used = {*further, *(at for several in positions.values() for at in several)}
    parts = [", ".join(f"{role} = {_joined([names[at] for at in several])}" for role, several in positions.items())]
    if further:
        parts.append(f"further columns: {_plain_list([names[at] for at in further])}")
    if ignored := [name for at, name in enumerate(names) if at not in used]:
        parts.append(f"ignored: {_plain_list(ignored)}")
    return "; ".join(filter(None, parts))


def describe_table(source: str, names: Sequence[object], roles: Roles, further: Sequence[int] = ()) -> str:
    """Return the line that tells users how a table was read; of a path only the last part is shown.

    >>> describe_table("data/qrels.tsv", ["query-id", "corpus-id", "score"], {"query": 0, "item": 1, "grade": 2})
    'qrels.tsv: query = query-id, item = corpus-id, grade = score'
    """
    return f"{base_name(source)}: {describe_columns(names, roles, further)}"


@dataclass
class FieldRoles:
    """The roles of the fields of records, not all of which need to have the same fields.

    >>> fields = FieldRoles("pages.jsonl")
    >>> fields.add(["id", "views"], {"id": "page", "views": FURTHER})
    >>> fields.add(["id", "note"], {"id": "page"})
    >>> fields.reading
    'pages.jsonl: page = id; further columns: views; ignored: note'
    """

    source: str = ""
    roles: dict[str, str | None] = field(default_factory=dict)
    """By the name of the field; `FURTHER` for one that is kept with its record, None for one that is ignored."""

    def add(self, names: Iterable[str], roles: Mapping[str, str]) -> None:
        """Add the fields of a record; *roles* has the role of each field that is not ignored."""
        for name in names:
            if self.roles.get(name) is None:
                self.roles[name] = roles.get(name)

    def ignore(self, roles: Container[str], unless: Container[str] = ()) -> None:
        """Call the fields of these roles ignored, *unless* their name is among these."""
        for name, role in self.roles.items():
            if role in roles and name not in unless:
                self.roles[name] = None

    @property
    def reading(self) -> str:
        """The line of `describe_table`; empty if there was no record."""
        positions: dict[str, list[int]] = {}
        for at, role in enumerate(self.roles.values()):
            if role is not None:
                positions.setdefault(role, []).append(at)
        further = positions.pop(FURTHER, [])
        return describe_table(self.source, list(self.roles), positions, further) if self.roles else ""


def _joined(names: Sequence[object]) -> str:
    shown = [str(name)[:30].strip() for name in names]
    return " + ".join(shown if len(shown) <= 4 else [*shown[:2], "…", shown[-1]])


def _plain_list(names: Sequence[object]) -> str:
    return list_first(names, _MOST_COLUMNS, lambda name: str(name)[:30].strip() or "a column without a name")


def describe_found(source: str, names: Sequence[object], kind: TableKind, positions: Sequence[int]) -> str:
    """Return the line of `describe_table` for gold or a run whose columns `find_columns` found."""
    roles = ("query", "item", VALUE_WORD[kind], "subtopic" if kind == "gold" else "rank")
    return describe_table(source, names, dict(zip(roles, positions, strict=False)))


def base_name(source: str) -> str:
    """Return the last part of a path or URL, or a text without slashes as it is.

    >>> base_name("data/qrels/test.tsv"), base_name("DataFrame")
    ('test.tsv', 'DataFrame')
    """
    return source.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or source


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


def listing(names: Sequence[object]) -> str:
    """Return column names for a message, shortened if there are many."""
    return list_first(names, _MOST_COLUMNS, lambda name: shorten(str(name), 30)) or "none"
