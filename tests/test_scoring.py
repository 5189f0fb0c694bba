"""Test scoring: accepted inputs, results, and changes of the input that must not change the scores."""

import gc
import math
import random
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import goldrank as gr
from goldrank.hits import Hits
from goldrank.reporting.text import results

METRICS = ["ndcg@3", "map", "mrr", "recall@2", "hits@2", "bpref", "err@3", "rbp", "precision@2", "infap", "11pt"]
ITEMS = [f"d{i}" for i in range(8)]

GOLD = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(st.sampled_from(ITEMS), st.integers(-1, 3), min_size=1),
    min_size=1,
)
RUN = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(st.sampled_from(ITEMS), st.sampled_from([0.5, 1.0, 1.0 + 1e-9, 2.0]), min_size=1),
    min_size=1,
)


def means(gold, run, **options):
    try:
        return {name: score.value for name, score in gr.score(gold, run, METRICS, **options).items()}
    except gr.InputError as error:
        return str(error)[:20]


def shuffled(mapping, rng):
    return dict(rng.sample(list(mapping.items()), len(mapping)))


@given(GOLD, RUN, st.randoms())
def test_order_of_queries_and_items_changes_nothing(gold, run, rng):
    other_gold = {query: shuffled(items, rng) for query, items in shuffled(gold, rng).items()}
    other_run = {query: shuffled(items, rng) for query, items in shuffled(run, rng).items()}
    for ties in ("docid", "pessimistic", "optimistic"):
        assert means(gold, run, ties=ties) == pytest.approx(
            means(other_gold, other_run, ties=ties), abs=1e-14, nan_ok=True
        )


@given(GOLD, RUN)
def test_renaming_ids_changes_nothing_unless_ties_are_broken_by_id(gold, run):
    def rename(mapping):
        return {
            f"x{query}": {item[::-1] + "é": value for item, value in items.items()} for query, items in mapping.items()
        }

    for ties in ("input", "pessimistic", "optimistic"):
        assert means(gold, run, ties=ties) == means(rename(gold), rename(run), ties=ties)


@given(GOLD, RUN, st.randoms())
def test_a_file_in_any_order_of_lines_scores_like_the_dict(tmp_path_factory, gold, run, rng):
    lines = [f"{query} Q0 {item} 0 {score!r} t\n" for query, items in run.items() for item, score in items.items()]
    rng.shuffle(lines)
    path = tmp_path_factory.mktemp("run") / "shuffled.run"
    path.write_text("".join(lines))
    assert means(gold, str(path)) == means(gold, run)


@given(GOLD, RUN)
def test_scoring_queries_apart_gives_the_same_values(gold, run):
    if not set(gold) & set(run):
        return
    whole = gr.score(gold, run, ["ndcg@3", "map", "bpref"])
    for query in gold:
        if query in run:
            apart = gr.score({query: gold[query]}, {query: run[query]}, ["ndcg@3", "map", "bpref"])
            for name in apart:
                assert apart[name].value == whole[name].per_query[query]


def test_the_number_of_threads_changes_nothing(tmp_path, capsys):
    from goldrank.cli.main import main

    rng = random.Random(5)
    gold = [f"q{q} 0 d{rng.randrange(50)} {rng.randrange(3)}\n" for q in range(30)]
    (tmp_path / "gold").write_text("".join(gold))
    paths = []
    for run in range(4):
        lines = [f"q{q} Q0 d{d} 0 {rng.random():.3f} t\n" for q in range(30) for d in range(50)]
        (tmp_path / f"{run}.run").write_text("".join(lines))
        paths.append(str(tmp_path / f"{run}.run"))
    outputs = []
    for threads in ("1", "4"):
        assert main(["score", str(tmp_path / "gold"), *paths, "--format", "json", "--threads", threads]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


def test_missing_queries_count_zero_are_skipped_or_refused():
    gold, run = {"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": {"a": 1.0}}
    assert gr.score(gold, run, "mrr")["mrr"].mean == 0.5
    assert gr.score(gold, run, "mrr", missing="skip")["mrr"].mean == 1.0
    with pytest.raises(gr.InputError, match="'q2'"):
        gr.score(gold, run, "mrr", missing="error")


def test_counts_say_what_was_left_out():
    gold = {"q1": {"q1": 1, "a": 1}, "q2": {"b": 0}, "q3": {"c": 1, "outside": 1}}
    run = {"q1": {"q1": 2.0, "a": 1.0}, "q2": {"b": 1.0}, "other": {"a": 1.0}}
    counts = gr.score(gold, run, "mrr", self_matches="drop", corpus={"q1", "q2", "q3", "a", "b", "c"}).counts
    assert (counts.queries, counts.missing, counts.ignored) == (3, 1, 1)
    assert (counts.no_relevant, counts.self_dropped, counts.outside) == (1, 1, 1)


def test_self_matches_are_dropped_from_ranking_and_gold_or_from_the_ranking_only():
    gold, run = {"q": {"q": 1, "a": 1}}, {"q": {"q": 3.0, "a": 2.0, "b": 1.0}}
    recall = {
        policy: gr.score(gold, run, "recall", self_matches=policy)["recall"].mean
        for policy in ("keep", "drop", "drop_results", "first")
    }
    assert recall == {"keep": 1.0, "drop": 1.0, "drop_results": 0.5, "first": 0.5}
    mrr = {policy: gr.score(gold, run, "mrr(rel=1)", self_matches=policy)["mrr(rel=1)"].mean for policy in recall}
    assert mrr == {"keep": 1.0, "drop": 1.0, "drop_results": 1.0, "first": 1.0}


def test_implied_self_takes_one_place_above_the_gold():
    gold, run = {"q": {"a": 1, "b": 1}}, {"q": {"q": 3.0, "a": 2.0, "b": 1.0}}
    assert gr.score(gold, run, "mean_rank", profile="evalrank")["mean_rank"].mean == 1.5
    assert gr.score(gold, {"q": {"a": 2.0, "b": 1.0}}, "mean_rank", profile="evalrank")["mean_rank"].mean == 1.0


@given(GOLD, RUN)
def test_dropping_unjudged_items_equals_scoring_a_run_without_them(gold, run):
    condensed = {
        query: {item: score for item, score in items.items() if gold.get(query, {}).get(item, -1) >= 0}
        for query, items in run.items()
    }
    condensed = {query: items for query, items in condensed.items() if items}
    if not set(condensed) & set(gold):
        return
    for ties in ("docid", "input", "optimistic", "pessimistic"):
        assert means(gold, run, unjudged="drop", ties=ties) == means(gold, condensed, ties=ties)


def test_depth_cuts_every_ranking():
    gold, run = {"q": {"a": 1, "b": 1}}, {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}
    scores = gr.score(gold, run, ["recall", "num_ret"], depth=2)
    assert (scores["recall"].mean, scores["num_ret"].value) == (0.5, 2)


def test_float32_makes_ties_of_scores_that_differ_beyond_it():
    gold, run = {"q": {"a": 1}}, {"q": {"a": 1.0 + 1e-9, "b": 1.0}}
    assert gr.score(gold, run, "mrr")["mrr"].mean == 1.0
    assert gr.score(gold, run, "mrr", precision="float32")["mrr"].mean == 0.5


def test_hits_are_the_two_counts_and_the_grade():
    run = gr.Run({"q1": {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0}})
    hits = run.hits(gr.Gold({"q1": {"c": 2, "zz": 1}, "q2": {"a": 1}}))
    assert hits.query.tolist() == ["q1", "q1", "q2"]
    assert hits.item.tolist() == ["c", "zz", "a"]
    assert hits.above.tolist() == [1, -1, -1]
    assert hits.tied.tolist() == [1, 0, 0]
    assert hits.grade.tolist() == [2, 1, 1]
    assert hits.depth.tolist() == [4, 0]
    assert isinstance(hits, Hits)


def test_score_hits_agrees_with_score_and_refuses_another_precision():
    gold, run = gr.Gold({"q": {"a": 1}}), gr.Run({"q": {"b": 1.0, "a": 1.0}})
    hits = run.hits(gold)
    for ties in ("docid", "input", "expected"):
        assert gr.score_hits(hits, "mrr", ties=ties)["mrr"].mean == gr.score(gold, run, "mrr", ties=ties)["mrr"].mean
    with pytest.raises(gr.InputError, match="float64"):
        gr.score_hits(hits, "mrr", profile="trec_eval9")


def test_intervals_hold_the_mean_and_are_the_same_for_the_same_seed():
    rng = np.random.default_rng(0)
    gold = {f"q{i}": {"a": 1} for i in range(50)}
    run = {query: {"a": rng.random(), "b": rng.random(), "c": rng.random()} for query in gold}
    first, again = (gr.score(gold, run, ["mrr", "hit_rate@1", "num_q"]) for _ in range(2))
    for name in ("mrr", "hit_rate@1"):
        assert first[name].interval.low < first[name].value < first[name].interval.high
        assert first[name].interval == again[name].interval
    assert first["hit_rate@1"].interval.method == "wilson"
    assert first["num_q"].interval is None


def test_pooled_metrics_weigh_queries_by_their_gold():
    gold = {"q1": {"a": 1}, "q2": {"b": 1, "c": 1, "d": 1}}
    run = {"q1": {"a": 1.0}, "q2": {"x": 2.0, "b": 1.0}}
    scores = gr.score(gold, run, ["hits@1", "recall@1"])
    assert scores["hits@1"].mean == 0.25
    assert scores["recall@1"].mean == 0.5


def test_a_metric_may_be_given_with_explicit_defaults_beside_the_profiles_variant():
    gold, run = {"q": {"a": 1, "b": 1}}, {"q": {"a": 1.0}}
    scores = gr.score(gold, run, ["recall@1", "recall(cap=none)@1"], profile="bge")
    assert (scores["recall@1"].mean, scores["recall(cap=none)@1"].mean) == (1.0, 0.5)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("P_10", "precision@10"), ("ndcg_cut.10", "ndcg@10"), ("ndcg_cut_5", "ndcg@5"), ("recip_rank", "mrr"),
        ("nDCG@10", "ndcg@10"), ("RR@10", "mrr@10"), ("Success@5", "hit_rate@5"), ("AP(rel=2)@3", "map(rel=2.0)@3"),
        ("iprec_at_recall_0.10", "iprec@0.1"), ("set_F", "set_f"), ("11pt_avg", "11pt"), ("gm_map", "gmap"),
        ("Rprec", "r_precision"), ("map_cut_20", "map@20"), ("ndcg( gain = exp )@10", "ndcg(gain=exp)@10"),
    ],
)  # fmt: skip
def test_names_of_other_tools_are_understood(name, ours):
    assert str(gr.Metric.parse(name)) == ours


def test_every_metric_survives_every_profile_on_plain_data():
    from goldrank.metrics import REGISTRY

    gold = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"b": 1}}
    by_subtopic = {"q1": {"a": {"1": 2, "2": 1}, "b": {"2": 1}, "c": {"1": 0}}, "q2": {"b": {"1": 1}}}
    run = {"q1": {"a": 3.0, "c": 2.0, "b": 1.0}, "q2": {"x": 2.0, "b": 1.5, "y": 1.0}}
    for profile in gr.PROFILES:
        for name, definition in REGISTRY.items():
            if (profile == "sklearn" and not definition.expected) or name in gr.PROFILES[profile].other_meanings:
                continue
            metric = name + {"recall": "@0.5", "required": "@5"}.get(definition.cutoff, "")
            metric += "(unfound=skip)" if name in ("mean_rank", "median_rank", "auc") else ""
            judged = by_subtopic if definition.subtopics else gold
            scores = gr.score(judged, run, metric, profile=profile, corpus=4)
            # An area under the abstention curve is undefined where all queries score alike, as they do in profile sdr.
            assert math.isfinite(scores[metric].value) or name == "nauc", (profile, name)


def test_no_query_left_is_refused():
    with pytest.raises(gr.InputError, match="no query is left"):
        gr.score({"q": {"outside": 1}}, {"q": {"a": 1.0}}, "mrr", profile="sdr", corpus={"a"})


def test_integers_in_a_dict_are_ids_and_other_types_are_refused_with_the_remedy():
    for gold, run in (
        ({"1": {"7": 1}}, {1: {7: 1.0}}),
        ({1: {7: 1}}, {"1": {"7": 1.0}}),
        ({1: [7]}, {np.int64(1): {np.int32(7): 1.0}}),
    ):
        assert gr.score(gold, run, "mrr")["mrr"].mean == 1.0
    for gold, run in (
        ({"1": {"d": 1}}, {1.0: {"d": 1.0}}),
        ({True: {"d": 1}}, {"1": {"d": 1.0}}),
        ({"1": {"d": 1}}, {"1": {"a": 2.0, 7: 1.0}}),
    ):
        with pytest.raises(gr.InputError, match=r"str\("):
            gr.score(gold, run, "mrr")


def test_a_run_is_a_snapshot_of_the_dict_it_was_made_from():
    source = {"q": {"a": 1.0}}
    run = gr.Run(source)
    source["q"]["b"] = 2.0
    assert gr.score({"q": {"a": 1}}, run, "mrr")["mrr"].mean == 1.0


def test_unknown_convention_is_refused_with_the_list():
    with pytest.raises(gr.InputError, match="conventions: ties"):
        gr.score({"q": {"a": 1}}, {"q": {"a": 1.0}}, "mrr", tie="docid")


def test_a_score_has_a_mean_only_where_its_value_is_one():
    gold, run = {"q1": {"d1": 1}, "q2": {"d1": 1}}, {"q1": {"d1": 2.0}, "q2": {"d2": 2.0, "d1": 1.0}}
    scores = gr.score(gold, run, ["mrr", "median_rank", "num_rel", "gmap"])
    assert scores["mrr"].mean == scores["mrr"].value == 0.75
    assert (scores["median_rank"].value, scores["num_rel"].value) == (1.5, 2)
    for name, kind in (("median_rank", "median"), ("num_rel", "sum"), ("gmap", "geometric mean")):
        with pytest.raises(AttributeError, match=f"{name} is not a mean over queries but their {kind}; read .value"):
            scores[name].mean  # noqa: B018
    content = results.scores_json([scores], intervals=False, per_query=False)["runs"][0]["scores"]
    assert content["mrr"] == {"value": 0.75, "mean": 0.75}
    assert content["median_rank"] == {"value": 1.5}


def test_scores_are_freed_without_a_search_for_cycles():
    """Scores hold the placement of every judged item, and the garbage collector runs rarely in commands."""
    gc.disable()
    try:
        scores = gr.score({"q1": {"d1": 1}, "q2": {"d2": 1}}, {"q1": {"d1": 1.0}, "q2": {"d1": 1.0}}, ["mrr", "map"])
        assert scores["mrr"].interval is not None
        placement = weakref.ref(scores.placement)
        del scores
        assert placement() is None
    finally:
        gc.enable()
