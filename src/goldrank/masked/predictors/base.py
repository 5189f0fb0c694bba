"""The protocol of predictors, the closed set they may choose from, and checks of their guesses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from goldrank.errors import GoldrankError, InputError, shorten
from goldrank.masked.examples.chunks import Blank, Chunk, Guesses, describe_place


@dataclass(frozen=True)
class ClosedSet:
    """The persons that may be masked, and the masked texts about them."""

    titles: Mapping[str, str]
    """Title of each page."""
    texts: Mapping[str, list[tuple[int, str]]]
    """Sequence number and masked text of each example of a page."""

    @classmethod
    def of(cls, chunks: Iterable[Chunk]) -> ClosedSet:
        """Collect the closed set of a data set; the order of the chunks has no influence.

        >>> ClosedSet.of([Chunk("7", 0, "Lise Meitner", "<mask> was born in Vienna.", ("Meitner",))]).titles
        {'7': 'Lise Meitner'}
        """
        titles: dict[str, str] = {}
        texts: dict[str, list[tuple[int, str]]] = {}
        for chunk in sorted(chunks, key=lambda chunk: (chunk.page, chunk.sequence, chunk.text)):
            if titles.setdefault(chunk.page, chunk.title) != chunk.title:
                raise InputError(
                    f"the page has two titles, {shorten(titles[chunk.page])} and {shorten(chunk.title)}",
                    where=describe_place(chunk.page),
                    remedy="give every page one title, and different persons different pages",
                )
            texts.setdefault(chunk.page, []).append((chunk.sequence, chunk.text))
        return cls(titles, texts)


@runtime_checkable
class Predictor(Protocol):
    """Guesses the names behind masks.

    A predictor with the attribute `instant` is called once for all masks and without a checkpoint, because calling it
    again takes no time. One with the attribute `live` may guess otherwise while its identity stays the same, so that
    its guesses are not taken from the store. The optional attribute `remarks` tells the user about its guesses.
    """

    @property
    def identity(self) -> str:
        """Everything in the predictor that can change a guess, except the closed set."""

    def prepare(self, closed_set: ClosedSet) -> None:
        """Receive the closed set; predictors with their own knowledge ignore it."""

    def predict(self, blanks: Sequence[Blank], k: int) -> list[Guesses]:
        """Return up to k guesses for each mask, best first."""


def remarks_of(predictor: Predictor) -> tuple[str, ...]:
    """Return the remarks of a predictor on its guesses, after it has predicted."""
    return tuple(getattr(predictor, "remarks", ()))


def check_k(k: int) -> None:
    """Raise an error if *k* is less than 1."""
    if k < 1:
        raise InputError(f"k={k} is not a whole number >= 1", remedy="request at least one guess per mask")


def guesses_by_rank(names: Sequence[str], k: int) -> Guesses:
    """Return the first k names, scored 1/rank.

    >>> guesses_by_rank(["Lise", "Otto", "Hahn"], 2)
    Guesses(names=('Lise', 'Otto'), scores=(1.0, 0.5))
    """
    first = tuple(names[:k])
    return Guesses(first, tuple(1.0 / rank for rank in range(1, len(first) + 1)))


def guesses_by_score(names: Sequence[str], scores: Sequence[float], k: int) -> Guesses:
    """Return the k names with the highest scores; names with equal scores keep their order.

    >>> guesses_by_score(["Otto", "Lise", "Hahn"], [0.25, 0.5, 0.25], 2)
    Guesses(names=('Lise', 'Otto'), scores=(0.5, 0.25))
    """
    order = sorted(range(len(names)), key=lambda at: -scores[at])[:k]
    return Guesses(tuple(names[at] for at in order), tuple(scores[at] for at in order))


def check_guesses(results: Sequence[Guesses], blanks: Sequence[Blank], k: int, who: str) -> list[Guesses]:
    """Return the results of a predictor cut at k; raise an error for the first mask with an invalid result."""
    if len(results) != len(blanks):
        raise GoldrankError(f"{who} returned {len(results)} lists of guesses for {len(blanks)} masks")
    for guesses, blank in zip(results, blanks, strict=True):
        if fault := _fault(guesses):
            raise GoldrankError(f"{blank.key.place}: {who} returned {fault}")
    return [Guesses(tuple(guesses.names[:k]), tuple(guesses.scores[:k])) for guesses in results]


def _fault(guesses: object) -> str:
    if not isinstance(guesses, Guesses):
        return f"{shorten(guesses)}, which is not of type Guesses"
    if len(guesses.names) != len(guesses.scores):
        return f"{len(guesses.names)} names for {len(guesses.scores)} scores"
    for name, score in zip(guesses.names, guesses.scores, strict=True):
        if not isinstance(name, str):
            return f"the name {shorten(name)}, which is not a string"
        if isinstance(score, bool) or not isinstance(score, (int, float)) or not math.isfinite(score):
            return f"the score {shorten(score)} for {shorten(name)}, which is not a finite number"
    return ""
