"""Test filtered positives and excluded self-matches against brute force."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import goldrank as gr
from goldrank.metrics import Conventions
from goldrank.scoring import HitCounter, score_hits

IDS = "abcdefg"
POLICIES = ("optimistic", "pessimistic", "expected", "docid", "input")
SELVES = ("keep", "drop", "drop_results", "aside", "implied")


@st.composite
def rankings(draw):
    """Draw gold and a run with many ties; queries are items, and the gold may contain the query itself."""
    items = draw(st.permutations(IDS[: draw(st.integers(2, 7))]))
    grades = st.dictionaries(st.sampled_from(items), st.sampled_from([0, 1, 2]), min_size=1)
    gold = draw(st.dictionaries(st.sampled_from(items), grades, min_size=1, max_size=3))
    run = {query: {item: float(draw(st.integers(0, 2))) for item in items} for query in gold}
    return gold, run


def places(ranking, query, item, others, ties, selves):
    """Return the ranks that the item may take among its rivals, which are equally likely."""
    scores = dict(ranking)
    rivals = [other for other in scores if other != item and other not in others]
    if selves in ("drop", "drop_results", "aside"):
        rivals = [other for other in rivals if other != query]
    above = sum(scores[other] > scores[item] for other in rivals)
    tied = [other for other in rivals if scores[other] == scores[item]]
    listed = list(scores)
    before = {
        "optimistic": 0,
        "pessimistic": len(tied),
        "docid": sum(other > item for other in tied),
        "input": sum(listed.index(other) < listed.index(item) for other in tied),
    }
    starts = range(above, above + len(tied) + 1) if ties == "expected" else [above + before[ties]]
    if selves == "implied":
        # One item above is assumed to be the query; the best rank of a tie decides whether there is one.
        shift = 1 if starts[0] > 0 else 0
        starts = [start - shift for start in starts]
    return [start + 1 for start in starts]


def expected_reciprocal(gold, run, ties, selves, filtered):
    total, count = Fraction(0), 0
    for query, row in gold.items():
        positives = [item for item, grade in row.items() if grade > 0]
        if selves == "drop":
            positives = [item for item in positives if item != query]
        for item in positives:
            count += 1
            if selves == "drop_results" and item == query:
                continue
            others = [other for other in positives if other != item] if filtered else []
            ranks = places(run[query], query, item, others, ties, selves)
            total += sum(Fraction(1, rank) for rank in ranks) / len(ranks)
    return float(total / count) if count else 0.0


@given(rankings(), st.sampled_from(POLICIES), st.sampled_from(SELVES), st.booleans())
def test_mrr_over_pairs_is_that_of_sorting_each_positive_among_its_own_rivals(case, ties, selves, filtered):
    gold, run = case
    options = {"ties": ties, "self_matches": selves, "positives": "filtered" if filtered else "rivals"}
    mrr = gr.score(gold, run, "mrr(of=all)", corpus=set(next(iter(run.values()))), **options)["mrr(of=all)"].mean
    np.testing.assert_allclose(np.nan_to_num(mrr), expected_reciprocal(gold, run, ties, selves, filtered), atol=1e-12)


@given(rankings(), st.sampled_from(POLICIES), st.sampled_from([*SELVES, "first"]), st.booleans())
def test_hits_that_set_the_query_aside_know_what_they_would_be_with_it(case, ties, selves, filtered):
    gold, run = gr.Gold(case[0]), gr.Run(case[1])
    if selves == "first" and ties == "expected":
        return
    names = ["mrr(of=all)", "hits@2", "mpr(over=list,unfound=last)", "ndcg@3"]
    options = {"ties": ties, "self_matches": selves, "positives": "filtered" if filtered else "rivals"}
    corpus = set(IDS)
    aside = HitCounter(gold, run, corpus).count(Conventions(self_matches="aside"))
    direct = gr.score(gold, run, names, corpus=corpus, **options)
    derived = score_hits(aside, names, **options)
    for name in names:
        np.testing.assert_array_equal(derived[name].values, direct[name].values)


def test_filtering_moves_only_metrics_that_rank_each_positive_by_itself():
    gold, run = {"q": {"a": 1, "b": 1}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    names = ["mrr(of=all)", "hits@1", "mean_rank", "mpr", "ndcg@10", "map", "mrr", "recall@1"]
    plain, filtered = (gr.score(gold, run, names, corpus=3, positives=p) for p in ("rivals", "filtered"))
    assert {name for name in names if plain[name].value != filtered[name].value} == set(names[:4])
    assert filtered["mrr(of=all)"].mean == 1.0


def test_a_profile_that_needs_the_query_in_its_ranking_refuses_hits_counted_without_it():
    run = gr.Run({"a": {"a": 3.0, "b": 2.0}})
    hits = run.hits(gr.Gold({"a": {"b": 1}}), drop_self=True)
    with pytest.raises(gr.errors.InputError, match="self_matches=implied needs the query itself in its ranking"):
        score_hits(hits, profile="evalrank")
