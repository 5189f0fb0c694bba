"""Masked entities as people read them: the three levels, the original scores, strata, and runs against each other."""

from __future__ import annotations

import math
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
    compare_readings,
    score_level,
    score_levels,
)
from goldrank.masked.scoring.levels import LEVELS, MaskedScores, Rules
from goldrank.masked.scoring.strata import split_by
from goldrank.metrics import Metric
from goldrank.report.render.themes import short_name
from goldrank.report.text import comparison, formatting, results
from goldrank.report.text.grids import Cell, Grid, render
from goldrank.scoring import Bootstrap, Score

_LABELS = {"hits@1": "accuracy", MACRO: "macro accuracy", "mrr(of=all)": "MRR"}
_LONGEST_NAME = 60
"""How many characters of a name are shown; files of predictions may hold whole texts in its place."""
_ORIGINAL = {"pnms": "PNMS", "lnms": "LNMS", "w-pnms": "W-PNMS", "nld": "NLD"}


Groups = Mapping[str, Sequence[GroupTable]]
"""The tables of summed groups to show, by the name of the run."""


def show(runs: Mapping[str, MaskedScores], how: Bootstrap, look: str, groups: Groups, **options: Any) -> str:
    """One run by its levels, or several against each other, in the look asked for."""
    if look == "json":
        return results.to_json(as_json(runs, how, groups, **options))
    if look == "csv":
        return _as_csv(runs, how)
    return _as_text(runs, how, look, groups, **options)


def _as_text(
    runs: Mapping[str, MaskedScores],
    how: Bootstrap,
    look: str,
    groups: Groups,
    *,
    by: str | None = None,
    bins: int = 4,
    original: bool = False,
    alpha: float = 0.05,
) -> str:
    """The verdicts, where there are two runs or more, and everything as tables."""
    compared = compare_readings(runs, METRICS, how, alpha) if len(runs) > 1 else {}
    grids = [levels_grid(scores, name, how) for name, scores in runs.items()]
    grids += [grid for name in runs for table in groups.get(name, ()) for grid in group_grids(table)]
    grids += [replace(grid, title=f"by {level}") for level, grid in pairs_grids(compared).items()]
    if by is not None:
        grids += [strata_grid(scores, name, by, bins, how) for name, scores in runs.items()]
    if original:
        grids += [original_grid(scores, name, how) for name, scores in runs.items()]
    return "\n\n".join(filter(None, ["\n".join(verdicts(compared)), render(grids, look)]))


def pairs_grids(compared: Mapping[str, Mapping[str, Comparison]]) -> dict[str, Grid]:
    """Every pair of runs at each level: the differences and p values of the second reading beside the first's."""
    if not compared:
        return {}
    (first, main), (second, beside) = compared.items()
    made = {}
    for level, comparisons in main.items():
        grid, other = comparison.pairs_grid(comparisons), comparison.pairs_grid(beside[level])

        def beside_each(ours: list[Any], theirs: list[Any]) -> list[Any]:
            return [*ours[:3], theirs[2], *ours[3:5], theirs[4], *ours[5:]]

        headings = beside_each(grid.headings, [f"{heading}, {second}" for heading in other.headings])
        rows = [beside_each(ours, theirs) for ours, theirs in zip(grid.rows, other.rows, strict=True)]
        notes = [f"Columns without a name are of the reading {first}.", *grid.notes]
        made[level] = Grid(headings, rows, notes=notes, text_columns=grid.text_columns)
    return made


def levels_grid(scores: MaskedScores, name: str, how: Bootstrap) -> Grid:
    """Every level and measure in a row, the two readings side by side."""
    readings = {of.rules.profile: score_levels(of, name, how) for of in scores.readings}
    rows = []
    for level in LEVELS:
        found = [levels[level] for levels in readings.values()]
        head = [Cell(level), Cell(str(len(found[0].level.hits.items)))]
        for metric in (*METRICS, MACRO):
            rows.append([*head, Cell(f"{label(metric)}↑"), *(_metric_cell(one.scores[metric]) for one in found)])
            head = [Cell(""), Cell("")]
        margins = [Cell(_signed(one.margin), _bounds(one.margin_interval, signed=True)) for one in found]
        errors = [Cell(_plain(one.ece), _bounds(one.ece_interval)) for one in found]
        rows += [[*head, Cell("margin↑"), *margins], [*head, Cell("ECE↓"), *errors]]
    rows = [[level, n, measure, *(_one_line(cell) for cell in cells)] for level, n, measure, *cells in rows]
    return Grid(["level", "n", "measure", *readings], rows, title=name, notes=_notes(scores, how), text_columns=3)


def _one_line(cell: Cell) -> Cell:
    """A cell whose detail stands behind its value, so that many rows stay readable."""
    return replace(cell, text=f"{cell.text} {cell.detail}".rstrip(), detail="")


def group_grids(table: GroupTable) -> list[Grid]:
    """The summed groups of an example or a page: a table for each reading, each with what the other one says."""
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
                _plain(group.total),
                f"{group.share:.1%}",
                verdict,
                *(_agreement(group, other) for other in others),
            ]
            name = short_name(group.name, _LONGEST_NAME)
            for said in _guesses_by_mask(group, of_page):
                rows.append([Cell(name, best=group.right), Cell(said), *map(Cell, cells)])
                name, cells = "", [""] * len(cells)
        title = f"{short_name(table.title, _LONGEST_NAME)} ({place}): groups of the reading {profile}"
        headings = ["group", "guesses by mask", "sum", "share", profile, *others]
        grids.append(Grid(headings, rows, title=title, text_columns=2))
    return grids


def _guesses_by_mask(group: SummedGroup, of_page: bool) -> list[str]:
    """The guesses of a group, those at one mask in a line."""
    masks: dict[str, list[str]] = {}
    for guess in group.guesses:
        mask = f"{guess.sequence}:{guess.mask}" if of_page else str(guess.mask)
        masks.setdefault(mask, []).append(f"{short_name(guess.name, _LONGEST_NAME)} {guess.score:.4g}")
    return [f"{mask}: {', '.join(said)}" for mask, said in masks.items()]


def _agreement(group: SummedGroup, reading: str) -> str:
    """What another reading says of the guesses of a group, which are none of its groups."""
    right, of = group.agreement(reading)
    return "right" if right == of else "wrong" if not right else f"{right} of {of} right"


def groups_csv(groups: Groups) -> str:
    """Every guess of every group in a row, for programs."""
    first = next(iter(groups.values()), ())
    profiles = [profile for table in first[:1] for profile in table.readings]
    lines: list[Sequence[Any]] = [
        ["run", "page", "example", "title", "reading", "rank", "group", "sum", "share", "right", "sequence", "mask",
         "guess", "score", *(f"right_{profile}" for profile in profiles)]
    ]  # fmt: skip
    for name, tables in groups.items():
        for table in tables:
            for reading, found in table.readings.items():
                for rank, group in enumerate(found, start=1):
                    for guess in group.guesses:
                        lines.append(
                            [name, table.page, table.sequence, table.title, reading, rank, group.name,
                             results.number(group.total), results.number(group.share), group.right, guess.sequence,
                             guess.mask, guess.name, guess.score, *(guess.right[profile] for profile in profiles)]
                        )  # fmt: skip
    return results.to_csv(lines)


def groups_json(table: GroupTable) -> dict[str, Any]:
    """The summed groups of an example or a page, for programs and the explorer."""
    return {
        "page": table.page,
        "title": table.title,
        "example": table.sequence,
        "readings": {
            profile: [
                {
                    "group": group.name,
                    "sum": results.number(group.total),
                    "share": results.number(group.share),
                    "right": group.right,
                    "named": group.named,
                    "guesses": [
                        {
                            "guess": guess.name,
                            "sequence": guess.sequence,
                            "mask": guess.mask,
                            "score": results.number(guess.score),
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
    """What a metric is called among masked entities.

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
        "Accuracy over all rows of a level (micro); macro accuracy is the mean over pages. Margin: the best right "
        "answer's share of all scores less the best wrong one's. ECE: expected calibration error, ten bins.",
    ]
    if of.unanswered:
        notes.append(f"{counts(of.unanswered, 'mask')} without a guess: wrong.")
    if of.led_by_no_name:
        notes.append(
            f"Pooled by alias, a word that names nobody (he, the, president) has the largest sum in "
            f"{counts(of.led_by_no_name, 'example')}: the largest sum of a name answers."
        )
    if of.absent:
        notes.append(f"{counts(of.absent, 'mask')} of the examples not among the predictions: not counted.")
    return notes


def rules_lines(scores: MaskedScores) -> list[str]:
    """The rules of each reading in a line."""
    return [rules_line(of.rules) for of in scores.readings]


def rules_line(rules: Rules) -> str:
    """The rules in one line."""
    kept = "all guesses" if rules.k is None else f"the first {rules.k} guesses"
    ties = ", ".join(f"{name}={value}" for name, value in CONVENTIONS.items())
    return (
        f"Reading {rules.profile}: matcher={rules.matcher}, tier={rules.tier.name.lower()}, pool={rules.pool}, {kept}, "
        f"{ties}."
    )


def original_grid(scores: MaskedScores, name: str, how: Bootstrap) -> Grid:
    """PNMS and its kin, as they were coded and done right."""
    kinds = {"as coded": scores.legacy.coded, "done right": scores.legacy.right}
    rows = []
    for kind, samples in kinds.items():
        found = stats.intervals(
            [samples[one] for one in _ORIGINAL],
            resamples=how.resamples,
            level=how.level,
            method=how.method,
            seed=how.seed,
        )
        means = [stats.aggregate(samples[one].values, samples[one].weights) for one in _ORIGINAL]
        rows.append([Cell(kind), *(Cell(_plain(m), _bounds(i)) for m, i in zip(means, found, strict=True))])
    notes = [
        "As coded: parts of the title in a guess, case-sensitive and inside words; LNMS: its last word; W-PNMS = "
        ".35 PNMS + .65 LNMS; NLD: edits over the title's length, of right guesses only. Done right: whole names, the "
        "real surname, NLD of the nearest guess of every mask over the longer length."
    ]
    headings = ["scores of the original", *(f"{one}{'↓' if one == 'NLD' else '↑'}" for one in _ORIGINAL.values())]
    return Grid(headings, rows, title=name, notes=notes)


def strata_grid(scores: MaskedScores, name: str, by: str, bins: int, how: Bootstrap) -> Grid:
    """Accuracy at each level for each class of a column, the two readings side by side."""
    rows = []
    readings = [split_by(of, by, bins) for of in scores.readings]
    for of in zip(*readings, strict=True):
        cells = [
            _metric_cell(score_level(stratum.hits[level], ["hits@1"], name, how)["hits@1"])
            if level in stratum.hits and len(stratum.hits[level].items)
            else Cell("–")
            for level in LEVELS
            for stratum in of
        ]
        rows.append([Cell(of[0].label), Cell(str(int(of[0].examples.sum()))), *cells])
    notes = ["Accuracy. Pages are left out where one has examples in several classes."]
    return Grid([by, "examples", *level_headings(scores)], rows, title=name, notes=notes)


def level_headings(scores: MaskedScores) -> list[str]:
    """A heading for each level in each reading."""
    return [f"{level}, {of.rules.profile}↑" for level in LEVELS for of in scores.readings]


def verdicts(compared: Mapping[str, Mapping[str, Comparison]]) -> list[str]:
    """What the data say of the accuracy at each level, in each reading."""
    return [
        f"By {level}, {profile}: {comparison.verdict(pair, one)}".replace("hits@1", label("hits@1"))
        for level in LEVELS
        for profile, levels in compared.items()
        for one in [levels[level]]
        for pair in one.pairs
        if pair.metric == "hits@1"
    ]


def as_json(
    runs: Mapping[str, MaskedScores],
    how: Bootstrap,
    groups: Groups | None = None,
    *,
    by: str | None = None,
    bins: int = 4,
    original: bool = False,
    alpha: float = 0.05,
) -> dict[str, Any]:
    """Everything for programs, in the shape of `score`; what the other reading says is under ``beside``."""
    first = next(iter(runs.values()))
    content: dict[str, Any] = {**_rules_json(first.rules), "conventions": dict(CONVENTIONS)}
    if first.beside is not None:
        content["beside"] = _rules_json(first.beside.rules)
    content["runs"] = [_run_json(scores, name, how, by, bins, original) for name, scores in runs.items()]
    for entry in content["runs"]:
        if found := (groups or {}).get(entry["name"]):
            entry["groups"] = [groups_json(table) for table in found]
    if len(runs) > 1:
        compared = compare_readings(runs, METRICS, how, alpha)
        main, *others = (
            {level: comparison.as_json(one)["comparison"] for level, one in levels.items()}
            for levels in compared.values()
        )
        content["comparisons"] = main
        for other in others:
            content["beside"]["comparisons"] = other
    return content


def _rules_json(rules: Rules) -> dict[str, Any]:
    return {"profile": rules.profile, "rules": {**asdict(rules), "tier": rules.tier.name.lower()}}


def _run_json(
    scores: MaskedScores, name: str, how: Bootstrap, by: str | None, bins: int, original: bool
) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": name,
        "counts": asdict(scores.counts),
        **_reading_json(scores, name, how, by, bins),
    }
    if scores.beside is not None:
        entry["beside"] = _reading_json(scores.beside, name, how, by, bins)
    if original:
        entry["original"] = {
            kind: {one: results.number(stats.aggregate(made.values, made.weights)) for one, made in samples.items()}
            for kind, samples in (("as_coded", scores.legacy.coded), ("done_right", scores.legacy.right))
        }
    return entry


def _reading_json(scores: MaskedScores, name: str, how: Bootstrap, by: str | None, bins: int) -> dict[str, Any]:
    entry: dict[str, Any] = {"profile": scores.rules.profile, "levels": {}}
    for level, one in score_levels(scores, name, how).items():
        entry["levels"][level] = {
            "rows": len(one.level.hits.items),
            "scores": {metric: _score_json(score) for metric, score in one.scores.items()},
            "margin": _number_json(one.margin, one.margin_interval),
            "ece": _number_json(one.ece, one.ece_interval),
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


def _as_csv(runs: Mapping[str, MaskedScores], how: Bootstrap) -> str:
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
                    found = _score_json(levels[level].scores[metric])
                    cells += [profile, found["mean"], found.get("low"), found.get("high")]
                lines.append([name, level, metric, *cells, rows, scores.counts.pages, *rules_lines(scores)])
    return results.to_csv(lines)


def _score_json(score: Score) -> dict[str, Any]:
    return _number_json(score.value, score.interval)


def _number_json(value: float, interval: stats.Interval | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"mean": results.number(value)}
    return (
        entry if interval is None else entry | {"low": interval.low, "high": interval.high, "method": interval.method}
    )


def _metric_cell(score: Score) -> Cell:
    metric: Metric = score.metric
    return Cell(formatting.value(metric, score.value), formatting.interval(metric, score.interval))


def _plain(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.4f}"


def _signed(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:+.4f}".replace("-", "−")


def _bounds(interval: stats.Interval | None, *, signed: bool = False) -> str:
    if interval is None:
        return ""
    write = _signed if signed else _plain
    return f"[{write(interval.low)}, {write(interval.high)}]"
