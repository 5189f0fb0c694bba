"""Test the gate: its answers use the values of score and compare, and its error rates are as documented."""

import json
import math
import re

import jsonschema
import numpy as np
import pytest

import goldrank as gr
from goldrank import stats
from goldrank.baselines import read_baseline
from goldrank.errors import InputError
from goldrank.gating import queries_needed
from goldrank.store import Store
from stored_examples import save_ranked

METRICS = ["mrr", "ndcg@10", "recall@2"]


def gold_of(count=100):
    return {f"q{number}": {"right": 2, "also": 1} for number in range(count)}


def run_of(ranks):
    """Return a run in which the best item of each query has this rank."""
    rows = {}
    for number, rank in enumerate(ranks):
        others = [f"x{place}" for place in range(9)]
        others.insert(rank - 1, "right")
        rows[f"q{number}"] = {item: 20.0 - place for place, item in enumerate([*others, "also"])}
    return rows


@pytest.fixture
def runs():
    random = np.random.default_rng(0)
    ranks = random.integers(1, 6, 100)
    return {
        "base": run_of(ranks),
        "same": run_of(ranks),
        "noise": run_of(np.clip(ranks + random.choice([-1, 0, 1], 100), 1, 9)),
        "worse": run_of(ranks + random.integers(0, 4, 100)),
    }


def gate(runs, new, metrics="mrr", **keywords):
    return gr.gate(runs["base"], runs[new], metrics, gold=gold_of(), **keywords)


def test_each_of_the_three_answers_has_its_exit_code(runs):
    answers = {name: gate(runs, name) for name in ("same", "noise", "worse")}
    assert {name: (result.answer, result.exit_code) for name, result in answers.items()} == {
        "same": ("not_worse", 0),
        "noise": ("cannot_tell", 3),
        "worse": ("worse", 1),
    }
    [check] = answers["noise"].checks
    assert check.needed > check.queries == 100
    assert f"about {check.needed} queries would decide" in answers["noise"].sentence
    assert gate(runs, "noise", cannot_tell="pass").exit_code == 0
    assert gate(runs, "noise", cannot_tell="fail").exit_code == 1


def test_numbers_are_those_of_score_and_compare_to_the_last_digit(runs):
    both = {name: runs[name] for name in ("base", "worse")}
    compared = gr.compare(gold_of(), both, METRICS, family="all")
    result = gate(runs, "worse", METRICS)
    for check, pair in zip(result.checks, compared.pairs, strict=True):
        scores = {name: gr.score(gold_of(), run, METRICS) for name, run in both.items()}
        assert (check.base, check.new) == (scores["base"][check.metric].value, scores["worse"][check.metric].value)
        assert (check.metric, check.difference, check.interval) == (pair.metric, pair.difference, pair.interval)
        assert check.p_worse == (pair.adjusted if pair.difference < 0 else 1.0)
        assert (check.wins, check.ties, check.losses) == (pair.wins, pair.ties, pair.losses)


def test_a_baseline_gives_the_same_result_as_its_run(runs, tmp_path):
    gr.save_baseline(tmp_path / "b.json", runs["base"], METRICS, gold=gold_of())
    jsonschema.validate(json.loads((tmp_path / "b.json").read_text()), gr.load_schema("baseline"))
    for name in ("noise", "worse"):
        saved = gr.gate(tmp_path / "b.json", runs[name], gold=gold_of())
        assert saved.checks == gate(runs, name, METRICS).checks


def test_a_baseline_is_small_stable_and_follows_the_gold_to_another_order(runs, tmp_path):
    for name in ("a.json", "b.json"):
        gr.save_baseline(tmp_path / name, runs["base"], "mrr", gold=gold_of())
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert (tmp_path / "a.json").stat().st_size < 40 * 100 + 1000
    backwards = dict(reversed(gold_of().items()))
    result = gr.gate(tmp_path / "a.json", runs["same"], gold=backwards)
    assert result.checks[0].ties == 100


@pytest.mark.parametrize("sort", [False, True])
def test_a_baseline_survives_tools_that_rewrite_json(runs, tmp_path, sort):
    gr.save_baseline(tmp_path / "b.json", runs["base"], "mrr", gold=gold_of())
    content = json.loads((tmp_path / "b.json").read_text())
    (tmp_path / "other.json").write_text("\ufeff" + json.dumps(content, sort_keys=sort, indent=4))
    saved, other = (gr.gate(tmp_path / name, runs["worse"], gold=gold_of()) for name in ("b.json", "other.json"))
    assert other.checks == saved.checks


def test_pooled_metrics_with_weights_survive_a_baseline(runs, tmp_path):
    gold = {
        query: dict(list(judged.items())[: 1 + number % 2]) for number, (query, judged) in enumerate(gold_of().items())
    }
    gr.save_baseline(tmp_path / "b.json", runs["base"], "hits@3", gold=gold)
    saved = gr.gate(tmp_path / "b.json", runs["worse"], gold=gold)
    assert saved.checks == gr.gate(runs["base"], runs["worse"], "hits@3", gold=gold).checks


def test_a_loss_within_the_margin_is_not_worse_even_if_it_is_significant(runs):
    result = gate(runs, "worse", margin=0.5)
    assert result.answer == "not_worse"
    assert "significantly worse, but within the margin of 0.5" in result.sentence


def test_lower_is_better_where_the_metric_says_so(runs):
    with pytest.raises(InputError, match="needs a margin of its own"):
        gate(runs, "worse", "mean_rank")
    result = gate(runs, "worse", "mean_rank", margin={"mean_rank": 0.1})
    assert (result.answer, result.checks[0].difference > 0) == ("worse", True)
    assert result.checks[0].interval.low > 0
    swapped = gr.gate(runs["worse"], runs["base"], "mean_rank", gold=gold_of(), margin={"mean_rank": 0.1})
    assert swapped.answer == "not_worse"


def test_thresholds_are_decided_by_the_value_on_these_queries(runs):
    value = gr.score(gold_of(), runs["same"], "mrr")["mrr"].value
    assert gate(runs, "same", fail_under={"mrr": value}).answer == "not_worse"
    missed = gate(runs, "same", fail_under={"mrr": math.nextafter(value, 1)})
    assert missed.exit_code == 1
    assert missed.sentence.startswith("new misses a threshold in 1 of 2 checks: mrr is")
    assert gate(runs, "same", fail_under={"mean_rank": 1.0}).answer == "worse"


def test_slices_are_checked_and_corrected_together_with_all_queries(runs):
    half = {
        query: (rows if number % 2 else runs["worse"][query])
        for number, (query, rows) in enumerate(runs["base"].items())
    }
    table = [{"query": f"q{number}", "side": "odd" if number % 2 else "even"} for number in range(100)]
    result = gr.gate(runs["base"], half, "mrr", gold=gold_of(), slices=table)
    answers = {check.slice: check.answer for check in result.checks}
    assert (answers["side=even"], answers["side=odd"]) == ("worse", "not_worse")
    uncorrected = [
        stats.randomisation_test(np.array([gr.score(gold_of(), half, "mrr")["mrr"].per_query[query] - value
        for query, value in gr.score(gold_of(), runs["base"], "mrr")["mrr"].per_query.items()
        if check.slice in ("", "side=even" if int(query[1:]) % 2 == 0 else "side=odd")])).p
        for check in result.checks
    ]  # fmt: skip
    raw = np.where([check.difference < 0 for check in result.checks], uncorrected, 1.0)
    assert [check.p_worse for check in result.checks] == stats.holm(raw).tolist()
    jsonschema.validate(result.to_dict(), gr.load_schema("gate"))
    with pytest.raises(InputError, match="no attribute of queries 'side'"):
        gate(runs, "same", slice="side")


def test_slices_can_be_derived_from_the_gold_and_from_texts(runs, tmp_path):
    gold = {query: dict(list(judged.items())[: 1 + (at < 40)]) for at, (query, judged) in enumerate(gold_of().items())}
    rows = [{"id": query, "text": "why" if at < 30 else "wine", "topic": "a"} for at, query in enumerate(gold)]
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, rows)))
    result = gr.gate(
        runs["base"], runs["worse"], "mrr", gold=gold, slice=["relevant_items", "question_word"],
        texts=tmp_path / "queries.jsonl",
    )  # fmt: skip
    assert {check.slice: check.queries for check in result.checks} == {
        "": 100,
        "relevant_items=1": 60,
        "relevant_items=2": 40,
        "question_word=why": 30,
        "question_word=no question word": 70,
    }
    with pytest.raises(InputError, match="derived from the texts of queries, and there are none"):
        gr.gate(runs["base"], runs["worse"], "mrr", gold=gold, slice="query_length")


def test_stored_runs_are_gated_by_their_keys_and_against_a_baseline(tmp_path):
    store = Store.open(tmp_path / "store")
    good, bad = save_ranked(store, {"good": 9, "bad": 1})
    result = gr.gate(good.key, bad.key, "mrr", store=store)
    assert (result.answer, result.base, result.new) == ("worse", good.key, bad.key)
    gr.save_baseline(tmp_path / "b.json", good.key, "mrr", store=store)
    assert gr.gate(tmp_path / "b.json", bad.key, store=store).checks == result.checks
    [other] = save_ranked(store, {"other": 5}, data="0000000000000000")
    with pytest.raises(InputError, match="their data differ"):
        gr.gate(good.key, other.key, "mrr", store=store)


def test_a_sequential_gate_accepts_the_first_queries_only(runs):
    part = dict(list(runs["worse"].items())[:60])
    early = gate({**runs, "part": part}, "part", sequential=True)
    assert (early.answer, early.planned, early.checks[0].queries) == ("worse", 100, 60)
    assert early.checks[0].interval.high < 0
    assert early.checks[0].interval.method == "betting"
    gaps = {query: rows for query, rows in runs["worse"].items() if query != "q3"}
    with pytest.raises(InputError, match="answered 99 of 100 queries of those up to the last"):
        gate({**runs, "gaps": gaps}, "gaps", sequential=True)
    with pytest.raises(InputError, match="100 queries, and 50 were planned"):
        gate(runs, "worse", sequential=True, planned=50)
    with pytest.raises(InputError, match="no effect without a sequential test"):
        gate(runs, "worse", planned=50)
    with pytest.raises(InputError, match="between 0 and 1 for each query"):
        gate(runs, "worse", "hits@3", sequential=True)


def test_a_slice_that_no_query_has_reached_yet_counts_in_the_correction_and_cannot_be_told(runs):
    sides = {"side": {f"q{number}": "left" if number < 60 else "right" for number in range(100)}}
    part = dict(list(runs["worse"].items())[:50])
    early = gate({**runs, "part": part}, "part", sequential=True, slices=sides)
    last = early.checks[2]
    assert (last.slice, last.queries, last.answer, math.isnan(last.new)) == ("side=right", 0, "cannot_tell", True)
    base, new = (gr.score(gold_of(), runs[name], "mrr")["mrr"].values[:50] for name in ("base", "worse"))
    raw = [
        2 * math.exp(-stats.log_capital(base - new, -1.0, planned=planned, alpha=0.05 / (2 * 3)))
        for planned in (100, 60)
    ]
    assert [check.p_worse for check in early.checks] == stats.holm(np.array([*raw, 1.0])).tolist()
    good = gate(runs, "same", sequential=True, margin=0.9, slices=sides)
    part = dict(list(runs["same"].items())[:50])
    assert good.answer == "not_worse"
    unseen = gate({**runs, "part": part}, "part", sequential=True, margin=0.9, slices=sides)
    assert (unseen.answer, unseen.checks[0].answer) == ("cannot_tell", "not_worse")
    jsonschema.validate(unseen.to_dict(), gr.load_schema("gate"))
    assert "mrr of side=right has no scored query yet" in unseen.sentence


def test_a_sequential_gate_needs_the_order_of_the_baseline(runs, tmp_path):
    gr.save_baseline(tmp_path / "b.json", runs["base"], "mrr", gold=gold_of())
    part = dict(list(runs["worse"].items())[:60])
    assert gr.gate(tmp_path / "b.json", part, gold=gold_of(), sequential=True).checks[0].queries == 60
    backwards = dict(reversed(gold_of().items()))
    with pytest.raises(InputError, match="in another order"):
        gr.gate(tmp_path / "b.json", runs["worse"], gold=backwards, sequential=True)


def test_the_needed_number_of_queries_decides_about_as_often_as_it_promises():
    random = np.random.default_rng(1)
    d = random.choice([-0.5, 0.0, 0.5], 100)
    d -= d.mean()
    needed = queries_needed(d, 0.1, 0.05)
    samples = random.choice(d, (2000, needed))
    t = (samples.mean(axis=1) + 0.1) / (samples.std(axis=1, ddof=1) / math.sqrt(needed))
    assert np.mean(t > 1.96) == pytest.approx(0.8, abs=0.04)


def decide(columns, margin):
    """Return the shares of "worse" and "not worse" by the tests of the gate, for the columns of two metrics each."""
    flat = [column for pair in columns for column in pair]
    results = []
    for sign, shift in ((-1, 0.0), (1, margin)):
        tests = stats.randomisation_tests([column + shift for column in flat], resamples=2000)
        p = np.array([test.p if sign * test.statistic > 0 else 1.0 for test in tests]).reshape(-1, 2)
        results.append(np.array([stats.holm(row) for row in p]) <= 0.05)
    return results


def test_the_gate_of_fixed_size_errs_rarely_and_finds_losses():
    """Two metrics and 200 queries: false alarms, false clearances, and the power of both."""
    random = np.random.default_rng(2)
    queries, gates, margin = 200, 400, 0.04

    def pairs(mean):
        sizes = random.beta(0.6, 2.0, (gates, 2, queries))
        signs = np.where(random.random(sizes.shape) < 0.5 + mean * 2.6 / 0.6, 1.0, -1.0)
        return np.where(random.random(sizes.shape) < 0.5, 0.0, sizes * signs)

    worse, not_worse = decide(pairs(0.0), margin)
    assert worse.any(axis=1).mean() <= 0.05
    assert not_worse.all(axis=1).mean() >= 0.4  # the power to clear two equal runs on both metrics
    worse, not_worse = decide(pairs(-margin), margin)
    assert not_worse.any(axis=1).mean() <= 0.05
    worse, _ = decide(pairs(-0.06), margin)
    assert worse.all(axis=1).mean() >= 0.8


REFUSED = {
    "cut off": (lambda text: text[: len(text) // 2], "not valid JSON"),
    "NaN": (lambda text: text.replace('"q1": [', '"q1": [NaN, ', 1), "NaN"),
    "null": (lambda text: text.replace(text.split('"q1": ')[1].split("\n")[0], "[null],"), "its means are not"),
    "text": (lambda text: text.replace(text.split('"q1": ')[1].split("\n")[0], '["1"],'), "'q1' has the value '1'"),
    "huge": (lambda text: text.replace(text.split('"q1": ')[1].split("\n")[0], f"[1{'0' * 400}],"), "too large"),
    "duplicate query": (lambda text: text.replace('"q2":', '"q1":'), "q1"),
    "missing query": (lambda text: re.sub(r'"q1": .*\n', "", text), "scores of 99 queries, and should have 100"),
    "other version": (lambda text: text.replace("baseline/1", "baseline/2"), "reads goldrank/baseline/1"),
    "unknown convention": (lambda text: text.replace('"ties"', '"tied"'), "not those of this goldrank"),
    "bad convention": (lambda text: text.replace('"docid"', '"dice"'), "conventions are not valid"),
    "other parameters": (lambda text: text.replace('"of": "first"', '"of": "all"'), "was computed as"),
    "edited": (lambda text: text.replace('"mrr": 0.', '"mrr": 1.'), "its means are not"),
    "no object": (lambda _: "[1, 2]", "not a baseline"),
    "unknown metric": (lambda text: text.replace('"mrr":', '"nosuch":'), "there is no metric 'nosuch'"),
    "unknown profile": (lambda text: text.replace('"standard"', '"nosuch"'), "there is no profile 'nosuch'"),
    "weight": (lambda text: text.replace('"weights": {', f'"weights": {{"mrr": {[-1] * 100}'), "a weight is not"),
    "metrics": (lambda text: text.replace('"metrics": {', '"metrics": 3, "m": {'), "metrics is 3"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_damaged_baseline_is_refused_with_the_reason(runs, tmp_path, case):
    damage, message = REFUSED[case]
    path = tmp_path / "b.json"
    gr.save_baseline(path, runs["base"], "mrr", gold=gold_of())
    damaged = damage(path.read_text())
    assert damaged != path.read_text()
    path.write_text(damaged)
    with pytest.raises(InputError) as caught:
        gr.gate(read_baseline(path), runs["same"], gold=gold_of())
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


def test_other_data_and_conventions_are_refused_with_the_reason(runs, tmp_path):
    path = tmp_path / "b.json"
    gr.save_baseline(path, runs["base"], "mrr", gold=gold_of())
    regraded = {**gold_of(), "q5": {"right": 1}}
    cases = [
        ({"gold": regraded}, "judged items or their grades differ"),
        ({"gold": gold_of(99)}, "1 query in the baseline only, 0 in the gold only: 'q99'"),
        ({"gold": gold_of(), "corpus": 500}, "different corpora (unknown and 500 items)"),
        ({"gold": gold_of(), "ties": "expected"}, "other conventions than ties=expected"),
        ({"gold": gold_of(), "profile": "beir"}, "other conventions than profile=beir"),
        ({"gold": gold_of(), "metrics": "ndcg@10"}, "there is no metric in the baseline 'ndcg@10'"),
        ({}, "it names no gold"),
    ]
    for keywords, message in cases:
        with pytest.raises(InputError) as caught:
            gr.gate(path, runs["same"], **keywords)
        assert message in str(caught.value)


def test_a_run_without_all_queries_is_refused_until_somebody_says_how_they_count(runs, tmp_path):
    part = dict(list(runs["same"].items())[:-1])
    with pytest.raises(InputError, match=r"new answered 99 of 100 queries \(no results for 'q99'\)"):
        gate({**runs, "part": part}, "part")
    assert gate({**runs, "part": part}, "part", missing="zero").checks[0].losses == 1
    assert gate({**runs, "part": part}, "part", missing="skip").checks[0].queries == 99
    with pytest.raises(InputError, match="base answered 99 of 100"):
        gr.save_baseline(tmp_path / "b.json", part, "mrr", gold=gold_of())
    assert not (tmp_path / "b.json").exists()
    strangers = {query: {"y": 1.0} for query in gold_of()}
    with pytest.raises(InputError, match="retrieved none of the 200 judged items"):
        gate({**runs, "strangers": strangers}, "strangers", missing="zero")


@pytest.mark.parametrize("metric", ["gmap", "median_rank", "num_ret"])
def test_metrics_without_a_test_of_means_cannot_decide(runs, metric):
    with pytest.raises(InputError, match=r"cannot decide a gate|needs a margin"):
        gate(runs, "same", metric)
