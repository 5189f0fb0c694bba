"""The two figures of a meta-evaluation: the heat map of correlations, and the pivot."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from goldrank.errors import InputError, MissingExtraError
from goldrank.meta.result import MetaResult, bounds, or_lowest, signed

if TYPE_CHECKING:
    from goldrank.io.files import PathLike
    from goldrank.stats.resampling import Floats

_PANELS = 12
_NAMES = 40
"""More models than this have no room for their names beside the pivot."""


def plot_heat_map(made: MetaResult, path: PathLike) -> None:
    """Draw all correlations as a map, with their values and intervals, the best evaluator on top."""
    # Never narrower than the title.
    width = max(2.8 + 1.08 * (len(made.downstream) + 1.4), 7.0)
    figure = _new_figure((width, 1.6 + 0.5 * len(made.intrinsic)))
    grid = figure.subplots(1, 2, width_ratios=[1.15, len(made.downstream)])
    means = np.array([[made.overall[name].mean] for name in made.ranked])
    cells = np.array([[made.cells[row, column].value for column in made.downstream] for row in made.ranked])
    shown = {"cmap": "RdBu", "vmin": -1, "vmax": 1, "aspect": "auto"}
    for axis, values in zip(grid, (means, cells), strict=True):
        image = axis.imshow(values, **shown)
        axis.set_xticks(np.arange(values.shape[1] + 1) - 0.5, minor=True)
        axis.set_yticks(np.arange(values.shape[0] + 1) - 0.5, minor=True)
        axis.grid(which="minor", color="white", linewidth=1.5)
        axis.tick_params(which="both", length=0)
        axis.spines[:].set_visible(False)
        axis.xaxis.tick_top()
    grid[0].set_xticks([0], ["mean"], fontweight="bold")
    grid[0].set_yticks(range(len(made.ranked)), made.ranked)
    grid[1].set_xticks(range(len(made.downstream)), [name.replace(" ", "\n", 1) for name in made.downstream])
    grid[1].set_yticks([])
    for line, row in enumerate(made.ranked):
        overall = made.overall[row]
        _write(grid[0], 0, line, overall.mean, bounds(overall.interval), bold=True)
        for place, column in enumerate(made.downstream):
            cell = made.cells[row, column]
            _write(grid[1], place, line, cell.value, bounds(cell.interval), bold=cell.adjusted < made.alpha)
    figure.colorbar(image, ax=grid, shrink=0.9, pad=0.01, aspect=30, label=f"{made.kind.capitalize()} correlation")
    _title(figure, f"Which evaluator predicts which downstream score? {len(made.models)} models")
    bold = (
        ""
        if not any(cell.adjusted < made.alpha for cell in made.cells.values())
        else f"; bold: p < {made.alpha:g} after Holm"
    )
    figure.supxlabel(f"{made.level:.0%} intervals in brackets{bold}", fontsize=8, color="0.35")
    _save(figure, path)


def plot_pivot(made: MetaResult, task: str, path: PathLike) -> None:
    """Draw every evaluator's order of the models against that of one downstream task.

    The models stand in the order of the task, the best on top. In the panel of an evaluator each lies as far to the
    right as the evaluator puts it down; one that follows the task draws the diagonal.
    """
    (column, *others) = made.table.select([task])
    if others or column not in made.downstream:
        raise InputError(
            f"{task!r} is not one of the downstream scores" if not others else f"{task!r} means several scores",
            remedy=f"pivot on one of {', '.join(made.downstream)}",
        )
    rows = sorted(made.intrinsic, key=lambda name: -or_lowest(made.cells[name, column].value))[:_PANELS]
    gold = _oriented(made, column)
    models = [at for at in np.argsort(-gold, kind="stable") if not math.isnan(gold[at])]
    named = len(models) <= _NAMES
    across = min(len(rows), 4)
    down = math.ceil(len(rows) / across)
    height = max(2.6, (0.2 if named else 0.07) * len(models))
    width = max(2.6 * across + (2.6 if named else 0.6), 6.5)
    figure = _new_figure((width, (height + 0.6) * down + 0.9))
    axes = figure.subplots(down, across, sharey=True, squeeze=False).ravel()
    for axis, row in zip(axes, rows, strict=False):
        _panel(axis, made, row, column, models)
    for axis in axes[len(rows) :]:
        axis.set_visible(False)
    for axis in axes[::across]:
        if named:
            axis.set_yticks(range(1, len(models) + 1), [_short(made.models[at]) for at in models], fontsize=7)
        axis.set_ylim(len(models) + 0.7, 0.3)
        axis.set_ylabel(f"models by {column}, the best on top", fontsize=8)
    left = len(made.intrinsic) - len(rows)
    more = f", the {len(rows)} that follow it closest" if left else ""
    _title(figure, f"Who orders the models as {column} does? {len(models)} models{more}")
    figure.supxlabel("place that the evaluator gives the model; on the grey line both agree", fontsize=8, color="0.35")
    _save(figure, path)


def _panel(axis: Any, made: MetaResult, row: str, column: str, models: list[Any]) -> None:
    from scipy.stats import rankdata

    values = _oriented(made, row)
    present = [(place, at) for place, at in enumerate(models, 1) if not math.isnan(values[at])]
    lines = np.array([place for place, _ in present])
    places = rankdata([-values[at] for _, at in present])
    # Models that this evaluator lacks leave gaps in the lines; its own places are stretched over them.
    scaled = 1 + (places - 1) * (len(models) - 1) / max(len(present) - 1, 1)
    axis.plot([1, len(models)], [1, len(models)], color="0.75", linewidth=2.5, zorder=1)
    axis.plot(scaled, lines, color="tab:blue", linewidth=0.9, alpha=0.6, zorder=2)
    axis.scatter(scaled, lines, s=14, color="tab:blue", zorder=3)
    cell = made.cells[row, column]
    axis.set_title(f"{row}\n{signed(cell.value)} {bounds(cell.interval)}", fontsize=8)
    axis.set_xlim(0.3, len(models) + 0.7)
    ticks = sorted({1, len(models) // 2, len(models)})
    axis.set_xticks(ticks)
    axis.tick_params(labelsize=7)
    axis.grid(axis="y", alpha=0.2)
    axis.spines[["top", "right"]].set_visible(False)


def _oriented(made: MetaResult, evaluator: str) -> Floats:
    """The values of the models, higher being better."""
    column = made.table.column(evaluator)
    values = np.array([column[made.table.models.index(model)] for model in made.models])
    return -values if evaluator in made.lower else values


def _write(axis: Any, x: int, y: int, value: float, around: str, *, bold: bool) -> None:
    colour = "white" if abs(value) > 0.6 else "black"
    weight = "bold" if bold else "normal"
    axis.text(x, y - 0.14, signed(value), ha="center", va="center", color=colour, fontsize=9, fontweight=weight)
    axis.text(x, y + 0.26, around, ha="center", va="center", color=colour, fontsize=6)


def _short(name: str, limit: int = 34) -> str:
    """A name short enough for an axis: its start and its end, which tell variants apart."""
    return name if len(name) <= limit else f"{name[: limit // 2 - 1]}…{name[-limit // 2 :]}"


def _new_figure(size: tuple[float, float]) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("a plot", "matplotlib", "plot") from None
    return Figure(figsize=size, layout="constrained")


def _title(figure: Any, text: str) -> None:
    figure.suptitle(text, fontsize=11)


def check_image(path: PathLike) -> str:
    """The image format that the suffix of *path* names."""
    suffix = Path(path).suffix.lower().lstrip(".")
    if suffix not in ("png", "pdf", "svg"):
        raise InputError("the suffix names no image format", where=str(path), remedy="end it in .png, .pdf or .svg")
    return suffix


def _save(figure: Any, path: PathLike) -> None:
    from goldrank.io.files import write_atomically

    format = check_image(path)
    write_atomically(path, lambda out: figure.savefig(out, dpi=150, format=format))
