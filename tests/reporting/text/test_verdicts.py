"""Verdicts name broken runs first, then the better run and the difference, or that no difference can be told."""

import numpy as np
import pytest

import goldrank as gr
from goldrank.comparing import MOST_MISSING
from goldrank.reporting.text.comparison import shown_pairs, view
from goldrank.reporting.text.verdicts import broken_lines, measured_statement, verdict_lines
from goldrank.tasks.measurement import MeasuredValue

QUERIES = [f"q{number}" for number in range(40)]
GOLD = gr.Gold({query: {"right": 1} for query in QUERIES})
QUICK = gr.Bootstrap(resamples=200)


def ranked(place, queries=QUERIES, right="right"):
    """Return a run that ranks ``place(n)`` other items above the right item of query n."""
    return gr.Run(
        {query: {f"x{i}": 9.0 - i for i in range(place(n))} | {right: 0.5} for n, query in enumerate(queries)}
    )


GOOD, BAD = ranked(lambda n: n % 3 == 0), ranked(lambda n: 2 + n % 4)
MIDDLE, ALIKE = ranked(lambda n: 1 + n % 2), ranked(lambda n: 1 + (n + 1) % 2)


def compared(runs, metrics=("mrr",), **options):
    return gr.compare(GOLD, runs, metrics, bootstrap=QUICK, **options)


@pytest.mark.parametrize("order", [("good", "bad"), ("bad", "good")])
def test_of_two_runs_the_better_one_is_named_first_whoever_comes_first(order):
    runs = {"good": GOOD, "bad": BAD}
    result = compared({name: runs[name] for name in order})
    sentence = result.verdict["mrr"]
    good, bad = (result.scores[name]["mrr"].value for name in ("good", "bad"))
    start = f"good is better than bad on mrr: {good:.4f} vs {bad:.4f}, difference {good - bad:.4f} ["
    assert sentence.startswith(start)
    assert sentence.endswith("], p < 0.001 (paired randomisation, Holm).")
    assert "−" not in sentence


def test_two_runs_that_cannot_be_told_apart_say_which_difference_the_data_could_show():
    result = compared({"one": ranked(lambda n: n % 2), "other": ranked(lambda n: (n + 1) % 2)})
    (pair,) = result.pairs
    sentence = result.verdict["mrr"]
    assert sentence.startswith("one and other cannot be told apart on mrr: 0.7500 vs 0.7500, difference 0.0000 [−")
    assert f"; 40 queries can show differences from {pair.detectable:.4f} up." in sentence


def test_equal_runs_are_called_equal():
    assert (
        compared({"one": GOOD, "copy": GOOD})
        .verdict["mrr"]
        .startswith("one and copy have the same mrr on every query (")
    )
    assert compared(dict.fromkeys("abc", GOOD)).verdict["mrr"].startswith("All runs have the same mrr on every query (")


def test_a_metric_without_a_test_or_without_a_direction_says_so():
    verdict = compared({"good": GOOD, "bad": BAD}, ["median_rank(unfound=last)", "num_ret"]).verdict
    assert "good and bad were not tested on median_rank(unfound=last)" in verdict["median_rank(unfound=last)"]
    assert verdict["num_ret"].startswith("On num_ret no direction is the better one: ")


FOUR = {"bad": BAD, "middle": MIDDLE, "alike": ALIKE, "good": GOOD}


def test_of_four_runs_the_leader_is_compared_with_all_others():
    result = compared(FOUR, ["mrr", "recall@1"])
    assert result.order("mrr") == ["good", "middle", "alike", "bad"]
    assert result.verdict["mrr"].startswith("On mrr, good is best with 0.8250 [")
    assert result.verdict["mrr"].endswith(
        "]; it is better than every other run (p < 0.001); paired randomisation, Holm."
    )
    tied = compared({**FOUR, "best": ranked(lambda n: n % 4 == 0)})
    assert "cannot be told apart from good (p = " in tied.verdict["mrr"]
    assert "better than middle, alike and bad (p < 0.001)" in tied.verdict["mrr"]
    assert tied.verdict["mrr"].startswith("On mrr, best leads with ")


def test_the_pairs_that_matter_are_shown_best_first_and_all_on_request():
    result = compared(FOUR)
    main = [(pair.b, pair.a) for pair in shown_pairs(result, all_pairs=False)]
    assert main == [
        ("good", "middle"), ("good", "alike"), ("good", "bad"), ("middle", "alike"), ("alike", "bad"),
    ]  # fmt: skip
    all_pairs = [(pair.b, pair.a) for pair in shown_pairs(result, all_pairs=True)]
    assert all_pairs == [*main[:4], ("middle", "bad"), main[4]]
    assert all(pair.difference >= 0 and pair.wins >= pair.losses for pair in shown_pairs(result, all_pairs=True))
    assert "5 of 6 pairs; --verbose and files have all" in view(result).render("table")
    assert "of 6 pairs" not in view(result, all_pairs=True).render("table")
    assert len(view(result).to_dict()["comparison"]["pairs"]) == 6


def test_a_reversed_pair_says_the_same_from_the_other_side():
    (pair,) = compared({"good": GOOD, "bad": BAD}).pairs
    back = pair.reverse()
    assert (back.a, back.b, back.wins, back.losses) == (pair.b, pair.a, pair.losses, pair.wins)
    assert (back.difference, back.interval.low, back.interval.high) == (
        -pair.difference, -pair.interval.high, -pair.interval.low,
    )  # fmt: skip
    assert back.reverse() == pair


def test_a_run_that_answers_few_queries_is_named_first_and_not_compared():
    result = compared({"whole": BAD, "b": ranked(lambda n: 0, QUERIES[:1])}, ["mrr", "recall@1"])
    assert result.verdict["mrr"].startswith("b answered 1 of 40 queries. So it is not compared: say how ")
    assert "--missing zero (as 0) or --missing skip" in result.verdict["mrr"]
    assert "better" not in result.verdict["mrr"]
    assert result.unfit == {"b"}
    assert result.better_than("mrr", "whole") == []
    assert len([line for line in verdict_lines(result) if line.startswith("b answered")]) == 1
    content = result.to_dict()["comparison"]
    assert content["broken"] == [
        {"run": "b", "answered": 1, "queries": 40, "retrieved_judged": True, "compared": False}
    ]
    assert [pair["better"] for pair in content["pairs"]] == [None, None]
    assert content["verdict"] == result.verdict


def test_a_chosen_convention_lets_a_broken_run_be_compared_and_is_said_first():
    runs = {"whole": BAD, "b": ranked(lambda n: 0, QUERIES[:10])}
    zero = compared(runs, missing="zero").verdict["mrr"]
    assert zero.startswith("b answered 10 of 40 queries; missing queries count as 0. b and whole cannot be told apart")
    skip = compared(runs, missing="skip")
    assert skip.verdict["mrr"].startswith(
        "b answered 10 of 40 queries; missing queries are left out for every run. b is better than whole"
    )
    assert (skip.reduced_to_common, skip.pairs[0].queries) == (30, 10)


def test_a_few_missing_queries_are_no_defect():
    few = int(MOST_MISSING * len(QUERIES))
    for left, broken in ((few, False), (few + 1, True)):
        result = compared({"whole": GOOD, "part": ranked(lambda n: 1, QUERIES[left:])})
        assert bool(result.flaws) is broken


def test_one_broken_run_among_four_leaves_the_others_compared():
    result = compared({**FOUR, "b": ranked(lambda n: 0, QUERIES[:1])})
    whole = compared(FOUR)
    assert result.verdict["mrr"].startswith("b answered 1 of 40 queries. So it is not compared")
    assert "On mrr, good is best" in result.verdict["mrr"]
    assert result.order("mrr") == whole.order("mrr")
    assert [pair for pair in result.pairs if not pair.unfit] == whole.pairs, "the correction leaves out broken runs"
    assert all(np.isnan(pair.adjusted) for pair in result.pairs if pair.unfit)
    tukey = compared({**FOUR, "b": ranked(lambda n: 0, QUERIES[:1])}, test="tukey")
    assert [pair for pair in tukey.pairs if not pair.unfit] == compared(FOUR, test="tukey").pairs
    assert "Not compared, because broken: b." in view(result).render("table")


def test_runs_of_disjoint_queries_are_compared_in_no_way():
    runs = {"first": ranked(lambda n: 0, QUERIES[:20]), "second": ranked(lambda n: 0, QUERIES[20:])}
    sentence = compared(runs).verdict["mrr"]
    assert sentence.startswith("first answered 20 of 40 queries; second answered 20 of 40 queries. So they are not ")
    assert sentence.endswith("No run can be compared on mrr.")
    with pytest.raises(gr.InputError, match=r"no query has results in every run \(first, second\)"):
        compared(runs, missing="skip")


def test_a_run_without_a_judged_result_is_not_compared_whatever_is_chosen():
    result = compared({"whole": GOOD, "b": ranked(lambda n: 0, right="doc-right")}, missing="zero")
    assert result.verdict["mrr"].startswith("b retrieved none of the 40 judged items. So it is not compared: check ")
    assert {warning.code for warning in result.warnings} & {"item-id-forms", "no-gold-found"}


def test_a_run_of_other_query_ids_is_refused_by_its_name():
    renamed = gr.Run({f"Q{n}": {"right": 1.0} for n in range(40)})
    with pytest.raises(gr.InputError, match=r"b: no query of the run is in the gold .* differ only in case"):
        compared({"whole": GOOD, "b": renamed})
    empty = compared({"whole": GOOD, "b": gr.Run({})}).verdict["mrr"]
    assert empty.startswith("b answered 0 of 40 queries. So it is not compared")


def test_a_profile_that_skips_missing_queries_asks_before_a_broken_run_empties_the_others():
    runs = {"whole": GOOD, "b": ranked(lambda n: 0, QUERIES[:1])}
    with pytest.raises(gr.InputError, match=r"b answered 1 of 40 queries, and under this profile") as caught:
        compared(runs, profile="trec_eval")
    assert "--missing skip" in str(caught.value)
    few = compared({"whole": GOOD, "part": ranked(lambda n: 1, QUERIES[1:])}, profile="trec_eval")
    assert few.reduced_to_common == 1


def test_a_model_that_was_given_every_query_is_compared_and_named_first():
    hits = {name: run.hits(GOLD) for name, run in {"a": GOOD, "b": ranked(lambda n: 3, QUERIES[:30])}.items()}
    result = gr.compare_hits(hits, "mrr", evaluated=["a", "b"], bootstrap=QUICK)
    assert result.verdict["mrr"].startswith(
        "b answered 30 of 40 queries; missing queries count as 0. a is better than b on mrr: "
    )


def test_measurements_have_verdicts_of_the_same_form():
    values = {"high": MeasuredValue(0.7, 90, 0.6, 0.8), "low": MeasuredValue(0.5, 90), "other": MeasuredValue(0.4, 90)}
    two = dict(list(values.items())[:2])
    assert measured_statement(dict(list(values.items())[:1]), {}, 0.05, "spearman") == (
        "high reaches spearman 0.7000 [0.6000, 0.8000] over 90 pairs or examples."
    )
    assert measured_statement(two, {("high", "low"): 0.01}, 0.05, "spearman") == (
        "high is better than low on spearman: 0.7000 vs 0.5000, difference 0.2000, p = 0.010 (paired test, Holm)."
    )
    p_values = {("high", "low"): 0.3, ("high", "other"): 0.02, ("low", "other"): 1.0}
    assert measured_statement(values, p_values, 0.05, "spearman") == (
        "On spearman, high leads with 0.7000 [0.6000, 0.8000]; it is better than other (p = 0.020) and cannot be "
        "told apart from low (p = 0.300); paired test, Holm."
    )
    assert "it was not tested against low and other" in measured_statement(values, {}, 0.05, "spearman")


def test_sound_runs_have_nothing_said_first():
    assert broken_lines(compared(FOUR)) == []
    assert np.isfinite([pair.adjusted for pair in compared(FOUR).pairs]).all()
