"""How figures look, on pages and in print: colours for light and dark, sizes on paper, and names cut to fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Theme = Literal["light", "dark"]
Size = Literal["single", "double"]


@dataclass(frozen=True)
class Colours:
    """The colours of one theme."""

    paper: str
    ink: str
    quiet: str
    """For the caption: less than ink, and still easily read."""
    faint: str
    series: tuple[str, ...]


# The palette of Okabe and Ito, which the colour-blind can tell apart, without the colour that the paper swallows.
THEMES = {
    "light": Colours(
        "#ffffff",
        "#1a1a1a",
        "#575757",
        "#8a8a8a",
        ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"),
    ),
    "dark": Colours(
        "#16181d",
        "#eceff4",
        "#b4bcc8",
        "#7d8590",
        ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#D55E00", "#ffffff"),
    ),
}


@dataclass(frozen=True)
class Format:
    """Inches and points of one column of a paper, or of two."""

    width: float
    height: float
    row: float
    """The height of one category where they run from the top down."""
    text: float
    title: float
    caption: float
    name: int
    """How many characters of a name are shown."""


SIZES = {
    "single": Format(3.5, 2.1, 0.16, 7.0, 8.5, 6.0, 26),
    "double": Format(7.2, 3.4, 0.2, 8.0, 10.5, 7.0, 48),
}


def short_name(name: str, limit: int) -> str:
    """A name on one line and no longer than *limit*, by its start and end.

    >>> short_name("fill-mask:roberta-base", 12)
    'fill-…a-base'
    """
    line = " ".join(name.split())
    return line if len(line) <= limit else f"{line[: (limit - 1) // 2]}…{line[-(limit // 2) :]}"


def short_names(names: Sequence[str], limit: int) -> list[str]:
    """Names on one line and no longer than *limit*, by their start and end, and still told apart.

    >>> short_names(["fill-mask:roberta-base", "fill-mask:roberta-large", "bm25"], 12)
    ['fill-…a-base', 'fill-…-large', 'bm25']
    """
    made: list[str] = []
    for name in names:
        short, number = short_name(name, limit), 2
        while short in made:
            short, number = f"{short.removesuffix(f' #{number - 1}')} #{number}", number + 1
        made.append(short)
    return made
