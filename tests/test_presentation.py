"""Test that every result has data, a data frame, a repr for terminals and HTML for notebooks."""

import sys

import pytest

import goldrank as gr
from goldrank.reporting.text.grids import Cell, Grid, Layout, render

GOLD = {"q1": {"d3": 1, "d1": 1}, "q2": {"d2": 2}}
RUN = {"q1": {"d3": 0.9, "d1": 0.5, "d7": 0.7}, "q2": {"d9": 0.5, "d2": 0.1}}
OTHER = {"q1": {"d3": 0.1, "d1": 0.5, "d7": 0.7}, "q2": {"d9": 0.5, "d2": 0.9}}


def test_scores_are_shown_with_interval_and_conventions():
    scores = gr.score(GOLD, RUN, ["ndcg@10", "mrr"], name="bm25")
    text = repr(scores)
    assert "bm25" in text.splitlines()[0]
    assert "[0.5000, 1.0000]" in text
    assert "ties=docid" in text
    assert max(map(len, text.splitlines())) <= 100
    assert scores.to_dict()["runs"][0]["scores"]["mrr"]["value"] == 0.75
    assert scores.to_pandas().set_index("metric").loc["mrr", "value"] == 0.75
    assert "<table>" in scores._repr_html_()


def test_what_comes_from_data_is_escaped():
    compared = gr.compare(GOLD, {"a<b>": RUN, "x\x1b[2J": OTHER}, ["mrr"])
    assert "a&lt;b&gt;" in compared._repr_html_()
    assert "<b>a" not in compared._repr_html_()
    assert "\x1b" not in repr(compared)
    assert "\x1b" not in compared._repr_html_()
    assert list(compared.to_pandas()["metric"]) == ["mrr"]


def test_a_table_that_is_too_wide_is_split_between_columns():
    grid = Grid(["run", *(f"metric-{i}" for i in range(20))], [[Cell("bm25"), *[Cell("0.5")] * 20]], notes=["note"])
    text = render([grid], "table", Layout(80))
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("bm25") == 3
    assert text.count("note") == 1
    assert all(f"metric-{i}" in text for i in range(20))


def test_a_data_frame_without_pandas_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(gr.MissingExtraError, match=r"goldrank\[pandas\]"):
        gr.score(GOLD, RUN, "mrr").to_pandas()


def test_a_misspelt_keyword_is_reported_as_one():
    with pytest.raises(TypeError, match=r"score\(\) has no argument 'seed'; write bootstrap=Bootstrap\(seed=…\)"):
        gr.score(GOLD, RUN, seed=3)
    with pytest.raises(gr.InputError, match=r"compare\(\) has no argument 'tie'; did you mean 'ties'\? \(conventions:"):
        gr.compare(GOLD, {"a": RUN, "b": OTHER}, tie="docid")
    with pytest.raises(gr.InputError, match=r"score\(\) has no argument 'metric'; did you mean 'metrics'\?"):
        gr.score(GOLD, RUN, metric="mrr")


def test_conventions_are_given_as_keywords_or_in_one_argument_but_not_in_both():
    tied = {"q1": {"d3": 0.4, "d1": 0.4, "d7": 0.4}}
    by_keyword = gr.score(GOLD, tied, "mrr", ties="expected")
    for conventions in ({"ties": "expected"}, gr.Conventions(ties="expected")):
        assert gr.score(GOLD, tied, "mrr", conventions=conventions)["mrr"].value == by_keyword["mrr"].value
        with pytest.raises(gr.InputError, match="ties both in conventions= and as a keyword"):
            gr.score(GOLD, tied, "mrr", conventions=conventions, ties="input")
    with pytest.raises(gr.InputError, match="there is no convention 'tie'"):
        gr.score(GOLD, tied, "mrr", conventions={"tie": "input"})


def test_an_explanation_of_a_profile_has_its_conventions():
    explained = gr.explain("ndcg@10", profile="bge", ties="expected")
    assert explained.to_dict()["conventions"]["ties"] == "expected"
    assert "DCG" in repr(explained)
    assert set(explained.to_pandas()["parameter"]) == {"gain", "gains", "ideal"}
    assert gr.explain("mrr").to_dict()["profile"] is None
