"""The figures of compared runs agree with the numbers they show, and are left out for a stated reason."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from goldrank import Gold, Run
from goldrank.comparing import compare_hits
from goldrank.reporting.figures.comparison import NAMES, OF_ONE, make_figures
from goldrank.reporting.figures.costs import metric_by_seconds, pareto_front
from goldrank.reporting.figures.curves import LEVELS, metric_by_cutoff, precision_recall
from goldrank.reporting.figures.description import Bracket, Figure, LeftOut
from goldrank.reporting.figures.leaderboard import leaderboard, significance_groups
from goldrank.reporting.figures.paired import differences, paired_scatter
from goldrank.reporting.text.comparison import scores_grid
from goldrank.reporting.text.formatting import SUPERSCRIPTS
from goldrank.scoring import Bootstrap, score_hits

QUICK = Bootstrap(resamples=200)
METRICS = ["ndcg@10", "mrr", "mean_rank(unfound=last)"]


def made_hits(skill, queries=60, items=80, gold_items=3, seed=0):
    """Return hits of runs on the same gold; a higher skill ranks relevant items higher."""
    rng = np.random.default_rng(seed)
    gold = {f"q{at}": {f"d{item}": 1 for item in rng.choice(items, gold_items, replace=False)} for at in range(queries)}
    hits = {}
    for name, lift in skill.items():
        run = {}
        for query, right in gold.items():
            scores = rng.normal(size=items)
            scores[[int(item[1:]) for item in right]] += lift
            run[query] = {f"d{at}": float(scores[at]) for at in np.argsort(-scores)[:50]}
        hits[name] = Run(run).hits(Gold(gold), corpus=items)
    return hits


@pytest.fixture(scope="module")
def hits():
    return made_hits({"weak": 0.5, "strong": 3.0, "middle": 1.5, "alike": 1.5})


@pytest.fixture(scope="module")
def compared(hits):
    return compare_hits(hits, METRICS, test="t", bootstrap=QUICK)


def test_the_leaderboard_shows_means_and_intervals_best_first(compared):
    figure = leaderboard(compared.scores)
    assert figure.y.categories[0] == "strong"
    assert figure.y.categories[-1] == "weak"
    assert [series.name for series in figure.series] == ["ndcg@10", "mrr"], "mean_rank is on another scale"
    assert "mean_rank(unfound=last)" in figure.note
    for series in figure.series:
        for at, run in enumerate(figure.y.categories):
            score = compared.scores[run][series.name]
            assert (series.x[at], series.low[at], series.high[at]) == (
                score.value,
                score.interval.low,
                score.interval.high,
            )
    assert "60 queries" in figure.caption
    assert "95% intervals: bootstrap over queries (200 resamples, seed 0)" in figure.caption


def joined_pairs(figure):
    """Return the pairs of runs that a bar of the figure joins."""
    runs = figure.y.categories
    return {
        frozenset(pair) for bracket in figure.brackets for pair in combinations((runs[at] for at in bracket.members), 2)
    }


def undecided_pairs(compared, metric):
    """Return the pairs of runs of which the test calls neither better."""
    direction = compared.scores["weak"][metric].metric.definition.direction if "weak" in compared.scores else "higher"
    return {
        frozenset((pair.a, pair.b))
        for pair in compared.pairs
        if pair.metric == metric and pair.winner(compared.alpha, direction) is None
    }


def test_the_groups_join_exactly_the_pairs_that_the_test_cannot_tell_apart(compared):
    figure = significance_groups(compared)
    assert joined_pairs(figure) == undecided_pairs(compared, "ndcg@10")
    assert frozenset(("middle", "alike")) in joined_pairs(figure)
    assert figure.y.categories[0] == "strong"
    values = dict(zip(figure.y.categories, figure.series[0].x, strict=True))
    assert values == {run: scores["ndcg@10"].value for run, scores in compared.scores.items()}
    assert "(paired t test, Holm over the pairs of the metric, α = 0.05)" in figure.caption
    assert "60 queries" in figure.caption
    for bracket in figure.brackets:
        assert bracket.at > max(values[figure.y.categories[at]] for at in bracket.members)


@pytest.mark.parametrize("test", ["randomisation", "t", "wilcoxon"])
@pytest.mark.parametrize("seed", range(4))
def test_sets_sentence_and_superscripts_agree_with_the_test_on_generated_runs(seed, test):
    rng = np.random.default_rng(seed)
    skill = {f"run{at}": float(lift) for at, lift in enumerate(rng.uniform(0.5, 2.5, 6))}
    compared = compare_hits(
        made_hits(skill, queries=25, items=40, seed=seed), "mrr", test=test, correction="none", bootstrap=QUICK
    )
    figure = significance_groups(compared)
    assert joined_pairs(figure) == undecided_pairs(compared, "mrr")
    leader, *others = compared.order("mrr")
    beaten = {other for other in others if frozenset((leader, other)) not in joined_pairs(figure)}
    assert set(compared.better_than("mrr", leader)) == beaten
    sentence = compared.verdict["mrr"]
    worse, _, alike = sentence.partition("cannot be told apart from ")
    if beaten != set(others):
        assert {run for run in others if run in worse.partition("; it ")[2]} == beaten
        assert {run for run in others if run in alike} == set(others) - beaten
    row = next(row for row in scores_grid(compared).rows if row[0].text.endswith(leader))
    letters = dict(zip(compared.scores, "abcdef", strict=True))
    marks = "".join(sorted(letters[run] for run in beaten)).translate(SUPERSCRIPTS)
    assert row[1].marks == marks


def test_a_group_that_is_not_a_run_of_neighbours_leaves_out_the_runs_between():
    bar = Bracket((0, 1, 3), 0.5)
    assert bar.spans == [(-0.2, 1.2), (2.8, 3.2)]
    assert bar.gaps == [(1.2, 2.8)]


def test_lower_is_better_turns_the_order(compared):
    metric = compared.scores["weak"].metrics[2]
    lower = replace(
        compared, scores={run: replace_metrics(scores, [metric]) for run, scores in compared.scores.items()}
    )
    figure = significance_groups(lower)
    assert [figure.y.categories[at] for at in (0, -1)] == ["strong", "weak"]
    assert joined_pairs(figure) == undecided_pairs(compared, str(metric))
    alone = leaderboard(lower.scores)
    assert alone.y.categories[0] == "strong"
    assert "lower is better" in alone.x.label


def replace_metrics(scores, metrics):
    return replace(scores, metrics=metrics, applied=[scores.profile.apply(metric) for metric in metrics])


def test_runs_without_a_difference_are_all_joined():
    gold = Gold({f"q{at}": {"d": 1} for at in range(12)})
    # Each run is first, second and third equally often, so that no test can tell them apart.
    runs = {
        name: Run(
            {f"q{at}": {"d": 1.0, **{f"x{number}": 2.0 for number in range((at + turn) % 3)}} for at in range(12)}
        )
        for turn, name in enumerate("abc")
    }
    hits = {name: run.hits(gold) for name, run in runs.items()}
    figure = significance_groups(compare_hits(hits, "mrr", test="t", bootstrap=QUICK))
    assert [bracket.members for bracket in figure.brackets] == [(0, 1, 2)]


def test_groups_need_three_runs_a_better_direction_and_a_test(hits):
    two = compare_hits({run: hits[run] for run in ("weak", "strong")}, "mrr", test="t", bootstrap=QUICK)
    assert "three runs or more" in significance_groups(two).reason
    same = compare_hits(dict.fromkeys("abc", hits["weak"]), "mrr", test="t", bootstrap=QUICK)
    assert [bracket.members for bracket in significance_groups(same).brackets] == [(0, 1, 2)]
    assert "the same value" in differences(same.scores, "a", "b").reason
    counted = compare_hits(hits, "num_ret", bootstrap=QUICK)
    assert "no direction of num_ret is the better one" in significance_groups(counted).reason
    median = compare_hits(hits, "median_rank(unfound=last)", bootstrap=QUICK)
    assert "a median over queries has no paired test of means" in significance_groups(median).reason


def test_every_query_is_one_point_or_part_of_one(compared):
    figure = paired_scatter(compared.scores, "weak", "strong")
    assert figure.diagonal
    assert sum(sum(series.sizes) for series in figure.series) == 60
    assert figure.note == ""
    a, b = (compared.scores[run]["ndcg@10"].values for run in ("weak", "strong"))
    points = {(x, y) for series in figure.series for x, y in zip(series.x, series.y, strict=True)}
    assert points == set(zip(a.tolist(), b.tolist(), strict=True))
    better = next(series for series in figure.series if series.name.startswith("strong better"))
    assert better.name == f"strong better ({(b > a).sum()})"
    assert all(y > x for x, y in zip(better.x, better.y, strict=True))


def test_of_very_many_queries_some_are_drawn_by_seed_and_the_note_says_so(compared):
    figure, again, other = (paired_scatter(compared.scores, "weak", "strong", most=20, seed=seed) for seed in (1, 1, 2))
    assert figure == again
    assert figure.series != other.series
    assert sum(sum(series.sizes) for series in figure.series) == 20
    assert figure.note == "20 of the queries are drawn, chosen at random (seed 1)."
    assert "60 queries" in figure.caption


def test_where_less_is_better_the_winner_lies_below_the_diagonal(compared):
    metric = compared.scores["weak"].metrics[2]
    by_rank = {run: replace_metrics(scores, [metric]) for run, scores in compared.scores.items()}
    figure = paired_scatter(by_rank, "weak", "strong")
    better = next(series for series in figure.series if series.name.startswith("strong better"))
    assert all(y < x for x, y in zip(better.x, better.y, strict=True))
    assert "below the diagonal strong is better" in figure.caption


def test_sorted_differences_are_those_of_the_queries(compared):
    figure = differences(compared.scores, "weak", "strong")
    gaps = compared.scores["strong"]["ndcg@10"].values - compared.scores["weak"]["ndcg@10"].values
    heights = [y for series in figure.series for y in series.y]
    assert sorted(heights) == sorted(gaps[gaps != 0].tolist())
    places = [x for series in figure.series for x in series.x]
    assert len(set(places)) == len(places)
    assert figure.y.line == 0


def test_many_differences_are_averaged_in_neighbours_and_keep_their_mean():
    hits = made_hits({"a": 1.0, "b": 1.5}, queries=450, items=30)
    compared = compare_hits(hits, "ndcg@10", test="t", bootstrap=QUICK)
    figure = differences(compared.scores, "a", "b")
    assert sum(len(series.x) for series in figure.series) <= 200
    assert "mean of up to 3 neighbouring queries" in figure.note
    assert "450 queries" in figure.caption


def test_the_cutoff_curve_passes_through_the_metric_as_scored(hits, compared):
    figure = metric_by_cutoff(compared.scores, hits, how=QUICK)
    assert figure.series[0].x == (1, 2, 3, 5, 10, 20, 30, 50)
    for series in figure.series:
        assert series.y[series.x.index(10)] == compared.scores[series.name]["ndcg@10"].mean
        assert all(low <= y <= high for low, y, high in zip(series.low, series.y, series.high, strict=True))


def test_cutoff_curves_need_a_metric_with_a_cutoff(hits):
    scores = {"weak": score_hits(hits["weak"], "mrr")}
    assert metric_by_cutoff(scores, hits).reason == "no metric was scored with a cutoff"
    scores = {"weak": score_hits(hits["weak"], "hits@5")}
    assert "gold-rank curve" in metric_by_cutoff(scores, hits).reason


@pytest.mark.parametrize("ties", ["docid", "expected"])
def test_precision_by_recall_is_the_metric_iprec(hits, ties):
    scores = {run: score_hits(entry, "ndcg@10", ties=ties) for run, entry in hits.items()}
    figure = precision_recall(scores, hits, QUICK)
    expected = score_hits(hits["middle"], [f"iprec@{level:g}" for level in LEVELS])
    (series,) = (entry for entry in figure.series if entry.name == "middle")
    assert series.y == pytest.approx([score.value for score in expected.values()], abs=1e-9)
    assert "ties docid" in figure.caption


def test_one_relevant_item_a_query_has_no_precision_recall_curve():
    hits = made_hits({"a": 1.0}, gold_items=1)
    scores = {"a": score_hits(hits["a"], "mrr")}
    assert "reciprocal rank at every recall" in precision_recall(scores, hits).reason


def test_nothing_is_cheaper_and_better_than_the_front(compared):
    costs = {"weak": 1.0, "middle": 10.0, "alike": 20.0, "strong": 40.0}
    figure = metric_by_seconds(compared.scores, costs)
    *runs, front = figure.series
    assert [run.name for run in runs] == list(compared.scores)
    places = [(run.x[0], run.y[0]) for run in runs]
    on_front = list(zip(front.x, front.y, strict=True))
    for x, y in places:
        beaten = any(c <= x and v >= y and (c, v) != (x, y) for c, v in places)
        assert ((x, y) in on_front) != beaten
    assert figure.x.scale == "log"
    some = metric_by_seconds(compared.scores, {"weak": 1.0, "strong": 2.0, "middle": 0.0})
    assert (some.x.scale, some.note) == ("linear", "2 runs of unknown cost left out.")
    assert "fewer than two runs" in metric_by_seconds(compared.scores, {"weak": 1.0}).reason


def test_the_front_takes_the_lower_value_where_that_is_better():
    assert pareto_front([1, 2, 3], [5, 7, 3], lower=True) == [0, 2]
    assert pareto_front([1, 1], [0.2, 0.4]) == [1]


def test_the_set_has_every_figure_that_the_runs_allow(hits, compared):
    seconds = {"weak": 1.0, "middle": 2.0, "strong": 3.0}
    figures = make_figures(compared, hits, seconds=seconds, how=QUICK)
    assert [entry.name for entry in figures] == list(NAMES)
    assert all(isinstance(entry, Figure) for entry in figures)
    scatter = figures[NAMES.index("paired-scatter")]
    assert scatter.y.label == "ndcg@10 of strong"
    without = make_figures(compared, hits, how=QUICK)
    assert [entry.name for entry in without if isinstance(entry, LeftOut)] == ["metric-by-seconds"]
    for figure in figures:
        assert "quer" in figure.caption


def test_a_single_run_has_its_curves_and_reasons_for_the_rest(hits, compared):
    alone = compare_hits({"weak": hits["weak"]}, METRICS, bootstrap=QUICK)
    figures = make_figures(alone, hits, how=QUICK)
    assert {entry.name for entry in figures if isinstance(entry, Figure)} == set(OF_ONE)
    assert {entry.reason for entry in figures if isinstance(entry, LeftOut)} == {"there is one run, and two are needed"}
