"""The section of runs that rank: verdicts, leaderboard, figures, and example queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from goldrank.analysis import stored_data
from goldrank.analysis.across import TaskScores
from goldrank.comparing import Comparison
from goldrank.reporting.document import provenance
from goldrank.reporting.document.query_examples import cases_of
from goldrank.reporting.document.sections import Section
from goldrank.reporting.figures.comparison import NAMES, OF_ONE, make_figures
from goldrank.reporting.figures.description import split_left_out
from goldrank.reporting.text import comparison as wording
from goldrank.reporting.text import results
from goldrank.reporting.text import slices as slice_views
from goldrank.reporting.text.grids import Grid
from goldrank.reporting.text.verdicts import verdict_lines
from goldrank.reporting.text.views import view_of
from goldrank.runs.run import Measures
from goldrank.runs.slice_sources import SliceChoice
from goldrank.runs.stored_scores import compare_stored, distinct_names
from goldrank.slices.attributes import Slice
from goldrank.slices.results import SlicedComparison, SlicedScores, slice_comparison, slice_scores
from goldrank.store import Store, StoredRun


def ranked_section(
    runs: Mapping[str, StoredRun],
    store: Store,
    measures: Measures,
    worst: int,
    slices: SliceChoice = SliceChoice(),  # noqa: B008 - frozen
) -> Section:
    """Return the section of runs of one task with the same gold."""
    base = next(iter(runs.values()))
    only = slices.only_queries(base, store)
    names = distinct_names(runs)
    compared, hits, notes = compare_stored(runs, names, measures, only=only)
    if only is not None:
        notes = [f"only the {len(only)} queries of {slices.only}", *notes]
    named = {names[key]: of_run for key, of_run in hits.items()}
    scores = compared.scores
    sliced = _by_slice(compared, slices.shown(base, store))
    key_of = {name: key for key, name in names.items()}
    ordered = {key_of[name]: runs[key_of[name]] for name in scores}
    first = next(iter(scores.values()))
    seconds = {names[key]: run.seconds for key, run in runs.items() if run.seconds is not None}
    # The report on two runs does not mention groups of runs, which need three.
    shown = OF_ONE if len(runs) == 1 else [name for name in NAMES if len(runs) > 2 or name != "significance-groups"]
    figures, left_out = split_left_out(make_figures(compared, named, seconds=seconds, names=shown))
    texts = stored_data.count_texts(store.texts(str(base.inputs.get("data", ""))))
    return Section(
        task=base.task,
        kind="ranked",
        runs=provenance.origins(ordered, names),
        verdicts=(*verdict_lines(compared), *_slice_verdicts(sliced)),
        tables=(*_tables(compared), *_slice_tables(sliced)),
        numbers=_numbers(compared) if sliced is None else view_of(sliced).content(),
        figures=figures,
        left_out=left_out,
        cases=cases_of(ordered, names, hits, {key_of[name]: of_run for name, of_run in scores.items()}, store, worst),
        quality=(
            *results.counts_lines(list(scores.values())),
            *stored_data.hit_notes(named),
            *stored_data.text_notes(texts),
            *(f"{note}." for note in notes),
            *provenance.remarks(ordered, names),
        ),
        conventions=(
            results.conventions_line(first),
            results.basis_line(first, intervals=True),
            *([_how_tested(compared)] if len(runs) > 1 else []),
        ),
        commands=provenance.commands(ordered.values()),
        headline=TaskScores.of_comparison(base.task, compared),
    )


def _by_slice(compared: Comparison, slices: Sequence[Slice]) -> SlicedComparison | SlicedScores | None:
    if not slices:
        return None
    if len(compared.scores) > 1:
        return slice_comparison(compared, slices)
    return slice_scores(list(compared.scores.values()), slices)


def _slice_verdicts(sliced: SlicedComparison | SlicedScores | None) -> list[str]:
    if not isinstance(sliced, SlicedComparison):
        return []
    return [*slice_views.slice_verdicts(sliced), *map(str, sliced.reversals)]


def _slice_tables(sliced: SlicedComparison | SlicedScores | None) -> list[Grid]:
    if sliced is None:
        return []
    if isinstance(sliced, SlicedScores):
        return slice_views.score_grids(sliced, intervals=True)
    return slice_views.pair_grids(sliced, all_pairs=True)


def _how_tested(compared: Comparison) -> str:
    return f"Pairs: {wording.describe_test(compared)}, two-sided, α = {compared.alpha:g}."


def _tables(compared: Comparison) -> list[Grid]:
    scores = list(compared.scores.values())
    several = len(scores) > 1
    board = wording.scores_grid(compared) if several else results.score_grid(scores, intervals=True)
    # The section shows the conventions, and what was left out, below.
    shown_below = {results.conventions_line(scores[0]), *results.counts_lines(scores)}
    board = replace(board, title="Leaderboard", notes=[note for note in board.notes if note not in shown_below])
    if not several:
        return [board]
    pairs = wording.pairs_grid(compared, wording.shown_pairs(compared, all_pairs=True))
    return [board, replace(pairs, title="Every pair of runs")]


def _numbers(compared: Comparison) -> dict[str, object]:
    scores = list(compared.scores.values())
    if len(scores) == 1:
        return results.scores_json(scores, intervals=True, per_query=False)
    return wording.as_json(compared)
