"""`goldrank explain`: what a metric means, its variants, and which tool prints which."""

from __future__ import annotations

import argparse
import textwrap

from goldrank.cli import options
from goldrank.metrics import CHOICES, Metric, Profile, find_profile
from goldrank.metrics.definition import Definition
from goldrank.metrics.names import foreign_names
from goldrank.reporting.text.formatting import ARROWS

_EXAMPLES = """\
  goldrank explain ndcg@10
  goldrank explain recall --profile bge
  goldrank explain mpr --format json
"""
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


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = options.new_parser("explain", "Definition, formula, variants and who prints which.", _EXAMPLES)
    made.add_argument("metric", metavar="METRIC", nargs="+", help="such as ndcg@10")
    made.add_argument("--profile", metavar="P", help="as this profile computes it")
    made.add_argument("--format", choices=("text", "json"), default="text")
    made.add_argument("--debug", action="store_true", help="show a traceback on errors")
    made.set_defaults(output=None)
    return made


def run(args: argparse.Namespace) -> int:
    """Explain and print."""
    chosen = find_profile(args.profile) if args.profile else None
    metrics = [Metric.parse(text, needs_cutoff=False) for text in args.metric]
    if args.format == "json":
        from goldrank.reporting.text.results import to_json

        options.emit(to_json([as_dict(metric, chosen) for metric in metrics]), args)
    else:
        options.emit("\n\n".join(explain(metric, chosen) for metric in metrics), args)
    return 0


def explain(metric: Metric, chosen: Profile | None) -> str:
    """The explanation as text."""
    definition = metric.definition
    applied = metric if chosen is None else chosen.apply(metric)
    lines = [
        f"{applied}  —  {definition.title} {ARROWS[definition.direction]}".rstrip(),
        "",
        f"  {definition.formula}",
        "",
        f"  range {definition.range}, {_BETTER[definition.direction]}; {_CUTOFFS[definition.cutoff]}; "
        f"{_AGGREGATES[definition.aggregate]}",
    ]
    lines += _wrapped(f"source: {definition.cite}") if definition.cite else []
    lines += _wrapped(definition.notes) if definition.notes else []
    if not definition.expected:
        lines += _wrapped("Under ties=expected it is refused: the mean over all orders has no closed form.")
    if definition.aliases:
        lines.append(f"  also written: {', '.join(definition.aliases)}")
    if foreign := foreign_names(definition.name):
        lines += _wrapped("names of other tools: " + "; ".join(f"{name} is {read}" for name, read in foreign.items()))
    if definition.parameters:
        lines += ["", "  variants:"]
        for parameter in definition.parameters:
            value = applied.parameters[parameter.name]
            now = "" if value is None else f" (here: {value})"
            lines += _wrapped(f"{parameter.name} = {parameter.allowed}{now}: {parameter.doc}", indent=4)
    if definition.tools:
        lines += ["", "  who prints which:"]
        for tool, what in definition.tools:
            lines += _wrapped(f"{tool}: {what}", indent=4)
    if chosen is not None:
        lines += ["", f"  profile {chosen.name}: {chosen.title}"]
        for name, value in chosen.conventions.as_dict().items():
            meaning = CHOICES.get(name, {}).get(str(value), "")
            if value is not None:
                lines += _wrapped(f"{name} = {value}" + (f": {meaning}" if meaning else ""), indent=4)
        lines += _wrapped(chosen.notes) if chosen.notes else []
    return "\n".join(lines)


def _wrapped(text: str, indent: int = 2) -> list[str]:
    return textwrap.wrap(text, 100, initial_indent=" " * indent, subsequent_indent=" " * (indent + 2))


def as_dict(metric: Metric, chosen: Profile | None) -> dict[str, object]:
    """The explanation as data."""
    definition: Definition = metric.definition
    applied = metric if chosen is None else chosen.apply(metric)
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
