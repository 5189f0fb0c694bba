"""The explanation of a metric as text and as data."""

from __future__ import annotations

from typing import Any

from goldrank.analysis.explanation import Explanation
from goldrank.metrics import CHOICES
from goldrank.metrics.names import foreign_names
from goldrank.reporting.text.formatting import ARROWS
from goldrank.reporting.text.views import View

_BETTER = {"higher": "higher is better", "lower": "lower is better", "neither": "neither direction is better"}
_CUTOFFS = {
    "optional": "with or without a cutoff @k",
    "required": "with a cutoff @k",
    "none": "without a cutoff",
    "recall": "at a recall level, as in @0.1",
}
_AGGREGATES = {
    "mean": "mean over queries (weighted by gold items where it pools them)",
    "geometric": "geometric mean over queries",
    "median": "median over queries",
    "sum": "sum over queries",
    "nauc": "area under the abstention curve over queries",
}


def view(explanation: Explanation) -> View:
    """Return the explanation in all its forms."""
    return View(
        lambda: _content(explanation),
        lambda: _rows(explanation),
        list,
        lambda: ["\n".join(_lines(explanation))],
        is_prose=True,
    )


def _lines(explanation: Explanation) -> list[str]:
    applied, chosen = explanation.metric, explanation.profile
    definition = applied.definition
    lines = [
        f"{applied}  —  {definition.title} {ARROWS[definition.direction]}".rstrip(),
        "",
        f"  {definition.formula}",
        "",
        f"  range {definition.range}, {_BETTER[definition.direction]}; {_CUTOFFS[definition.cutoff]}; "
        f"{_AGGREGATES[definition.aggregate]}",
    ]
    lines += [f"  source: {definition.cite}"] if definition.cite else []
    lines += [f"  {definition.notes}"] if definition.notes else []
    if not definition.expected:
        lines.append("  Under ties=expected it is refused: the mean over all orders has no closed form.")
    if definition.aliases:
        lines.append(f"  also written: {', '.join(definition.aliases)}")
    if foreign := foreign_names(definition.name):
        lines.append("  names of other tools: " + "; ".join(f"{name} is {read}" for name, read in foreign.items()))
    if definition.parameters:
        lines += ["", "  variants:"]
        for parameter in definition.parameters:
            value = applied.parameters[parameter.name]
            now = "" if value is None else f" (here: {value})"
            lines.append(f"    {parameter.name} = {parameter.allowed}{now}: {parameter.doc}")
    if definition.tools:
        lines += ["", "  who prints which:"]
        lines += [f"    {tool}: {what}" for tool, what in definition.tools]
    if chosen is not None:
        lines += ["", f"  profile {chosen.name}: {chosen.title}"]
        for name, value in chosen.conventions.as_dict().items():
            meaning = CHOICES.get(name, {}).get(str(value), "")
            if value is not None:
                lines.append(f"    {name} = {value}" + (f": {meaning}" if meaning else ""))
        lines += [f"  {chosen.notes}"] if chosen.notes else []
    return lines


def _content(explanation: Explanation) -> dict[str, Any]:
    applied, chosen = explanation.metric, explanation.profile
    definition = applied.definition
    return {
        "metric": str(applied),
        "title": definition.title,
        "formula": definition.formula,
        "range": definition.range,
        "direction": definition.direction,
        "aggregate": definition.aggregate,
        "cite": definition.cite,
        "notes": definition.notes,
        "aliases": list(definition.aliases),
        "foreign_names": foreign_names(definition.name),
        "parameters": {
            parameter.name: {
                "value": applied.parameters[parameter.name],
                "allowed": parameter.allowed,
                "doc": parameter.doc,
            }
            for parameter in definition.parameters
        },
        "tools": dict(definition.tools),
        "profile": None if chosen is None else chosen.name,
        "conventions": None if chosen is None else chosen.conventions.as_dict(),
    }


def _rows(explanation: Explanation) -> list[list[Any]]:
    content = _content(explanation)
    return [
        ["metric", "parameter", "value", "allowed", "meaning"],
        *([content["metric"], name, *entry.values()] for name, entry in content["parameters"].items()),
    ]
