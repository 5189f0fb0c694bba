"""Relevance labels of people and grades of model judges, and the scale that both use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone

from goldrank.errors import InputError, shorten

SOURCES = {
    "human": "judged on the judging page",
    "imported": "judged by people elsewhere, and imported",
    "weak": "derived from clicks, and imported",
}
"""Where a label comes from. Only human labels of a random sample of queries allow unbiased estimates."""

_LONGEST_JUDGE = 80


@dataclass(frozen=True)
class GradeScale:
    """The grades from 0 up and their names.

    >>> GradeScale().best, GradeScale(("no", "yes")).check(1)
    (3, 1)
    """

    names: tuple[str, ...] = ("not relevant", "related", "relevant", "perfectly relevant")

    def __post_init__(self) -> None:
        names = [name.strip() for name in self.names]
        if not 2 <= len(names) <= 10 or len(set(names)) < len(names) or not all(names):
            raise InputError(
                f"the grade scale {', '.join(map(shorten, self.names)) or 'is empty'} cannot be used",
                remedy="give 2 to 10 different names, from the worst grade (0) to the best",
            )
        object.__setattr__(self, "names", tuple(names))

    @property
    def best(self) -> int:
        """The highest grade."""
        return len(self.names) - 1

    def check(self, grade: int | None, where: str | None = None) -> int | None:
        """Return the grade; raise InputError if it is not one of the scale. None means that it cannot be judged."""
        if grade is None or (isinstance(grade, int) and not isinstance(grade, bool) and 0 <= grade <= self.best):
            return grade
        raise InputError(
            f"the grade {shorten(grade)} is not on the scale", where=where, remedy=f"give a grade from 0 to {self.best}"
        )

    def to_dict(self) -> dict[str, str]:
        """Return the name of each grade.

        >>> GradeScale(("no", "yes")).to_dict()
        {'0': 'no', '1': 'yes'}
        """
        return {str(grade): name for grade, name in enumerate(self.names)}


@dataclass(frozen=True)
class Label:
    """The grade that a judge gave to an item for a query."""

    query: str
    item: str
    grade: int | None
    """None if the judge cannot judge it."""
    judge: str
    """The name of a person, or ``imported:FILE``."""
    source: str
    """One of `SOURCES`."""
    created: str
    """ISO 8601 in UTC."""
    seconds: float | None = None
    """The time that the judge took."""

    @property
    def pair(self) -> tuple[str, str]:
        """The query and the item."""
        return self.query, self.item


@dataclass(frozen=True)
class ModelGrade:
    """The grade that a model judge gave to an item for a query, with its answer."""

    query: str
    item: str
    grade: int | None
    """None if the answer could not be parsed; it is never guessed."""
    judge: str
    """The spec of the model judge."""
    answer: str
    """The raw answer."""
    created: str
    """ISO 8601 in UTC."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None

    @property
    def pair(self) -> tuple[str, str]:
        """The query and the item."""
        return self.query, self.item


def combine(labels: Iterable[Label]) -> dict[tuple[str, str], int]:
    """Return one grade per pair of query and item: the lower median of its judges, without "cannot judge".

    >>> grades = [Label("q", "d", grade, judge, "human", "") for judge, grade in zip("abcd", (3, 0, 1, None))]
    >>> combine(grades)
    {('q', 'd'): 1}
    """
    grades: dict[tuple[str, str], list[int]] = {}
    for label in labels:
        if label.grade is not None:
            grades.setdefault(label.pair, []).append(label.grade)
    return {pair: sorted(row)[(len(row) - 1) // 2] for pair, row in grades.items()}


def by_query(grades: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    """Return the grades of pairs as query -> item -> grade.

    >>> by_query({("q1", "a"): 2, ("q2", "b"): 0, ("q1", "c"): 1})
    {'q1': {'a': 2, 'c': 1}, 'q2': {'b': 0}}
    """
    result: dict[str, dict[str, int]] = {}
    for (query, item), grade in grades.items():
        result.setdefault(query, {})[item] = grade
    return result


def check_judge(name: str) -> str:
    """Return the name of a person who judges, without blanks around it; raise InputError if it cannot be used."""
    stripped = name.strip()
    if not stripped or len(stripped) > _LONGEST_JUDGE or not stripped.isprintable() or ":" in stripped:
        raise InputError(
            f"the judge's name {shorten(name)} cannot be used",
            remedy=f"give a name of 1 to {_LONGEST_JUDGE} printable characters without a colon",
        )
    return stripped


def timestamp() -> str:
    """Return the time in UTC as ISO 8601."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
