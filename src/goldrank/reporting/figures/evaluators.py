"""Figures about evaluators: which of them follow downstream scores, and how far a similarity or transform moves one."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from goldrank.analysis.headline import HeadlineReading
from goldrank.analysis.meta.result import MetaResult, bounds, or_lowest, signed
from goldrank.analysis.model_orders import OrderAgreement
from goldrank.analysis.sensitivity import ModelSensitivity, Sensitivity
from goldrank.errors import InputError
from goldrank.reporting.figures.description import Axis, Figure, LeftOut, Series
from goldrank.reporting.figures.heat_map import HeatMap

_MOST_LINES = 6


def meta_heat_map(made: MetaResult) -> HeatMap:
    """All correlations of a meta-evaluation, the evaluator that follows the downstream scores best on top."""
    values, texts, details = [], [], []
    bold = set()
    for row, name in enumerate(made.ranked):
        overall, cells = made.overall[name], [made.cells[name, column] for column in made.downstream]
        values.append((overall.mean, *(cell.value for cell in cells)))
        texts.append((signed(overall.mean), *(signed(cell.value) for cell in cells)))
        details.append((bounds(overall.interval), *(bounds(cell.interval) for cell in cells)))
        bold |= {(row, at) for at, cell in enumerate(cells, 1) if cell.adjusted < made.alpha}
    emphasis = f" Bold: p < {made.alpha:g} after Holm." if bold else ""
    return HeatMap(
        "meta-heat-map",
        "Which evaluator predicts which downstream score?",
        f"{made.kind.capitalize()} correlation over {len(made.models)} models of each intrinsic evaluator (row) with "
        f"each downstream score (column), and their mean; the best evaluator on top. In brackets {made.level:.0%} "
        f"intervals: bootstrap over {'families' if made.clustered else 'models'} ({made.resamples} resamples, seed "
        f"{made.seed}).{emphasis}",
        f"{made.kind.capitalize()} correlation",
        tuple(made.ranked),
        ("mean", *made.downstream),
        tuple(values),
        tuple(texts),
        tuple(details),
        row_label="intrinsic evaluator",
        column_label="downstream score",
        bold=frozenset(bold),
        low=-1.0,
        high=1.0,
        diverging=True,
    )


def meta_pivot(made: MetaResult, task: str) -> Figure | LeftOut:
    """Describe every evaluator's order of the models beside that of one downstream score, a line for each evaluator.

    Args:
        made: the meta-evaluation.
        task: a downstream score, by its name or by the first words of it.

    Raises:
        InputError: *task* is none of the downstream scores, or means several.
    """
    from scipy.stats import rankdata

    (downstream, *others) = made.table.select([task])
    if others or downstream not in made.downstream:
        raise InputError(
            f"{task!r} is not one of the downstream scores" if not others else f"{task!r} means several scores",
            remedy=f"pivot on one of {', '.join(made.downstream)}",
        )
    gold = made.oriented(downstream)
    models = [at for at in np.argsort(-gold, kind="stable") if not math.isnan(gold[at])]
    rows = sorted(made.intrinsic, key=lambda row: -or_lowest(made.cells[row, downstream].value))
    series = [Series(downstream, tuple(rankdata(-gold[models])), tuple(range(len(models))), faint=True)]
    for row in rows[:_MOST_LINES]:
        values = made.oriented(row)[models]
        present = np.flatnonzero(~np.isnan(values))
        if len(present) > 1:
            name = f"{row} ({signed(made.cells[row, downstream].value)})"
            series.append(Series(name, tuple(rankdata(-values[present])), tuple(present)))
    if len(series) == 1:
        return LeftOut("meta-pivot", f"no two models have a value of {downstream} and of an evaluator")
    left = len(rows) - _MOST_LINES
    return Figure(
        "meta-pivot",
        f"Who orders the models as {downstream} does?",
        f"The place that each evaluator gives each of {len(models)} models among those it has a value of, 1 being the "
        f"best. The models stand in the order of {downstream}, whose own line is grey: an evaluator that follows it "
        f"orders them alike. In brackets its {made.kind.capitalize()} correlation.",
        Axis("place by the evaluator (1 is best)", low=0.5, high=len(models) + 0.5),
        Axis(f"model, by {downstream}", categories=tuple(made.models[at] for at in models)),
        tuple(series),
        note=f"The {_MOST_LINES} closest evaluators are shown, {left} left out." if left > 0 else "",
    )


def sensitivity_maps(made: ModelSensitivity) -> list[HeatMap]:
    """Similarities by transforms, a map of readings for each evaluator, its favourite in bold."""
    rows = list(dict.fromkeys(variant.similarity for variant in made.variants))
    columns = list(dict.fromkeys(variant.transform for variant in made.variants))
    found = {(variant.similarity, variant.transform): variant for variant in made.variants}
    maps = []
    for at, evaluator in enumerate(made.evaluators):
        readings = [
            [found[row, column].readings[evaluator] if (row, column) in found else None for column in columns]
            for row in rows
        ]
        best = made.best(evaluator)
        way = "Lower" if evaluator in made.lower_is_better else "Higher"
        maps.append(
            HeatMap(
                f"sensitivity-{at + 1}",
                f"How far do similarity and transform move {evaluator}?",
                f"{made.model}: the same vectors, compared by each similarity (row) after each transform (column). "
                f"{way} is better, the best in bold; it moves by {made.swing(evaluator):.3f}, "
                f"{_share(made.relative_swing(evaluator))} of the first reading. In brackets its interval.",
                evaluator,
                tuple(rows),
                tuple(columns),
                tuple(tuple(math.nan if one is None else one.value for one in row) for row in readings),
                _written(readings),
                tuple(tuple(_limits(one) for one in row) for row in readings),
                row_label="similarity",
                column_label="transform",
                bold=frozenset({(rows.index(best.similarity), columns.index(best.transform))}),
            )
        )
    return maps


def order_heat_map(made: Sensitivity) -> HeatMap | LeftOut:
    """Kendall's tau between the orders of the models: changes of one setting by evaluators."""
    shown = [one for one in made.orders if one.one_change]
    if not shown:
        return LeftOut("model-orders", "there is no order of fewer than two models")
    changes = list(dict.fromkeys((one.first, one.second) for one in shown))
    found = {(one.first, one.second, one.evaluator): one for one in shown}
    cells = [[found.get((*change, name)) for name in made.evaluators] for change in changes]
    how, models = made.measures.bootstrap, shown[0].models
    details = [["" if one is None else tau_interval(one) for one in row] for row in cells]
    return HeatMap(
        "model-orders",
        "Does a change of the settings reorder the models?",
        f"Kendall's tau-b between the orders of {models} models before and after each change: 1 is the same order, −1 "
        f"the opposite. In brackets {how.level:.0%} intervals by percentiles, {how.resamples} resamples of queries or "
        f"pairs, the same for all models and settings (seed {how.seed}). Bold: some models swap significantly "
        f"(p ≤ {made.measures.alpha:g} under both settings, after Holm); with a question mark: cannot tell.",
        "Kendall's tau",
        tuple(change_name(*change) for change in changes),
        tuple(made.evaluators),
        tuple(tuple(math.nan if one is None else one.tau for one in row) for row in cells),
        tuple(tuple("–" if one is None else _marked(one) for one in row) for row in cells),
        tuple(map(tuple, details)),
        row_label="change",
        column_label="evaluator",
        bold=frozenset(
            (row, column)
            for row, line in enumerate(cells)
            for column, one in enumerate(line)
            if one is not None and one.answer == "reordered"
        ),
        low=-1.0,
        high=1.0,
        diverging=True,
    )


def tau_interval(one: OrderAgreement) -> str:
    """The interval of tau; of two models, whose tau has no values between, the share of resamples that agree."""
    return f"same in {one.same:.0%}" if one.models == 2 else bounds(one.interval)


def _marked(one: OrderAgreement) -> str:
    return signed(one.tau) + (" ?" if one.answer == "cannot tell" else "")


def change_name(first: str, second: str) -> str:
    """What changes from one setting to another, and what stays.

    >>> change_name("cosine, none", "l2, none"), change_name("l2, none", "l2, whiten")
    ('cosine → l2 (none)', 'none → whiten (l2)')
    """
    (similarity, _, transform), (other, _, transformed) = first.partition(", "), second.partition(", ")
    if transform == transformed:
        return f"{similarity} → {other} ({transform})"
    return f"{transform} → {transformed} ({similarity})"


def model_places(made: Sensitivity, evaluator: str) -> Figure | LeftOut:
    """The place of every model under every setting, a line a model: lines that cross are models that swap."""
    if len(made.models) < 2:
        return LeftOut("model-places", "there is no order of fewer than two models")
    places = [made.places(evaluator, at) for at in range(len(made.variants))]
    ends = made.place_intervals[evaluator]
    series = [
        Series(
            one.model,
            tuple(row[one.model] for row in places),
            tuple(range(len(places))),
            tuple(row[number][0] for row in ends),
            tuple(row[number][1] for row in ends),
        )
        for number, one in enumerate(made.models)
    ]
    series.sort(key=lambda one: one.x[0])
    how = made.measures.bootstrap
    return Figure(
        f"model-places-{made.evaluators.index(evaluator) + 1}",
        f"Does a change of the settings reorder the models by {evaluator}?",
        f"The place of each of {len(made.models)} models under each similarity and transform, 1 being the best: lines "
        f"that cross are models that swap. Bars: {how.level:.0%} intervals of the place, {how.resamples} resamples of "
        f"{made.units[evaluator]}, the same for all (seed {how.seed}).",
        Axis("place (1 is best)", low=0.5, high=len(made.models) + 0.5),
        Axis("similarity, transform", categories=tuple(made.variants)),
        tuple(series),
    )


def _written(readings: Sequence[Sequence[HeadlineReading | None]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple("–" if one is None else f"{one.value:.3f}".replace("-", "−") for one in row) for row in readings)


def _limits(one: HeadlineReading | None) -> str:
    if one is None or one.low is None or one.high is None:
        return ""
    return f"[{one.low:.3f}, {one.high:.3f}]".replace("-", "−")


def _share(value: float) -> str:
    return f"{value:.0%}" if math.isfinite(value) else "no share"
