"""`goldrank sensitivity`: does an evaluator judge the model, or the similarity and the post-processing?"""

from __future__ import annotations

import argparse
from dataclasses import replace

from goldrank.analysis.sensitivity import sensitivity
from goldrank.cli import figure_files, options, printing
from goldrank.errors import InputError
from goldrank.reporting.figures.evaluators import model_places, order_heat_map, sensitivity_maps
from goldrank.reporting.render.themes import SIZES, THEMES
from goldrank.reporting.text.sensitivity import show
from goldrank.runs.evaluate import OVERWRITE
from goldrank.runs.run import Measures
from goldrank.scoring import Bootstrap
from goldrank.store import Store
from goldrank.tasks.catalogue import find_task
from goldrank.tasks.settings import Settings
from goldrank.vectors.transforms import Pipeline

_EXAMPLES = """\
  goldrank sensitivity -m wordllama -t wines questions --similarity cosine,l2,dot --transform none,center,abtt:2
  goldrank sensitivity -m words:glove.txt -t sts-b evalrank-sentence --transform none,center,whiten --plot moves.png
  goldrank sensitivity -m wordllama tfidf lsa:64 -t wines --transform none --plot orders.png --places places.png
  goldrank sensitivity -m wordllama -t sts-b --similarity cosine --transform none,whiten --bands 0,1,2,3,4,5

With several models it also tells whether a change of the settings reorders them: Kendall's tau between the orders,
with an interval, and which models swap.
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = options.new_parser(
        "sensitivity", "How far every evaluator moves, and whether models change order, by settings alone.", _EXAMPLES
    )
    made.add_argument(
        "-m", "--model", dest="models", nargs="+", action="extend", required=True, metavar="MODEL",
        help="what makes the vectors; several are also compared by their order",
    )  # fmt: skip
    made.add_argument("-t", "--task", dest="tasks", nargs="+", action="extend", required=True, metavar="TASK")
    made.add_argument("--similarity", metavar="S,S", help="similarities (default cosine,l2)")
    made.add_argument(
        "--transform", default="none,center,abtt:2", metavar="T,T", help="transforms (default none,center,abtt:2)"
    )
    made.add_argument("--fit-on", metavar="F", help="corpus (default), evaluated, or a file of texts")
    made.add_argument("--limit", type=int, metavar="N", help="only so many queries of tasks that rank, drawn at random")
    made.add_argument(
        "--bands", metavar="N|EDGES", help="also by gold score: so many bands, or cut at these (0,1,2,3,4,5)"
    )
    made.add_argument(
        "--band-scores", metavar="TASK", help="where the pairs of an EvalRank task have their scores, such as sts-b"
    )
    options.add_metric(made, "the first is read", dest="metrics")
    made.add_argument("--profile", metavar="P", help="conventions by name (goldrank list profiles)")
    made.add_argument("--alpha", type=float, help="level at which a swap of models is significant (default 0.05)")
    made.add_argument("--resamples", type=int, metavar="N", help="bootstrap resamples (default 10000)")
    made.add_argument("--seed", type=int, help="seed of the bootstrap (default 0)")
    made.add_argument("--store", metavar="S", help="folder or database URL (default $GOLDRANK_STORE)")
    made.add_argument("--overwrite", choices=tuple(OVERWRITE), default="missing", help="what to do with stored results")
    made.add_argument(
        "--plot",
        metavar="FILE",
        help="draw the readings, or of several models tau, as .png, .pdf or .svg; a file for each evaluator",
    )
    made.add_argument(
        "--places", metavar="FILE", help="draw the place of each of several models; a file for each evaluator"
    )
    made.add_argument("--theme", choices=tuple(THEMES), default="light", help="colours of the figures (default light)")
    made.add_argument(
        "--size", choices=tuple(SIZES), default="double", help="of the figures, in columns of a paper (default double)"
    )
    options.add_output(made)
    return made


def run(args: argparse.Namespace) -> int:
    """Cross the settings and show what moves."""
    options.refuse_unwritable(args)
    measures = _measures(args)
    _check_figures(args)
    _check_effects(args)
    made = sensitivity(
        args.models,
        args.tasks,
        None if args.similarity is None else _listed(args.similarity),
        _listed(args.transform),
        Settings(fit_on=args.fit_on or "corpus", limit=args.limit),
        bands=None if args.bands is None else _bands(args.bands),
        band_scores=args.band_scores,
        store=Store.open(args.store),
        measures=measures,
        overwrite=args.overwrite,
        report=printing.say,
    )
    if args.plot is not None:
        figures = sensitivity_maps(made.models[0]) if len(args.models) == 1 else [order_heat_map(made)]
        figure_files.draw_into(args.plot, figures, args.theme, args.size)
    if args.places is not None:
        places = [model_places(made, evaluator) for evaluator in made.evaluators]
        figure_files.draw_into(args.places, places, args.theme, args.size)
    for failure in made.failures:
        printing.say(f"warning: {failure.model} is left out: with {failure.variant}, {failure.reason}")
    options.emit(show(made, args.format), args)
    return 0


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _bands(text: str) -> int | list[float]:
    try:
        return int(text) if "," not in text else [float(part) for part in _listed(text)]
    except ValueError:
        raise InputError(
            f"--bands is {text!r}", remedy="give a number of bands such as 4, or edges such as 0,1,2,3,4,5"
        ) from None


def _measures(args: argparse.Namespace) -> Measures:
    how = Bootstrap()
    if len(args.models) == 1 and args.alpha is not None:
        raise InputError(
            "--alpha is for swaps of models, and there is one model", remedy="give several, or leave it out"
        )
    if args.resamples is not None:
        if args.resamples < 100:
            raise InputError(f"{args.resamples} resamples are too few for an interval", remedy="give 100 or more")
        how = replace(how, resamples=args.resamples)
    if args.seed is not None:
        if args.seed < 0:
            raise InputError(f"the seed {args.seed} is negative", remedy="give a whole number from 0 up")
        how = replace(how, seed=args.seed)
    alpha = 0.05 if args.alpha is None else args.alpha
    return Measures(args.metrics, args.profile, bootstrap=how, alpha=alpha)


def _check_figures(args: argparse.Namespace) -> None:
    """Refuse figures that cannot be drawn before any work is done."""
    if args.places is not None and len(args.models) == 1:
        raise InputError("--places draws the order of models, and there is one", remedy="give several with -m")
    files = [file for file in (args.plot, args.places) if file is not None]
    if not files:
        options.refuse_unused(args, ["theme", "size"], "without a figure", "name its file with --plot or --places")
    for file in files:
        figure_files.check_file(file)


def _check_effects(args: argparse.Namespace) -> None:
    """Refuse options that none of the tasks and settings would see."""
    if not any(Pipeline.parse(transform).learns for transform in _listed(args.transform)):
        options.refuse_unused(args, ["fit_on"], "without a transform that learns", "add center, say, or leave it out")
    if not all(find_task(task).result_kind == "measured" for task in args.tasks):
        return
    resampled = len(args.models) > 1 or args.bands is not None
    for name in ("metrics", "profile", *(() if resampled else ("resamples", "seed"))):
        if getattr(args, name) is not None:
            option = name.removesuffix("s") if name == "metrics" else name
            raise InputError(
                f"--{option} has no effect on {', '.join(args.tasks)}, which have measures of their own",
                remedy="leave it out, or add a task that ranks",
            )
