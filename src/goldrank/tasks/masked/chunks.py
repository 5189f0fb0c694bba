"""Pages, examples and masks: a chunk of a page in which the person's name is masked, and what each mask hid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

MASK = "<mask>"
"""What stands in a text where a name was."""


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
