"""Grades that a model gave elsewhere, from a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from goldrank.encoders.base import take_options
from goldrank.encoders.provenance import stamp
from goldrank.errors import InputError, counts, shorten
from goldrank.hits import Gold
from goldrank.judging.judges.base import Question, Verdict
from goldrank.judging.labels import GradeScale
from goldrank.specs import Spec


class GradeFile:
    """``file:PATH`` or the path alone: qrels, CSV, JSON … with a query, an item and a grade per row."""

    def __init__(self, spec: Spec, scale: GradeScale) -> None:
        take_options(spec)
        path = Path(spec.argument).expanduser()
        gold = Gold.read(path)
        if gold.subtopics is not None:
            raise InputError("the grades are by subtopic", where=str(path), remedy="give one grade per query and item")
        self._grades: dict[tuple[str, str], int] = {}
        for query, grades in gold.items():
            for item, grade in grades.items():
                if grade != int(grade) or not 0 <= grade <= scale.best:
                    raise InputError(
                        f"the grade {grade:g} of item {shorten(item)} for query {shorten(query)} is not on the scale",
                        where=str(path),
                        remedy=f"give whole numbers from 0 to {scale.best}",
                    )
                self._grades[query, item] = int(grade)
        self._unused = set(self._grades)
        self.name = f"file:{path.name} {stamp(path)[:8]}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """How many grades are of pairs outside of the pool."""
        number = len(self._unused)
        return (f"Left out, because the pair is not in the pool: {counts(number, 'grade')}.",) if number else ()

    def grade(self, questions: Sequence[Question]) -> Iterator[list[Verdict]]:
        """Yield the grades of the file; pairs that it does not have are left out."""
        pairs = {(question.query, question.item): question for question in questions}
        self._unused -= set(pairs)
        yield [
            Verdict(question, self._grades[pair], str(self._grades[pair]))
            for pair, question in pairs.items()
            if pair in self._grades
        ]
