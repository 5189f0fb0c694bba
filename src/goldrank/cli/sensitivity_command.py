"""`goldrank sensitivity`: does an evaluator judge the model, or the similarity and the post-processing?"""

from __future__ import annotations

import argparse
from typing import Any

from goldrank.cli import options, printing
from goldrank.report import results
from goldrank.report.grids import Cell, Grid, render
from goldrank.running import OVERWRITE, Measures
from goldrank.sensitivity import Reading, Sensitivity, plot_sensitivity, sensitivity
from goldrank.store import Store
from goldrank.tasks.settings import Settings

_EXAMPLES = """\
  goldrank sensitivity -m wordllama -t wines questions --similarity cosine,l2,dot --transform none,center,abtt:2
  goldrank sensitivity -m words:glove.txt -t sts-b evalrank-sentence --transform none,center,whiten --plot moves.png
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = options.new_parser("sensitivity", "How far every evaluator moves when only the settings change.", _EXAMPLES)
    made.add_argument("-m", "--model", required=True, metavar="MODEL", help="what makes the vectors")
    made.add_argument("-t", "--task", dest="tasks", nargs="+", action="extend", required=True, metavar="TASK")
    made.add_argument("--similarity", default="cosine,l2", metavar="S,S", help="similarities (default cosine,l2)")
    made.add_argument(
        "--transform", default="none,center,abtt:2", metavar="T,T", help="transforms (default none,center,abtt:2)"
    )
    made.add_argument("--fit-on", default="corpus", metavar="F", help="corpus (default), evaluated, or a file of texts")
    made.add_argument("--metric", dest="metrics", action="append", metavar="METRIC", help="the first is read")
    made.add_argument("--profile", metavar="P", help="conventions by name (goldrank list profiles)")
    made.add_argument("--store", metavar="S", help="folder or database URL (default $GOLDRANK_STORE)")
    made.add_argument("--overwrite", choices=tuple(OVERWRITE), default="missing", help="what to do with stored results")
    made.add_argument("--plot", metavar="FILE", help="draw it as .png, .pdf or .svg")
    options.add_output(made)
    return made


def run(args: argparse.Namespace) -> int:
    """Cross the settings and show what moves."""
    options.refuse_unwritable(args)
    made = sensitivity(
        args.model,
        args.tasks,
        _listed(args.similarity),
        _listed(args.transform),
        Settings(fit_on=args.fit_on),
        store=Store.open(args.store),
        measures=Measures(args.metrics, args.profile),
        overwrite=args.overwrite,
        report=printing.say,
    )
    if args.plot is not None:
        plot_sensitivity(made, args.plot)
    options.emit(show(made, args.format), args)
    return 0


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def show(made: Sensitivity, look: str) -> str:
    """The readings in the format asked for."""
    if look == "json":
        return results.to_json(_as_json(made))
    if look == "csv":
        return results.to_csv(
            [
                ["model", "similarity", "transform", "evaluator", "value", "low", "high", "key"],
                *(
                    [made.model, variant.similarity, variant.transform, name, one.value, one.low, one.high, one.key]
                    for variant in made.variants
                    for name, one in variant.readings.items()
                ),
            ]
        )
    rows = [
        [
            Cell(variant.similarity),
            Cell(variant.transform),
            *(_cell(variant.readings[name], made.best(name) is variant) for name in made.evaluators),
        ]
        for variant in made.variants
    ]
    swings = [Cell(f"{made.swing(name):.4f}", f"{made.relative_swing(name):.0%}") for name in made.evaluators]
    rows.append([Cell("moves by"), Cell("", "of the first"), *swings])
    note = "The same model and texts: what moves is due to the similarity and the transform alone. The best is in bold."
    return render([Grid(["similarity", "transform", *made.evaluators], rows, made.model, [note], text_columns=2)], look)


def _cell(one: Reading, best: bool) -> Cell:
    bounds = results.figure_bounds({"low": one.low, "high": one.high})
    return Cell(f"{one.value:.4f}", bounds, best=best)


def _as_json(made: Sensitivity) -> dict[str, Any]:
    return {
        "model": made.model,
        "variants": [
            {
                "similarity": variant.similarity,
                "transform": variant.transform,
                "readings": {name: vars(one) for name, one in variant.readings.items()},
            }
            for variant in made.variants
        ],
        "swings": {
            name: {"absolute": made.swing(name), "relative": results.number(made.relative_swing(name))}
            for name in made.evaluators
        },
    }
