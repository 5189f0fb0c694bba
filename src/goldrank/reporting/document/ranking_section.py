"""The section of runs that rank: verdicts, leaderboard, figures, and example queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from goldrank.analysis import stored_data
from goldrank.comparing import Comparison, compare_hits
from goldrank.hits import Hits
from goldrank.metrics import Metric, Profile
from goldrank.reporting.document import provenance
from goldrank.reporting.document.query_examples import cases_of
from goldrank.reporting.document.sections import Section
from goldrank.reporting.figures.comparison import NAMES, OF_ONE, make_figures
from goldrank.reporting.figures.description import split_left_out
from goldrank.reporting.text import comparison as wording
from goldrank.reporting.text import formatting, results
from goldrank.reporting.text.grids import Grid
from goldrank.runs.run import Measures
from goldrank.runs.stored_scores import (
    choose_metrics,
    choose_profile,
    count_runs,
    distinct_names,
    refuse_different_gold,
)
from goldrank.scoring import Bootstrap, Scores, best_first, score_hits
from goldrank.store import Store, StoredRun

_TESTED_BY_FLIPS = 100_000
"""Maximum number of differences, over all pairs, metrics and queries, for the randomisation test."""
_PAIR_RESAMPLES = 2_000


def ranked_section(runs: Mapping[str, StoredRun], store: Store, measures: Measures, worst: int) -> Section:
    """Return the section of runs of one task with the same gold."""
    profile = choose_profile(runs, measures.profile)
    metrics = choose_metrics(runs, measures.metrics, profile, profile_was_given=measures.profile is not None)
    hits, notes = count_runs(runs, profile, measures.conventions)
    refuse_different_gold(runs, hits)
    names = distinct_names(runs)
    named = {names[key]: of_run for key, of_run in hits.items()}
    compared = _compare(named, metrics, profile, measures) if len(runs) > 1 else None
    scores = best_first(
        compared.scores
        if compared
        else {name: _score(name, of_run, metrics, profile, measures) for name, of_run in named.items()}
    )
    if compared:
        compared = replace(compared, scores=scores)
    key_of = {name: key for key, name in names.items()}
    ordered = {key_of[name]: runs[key_of[name]] for name in scores}
    first = next(iter(scores.values()))
    seconds = {names[key]: run.seconds for key, run in runs.items() if run.seconds is not None}
    # The report on two runs does not mention critical differences, which need three.
    shown = OF_ONE if len(runs) == 1 else [name for name in NAMES if len(runs) > 2 or name != "critical-difference"]
    figures, left_out = split_left_out(make_figures(scores, named, alpha=measures.alpha, seconds=seconds, names=shown))
    texts = stored_data.count_texts(store.texts(str(next(iter(runs.values())).inputs.get("data", ""))))
    return Section(
        task=next(iter(runs.values())).task,
        kind="ranked",
        runs=provenance.origins(ordered, names),
        verdicts=tuple(verdicts(compared) if compared else _statements(first)),
        tables=tuple(_tables(compared, list(scores.values()))),
        numbers=_numbers(compared, list(scores.values())),
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
            *([_how_tested(compared, measures.bootstrap)] if compared else []),
        ),
        commands=provenance.commands(ordered.values()),
    )


def _score(name: str, hits: Hits, metrics: Sequence[Metric], profile: Profile, measures: Measures) -> Scores:
    return score_hits(hits, metrics, profile=profile, name=name, bootstrap=measures.bootstrap, **measures.conventions)


def _compare(hits: Mapping[str, Hits], metrics: Sequence[Metric], profile: Profile, measures: Measures) -> Comparison:
    """Compare all pairs; if they are very many, by a faster test and with fewer resamples."""
    queries = len(next(iter(hits.values())).queries)
    work = len(hits) * (len(hits) - 1) // 2 * len(metrics) * queries
    how, test = measures.bootstrap, "randomisation"
    if work > _TESTED_BY_FLIPS:
        how, test = replace(how, resamples=min(how.resamples, _PAIR_RESAMPLES)), "t"
    compared = compare_hits(
        hits, metrics, profile=profile, test=test, alpha=measures.alpha, bootstrap=how, **measures.conventions
    )
    if how == measures.bootstrap:
        return compared
    # The scores keep the requested resamples, so that their intervals are those of `goldrank score`.
    scores = {name: replace(of_run, bootstrap=measures.bootstrap) for name, of_run in compared.scores.items()}
    return replace(compared, scores=scores)


def _how_tested(compared: Comparison, how: Bootstrap) -> str:
    corrected = wording.CORRECTIONS[compared.correction]
    line = f"Pairs: {wording.TESTS[compared.test]}, two-sided, {corrected}, α = {compared.alpha:g}"
    if compared.test == "t":
        line += (
            "; with this many pairs and queries it stands for the randomisation test, and the intervals of "
            f"differences take {min(how.resamples, _PAIR_RESAMPLES)} resamples"
        )
    return line + "."


def verdicts(compared: Comparison) -> list[str]:
    """Return a sentence for each metric: on two runs, or on the best among several."""
    if len(compared.scores) == 2:
        return [wording.verdict(pair, compared) for pair in compared.pairs]
    metrics = next(iter(compared.scores.values()))
    return [_leader(metric, compared) for metric in metrics if metrics[metric].metric.definition.direction != "neither"]


def _leader(metric: str, compared: Comparison) -> str:
    leader = next(iter(best_first(compared.scores, metric)))
    reached = formatting.value_with_interval(compared.scores[leader][metric])
    beaten = compared.better_than(metric, leader)
    rest = [name for name in compared.scores if name != leader and name not in beaten]
    pairs = {
        pair.a if pair.b == leader else pair.b: pair
        for pair in compared.pairs
        if pair.metric == metric and leader in (pair.a, pair.b)
    }
    parts = []
    if beaten:
        most = max(pairs[name].adjusted for name in beaten)
        p = formatting.p_clause(most, "≤")
        whom = "every other run" if not rest else _listed(beaten)
        parts.append(f"it beats {whom} ({p} {wording.CORRECTIONS[compared.correction]})")
    if rest:
        untested = all(pairs[name].p != pairs[name].p for name in rest)
        parts.append(
            f"{_listed(rest)} could not be tested" if untested else f"the data cannot tell it from {_listed(rest)}"
        )
    return f"{leader} leads on {metric} with {reached}; {'; '.join(parts)}."


def _listed(names: Sequence[str]) -> str:
    shown = [*names[:4], f"{len(names) - 4} others"] if len(names) > 5 else list(names)
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _statements(scores: Scores) -> list[str]:
    return [
        f"{scores.name} reaches {metric} {formatting.value_with_interval(score)} over {scores.counts.queries} queries."
        for metric, score in list(scores.items())[:3]
    ]


def _tables(compared: Comparison | None, scores: Sequence[Scores]) -> list[Grid]:
    first = scores[0]
    board = wording.scores_grid(compared) if compared else results.score_grid([first], intervals=True)
    # The section shows the conventions, and what was left out, below.
    shown_below = {results.conventions_line(first), *results.counts_lines(scores)}
    board = replace(board, title="Leaderboard", notes=[note for note in board.notes if note not in shown_below])
    return [board, replace(wording.pairs_grid(compared), title="Every pair of runs")] if compared else [board]


def _numbers(compared: Comparison | None, scores: Sequence[Scores]) -> dict[str, object]:
    if compared is None:
        return results.scores_json(scores, intervals=True, per_query=False)
    return wording.as_json(compared)
