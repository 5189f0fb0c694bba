"""`goldrank run`: any models on any tasks, stored under keys, with the leaderboard and how sure it is."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from goldrank.analysis.worst_queries import Miss, worst_queries
from goldrank.cli import options, printing
from goldrank.cli.engine_options import add_engine, sharing
from goldrank.cli.run_config import RunConfig, configured
from goldrank.data.text_rule import PARTS
from goldrank.errors import InputError
from goldrank.metrics import CHOICES
from goldrank.reporting.text import comparison, formatting, results
from goldrank.reporting.text.grids import Cell, Grid, render
from goldrank.runs.evaluate import OVERWRITE
from goldrank.runs.run import Leaderboard, MeasurementLeaderboard, RankingLeaderboard, prepare, run_all
from goldrank.store import ResultKind
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
    made = options.new_parser("run", "Evaluate models on tasks, and keep every result under a key.", _EXAMPLES)
    made.add_argument(
        "-m", "--model", dest="models", nargs="+", action="extend", metavar="MODEL", help="goldrank list models"
    )
    made.add_argument(
        "-t", "--task", dest="tasks", nargs="+", action="extend", metavar="TASK", help="a name, NAME:PATH, or a path"
    )
    made.add_argument("--config", metavar="FILE", help="a TOML file with any of these; flags override it")
    made.add_argument("--allow-code", action="store_true", help="let models that FILE names run Python code")
    made.add_argument(
        "--allow-connections", action="store_true", help="let FILE name servers to send texts, keys and results to"
    )
    options.add_metric(made, "measure this instead of the task's own; repeatable", dest="metrics")
    made.add_argument("--profile", metavar="P", help="conventions by name (goldrank list profiles)")
    presets = "; ".join(f"{preset.name}: {preset.title}" for preset in PRESETS.values())
    made.add_argument("--preset", choices=tuple(PRESETS), help=f"all settings of a reference system; {presets}")
    made.add_argument("--split", metavar="S", help="part of the data (default test)")
    made.add_argument("--limit", type=int, metavar="N", help="only N queries, drawn with the seed")
    made.add_argument("--dry-run", action="store_true", help="check everything and estimate time and memory")
    made.add_argument("--overwrite", choices=tuple(OVERWRITE), help=_choices(OVERWRITE) + " (default missing)")
    made.add_argument("--store", metavar="S", help="folder or database URL (default $GOLDRANK_STORE)")
    made.add_argument("--worst", type=int, default=0, metavar="N", help="show the N worst queries of the best model")
    _add_ranking(made)
    _add_texts(made)
    options.add_scored_pairs(made)
    add_engine(made)
    group = made.add_argument_group("conventions (override the profile's; see goldrank list conventions)")
    for name, values in CHOICES.items():
        # What the scores of a run file are is an option of that model: run:FILE(scores=distance).
        if name != "scores":
            group.add_argument(f"--{name.replace('_', '-')}", choices=tuple(values))
    options.add_relevance_level(group)
    statistics = made.add_argument_group("intervals and tests")
    statistics.add_argument("--level", type=float, help="confidence level (default 0.95)")
    statistics.add_argument("--interval", choices=("bca", "percentile"), help="kind of bootstrap")
    statistics.add_argument("--resamples", type=int, metavar="N", help="bootstrap resamples (default 10000)")
    statistics.add_argument("--alpha", type=float, help="level of significance (default 0.05)")
    statistics.add_argument("--seed", type=int, help="seed of all random numbers (default 0)")
    options.add_output(made)
    return made


def _add_ranking(made: argparse.ArgumentParser) -> None:
    group = made.add_argument_group("ranking")
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


def _add_texts(made: argparse.ArgumentParser) -> None:
    group = made.add_argument_group("texts")
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
    from goldrank.store import Store

    store = Store.open(config.store)
    boards = []
    with sharing(config.engine, config.work_folder, config.shard_items) as sharding:
        for board in run_all(
            config.models,
            config.tasks,
            config.settings,
            store=store,
            measures=config.measures,
            overwrite=config.overwrite,
            sharding=sharding,
            report=printing.say,
        ):
            boards.append(board)
            if args.format == "table" and args.output is None:
                # A table is shown as soon as its task is done; the next may take hours.
                printing.show(show_board(board, args.worst), end="\n\n")
    if args.format not in ("table", "json") or args.output is not None:
        for warning in (one for board in boards for one in board.warnings):
            printing.say(f"warning: {warning}")
    if args.format == "json":
        options.emit(
            results.to_json({"store": store.where, "tasks": [board_json(b, args.worst) for b in boards]}), args
        )
    elif args.format == "csv":
        options.emit(_csv(boards), args)
    elif args.format != "table" or args.output is not None:
        shown = "\n\n".join(show_board(board, args.worst, args.format) for board in boards)
        options.emit(shown, args)
    printing.say(f"stored in {store.where}")
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


def show_board(board: Leaderboard, worst: int = 0, look: str = "table") -> str:
    """Render a leaderboard: the models with intervals and what they beat, and the keys they are stored under."""
    return _VIEWS[board.task.result_kind].show(board, worst, look)


def board_json(board: Leaderboard, worst: int = 0) -> dict[str, Any]:
    """Return a leaderboard in the shape of `score`, with the comparison and the keys."""
    return _VIEWS[board.task.result_kind].to_json(board, worst)


def _show_ranking(board: RankingLeaderboard, worst: int, look: str) -> str:
    grid = comparison.scores_grid(board.comparison) if len(board.outcomes) > 1 else _single_grid(board)
    keys = {outcome.model: outcome.stored.key for outcome in board.outcomes}
    rows = [[*row, Cell(keys[model])] for row, model in zip(grid.rows, board.comparison.scores, strict=True)]
    title = f"{board.task.name}: {board.task.summary}" if board.task.summary else board.task.name
    notes = [*grid.notes, *_notes(board)]
    shown = [render([Grid([*grid.headings, "stored as"], rows, title, notes)], look)]
    if look == "table" and board.warnings:
        shown.insert(0, "\n".join(f"Warning: {warning}" for warning in board.warnings))
    if worst:
        shown.append(render([worst_grid(board, worst)], look))
    return "\n\n".join(shown)


def _single_grid(board: RankingLeaderboard) -> Grid:
    (scores,) = board.comparison.scores.values()
    cells = [
        Cell(formatting.value(score.metric, score.value), formatting.interval(score.metric, score.interval))
        for score in scores.values()
    ]
    headings = ["model", *(formatting.heading(score.metric) for score in scores.values())]
    notes = [
        results.basis_line(scores, intervals=True),
        results.conventions_line(scores),
        *results.counts_lines([scores]),
    ]
    return Grid(headings, [[Cell(scores.name), *cells]], notes=notes)


def _notes(board: RankingLeaderboard) -> list[str]:
    """What was left out or mended, and what is not stored."""
    collection = board.data.collection
    notes = [f"{len(board.data.item_ids)} items; text of an item: {board.data.text_rule}."]
    notes += [f"Data: {remark.removesuffix('.')}." for remark in collection.remarks]
    said = {warning.message for outcome in board.outcomes for warning in outcome.warnings}
    said |= {warning.message for warning in board.quality.warnings}
    notes += [
        f"{outcome.model}: {remark.removesuffix('.')}."
        for outcome in board.outcomes
        for remark in outcome.remarks
        if remark not in said
    ]
    if board.task.kind == "evalrank":
        first = next(iter(board.comparison.scores[board.best.model]))
        filtered = ", ".join(f"{model} {value:.4f}" for model, value in board.with_positives_filtered().items())
        notes.append(f"{first} with the other positives of a query filtered out of its rivals: {filtered}.")
    empty_items, empty_queries = board.data.empty_texts
    if empty_items or empty_queries:
        notes.append(f"Empty texts: {empty_items} of the items, {empty_queries} of the queries.")
    if board.missing:
        notes.append(f"Not stored, and not evaluated: {', '.join(board.missing)}.")
    return notes


def misses(board: RankingLeaderboard, count: int) -> list[Miss]:
    """The worst queries of the best model by the first metric."""
    best = board.best
    run = best.stored.run()
    if run is None:
        return []
    score = next(iter(board.comparison.scores[best.model].values()))
    return worst_queries(board.data, score, run, count)


def worst_grid(board: RankingLeaderboard, count: int) -> Grid:
    """The worst queries of the best model, with the gold and what stood above it."""
    metric = next(iter(next(iter(board.comparison.scores.values()))))
    rows = [
        [
            Cell(f"{miss.id}: {_shortened(miss.text)}"),
            Cell("; ".join(f"{_rank(one.rank)} {one.title}" for one in miss.gold)),
            Cell("; ".join(f"{one.rank}. {one.title}" for one in miss.above) or "–"),
            Cell(f"{miss.value:.4f}"),
        ]
        for miss in misses(board, count)
    ]
    headings = ["query", "gold, where it landed", "ranked above it", metric]
    title = "The worst query" if len(rows) == 1 else f"The {len(rows)} worst queries"
    return Grid(headings, rows, f"{title} of {board.best.model}", text_columns=3)


def _rank(rank: int | None) -> str:
    return "not ranked:" if rank is None else f"{rank}."


def _shortened(text: str, length: int = 80) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def _show_measurement(board: MeasurementLeaderboard, worst: int, look: str) -> str:
    """Render models by values, with superscripts for the models whose headline each significantly beats."""
    marks = dict(zip((one.model for one in board.outcomes), formatting.letters(len(board.outcomes)), strict=True))
    # What is over a part of the data would make the table too wide; `runs show` has it. Some models lack a coverage.
    everything = dict.fromkeys(name for scores in board.scores.values() for name in scores)
    names = [name for name in everything if ":" not in name]
    rows = []
    for outcome in board.outcomes:
        beaten = "".join(sorted(marks[worse] for worse in board.beaten_by(outcome.model)))
        values = outcome.stored.measured
        cells = [
            Cell(f"{values[name]['value']:.4f}", results.value_bounds(values[name]), superscript)
            if name in values
            else Cell("–")
            for name, superscript in zip(
                names, [beaten.translate(formatting.SUPERSCRIPTS)] + [""] * len(names), strict=False
            )
        ]
        rows.append([Cell(f"{marks[outcome.model]} {outcome.model}"), *cells, Cell(outcome.stored.key)])
    headline, first = next(iter(board.scores[board.best.model].items()))
    note = f"Superscripts: {headline} significantly better than that model's (paired, after Holm, "
    notes = [note + f"α = {board.alpha:g})."] if len(rows) > 1 else []
    notes.append(f"Over {first.count} of {len(board.data)} in the data; intervals by {first.method}.")
    known = list(board.data.remarks)
    notes += [f"Data: {remark}." for remark in known]
    notes += [f"{one.model}: {remark}." for one in board.outcomes for remark in one.remarks if remark not in known]
    notes += [f"Not stored, and not measured: {', '.join(board.missing)}."] if board.missing else []
    title = f"{board.task.name}: {board.task.summary}" if board.task.summary else board.task.name
    return render([Grid(["model", *names, "stored as"], rows, title, notes)], look)


def _measurement_json(board: MeasurementLeaderboard, worst: int) -> dict[str, Any]:
    return {
        "task": board.task.name,
        "version": board.task.version,
        "data": board.data.checksum,
        "remarks": list(board.data.remarks),
        "keys": {one.model: one.stored.key for one in board.outcomes},
        "fresh": [one.model for one in board.outcomes if one.fresh],
        "missing": board.missing,
        "measured": {one.model: dict(one.stored.measured) for one in board.outcomes},
        "p_adjusted": [{"better": a, "worse": b, "p": results.number(p)} for (a, b), p in board.p_values.items()],
    }


def _ranking_json(board: RankingLeaderboard, worst: int) -> dict[str, Any]:
    compared = comparison.as_json(board.comparison)
    content: dict[str, Any] = {
        "warnings": [*(warning.to_dict() for warning in board.warnings), *compared.pop("warnings", ())],
        "task": board.task.name,
        "version": board.task.version,
        "items": len(board.data.item_ids),
        "data": board.data.collection.checksum,
        "remarks": board.data.collection.remarks,
        "keys": {outcome.model: outcome.stored.key for outcome in board.outcomes},
        "fresh": [outcome.model for outcome in board.outcomes if outcome.fresh],
        "missing": board.missing,
        **compared,
    }
    if board.task.kind == "evalrank":
        content["positives_filtered"] = board.with_positives_filtered()
    if worst:
        content["worst"] = [
            {
                "query": miss.id,
                "text": miss.text,
                "value": miss.value,
                "gold": [vars(one) for one in miss.gold],
                "above": [vars(one) for one in miss.above],
            }
            for miss in misses(board, worst)
        ]
    return content


def _csv(boards: list[Leaderboard]) -> str:
    headings = ["task", "key", "model", "metric", "value", "low", "high", "queries", "profile", "conventions"]
    rows = [row for board in boards for row in _VIEWS[board.task.result_kind].csv_rows(board)]
    return results.to_csv([headings, *rows])


def _measurement_rows(board: MeasurementLeaderboard) -> list[list[Any]]:
    keys = {outcome.model: outcome.stored.key for outcome in board.outcomes}
    return [
        [board.task.name, keys[model], model, name, results.number(score.value), score.low, score.high, score.count,
         "", score.method]
        for model, scores in board.scores.items()
        for name, score in scores.items()
    ]  # fmt: skip


def _ranking_rows(board: RankingLeaderboard) -> list[list[Any]]:
    keys = {outcome.model: outcome.stored.key for outcome in board.outcomes}
    rows = []
    for model, scores in board.comparison.scores.items():
        for name, score in scores.items():
            bounds = score.interval
            ends = [None, None] if bounds is None else [bounds.low, bounds.high]
            rows.append(
                [board.task.name, keys[model], model, name, results.number(score.value), *ends, scores.counts.queries,
                 scores.profile.name, results.conventions_line(scores)]
            )  # fmt: skip
    return rows


@dataclass(frozen=True)
class _View:
    """How the leaderboards of one kind of task are written."""

    show: Callable[[Any, int, str], str]
    to_json: Callable[[Any, int], dict[str, Any]]
    csv_rows: Callable[[Any], list[list[Any]]]


_VIEWS: dict[ResultKind, _View] = {
    "ranked": _View(_show_ranking, _ranking_json, _ranking_rows),
    "measured": _View(_show_measurement, _measurement_json, _measurement_rows),
}


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
