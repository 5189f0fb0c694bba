"""Scores and comparisons by slice as people read them, and as JSON and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from goldrank.comparing import Pair
from goldrank.errors import counts
from goldrank.metrics import Metric
from goldrank.reporting.text import comparison as comparisons
from goldrank.reporting.text import formatting, results
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.verdicts import verdict_lines
from goldrank.reporting.text.views import View
from goldrank.scoring import Scores
from goldrank.slices.attributes import SMALLEST, Slice
from goldrank.slices.results import SlicedComparison, SlicedScores
from goldrank.slices.search import SliceSearch

MOST_FOUND = 10
"""The slices of a search that a table shows; files have all."""
MOST_NAMED = 4
"""The pairs of runs, and the slices of each, that a sentence names."""


def view(result: SlicedScores | SlicedComparison) -> View:
    """Return a result by slice in all its forms."""
    return scores_view(result) if isinstance(result, SlicedScores) else comparison_view(result)


def scores_view(sliced: SlicedScores, *, intervals: bool = True) -> View:
    """Return the scores of runs by slice in all their forms."""
    whole, rows = list(sliced.whole), partial(results.scores_rows, intervals=intervals, per_query=False)
    return View(
        lambda: {
            **results.scores_json(whole, intervals=intervals, per_query=False),
            "slices": [
                {**slice_json(part), "runs": [_run_json(scores, intervals and not part.too_small) for scores in parts]}
                for part, parts in zip(sliced.slices, sliced.parts, strict=True)
            ],
        },
        lambda: _rows_by_slice(sliced.slices, rows(whole), map(rows, sliced.parts)),
        lambda: [results.score_grid(whole, intervals=intervals), *score_grids(sliced, intervals=intervals)],
        lambda: [results.warning_lines(sliced.warnings)],
        schema="score",
    )


def slice_json(part: Slice) -> dict[str, Any]:
    """Return what a slice is, as JSON data."""
    return {
        "attribute": part.attribute,
        "value": part.value,
        "queries": len(part),
        "too_small": part.too_small,
    }


def _run_json(scores: Scores, intervals: bool) -> dict[str, Any]:
    return {
        "name": scores.name,
        "queries": scores.counts.queries,
        "missing": scores.counts.missing,
        "scores": {name: results.score_json(score, intervals) for name, score in scores.items()},
    }


def _rows_by_slice(
    slices: Sequence[Slice], whole: list[list[Any]], parts: Iterable[list[list[Any]]]
) -> list[list[Any]]:
    """Return the rows of all queries, without attribute and value, and then those of each slice."""
    headings, *rows = whole
    lines = [["attribute", "slice", *headings], *(["", "", *row] for row in rows)]
    for part, (_, *rows) in zip(slices, parts, strict=True):
        lines += [[part.attribute, part.value, *row] for row in rows]
    return lines


def score_grids(sliced: SlicedScores, *, intervals: bool) -> list[Grid]:
    """Return a table for each attribute: slices and runs by metrics."""
    first = sliced.whole[0]
    several = len(sliced.whole) > 1
    headings = [formatting.heading(first[name].metric) for name in first]
    grids = []
    for attribute in dict.fromkeys(part.attribute for part in sliced.slices):
        rows = [
            [
                Cell(part.value),
                *([Cell(scores.name)] if several else []),
                Cell(str(scores.counts.queries)),
                *(results.score_cell(score, interval=intervals and not part.too_small) for score in scores.values()),
            ]
            for part, parts in zip(sliced.slices, sliced.parts, strict=True)
            if part.attribute == attribute
            for scores in parts
        ]
        names = [attribute, *(["run"] if several else []), "queries", *headings]
        keys = 2 if several else 1
        grids.append(
            Grid(names, rows, title=f"By {attribute}", notes=_small_notes(sliced.slices, attribute),
                 text_columns=keys, key_columns=keys)
        )  # fmt: skip
    return grids


def _small_notes(slices: Sequence[Slice], attribute: str) -> list[str]:
    small = [part.value for part in slices if part.attribute == attribute and part.too_small]
    if not small:
        return []
    return [f"Too few queries for intervals and tests (fewer than {SMALLEST}): {', '.join(small)}."]


def comparison_view(sliced: SlicedComparison, *, all_pairs: bool = False) -> View:
    """Return a comparison of runs by slice in all its forms.

    Args:
        sliced: The comparison.
        all_pairs: Whether tables have every pair, instead of the best run against each other one and neighbours.
    """
    whole = sliced.whole
    return View(
        lambda: as_json(sliced),
        lambda: _rows_by_slice(sliced.slices, comparisons.pair_rows(whole), map(comparisons.pair_rows, sliced.parts)),
        lambda: [
            comparisons.scores_grid(whole),
            comparisons.pairs_grid(whole, comparisons.shown_pairs(whole, all_pairs=all_pairs)),
            *pair_grids(sliced, all_pairs=all_pairs),
            *([search_grid(sliced.search)] if sliced.search is not None else []),
        ],
        lambda: [
            results.warning_lines(sliced.warnings),
            "\n".join([*verdict_lines(whole), *slice_verdicts(sliced)]),
        ],
        schema="compare",
    )


def slice_verdicts(sliced: SlicedComparison) -> list[str]:
    """Return a sentence for each metric on the slices that show a difference, and one on a search."""
    lines = [_slice_verdict(metric, sliced) for metric in next(iter(sliced.whole.scores.values()))]
    if sliced.search is not None:
        lines.append(_search_verdict(sliced.search))
    return lines


def _slice_verdict(metric: str, sliced: SlicedComparison) -> str:
    """Return on which slices a run is better: of three runs or more, in the pairs that tables show."""
    direction = Metric.parse(metric).definition.direction
    tested = [
        (part, compared) for part, compared in zip(sliced.slices, sliced.parts, strict=True) if not part.too_small
    ]
    where: dict[tuple[str, str], list[Slice]] = {}
    for main in sliced.whole.main_pairs(metric):
        for part, compared in tested:
            pair = compared.pair(metric, main.a, main.b)
            if winner := pair.winner(compared.alpha, direction):
                where.setdefault((winner, pair.a if winner == pair.b else pair.b), []).append(part)
    if not where:
        return f"By slice, on {metric} no run is significantly better on any of {len(tested)} slices."
    parts = [
        f"{winner} is significantly better than {loser} on {_slice_names(found, len(tested))}"
        for (winner, loser), found in where.items()
    ]
    more = f"; and {counts(len(parts) - MOST_NAMED, 'further pair')}" * (len(parts) > MOST_NAMED)
    return f"By slice, on {metric} {'; '.join(parts[:MOST_NAMED])}{more}."


def _slice_names(found: Sequence[Slice], tested: int) -> str:
    if len(found) == tested > 1:
        return f"all {tested} slices"
    shown = [*map(str, found[:MOST_NAMED]), *([f"{len(found) - MOST_NAMED} more"] if len(found) > MOST_NAMED else [])]
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _search_verdict(search: SliceSearch) -> str:
    over = f"of {counts(search.candidates, 'slice')} searched"
    if not search.significant:
        first = search.found[0]
        p = formatting.p_clause(first.adjusted)
        return (
            f"The search finds no slice on which {search.b} and {search.a} differ ({over}; the largest difference is "
            f"on {first.slice}, {p} after the correction for the search)."
        )
    first = search.significant[0]
    named = dict.fromkeys(str(entry.slice) for entry in search.significant)
    return (
        f"The search finds {counts(len(named), 'slice')} {over} on which {search.b} and {search.a} differ, first "
        f"{first.slice} on {first.metric} ({formatting.p_clause(first.adjusted)} after the correction for the search)."
    )


def pair_grids(sliced: SlicedComparison, *, all_pairs: bool = False) -> list[Grid]:
    """Return a table for each attribute: slices, metrics and pairs with their scores and tests."""
    whole = sliced.whole
    shown, several = comparisons.shown_pairs(whole, all_pairs=all_pairs), len(whole.scores) > 2
    corrected = comparisons.CORRECTIONS[whole.correction]
    grids = []
    for attribute in dict.fromkeys(part.attribute for part in sliced.slices):
        rows = []
        for part, compared in zip(sliced.slices, sliced.parts, strict=True):
            if part.attribute != attribute:
                continue
            for pair in shown:
                here = compared.pair(pair.metric, pair.a, pair.b)
                rows.append(_pair_row(part, here if here.b == pair.b else here.reverse(), sliced))
        over = "slices and pairs of each metric" if whole.family == "metric" else "slices, pairs and metrics"
        note = f"{comparisons.TESTS[whole.test].capitalize()}, {corrected} over all {over} together."
        title, keys = f"By {attribute}", 3 if several else 2
        title += "" if several else f": {shown[0].b} − {shown[0].a}"
        headings = [attribute, "metric", *(["pair"] if several else [])]
        headings += ["queries", "scores", "difference", "p", f"p {corrected}", "W/T/L"]
        notes = [note, *_small_notes(sliced.slices, attribute)]
        grids.append(Grid(headings, rows, title=title, notes=notes, text_columns=keys, key_columns=keys))
    return grids


def _pair_row(part: Slice, pair: Pair, sliced: SlicedComparison) -> list[Cell]:
    compared = sliced.parts[sliced.slices.index(part)]
    a, b = compared.scores[pair.a][pair.metric], compared.scores[pair.b][pair.metric]
    return [
        Cell(part.value),
        Cell(formatting.heading(a.metric)),
        *([Cell(f"{pair.b} − {pair.a}")] if len(compared.scores) > 2 else []),
        Cell(str(pair.queries)),
        Cell(f"{formatting.value(b.metric, b.value)} − {formatting.value(a.metric, a.value)}"),
        Cell(formatting.signed(a.metric, pair.difference), formatting.signed_interval(a.metric, pair.interval)),
        Cell(formatting.p_value(pair.p)),
        Cell(formatting.p_value(pair.adjusted), best=pair.adjusted <= compared.alpha and not pair.unfit),
        Cell(f"{pair.wins}/{pair.ties}/{pair.losses}"),
    ]


def search_grid(search: SliceSearch) -> Grid:
    """Return a table of the slices with the largest differences."""
    rows = []
    for entry in search.found[:MOST_FOUND]:
        metric = Metric.parse(entry.metric)
        rows.append(
            [
                Cell(str(entry.slice)),
                Cell(entry.metric),
                Cell(str(len(entry.slice))),
                Cell(formatting.signed(metric, entry.difference)),
                Cell(formatting.signed(metric, entry.difference_elsewhere)),
                Cell(formatting.p_value(entry.p)),
                Cell(formatting.p_value(entry.adjusted), best=entry.adjusted <= search.alpha),
            ]
        )
    notes = [
        f"The {len(rows)} largest of {search.candidates} slices and intersections of two. Corrected: {search.resamples}"
        " random exchanges of the two runs, with the largest statistic of all slices and metrics each time; p alone "
        "ignores the search and must not be reported."
    ]
    headings = ["slice", "metric", "queries", "difference", "elsewhere", "p alone", "p corrected"]
    title = f"Slices on which the runs differ most: {search.b} − {search.a}"
    return Grid(headings, rows, title=title, notes=notes, text_columns=2)


def as_json(sliced: SlicedComparison) -> dict[str, Any]:
    """Return the comparison in the shape of `goldrank compare`, with the slices, reversed orders and the search."""
    content = comparisons.as_json(sliced.whole)
    content["warnings"] = [warning.to_dict() for warning in sliced.warnings]
    content["slices"] = [
        {
            **slice_json(part),
            "runs": [_run_json(scores, not part.too_small) for scores in compared.scores.values()],
            "pairs": [comparisons.pair_json(pair, compared) for pair in compared.pairs],
        }
        for part, compared in zip(sliced.slices, sliced.parts, strict=True)
    ]
    content["reversals"] = [{**vars(reversal), "strict": reversal.strict} for reversal in sliced.reversals]
    if (search := sliced.search) is not None:
        content["slice_search"] = {
            "a": search.a,
            "b": search.b,
            "candidates": search.candidates,
            "resamples": search.resamples,
            "found": [
                {
                    **slice_json(entry.slice),
                    "metric": entry.metric,
                    "difference": entry.difference,
                    "difference_elsewhere": entry.difference_elsewhere,
                    "statistic": entry.statistic,
                    "p_alone": entry.p,
                    "p_adjusted": entry.adjusted,
                }
                for entry in search.found
            ],
        }
    return content
