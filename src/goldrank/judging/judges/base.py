"""The protocol of model judges, their questions and their answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True)
class Question:
    """A pair of a query and an item, with the texts that are judged."""

    query: str
    item: str
    query_text: str
    title: str
    text: str

    @property
    def passage(self) -> str:
        """Title and text."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True)
class Verdict:
    """The answer of a model judge to a question."""

    question: Question
    grade: int | None
    """None if the answer is not a grade; it is never guessed."""
    answer: str
    """The raw answer."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@runtime_checkable
class Judge(Protocol):
    """A model that grades how relevant an item is to a query."""

    @property
    def name(self) -> str:
        """The name under which grades are stored; everything that can change a grade of the same weights is in it."""

    def grade(self, questions: Sequence[Question]) -> Iterator[list[Verdict]]:
        """Yield the verdicts as they come, in any order; a question that it cannot answer may be left out."""


def remarks_of(judge: Judge) -> tuple[str, ...]:
    """Return what the user should know of a judge after it has graded, one sentence each."""
    return tuple(getattr(judge, "remarks", ()))
