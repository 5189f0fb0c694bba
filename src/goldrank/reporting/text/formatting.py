"""How numbers read: as many digits as mean something, and no more."""

from __future__ import annotations

import math

from goldrank.metrics import Metric
from goldrank.stats import Interval

ARROWS = {"higher": "↑", "lower": "↓", "neither": ""}


def value(metric: Metric, number: float) -> str:
    """A value of *metric*: four digits for shares, two for ranks, none for counts."""
    if math.isnan(number):
        return "–"
    if metric.definition.aggregate == "sum":
        return f"{number:.0f}" if number == int(number) else f"{number:.2f}"
    return f"{number:.4f}" if metric.definition.range.endswith(", 1]") else f"{number:.2f}"


def interval(metric: Metric, bounds: Interval | None) -> str:
    """An interval of *metric* in brackets."""
    return "" if bounds is None else f"[{value(metric, bounds.low)}, {value(metric, bounds.high)}]"


def signed(metric: Metric, number: float) -> str:
    """A difference with its sign."""
    return value(metric, number) if math.isnan(number) else ("+" if number >= 0 else "−") + value(metric, abs(number))


def p_value(number: float) -> str:
    """A p-value, never as 0.

    >>> p_value(0.04217), p_value(0.00001)
    ('0.042', '<0.001')
    """
    if math.isnan(number):
        return "–"
    return "<0.001" if number < 0.001 else f"{number:.3f}"


def heading(metric: Metric) -> str:
    """The metric with an arrow that says which way is better."""
    return f"{metric}{ARROWS[metric.definition.direction]}"


SUPERSCRIPTS = str.maketrans("abcdefghijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")


def letters(count: int) -> list[str]:
    """Short marks for runs, each with a superscript form: a, b, … (there is no superscript q)."""
    alphabet = "abcdefghijklmnoprstuvwxyz"
    return [alphabet[i % 25] * (i // 25 + 1) for i in range(count)]
