"""Pages, examples and masks: a chunk of a page in which the person's name is masked, and what each mask hid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

MASK = "<mask>"
"""What stands in a text where a name was."""
_LONGEST_ID = 60


def place_name(page: str, sequence: int | None = None, mask: int | None = None) -> str:
    """How messages call a page, an example or a mask, however long the id of the page is.

    >>> place_name("12", 3, 1), place_name("x" * 100)[-8:]
    ('page 12, example 3, mask 1', 'xxxxxxx…')
    """
    place = f"page {page if len(page) <= _LONGEST_ID else page[:_LONGEST_ID] + '…'}"
    place += "" if sequence is None else f", example {sequence}"
    return place + ("" if mask is None else f", mask {mask}")


class MaskKey(NamedTuple):
    """What joins data and predictions: never the order of rows."""

    page: str
    sequence: int
    mask: int
    """Which mask of the example, from 0."""


@dataclass(frozen=True)
class Chunk:
    """One example: a part of a page about a person."""

    page: str
    """The id of the page; numbers are written in decimal."""
    sequence: int
    """Which part of the page."""
    title: str
    """The title of the page, which names the person."""
    text: str
    """With MASK in place of each mention."""
    masks: tuple[str, ...]
    """What each mask hid, in the order of the text."""
    kind: str = "original"
    """``original`` or ``paraphrased``, or whatever the data says."""
    size: int = 0
    """The size that the page was cut to; 0 where it is not known."""
    extra: Mapping[str, object] = field(default_factory=dict)
    """Further columns, such as page views, by which results can be split."""
    answers: tuple[tuple[str, ...], ...] = ()
    """The right answers of each mask, any of which will do; none where the title is the one right answer."""

    def right_answers(self, mask: int) -> tuple[str, ...]:
        """The right answers of one mask.

        >>> Chunk("7", 0, "Lise Meitner", "By <mask>.", ("her",)).right_answers(0)
        ('Lise Meitner',)
        """
        return (self.answers[mask] if self.answers else ()) or (self.title,)

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """The text between the masks: one piece more than there are masks."""
        return tuple(self.text.split(MASK))

    @property
    def keys(self) -> list[MaskKey]:
        """The key of each mask."""
        return [MaskKey(self.page, self.sequence, number) for number in range(len(self.masks))]


@dataclass(frozen=True)
class Blank:
    """One mask to be filled, as a predictor sees it: neither the title nor what the mask hid."""

    key: MaskKey
    before: str
    """The text before the mask; other masks in it stand as MASK, or as what they hid where those are revealed."""
    after: str


@dataclass(frozen=True)
class Guesses:
    """What a predictor says of one mask: names with scores, the best first."""

    names: tuple[str, ...]
    scores: tuple[float, ...]
