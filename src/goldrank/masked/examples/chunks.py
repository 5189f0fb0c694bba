"""Data types of masked examples: chunks of pages, mask keys, blanks to fill, and guesses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

MASK = "<mask>"
"""The token that replaces a name in a text."""
_LONGEST_ID = 60


def describe_place(page: str, sequence: int | None = None, mask: int | None = None) -> str:
    """Return how messages refer to a page, an example or a mask; a long page id is shortened.

    >>> describe_place("12", 3, 1), describe_place("x" * 100)[-8:]
    ('page 12, example 3, mask 1', 'xxxxxxx…')
    """
    place = f"page {page if len(page) <= _LONGEST_ID else page[:_LONGEST_ID] + '…'}"
    place += "" if sequence is None else f", example {sequence}"
    return place + ("" if mask is None else f", mask {mask}")


class MaskKey(NamedTuple):
    """The key that joins data and predictions, independent of the order of rows."""

    page: str
    sequence: int
    mask: int
    """Number of the mask in the example, from 0."""

    @property
    def place(self) -> str:
        """How messages refer to the mask: ``page 12, example 3, mask 0``."""
        return describe_place(*self)


@dataclass(frozen=True)
class Chunk:
    """One example: a part of a page about a person, with the person's names masked."""

    page: str
    """Id of the page; a number is written in decimal."""
    sequence: int
    """Number of the part within the page."""
    title: str
    """Title of the page, which names the person."""
    text: str
    """The text with MASK in place of each mention."""
    masks: tuple[str, ...]
    """The hidden text of each mask, in text order."""
    kind: str = "original"
    """``original``, ``paraphrased``, or any other type given by the data."""
    size: int = 0
    """Maximum size of the parts of the page; 0 if unknown."""
    extra: Mapping[str, object] = field(default_factory=dict)
    """Further columns, such as page views, by which results can be split."""
    answers: tuple[tuple[str, ...], ...] = ()
    """The right answers of each mask, any of which counts; empty if the title is the only right answer."""

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """The text around the masks: one piece more than there are masks."""
        return tuple(self.text.split(MASK))

    @property
    def keys(self) -> list[MaskKey]:
        """The key of each mask."""
        return [MaskKey(self.page, self.sequence, number) for number in range(len(self.masks))]


@dataclass(frozen=True)
class Blank:
    """One mask to be filled, as a predictor sees it, without the title and the hidden text."""

    key: MaskKey
    before: str
    """The text before the mask; other masks appear as MASK, or as their hidden text if they are revealed."""
    after: str


@dataclass(frozen=True)
class Guesses:
    """The guesses of a predictor for one mask: names with scores, best first."""

    names: tuple[str, ...]
    scores: tuple[float, ...]
