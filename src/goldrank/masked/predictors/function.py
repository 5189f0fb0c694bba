"""Use a Python function as a predictor: it maps the text before and after the mask to names."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from goldrank.encoders.base import identity_of, take_options
from goldrank.encoders.function import import_function
from goldrank.encoders.source_files import source_stamp
from goldrank.errors import GoldrankError, shorten
from goldrank.masked.examples.chunks import Blank, Guesses
from goldrank.masked.predictors.base import ClosedSet, check_k, guesses_by_rank, guesses_by_score
from goldrank.specs import Spec


class PredictFunction:
    """``python:module:function``: calls ``function(before, after, k)``.

    It returns names, best first, or (name, score) pairs or a dict of scores by name, both in any order.
    """

    def __init__(self, spec: Spec, function: Callable[..., Any] | None = None) -> None:
        take_options(spec)
        self.spec = spec
        self._function = function or import_function(spec)
        named = None if function is not None else source_stamp(self._function, spec.argument.partition(":")[0])
        # What cannot be fingerprinted is another function each time.
        self._version = named or f"unnamed {os.urandom(8).hex()}"

    @property
    def identity(self) -> str:
        """The name of the function, and a stamp of its source file and of what that imports from its project."""
        return identity_of(self.spec, self._version)

    def prepare(self, closed_set: ClosedSet) -> None:
        """Do nothing: the function does not use the closed set."""

    def predict(self, blanks: Sequence[Blank], k: int) -> list[Guesses]:
        """Call the function for each mask."""
        check_k(k)
        return [self._guesses(blank, k) for blank in blanks]

    def _guesses(self, blank: Blank, k: int) -> Guesses:
        where = f"{blank.key.place}: {self.spec}"
        try:
            # Parsing is inside the try block, because a generator runs only then.
            return _as_guesses(self._function(blank.before, blank.after, k), k, where)
        except GoldrankError:
            raise
        except Exception as error:
            raise GoldrankError(f"{where} failed: {type(error).__name__}: {error}") from error


def _as_guesses(result: object, k: int, where: str) -> Guesses:
    if isinstance(result, Mapping):
        result = list(result.items())
    if isinstance(result, (str, bytes, set, frozenset)) or not isinstance(result, Iterable):
        raise GoldrankError(f"{where} returned {shorten(result)}; return a list of names or of (name, score) pairs")
    entries = iter(result)
    first: list[Any] = list(islice(entries, k))
    if not any(_is_pair(entry) for entry in first):
        return guesses_by_rank([_name(entry, where) for entry in first], k)
    # Pairs may come in any order, so all are needed to find the best.
    pairs = [*first, *entries]
    for entry in pairs:
        if not _is_pair(entry):
            raise GoldrankError(f"{where} returned {shorten(entry)} among (name, score) pairs; score all names or none")
    return guesses_by_score([_name(name, where) for name, _ in pairs], [_score(score, where) for _, score in pairs], k)


def _is_pair(entry: object) -> bool:
    return isinstance(entry, (tuple, list)) and len(entry) == 2


def _name(entry: object, where: str) -> str:
    if not isinstance(entry, str):
        raise GoldrankError(f"{where} returned the name {shorten(entry)}, which is not a string")
    return entry


def _score(entry: Any, where: str) -> float:
    try:
        score = float(entry)
    except (TypeError, ValueError):
        score = math.nan
    if not math.isfinite(score):
        raise GoldrankError(f"{where} returned the score {shorten(entry)}, which is not a finite number")
    return score
