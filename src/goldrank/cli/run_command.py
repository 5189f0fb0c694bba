"""`goldrank run`: evaluate models on tasks, store the results and show leaderboards."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace

from goldrank.cli import options, printing, stored_runs
from goldrank.cli.engine_options import add_engine, sharing
from goldrank.cli.options import describe_choices
from goldrank.cli.run_config import RunConfig, configured
from goldrank.data.chunking import CHUNKINGS
from goldrank.data.text_rule import PARTS
from goldrank.errors import InputError
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.leaderboards import across_view, leaderboard_view, leaderboards_view
from goldrank.reporting.text.views import View, view_rows
from goldrank.runs.run import Leaderboard, Leaderboards, RankingLeaderboard, prepare
from goldrank.runs.run import run as run_models
from goldrank.tasks.catalogue import is_measurement
from goldrank.tasks.presets import PRESETS
from goldrank.tasks.ranking.task import task_of
from goldrank.tasks.settings import OOV, SCORINGS
from goldrank.vectors.transforms import Pipeline

_EXAMPLES = """\
  goldrank run -m bm25 wordllama -t ./docs --questions questions.csv
  goldrank run -m bm25 wordllama -t ./docs --questions questions.csv --chunk words:200/40
  goldrank run -m wordllama -t ./my-folder
  goldrank run -m bm25 tfidf wordllama -t wines games questions
  goldrank run -m "fuse:rrf(bm25,wordllama)" -t cranfield:data/cran --metric ndcg@10 --metric map
  goldrank run -m wordllama -t wines --scoring sdr --profile sdr
  goldrank run -m wordllama -t wines --transform "center|abtt:2|normalize" --worst 5
  goldrank run -m wordllama --from-pairs STSBenchmark sem_text_rel_ranked.csv
  goldrank run -m bm25 --label small=st:BAAI/bge-small-en-v1.5 -t questions
  goldrank run -m bm25 -t questions --rerank overlap --rerank-depth 50
  goldrank run -m st:BAAI/bge-base-en-v1.5 -t ./large-folder --engine ray://head:10001 --work-folder s3://bucket/work
  goldrank run -m run:bm25.run run:dense.run -t qrels.txt
  goldrank run -m vectors:emb.npy -t labels.csv
  goldrank run -m "vectors:items.npy(queries=queries.npy)" -t qrels.txt
  goldrank run -m bm25 -t "pairs:faq.csv(query=question,item=answer)"
  goldrank run --config run.toml --limit 100 --dry-run
"""

_MOST_KEYS = 8
"""Maximum number of runs that the next step names one by one."""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command; options that are not given are None, so that a run file can set them."""
    parser = options.new_parser("run", "Evaluate models on tasks, and store every result under a key.", _EXAMPLES)
    parser.remedy = "give models with -m and tasks with -t, such as -m run:FILE -t QRELS; see goldrank run --help"
    options.add_models_and_tasks(parser)
    options.add_label(parser, "a model")
    options.add_questions(parser)
    parser.add_argument("--config", metavar="FILE", help="TOML file with any of these settings; options override it")
    parser.add_argument("--allow-code", action="store_true", help="let models that the config file names run code")
    parser.add_argument(
        "--allow-connections", action="store_true", help="let the config file name servers, databases and remote files"
    )
    options.add_metric(parser, "metric instead of the task's own; repeatable", dest="metrics")
    options.add_profile(parser)
    presets = "; ".join(f"{preset.name}: {preset.title}" for preset in PRESETS.values())
    parser.add_argument("--preset", choices=tuple(PRESETS), help=f"all settings of a reference system; {presets}")
    parser.add_argument("--split", metavar="SPLIT", help="split of the data (default test)")
    parser.add_argument("--limit", type=int, metavar="N", help="use only N random queries")
    parser.add_argument("--dry-run", action="store_true", help="check data and models, and estimate time and memory")
    options.add_overwrite(parser)
    stored_runs.add_store(parser)
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="show the N worst queries of the best model")
    _add_ranking(parser)
    _add_texts(parser)
    options.add_scored_pairs(parser)
    add_engine(parser)
    # The meaning of the scores is an option of the model: run:FILE(scores=distance).
    options.add_conventions(parser, without=["scores"])
    statistics = options.add_statistics(parser, "intervals and tests", defaults=False)
    options.add_alpha(statistics, default=None)
    options.add_output(parser)
    return parser


def _add_ranking(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("ranking")
    options.add_similarity(group, default=None)
    group.add_argument("--index", metavar="INDEX", help="exact (default) or faiss:FACTORY")
    group.add_argument("--transform", metavar="TRANSFORM", help="of the vectors, such as center|whiten:64|normalize")
    group.add_argument(
        "--fit-on", metavar="TEXTS", help="fit transforms on: corpus (default), evaluated, vocabulary, or a file"
    )
    group.add_argument("--oov", choices=tuple(OOV), help=describe_choices(OOV) + " (default: the task's)")
    group.add_argument("--scoring", choices=tuple(SCORINGS), help=describe_choices(SCORINGS) + " (default single)")
    group.add_argument("--depth", metavar="N|all", help="number of results per query (default: the task's)")
    group.add_argument("--rerank", metavar="SCORER", help="pair scorer that reorders the first results")
    group.add_argument("--rerank-depth", type=int, metavar="N", help="number of results to rerank (default 100)")


def _add_texts(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("texts")
    group.add_argument("--text", metavar="PARTS", help=f"parts of items, joined by +: {describe_choices(PARTS)}")
    group.add_argument("--query-text", metavar="PARTS", help="parts of queries, likewise")
    group.add_argument("--separator", metavar="TEXT", help="text between the parts of an item (default a blank)")
    group.add_argument("--sections", type=int, metavar="N", help="use only the first N sections of items")
    group.add_argument("--words", type=int, metavar="N", help="use only the first N words of items")
    group.add_argument(
        "--chunk",
        metavar="CHUNKING",
        help=f"rank documents by their best chunk: {describe_choices(CHUNKINGS)} (default none)",
    )


def run(args: argparse.Namespace) -> int:
    """Evaluate the models, store the results and print the leaderboards."""
    config = configured(args)
    labels = options.labels(args)
    config = replace(config, models=[*config.models, *(spec for spec in labels.values() if spec not in config.models)])
    models = options.labelled({spec: spec for spec in config.models}, labels)
    if args.worst < 0:
        raise InputError(f"--worst is {args.worst}", remedy="give a number of queries from 0 up")
    _refuse_unused(args, config)
    options.refuse_unwritable(args)
    if (collection := options.collection_from_pairs(args)) is not None:
        if config.settings.split is not None and not config.tasks:
            raise InputError(
                "--split has no effect with --from-pairs", remedy="leave it out, and name the files of the split"
            )
        config = replace(config, tasks=[*config.tasks, task_of(collection)])
    if args.dry_run:
        options.emit(_dry_run(config), args)
        return 0
    at_once = args.format == "table" and args.output is None

    def show(board: Leaderboard) -> None:
        # A table is shown as soon as its task is done; the next may take hours.
        if at_once:
            printing.show(leaderboard_view(board, args.worst).render("table", printing.layout()), end="\n\n")

    for name, spec in labels.items():
        printing.remark(f"{name} is {spec}")
    with sharing(config.engine, config.work_folder, config.shard_items) as sharding:
        boards = run_models(
            models if labels else config.models,
            config.tasks,
            config.store,
            questions=config.questions,
            settings=config.settings,
            overwrite=config.overwrite,
            reuse=config.reuse,
            sharding=sharding,
            report=printing.remark,
            on_leaderboard=show,
            **vars(config.measures),
        )
    if args.format not in ("table", "json") or args.output is not None:
        printing.warn(warning for board in boards for warning in board.warnings)
    if args.format in ("json", "csv"):
        options.emit(leaderboards_view(boards, args.worst), args)
    elif not at_once:
        views = [*(leaderboard_view(board, args.worst) for board in boards), *filter(None, [across_view(boards)])]
        options.emit("\n\n".join(view.render(args.format) for view in views), args)
    elif (summary := across_view(boards)) is not None:
        printing.show(summary.render("table", printing.layout()), end="\n\n")
    printing.remark(f"stored in {boards.store.where}")
    if at_once:
        printing.remark(f"next: {_next_step(boards, config.models[0])}")
    return 0


def _next_step(boards: Leaderboards, model: str) -> str:
    """Return a command that shows more of these results, or a way to compare a single *model* with another."""
    keys = [run.key for run in boards.runs]
    where = [] if boards.store.is_default else ["--store", boards.store.where]
    if len(keys) > _MOST_KEYS:
        return f"{shlex.join(['goldrank', 'serve', *where])} (all results in a browser)"
    command = shlex.join(["goldrank", "report", *keys, *where, "-o", "report.html"])
    if all(len(board.outcomes) > 1 for board in boards):
        return command
    other = "wordllama" if model == "bm25" else "bm25"
    if any(isinstance(board, RankingLeaderboard) and not board.data.collection.has_texts for board in boards):
        # Without texts, only files of rankings or vectors can be evaluated.
        other = f"{model.partition(':')[0]}:OTHER_FILE"
    compare = f"add a model to compare with, such as -m {shlex.quote(model)} {other}"
    ranked = (board for board in boards if isinstance(board, RankingLeaderboard))
    metric = next((next(iter(board.scores[board.best.model])) for board in ranked), None)
    meaning = f"{shlex.join(['goldrank', 'explain', metric])} says what the number means; " if metric else ""
    return f"{compare}; {meaning}{command} shows the queries"


def _refuse_unused(args: argparse.Namespace, config: RunConfig) -> None:
    """Raise InputError for options without effect, as far as that is known before any data is read."""
    if args.from_pairs is None and config.tasks and all(is_measurement(task) for task in config.tasks):
        options.refuse_unused(args, ["worst"], "on tasks that rank nothing, which have no queries")
    if args.format == "csv":
        options.refuse_unused(args, ["worst"], "on --format csv", "use --format table or json")
    if args.config is None:
        options.refuse_unused(args, ["allow_code", "allow_connections"], "without --config")
    settings = config.settings
    if "fit_on" in settings.given and settings.preset is None and not Pipeline.parse(settings.transform).learns:
        remedy = "add one, such as --transform center, or leave it out"
        options.refuse_unused(args, ["fit_on"], "without a fitted transform", remedy)
    if config.engine == "local":
        remedy = "add --engine ray, or leave it out"
        options.refuse_unused(args, ["work_folder", "shard_items"], "without a cluster", remedy)


def _dry_run(config: RunConfig) -> View:
    """Return what would be done, with estimates of time and memory."""
    from goldrank.planning.constants import local_constants
    from goldrank.planning.task_estimate import estimate_task
    from goldrank.store import Store

    constants = local_constants()
    loaded, prepared = prepare(
        config.models, config.tasks, config.settings, measures=config.measures, questions=config.questions
    )
    store, rows = Store.open(config.store), []
    for data in prepared:
        for spec, model in zip(config.models, loaded, strict=True):
            stored = store.find(data.inputs(model))
            estimate = estimate_task(spec, data, constants)
            seconds, memory = estimate.cost.seconds, estimate.cost.memory
            rows.append(
                {
                    "task": data.task.name,
                    "model": model.spec,
                    "items": estimate.items,
                    "queries": estimate.queries,
                    "words per item": estimate.words and round(estimate.words, 1),
                    "empty texts": estimate.empty,
                    "dimension": estimate.cost.dimension,
                    "estimated seconds": None if seconds is None else round(seconds, 1),
                    "estimated MB": None if memory is None else round(memory / 1e6, 1),
                    "stored as": None if stored is None else stored.key,
                }
            )

    def grid() -> Grid:
        cells = [[Cell("–" if value is None else str(value)) for value in row.values()] for row in rows]
        note = (
            "All data and models load. Encoding was timed on a few texts; the other estimates are those of goldrank "
            "plan. Nothing was stored."
        )
        return Grid(list(rows[0]), cells, notes=[note], text_columns=2)

    return view_rows(rows, grid, "run-dry-run")
