"""Import judgments that exist already: qrels, tables, labels of another project, and click logs as weak labels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from goldrank.data.collections.splits import stem_and_suffix
from goldrank.data.collections.tables import read_table
from goldrank.errors import InputError, counts, shorten, unknown_name
from goldrank.hits import Gold
from goldrank.io.checks import is_number
from goldrank.io.column_names import ITEM, QUERY, describe_table, first_of, listing
from goldrank.io.files import PathLike, display_name, read_bytes
from goldrank.judging.labels import GradeScale, Label, timestamp
from goldrank.judging.project import JudgingProject

SOURCES = ("human", "weak")
_CLICKS = ("clicks", "click", "click_count", "n_clicks")
_IMPRESSIONS = ("impressions", "views", "shown", "impression_count", "n_impressions")
_QUERIES = (*QUERY[0], *QUERY[1], "query_text", "search", "search_term", "question", "q")
_ITEMS = (*ITEM[0], *ITEM[1], *ITEM[2], "url", "result", "file")


@dataclass(frozen=True)
class Import:
    """The judgments that were imported from a file, and those that were left out."""

    added: int
    repeated: int
    """Labels that the project has already."""
    outside: int
    """Pairs whose query or item is not in the pool."""
    first_outside: str
    """The first of these, as text."""
    reading: str
    """What each column of a table was read as."""
    negative: int = 0
    """Grades below 0, which were imported as 0."""


def import_labels(
    project: JudgingProject,
    file: PathLike,
    source: str = "human",
    *,
    judge: str | None = None,
    min_clicks: int = 1,
) -> Import:
    """Import judgments, which stay apart from the labels of the judging page and never correct a model judge.

    Args:
        project: The project.
        file: Qrels in any known format, a table of query, item and grade, or JSON Lines of `export`, which keep judge
            and time; of the source "weak" a table of query, item, clicks and perhaps impressions. A query is named
            by its id or its text.
        source: ``human`` for judgments of people, ``weak`` for clicks.
        judge: Who judged; by default ``imported:`` with the name of the file.
        min_clicks: An item with so many clicks has grade 1, one with fewer that was shown has grade 0.

    Raises:
        InputError: The file cannot be read, a grade is not on the scale, or no pair is in the pool.

    >>> import tempfile
    >>> from goldrank.judging.starting import start
    >>> folder = tempfile.mkdtemp()
    >>> project = start("questions", models=["bm25", "tfidf"], depth=5, limit=4, folder=folder)
    >>> unit = project.plan.units[0]
    >>> Gold({unit.query: {unit.items[0]: 2, "another": 1}}).write(f"{folder}/qrels.txt", format="trec")
    >>> result = import_labels(project, f"{folder}/qrels.txt")
    >>> result.added, result.outside, project.labels("imported")[0].judge
    (1, 1, 'imported:qrels.txt')
    """
    if source not in SOURCES:
        raise unknown_name("source of judgments", source, SOURCES, f"one of {', '.join(SOURCES)}")
    name = display_name(file)
    who = judge or f"imported:{Path(name).name}"
    reading, negative = "", 0
    if source == "weak":
        if min_clicks < 1:
            raise InputError(f"the number of clicks is {min_clicks}", remedy="give a whole number from 1 up")
        pairs, reading = _read_clicks(file, min_clicks)
        labels = [Label(query, item, grade, who, "weak", timestamp()) for (query, item), grade in pairs.items()]
    elif (exported := _read_export(file, name, project.scale)) is not None:
        labels = exported
    else:
        gold = Gold.read(file)
        reading, labels = gold.reading, []
        for query, grades in gold.to_dict().items():
            for item, grade in grades.items():
                negative += grade < 0
                labels.append(Label(query, item, _whole(grade, name, query, item), who, "imported", timestamp()))
    ids = _QueryIds(project)
    known, outside = [], []
    for label in labels:
        query_id = ids.find(label.query)
        if query_id is None or (query_id, label.item) not in project.pairs:
            outside.append(label)
        else:
            known.append(replace(label, query=query_id))
    first = f"query {shorten(outside[0].query)}, item {shorten(outside[0].item)}" if outside else ""
    if labels and not known:
        raise InputError(
            f"none of the {counts(len(labels), 'judgment')} is of a pair in the pool (the first is {first})",
            where=name,
            remedy="check that queries and items have the ids of the project",
        )
    added = project.add_labels(known)
    return Import(added, len(known) - added, len(outside), first, reading, negative)


class _QueryIds:
    """Finds a query by its id, or by its text without regard to case and blanks."""

    def __init__(self, project: JudgingProject) -> None:
        self._ids = frozenset(project.queries)
        self._by_text = {_plain(project.query_text(query)): query for query in project.queries}

    def find(self, name: str) -> str | None:
        return name if name in self._ids else self._by_text.get(_plain(name))


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _whole(grade: float, where: str, query: str, item: str) -> int:
    if grade != int(grade):
        raise InputError(
            f"the grade {grade:g} of query {shorten(query)}, item {shorten(item)} is not a whole number",
            where=where,
            remedy="write the grades of the scale of the project",
        )
    return max(0, int(grade))


def _read_export(file: PathLike, name: str, scale: GradeScale) -> list[Label] | None:
    """Return the labels that `export` wrote as JSON Lines; None if the file is another one."""
    if stem_and_suffix(Path(name))[1] not in (".jsonl", ".ndjson"):
        return None
    labels = []
    for number, line in enumerate(read_bytes(file).decode().splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            return None
        if not isinstance(row, Mapping) or not {"query", "item", "grade", "judge", "created", "scale"} <= row.keys():
            return None
        if row.get("source") == "model":
            raise InputError(
                "these are grades of a model judge", where=f"{name}:{number}", remedy="import labels of people"
            )
        if row["scale"] != list(scale.names):
            raise InputError(
                f"the grades mean {shorten(row['scale'])} there and {shorten(list(scale.names))} in the project",
                where=f"{name}:{number}",
                remedy="convert them to the scale of the project",
            )
        texts = [str(row[field]) for field in ("query", "item", "judge", "created")]
        seconds = row.get("seconds") if isinstance(row.get("seconds"), (int, float)) else None
        labels.append(Label(texts[0], texts[1], row["grade"], texts[2], "imported", texts[3], seconds))
    return labels or None


def _read_clicks(file: PathLike, min_clicks: int) -> tuple[dict[tuple[str, str], int], str]:
    """Return the grade of each pair of a query and an item that was clicked or shown, and how columns were read."""
    table = read_table(file)
    at = {
        role: first_of(table.names, known)
        for role, known in (("query", _QUERIES), ("item", _ITEMS), ("clicks", _CLICKS), ("impressions", _IMPRESSIONS))
    }
    for role in ("query", "item", "clicks"):
        if at[role] is None:
            raise InputError(
                f"no column is known to hold the {role} (columns: {listing(table.names)})",
                where=table.source,
                remedy=f"call it {role}",
            )
    clicks: dict[tuple[str, str], float] = {}
    for place, record in table.rows:
        values = {role: record.get(table.names[column]) for role, column in at.items() if column is not None}
        number = _count(values["clicks"], "clicks", place)
        if number == 0 and "impressions" in values and _count(values["impressions"], "impressions", place) == 0:
            continue
        pair = str(values["query"]).strip(), str(values["item"]).strip()
        clicks[pair] = clicks.get(pair, 0) + number
    grades = {pair: int(number >= min_clicks) for pair, number in clicks.items()}
    return grades, describe_table(table.source, table.names, at)


def _count(cell: object, role: str, place: str) -> float:
    text = "" if cell is None else str(cell).strip()
    if not is_number(text) or float(text) < 0:
        raise InputError(f"the number of {role} is {shorten(cell)}", where=place, remedy="write a number from 0 up")
    return float(text)
