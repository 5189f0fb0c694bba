"""Test rank differences of runs against plain loops: ties, score noise, queries of one run only, and the command."""

import json
import math
from datetime import datetime, timezone

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

import goldrank as gr
from goldrank.cli.main import main
from goldrank.stats.grouped_kendall import grouped_kendall
from goldrank.store import RunRecord, Store
from goldrank.store.texts import Text
from profiles import examples

RANKING = st.dictionaries(st.sampled_from("abcdefghij"), st.sampled_from([0.0, 1.0, 2.0, 3.0, 5.0]), min_size=1)
RUN = st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), RANKING, min_size=1)
QUICK = gr.Bootstrap(resamples=100)


def diff(first, second, **settings):
    return gr.diff(first, second, bootstrap=QUICK, scores="similarity", **settings)


def prefix(ranking, k):
    """The items whose rank is at most k, where equal scores share the rank of the first of them."""
    return {item for item, score in ranking.items() if 1 + sum(other > score for other in ranking.values()) <= k}


def sign(number):
    return (number > 0) - (number < 0)


def orders_differ(first, second):
    common = [item for item in first if item in second]
    return any(sign(first[x] - first[y]) != sign(second[x] - second[y]) for x in common for y in common)


@given(RUN, RUN)
@examples(1.0)
def test_overlap_churn_and_tau_are_those_of_their_definitions(first, second):
    common = [query for query in first if query in second]
    if not common:
        with pytest.raises(gr.InputError, match="no query in common"):
            diff(first, second)
        return
    result = diff(first, second, depths=[1, 2, 5], tolerance=0)
    assert result.queries == common
    for at, query in enumerate(common):
        a, b = first[query], second[query]
        items = [item for item in a if item in b]
        tau = (
            kendalltau([a[item] for item in items], [b[item] for item in items]).statistic
            if len(items) > 1
            else math.nan
        )
        assert result.values["tau"][at] == pytest.approx(tau, nan_ok=True)
        assert result.values["rbo"][at] == gr.rbo({"q": a}, {"q": b}, scores="similarity").values[0]
        for k in (1, 2, 5):
            tops = prefix(a, k), prefix(b, k)
            assert result.values[f"overlap@{k}"][at] == 2 * len(tops[0] & tops[1]) / (len(tops[0]) + len(tops[1]))
            if result.statuses[at] == "changed":
                assert result.values[f"entered@{k}"][at] == len(tops[1] - tops[0])
                assert result.values[f"left@{k}"][at] == len(tops[0] - tops[1])
                moved = [x for x in items if orders_with(x, items, a, b)]
                assert result.values[f"moved@{k}"][at] == len(set(moved) & tops[0] & tops[1])
        if set(a) == set(b):
            assert (result.statuses[at] == "changed") == orders_differ(a, b)


def orders_with(x, items, a, b):
    return any(sign(a[x] - a[y]) != sign(b[x] - b[y]) for y in items)


@given(RUN)
@examples(0.5)
def test_a_run_has_no_difference_to_itself(run):
    result = diff(run, run)
    assert result.status == "same"
    assert not result.differs
    assert result["rbo"].mean == pytest.approx(1)
    assert all((result.values[f"overlap@{k}"] == 1).all() for k in result.depths)
    assert result.most_changed() == []


@given(RUN, RUN)
@examples(0.5)
def test_the_measures_are_symmetric_and_what_entered_one_way_left_the_other_way(first, second):
    if not set(first) & set(second):
        return
    forward, backward = diff(first, second), diff(second, first)
    order = [backward.queries.index(query) for query in forward.queries]
    assert forward.status == backward.status
    assert forward.statuses == [backward.statuses[at] for at in order]
    mirrored = {"entered": "left", "left": "entered"}
    for name, values in forward.values.items():
        kind, at, depth = name.partition("@")
        other = backward.values[mirrored.get(kind, kind) + at + depth][order]
        assert values == pytest.approx(other, nan_ok=True), name


@given(RUN, st.randoms(use_true_random=False), st.sampled_from([None, 1, 3]))
@examples(0.8)
def test_shuffling_the_listed_order_changes_nothing_real(run, random, depth):
    def shuffled(ranking):
        items = list(ranking.items())
        random.shuffle(items)
        return dict(items)

    other = {query: shuffled(ranking) for query, ranking in run.items()}
    result = diff(run, other, depth=depth)
    assert not result.differs
    assert set(result.statuses) <= {"same", "ties"}
    assert result["rbo"].mean == pytest.approx(1)
    for query, status in zip(result.queries, result.statuses, strict=True):
        listed = [sorted(ranking, key=lambda item: -ranking[item]) for ranking in (run[query], other[query])]
        if depth is None:
            assert (status == "same") == (listed[0] == listed[1])


def test_order_changes_within_the_tolerance_are_noise_and_larger_ones_are_real():
    first = {"q": {"a": 2.0, "b": 1.0, "c": 1.0 - 1e-7}}
    swapped = {"q": {"a": 2.0, "c": 1.0, "b": 1.0 - 1e-7}}
    assert diff(first, swapped).status == "noise"
    assert diff(first, swapped, tolerance=0).status == "changed"
    assert diff(first, swapped, tolerance=1e-8).status == "changed"
    # The difference has to be small in both runs, and small in relation to the scores of the query.
    assert diff(first, {"q": {"a": 2.0, "c": 1.5, "b": 1.0}}).status == "changed"
    assert diff({"q": {"a": 1e-9, "b": 1e-10}}, {"q": {"b": 1e-9, "a": 1e-10}}).status == "changed"
    assert diff(first, {"q": {"a": 2.0, "b": 1.0, "c": 1.0}}).status == "noise"
    assert diff({"q": {"a": 1.0, "b": 1.0}}, {"q": {"a": 2.0, "b": 1.0}}).status == "changed"
    noisy = diff(first, swapped)
    assert noisy["moved@1"].mean == noisy["entered@1"].mean == 0


def test_scores_rounded_to_float32_are_noise_at_most():
    random = np.random.default_rng(3)
    exact = {f"q{n}": {f"d{m}": 1 + random.random() * 1e-5 for m in range(50)} for n in range(5)}
    rounded = {
        query: {item: float(np.float32(score)) for item, score in ranking.items()} for query, ranking in exact.items()
    }
    result = diff(exact, rounded)
    assert result.status == "noise"
    assert diff(exact, rounded, tolerance=0).status == "changed"


def test_a_tie_that_the_end_of_the_list_cuts_is_no_real_change():
    first, second = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 2.0, "c": 1.0}}
    assert diff(first, second).status == "ties"
    assert diff(first, {"q": {"a": 2.0, "c": 1.0 + 1e-9}}).status == "noise"
    assert diff(first, {"q": {"a": 2.0, "c": 1.1}}).status == "changed"
    assert diff(first, {"q": {"a": 2.0}}).status == "changed"


def test_queries_of_one_side_only_and_different_depths_are_differences_and_are_said():
    first = {"q": {"a": 2.0, "b": 1.0}, "p": {"a": 1.0}, "empty": {}}
    result = diff(first, {"q": {"a": 2.0}, "r": {"b": 1.0}, "empty": {"a": 1.0}})
    assert (result.queries, result.only) == (["q"], (["p"], ["r", "empty"]))
    assert result.differs
    assert "a depth of 1 compares what both may list" in result.notes[0]
    cut = diff(first, {"q": {"a": 2.0}, "p": {"a": 3.0}}, depth=1)
    assert (cut.status, cut.notes) == ("same", ())
    assert "results in first only" in repr(result)
    with pytest.raises(gr.InputError, match="no query in common"):
        diff({}, {})


def test_the_queries_that_changed_most_come_first_with_texts_and_items():
    first = {"q1": {"a": 3.0, "b": 2.0}, "q2": {"a": 3.0, "b": 2.0}, "q3": {"a": 1.0}}
    second = {"q1": {"b": 3.0, "a": 2.0}, "q2": {"x": 3.0, "y": 2.0}, "q3": {"a": 1.0}}
    changes = diff(first, second).most_changed()
    assert [change.query for change in changes] == ["q2", "q1"]
    assert (changes[0].entered, changes[0].left, changes[1].entered) == (("x", "y"), ("a", "b"), ())
    assert [change.query for change in diff(first, second).most_changed(1)] == ["q2"]


@given(st.lists(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 9)), max_size=40), min_size=1, max_size=6))
@examples(0.8)
def test_the_tau_of_many_groups_is_that_of_scipy(groups):
    x, y = (np.array([pair[at] for group in groups for pair in group], np.int64) for at in (0, 1))
    taus = grouped_kendall(x, y, np.array([len(group) for group in groups]))
    for group, tau in zip(groups, taus, strict=True):
        expected = kendalltau(*zip(*group, strict=True)).statistic if len(group) > 1 else math.nan
        assert tau == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"p": 1}, "persistence"),
        ({"tolerance": -1}, "tolerance"),
        ({"tolerance": math.nan}, "tolerance"),
        ({"depth": 0}, "depth 0"),
        ({"depths": [0]}, "not ranks"),
        ({"k": 5}, "k has no effect"),
        ({"model": "bm25"}, "model has no effect"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(gr.InputError, match=message):
        diff({"q": {"a": 1.0}}, {"q": {"a": 1.0}}, **settings)


def test_runs_with_scores_that_are_not_finite_or_contradict_their_order_are_refused():
    with pytest.raises(gr.InputError, match="finite"):
        gr.diff({"q": {"a": math.nan}}, {"q": {"a": 1.0}})
    run = {query: {item: float(place) for place, item in enumerate("abcdef")} for query in ("q1", "q2")}
    with pytest.raises(gr.InputError, match="the order contradicts the scores"):
        gr.diff(run, run)
    assert gr.diff(run, run, scores="distance").status == "same"


@pytest.fixture
def folder(tmp_path):
    """Write three runs: the second lists ties in another order, the third differs and has one more query."""
    runs = {
        "one": "q Q0 d1 1 2 x\nq Q0 d2 2 1 x\nq Q0 d3 3 1 x\n",
        "tied": "q Q0 d1 1 2 x\nq Q0 d3 2 1 x\nq Q0 d2 3 1 x\n",
        "other": "q Q0 d3 1 2 x\nq Q0 d1 2 1 x\np Q0 d1 1 1 x\n",
    }
    for name, rows in runs.items():
        (tmp_path / f"{name}.run").write_text(rows)
    (tmp_path / "queries.tsv").write_text("id\ttext\nq\tred <wine>\n")
    return tmp_path


def command(capsys, folder, *arguments):
    paths = [str(folder / word) if (folder / word).exists() else word for word in arguments]
    code = main(["diff", *paths, "--resamples", "100"])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_exit_code_says_whether_they_differ(folder, capsys):
    code, out, _ = command(capsys, folder, "one.run", "tied.run")
    assert (code, "differ only in the order of equal scores (1 of 1 query)" in out) == (0, True)
    code, out, _ = command(capsys, folder, "one.run", "other.run", "--texts", "queries.tsv")
    assert code == 1
    assert "one and other differ: 1 of 1 query changed; 1 query has results in other only." in out
    assert "red <wine>" in out
    for threshold, expected in (("rbo=0.1", 0), ("rbo=0.99", 1), ("overlap@1=0.5", 1), ("tau=-1", 0)):
        assert command(capsys, folder, "one.run", "other.run", "--fail-under", threshold)[0] == expected, threshold


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["one.run"], "two runs or more"),
        (["one.run", "none.run"], "none.run"),
        (["one.run", "no-such-key"], "no file and no stored run"),
        (["one.run", "."], "this is a folder"),
        (["one.run", "other.run", "--fail-under", "rbo"], "names no metric"),
        (["one.run", "other.run", "--fail-under", "ndcg=1"], "no measure for --fail-under"),
        (["one.run", "other.run", "--depths", "1,x"], "not a list of ranks"),
        (["one.run", "other.run", "-k", "5"], "without --queries"),
        (["one.run", "other.run", "--worst", "-1"], "--worst"),
        (["one.run", "other.run", "--texts", "one.run"], "one.run"),
    ],
)
def test_bad_input_exits_with_2_and_a_message(folder, capsys, monkeypatch, arguments, message):
    monkeypatch.setenv("GOLDRANK_STORE", str(folder / "store"))
    code, out, err = command(capsys, folder, *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_the_json_follows_its_schema_also_for_several_runs_and_every_query(folder, capsys):
    validator = jsonschema.Draft202012Validator(gr.load_schema("diff"))
    for options in ([], ["tied.run"], ["--per-query"]):
        code, out, _ = command(capsys, folder, "one.run", "other.run", *options, "--format", "json")
        result = json.loads(out)
        validator.validate(result)
        assert code == 1
        assert len(result["pairs"]) == (3 if options == ["tied.run"] else 1)
        assert result["pairs"][0]["only_b"] == ["p"]
    validator.validate(diff({"q": {"a": 1.0}}, {"q": {"a": 1.0}}).to_dict())


@pytest.mark.parametrize("look", ["csv", "markdown", "latex"])
def test_other_formats_have_the_measures(folder, capsys, look):
    for options in ([], ["--per-query"], ["tied.run"]):
        code, out, _ = command(capsys, folder, "one.run", "other.run", *options, "--format", look)
        assert (code, "rbo" in out.lower()) == (1, True)


def test_two_versions_of_a_live_system_are_compared_by_key_with_the_texts_of_the_store(tmp_path, capsys):
    store = Store.open(tmp_path / "store")
    inputs = {"task": "wines", "model": "http:search", "data": "ab" * 20}
    for day, ranking in ((1, {"d1": 2.0, "d2": 1.0}), (2, {"d2": 2.0, "d1": 1.0})):
        run = gr.Run({"q1": ranking})
        record = RunRecord("wines", "http:search", inputs, {}, run.hits(gr.Gold({"q1": {"d1": 1}})), run)
        key = store.save(record.dated(datetime(2026, 11, day, tzinfo=timezone.utc))).name
    texts = store.texts("ab" * 20)
    texts.save([Text("q1", "", "which wine?")], [Text("d1", "", "a wine")])
    result = gr.diff(f"{key}~1", key, store=store, bootstrap=QUICK)
    assert result.differs
    assert [name[-15:] for name in result.names] == ["-20261101t0000z", "-20261102t0000z"]
    assert result.most_changed()[0].text == "which wine?"
    assert main(["diff", f"{key}~1", key, "--store", str(tmp_path / "store")]) == 1
    assert "which wine?" in capsys.readouterr().out
    assert main(["diff", key, f"{key}~0", "--store", str(tmp_path / "store")]) == 2


def test_two_indexes_are_compared_by_queries(tmp_path, capsys):
    texts = {"a": "red wine", "b": "white wine", "c": "chess game"}
    gr.build_index(texts, "random:8", tmp_path / "old.index")
    gr.build_index({**texts, "d": "sparkling wine"}, "random:8", tmp_path / "new.index")
    (tmp_path / "queries.tsv").write_text("id\ttext\nq1\twine\nq2\tchess\n")
    paths = [str(tmp_path / name) for name in ("old.index", "new.index")]
    same = gr.diff(paths[0], gr.open_index(paths[0]), queries=["wine"], k=2, bootstrap=QUICK)
    assert (same.status, same.texts) == ("same", {"1": "wine"})
    assert main(["diff", *paths, "--queries", str(tmp_path / "queries.tsv"), "-k", "3"]) in (0, 1)
    assert "old and new" in capsys.readouterr().out
    assert main(["diff", *paths, "--queries", str(tmp_path / "queries.tsv"), "-k", "0"]) == 2
    assert main(["diff", *paths]) == 2
