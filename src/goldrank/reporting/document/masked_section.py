"""The section of masked runs: accuracy at each level, comparisons of the runs, and their figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from goldrank.analysis.across import TaskScores
from goldrank.analysis.meta import families_by_name
from goldrank.comparing import Comparison
from goldrank.errors import counts
from goldrank.masked.scoring.level_scores import compare_readings, score_level
from goldrank.masked.scoring.levels import LEVELS, MaskedScores
from goldrank.reporting.document import provenance
from goldrank.reporting.document.sections import Section
from goldrank.reporting.figures.description import split_left_out
from goldrank.reporting.figures.masked import FIGURES, MaskedRun
from goldrank.reporting.text import formatting
from goldrank.reporting.text import masked as masked_results
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.results import score_cell
from goldrank.runs.masked import score_stored_run
from goldrank.runs.masked_results import MaskedResult
from goldrank.runs.run import Measures
from goldrank.runs.stored_scores import distinct_names
from goldrank.scoring import Bootstrap, Score
from goldrank.stats import best_first
from goldrank.store import StoredRun

_ACCURACY = "hits@1"
Readings = Mapping[str, Mapping[str, Comparison]]
"""The comparisons by profile and level."""


def masked_section(runs: Mapping[str, StoredRun], measures: Measures) -> Section:
    """Return the section of runs on the same masks."""
    names = distinct_names(runs)
    how = measures.bootstrap
    scored = {key: score_stored_run(run) for key, run in runs.items()}
    accuracy = {key: float(scores.levels["mask"].right.mean()) for key, scores in scored.items()}
    ordered = {key: runs[key] for key in best_first(accuracy)}
    named = {names[key]: scored[key] for key in ordered}
    families = families_by_name(list(dict.fromkeys(run.model for run in runs.values())))
    described = [
        MaskedRun(
            names[key],
            scored[key],
            families[run.model],
            run.environment.get("parameters"),
            int(run.inputs["k"]),
        )
        for key, run in ordered.items()
    ]
    figures, left_out = split_left_out(make(described, "mask") for make in FIGURES.values())
    first = next(iter(named.values()))
    compared = compare_readings(named, [_ACCURACY], how, measures.alpha)
    return Section(
        task=next(iter(runs.values())).task,
        kind="masked",
        runs=provenance.origins(ordered, names),
        verdicts=tuple(_verdicts(named, compared, how)),
        tables=tuple(_tables(named, compared, how)),
        numbers=masked_results.as_json(MaskedResult(named, bootstrap=how, alpha=measures.alpha, original=True)),
        figures=figures,
        left_out=left_out,
        cases=(),
        quality=tuple(provenance.remarks(ordered, names)),
        conventions=tuple(masked_results.rules_lines(first)),
        commands=provenance.commands(ordered.values()),
        headline=TaskScores.of_comparison(next(iter(runs.values())).task, compared[first.rules.profile]["mask"]),
    )


def _tables(named: Mapping[str, MaskedScores], compared: Readings, how: Bootstrap) -> list[Grid]:
    """Return the leaderboard, the levels of each run, all pairs, and the scores of the original project."""
    grids = [_leaderboard(named, how)]
    grids += [
        replace(masked_results.levels_grid(scores, name, how), title=f"{name}, level by level")
        for name, scores in named.items()
    ]
    if len(named) > 1:
        grids += [
            replace(grid, title=f"Every pair of runs, by {level}")
            for level, grid in masked_results.pairs_grids(compared).items()
        ]
    return grids + [
        replace(masked_results.original_grid(scores, name, how), title=f"{name}, scores of the original project")
        for name, scores in named.items()
    ]


def _leaderboard(named: Mapping[str, MaskedScores], how: Bootstrap) -> Grid:
    """Return a table with the accuracy of each run at each level in each reading, the best in bold."""
    columns = [
        [_accuracy(of, level, name, how) for name, of in zip(named, readings, strict=True)]
        for level in LEVELS
        for readings in zip(*(scores.readings for scores in named.values()), strict=True)
    ]
    rows = [
        [
            Cell(name),
            *(
                score_cell(column[at], best=len(named) > 1 and column[at].value == max(score.value for score in column))
                for column in columns
            ),
        ]
        for at, name in enumerate(named)
    ]
    first = next(iter(named.values()))
    counted = first.counts
    note = (
        f"Accuracy: how often the first answer is right, over {counts(counted.masks, 'mask')} in "
        f"{counts(counted.examples, 'example')} of {counts(counted.pages, 'page')}; {how.level:.0%} intervals, "
        f"bootstrap over pages of {how.resamples} resamples (seed {how.seed})."
    )
    return Grid(["run", *masked_results.level_headings(first)], rows, title="Leaderboard", notes=[note])


def _accuracy(scores: MaskedScores, level: str, name: str, how: Bootstrap) -> Score:
    return score_level(scores.levels[level].hits, [_ACCURACY], name, how)[_ACCURACY]


def _verdicts(named: Mapping[str, MaskedScores], compared: Readings, how: Bootstrap) -> list[str]:
    """Return the verdicts at each level; of a single run, its accuracy."""
    if len(named) > 1:
        return masked_results.verdicts(compared)
    [(name, scores)] = named.items()
    sentences = []
    for level in LEVELS:
        for of in scores.readings:
            accuracy = formatting.value_with_interval(_accuracy(of, level, name, how))
            sentences.append(f"By {level}, {of.rules.profile}: {name} is right in {accuracy}.")
    return sentences
