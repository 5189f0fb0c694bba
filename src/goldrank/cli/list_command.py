"""`goldrank list`: list tasks, models, metrics, profiles and everything else that has a name."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING

from goldrank.cli import options
from goldrank.metrics import CHOICES, PROFILES, REGISTRY
from goldrank.reporting.text.formatting import ARROWS
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.views import view_rows

if TYPE_CHECKING:
    from goldrank.encoders import ModelKind
    from goldrank.index.base import IndexKind

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
    from goldrank.encoders.pair_scorers import PAIR_KINDS
    from goldrank.fusion import METHODS

    rows = [
        {"model": name, "what": what + kind.summary, "example": kind.example, "install": kind.install or "built in"}
        for what, kinds in (("", KINDS), ("pairs: ", PAIR_KINDS))
        for name, kind in kinds.items()
    ]
    fused = f"several models fused by {', '.join(METHODS)}"
    return [*rows, {"model": "fuse", "what": fused, "example": "fuse:rrf(bm25,wordllama)", "install": "built in"}]


def _kinds(what: str, kinds: Mapping[str, ModelKind | IndexKind]) -> list[dict[str, str]]:
    return [
        {what: name, "what": kind.summary, "example": kind.example, "install": kind.install or "built in"}
        for name, kind in kinds.items()
    ]


def _indexes() -> list[dict[str, str]]:
    from goldrank.index.base import INDEXES

    return _kinds("index", INDEXES)


def _predictors() -> list[dict[str, str]]:
    from goldrank.masked.predictors import PREDICTORS

    return _kinds("predictor", PREDICTORS)


def _judges() -> list[dict[str, str]]:
    from goldrank.judging.judges import JUDGES

    return _kinds("judge", JUDGES)


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


def _tasks() -> list[dict[str, str]]:
    from goldrank.tasks import TASKS

    return [
        {
            "task": task.name,
            "kind": task.kind,
            "what": task.summary,
            "data": "" if task.about is None else task.about.data,
            "original": "" if task.about is None else task.about.original,
        }
        for task in TASKS.values()
    ]


def _collections() -> list[dict[str, str]]:
    from goldrank.data.collections import READERS

    return [{"collection": name, "layout": reader.summary} for name, reader in READERS.items()]


def _slices() -> list[dict[str, str]]:
    from goldrank.slices.derived import DERIVED

    needs = {"gold": "the gold", "queries": "texts of queries", "texts": "texts of queries and items"}
    return [
        {"attribute": name, "what": entry.summary, "is derived from": needs[entry.needs]}
        for name, entry in DERIVED.items()
    ]


_LISTS = {
    "tasks": _tasks,
    "collections": _collections,
    "models": _models,
    "indexes": _indexes,
    "predictors": _predictors,
    "judges": _judges,
    "transforms": _transforms,
    "similarities": _similarities,
    "metrics": _metrics,
    "profiles": _profiles,
    "conventions": _conventions,
    "formats": _formats,
    "slices": _slices,
}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("list", "List everything that commands accept by name.", _EXAMPLES)
    parser.add_argument("what", choices=tuple(_LISTS), metavar="WHAT", help=", ".join(_LISTS))
    options.add_output(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Print the list."""
    rows = _LISTS[args.what]()

    def grid() -> Grid:
        # The arrows need no wide column.
        headings = ["" if name == "direction" else name for name in rows[0]]
        return Grid(headings, [list(map(Cell, row.values())) for row in rows], text_columns=len(rows[0]))

    options.emit(view_rows(rows, grid, "list"), args)
    return 0
