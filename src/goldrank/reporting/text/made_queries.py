"""Queries made from documents, and how much they favour systems that match words, as tables and as data."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

from goldrank.errors import counts
from goldrank.judging.making_queries import MadeQueries
from goldrank.judging.query_kinds import METRIC, KindDifference, Mean
from goldrank.reporting.text import formatting
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.results import limits, warning_lines
from goldrank.reporting.text.views import View


def view(result: MadeQueries) -> View:
    """Return the queries and their measures in all forms."""
    return View(
        lambda: _content(result),
        lambda: [["id", "query", "kind", "document"], *([q.id, q.text, q.kind, q.document] for q in result.queries)],
        lambda: [_kinds(result), *([_differences(result)] if result.differences else [])],
        lead=lambda: [warning_lines(result.warnings), *_lead(result)],
        schema="judge-queries",
    )


def _lead(result: MadeQueries) -> list[str]:
    files = result.files
    written = (
        f"{counts(len(result.queries), 'query', 'queries')} in {files['queries']}, known-item gold in {files['gold']}, "
        f"documents to search in {files['documents']}."
    )
    expense = result.expense
    cost = "" if expense.cost is None else f", cost {expense.cost:.4g}"
    asked = f"{counts(expense.requests, 'request')}: {expense.prompt_tokens} tokens of prompts, "
    asked += f"{expense.completion_tokens} of answers{cost}."
    return [written, *([asked] if expense.requests else []), *result.remarks]


def _content(result: MadeQueries) -> dict[str, Any]:
    return {
        "files": result.files,
        "queries": [asdict(query) for query in result.queries],
        "metric": METRIC,
        "kinds": [
            {
                "kind": kind.kind,
                "queries": kind.queries,
                "overlap": _mean(kind.overlap),
                "scores": {name: _mean(mean) for name, mean in kind.scores.items()},
            }
            for kind in result.kinds
        ],
        "differences": [
            {
                "first": difference.first,
                "second": difference.second,
                "overlap": _mean(difference.overlap),
                "advantages": [
                    {"systems": pair, **_mean(mean), "reversed": pair in difference.reversed}
                    for pair, mean in difference.advantages.items()
                ],
            }
            for difference in result.differences
        ],
        "expense": asdict(result.expense),
        "remarks": list(result.remarks),
        "warnings": [warning.to_dict() for warning in result.warnings],
    }


def _mean(mean: Mean) -> dict[str, Any]:
    return {"value": mean.value, **limits(mean.interval)}


def _cell(mean: Mean, *, signed: bool = False) -> Cell:
    text = partial(formatting.signed_number if signed else formatting.number, digits=3)
    return Cell(text(mean.value), formatting.bounds(mean.interval, text))


def _kinds(result: MadeQueries) -> Grid:
    systems = list(result.kinds[0].scores)
    rows = [
        [Cell(kind.kind), Cell(str(kind.queries)), _cell(kind.overlap), *map(_cell, kind.scores.values())]
        for kind in result.kinds
    ]
    notes = ["Overlap: the share of the words of a query that its document has."]
    if systems:
        notes.append(f"{METRIC}: mean reciprocal rank of the document that the query was made from.")
    return Grid(["kind", "queries", "overlap", *(f"{METRIC} {name}" for name in systems)], rows, notes=notes)


def _differences(result: MadeQueries) -> Grid:
    pairs = list(result.differences[0].advantages)
    rows = [
        [
            Cell(f"{difference.first} − {difference.second}"),
            _cell(difference.overlap, signed=True),
            *(_cell(mean, signed=True) for mean in difference.advantages.values()),
            *([Cell(_reversed(difference))] if pairs else []),
        ]
        for difference in result.differences
    ]
    headings = ["kinds", "overlap", *(f"{METRIC} {pair}" for pair in pairs), *(["reversed order"] if pairs else [])]
    notes = ["What is greater on the first kind than on the second, with 95% intervals (Welch)."]
    return Grid(headings, rows, notes=notes)


def _reversed(difference: KindDifference) -> str:
    return f"{len(difference.reversed)} of {len(difference.advantages)}"
