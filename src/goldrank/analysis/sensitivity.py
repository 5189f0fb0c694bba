"""How far an evaluator moves when only the similarity or the transform of the same vectors changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from goldrank.errors import InputError, MissingExtraError
from goldrank.measuring import FigureBoard
from goldrank.metrics import Metric
from goldrank.running import Leaderboard, Measures, run_all
from goldrank.store import Store
from goldrank.tasks.settings import Settings

if TYPE_CHECKING:
    from goldrank.io.files import PathLike


@dataclass(frozen=True)
class Reading:
    """What one evaluator says under one setting."""

    value: float
    low: float | None
    high: float | None
    key: str


@dataclass(frozen=True)
class Variant:
    """One similarity with one transform, and what every evaluator says of it."""

    similarity: str
    transform: str
    readings: dict[str, Reading]

    @property
    def name(self) -> str:
        """How it is called in tables."""
        return f"{self.similarity}, {self.transform}"


@dataclass(frozen=True)
class Sensitivity:
    """All variants of one model, over one set of evaluators."""

    model: str
    variants: list[Variant]
    lower_is_better: frozenset[str]

    @property
    def evaluators(self) -> list[str]:
        """The tasks with what is read off them."""
        return list(self.variants[0].readings)

    def swing(self, evaluator: str) -> float:
        """The largest reading minus the smallest."""
        values = [variant.readings[evaluator].value for variant in self.variants]
        return max(values) - min(values)

    def relative_swing(self, evaluator: str) -> float:
        """The swing as a share of the reading of the first variant, by which evaluators of any scale compare."""
        first = abs(self.variants[0].readings[evaluator].value)
        return self.swing(evaluator) / first if first else float("inf")

    def best(self, evaluator: str) -> Variant:
        """The variant that the evaluator likes best."""
        sign = -1 if evaluator in self.lower_is_better else 1
        return max(self.variants, key=lambda variant: sign * variant.readings[evaluator].value)


def sensitivity(
    model: Any,
    tasks: Sequence[str],
    similarities: Sequence[str],
    transforms: Sequence[str],
    settings: Settings = Settings(),  # noqa: B008 - frozen
    *,
    store: Store,
    measures: Measures = Measures(),  # noqa: B008 - frozen
    overwrite: str = "missing",
    report: Callable[[str], None] = lambda line: None,
) -> Sensitivity:
    """Cross similarities with transforms for one model, and read every evaluator under each; all of it is stored."""
    chosen = [
        replace(settings, similarity=similarity, transform=transform)
        for similarity in similarities
        for transform in transforms
    ]
    if len(chosen) < 2:
        raise InputError("one setting cannot show how far a score moves", remedy="give several, such as cosine,l2")
    variants, lower = [], set()
    for setting in chosen:
        report(f"{setting.similarity}, {setting.transform}")
        readings = {}
        for board in run_all([model], tasks, setting, store=store, measures=measures, overwrite=overwrite):
            name, reading, lower_is_better = _read(board)
            readings[name] = reading
            if lower_is_better:
                lower.add(name)
        variants.append(Variant(setting.similarity, setting.transform, readings))
    return Sensitivity(board.best.model, variants, frozenset(lower))


def _read(board: Leaderboard | FigureBoard) -> tuple[str, Reading, bool]:
    """The headline of a board of one model: its name, what it reads, and whether less is better."""
    key = board.best.stored.key
    if isinstance(board, FigureBoard):
        (name, figure), *_ = board.best.figures.items()
        return f"{board.task.name} {name}", Reading(figure.value, figure.low, figure.high, key), False
    (scores,) = board.scores.values()
    (name, score), *_ = scores.items()
    bounds = score.interval
    low, high = (None, None) if bounds is None else (bounds.low, bounds.high)
    lower = Metric.parse(name).definition.direction == "lower"
    return f"{board.task.name} {name}", Reading(score.mean, low, high, key), lower


def plot_sensitivity(made: Sensitivity, path: PathLike) -> None:
    """Draw a panel for each evaluator: every variant with its interval, and the reading of the first as a line."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("a plot", "matplotlib", "plot") from None
    from goldrank.io.files import write_image

    names, count = made.evaluators, len(made.variants)
    figure = Figure(figsize=(2.6 * len(names) + 2.2, 0.34 * count + 1.6), layout="constrained")
    axes = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    colours = {
        transform: f"C{at % 10}" for at, transform in enumerate(dict.fromkeys(v.transform for v in made.variants))
    }
    for axis, name in zip(axes, names, strict=True):
        for row, variant in enumerate(made.variants):
            one = variant.readings[name]
            spread = None
            if one.low is not None and one.high is not None:
                spread = [[max(0.0, one.value - one.low)], [max(0.0, one.high - one.value)]]
            axis.errorbar([one.value], [row], xerr=spread, marker="o", capsize=3, color=colours[variant.transform])
        axis.axvline(made.variants[0].readings[name].value, color="0.6", linewidth=1, linestyle=":")
        axis.set_title(f"{name}\nmoves by {made.swing(name):.3f} ({made.relative_swing(name):.0%})", fontsize=9)
        axis.grid(axis="x", alpha=0.25)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_yticks(range(count), [variant.name for variant in made.variants])
    axes[0].invert_yaxis()
    figure.suptitle(f"{made.model}: the same vectors, compared and transformed differently", fontsize=11)
    write_image(path, figure)
