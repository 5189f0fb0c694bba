"""Tables of a sensitivity analysis: scores, model orders, swaps and bands under each setting."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from goldrank.analysis.headline import HeadlineReading
from goldrank.analysis.meta.result import signed
from goldrank.analysis.model_orders import Difference, OrderAgreement
from goldrank.analysis.score_bands import BandReading
from goldrank.analysis.sensitivity import ModelSensitivity, Sensitivity
from goldrank.reporting.figures.evaluators import change_name, tau_interval
from goldrank.reporting.text import formatting
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.views import View

_COLUMNS = (
    "kind", "evaluator", "model", "other_model", "setting", "other_setting", "band", "quantity", "value", "low", "high",
    "p", "p_adjusted", "count", "said", "key",
)  # fmt: skip
_QUANTITIES = {
    "spearman": "spearman: within the band, whose range of scores is restricted; only its change can be read.",
    "similarity rank": "similarity rank: the mean percentile of the band's similarities among all pairs, 100 being the "
    "most similar; it says where the band is moved, not whether that is right.",
    "lost": "lost: what the pairs of the band take from a correlation of 1. The bands add up to 1 − Spearman, and "
    "their changes to its change: the setting helps the bands that lose less.",
}


def view(result: Sensitivity) -> View:
    """Return the result in all its forms."""
    return View(result.content, lambda: _table(result), lambda: _grids(result), schema="sensitivity")


def _table(result: Sensitivity) -> list[Sequence[Any]]:
    if len(result.models) == 1 and not result.failures and not result.bands:
        return [*_readings(result.models[0])]
    return [_COLUMNS, *_rows(result)]


def _grids(result: Sensitivity) -> list[Grid]:
    single = len(result.models) == 1
    grids = [_one_model(result.models[0])] if single else [*_values(result), *_orders(result), *_swaps(result)]
    grids += _bands(result)
    left_out = [f"{each.model} is left out: with {each.variant}, {each.reason}" for each in result.failures]
    if result.notes or left_out:
        grids[-1].notes.extend([*left_out, *result.notes])
    return grids


def _readings(of_model: ModelSensitivity) -> list[list[Any]]:
    return [
        ["model", "similarity", "transform", "evaluator", "value", "low", "high", "key"],
        *(
            [of_model.model, variant.similarity, variant.transform, name, value.value, value.low, value.high, value.key]
            for variant in of_model.variants
            for name, value in variant.readings.items()
        ),
    ]


def _rows(result: Sensitivity) -> Iterator[list[Any]]:
    """Yield readings, taus, swaps and bands as rows of one table, whose kind is in the column ``kind``."""
    for of_model in result.models:
        for variant in of_model.variants:
            for name, reading in variant.readings.items():
                yield _row(
                    kind="reading", evaluator=name, model=of_model.model, setting=variant.name, value=reading.value,
                    low=reading.low, high=reading.high, key=reading.key,
                )  # fmt: skip
    for order in result.orders:
        both = {"evaluator": order.evaluator, "setting": order.first, "other_setting": order.second}
        yield _row(
            kind="order", quantity="tau", value=order.tau, low=order.interval.low, high=order.interval.high,
            count=order.models, said=order.answer, **both,
        )  # fmt: skip
        for swap in order.swaps:
            pair = {"model": swap.ahead, "other_model": swap.behind, **both}
            for quantity in ("before", "after", "moved"):
                difference: Difference = getattr(swap, quantity)
                yield _row(
                    kind="swap", quantity=quantity, value=difference.value, low=difference.low, high=difference.high,
                    p=difference.p,
                    p_adjusted=swap.adjusted, said=swap.verdict, **pair,
                )  # fmt: skip
    for band in result.bands:
        own = {
            "kind": "band", "evaluator": band.evaluator, "model": band.model, "setting": band.variant,
            "band": band.band, "quantity": band.quantity, "count": band.count,
        }  # fmt: skip
        yield _row(value=band.value, low=band.low, high=band.high, **own)
        if band.change is not None:
            own |= {"quantity": f"change of {band.quantity}", "other_setting": result.variants[0]}
            yield _row(value=band.change, low=band.change_low, high=band.change_high, **own)
    for failure in result.failures:
        yield _row(kind="failure", model=failure.model, setting=failure.variant, said=failure.reason)


def _row(**cells: Any) -> list[Any]:
    return [cells.get(name) for name in _COLUMNS]


def _one_model(of_model: ModelSensitivity) -> Grid:
    rows = [
        [
            Cell(variant.similarity),
            Cell(variant.transform),
            *(_cell(variant.readings[name], of_model.best(name) is variant) for name in of_model.evaluators),
        ]
        for variant in of_model.variants
    ]
    swings = [
        Cell(f"{of_model.swing(name):.4f}", f"{of_model.relative_swing(name):.0%}") for name in of_model.evaluators
    ]
    rows.append([Cell("moves by"), Cell("", "of the first"), *swings])
    note = "The same model and texts: what moves is due to the similarity and the transform alone. The best is in bold."
    return Grid(
        ["similarity", "transform", *of_model.evaluators], rows, of_model.model, [note], text_columns=2, key_columns=2
    )


def _cell(reading: HeadlineReading, best: bool, place: str = "") -> Cell:
    bounds = _bounds(reading.low, reading.high, formatting.number, 4)
    return Cell(f"{reading.value:.4f}{place}", bounds, best=best)


def _values(result: Sensitivity) -> Iterator[Grid]:
    """Yield a table of settings by models for each evaluator: the value with the place of the model."""
    for name in result.evaluators:
        rows = []
        for at, variant in enumerate(result.models[0].variants):
            places = result.places(name, at)
            cells = [
                _cell(each.variants[at].readings[name], places[each.model] == 1, f" ({places[each.model]:g})")
                for each in result.models
            ]
            rows.append([Cell(variant.similarity), Cell(variant.transform), *cells])
        notes = ["In brackets the model's place under the setting; the best is in bold."]
        headings = ["similarity", "transform", *(each.model for each in result.models)]
        yield Grid(headings, rows, name, notes, text_columns=2, key_columns=2)


def _orders(result: Sensitivity) -> Iterator[Grid]:
    shown = [order for order in result.orders if order.one_change]
    if not shown:
        return
    rows = [
        [
            Cell(order.evaluator),
            Cell(change_name(order.first, order.second)),
            Cell(_answer(order)),
            Cell(signed(order.tau), tau_interval(order)),
            Cell(f"{order.same:.0%}"),
            Cell(str(len(order.swaps))),
            Cell(str(sum(swap.significant for swap in order.swaps))),
        ]
        for order in shown
    ]
    how = result.measures.bootstrap
    units = " and ".join(dict.fromkeys(result.units.values()))
    notes = [
        f"Kendall's tau-b between the orders of the {shown[0].models} models before and after the change; "
        f"{how.level:.0%} intervals by percentiles of {how.resamples} resamples of {units}, the same for all models "
        f"and settings (seed {how.seed}). Kept: the share of resamples with one order. Reordered: some swap is "
        f"significant, p ≤ {result.measures.alpha:g} under both settings after Holm over the pairs of models. Same "
        f"order: kept in {(1 + how.level) / 2:.1%} or more. Where models are close, chance alone pulls tau below 1: an "
        "interval without 1 does not prove a swap."
    ]
    if len(shown) < len(result.orders):
        notes.append("Settings that differ in both similarity and transform are compared in JSON and CSV.")
    headings = ["evaluator", "change", "order", "tau", "kept", "swaps", "significant"]
    yield Grid(headings, rows, "Does the change reorder the models?", notes, text_columns=3, key_columns=2)


def _answer(order: OrderAgreement) -> str:
    return "cannot tell (all tie)" if math.isnan(order.tau) else order.answer


def _swaps(result: Sensitivity) -> Iterator[Grid]:
    rows = [
        [
            Cell(order.evaluator),
            Cell(change_name(order.first, order.second)),
            Cell(f"{swap.ahead} > {swap.behind}"),
            Cell(swap.verdict),
            *(_difference(difference) for difference in (swap.before, swap.after)),
            Cell(formatting.p_value(swap.adjusted)),
        ]
        for order in result.orders
        if order.one_change
        for swap in order.swaps
    ]
    if rows:
        notes = [
            "By how much the first model is better, before and after the change; p is the larger of both, after Holm."
        ]
        headings = ["evaluator", "change", "before the change", "swap", "before", "after", "p"]
        yield Grid(headings, rows, "Models that swap", notes, text_columns=4, key_columns=3)


def _difference(difference: Difference) -> Cell:
    return Cell(_plus(difference.value), _bounds(difference.low, difference.high, _plus, 4))


def _plus(value: float, digits: int = 4) -> str:
    written = signed(value, digits)
    return written if written.startswith(("−", "–")) else f"+{written}"


def _bands(result: Sensitivity) -> Iterator[Grid]:
    """Yield a table of bands by settings for each model and evaluator: quantities and their changes."""
    groups: dict[tuple[str, str], list[BandReading]] = {}
    for reading in result.bands:
        groups.setdefault((reading.evaluator, reading.model), []).append(reading)
    # The quantities are explained once, below the last model of each evaluator.
    last = dict(list(groups))
    for (evaluator, model), readings in groups.items():
        quantities = list(dict.fromkeys(reading.quantity for reading in readings))
        rows = []
        for band in dict.fromkeys(reading.band for reading in readings):
            for variant in result.variants:
                cells = [reading for reading in readings if (reading.band, reading.variant) == (band, variant)]
                columns = [cell for reading in cells for cell in _band_cells(reading)]
                rows.append([Cell(band), Cell(variant), Cell(str(cells[0].count)), *columns])
        headings = [heading for name in quantities for heading in (name, "change")]
        notes = [_QUANTITIES[name] for name in quantities if name in _QUANTITIES]
        if quantities[0] not in _QUANTITIES:
            notes = [f"{quantities[0]} with only the items of the band relevant, over the queries that have any."]
        what = "pairs" if len(quantities) > 1 else "queries"
        level = result.measures.bootstrap.level
        notes.append(f"Changes are from {result.variants[0]}, paired, with {level:.0%} intervals, not corrected.")
        title = f"{evaluator} of {model}, by gold score"
        shown = notes * (last[evaluator] == model)
        yield Grid(["gold score", "setting", what, *headings], rows, title, shown, text_columns=2, key_columns=2)


def _band_cells(reading: BandReading) -> list[Cell]:
    digits = 1 if reading.quantity == "similarity rank" else 4
    value = Cell(signed(reading.value, digits), _bounds(reading.low, reading.high, signed, digits))
    if reading.change is None:
        return [value, Cell("")]
    bounds = _bounds(reading.change_low, reading.change_high, _plus, digits)
    return [value, Cell(_plus(reading.change, digits), bounds)]


def _bounds(low: float | None, high: float | None, write: Callable[[float, int], str], digits: int) -> str:
    return "" if low is None or high is None else f"[{write(low, digits)}, {write(high, digits)}]"
