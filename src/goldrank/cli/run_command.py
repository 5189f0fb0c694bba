"""`goldrank run`: any models on any tasks, stored under keys, with the leaderboard and how sure it is."""

from __future__ import annotations

import argparse
from dataclasses import replace

from goldrank.cli import options, printing
from goldrank.cli.engine_options import add_engine, sharing
from goldrank.cli.run_config import RunConfig, configured
from goldrank.data.text_rule import PARTS
from goldrank.errors import InputError
from goldrank.metrics import CHOICES
from goldrank.reporting.text import results
from goldrank.reporting.text.grids import Cell, Grid, render
from goldrank.reporting.text.leaderboards import leaderboard_view, leaderboards_view
from goldrank.runs.evaluate import OVERWRITE
from goldrank.runs.run import Leaderboard, prepare
from goldrank.runs.run import run as run_models
from goldrank.tasks.catalogue import is_measurement
from goldrank.tasks.presets import PRESETS
from goldrank.tasks.ranking.task import task_of
from goldrank.tasks.settings import OOV, SCORINGS
from goldrank.vectors.transforms import Pipeline

_EXAMPLES = """\
  goldrank run -m wordllama -t ./my-folder
  goldrank run -m bm25 tfidf wordllama -t wines games questions
  goldrank run -m "fuse:rrf(bm25,wordllama)" -t cranfield:data/cran --metric ndcg@10 --metric map
  goldrank run -m wordllama -t wines --scoring sdr --profile sdr
  goldrank run -m wordllama -t wines --transform "center|abtt:2|normalize" --worst 5
  goldrank run -m wordllama --from-pairs STSBenchmark sem_text_rel_ranked.csv
  goldrank run -m bm25 -t questions --rerank overlap --rerank-depth 50
  goldrank run -m st:BAAI/bge-base-en-v1.5 -t ./large-folder --engine ray://head:10001 --work-folder s3://bucket/work
  goldrank run --config run.toml --limit 100 --dry-run
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command; what is not given stays None, so that a run file can say it."""
    command = options.new_parser("run", "Evaluate models on tasks, and keep every result under a key.", _EXAMPLES)
    command.add_argument(
        "-m", "--model", dest="models", nargs="+", action="extend", metavar="MODEL", help="goldrank list models"
    )
    command.add_argument(
        "-t", "--task", dest="tasks", nargs="+", action="extend", metavar="TASK", help="a name, NAME:PATH, or a path"
    )
    command.add_argument("--config", metavar="FILE", help="a TOML file with any of these; flags override it")
    command.add_argument("--allow-code", action="store_true", help="let models that FILE names run Python code")
    command.add_argument(
        "--allow-connections", action="store_true", help="let FILE name servers to send texts, keys and results to"
    )
    options.add_metric(command, "measure this instead of the task's own; repeatable", dest="metrics")
    command.add_argument("--profile", metavar="P", help="conventions by name (goldrank list profiles)")
    presets = "; ".join(f"{preset.name}: {preset.title}" for preset in PRESETS.values())
    command.add_argument("--preset", choices=tuple(PRESETS), help=f"all settings of a reference system; {presets}")
    command.add_argument("--split", metavar="S", help="part of the data (default test)")
    command.add_argument("--limit", type=int, metavar="N", help="only N queries, drawn with the seed")
    command.add_argument("--dry-run", action="store_true", help="check everything and estimate time and memory")
    command.add_argument("--overwrite", choices=tuple(OVERWRITE), help=_choices(OVERWRITE) + " (default missing)")
    command.add_argument("--store", metavar="S", help="folder or database URL (default $GOLDRANK_STORE)")
    command.add_argument("--worst", type=int, default=0, metavar="N", help="show the N worst queries of the best model")
    _add_ranking(command)
    _add_texts(command)
    options.add_scored_pairs(command)
    add_engine(command)
    group = command.add_argument_group("conventions (override the profile's; see goldrank list conventions)")
    for name, values in CHOICES.items():
        # What the scores of a run file are is an option of that model: run:FILE(scores=distance).
        if name != "scores":
            group.add_argument(f"--{name.replace('_', '-')}", choices=tuple(values))
    options.add_relevance_level(group)
    statistics = command.add_argument_group("intervals and tests")
    statistics.add_argument("--level", type=float, help="confidence level (default 0.95)")
    statistics.add_argument("--interval", choices=("bca", "percentile"), help="kind of bootstrap")
    statistics.add_argument("--resamples", type=int, metavar="N", help="bootstrap resamples (default 10000)")
    statistics.add_argument("--alpha", type=float, help="level of significance (default 0.05)")
    statistics.add_argument("--seed", type=int, help="seed of all random numbers (default 0)")
    options.add_output(command)
    return command


def _add_ranking(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("ranking")
    group.add_argument("--similarity", choices=("cosine", "dot", "l2"), help="of vectors (default cosine)")
    group.add_argument("--index", metavar="I", help="exact (default) or faiss:FACTORY")
    group.add_argument("--transform", metavar="T", help="of vectors, such as center|whiten:64|normalize")
    group.add_argument(
        "--fit-on", metavar="F", help="what a transform learns from: corpus (default), evaluated, vocabulary, a file"
    )
    group.add_argument("--oov", choices=tuple(OOV), help=_choices(OOV) + " (default: the task's)")
    group.add_argument("--scoring", choices=tuple(SCORINGS), help=_choices(SCORINGS) + " (default single)")
    group.add_argument("--depth", metavar="N|all", help="items kept of each ranking (default: the task's)")
    group.add_argument("--rerank", metavar="SCORER", help="order the top anew by a scorer of pairs")
    group.add_argument("--rerank-depth", type=int, metavar="N", help="how many (default 100)")


def _add_texts(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("texts")
    group.add_argument("--text", metavar="PARTS", help=f"of items, joined by +: {_choices(PARTS)}")
    group.add_argument("--query-text", metavar="PARTS", help="of queries, likewise")
    group.add_argument("--separator", metavar="S", help="between the parts of items (default a blank)")
    group.add_argument("--sections", type=int, metavar="N", help="only the first N sections of items")
    group.add_argument("--words", type=int, metavar="N", help="only the first N words of items")


def _choices(meanings: dict[str, str]) -> str:
    return "; ".join(f"{name}: {meaning}" for name, meaning in meanings.items())


def run(args: argparse.Namespace) -> int:
    """Evaluate, store and show."""
    config = configured(args)
    if args.worst < 0:
        raise InputError(f"{args.worst} worst queries cannot be shown", remedy="give a number from 0 up")
    _refuse_unused(args, config)
    options.refuse_unwritable(args)
    if (collection := options.collection_from_pairs(args)) is not None:
        if config.settings.split is not None and not config.tasks:
            raise InputError(
                "--split has no effect with --from-pairs", remedy="leave it out, and name the files of the split"
            )
        config = replace(config, tasks=[*config.tasks, task_of(collection)])
    if args.dry_run:
        options.emit(_dry_run(config, args.format), args)
        return 0
    at_once = args.format == "table" and args.output is None

    def show(board: Leaderboard) -> None:
        # A table is shown as soon as its task is done; the next may take hours.
        if at_once:
            printing.show(leaderboard_view(board, args.worst).render("table"), end="\n\n")

    with sharing(config.engine, config.work_folder, config.shard_items) as sharding:
        boards = run_models(
            config.models,
            config.tasks,
            config.store,
            settings=config.settings,
            overwrite=config.overwrite,
            sharding=sharding,
            report=printing.say,
            on_leaderboard=show,
            **vars(config.measures),
        )
    if args.format not in ("table", "json") or args.output is not None:
        for warning in (warning for board in boards for warning in board.warnings):
            printing.say(f"warning: {warning}")
    if args.format in ("json", "csv"):
        options.emit(leaderboards_view(boards, args.worst).render(args.format), args)
    elif not at_once:
        options.emit("\n\n".join(leaderboard_view(board, args.worst).render(args.format) for board in boards), args)
    printing.say(f"stored in {boards.store.where}")
    return 0


def _refuse_unused(args: argparse.Namespace, config: RunConfig) -> None:
    """Raise for options that would change nothing, as far as it can be told before anything is read."""
    if args.from_pairs is None and config.tasks and all(is_measurement(task) for task in config.tasks):
        options.refuse_unused(args, ["worst"], "on tasks that rank nothing, which have no queries")
    if args.format == "csv":
        options.refuse_unused(args, ["worst"], "on --format csv", "take --format table or json for it")
    if args.config is None:
        options.refuse_unused(args, ["allow_code", "allow_connections"], "without --config")
    settings = config.settings
    if "fit_on" in settings.given and settings.preset is None and not Pipeline.parse(settings.transform).learns:
        remedy = "add one, such as --transform center, or leave it out"
        options.refuse_unused(args, ["fit_on"], "without a transform that learns", remedy)
    if config.engine == "local":
        remedy = "add --engine ray, or leave it out"
        options.refuse_unused(args, ["work_folder", "shard_items"], "without a cluster", remedy)


def _dry_run(config: RunConfig, look: str) -> str:
    """Return what would be done, and about what it would cost."""
    from goldrank.planning.constants import local_constants
    from goldrank.planning.task_estimate import estimate_task
    from goldrank.store import Store

    constants = local_constants()
    loaded, prepared = prepare(config.models, config.tasks, config.settings, measures=config.measures)
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
                    "words an item": estimate.words and round(estimate.words, 1),
                    "empty texts": estimate.empty,
                    "dimension": estimate.cost.dimension,
                    "seconds, about": None if seconds is None else round(seconds, 1),
                    "MB, about": None if memory is None else round(memory / 1e6, 1),
                    "stored as": None if stored is None else stored.key,
                }
            )
    if look == "json":
        return results.to_json(rows)
    if look == "csv":
        return results.to_csv([list(rows[0]), *(list(row.values()) for row in rows)])
    cells = [[Cell("–" if value is None else str(value)) for value in row.values()] for row in rows]
    notes = [
        "All data and models load. Encoding was timed on a few texts here; the rest is estimated as by goldrank plan. "
        "Nothing was stored."
    ]
    return render([Grid(list(rows[0]), cells, notes=notes, text_columns=2)], look)
