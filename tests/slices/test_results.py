"""Test scores and comparisons by slice: equal to those of restricted gold, corrected together, in every format."""

import json
import math

import numpy as np
import pytest

import goldrank as gr
from goldrank import InputError
from goldrank.cli.main import main
from goldrank.reporting.text.slices import slice_verdicts
from goldrank.stats import holm

METRICS = ["ndcg@10", "mrr", "map", "recall@5", "bpref", "precision@3", "judged@5"]
QUERIES = [f"q{number}" for number in range(40)]
LANGUAGES = {query: ("de", "en", "fr")[at % 3 if at < 38 else 2] for at, query in enumerate(QUERIES)}
ATTRIBUTES = {"language": LANGUAGES, "length": {query: str(at % 11) for at, query in enumerate(QUERIES)}}


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(5)
    gold = {query: {f"d{item}": int(random.integers(0, 3)) for item in random.permutation(30)[:6]} for query in QUERIES}

    def run():
        return {
            # Scores are rounded, so that there are ties; some queries have no results.
            query: {f"d{item}": round(float(random.random()), 1) for item in random.permutation(30)[:15]}
            for query in QUERIES
            if random.random() > 0.03
        }

    return gold, {"a": run(), "b": run(), "c": run()}


@pytest.mark.parametrize(
    "conventions", [{}, {"ties": "expected"}, {"missing": "skip"}, {"unjudged": "drop"}, {"relevance_level": 2}]
)
def test_a_slice_scores_as_the_gold_restricted_to_it_to_the_last_digit(data, conventions):
    gold, runs = data
    metrics = [metric for metric in METRICS if metric != "bpref" or "ties" not in conventions]
    sliced = gr.by_slice(gr.score(gold, runs["a"], metrics, **conventions), ATTRIBUTES)
    assert [str(part) for part in sliced.slices][:3] == ["language=fr", "language=de", "language=en"]
    for part, (scores,) in zip(sliced.slices, sliced.parts, strict=True):
        alone = gr.score({query: gold[query] for query in part.queries}, runs["a"], metrics, **conventions)
        for metric in metrics:
            assert scores[metric].value == alone[metric].value
            assert scores[metric].interval == alone[metric].interval
            assert np.array_equal(scores[metric].values, alone[metric].values, equal_nan=True)
        assert scores.counts.queries == alone.counts.queries
        assert scores.counts.missing == alone.counts.missing
        assert scores.counts.no_relevant == alone.counts.no_relevant


@pytest.mark.parametrize("conventions", [{}, {"missing": "skip"}])
def test_a_slice_compares_as_the_gold_restricted_to_it_before_the_correction(data, conventions):
    gold, runs = data
    sliced = gr.by_slice(gr.compare(gold, runs, ["ndcg@10", "mrr"], **conventions), ATTRIBUTES)
    for part, compared in zip(sliced.slices, sliced.parts, strict=True):
        queries = {query: gold[query] for query in part.queries}
        alone = gr.compare(queries, runs, ["ndcg@10", "mrr"], **{"missing": "zero", **conventions})
        for pair, other in zip(compared.pairs, alone.pairs, strict=True):
            assert (pair.difference, pair.interval, pair.p, pair.detectable) == (
                other.difference, other.interval, other.p, other.detectable,
            )  # fmt: skip


@pytest.mark.parametrize("family", ["metric", "all"])
def test_all_slices_and_pairs_of_a_family_are_corrected_together(data, family):
    gold, runs = data
    sliced = gr.by_slice(gr.compare(gold, runs, ["ndcg@10", "mrr"], family=family), ATTRIBUTES)
    pairs = [pair for compared in sliced.parts for pair in compared.pairs]
    assert len(pairs) == len(sliced.slices) * 3 * 2
    for metrics in [["ndcg@10"], ["mrr"]] if family == "metric" else [["ndcg@10", "mrr"]]:
        chosen = [pair for pair in pairs if pair.metric in metrics]
        assert [pair.adjusted for pair in chosen] == holm(np.array([pair.p for pair in chosen])).tolist()


def test_small_slices_are_not_tested_and_do_not_weaken_the_others(data):
    gold, runs = data
    small = {query: "rare" if at < 3 else "de" if at % 2 else "en" for at, query in enumerate(QUERIES)}
    sliced = gr.by_slice(gr.compare(gold, {name: runs[name] for name in "ab"}, "mrr"), {"language": small})
    assert [part.too_small for part in sliced.slices] == [False, False, True]
    assert math.isnan(sliced.parts[2].pairs[0].p)
    assert sliced.parts[2].pairs[0].interval is None
    tested = [compared.pairs[0] for compared in sliced.parts[:2]]
    assert [pair.adjusted for pair in tested] == holm(np.array([pair.p for pair in tested])).tolist()
    assert "Too few queries for intervals and tests (fewer than 5): rare." in repr(sliced)


def ranked(rank):
    return {("d" if place == rank else f"e{place}"): -place for place in range(10)}


def reversed_runs(large):
    """Return runs of which a is better on one slice, of *large* queries, and b a little better on two of 8."""
    sizes = {"x": large, "y": 8, "z": 8}
    queries = {f"{name}{number}": name for name, size in sizes.items() for number in range(size)}
    a = {query: ranked(0 if name == "x" else 1) for query, name in queries.items()}
    b = {query: ranked(1 if name == "x" else 0) for query, name in queries.items()}
    return {query: ["d"] for query in queries}, {"a": a, "b": b}, {"kind": queries}


def test_an_order_that_most_slices_reverse_is_a_warning():
    gold, runs, kinds = reversed_runs(large=30)
    sliced = gr.by_slice(gr.compare(gold, runs, "mrr"), kinds)
    [reversal] = sliced.reversals
    assert (reversal.better, reversal.worse, reversal.attribute) == ("a", "b", "kind")
    assert (reversal.opposite, reversal.slices, reversal.significant, reversal.strict) == (("y", "z"), 3, 2, False)
    [warning] = [warning for warning in sliced.warnings if warning.code == "reversed-order"]
    assert warning.message == (
        "a is better than b on mrr over all queries, but worse on 2 of 3 slices of kind (y, z), significantly on 2."
    )


def test_the_verdict_names_both_runs_of_each_difference():
    gold, runs, kinds = reversed_runs(large=30)
    [of_two] = slice_verdicts(gr.by_slice(gr.compare(gold, runs, "mrr"), kinds))
    assert of_two == (
        "By slice, on mrr a is significantly better than b on kind=x; b is significantly better than a on kind=y and "
        "kind=z."
    )
    runs["last"] = {query: ranked(9) for query in gold}
    [of_three] = slice_verdicts(gr.by_slice(gr.compare(gold, runs, "mrr"), kinds))
    assert "; a is significantly better than last on all 3 slices; b is significantly" in of_three
    same = {"a": runs["a"], "b": runs["a"]}
    [of_equal] = slice_verdicts(gr.by_slice(gr.compare(gold, same, "mrr"), kinds))
    assert of_equal == "By slice, on mrr no run is significantly better on any of 3 slices."


def test_an_order_that_half_of_the_slices_reverse_is_none():
    gold, runs, kinds = reversed_runs(large=30)
    halves = {
        "kind": {query: "yz" if name in "yz" else f"x{query[-1] in '02468'}" for query, name in kinds["kind"].items()}
    }
    assert gr.by_slice(gr.compare(gold, runs, "mrr"), halves).reversals == ()
    gold, runs, kinds = reversed_runs(large=10)  # b is better on the set of all queries too
    assert gr.by_slice(gr.compare(gold, runs, "mrr"), kinds).reversals == ()


def test_a_metric_where_lower_is_better_is_reversed_by_its_own_direction():
    gold, runs, kinds = reversed_runs(large=30)
    [reversal] = gr.by_slice(gr.compare(gold, runs, "mean_rank"), kinds).reversals
    assert (reversal.better, reversal.opposite) == ("a", ("y", "z"))


def test_simpsons_paradox_in_the_strict_sense_is_called_so():
    """Of the gold items that a run finds, a ranks those of each slice better, but finds mostly the hard ones."""
    easy, hard = [f"x{number}" for number in range(10)], [f"y{number}" for number in range(10)]
    gold = {query: ["d"] for query in easy + hard}
    nothing = {"e": 1.0}
    a = {query: ranked(0) if query == "x0" else ranked(7) if query in hard else nothing for query in gold}
    b = {query: ranked(1) if query in easy else ranked(8) if query == "y0" else nothing for query in gold}
    comparison = gr.compare(gold, {"a": a, "b": b}, "mean_rank(unfound=skip)")
    sliced = gr.by_slice(comparison, {"kind": {query: query[0] for query in gold}})
    [reversal] = sliced.reversals
    assert (reversal.better, reversal.opposite, reversal.strict) == ("b", ("x", "y"), True)
    [warning] = [warning for warning in sliced.warnings if warning.code == "simpson"]
    assert "over all queries, but worse on all 2 slices of kind (x, y)" in warning.message


def test_every_form_has_every_slice(data):
    gold, runs = data
    two = {name: runs[name] for name in "ab"}
    sliced = gr.by_slice(gr.compare(gold, two, ["ndcg@10", "mrr"]), ATTRIBUTES, find=True)
    content = json.loads(json.dumps(sliced.to_dict()))
    assert len(content["slices"]) == len(sliced.slices)
    assert content["slices"][0]["pairs"][0]["p_adjusted"] == sliced.parts[0].pairs[0].adjusted
    assert content["slice_search"]["candidates"] == sliced.search.candidates
    frame = sliced.to_pandas()
    assert len(frame) == 2 * (1 + len(sliced.slices))
    assert set(frame["attribute"]) == {"", "language", "length", "relevant_items"}
    assert "By language: b − a" in repr(sliced)
    assert "<table" in sliced._repr_html_()
    scores = gr.by_slice(gr.score(gold, runs["a"], "mrr"), ATTRIBUTES)
    assert len(scores.to_pandas()) == 1 + len(scores.slices)
    assert scores.to_dict()["slices"][0]["runs"][0]["scores"]["mrr"]["value"] == scores.parts[0][0]["mrr"].value


def test_faulty_calls_say_what_to_give(data):
    gold, runs = data
    scores = gr.score(gold, runs["a"], "mrr")
    with pytest.raises(InputError, match=r"there is nothing to cut by"):
        gr.by_slice(scores)
    with pytest.raises(InputError, match="find compares two runs"):
        gr.by_slice(scores, ATTRIBUTES, find=True)
    with pytest.raises(InputError, match="not in the gold, such as 'zzz'"):
        gr.by_slice(scores, {"a": {"zzz": "x", "q1": "y"}})
    with pytest.raises(InputError, match="Tukey's test does not correct over slices"):
        gr.by_slice(gr.compare(gold, runs, "mrr", test="tukey"), ATTRIBUTES)
    with pytest.raises(InputError, match=r"did you mean 'query_length'"):
        gr.by_slice(scores, names=["query_lenght"])
    with pytest.raises(InputError, match="query_length is derived from the texts of queries, and there are none; give"):
        gr.by_slice(scores, names=["query_length"])


@pytest.fixture
def files(tmp_path, data):
    gold, runs = data
    gr.Gold(gold).write(tmp_path / "qrels.txt")
    for name, run in runs.items():
        gr.Run(run).write(tmp_path / f"{name}.run")
    lines = ["qid,language,length", *(f"{query},{LANGUAGES[query]},{at % 11}" for at, query in enumerate(QUERIES))]
    (tmp_path / "slices.csv").write_text("\n".join(lines))
    texts = [{"_id": query, "text": f"how long is {query}" if at % 2 else query} for at, query in enumerate(QUERIES)]
    fields = [{**text, "topic": "wine" if at < 20 else "beer"} for at, text in enumerate(texts)]
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, fields)))
    return tmp_path


def test_score_shows_the_slices_of_a_file_as_the_function_does(files, data, capsys):
    gold, runs = data
    command = [
        "score",
        str(files / "qrels.txt"),
        str(files / "a.run"),
        "-M",
        "mrr",
        "--slices",
        str(files / "slices.csv"),
    ]
    assert main([*command, "--format", "json"]) == 0
    out = capsys.readouterr()
    assert "note: slices.csv: query = qid; further columns: language, length." in out.err
    expected = gr.by_slice(gr.score(gold, runs["a"], "mrr", name="a"), ATTRIBUTES).to_dict()
    assert json.loads(out.out)["slices"] == expected["slices"]
    for output_format in ("table", "csv", "markdown", "latex"):
        assert main([*command, "--format", output_format, "--no-interval"]) == 0
        assert "language" in capsys.readouterr().out


def test_compare_finds_slices_by_the_further_fields_of_queries(files, capsys):
    command = ["compare", *(str(files / name) for name in ("qrels.txt", "a.run", "b.run")), "-M", "mrr"]
    texts = ["--texts", str(files / "queries.jsonl")]
    assert main([*command, *texts, "--slice", "topic", "--slice", "question_word", "--format", "json"]) == 0
    values = {(part["attribute"], part["value"]) for part in json.loads(capsys.readouterr().out)["slices"]}
    assert values == {
        ("topic", "wine"),
        ("topic", "beer"),
        ("question_word", "how"),
        ("question_word", "no question word"),
    }
    assert main([*command, *texts, "--find-slices", "--format", "json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["slices"] == []
    assert {"topic", "query_length"} <= {entry["attribute"] for entry in content["slice_search"]["found"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--slice", "language"], "there is no attribute of queries 'language'"),
        (["--slice", "gold_overlap"], "derived from the texts of queries and items, and there are none"),
        (["--slices", "slices.csv", "--slice", "langage"], "did you mean 'language'"),
        (["--slices", "missing.csv"], "there is no such file"),
        (["--texts", "queries.jsonl"], "--texts has no effect without --slice"),
        (["--slices", "slices.csv", "--per-query"], "--per-query has no effect beside --slice and --slices"),
        (["--slices", "slices.csv", "--profiles", "standard,trec_eval9"], "--slices has no effect on several profiles"),
    ],
)
def test_faulty_options_are_refused(files, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(files)
    assert main(["score", "qrels.txt", "a.run", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_corrected_tests_of_slices_raise_few_false_alarms_and_find_a_planted_difference():
    random = np.random.default_rng(11)
    queries = [f"q{number}" for number in range(120)]
    gold = {query: ["d"] for query in queries}
    attributes = {name: dict(zip(queries, random.choice(list("abc"), 120), strict=True)) for name in ("x", "y")}
    planted = np.array([attributes["x"][query] == "a" for query in queries])

    def share_with_a_difference(loss):
        """Return the shares of comparisons in which the slice x=a differs, any slice does, and any does uncorrected."""
        counted, simulations = np.zeros(3), 100
        for _ in range(simulations):
            ranks = random.integers(0, 8, (2, 120))
            ranks[1, planted] = np.minimum(ranks[1, planted] + loss, 9)
            runs = {name: {q: ranked(rank) for q, rank in zip(queries, row, strict=True)} for name, row in
                    zip("ab", ranks, strict=True)}  # fmt: skip
            compared = gr.compare(gold, runs, "mrr", bootstrap=gr.Bootstrap(resamples=10))
            sliced = gr.by_slice(compared, attributes)
            pairs = {
                str(part): part_pairs.pairs[0] for part, part_pairs in zip(sliced.slices, sliced.parts, strict=True)
            }
            counted += (
                pairs["x=a"].adjusted <= 0.05,
                any(pair.adjusted <= 0.05 for pair in pairs.values()),
                any(pair.p <= 0.05 for pair in pairs.values()),
            )
        return counted / simulations

    _, any_slice, uncorrected = share_with_a_difference(0)
    assert any_slice <= 0.12  # 5 of 100 are expected, with a standard deviation of 2.2
    assert uncorrected > 0.15
    power, _, _ = share_with_a_difference(4)
    assert power >= 0.8
