"""`goldrank list`: the metrics, profiles, conventions and file formats there are."""

from __future__ import annotations

import argparse

from goldrank.cli import options
from goldrank.cli.grids import Cell, Grid, render
from goldrank.cli.numbers import ARROWS
from goldrank.cli.results import to_csv, to_json
from goldrank.metrics import CHOICES, PROFILES, REGISTRY

_EXAMPLES = """\
  goldrank list metrics
  goldrank list profiles --format json
"""


def _metrics() -> list[dict[str, str]]:
    return [
        {
            "metric": definition.name + ("" if definition.cutoff in ("none", "optional") else "@…"),
            "direction": ARROWS[definition.direction],
            "title": definition.title,
            "variants": ", ".join(
                f"{parameter.name}={' | '.join(map(str, parameter.choices)) or parameter.allowed}"
                for parameter in definition.parameters
                if parameter.name != "rel"
            ),
            "also written": ", ".join(definition.aliases),
        }
        for definition in REGISTRY.values()
    ]


def _profiles() -> list[dict[str, str]]:
    return [
        {"profile": entry.name, "title": entry.title, "prints": ", ".join(entry.metrics)} for entry in PROFILES.values()
    ]


def _conventions() -> list[dict[str, str]]:
    return [
        {"convention": name, "value": value, "meaning": meaning}
        for name, values in CHOICES.items()
        for value, meaning in values.items()
    ]


def _formats() -> list[dict[str, str]]:
    from goldrank.io import FORMATS

    return [{"format": name, "holds": what} for name, what in FORMATS.items()]


_ARGUMENTS = {"none": "", "optional": "[:k]", "required": ":k"}


def _models() -> list[dict[str, str]]:
    from goldrank.encoders import KINDS

    return [
        {"model": name, "what": kind.summary, "example": kind.example, "install": kind.install or "built in"}
        for name, kind in KINDS.items()
    ]


def _transforms() -> list[dict[str, str]]:
    from goldrank.vectors.transform_kinds import KINDS

    return [
        {"transform": name + _ARGUMENTS[kind.argument], "what": kind.title, "is fitted": "yes" if kind.learn else "no"}
        for name, kind in KINDS.items()
    ]


def _similarities() -> list[dict[str, str]]:
    from goldrank.vectors.similarity import SIMILARITIES

    return [
        {
            "similarity": measure.name,
            "formula": measure.formula,
            "alike is": measure.direction,
            "zero vector": measure.zero,
        }
        for measure in SIMILARITIES.values()
    ]


_LISTS = {
    "models": _models,
    "transforms": _transforms,
    "similarities": _similarities,
    "metrics": _metrics,
    "profiles": _profiles,
    "conventions": _conventions,
    "formats": _formats,
}


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = options.new_parser("list", "List what there is.", _EXAMPLES)
    made.add_argument("what", choices=tuple(_LISTS))
    options.add_output(made)
    return made


def run(args: argparse.Namespace) -> int:
    """List and print."""
    rows = _LISTS[args.what]()
    if args.format == "json":
        text = to_json(rows)
    elif args.format == "csv":
        text = to_csv([list(rows[0]), *(list(row.values()) for row in rows)])
    else:
        cells = [[Cell(value) for value in row.values()] for row in rows]
        text = render([Grid(list(rows[0]), cells, text_columns=len(rows[0]))], args.format)
    options.emit(text, args)
    return 0
