"""Any Python function as a predictor: what stands before and after the mask to names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from goldrank.encoders.base import identity_of
from goldrank.encoders.function import imported
from goldrank.encoders.source_files import source_stamp
from goldrank.errors import GoldrankError, shorten
from goldrank.masked.examples.chunks import Blank, Guesses
from goldrank.masked.predictors.base import Closed, place, ranked, refuse_k, scored, take_options
from goldrank.specs import Spec


class PredictFunction:
    """``python:module:function``: calls ``function(before, after, k)``.

    It gives back names, the best first, or (name, score) pairs or a dict of scores by name, both in any order.
    """

    def __init__(self, spec: Spec, function: Callable[..., Any] | None = None) -> None:
        take_options(spec)
        self.spec = spec
        self._function = function or imported(spec)
        self._version = source_stamp(self._function, by_name=function is None)

    @property
    def identity(self) -> str:
        """The function's name and a stamp of the file it stands in, and of what that imports from its project."""
        return identity_of(self.spec, self._version)

    def prepare(self, material: Closed) -> None:
        """Ignored: the function knows what it knows."""

    def predict(self, blanks: Sequence[Blank], k: int) -> list[Guesses]:
        """What the function says of each mask."""
        refuse_k(k)
        return [self._guesses(blank, k) for blank in blanks]

    def _guesses(self, blank: Blank, k: int) -> Guesses:
        where = f"{place(blank.key)}: {self.spec}"
        try:
            # The reading too, because a generator runs only then.
            return _as_guesses(self._function(blank.before, blank.after, k), k, where)
        except GoldrankError:
            raise
        except Exception as error:
            raise GoldrankError(f"{where} failed: {type(error).__name__}: {error}") from error


def _as_guesses(found: object, k: int, where: str) -> Guesses:
    if isinstance(found, Mapping):
        found = list(found.items())
    if isinstance(found, (str, bytes, set, frozenset)) or not isinstance(found, Iterable):
        raise GoldrankError(f"{where} gave {shorten(found)}; a list of names or of (name, score) pairs is needed")
    entries = iter(found)
    first: list[Any] = list(islice(entries, k))
    if not any(_is_pair(entry) for entry in first):
        return ranked([_name(entry, where) for entry in first], k)
    # Pairs may come in any order, so that all have to be seen before the best are known.
    pairs = [*first, *entries]
    for entry in pairs:
        if not _is_pair(entry):
            raise GoldrankError(f"{where} gave {shorten(entry)} among (name, score) pairs; score all names or none")
    return scored([_name(name, where) for name, _ in pairs], [_score(score, where) for _, score in pairs], k)


def _is_pair(entry: object) -> bool:
    return isinstance(entry, (tuple, list)) and len(entry) == 2


def _name(entry: object, where: str) -> str:
    if not isinstance(entry, str):
        raise GoldrankError(f"{where} gave the name {shorten(entry)}, which is not a string")
    return entry


def _score(entry: Any, where: str) -> float:
    try:
        found = float(entry)
    except (TypeError, ValueError):
        found = float("nan")
    if not abs(found) < float("inf"):
        raise GoldrankError(f"{where} gave the score {shorten(entry)}, which is not a finite number")
    return found
