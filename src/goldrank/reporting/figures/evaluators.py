"""Figures of meta-evaluation and sensitivity: how evaluators agree, and how settings move scores and model orders."""

from __future__ import annotations

import math

import numpy as np

from goldrank.analysis.headline import HeadlineReading
from goldrank.analysis.meta.result import MetaResult, bounds, or_lowest, signed
from goldrank.analysis.model_orders import OrderAgreement
from goldrank.analysis.sensitivity import ModelSensitivity, Sensitivity
from goldrank.errors import InputError
from goldrank.reporting.figures.description import Axis, Figure, LeftOut, Series
from goldrank.reporting.figures.heat_map import HeatCell, HeatMap
from goldrank.stats.correlation import mean_ranks

_MOST_LINES = 6
_NO_CELL = HeatCell(math.nan, "–")


def meta_heat_map(result: MetaResult) -> HeatMap:
    """Show all correlations of a meta-evaluation, the evaluator with the highest mean on top."""
    rows = []
    for name in result.ranked:
        overall = result.overall[name]
        row = [HeatCell(overall.mean, signed(overall.mean), bounds(overall.interval))]
        for task in result.downstream:
            cell = result.cells[name, task]
            significant = cell.adjusted < result.alpha
            row.append(HeatCell(cell.value, signed(cell.value), bounds(cell.interval), significant))
        rows.append(tuple(row))
    emphasis = f" Bold: p < {result.alpha:g} after Holm." if any(cell.bold for row in rows for cell in row) else ""
    return HeatMap(
        "meta-heat-map",
        "Which evaluator predicts which downstream score?",
        f"{result.kind.capitalize()} correlation over {len(result.models)} models of each intrinsic evaluator (row) "
        f"with each downstream score (column), and their mean; the best evaluator on top. In brackets "
        f"{result.level:.0%} intervals: bootstrap over {'families' if result.clustered else 'models'} "
        f"({result.resamples} resamples, seed {result.seed}).{emphasis}",
        f"{result.kind.capitalize()} correlation",
        tuple(result.ranked),
        ("mean", *result.downstream),
        tuple(rows),
        row_label="intrinsic evaluator",
        column_label="downstream score",
        low=-1.0,
        high=1.0,
        diverging=True,
    )


def meta_pivot(result: MetaResult, task: str) -> Figure | LeftOut:
    """Plot the rank of every model by each evaluator, models ordered by one downstream score.

    Args:
        result: the meta-evaluation.
        task: a downstream score, by its name or by the beginning of its name.

    Raises:
        InputError: *task* matches none of the downstream scores, or several.
    """
    (downstream, *others) = result.table.select([task])
    if others or downstream not in result.downstream:
        raise InputError(
            f"{task!r} is not one of the downstream scores" if not others else f"{task!r} means several scores",
            remedy=f"pivot on one of {', '.join(result.downstream)}",
        )
    gold = result.oriented(downstream)
    models = [at for at in np.argsort(-gold, kind="stable") if not math.isnan(gold[at])]
    evaluators = sorted(result.intrinsic, key=lambda name: -or_lowest(result.cells[name, downstream].value))
    series = [Series(downstream, tuple(mean_ranks(-gold[models])), tuple(range(len(models))), faint=True)]
    for evaluator in evaluators[:_MOST_LINES]:
        values = result.oriented(evaluator)[models]
        present = np.flatnonzero(~np.isnan(values))
        if len(present) > 1:
            name = f"{evaluator} ({signed(result.cells[evaluator, downstream].value)})"
            series.append(Series(name, tuple(mean_ranks(-values[present])), tuple(present)))
    if len(series) == 1:
        return LeftOut("meta-pivot", f"no two models have a value of {downstream} and of an evaluator")
    hidden = len(evaluators) - _MOST_LINES
    return Figure(
        "meta-pivot",
        f"Who orders the models as {downstream} does?",
        f"The place that each evaluator gives each of {len(models)} models among those it has a value of, 1 being the "
        f"best. The models stand in the order of {downstream}, whose own line is grey: an evaluator that follows it "
        f"orders them alike. In brackets its {result.kind.capitalize()} correlation.",
        Axis("place by the evaluator (1 is best)", low=0.5, high=len(models) + 0.5),
        Axis(f"model, by {downstream}", categories=tuple(result.models[at] for at in models)),
        tuple(series),
        note=f"The {_MOST_LINES} closest evaluators are shown, {hidden} left out." if hidden > 0 else "",
    )


def sensitivity_maps(result: ModelSensitivity) -> list[HeatMap]:
    """Return a heat map of similarities by transforms for each evaluator, the best setting in bold."""
    rows = list(dict.fromkeys(variant.similarity for variant in result.variants))
    columns = list(dict.fromkeys(variant.transform for variant in result.variants))
    variants = {(variant.similarity, variant.transform): variant for variant in result.variants}
    maps = []
    for number, evaluator in enumerate(result.evaluators, 1):
        best = result.best(evaluator)
        cells = [[variants.get((row, column)) for column in columns] for row in rows]
        better = "Lower" if evaluator in result.lower_is_better else "Higher"
        maps.append(
            HeatMap(
                f"sensitivity-{number}",
                f"How far do similarity and transform move {evaluator}?",
                f"{result.model}: the same vectors, compared by each similarity (row) after each transform (column). "
                f"{better} is better, the best in bold; it moves by {result.swing(evaluator):.3f}, "
                f"{_share(result.relative_swing(evaluator))} of the first reading. In brackets its interval.",
                evaluator,
                tuple(rows),
                tuple(columns),
                tuple(
                    tuple(
                        _reading_cell(variant.readings[evaluator], bold=variant is best) if variant else _NO_CELL
                        for variant in row
                    )
                    for row in cells
                ),
                row_label="similarity",
                column_label="transform",
            )
        )
    return maps


def _reading_cell(reading: HeadlineReading, bold: bool) -> HeatCell:
    known = reading.low is not None and reading.high is not None
    detail = f"[{reading.low:.3f}, {reading.high:.3f}]".replace("-", "−") if known else ""
    return HeatCell(reading.value, f"{reading.value:.3f}".replace("-", "−"), detail, bold)


def _share(value: float) -> str:
    return f"{value:.0%}" if math.isfinite(value) else "no share"


def order_heat_map(result: Sensitivity) -> HeatMap | LeftOut:
    """Show Kendall's tau between the orders of the models before and after each change of one setting."""
    shown = [order for order in result.orders if order.one_change]
    if not shown:
        return LeftOut("model-orders", "there is no order of fewer than two models")
    changes = list(dict.fromkeys((order.first, order.second) for order in shown))
    orders = {(order.first, order.second, order.evaluator): order for order in shown}
    cells = [[orders.get((*change, evaluator)) for evaluator in result.evaluators] for change in changes]
    how = result.measures.bootstrap
    return HeatMap(
        "model-orders",
        "Does a change of the settings reorder the models?",
        f"Kendall's tau-b between the orders of {shown[0].models} models before and after each change: 1 is the same "
        f"order, −1 the opposite. In brackets {how.level:.0%} intervals by percentiles, {how.resamples} resamples of "
        f"queries or pairs, the same for all models and settings (seed {how.seed}). Bold: some models swap "
        f"significantly (p ≤ {result.measures.alpha:g} under both settings, after Holm); with a question mark: cannot "
        "tell.",
        "Kendall's tau",
        tuple(change_name(*change) for change in changes),
        tuple(result.evaluators),
        tuple(tuple(_order_cell(order) if order else _NO_CELL for order in row) for row in cells),
        row_label="change",
        column_label="evaluator",
        low=-1.0,
        high=1.0,
        diverging=True,
    )


def _order_cell(order: OrderAgreement) -> HeatCell:
    doubt = " ?" if order.answer == "cannot tell" else ""
    return HeatCell(order.tau, signed(order.tau) + doubt, tau_interval(order), order.answer == "reordered")


def tau_interval(order: OrderAgreement) -> str:
    """Format the interval of tau; for two models, whose tau is 1 or −1, the share of resamples with the same order."""
    return f"same in {order.same:.0%}" if order.models == 2 else bounds(order.interval)


def change_name(first: str, second: str) -> str:
    """Name what changes from one setting to another, and in brackets what stays.

    >>> change_name("cosine, none", "l2, none"), change_name("l2, none", "l2, whiten")
    ('cosine → l2 (none)', 'none → whiten (l2)')
    """
    (similarity, _, transform), (other, _, transformed) = first.partition(", "), second.partition(", ")
    if transform == transformed:
        return f"{similarity} → {other} ({transform})"
    return f"{transform} → {transformed} ({similarity})"


def model_places(result: Sensitivity, evaluator: str) -> Figure | LeftOut:
    """Plot the place of every model under every setting; the lines of models that swap places cross."""
    if len(result.models) < 2:
        return LeftOut("model-places", "there is no order of fewer than two models")
    places = [result.places(evaluator, at) for at in range(len(result.variants))]
    intervals = result.place_intervals[evaluator]
    series = [
        Series(
            of.model,
            tuple(row[of.model] for row in places),
            tuple(range(len(places))),
            tuple(row[number][0] for row in intervals),
            tuple(row[number][1] for row in intervals),
        )
        for number, of in enumerate(result.models)
    ]
    series.sort(key=lambda line: line.x[0])
    how = result.measures.bootstrap
    return Figure(
        f"model-places-{result.evaluators.index(evaluator) + 1}",
        f"Does a change of the settings reorder the models by {evaluator}?",
        f"The place of each of {len(result.models)} models under each similarity and transform, 1 being the best: "
        f"lines that cross are models that swap. Bars: {how.level:.0%} intervals of the place, {how.resamples} "
        f"resamples of {result.units[evaluator]}, the same for all (seed {how.seed}).",
        Axis("place (1 is best)", low=0.5, high=len(result.models) + 0.5),
        Axis("similarity, transform", categories=tuple(result.variants)),
        tuple(series),
    )
