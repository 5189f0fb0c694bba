"""Render scores of masked predictions as tables, JSON and CSV: levels, groups, strata, and comparisons of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from goldrank import stats
from goldrank.comparing import Comparison
from goldrank.errors import counts
from goldrank.masked.scoring.groups import GroupTable, SummedGroup
from goldrank.masked.scoring.level_scores import (
    CONVENTIONS,
    MACRO,
    METRICS,
    score_level,
    score_levels,
)
from goldrank.masked.scoring.levels import LEVELS, MaskedScores, Rules
from goldrank.masked.scoring.strata import split_by
from goldrank.reporting.render.themes import short_name
from goldrank.reporting.text import comparison, formatting, results
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.verdicts import statements
from goldrank.reporting.text.views import View
from goldrank.runs.masked_results import MaskedPredictions, MaskedResult
from goldrank.scoring import Bootstrap, Score

_LABELS = {"hits@1": "accuracy", MACRO: "macro accuracy", "mrr(of=all)": "MRR"}
_LONGEST_NAME = 60
"""Maximum number of characters shown of a name; files of predictions may have whole texts in its place."""
_ORIGINAL = {"pnms": "PNMS", "lnms": "LNMS", "w-pnms": "W-PNMS", "nld": "NLD"}


Groups = Mapping[str, Sequence[GroupTable]]
"""The tables of groups to show, by the name of the run."""


def view(result: MaskedResult | MaskedPredictions) -> View:
    """Return the scores or the stored predictions in all their forms."""
    return result_view(result) if isinstance(result, MaskedResult) else _predictions_view(result)


def result_view(result: MaskedResult, *, group_rows: bool = False) -> View:
    """Return the levels of one run, or a comparison of several runs, in all their forms.

    Args:
        result: The scores.
        group_rows: Whether the rows of a table are the guesses of the groups instead of the scores.
    """
    return View(
        lambda: as_json(result),
        lambda: _group_rows(result.groups) if group_rows else _rows(result.runs, result.bootstrap),
        lambda: _grids(result),
        lambda: ["\n".join(verdicts(result.comparisons))],
        schema="masked-score",
    )


def _predictions_view(predictions: MaskedPredictions) -> View:
    rows = [
        [outcome.model, outcome.stored.key, metric, entry["value"], entry.get("low"), entry.get("high")]
        for outcome in predictions
        for metric, entry in outcome.stored.summary.items()
    ]
    grid_rows = []
    for outcome in predictions:
        cells = [_summary_cell(entry) for entry in outcome.stored.summary.values()]
        grid_rows.append([Cell(outcome.model, name=outcome.model), *cells])
    notes = [f"{outcome.model}: {remark}." for outcome in predictions for remark in outcome.remarks]
    notes += [f"Stored as: {', '.join(f'{outcome.model} = {outcome.stored.key}' for outcome in predictions)}."]
    headings = [f"{label(metric)}↑" for metric in predictions[0].stored.summary]
    return View(
        lambda: {
            "store": predictions.store.where,
            "runs": [
                {
                    "model": outcome.model,
                    "key": outcome.stored.key,
                    "fresh": outcome.fresh,
                    "remarks": outcome.remarks,
                    "scores": dict(outcome.stored.summary),
                }
                for outcome in predictions
            ],
        },
        lambda: [["model", "key", "metric", "value", "low", "high"], *rows],
        lambda: [Grid(["model", *headings], grid_rows, notes=notes)],
    )


def _summary_cell(entry: Mapping[str, Any]) -> Cell:
    interval = f"[{entry['low']:.4f}, {entry['high']:.4f}]" if "low" in entry else ""
    return Cell(formatting.number(entry["value"]), interval)


def _grids(result: MaskedResult) -> list[Grid]:
    """Return all scores as tables."""
    runs, how = result.runs, result.bootstrap
    grids = [levels_grid(scores, name, how) for name, scores in runs.items()]
    grids += [grid for name in runs for table in result.groups.get(name, ()) for grid in group_grids(table)]
    grids += [replace(grid, title=f"by {level}") for level, grid in pairs_grids(result.comparisons).items()]
    if result.by is not None:
        grids += [strata_grid(scores, name, result.by, result.bins, how) for name, scores in runs.items()]
    if result.original:
        grids += [original_grid(scores, name, how) for name, scores in runs.items()]
    return grids


def pairs_grids(compared: Mapping[str, Mapping[str, Comparison]]) -> dict[str, Grid]:
    """Return a table of all pairs of runs for each level, with the differences and p values of both readings."""
    if not compared:
        return {}
    (first, main), (second, beside) = compared.items()
    grids = {}
    for level, comparisons in main.items():
        grid, other = comparison.pairs_grid(comparisons), comparison.pairs_grid(beside[level])

        def beside_each(ours: list[Any], theirs: list[Any]) -> list[Any]:
            return [*ours[:3], theirs[2], *ours[3:5], theirs[4], *ours[5:]]

        headings = beside_each(grid.headings, [f"{heading}, {second}" for heading in other.headings])
        rows = [beside_each(ours, theirs) for ours, theirs in zip(grid.rows, other.rows, strict=True)]
        notes = [f"Columns without the name of a reading are of the reading {first}.", *grid.notes]
        grids[level] = replace(grid, headings=headings, rows=rows, notes=notes)
    return grids


def levels_grid(scores: MaskedScores, name: str, how: Bootstrap) -> Grid:
    """Return a table with a row for each level and measure, and a column for each reading."""
    readings = {of.rules.profile: score_levels(of, name, how) for of in scores.readings}
    rows = []
    for level in LEVELS:
        of_readings = [levels[level] for levels in readings.values()]
        head = [Cell(level), Cell(str(len(of_readings[0].level.hits.items)))]
        for metric in (*METRICS, MACRO):
            rows.append(
                [*head, Cell(f"{label(metric)}↑"), *(results.score_cell(of.scores[metric]) for of in of_readings)]
            )
            head = [Cell(""), Cell("")]
        signed = formatting.signed_number
        margins = [Cell(signed(of.margin), formatting.bounds(of.margin_interval, signed)) for of in of_readings]
        errors = [Cell(formatting.number(of.ece), formatting.bounds(of.ece_interval)) for of in of_readings]
        rows += [[*head, Cell("margin↑"), *margins], [*head, Cell("ECE↓"), *errors]]
    # Details on the line of their value keep many rows readable.
    rows = [[replace(cell, text=f"{cell.text} {cell.detail}".rstrip(), detail="") for cell in row] for row in rows]
    return Grid(
        ["level", "n", "measure", *readings], rows, title=name, notes=_notes(scores, how), text_columns=3, key_columns=3
    )


def group_grids(table: GroupTable) -> list[Grid]:
    """Return the groups of an example or a page: a table for each reading, with the verdict of the other."""
    of_page = table.sequence is None
    page = short_name(table.page, _LONGEST_NAME)
    place = f"page {page}" if of_page else f"page {page}, example {table.sequence}"
    grids = []
    for profile, groups in table.readings.items():
        others = [other for other in table.readings if other != profile]
        rows = []
        for group in groups:
            verdict = "right" if group.right else "wrong" if group.named else "no name"
            cells = [
                f"{group.total:.4f}",
                f"{group.share:.1%}",
                verdict,
                *(_agreement(group, other) for other in others),
            ]
            name = short_name(group.name, _LONGEST_NAME)
            for line in _guesses_by_mask(group, of_page):
                rows.append([Cell(name, best=group.right), Cell(line), *map(Cell, cells)])
                name, cells = "", [""] * len(cells)
        title = f"{short_name(table.title, _LONGEST_NAME)} ({place}): groups of the reading {profile}"
        headings = ["group", "guesses by mask", "sum", "share", profile, *others]
        grids.append(Grid(headings, rows, title=title, text_columns=2, key_columns=2))
    return grids


def _guesses_by_mask(group: SummedGroup, of_page: bool) -> list[str]:
    """Return the guesses of a group, one line per mask."""
    masks: dict[str, list[str]] = {}
    for guess in group.guesses:
        mask = f"{guess.sequence}:{guess.mask}" if of_page else str(guess.mask)
        masks.setdefault(mask, []).append(f"{short_name(guess.name, _LONGEST_NAME)} {guess.score:.4g}")
    return [f"{mask}: {', '.join(guesses)}" for mask, guesses in masks.items()]


def _agreement(group: SummedGroup, reading: str) -> str:
    """Return the verdict of another reading on the guesses of a group."""
    right, of = group.agreement(reading)
    return "right" if right == of else "wrong" if not right else f"{right} of {of} right"


def _group_rows(groups: Groups) -> list[Sequence[Any]]:
    """Return a table with a row for each guess of each group."""
    first = next(iter(groups.values()), ())
    profiles = [profile for table in first[:1] for profile in table.readings]
    lines: list[Sequence[Any]] = [
        ["run", "page", "example", "title", "reading", "rank", "group", "sum", "share", "right", "sequence", "mask",
         "guess", "score", *(f"right_{profile}" for profile in profiles)]
    ]  # fmt: skip
    for name, tables in groups.items():
        for table in tables:
            for reading, of_reading in table.readings.items():
                for rank, group in enumerate(of_reading, start=1):
                    for guess in group.guesses:
                        lines.append(
                            [name, table.page, table.sequence, table.title, reading, rank, group.name,
                             group.total, group.share, group.right, guess.sequence,
                             guess.mask, guess.name, guess.score, *(guess.right[profile] for profile in profiles)]
                        )  # fmt: skip
    return lines


def groups_json(table: GroupTable) -> dict[str, Any]:
    """Return the groups of an example or a page as JSON data."""
    return {
        "page": table.page,
        "title": table.title,
        "example": table.sequence,
        "readings": {
            profile: [
                {
                    "group": group.name,
                    "sum": group.total,
                    "share": group.share,
                    "right": group.right,
                    "named": group.named,
                    "guesses": [
                        {
                            "guess": guess.name,
                            "sequence": guess.sequence,
                            "mask": guess.mask,
                            "score": guess.score,
                            "right": dict(guess.right),
                        }
                        for guess in group.guesses
                    ],
                }
                for group in groups
            ]
            for profile, groups in table.readings.items()
        },
    }


def label(metric: str) -> str:
    """Return the name of a metric in masked evaluation.

    >>> label("hits@1"), label("hits@5")
    ('accuracy', 'in top 5')
    """
    if metric in _LABELS:
        return _LABELS[metric]
    return f"in top {metric.rpartition('@')[2]}" if metric.startswith("hits@") else metric


def _notes(scores: MaskedScores, how: Bootstrap) -> list[str]:
    of = scores.counts
    notes = [
        f"{counts(of.masks, 'mask')} in {counts(of.examples, 'example')} of {counts(of.pages, 'page')}; "
        f"{how.level:.0%} intervals, bootstrap over pages of {how.resamples} resamples (seed {how.seed}).",
        *rules_lines(scores),
        "Accuracy is over all rows of a level (micro); macro accuracy is the mean over pages. Margin: share of the "
        "best right answer in all scores minus that of the best wrong one. ECE: expected calibration error, ten bins.",
    ]
    if of.unanswered:
        notes.append(f"{counts(of.unanswered, 'mask')} without a guess, counted as wrong.")
    if of.led_by_no_name:
        notes.append(
            f"Pooled by alias, a word that names nobody (he, the, president) has the largest sum in "
            f"{counts(of.led_by_no_name, 'example')}; there the largest sum of a name is the answer."
        )
    if of.absent:
        notes.append(f"{counts(of.absent, 'mask')} of the examples missing from the predictions, not counted.")
    return notes


def rules_lines(scores: MaskedScores) -> list[str]:
    """Return the rules of each reading, one line each."""
    return [_rules_line(of.rules) for of in scores.readings]


def _rules_line(rules: Rules) -> str:
    counted = "all guesses" if rules.k is None else f"the first {rules.k} guesses"
    ties = ", ".join(f"{name}={value}" for name, value in CONVENTIONS.items())
    return (
        f"Reading {rules.profile}: matcher={rules.matcher}, tier={rules.tier.name.lower()}, pool={rules.pool}, "
        f"{counted}, {ties}."
    )


def original_grid(scores: MaskedScores, name: str, how: Bootstrap) -> Grid:
    """Return a table of PNMS and the other scores of the original project, as coded and corrected."""
    kinds = {"as coded": scores.legacy.coded, "corrected": scores.legacy.right}
    rows = []
    for kind, samples in kinds.items():
        intervals = how.intervals([samples[score] for score in _ORIGINAL])
        means = [stats.aggregate(samples[score].values, samples[score].weights) for score in _ORIGINAL]
        texts = zip(map(formatting.number, means), map(formatting.bounds, intervals), strict=True)
        rows.append([Cell(kind), *(Cell(mean, interval) for mean, interval in texts)])
    notes = [
        "As coded: parts of the title in a guess, case-sensitive and inside words; LNMS: its last word; W-PNMS = "
        ".35 PNMS + .65 LNMS; NLD: edits over the title's length, of right guesses only. Corrected: whole names, the "
        "real surname, NLD of the first answer of every mask over the longer length."
    ]
    headings = ["scores of the original", *(f"{score}{'↓' if score == 'NLD' else '↑'}" for score in _ORIGINAL.values())]
    return Grid(headings, rows, title=name, notes=notes)


def strata_grid(scores: MaskedScores, name: str, by: str, bins: int, how: Bootstrap) -> Grid:
    """Return a table of the accuracy at each level and in each reading for each class of a column."""
    rows = []
    readings = [split_by(of, by, bins) for of in scores.readings]
    for of in zip(*readings, strict=True):
        cells = [
            results.score_cell(score_level(stratum.hits[level], ["hits@1"], name, how)["hits@1"])
            if level in stratum.hits and len(stratum.hits[level].items)
            else Cell("–")
            for level in LEVELS
            for stratum in of
        ]
        rows.append([Cell(of[0].label), Cell(str(int(of[0].examples.sum()))), *cells])
    notes = ["Accuracy. Pages are left out if a page has examples in several classes."]
    return Grid([by, "examples", *level_headings(scores)], rows, title=name, notes=notes)


def level_headings(scores: MaskedScores) -> list[str]:
    """Return a heading for each level in each reading."""
    return [f"{level}, {of.rules.profile}↑" for level in LEVELS for of in scores.readings]


def verdicts(compared: Mapping[str, Mapping[str, Comparison]]) -> list[str]:
    """Return the verdicts on accuracy at each level, in each reading."""
    return [
        f"By {level}, {profile}: {statements(levels[level])['hits@1']}".replace("hits@1", label("hits@1"))
        for level in LEVELS
        for profile, levels in compared.items()
    ]


def as_json(result: MaskedResult) -> dict[str, Any]:
    """Return all results as JSON data in the shape of `goldrank score`; the other reading is under ``beside``."""
    first = next(iter(result.runs.values()))
    content: dict[str, Any] = {**_rules_json(first.rules), "conventions": dict(CONVENTIONS)}
    if first.beside is not None:
        content["beside"] = _rules_json(first.beside.rules)
    content["runs"] = [_run_json(scores, name, result) for name, scores in result.runs.items()]
    if result.comparisons:
        main, *others = (
            {level: comparison.as_json(of_level)["comparison"] for level, of_level in levels.items()}
            for levels in result.comparisons.values()
        )
        content["comparisons"] = main
        for other in others:
            content["beside"]["comparisons"] = other
    return content


def _rules_json(rules: Rules) -> dict[str, Any]:
    return {"profile": rules.profile, "rules": {**asdict(rules), "tier": rules.tier.name.lower()}}


def _run_json(scores: MaskedScores, name: str, result: MaskedResult) -> dict[str, Any]:
    how, by, bins = result.bootstrap, result.by, result.bins
    entry: dict[str, Any] = {
        "name": name,
        "counts": asdict(scores.counts),
        **_reading_json(scores, name, how, by, bins),
    }
    if scores.beside is not None:
        entry["beside"] = _reading_json(scores.beside, name, how, by, bins)
    if result.original:
        entry["original"] = {
            kind: {score: stats.aggregate(sample.values, sample.weights) for score, sample in samples.items()}
            for kind, samples in (("as_coded", scores.legacy.coded), ("corrected", scores.legacy.right))
        }
    if tables := result.groups.get(name):
        entry["groups"] = [groups_json(table) for table in tables]
    return entry


def _reading_json(scores: MaskedScores, name: str, how: Bootstrap, by: str | None, bins: int) -> dict[str, Any]:
    entry: dict[str, Any] = {"profile": scores.rules.profile, "levels": {}}
    for level, of_level in score_levels(scores, name, how).items():
        entry["levels"][level] = {
            "rows": len(of_level.level.hits.items),
            "scores": {metric: _score_json(score) for metric, score in of_level.scores.items()},
            "margin": _number_json(of_level.margin, of_level.margin_interval),
            "ece": _number_json(of_level.ece, of_level.ece_interval),
        }
    if by is not None:
        entry["strata"] = [
            {
                "by": by,
                "label": stratum.label,
                "examples": int(stratum.examples.sum()),
                "accuracy": {
                    level: _score_json(score_level(hits, ["hits@1"], name, how)["hits@1"])
                    for level, hits in stratum.hits.items()
                    if len(hits.items)
                },
            }
            for stratum in split_by(scores, by, bins)
        ]
    return entry


def _rows(runs: Mapping[str, MaskedScores], how: Bootstrap) -> list[Sequence[Any]]:
    lines: list[Sequence[Any]] = [
        ["run", "level", "metric", "profile", "mean", "low", "high", "beside", "beside_mean", "beside_low",
         "beside_high", "rows", "pages", "rules", "beside_rules"]
    ]  # fmt: skip
    for name, scores in runs.items():
        readings = {of.rules.profile: score_levels(of, name, how) for of in scores.readings}
        for level in LEVELS:
            rows = len(scores.levels[level].hits.items)
            for metric in (*METRICS, MACRO):
                cells: list[Any] = []
                for profile, levels in readings.items():
                    score = _score_json(levels[level].scores[metric])
                    cells += [profile, score["mean"], score.get("low"), score.get("high")]
                lines.append([name, level, metric, *cells, rows, scores.counts.pages, *rules_lines(scores)])
    return lines


def _score_json(score: Score) -> dict[str, Any]:
    return _number_json(score.value, score.interval)


def _number_json(value: float, interval: stats.Interval | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"mean": value}
    return (
        entry if interval is None else entry | {"low": interval.low, "high": interval.high, "method": interval.method}
    )
