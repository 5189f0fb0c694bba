"""An audit of approximate indexes as tables and as data."""

from __future__ import annotations

from typing import Any

from goldrank.analysis.audit import Audit, Audited, Cost
from goldrank.reporting.text import formatting, results
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.views import View
from goldrank.units import format_bytes


def view(result: Audit) -> View:
    """Return the audit in all its forms; for people the verdict comes first."""
    return View(
        lambda: _content(result),
        lambda: _rows(result),
        lambda: [_grid(result)],
        lambda: ["\n".join(result.verdicts())],
        schema="audit",
    )


def _content(result: Audit) -> dict[str, Any]:
    return {
        "verdicts": result.verdicts(),
        "items": result.items,
        "queries": result.queries,
        "k": result.k,
        "depth": result.depth,
        "similarity": result.similarity,
        "alpha": result.alpha,
        "profile": result.exact.profile.name,
        "conventions": result.exact.conventions.as_dict(),
        "indexes": _entries(result),
    }


def _entries(result: Audit) -> list[dict[str, Any]]:
    return [_exact_row(result), *(_index_row(result, audited) for audited in result.indexes)]


def _exact_row(result: Audit) -> dict[str, Any]:
    return {
        "index": "exact",
        "metrics": {name: {"value": score.value} for name, score in result.exact.items()},
        "recall": {"mean": 1.0, "low": None, "high": None},
        **_cost(result.cost, 1.0),
    }


def _index_row(result: Audit, audited: Audited) -> dict[str, Any]:
    harmed = {pair.metric for pair in result.harm(audited)}
    return {
        "index": audited.factory,
        "metrics": {
            pair.metric: {
                "value": audited.scores[pair.metric].value,
                "difference": pair.difference,
                **results.limits(pair.interval),
                "p": pair.p,
                "p_adjusted": pair.adjusted,
                "hurts": pair.metric in harmed,
                "cannot_tell": pair.outcome(result.alpha, _direction(result, pair.metric)) == "cannot_tell",
            }
            for pair in audited.pairs
        },
        "recall": {"mean": audited.recall, **results.limits(audited.recall_interval)},
        **_cost(audited.cost, audited.speed),
    }


def _direction(result: Audit, metric: str) -> str:
    return result.exact[metric].metric.definition.direction


def _cost(cost: Cost, speed: float) -> dict[str, Any]:
    return {
        "speed": speed,
        "queries_per_second": cost.queries_per_second,
        "build_seconds": cost.build_seconds,
        "bytes": cost.bytes,
    }


def _rows(result: Audit) -> list[list[Any]]:
    fields = ["value", "difference", "low", "high", "p", "p_adjusted", "hurts"]
    costs = ["speed", "queries_per_second", "build_seconds", "bytes"]
    recall = [f"recall@{result.k}", "recall_low", "recall_high"]
    lines: list[list[Any]] = [["index", "metric", *fields, *recall, *costs, "queries", "items", "conventions"]]
    lines += [
        [
            row["index"], name, *(entry.get(field) for field in fields), *row["recall"].values(),
            *(row[cost] for cost in costs), result.queries, result.items, results.conventions_line(result.exact),
        ]
        for row in _entries(result)
        for name, entry in row["metrics"].items()
    ]  # fmt: skip
    return lines


def _grid(result: Audit) -> Grid:
    headings = ["index"]
    for metric in result.metrics:
        headings += [formatting.heading(metric), "index − exact", "p after Holm"]
    headings += [f"recall@{result.k}", "speed", "queries/s", "build", "size"]
    exact = [Cell("exact")]
    for score in result.exact.values():
        exact += [results.score_cell(score), Cell("–"), Cell("–")]
    rows = [[*exact, Cell("1.0000"), *_cost_cells(result.cost, 1.0)]]
    for audited in result.indexes:
        row = [Cell(audited.factory, name=audited.factory)]
        for pair in audited.pairs:
            score = audited.scores[pair.metric]
            difference = formatting.signed(score.metric, pair.difference)
            row += [
                results.score_cell(score),
                Cell(difference, formatting.signed_interval(score.metric, pair.interval)),
                Cell(formatting.p_value(pair.adjusted), best=pair in result.harm(audited)),
            ]
        recall = Cell(formatting.number(audited.recall), formatting.bounds(audited.recall_interval))
        rows.append([*row, recall, *_cost_cells(audited.cost, audited.speed)])
    notes = [
        f"{result.items} items, {result.similarity}; rankings of {result.depth} results. recall@{result.k}: the share "
        f"of the exact top {result.k} that the index finds. Speed: a multiple of exact search (faiss Flat). "
        "Size: of the file, or in the database.",
        results.basis_line(result.exact, intervals=True),
        results.conventions_note(result.exact),
        *results.counts_lines([result.exact]),
    ]
    return Grid(headings, rows, notes=notes)


def _cost_cells(cost: Cost, speed: float) -> list[Cell]:
    return [
        Cell(f"{speed:.2f}×"),
        Cell(f"{cost.queries_per_second:,.0f}"),
        Cell(f"{cost.build_seconds:.2f} s"),
        Cell("–" if cost.bytes is None else format_bytes(cost.bytes)),
    ]
