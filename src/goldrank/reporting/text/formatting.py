"""Format values, intervals and p-values for tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from goldrank.metrics import Metric
from goldrank.scoring import Score
from goldrank.stats import Interval

ARROWS = {"higher": "↑", "lower": "↓", "neither": ""}


def number(value: float | None, digits: int = 4) -> str:
    """Format a number with a minus sign instead of a hyphen, or return "–" if it is undefined.

    >>> number(-0.25), number(0.5, 2), number(None), number(math.nan)
    ('−0.2500', '0.50', '–', '–')
    """
    return "–" if value is None or not math.isfinite(value) else f"{value:.{digits}f}".replace("-", "−")


def signed_number(value: float, digits: int = 4) -> str:
    """Format a difference with its sign, or return "–" if it is undefined.

    >>> signed_number(0.25), signed_number(-0.25, 2), signed_number(-math.inf), signed_number(math.nan)
    ('+0.2500', '−0.25', '−inf', '–')
    """
    return "–" if math.isnan(value) else f"{'−' if value < 0 else '+'}{abs(value):.{digits}f}"


def bounds(limits: Interval | None, write: Callable[[float], str] = number) -> str:
    """Format an interval in brackets, or return "" if there is none."""
    return "" if limits is None else f"[{write(limits.low)}, {write(limits.high)}]"


def value(metric: Metric, number: float) -> str:
    """Format a value of *metric*: four decimals for shares, two for ranks, none for counts."""
    if math.isnan(number):
        return "–"
    if metric.definition.aggregate == "sum":
        return f"{number:.0f}" if number == int(number) else f"{number:.2f}"
    return f"{number:.4f}" if metric.definition.range.endswith(", 1]") else f"{number:.2f}"


def interval(metric: Metric, limits: Interval | None) -> str:
    """Format an interval of *metric* in brackets, or return "" if there is none."""
    return bounds(limits, partial(value, metric))


def value_with_interval(score: Score) -> str:
    """Format the value of a score with its interval, if it has one."""
    return f"{value(score.metric, score.value)} {interval(score.metric, score.interval)}".rstrip()


def signed(metric: Metric, number: float) -> str:
    """Format a difference with its sign."""
    return value(metric, number) if math.isnan(number) else ("+" if number >= 0 else "−") + value(metric, abs(number))


def signed_interval(metric: Metric, limits: Interval | None) -> str:
    """Format an interval of a difference in brackets, or return "" if there is none."""
    return bounds(limits, partial(signed, metric))


def p_value(number: float) -> str:
    """Format a p-value, never as 0.

    >>> p_value(0.04217), p_value(0.00001)
    ('0.042', '<0.001')
    """
    if math.isnan(number):
        return "–"
    return "<0.001" if number < 0.001 else f"{number:.3f}"


def p_clause(number: float, relation: str = "=") -> str:
    """Format a p-value for a sentence.

    >>> p_clause(0.04217), p_clause(0.04217, "≤"), p_clause(0.00001)
    ('p = 0.042', 'p ≤ 0.042', 'p < 0.001')
    """
    written = p_value(number)
    return f"p < {written[1:]}" if written.startswith("<") else f"p {relation} {written}"


def truncate(text: str, limit: int) -> str:
    """Return the beginning of a text, with an ellipsis if it is longer than *limit*.

    >>> truncate("one two three", 8)
    'one two…'
    """
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def enumerate_names(names: Sequence[str], most: int) -> str:
    """Return names with "and" before the last; of more than *most*, the others are only counted.

    >>> enumerate_names(["bm25", "lsa", "tfidf"], 3), enumerate_names(["bm25", "lsa", "tfidf", "st"], 3)
    ('bm25, lsa and tfidf', 'bm25, lsa and 2 others')
    """
    shown = [*names[: most - 1], f"{len(names) - most + 1} others"] if len(names) > most else names
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def heading(metric: Metric) -> str:
    """Return the metric with an arrow for its better direction."""
    return f"{metric}{ARROWS[metric.definition.direction]}"


SUPERSCRIPTS = str.maketrans("abcdefghijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")


def letters(count: int) -> list[str]:
    """Return short marks for runs, each with a superscript form: a, b, … (there is no superscript q)."""
    alphabet = "abcdefghijklmnoprstuvwxyz"
    return [alphabet[i % 25] * (i // 25 + 1) for i in range(count)]
