"""The pivot of a meta-evaluation: every evaluator's order of the models against that of one downstream score."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from goldrank.analysis.meta.result import MetaResult, bounds, or_lowest, signed
from goldrank.errors import InputError, MissingExtraError
from goldrank.io.files import write_image

if TYPE_CHECKING:
    from goldrank.io.files import PathLike

_PANELS = 12
_NAMES = 40
"""More models than this have no room for their names beside the pivot."""


def plot_pivot(made: MetaResult, task: str, path: PathLike) -> None:
    """Draw every evaluator's order of the models against that of one downstream task.

    The models stand in the order of the task, the best on top. In the panel of an evaluator each lies as far to the
    right as the evaluator puts it down; one that follows the task draws the diagonal.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("a plot", "matplotlib", "plot") from None

    (column, *others) = made.table.select([task])
    if others or column not in made.downstream:
        raise InputError(
            f"{task!r} is not one of the downstream scores" if not others else f"{task!r} means several scores",
            remedy=f"pivot on one of {', '.join(made.downstream)}",
        )
    rows = sorted(made.intrinsic, key=lambda name: -or_lowest(made.cells[name, column].value))[:_PANELS]
    gold = made.oriented(column)
    models = [at for at in np.argsort(-gold, kind="stable") if not math.isnan(gold[at])]
    named = len(models) <= _NAMES
    across = min(len(rows), 4)
    down = math.ceil(len(rows) / across)
    height = max(2.6, (0.2 if named else 0.07) * len(models))
    width = max(2.6 * across + (2.6 if named else 0.6), 6.5)
    figure = Figure(figsize=(width, (height + 0.6) * down + 0.9), layout="constrained")
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
    figure.suptitle(f"Who orders the models as {column} does? {len(models)} models{more}", fontsize=11)
    figure.supxlabel("place that the evaluator gives the model; on the grey line both agree", fontsize=8, color="0.35")
    write_image(path, figure)


def _panel(axis: Any, made: MetaResult, row: str, column: str, models: list[Any]) -> None:
    from scipy.stats import rankdata

    values = made.oriented(row)
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


def _short(name: str, limit: int = 34) -> str:
    """A name short enough for an axis: its start and its end, which tell variants apart."""
    return name if len(name) <= limit else f"{name[: limit // 2 - 1]}…{name[-limit // 2 :]}"
