"""Colours of the light and the dark theme, fonts, sizes on paper, and names shortened to fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

from goldrank.errors import unknown_name

Theme = Literal["light", "dark"]
Size = Literal["single", "double"]


@dataclass(frozen=True)
class Colours:
    """The colours of one theme; `tokens_css` gives them to pages under the same names."""

    paper: str
    """The background of the page."""
    raised: str
    """The background of panels and figures."""
    sunk: str
    """The background of code, tags and other insets."""
    ink: str
    soft: str
    """Captions and notes: weaker than ink, but legible."""
    grey: str
    """The axes of a figure, and series in the background."""
    line: str
    """The borders of controls."""
    faint: str
    """The lines between rows and sections."""
    accent: str
    """Links, and text about gold."""
    accent_ink: str
    gold: str
    gold_wash: str
    right: str
    right_wash: str
    wrong: str
    wrong_wash: str
    shadow: str
    series: tuple[str, ...]
    """The series of a figure, in order."""


# The palette of Okabe and Ito, which colour-blind readers can distinguish, without the colour closest to the paper;
# then three more, for figures with many runs, which differ in their marks, dashes and patterns too.
THEMES = {
    "light": Colours(
        paper="#fdfcfa",
        raised="#ffffff",
        sunk="#f5f3ee",
        ink="#1f1d1a",
        soft="#6b665d",
        grey="#8c877d",
        line="#d3cdc0",
        faint="#e4e0d7",
        accent="#7d5a00",
        accent_ink="#ffffff",
        gold="#c8940f",
        gold_wash="#fbf1d5",
        right="#2c6b3f",
        right_wash="#e2f2e5",
        wrong="#a5351f",
        wrong_wash="#fbe9e4",
        shadow="rgb(60 50 20 / 12%)",
        series=(
            "#0072B2",
            "#D55E00",
            "#009E73",
            "#CC79A7",
            "#E69F00",
            "#56B4E9",
            "#000000",
            "#7B52AB",
            "#8C5A2B",
            "#7E8B1A",
        ),
    ),
    "dark": Colours(
        paper="#171614",
        raised="#1f1d1a",
        sunk="#24221e",
        ink="#ebe7df",
        soft="#a39c8f",
        grey="#8a8376",
        line="#47423a",
        faint="#302d28",
        accent="#e6bb55",
        accent_ink="#1c1606",
        gold="#e6bb55",
        gold_wash="#3a3016",
        right="#8fd0a0",
        right_wash="#1c3323",
        wrong="#f0957f",
        wrong_wash="#3d211a",
        shadow="rgb(0 0 0 / 50%)",
        # The same hues in the same order, lighter, so that a run keeps its colour when the theme changes.
        series=(
            "#3D96D9",
            "#F07232",
            "#18B58A",
            "#DD93BC",
            "#EFB020",
            "#9ADBFF",
            "#ffffff",
            "#B294E8",
            "#C99668",
            "#BFCB4E",
        ),
    ),
}
FONTS = {
    "sans": 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif',
    "serif": '"Iowan Old Style", "Palatino Linotype", Palatino, "Noto Serif", "Liberation Serif", Georgia, serif',
    "mono": 'ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace',
}
"""The font families of pages; figures on pages have the first."""


def find_colours(theme: str) -> Colours:
    """Return the colours of a theme, or raise InputError if there is no such theme."""
    if theme not in THEMES:
        raise unknown_name("theme", theme, THEMES, ", ".join(THEMES))
    return THEMES[theme]


def tokens_css() -> str:
    """Return colours and fonts as CSS variables (``--gold-wash``, ``--series-1``), for report and explorer alike.

    The attribute ``data-theme`` of the root element decides the theme, or the reader's system if it has none.
    """
    light, dark = (
        {"color-scheme": name}
        | {f"--{field.name.replace('_', '-')}": getattr(colours, field.name) for field in fields(colours)}
        | {f"--{colour_name(number)}": colour for number, colour in enumerate(colours.series)}
        for name, colours in THEMES.items()
    )
    fonts = {f"--{name}": families for name, families in FONTS.items()}
    names = [colour_name(number) for number, _ in enumerate(THEMES["light"].series)]
    return "\n".join(
        [
            *(_rule(f".{name}", {"color": f"var(--{name})"}) for name in names),
            _rule(":root", light | fonts),
            _rule(':root[data-theme="dark"]', dark),
            f"@media (prefers-color-scheme: dark) {{\n{_rule(':root:not([data-theme])', dark)}\n}}",
        ]
    )


def colour_name(number: int) -> str:
    """Return the name of the colour of a run's number, on pages a CSS variable and a class.

    >>> colour_name(0), colour_name(11)
    ('series-1', 'series-2')
    """
    return f"series-{number % len(THEMES['light'].series) + 1}"


def _rule(selector: str, values: Mapping[str, object]) -> str:
    lines = [f"  {name}: {value};" for name, value in values.items() if isinstance(value, str)]
    return "\n".join([f"{selector} {{", *lines, "}"])


@dataclass(frozen=True)
class Format:
    """Sizes of a figure on paper, in inches and points."""

    width: float
    height: float
    row: float
    """The height of a category on a vertical axis."""
    text: float
    title: float
    caption: float
    name: int
    """Maximum number of characters of a name."""


SIZES = {
    "single": Format(3.5, 2.1, 0.16, 7.0, 8.5, 6.0, 26),
    "double": Format(7.2, 3.4, 0.2, 8.0, 10.5, 7.0, 48),
}


def short_name(name: str, limit: int) -> str:
    """Return a name on one line and no longer than *limit*: its start and its end.

    >>> short_name("fill-mask:roberta-base", 12)
    'fill-…a-base'
    """
    line = " ".join(name.split())
    return line if len(line) <= limit else f"{line[: (limit - 1) // 2]}…{line[-(limit // 2) :]}"


def short_names(names: Sequence[str], limit: int) -> list[str]:
    """Return names on one line, each about as long as *limit* and different from the others.

    >>> short_names(["fill-mask:roberta-base", "fill-mask:roberta-large", "bm25"], 12)
    ['fill-…a-base', 'fill-…-large', 'bm25']
    """
    shortened: list[str] = []
    for name in names:
        short, number = short_name(name, limit), 2
        while short in shortened:
            short, number = f"{short.removesuffix(f' #{number - 1}')} #{number}", number + 1
        shortened.append(short)
    return shortened
