"""Test that comparisons detect real differences, few chance differences, and reject runs that cannot be compared."""

import math

import numpy as np
import pytest

import goldrank as gr
from goldrank import stats

QUERIES = [f"q{i}" for i in range(40)]
GOLD = {query: {"right": 1, "also": 1} for query in QUERIES}


def run_with(ranks):
    """Return a run with the relevant item at the given rank of each query."""
    return {
        query: {("right" if place == rank else f"w{place}"): float(10 - place) for place in range(1, 6)}
        for query, rank in zip(QUERIES, ranks, strict=True)
    }


def test_a_real_difference_is_found_and_a_copy_is_not():
    rng = np.random.default_rng(1)
    weak = run_with(rng.integers(2, 6, 40))
    runs = {"weak": weak, "copy": weak, "strong": run_with(rng.integers(1, 3, 40))}
    comparison = gr.compare(GOLD, runs, "mrr")
    by_pair = {(pair.a, pair.b): pair for pair in comparison.pairs}
    assert by_pair["weak", "copy"].p == 1.0
    assert by_pair["weak", "copy"].ties == 40
    assert by_pair["weak", "strong"].adjusted < 0.001
    assert comparison.better_than("mrr", "strong") == ["weak", "copy"]
    assert comparison.better_than("mrr", "weak") == []
    pair = by_pair["weak", "strong"]
    assert pair.interval.low < pair.difference < pair.interval.high
    assert pair.wins + pair.ties + pair.losses == pair.queries == 40


class NamedRun(dict):
    """A run with a name, as in ranx."""

    name = "named"


def test_runs_in_a_list_are_called_by_their_own_names(tmp_path):
    file = tmp_path / "file.run"
    gr.Run(run_with([2] * 40)).write(file)
    comparison = gr.compare(GOLD, [NamedRun(run_with([1] * 40)), file], "mrr")
    assert {name: scores["mrr"].mean for name, scores in comparison.scores.items()} == {"named": 1.0, str(file): 0.5}


@pytest.mark.parametrize(
    ("runs", "sentence"),
    [
        ([{"q0": {"right": 1.0}}] * 2, 'run 1 of the list has no name; give a dict: {"bm25": run, "dense": other}'),
        ([NamedRun()] * 2, "run 2 of the list has the same name as another, 'named'; give a dict: "
         '{"bm25": run, "dense": other}'),
    ],
)  # fmt: skip
def test_runs_in_a_list_need_names_that_differ(runs, sentence):
    with pytest.raises(gr.InputError) as caught:
        gr.compare(GOLD, runs, "mrr")
    assert str(caught.value) == sentence


def test_no_false_alarm_more_often_than_promised():
    """The differences of two equal systems are rarely significant at level 0.05 (in 100 draws)."""
    rng = np.random.default_rng(7)
    alarms = 0
    for _ in range(100):
        runs = {name: run_with(rng.integers(1, 6, 40)) for name in ("a", "b")}
        alarms += gr.compare(GOLD, runs, "mrr", test="t").pairs[0].p <= 0.05
    assert alarms <= 12  # binomial(100, 0.05) exceeds 12 with probability 0.0015


def test_holm_corrects_over_pairs_of_a_metric_or_over_everything():
    rng = np.random.default_rng(3)
    runs = {name: run_with(rng.integers(1, 6, 40)) for name in "abc"}
    plain = gr.compare(GOLD, runs, ["mrr", "recall@2"], correction="none")
    by_metric = gr.compare(GOLD, runs, ["mrr", "recall@2"])
    over_all = gr.compare(GOLD, runs, ["mrr", "recall@2"], family="all")
    for first, second, third in zip(plain.pairs, by_metric.pairs, over_all.pairs, strict=True):
        assert first.p == first.adjusted <= second.adjusted <= third.adjusted + 1e-15


@pytest.mark.parametrize("test", ["randomisation", "t", "wilcoxon"])
def test_every_test_agrees_on_a_clear_case(test):
    runs = {"bad": run_with([5] * 20 + [4] * 20), "good": run_with([1] * 20 + [2] * 20)}
    assert gr.compare(GOLD, runs, "mrr", test=test).pairs[0].p < 0.001


def test_mcnemar_takes_hit_metrics_only():
    runs = {"bad": run_with([2] * 40), "good": run_with([1] * 40)}
    assert gr.compare(GOLD, runs, "hit_rate@1", test="mcnemar").pairs[0].p < 1e-6
    with pytest.raises(gr.InputError, match="0 or 1"):
        gr.compare(GOLD, runs, "ndcg@3", test="mcnemar")


def test_lower_is_better_where_the_metric_says_so():
    runs = {"far": run_with([5] * 40), "near": run_with([1] * 40)}
    comparison = gr.compare(GOLD, runs, "mean_rank(unfound=skip,of=first)")
    assert comparison.better_than("mean_rank(unfound=skip,of=first)", "near") == ["far"]
    assert comparison.pairs[0].wins == 40


def test_pooled_metrics_are_tested_on_differences_that_average_to_the_difference():
    gold = {query: {"right": 1, **{f"g{i}": 1 for i in range(n % 3)}} for n, query in enumerate(QUERIES)}
    runs = {"a": run_with([2] * 20 + [1] * 20), "b": run_with([1] * 40)}
    (pair,) = gr.compare(gold, runs, "hits@1").pairs
    means = {name: gr.score(gold, run, "hits@1")["hits@1"].mean for name, run in runs.items()}
    assert pair.difference == pytest.approx(means["b"] - means["a"])
    assert pair.interval.low < pair.difference < pair.interval.high


def test_metrics_without_a_paired_test_say_so():
    runs = {"a": run_with([2] * 40), "b": run_with([1] * 40)}
    comparison = gr.compare(GOLD, runs, ["median_rank(unfound=skip)", "num_ret", "gmap"])
    median, count, geometric = comparison.pairs
    assert math.isnan(median.p)
    assert "median" in median.note
    assert math.isnan(count.p)
    assert geometric.p < 0.001
    assert "logarithms" in geometric.note


def test_missing_queries_count_as_0_or_are_left_out_for_every_run():
    a, b = run_with([1] * 40), run_with([2] * 40)
    del b["q0"]
    assert gr.compare(GOLD, {"a": a, "b": b}, "mrr").scores["b"]["mrr"].mean == 0.5 * 39 / 40
    comparison = gr.compare(GOLD, {"a": a, "b": b}, "mrr", missing="skip")
    assert comparison.reduced_to_common == 1
    assert comparison.pairs[0].queries == 39


@pytest.mark.parametrize(
    ("options", "message"),
    [({"test": "anova"}, "anova"), ({"correction": "sidak"}, "sidak"), ({"family": "clan"}, "clan")],
)
def test_unknown_options_are_refused(options, message):
    runs = {"a": run_with([1] * 40), "b": run_with([2] * 40)}
    with pytest.raises(gr.InputError, match=message):
        gr.compare(GOLD, runs, "mrr", **options)


def test_a_single_query_is_no_crash():
    (pair,) = gr.compare({"q": {"a": 1}}, {"x": {"q": {"a": 1.0}}, "y": {"q": {"b": 1.0}}}, "mrr").pairs
    assert pair.p == 1.0
    assert pair.interval is None


def test_runs_that_share_their_resamples_have_the_intervals_that_they_have_alone():
    rng = np.random.default_rng(3)
    gold = {f"q{q}": {"a": 1, "b": q % 2} for q in range(60)}
    runs = {
        name: {query: dict(zip("abcdef", rng.permutation(6).tolist(), strict=True)) for query in list(gold)[:answered]}
        for name, answered in (("all", 60), ("most", 58))
    }
    metrics = ["ndcg@3", "mrr", "hits@1", "median_rank(unfound=skip)", "gm_map"]
    shared = gr.compare(gold, runs, metrics)
    for name, run in runs.items():
        assert shared.scores[name].intervals == gr.score(gold, run, metrics).intervals
    for pair in shared.pairs:
        values = [shared.scores[run][pair.metric].values for run in ("all", "most")]
        if pair.metric in ("ndcg@3", "mrr"):
            [alone] = stats.intervals([stats.Sample(values[1] - values[0])])
            assert pair.interval == alone
            assert pair.p == stats.randomisation_test(values[1] - values[0]).p


def test_an_effect_size_without_spread_is_shown_as_infinite():
    text = str(gr.compare(GOLD, {"first": run_with([1] * 40), "second": run_with([2] * 40)}, "mrr"))
    [cells] = [line.split() for line in text.splitlines() if "0/0/40" in line]
    assert "−inf" in cells
