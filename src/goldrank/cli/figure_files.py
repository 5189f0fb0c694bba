"""Draw figures into the file that the option ``--plot`` names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from goldrank.cli import printing
from goldrank.reporting.figures.description import Figure, LeftOut
from goldrank.reporting.figures.heat_map import HeatMap
from goldrank.reporting.render.matplotlib_files import draw, image_format, require_matplotlib
from goldrank.reporting.render.themes import Size, Theme


def check_file(file: str) -> None:
    """Raise InputError before long work if no figure can be drawn into *file*."""
    image_format(file)
    require_matplotlib()


def draw_into(
    file: str, figures: Sequence[Figure | HeatMap | LeftOut], theme: Theme = "light", size: Size = "double"
) -> None:
    """Draw the first figure into *file*, and the others into files beside it, numbered from 2."""
    for number, figure in enumerate(figures, 1):
        path = Path(file) if number == 1 else Path(file).with_stem(f"{Path(file).stem}-{number}")
        if isinstance(figure, LeftOut):
            printing.say(f"warning: {path} is not drawn: {figure.reason}.")
            continue
        draw(figure, path, theme, size)
        printing.remark(f"drawn: {path}")
