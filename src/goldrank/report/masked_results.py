"""Masked entities as people read them: the three levels, the original scores, strata, and runs against each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from goldrank import stats
from goldrank.comparing import Comparison
from goldrank.io.text import counts
from goldrank.masked_runs import CONVENTIONS, compare_levels, metrics_for, score_level
from goldrank.metrics import Metric
from goldrank.report import comparison, numbers, results
from goldrank.report.grids import Cell, Grid, render
from goldrank.scoring import Bootstrap, Score, Scores
from goldrank.tasks.masked.calibration import calibration
from goldrank.tasks.masked.levels import LEVELS, Level, MaskedScores, Rules
from goldrank.tasks.masked.strata import strata

MACRO = "hits(average=queries)@1"
_LABELS = {"hits@1": "accuracy", MACRO: "macro accuracy", "mrr(of=all)": "MRR"}
_DEEPEST = 5
"""How far down the tables look: models of this kind are compared by their first five guesses."""
_ORIGINAL = {"pnms": "PNMS", "lnms": "LNMS", "w-pnms": "W-PNMS", "nld": "NLD"}


@dataclass(frozen=True, eq=False)
class LevelScores:
    """The numbers of one level of one run."""

    level: Level
    scores: Scores
    margin: float
    margin_interval: stats.Interval | None
    ece: float
    ece_interval: stats.Interval | None


def scored_levels(scores: MaskedScores, name: str, how: Bootstrap) -> dict[str, LevelScores]:
    """Every level with its metrics, its margin and its calibration error."""
    return {level: _scored(scores.levels[level], name, how) for level in LEVELS}


def _scored(level: Level, name: str, how: Bootstrap) -> LevelScores:
    metrics = [*metrics_for(_DEEPEST), MACRO]
    sample = level.sample(level.margin)
    [interval] = stats.intervals([sample], resamples=how.resamples, level=how.level, method=how.method, seed=how.seed)
    found = calibration(level, resamples=min(how.resamples, 1000), confidence_level=how.level, seed=how.seed)
    return LevelScores(
        level,
        score_level(level.hits, metrics, name, how),
        stats.aggregate(sample.values, sample.weights),
        interval,
        found.ece,
        found.interval,
    )


def show(runs: Mapping[str, MaskedScores], how: Bootstrap, look: str, **options: Any) -> str:
    """One run by its levels, or several against each other, in the look asked for."""
    if look == "json":
        return results.to_json(as_json(runs, how, **options))
    if look == "csv":
        return _as_csv(runs, how)
    return _as_text(runs, how, look, **options)


def _as_text(
    runs: Mapping[str, MaskedScores],
    how: Bootstrap,
    look: str,
    *,
    by: str | None = None,
    bins: int = 4,
    original: bool = False,
    alpha: float = 0.05,
) -> str:
    """The verdicts, where there are two runs or more, and everything as tables."""
    compared = compare_levels(runs, metrics_for(_DEEPEST), how, alpha) if len(runs) > 1 else {}
    grids = [levels_grid(scores, name, how) for name, scores in runs.items()]
    grids += [_titled(comparison.pairs_grid(one), f"by {level}") for level, one in compared.items()]
    if by is not None:
        grids += [strata_grid(scores, name, by, bins, how) for name, scores in runs.items()]
    if original:
        grids += [original_grid(scores, name, how) for name, scores in runs.items()]
    return "\n\n".join(filter(None, [_verdicts(compared), render(grids, look)]))


def levels_grid(scores: MaskedScores, name: str, how: Bootstrap) -> Grid:
    """Mask, example and page in rows."""
    made = scored_levels(scores, name, how)
    columns = [*metrics_for(_DEEPEST), MACRO]
    rows = [
        [
            Cell(level),
            Cell(str(len(one.level.hits.items))),
            *(_metric_cell(one.scores[metric]) for metric in columns),
            Cell(_signed(one.margin), _bounds(one.margin_interval, signed=True)),
            Cell(_plain(one.ece), _bounds(one.ece_interval)),
        ]
        for level, one in made.items()
    ]
    headings = ["level", "n", *(f"{label(metric)}↑" for metric in columns), "margin↑", "ECE↓"]
    return Grid(headings, rows, title=name, notes=_notes(scores, how))


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
        rules_line(scores.rules),
        "Accuracy over all rows of a level (micro); macro accuracy is the mean over pages. Margin: the best right "
        "answer's share of all scores less the best wrong one's. ECE: expected calibration error, ten bins.",
    ]
    if of.unanswered:
        notes.append(f"{counts(of.unanswered, 'mask')} without a guess: wrong.")
    if of.absent:
        notes.append(f"{counts(of.absent, 'mask')} of the examples not among the predictions: not counted.")
    return notes


def rules_line(rules: Rules) -> str:
    """The rules in one line."""
    kept = "all guesses" if rules.k is None else f"the first {rules.k} guesses"
    ties = ", ".join(f"{name}={value}" for name, value in CONVENTIONS.items())
    return f"Rules: matcher={rules.matcher}, tier={rules.tier.name.lower()}, pool={rules.pool}, {kept}, {ties}."


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
    """Accuracy at each level for each class of a column."""
    rows = []
    for stratum in strata(scores, by, bins):
        cells = [
            _metric_cell(score_level(stratum.hits[level], ["hits@1"], name, how)["hits@1"])
            if level in stratum.hits and len(stratum.hits[level].items)
            else Cell("–")
            for level in LEVELS
        ]
        rows.append([Cell(stratum.label), Cell(str(int(stratum.examples.sum()))), *cells])
    notes = ["Accuracy. Pages are left out where one has examples in several classes."]
    return Grid([by, "examples", *(f"{level}↑" for level in LEVELS)], rows, title=name, notes=notes)


def _verdicts(compared: Mapping[str, Comparison]) -> str:
    """What the data say of the accuracy at each level."""
    return "\n".join(
        f"By {level}: {comparison.verdict(pair, one)}".replace("hits@1", label("hits@1"))
        for level, one in compared.items()
        for pair in one.pairs
        if pair.metric == "hits@1"
    )


def as_json(
    runs: Mapping[str, MaskedScores],
    how: Bootstrap,
    *,
    by: str | None = None,
    bins: int = 4,
    original: bool = False,
    alpha: float = 0.05,
) -> dict[str, Any]:
    """Everything for programs, in the shape of `score`."""
    rules = next(iter(runs.values())).rules
    content: dict[str, Any] = {
        "rules": {**asdict(rules), "tier": rules.tier.name.lower()},
        "conventions": dict(CONVENTIONS),
        "runs": [_run_json(scores, name, how, by, bins, original) for name, scores in runs.items()],
    }
    if len(runs) > 1:
        content["comparisons"] = {
            level: comparison.as_json(one)["comparison"]
            for level, one in compare_levels(runs, metrics_for(_DEEPEST), how, alpha).items()
        }
    return content


def _run_json(
    scores: MaskedScores, name: str, how: Bootstrap, by: str | None, bins: int, original: bool
) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": name, "counts": asdict(scores.counts), "levels": {}}
    for level, one in scored_levels(scores, name, how).items():
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
            for stratum in strata(scores, by, bins)
        ]
    if original:
        entry["original"] = {
            kind: {one: results.number(stats.aggregate(made.values, made.weights)) for one, made in samples.items()}
            for kind, samples in (("as_coded", scores.legacy.coded), ("done_right", scores.legacy.right))
        }
    return entry


def _as_csv(runs: Mapping[str, MaskedScores], how: Bootstrap) -> str:
    lines: list[Sequence[Any]] = [["run", "level", "metric", "mean", "low", "high", "rows", "pages", "rules"]]
    for name, scores in runs.items():
        for level, one in scored_levels(scores, name, how).items():
            for metric, score in one.scores.items():
                found = _score_json(score)
                lines.append(
                    [name, level, metric, found["mean"], found.get("low"), found.get("high"), len(one.level.hits.items),
                     scores.counts.pages, rules_line(scores.rules)]
                )  # fmt: skip
    return results.to_csv(lines)


def _score_json(score: Score) -> dict[str, Any]:
    return _number_json(score.mean, score.interval)


def _number_json(value: float, interval: stats.Interval | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"mean": results.number(value)}
    return (
        entry if interval is None else entry | {"low": interval.low, "high": interval.high, "method": interval.method}
    )


def _metric_cell(score: Score) -> Cell:
    metric: Metric = score.metric
    return Cell(numbers.value(metric, score.mean), numbers.interval(metric, score.interval))


def _titled(grid: Grid, title: str) -> Grid:
    return Grid(grid.headings, grid.rows, title=title, notes=grid.notes, text_columns=grid.text_columns)


def _plain(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.4f}"


def _signed(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:+.4f}".replace("-", "−")


def _bounds(interval: stats.Interval | None, *, signed: bool = False) -> str:
    if interval is None:
        return ""
    write = _signed if signed else _plain
    return f"[{write(interval.low)}, {write(interval.high)}]"
