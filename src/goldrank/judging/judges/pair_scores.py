"""Pair scorers as judges: their scores are cut into grades by thresholds, given or fitted on human labels."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import PairScorer
from goldrank.encoders.pair_scorers import load_pair_scorer
from goldrank.errors import InputError, shorten
from goldrank.hits import Floats
from goldrank.judging.judges.base import Question, Verdict
from goldrank.judging.labels import GradeScale
from goldrank.specs import Spec

Pair = tuple[str, str]
FOLDS = 5
_AT_ONCE = 256


class PairScoreJudge:
    """``cross:MODEL`` or another pair scorer, with ``thresholds=0.1/0.4/0.7`` or with thresholds that are fitted.

    Without given thresholds, `grade` yields scores without grades, and `fit_grades` cuts all of them.
    """

    def __init__(self, spec: Spec, scale: GradeScale, scorer: PairScorer | None = None) -> None:
        thresholds = spec.options.get("thresholds")
        model = Spec(spec.kind, spec.argument, {n: value for n, value in spec.options.items() if n != "thresholds"})
        self._scale = scale
        self._thresholds = None if thresholds is None else _parse_thresholds(thresholds, scale)
        self._scorer = scorer or load_pair_scorer(model)
        self.name = self._scorer.identity + (f" thresholds {thresholds}" if thresholds is not None else "")

    @property
    def fits(self) -> bool:
        """Whether the thresholds have to be fitted on human labels."""
        return self._thresholds is None

    def grade(self, questions: Sequence[Question]) -> Iterator[list[Verdict]]:
        """Yield the scores as answers, with grades if the thresholds are given."""
        for start in range(0, len(questions), _AT_ONCE):
            batch = questions[start : start + _AT_ONCE]
            scores = self._scorer.score_pairs([q.query_text for q in batch], [q.passage for q in batch])
            grades = [None] * len(batch) if self._thresholds is None else cut(scores, self._thresholds).tolist()
            yield [
                Verdict(question, grade, repr(float(score)))
                for question, grade, score in zip(batch, grades, scores, strict=True)
            ]

    def fit_grades(self, scores: Mapping[Pair, float], human: Mapping[Pair, int]) -> dict[Pair, int]:
        """Cut scores into grades by thresholds that are fitted on human labels of other queries.

        The queries are divided into five folds by their ids. The thresholds of a fold are fitted on the labels of the
        queries of the other folds, and cut the scores of all queries of the fold, whether these have labels or not: so
        the grades of a query never depend on its own labels, and grades of queries with and without labels are made
        alike, as estimates that correct the one by the other require.

        Raises:
            InputError: A fold has no labels of other folds.
        """
        folds = {query: fold_of(query) for query, _ in scores}
        grades: dict[Pair, int] = {}
        for fold in sorted(set(folds.values())):
            training = [pair for pair in human if pair in scores and folds[pair[0]] != fold]
            if not training:
                raise InputError(
                    f"the thresholds of {self.name} cannot be fitted, because too few queries have human labels",
                    remedy="label more queries (10 or more are recommended), or give thresholds=0.1/0.4/0.7",
                )
            thresholds = fit_thresholds(
                np.array([scores[pair] for pair in training]),
                np.array([human[pair] for pair in training]),
                self._scale.best,
            )
            pairs = [pair for pair in scores if folds[pair[0]] == fold]
            cuts = cut(np.array([scores[pair] for pair in pairs]), thresholds).tolist()
            grades.update(zip(pairs, cuts, strict=True))
        return grades


def fold_of(query: str) -> int:
    """Return the fold of a query, which depends on nothing but its id."""
    return int.from_bytes(hashlib.sha256(query.encode("utf-8", "replace")).digest()[:8], "big") % FOLDS


def fit_thresholds(scores: Floats, grades: NDArray[np.int64], best: int) -> Floats:
    """Return the least score of each grade from 1 up, so that each grade is as frequent as in the human grades.

    This is equipercentile linking, as tests with different scales are linked: the order of the scores is kept, and
    the judge is as strict as the people.

    >>> fit_thresholds(np.array([0.1, 0.2, 0.6, 0.8]), np.array([0, 0, 1, 2]), 3)
    array([0.4, 0.7, inf])
    """
    descending = np.concatenate([[np.inf], np.sort(scores)[::-1], [-np.inf]])
    reached = np.array([(grades >= grade).sum() for grade in range(1, best + 1)])
    thresholds: Floats = np.array(
        [
            above if number == 0 else below if number == len(scores) else (above + below) / 2
            for number, above, below in zip(reached, descending[reached], descending[reached + 1], strict=True)
        ]
    )
    return thresholds


def cut(scores: Floats, thresholds: Floats) -> NDArray[np.int64]:
    """Return the grade of each score: how many thresholds it reaches.

    >>> cut(np.array([0.1, 0.4, 9.0]), np.array([0.4, 0.7, np.inf])).tolist()
    [0, 1, 2]
    """
    return np.searchsorted(thresholds, scores, side="right")


def _parse_thresholds(text: str, scale: GradeScale) -> Floats:
    try:
        values = [float(part) for part in text.split("/")]
    except ValueError:
        values = []
    if len(values) != scale.best or not np.isfinite(values).all() or any(a > b for a, b in pairwise(values)):
        raise InputError(
            f"thresholds={shorten(text)} are not {scale.best} ascending numbers",
            remedy=f"write the least score of each grade from 1 to {scale.best}, such as thresholds="
            + "/".join(f"{(at + 1) / (scale.best + 1):.2g}" for at in range(scale.best)),
        )
    return np.array(values)
