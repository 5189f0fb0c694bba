"""Verdicts: sentences on which runs are broken, which run is better, and which cannot be told apart.

Every table, report, page and command takes its sentences from here, and the tests from the same comparison.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from goldrank.comparing import Comparison, Flaw, Pair
from goldrank.errors import counts
from goldrank.metrics import Metric
from goldrank.reporting.text import formatting
from goldrank.scoring import Score

if TYPE_CHECKING:
    from goldrank.tasks.measurement import MeasuredValue

TESTS = {
    "randomisation": "paired randomisation",
    "t": "paired t test",
    "wilcoxon": "Wilcoxon signed rank",
    "mcnemar": "McNemar",
    "tukey": "Tukey's HSD",
}
CORRECTIONS = {"holm": ", Holm", "bh": ", Benjamini–Hochberg", "none": ", uncorrected", "tukey": ""}
_MOST_NAMES = 5
"""Maximum number of runs that a sentence names one by one."""


def name_test(compared: Comparison) -> str:
    """Return the test and the correction in a few words.

    >>> name_test(Comparison({}, [], "randomisation", "holm", "metric", 0.05))
    'paired randomisation, Holm'
    """
    return TESTS[compared.test] + CORRECTIONS[compared.correction]


def verdict_lines(compared: Comparison) -> list[str]:
    """Return the broken runs, then a sentence for each metric."""
    return [*broken_lines(compared), *statements(compared).values()]


def verdicts(compared: Comparison) -> dict[str, str]:
    """Return for each metric everything that has to be said, a broken run first."""
    broken = broken_lines(compared)
    return {metric: " ".join([*broken, sentence]) for metric, sentence in statements(compared).items()}


def broken_lines(compared: Comparison) -> list[str]:
    """Return a line on the runs that are broken and not compared, and one on those that are compared nevertheless."""
    unfit = [flaw for flaw in compared.flaws if flaw.unfit]
    lines = []
    if unfit:
        remedies = []
        if any(flaw.lacks_queries for flaw in unfit):
            remedies.append(
                "say how missing queries count with --missing zero (as 0) or --missing skip (left out for every run)"
            )
        if any(flaw.none_judged for flaw in unfit):
            remedies.append("check that the results have the item ids of the gold")
        them = "it is" if len(unfit) == 1 else "they are"
        lines.append(f"{'; '.join(map(_flaw, unfit))}. So {them} not compared: {', and '.join(remedies)}.")
    others = [flaw for flaw in compared.flaws if not flaw.unfit]
    if others:
        effect = "count as 0" if compared.reduced_to_common is None else "are left out for every run"
        missing = any(flaw.missing for flaw in others)
        lines.append(f"{'; '.join(map(_flaw, others))}{f'; missing queries {effect}' * missing}.")
    return lines


def _flaw(flaw: Flaw) -> str:
    parts = []
    if flaw.lacks_queries:
        parts.append(f"answered {flaw.answered} of {counts(flaw.queries, 'query', 'queries')}")
    if flaw.none_judged and flaw.answered:
        parts.append(f"retrieved none of the {counts(flaw.judged, 'judged item')}")
    return f"{flaw.run} {' and '.join(parts)}"


def statements(compared: Comparison) -> dict[str, str]:
    """Return a sentence for each metric on the runs that can be compared."""
    return {metric: _statement(metric, compared) for metric in next(iter(compared.scores.values()))}


def _statement(metric: str, compared: Comparison) -> str:
    order = compared.order(metric)
    if not order:
        return f"No run can be compared on {metric}."
    scores = {run: compared.scores[run][metric] for run in order}
    if len(order) == 1:
        return _alone(order[0], scores[order[0]])
    if scores[order[0]].metric.definition.direction == "neither":
        values = ", ".join(f"{run} {formatting.value(score.metric, score.value)}" for run, score in scores.items())
        return f"On {metric} no direction is the better one: {values}."
    if len(order) == 2:
        return _of_two(compared.pair(metric, *order), order, scores, compared)
    return _of_several(order, scores, compared)


def _alone(run: str, score: Score) -> str:
    answered = counts(int((~(score.values != score.values)).sum()), "query", "queries")
    return f"{run} reaches {score.metric} {formatting.value_with_interval(score)} over {answered}."


def _of_two(pair: Pair, order: Sequence[str], scores: Mapping[str, Score], compared: Comparison) -> str:
    metric = scores[order[0]].metric
    better, worse = order
    if pair.ties == pair.queries and pair.difference == 0:
        value = formatting.value(metric, scores[better].value)
        return f"{better} and {worse} have the same {metric} on every query ({value} in all)."
    values = " vs ".join(formatting.value(metric, scores[run].value) for run in order)
    size = f"difference {formatting.value(metric, abs(pair.difference))} {_bounds(pair, metric)}".rstrip()
    if math.isnan(pair.adjusted):
        return f"{better} and {worse} were not tested on {metric}: {values}, {size} ({pair.note or 'too few queries'})."
    tested = f"{formatting.p_clause(pair.adjusted)} ({name_test(compared)})"
    if pair.winner(compared.alpha, metric.definition.direction) is not None:
        return f"{better} is better than {worse} on {metric}: {values}, {size}, {tested}."
    return f"{better} and {worse} cannot be told apart on {metric}: {values}, {size}, {tested}{_power([pair], metric)}."


def _bounds(pair: Pair, metric: Metric) -> str:
    """Return the interval of the absolute difference, whose direction counts as positive."""
    if pair.interval is None:
        return ""
    interval = pair.interval if pair.difference >= 0 else pair.reverse().interval
    assert interval is not None
    low, high = (
        formatting.value(metric, end) if end >= 0 else formatting.signed(metric, end)
        for end in (interval.low, interval.high)
    )
    return f"[{low}, {high}]"


def _power(pairs: Sequence[Pair], metric: Metric) -> str:
    """Return from which size up the data show a difference, unless the differences themselves are as large."""
    detectable = max(pair.detectable for pair in pairs)
    if math.isnan(detectable) or any(abs(pair.difference) >= detectable for pair in pairs):
        return ""
    queries = counts(max(pair.queries for pair in pairs), "query", "queries")
    if metric.definition.range == "[0, 1]" and detectable >= 1:
        return f"; {queries} are too few to show any difference"
    return f"; {queries} can show differences from {formatting.value(metric, detectable)} up"


def _of_several(order: Sequence[str], scores: Mapping[str, Score], compared: Comparison) -> str:
    leader, *others = order
    metric = scores[leader].metric
    pairs = {other: compared.pair(str(metric), leader, other) for other in others}
    if all(pair.ties == pair.queries and pair.difference == 0 for pair in pairs.values()):
        return (
            f"All runs have the same {metric} on every query ({formatting.value(metric, scores[leader].value)} in all)."
        )
    beaten = compared.better_than(str(metric), leader)
    rest = [pair for other, pair in pairs.items() if other not in beaten and not math.isnan(pair.adjusted)]
    return _leading(
        str(metric),
        leader,
        formatting.value_with_interval(scores[leader]),
        {other: pair.adjusted for other, pair in pairs.items()},
        beaten,
        name_test(compared),
        power=_power(rest, metric) if rest else "",
        untested=next((pair.note for pair in pairs.values() if pair.note), "too few queries"),
    )


def _leading(
    metric: str,
    leader: str,
    reached: str,
    adjusted: Mapping[str, float],
    beaten: Collection[str],
    tested: str,
    power: str = "",
    untested: str = "",
) -> str:
    """Return a sentence on the leader among three or more runs.

    Args:
        metric: The metric.
        leader: The run with the best value.
        reached: Its value.
        adjusted: The corrected p-value of the leader against each other run, best first; NaN if there is no test.
        beaten: The runs that are significantly worse.
        tested: The test and the correction.
        power: What differences the data can show.
        untested: Why there is no test.
    """
    worse = [other for other in adjusted if other in beaten]
    alike = [other for other, p in adjusted.items() if other not in beaten and not math.isnan(p)]
    others = [other for other, p in adjusted.items() if math.isnan(p)]
    parts = []
    if worse:
        whom = "every other run" if len(worse) == len(adjusted) else formatting.enumerate_names(worse, _MOST_NAMES)
        parts.append(f"is better than {whom} ({_p_of([adjusted[other] for other in worse], '≤')})")
    if alike:
        p = _p_of([adjusted[other] for other in alike], "≥")
        parts.append(f"cannot be told apart from {formatting.enumerate_names(alike, _MOST_NAMES)} ({p}{power})")
    if others:
        parts.append(f"was not tested against {formatting.enumerate_names(others, _MOST_NAMES)} ({untested})")
    verb = "is best" if len(worse) == len(adjusted) else "leads"
    by = f"; {tested}" if worse or alike else ""
    return f"On {metric}, {leader} {verb} with {reached}; it {' and '.join(parts)}{by}."


def _p_of(values: Sequence[float], relation: str) -> str:
    """Return the largest (≤) or the smallest (≥) of some p-values, with "=" if they do not differ."""
    extreme = max(values) if relation == "≤" else min(values)
    return formatting.p_clause(extreme, relation if len(set(values)) > 1 else "=")


def measured_statement(
    values: Mapping[str, MeasuredValue], p_values: Mapping[tuple[str, str], float], alpha: float, metric: str
) -> str:
    """Return a sentence on models of a measurement task.

    Args:
        values: The headline of each model, best first.
        p_values: The p-value of each tested pair after Holm's correction, the better model first.
        alpha: The level of significance.
        metric: The name of the headline.
    """
    (leader, best), *others = values.items()
    reached = f"{formatting.number(best.value)} {formatting.bounds(best.interval)}".rstrip()
    if not others:
        return f"{leader} reaches {metric} {reached} over {counts(best.count, 'pair or example', 'pairs or examples')}."
    adjusted = {other: p_values.get((leader, other), math.nan) for other, _ in others}
    beaten = [other for other, p in adjusted.items() if p <= alpha]
    if len(others) > 1 or math.isnan(adjusted[others[0][0]]):
        return _leading(
            metric, leader, reached, adjusted, beaten, "paired test, Holm", untested="no predictions are stored"
        )
    [(other, second)] = others
    verdict = f"{leader} is better than {other}" if beaten else f"{leader} and {other} cannot be told apart"
    return (
        f"{verdict} on {metric}: {formatting.number(best.value)} vs {formatting.number(second.value)}, difference "
        f"{formatting.number(best.value - second.value)}, {formatting.p_clause(adjusted[other])} (paired test, Holm)."
    )
