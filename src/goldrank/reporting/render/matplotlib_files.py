"""Write described figures to image files with matplotlib; equal figures give equal files."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from goldrank.errors import InputError, MissingExtraError, unknown_name
from goldrank.reporting.figures.description import Figure
from goldrank.reporting.figures.heat_map import HeatMap
from goldrank.reporting.render.themes import SIZES, Size, Theme, find_colours

if TYPE_CHECKING:
    from goldrank.io.files import PathLike


def require_matplotlib() -> None:
    """Raise MissingExtraError if matplotlib is not installed; call this before long work."""
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
    """Draw *figure* into a .png, .pdf or .svg file atomically; equal figures give equal bytes.

    Args:
        figure: the figure or heat map to draw.
        path: the file; its suffix determines the format.
        theme: ``light`` for paper, ``dark`` for dark slides and pages.
        size: one column of a paper (``single``, 3.5 inches) or two (``double``, 7.2 inches).
    """
    from goldrank.io.files import write_atomically
    from goldrank.reporting.render.matplotlib_figure import FigureSheet
    from goldrank.reporting.render.matplotlib_heat_map import HeatMapSheet
    from goldrank.reporting.render.matplotlib_page import DPI

    colours = find_colours(theme)
    if size not in SIZES:
        raise unknown_name("size", size, SIZES, ", ".join(SIZES))
    format = image_format(path)
    require_matplotlib()
    # With a date, no two files would be equal.
    dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with settings_for(figure.name):
        look = colours, SIZES[size]
        sheet = HeatMapSheet(figure, *look) if isinstance(figure, HeatMap) else FigureSheet(figure, *look)
        canvas = sheet.draw()
        write_atomically(path, lambda out: canvas.savefig(out, dpi=DPI, format=format, metadata=dates.get(format)))


@contextmanager
def settings_for(salt: str) -> Iterator[None]:
    """Apply the settings of matplotlib under which equal figures give equal bytes."""
    import matplotlib as mpl

    settings = {"svg.hashsalt": salt, "pdf.fonttype": 42, "font.family": ["DejaVu Sans"], "hatch.linewidth": 0.6}
    with mpl.rc_context(settings), warnings.catch_warnings():
        # Characters that the font lacks are drawn as boxes; a warning for each would say no more.
        warnings.filterwarnings("ignore", message=r"Glyph \d+")
        yield
