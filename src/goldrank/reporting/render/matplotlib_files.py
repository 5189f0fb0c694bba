"""Draws described figures with matplotlib, for print: complete files, the same each time."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from goldrank.errors import InputError, MissingExtraError, unknown_name
from goldrank.reporting.figures.description import Figure
from goldrank.reporting.figures.heat_map import HeatMap
from goldrank.reporting.render.themes import SIZES, THEMES, Size, Theme

if TYPE_CHECKING:
    from goldrank.io.files import PathLike


def require_matplotlib() -> None:
    """Raise now, before long work, if there is nothing to draw with."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MissingExtraError("a plot", "matplotlib", "plot") from None


def image_format(path: PathLike) -> str:
    """Return the image format that the suffix of *path* names, ``png``, ``pdf`` or ``svg``.

    Raises:
        InputError: the suffix names another format, or none.
    """
    suffix = Path(path).suffix.lower().lstrip(".")
    if suffix not in ("png", "pdf", "svg"):
        raise InputError("the suffix names no image format", where=str(path), remedy="end it in .png, .pdf or .svg")
    return suffix


def draw(figure: Figure | HeatMap, path: PathLike, theme: Theme = "light", size: Size = "double") -> None:
    """Draw *figure* into a .png, .pdf or .svg file, completely or not at all; equal figures give equal bytes.

    Args:
        figure: what to draw.
        path: the file; its suffix names the format.
        theme: ``light`` for paper, ``dark`` for dark slides and pages.
        size: as wide as one column of a paper (``single``, 3.5 inches) or as two (``double``, 7.2 inches).
    """
    from goldrank.io.files import write_atomically
    from goldrank.reporting.render.matplotlib_figure import FigureSheet
    from goldrank.reporting.render.matplotlib_heat_map import HeatMapSheet
    from goldrank.reporting.render.matplotlib_page import DPI

    if theme not in THEMES:
        raise unknown_name("theme", theme, THEMES, ", ".join(THEMES))
    if size not in SIZES:
        raise unknown_name("size", size, SIZES, ", ".join(SIZES))
    format = image_format(path)
    require_matplotlib()
    # A date would make every file another one.
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with settings_for(figure.name):
        look = THEMES[theme], SIZES[size]
        made = HeatMapSheet(figure, *look) if isinstance(figure, HeatMap) else FigureSheet(figure, *look)
        sheet = made.finished()
        write_atomically(path, lambda out: sheet.savefig(out, dpi=DPI, format=format, metadata=dates.get(format)))


@contextmanager
def settings_for(salt: str) -> Iterator[None]:
    """The settings of matplotlib under which equal figures give equal bytes."""
    import matplotlib as mpl

    settings = {"svg.hashsalt": salt, "pdf.fonttype": 42, "font.family": ["DejaVu Sans"], "hatch.linewidth": 0.6}
    with mpl.rc_context(settings), warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes, which says enough.
        warnings.filterwarnings("ignore", message=r"Glyph \d+")
        yield
