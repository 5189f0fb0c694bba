"""A Python function as a judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from goldrank.encoders.base import identity_of, take_options
from goldrank.encoders.function import import_function, report_failure, stamp_of_function
from goldrank.errors import GoldrankError, shorten
from goldrank.judging.judges.base import Question, Verdict
from goldrank.judging.judges.prompt import parse_grade
from goldrank.judging.labels import GradeScale
from goldrank.specs import Spec


class FunctionJudge:
    """``python:module:function``: calls ``function(query, passage)``.

    It returns a grade; None if it cannot judge; or the answer of a model as a text, which is parsed like that of
    ``openai:``.
    """

    def __init__(self, spec: Spec, scale: GradeScale, function: Callable[..., Any] | None = None) -> None:
        take_options(spec)
        self._spec, self._scale = spec, scale
        self._function = function or import_function(spec)
        self._version = stamp_of_function(spec, function, {}).version

    @property
    def resumes(self) -> bool:
        """Whether earlier grades under the same name are of the same function: not of one whose code is not known."""
        return self._version is not None

    @property
    def name(self) -> str:
        """The name of the function and a stamp of its source, if its source is known."""
        return identity_of(self._spec, self._version or "").strip()

    def grade(self, questions: Sequence[Question]) -> Iterator[list[Verdict]]:
        """Yield what the function returns for each question."""
        for question in questions:
            with report_failure(str(self._spec)):
                result = self._function(question.query_text, question.passage)
            yield [Verdict(question, self._grade(result), result if isinstance(result, str) else repr(result))]

    def _grade(self, result: object) -> int | None:
        if isinstance(result, str):
            return parse_grade(result, self._scale)
        if result is None:
            return None
        if isinstance(result, bool) or not hasattr(result, "__index__") or not 0 <= int(result) <= self._scale.best:
            raise GoldrankError(
                f"{self._spec} returned {shorten(result)}; return a whole number from 0 to {self._scale.best}, None, "
                "or an answer as a text"
            )
        return int(result)
