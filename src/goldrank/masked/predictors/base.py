"""What a predictor is, what it may know of the data, and the checks that its guesses pass."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from goldrank.errors import GoldrankError, InputError, shorten, unknown_name
from goldrank.masked.examples.chunks import Blank, Chunk, Guesses, MaskKey, place_name
from goldrank.specs import Spec


@dataclass(frozen=True)
class Closed:
    """The closed set: who the masked persons may be, and what else is said of them, with every name masked."""

    titles: Mapping[str, str]
    """The title of each page."""
    texts: Mapping[str, list[tuple[int, str]]]
    """The masked texts of each page, by their sequence numbers."""
    seed: int = 0
    """What chance begins with, where a predictor is not told its own."""

    @classmethod
    def of(cls, chunks: Iterable[Chunk], seed: int = 0) -> Closed:
        """What the chunks of a data set give away; the same whatever their order.

        >>> Closed.of([Chunk("7", 0, "Lise Meitner", "<mask> was born in Vienna.", ("Meitner",))]).titles
        {'7': 'Lise Meitner'}
        """
        titles: dict[str, str] = {}
        texts: dict[str, list[tuple[int, str]]] = {}
        for chunk in sorted(chunks, key=lambda chunk: (chunk.page, chunk.sequence, chunk.text)):
            if titles.setdefault(chunk.page, chunk.title) != chunk.title:
                raise InputError(
                    f"the page has two titles, {shorten(titles[chunk.page])} and {shorten(chunk.title)}",
                    where=place_name(chunk.page),
                    remedy="give every page one title, or pages of their own to different persons",
                )
            texts.setdefault(chunk.page, []).append((chunk.sequence, chunk.text))
        return cls(titles, texts, seed)


@runtime_checkable
class Predictor(Protocol):
    """Names who is behind a mask.

    One that has `instant` set is asked for all masks at once and its guesses are not kept on the way, because asking
    again takes no time. One that has `remarks` says with them what the user should know of its guesses.
    """

    @property
    def identity(self) -> str:
        """Everything of the predictor that can change a guess; what it is prepared with comes on top."""

    def prepare(self, material: Closed) -> None:
        """Take in the closed set; predictors that know persons from elsewhere ignore it."""

    def predict(self, blanks: Sequence[Blank], k: int) -> list[Guesses]:
        """Up to k guesses for each mask, the best first."""


def remarks_of(predictor: Predictor) -> tuple[str, ...]:
    """What a predictor has to say of the guesses it made, once it has made them."""
    return tuple(getattr(predictor, "remarks", ()))


def place(key: MaskKey) -> str:
    """A mask as messages name it.

    >>> place(MaskKey("12", 3, 0))
    'page 12, example 3, mask 0'
    """
    return place_name(*key)


def take_options(spec: Spec, *own: str) -> dict[str, str]:
    """The options of a spec, all of them the predictor's own; others are refused."""
    for name in spec.options:
        if name not in own:
            has = f"it has: {', '.join(own)}" if own else "it has none"
            raise unknown_name(f"option of {spec.kind}", name, own, has)
    return dict(spec.options)


def refuse_k(k: int) -> None:
    """Raise unless *k* asks for a guess."""
    if k < 1:
        raise InputError(f"k={k} is not a whole number from 1 up", remedy="ask for at least one guess a mask")


def ranked(names: Sequence[str], k: int) -> Guesses:
    """The first k names, without scores of their own: 1/rank.

    >>> ranked(["Lise", "Otto", "Hahn"], 2)
    Guesses(names=('Lise', 'Otto'), scores=(1.0, 0.5))
    """
    kept = tuple(names[:k])
    return Guesses(kept, tuple(1.0 / rank for rank in range(1, len(kept) + 1)))


def scored(names: Sequence[str], scores: Sequence[float], k: int) -> Guesses:
    """The k best names by their scores; equal scores stay in the order given.

    >>> scored(["Otto", "Lise", "Hahn"], [0.25, 0.5, 0.25], 2)
    Guesses(names=('Lise', 'Otto'), scores=(0.5, 0.25))
    """
    order = sorted(range(len(names)), key=lambda at: -scores[at])[:k]
    return Guesses(tuple(names[at] for at in order), tuple(scores[at] for at in order))


def checked(made: Sequence[Guesses], blanks: Sequence[Blank], k: int, who: str) -> list[Guesses]:
    """What a predictor gave, cut at k, or an error that names the first mask with something else than guesses."""
    if len(made) != len(blanks):
        raise GoldrankError(f"{who} gave {len(made)} lists of guesses for {len(blanks)} masks; one each is needed")
    for guesses, blank in zip(made, blanks, strict=True):
        fault = _fault(guesses)
        if fault:
            raise GoldrankError(f"{place(blank.key)}: {who} gave {fault}")
    return [each if len(each.names) <= k else Guesses(tuple(each.names[:k]), tuple(each.scores[:k])) for each in made]


def _fault(guesses: object) -> str:
    if not isinstance(guesses, Guesses):
        return f"{shorten(guesses)}, which are no Guesses"
    if len(guesses.names) != len(guesses.scores):
        return f"{len(guesses.names)} names for {len(guesses.scores)} scores"
    for name, score in zip(guesses.names, guesses.scores, strict=True):
        if not isinstance(name, str):
            return f"the name {shorten(name)}, which is not a string"
        if isinstance(score, bool) or not isinstance(score, (int, float)) or not math.isfinite(score):
            return f"the score {shorten(score)} to {shorten(name)}, which is not a finite number"
    return ""
