"""`goldrank sensitivity`: how scores and the order of models depend on similarity and transform."""

from __future__ import annotations

import argparse

from goldrank.analysis.sensitivity import sensitivity
from goldrank.cli import figure_files, options, printing, stored_runs
from goldrank.errors import InputError
from goldrank.reporting.figures.evaluators import model_places, order_heat_map, sensitivity_maps
from goldrank.reporting.text.sensitivity import view
from goldrank.runs.run import Measures
from goldrank.scoring import Bootstrap
from goldrank.store import Store
from goldrank.tasks.catalogue import is_measurement
from goldrank.tasks.settings import Settings
from goldrank.vectors.transforms import Pipeline

_EXAMPLES = """\
  goldrank sensitivity -m wordllama -t wines questions --similarity cosine,l2,dot --transform none,center,abtt:2
  goldrank sensitivity -m words:glove.txt -t sts-b evalrank-sentence --transform none,center,whiten --plot moves.png
  goldrank sensitivity -m wordllama tfidf lsa:64 -t wines --transform none --plot orders.png --places places.png
  goldrank sensitivity -m wordllama -t sts-b --similarity cosine --transform none,whiten --bands 0,1,2,3,4,5

With several models it also reports whether settings change their order: Kendall's
tau between the orders, with an interval, and which models swap.
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser(
        "sensitivity",
        "Measure how scores, and the order of models, depend on similarity and transform.",
        _EXAMPLES,
    )
    options.add_models_and_tasks(parser, required=True)
    options.add_questions(parser)
    parser.add_argument("--similarity", metavar="NAME,…", help="similarities to compare (default cosine,l2)")
    parser.add_argument(
        "--transform",
        default="none,center,abtt:2",
        metavar="TRANSFORM,…",
        help="transforms to compare (default none,center,abtt:2)",
    )
    parser.add_argument(
        "--fit-on", metavar="TEXTS", help="fit transforms on: corpus (default), evaluated, or a file of texts"
    )
    parser.add_argument("--limit", type=int, metavar="N", help="use only N random queries of ranking tasks")
    parser.add_argument(
        "--bands",
        metavar="N|EDGES",
        help="also report by gold score, in N bands or in bands with these edges (0,1,2,3,4,5)",
    )
    parser.add_argument(
        "--band-scores", metavar="TASK", help="task with the gold scores for the pairs of an EvalRank task, e.g. sts-b"
    )
    options.add_metric(parser, "metric instead of the task's own (only the first is used)", dest="metrics")
    options.add_profile(parser)
    options.add_alpha(parser)
    options.add_resamples(parser)
    parser.set_defaults(resamples=Bootstrap().resamples, seed=Bootstrap().seed)
    stored_runs.add_store(parser)
    options.add_overwrite(parser, default="missing")
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="draw the scores, or tau for several models, as .png, .pdf or .svg; one file per evaluator",
    )
    parser.add_argument("--places", metavar="FILE", help="draw the places of several models; one file per evaluator")
    options.add_figure_style(parser)
    options.add_output(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Evaluate all combinations of settings and print the differences."""
    options.refuse_unwritable(args)
    measures = _measures(args)
    _check_figures(args)
    _refuse_unused(args)
    result = sensitivity(
        args.models,
        args.tasks,
        None if args.similarity is None else _split(args.similarity),
        _split(args.transform),
        Settings(fit_on=args.fit_on or "corpus", limit=args.limit),
        questions=args.questions,
        bands=None if args.bands is None else _bands(args.bands),
        band_scores=args.band_scores,
        store=Store.open(args.store),
        **vars(measures),
        overwrite=args.overwrite,
        reuse=bool(args.reuse),
        report=printing.remark,
    )
    if args.plot is not None:
        figures = sensitivity_maps(result.models[0]) if len(args.models) == 1 else [order_heat_map(result)]
        figure_files.draw_into(args.plot, figures, args.theme, args.size)
    if args.places is not None:
        places = [model_places(result, evaluator) for evaluator in result.evaluators]
        figure_files.draw_into(args.places, places, args.theme, args.size)
    for failure in result.failures:
        printing.say(f"warning: the model {failure.model} is left out: with {failure.variant}, {failure.reason}")
    options.emit(view(result), args)
    return 0


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _bands(text: str) -> int | list[float]:
    try:
        return int(text) if "," not in text else [float(part) for part in _split(text)]
    except ValueError:
        raise InputError(
            f"--bands is {text!r}", remedy="give a number of bands such as 4, or edges such as 0,1,2,3,4,5"
        ) from None


def _measures(args: argparse.Namespace) -> Measures:
    if len(args.models) == 1:
        options.refuse_unused(args, ["alpha"], "with one model", "give several models, or leave it out")
    bootstrap = options.checked_bootstrap(args.resamples, seed=args.seed)
    return Measures(args.metrics, args.profile, bootstrap=bootstrap, alpha=args.alpha)


def _check_figures(args: argparse.Namespace) -> None:
    """Raise InputError before any work for figures that cannot be drawn."""
    if len(args.models) == 1:
        options.refuse_unused(args, ["places"], "with one model", "give several models with -m, or leave it out")
    files = [file for file in (args.plot, args.places) if file is not None]
    if not files:
        options.refuse_unused(args, ["theme", "size"], "without a figure", "name its file with --plot or --places")
    for file in files:
        figure_files.check_file(file)


def _refuse_unused(args: argparse.Namespace) -> None:
    """Raise InputError for options that none of the tasks and settings uses."""
    if not any(Pipeline.parse(transform).learns for transform in _split(args.transform)):
        options.refuse_unused(args, ["fit_on"], "without a fitted transform", "add one such as center, or leave it out")
    if all(is_measurement(task) for task in args.tasks):
        resampled = len(args.models) > 1 or args.bands is not None
        options.refuse_unused(
            args,
            ["metrics", "profile", *(() if resampled else ("resamples", "seed"))],
            f"on tasks with measures of their own ({', '.join(args.tasks)})",
            "leave it out, or add a ranking task",
        )
