"""Leaderboards of models on tasks as tables and as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from goldrank.analysis.across import compare_tasks, leaderboard_tasks
from goldrank.analysis.worst_queries import Miss, worst_queries
from goldrank.reporting.text import across, comparison, formatting, results
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.verdicts import measured_statement, verdicts
from goldrank.reporting.text.views import View
from goldrank.runs.run import Leaderboard, Leaderboards, MeasurementLeaderboard, Measures, RankingLeaderboard
from goldrank.scoring import Bootstrap
from goldrank.store import ResultKind

_HEADINGS = ["task", "key", "model", "metric", "value", "low", "high", "queries", "profile", "conventions"]


def view(result: Leaderboard | Leaderboards) -> View:
    """Return one leaderboard or several in all their forms."""
    return leaderboards_view(result) if isinstance(result, Leaderboards) else leaderboard_view(result)


def leaderboard_view(board: Leaderboard, worst: int = 0) -> View:
    """Return a leaderboard in all its forms, with the keys that results are stored under.

    Args:
        board: The leaderboard.
        worst: How many of the worst queries of the best model are shown.
    """
    form = _FORMS[board.task.result_kind]
    return View(
        lambda: form.to_json(board, worst),
        lambda: [_HEADINGS, *form.rows(board)],
        lambda: form.grids(board, worst),
        lambda: [results.warning_lines(board.warnings)],
        tail=lambda: [board_verdict(board)],
    )


def board_verdict(board: Leaderboard) -> str:
    """Return the verdict on the models of a task by its first metric, a broken one first."""
    if isinstance(board, RankingLeaderboard):
        compared = board.comparison
        return verdicts(compared)[next(iter(compared.scores[board.best.model]))]
    assert isinstance(board, MeasurementLeaderboard)
    metric = next(iter(board.scores[board.best.model]))
    values = {model: values[metric] for model, values in board.scores.items() if metric in values}
    return measured_statement(values, board.p_values, board.alpha, metric)


def leaderboards_view(boards: Leaderboards, worst: int = 0) -> View:
    """Return the leaderboards of a run in all their forms."""
    views = [leaderboard_view(board, worst) for board in boards]
    summary = across_view(boards)
    of_all = [] if summary is None else [summary]
    return View(
        lambda: {
            "store": boards.store.where,
            "tasks": [view.content() for view in views],
            "across": None if summary is None else summary.to_dict(),
        },
        lambda: [_HEADINGS, *(row for view in views for row in view.rows()[1:])],
        lambda: [grid for view in [*views, *of_all] for grid in view.grids()],
        lambda: [text for view in views for text in view.lead()],
        schema="run",
        tail=lambda: [text for view in [*views, *of_all] for text in (view.tail() or view.lead())],
    )


def across_view(boards: Leaderboards) -> View | None:
    """Return the models across tasks in all forms; None if there are not two models on two tasks."""
    if len(boards) < 2 or max(len(board.outcomes) for board in boards) < 2:
        return None
    scored = [board.comparison for board in boards if isinstance(board, RankingLeaderboard)]
    alpha = scored[0].alpha if scored else Measures().alpha
    how = next(iter(scored[0].scores.values())).bootstrap if scored else Bootstrap()
    result = compare_tasks(leaderboard_tasks(boards, Measures(bootstrap=how)), alpha=alpha, bootstrap=how)
    return across.view(result)


def _ranking_grids(board: RankingLeaderboard, worst: int) -> list[Grid]:
    grid = comparison.scores_grid(board.comparison) if len(board.outcomes) > 1 else _single_grid(board)
    notes = [*grid.notes, *_notes(board), _keys_line(board, list(board.comparison.scores))]
    return [replace(grid, title=_title(board), notes=notes), *([_worst_grid(board, worst)] if worst else [])]


def _title(board: Leaderboard) -> str:
    return f"{board.task.name}: {board.task.summary}" if board.task.summary else board.task.name


def _keys_line(board: Leaderboard, models: list[str]) -> str:
    """Return the keys of the models, with the letters that stand for models in the table."""
    keys = {outcome.model: outcome.stored.key for outcome in board.outcomes}
    if len(models) == 1:
        return f"Stored as {keys[models[0]]}."
    marked = zip(formatting.letters(len(models)), models, strict=True)
    return f"Stored as: {', '.join(f'{letter} = {keys[model]}' for letter, model in marked)}."


def _single_grid(board: RankingLeaderboard) -> Grid:
    (scores,) = board.comparison.scores.values()
    cells = [results.score_cell(score) for score in scores.values()]
    headings = ["model", *(formatting.heading(score.metric) for score in scores.values())]
    notes = [
        results.basis_line(scores, intervals=True),
        results.conventions_note(scores),
        *results.counts_lines([scores]),
    ]
    return Grid(headings, [[Cell(scores.name, name=scores.name), *cells]], notes=notes)


def _notes(board: RankingLeaderboard) -> list[str]:
    """Return notes on what was left out or repaired, and on what is not stored."""
    collection = board.data.collection
    texts = f"{len(board.data.item_ids)} items; text of an item: {board.data.text_rule}."
    if not collection.has_corpus:
        texts = f"Gold alone, from {collection.source}: the corpus is not known."
    elif not collection.has_texts:
        texts = f"{len(board.data.item_ids)} items without texts."
    notes = [texts]
    if board.data.settings.chunk != "none":
        chunks, chunking = len(board.data.in_chunks), board.data.settings.chunk
        notes.append(f"Items are ranked by their best chunk; {chunking} cuts them into {chunks} chunks.")
    notes += [f"Data: {remark.removesuffix('.')}." for remark in collection.notes]
    messages = {warning.message for outcome in board.outcomes for warning in outcome.warnings}
    messages |= {warning.message for warning in board.quality.warnings}
    notes += [
        f"{outcome.model}: {remark.removesuffix('.')}."
        for outcome in board.outcomes
        for remark in outcome.remarks
        if remark not in messages
    ]
    if board.task.kind == "evalrank":
        first = next(iter(board.comparison.scores[board.best.model]))
        filtered = ", ".join(f"{model} {value:.4f}" for model, value in board.with_positives_filtered().items())
        notes.append(f"{first} with the other positives of a query filtered out of its rivals: {filtered}.")
    empty_items, empty_queries = board.data.empty_texts if collection.has_texts else (0, 0)
    if empty_items or empty_queries:
        notes.append(f"Empty texts: {empty_items} of the items, {empty_queries} of the queries.")
    if board.missing:
        notes.append(f"Not stored, and not evaluated: {', '.join(board.missing)}.")
    return notes


def _misses(board: RankingLeaderboard, count: int) -> list[Miss]:
    """Return the worst queries of the best model by the first metric."""
    best = board.best
    run = best.stored.run()
    if run is None:
        return []
    score = next(iter(board.comparison.scores[best.model].values()))
    return worst_queries(board.data, score, run, count)


def _worst_grid(board: RankingLeaderboard, count: int) -> Grid:
    """Return a table of the worst queries of the best model, with the gold and the items ranked above it."""
    metric = next(iter(next(iter(board.comparison.scores.values()))))
    rows = [
        [
            Cell(f"{miss.id}: {formatting.truncate(miss.text, 80)}" if miss.text else miss.id),
            Cell("; ".join(f"{_rank(item.rank)} {item.label}" for item in miss.gold)),
            Cell("; ".join(f"{item.rank}. {item.label}" for item in miss.above) or "–"),
            Cell(f"{miss.value:.4f}"),
        ]
        for miss in _misses(board, count)
    ]
    headings = ["query", "gold, where it landed", "ranked above it", metric]
    title = "The worst query" if len(rows) == 1 else f"The {len(rows)} worst queries"
    return Grid(headings, rows, f"{title} of {board.best.model}", text_columns=3)


def _rank(rank: int | None) -> str:
    return "not ranked:" if rank is None else f"{rank}."


def _measurement_grids(board: MeasurementLeaderboard, worst: int) -> list[Grid]:
    """Return models by values, with superscripts for the models whose headline each significantly beats."""
    marks = dict(
        zip((outcome.model for outcome in board.outcomes), formatting.letters(len(board.outcomes)), strict=True)
    )
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
        rows.append([Cell(f"{marks[outcome.model]} {outcome.model}", name=outcome.model), *cells])
    headline, first = next(iter(board.scores[board.best.model].items()))
    note = f"Superscripts: {headline} significantly better than that model's (paired, after Holm, "
    notes = [note + f"α = {board.alpha:g})."] if len(rows) > 1 else []
    notes.append(f"Over {first.count} of {len(board.data)} in the data; intervals by {first.method}.")
    known = list(board.data.remarks)
    notes += [f"Data: {remark}." for remark in known]
    notes += [
        f"{outcome.model}: {remark}." for outcome in board.outcomes for remark in outcome.remarks if remark not in known
    ]
    notes += [f"Not stored, and not measured: {', '.join(board.missing)}."] if board.missing else []
    notes.append(_keys_line(board, [outcome.model for outcome in board.outcomes]))
    return [Grid(["model", *names], rows, _title(board), notes)]


def _measurement_json(board: MeasurementLeaderboard, worst: int) -> dict[str, Any]:
    return {
        "task": board.task.name,
        "version": board.task.version,
        "data": board.data.checksum,
        "remarks": list(board.data.remarks),
        "keys": {outcome.model: outcome.stored.key for outcome in board.outcomes},
        "fresh": [outcome.model for outcome in board.outcomes if outcome.fresh],
        "missing": board.missing,
        "verdict": board_verdict(board),
        "measured": {outcome.model: dict(outcome.stored.measured) for outcome in board.outcomes},
        "p_adjusted": [
            {"better": a, "worse": b, "p": p, "cannot_tell": not p <= board.alpha}
            for (a, b), p in board.p_values.items()
        ],
    }


def _ranking_json(board: RankingLeaderboard, worst: int) -> dict[str, Any]:
    compared = comparison.as_json(board.comparison)
    compared.pop("warnings", None)
    content: dict[str, Any] = {
        "warnings": [warning.to_dict() for warning in dict.fromkeys((*board.warnings, *board.comparison.warnings))],
        "task": board.task.name,
        "version": board.task.version,
        "items": len(board.data.item_ids) if board.data.collection.has_corpus else None,
        "data": board.data.collection.checksum,
        "remarks": list(board.data.collection.notes),
        "keys": {outcome.model: outcome.stored.key for outcome in board.outcomes},
        "fresh": [outcome.model for outcome in board.outcomes if outcome.fresh],
        "missing": board.missing,
        "verdict": board_verdict(board),
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
                "gold": [vars(item) for item in miss.gold],
                "above": [vars(item) for item in miss.above],
            }
            for miss in _misses(board, worst)
        ]
    return content


def _measurement_rows(board: MeasurementLeaderboard) -> list[list[Any]]:
    keys = {outcome.model: outcome.stored.key for outcome in board.outcomes}
    return [
        [board.task.name, keys[model], model, name, score.value, score.low, score.high, score.count,
         "", score.method]
        for model, scores in board.scores.items()
        for name, score in scores.items()
    ]  # fmt: skip


def _ranking_rows(board: RankingLeaderboard) -> list[list[Any]]:
    keys = {outcome.model: outcome.stored.key for outcome in board.outcomes}
    rows = []
    for model, scores in board.comparison.scores.items():
        for name, score in scores.items():
            rows.append(
                [board.task.name, keys[model], model, name, score.value, *results.limits(score.interval).values(),
                 scores.counts.queries, scores.profile.name, results.conventions_line(scores)]
            )  # fmt: skip
    return rows


@dataclass(frozen=True)
class _Form:
    """The form of the leaderboards of one kind of task."""

    grids: Callable[[Any, int], list[Grid]]
    to_json: Callable[[Any, int], dict[str, Any]]
    rows: Callable[[Any], list[list[Any]]]


_FORMS: dict[ResultKind, _Form] = {
    "ranked": _Form(_ranking_grids, _ranking_json, _ranking_rows),
    "measured": _Form(_measurement_grids, _measurement_json, _measurement_rows),
}
