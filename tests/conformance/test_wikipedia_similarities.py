"""The conventions of SDR and of the thesis based on it, on an example computed by hand.

The corpus has 6 articles: A to F. The ranking of each source contains all articles, usually the source itself first:

  source A ranks  A B C D E F      gold of A: C, F          positions after dropping the first: B0 C1 D2 E3 F4
  source B ranks  B A C D E F      gold of B: B (itself), A, and Z (not in the corpus)       A0 C1 D2 E3 F4
  source C ranks  D C A B E F      gold of C: D   (the first result is not the query: D is lost)  C0 A1 B2 E3 F4
"""

import collections
import csv
import json
import pickle
from pathlib import Path

import pytest

import goldrank as gr
from goldrank.cli.main import main

pytestmark = pytest.mark.conformance

RANKINGS = {"A": "ABCDEF", "B": "BACDEF", "C": "DCABEF"}
RUN = {query: {item: 6.0 - place for place, item in enumerate(ranking)} for query, ranking in RANKINGS.items()}
GOLD = {"A": {"C": 1, "F": 1}, "B": {"B": 1, "A": 1, "Z": 1}, "C": {"D": 1}}


def means(profile, *metrics, **options):
    scores = gr.score(GOLD, RUN, metrics, profile=profile, corpus=6, **options)
    return [scores[metric].value for metric in metrics]


def test_sdr_reciprocal_rank_counts_from_zero_with_zero_and_one_alike_and_skips_the_unfound():
    # A: best r = 1 -> 1; B: r = 0 -> 1; C: nothing found after the first is dropped -> not averaged.
    assert means("sdr", "mrr") == [pytest.approx((1 / 1 + 1 / 1) / 2)]


def test_sdr_caps_the_rank_at_the_number_of_queries():
    gold = {"A": {"F": 1}, "B": {"F": 1}}
    run = {query: RUN[query] for query in gold}
    # F has r = 4 in both; 2 queries: 1 / min(4, 2).
    assert gr.score(gold, run, "mrr", profile="sdr", corpus=6)["mrr"].mean == 0.5


def test_sdr_percentile_rank_pools_found_pairs_over_the_length_of_the_list():
    # found: A-C 1/5, A-F 4/5, B-A 0/5
    assert means("sdr", "mpr") == [pytest.approx((1 / 5 + 4 / 5 + 0) / 3)]


def test_sdr_weighs_pairs_by_their_grade():
    gold = {"A": {"C": 3, "F": 1}}
    value = gr.score(gold, {"A": RUN["A"]}, "mpr", profile="sdr", corpus=6)["mpr"].mean
    assert value == pytest.approx((3 * 1 / 5 + 4 / 5) / 4)


def test_sdr_hit_rate_counts_self_and_outside_gold_as_missed():
    # A: C within r < 2 -> 1/2; B: A of {B, A, Z} -> 1/3; C: 0
    assert means("sdr", "hr@2") == [pytest.approx((1 / 2 + 1 / 3 + 0) / 3)]


def test_sdr_leaves_out_a_query_whose_gold_is_all_outside_the_corpus():
    gold = {**GOLD, "D": {"Z": 1}}
    run = {**RUN, "D": {item: 6.0 - place for place, item in enumerate("DABCEF")}}
    scores = gr.score(gold, run, "hr@2", profile="sdr", corpus=6)
    assert scores.counts.queries == 3
    assert scores["hr@2"].mean == pytest.approx((1 / 2 + 1 / 3 + 0) / 3)


def test_tde_takes_gold_outside_the_corpus_out_and_divides_ranks_by_1000():
    assert means("tde", "mrr") == [pytest.approx((1 + 1 + 0) / 3)]
    assert means("tde", "mpr") == [pytest.approx((1 + 4 + 0) / 1000 / 3)]
    assert means("tde", "hr@2") == [pytest.approx((1 / 2 + 1 / 2 + 0) / 3)]


def test_the_2024_convention_and_both_project_notes():
    # Self dropped by id: A ranks B C D E F; B ranks A C D E F; C ranks D A B E F. Gold left: A: C F; B: A; C: D.
    options = {"self_matches": "drop", "outside": "drop"}
    values = means("standard", "mrr", "mpr", "mpr(origin=1,over=gold)", "mpr(origin=1,over=items)", **options)
    assert values[0] == pytest.approx((1 / 2 + 1 + 1) / 3)
    assert values[1] == pytest.approx((1 + 4 + 0 + 0) / (5 - 1) / 4)
    assert values[2] == pytest.approx((2 / 2 + 5 / 2 + 1 / 1 + 1 / 1) / 4)
    assert values[3] == pytest.approx((2 + 5 + 1 + 1) / 5 / 4)


def test_hit_rate_pooled_or_per_query_are_two_metrics():
    options = {"self_matches": "drop", "outside": "drop"}
    assert means("standard", "hr@1", "hits@1", **options) == [pytest.approx(2 / 3), pytest.approx(2 / 4)]


def test_percentile_rank_is_refused_on_a_truncated_list_until_a_policy_is_stated():
    cut = {query: dict(list(ranking.items())[:3]) for query, ranking in RUN.items()}
    with pytest.raises(gr.InputError, match=r"needs the rank of every gold item.*unfound=skip"):
        gr.score(GOLD, cut, "mpr", corpus=6)
    with pytest.raises(gr.InputError, match="size of the corpus"):
        gr.score({"A": {"C": 1}}, {"A": cut["A"]}, "mpr")
    assert gr.score({"A": {"C": 1}}, {"A": cut["A"]}, "mpr", corpus=6)["mpr"].mean == pytest.approx(2 / 5)


def test_the_pickle_of_sdr_is_gold_and_its_names_of_metrics_give_its_numbers(tmp_path, capsys):
    gold = collections.defaultdict(dict)
    gold.update(GOLD)
    (tmp_path / "gt").write_bytes(pickle.dumps(gold))
    (tmp_path / "recos.json").write_text(json.dumps({query: list(ranking) for query, ranking in RANKINGS.items()}))
    assert gr.Gold.read(tmp_path / "gt").to_dict() == GOLD
    options = ["-M", "MRR", "-M", "MPR", "-M", "HitRatio@2", "--corpus", "6", "--format", "json"]
    command = ["score", str(tmp_path / "gt"), str(tmp_path / "recos.json"), *options]
    expected = {"sdr": (1.0, 1 / 3, 5 / 18), "tde": (2 / 3, 5 / 3000, 1 / 3)}
    for profile, values in expected.items():
        assert main([*command, "--profile", profile]) == 0
        (run,) = json.loads(capsys.readouterr().out)["runs"]
        assert [score["mean"] for score in run["scores"].values()] == pytest.approx(values)


def test_a_pickle_that_is_no_gold_is_refused(tmp_path):
    (tmp_path / "gt").write_bytes(pickle.dumps(["A"]))
    with pytest.raises(
        gr.InputError, match=r"""gt: the pickle holds \['A'\], not gold; write {"query": {"item": grade}}$"""
    ):
        gr.Gold.read(tmp_path / "gt")
    (tmp_path / "gt").write_bytes(pickle.dumps({"A": print}))
    with pytest.raises(gr.InputError, match=r"gt: the pickle asks for 'builtins\.print'"):
        gr.Gold.read(tmp_path / "gt")


def test_the_page_for_users_of_sdr_assigns_every_published_row_to_a_profile(shared_data):
    with (shared_data / "published" / "wikipedia_similarities.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    early = ("2365eec", "caa3f88", "6e389ea")
    counted = {
        "SDR, README and paper": sum("microsoft/SDR" in row["source"] for row in rows),
        "both evaluation rounds": sum(row["convention"].startswith("SDR-style") for row in rows),
        "first three commits": sum(row["commit_or_ref"] in early for row in rows),
        "MAP of the final table": sum(row["table"] == "Final retrieval" for row in rows),
        "Long-Document-Similarity, README": sum("Long-Document-Similarity" in row["source"] for row in rows),
    }
    assert sum(counted.values()) == len(rows) == 134
    page = (Path(__file__).parents[2] / "docs" / "coming-from" / "wikipedia-similarities.md").read_text()
    for table, number in counted.items():
        assert f"{table} ({number} rows)" in page
