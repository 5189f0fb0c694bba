"""Test errors and warnings for data with misleading scores: orders, ties, query sets, depths, ids and corpora."""

import json

import pytest

import goldrank as gr
from goldrank.cli.main import main
from goldrank.errors import InputError
from goldrank.hits import Run

QUERIES = [f"q{n}" for n in range(4)]
ITEMS = "abcdefgh"
GOLD = {query: {"a": 1} for query in QUERIES}
DISTANCES = {query: [[item, (place + 1) / 8] for place, item in enumerate(ITEMS)] for query in QUERIES}


def codes(scores):
    return [warning.code for warning in scores.warnings]


def rows(first_rank=1, value=lambda place: (place + 1) / 8):
    return [(query, item, place + first_rank, value(place)) for query in QUERIES for place, item in enumerate(ITEMS)]


def as_trec(**how):
    return "".join(f"{query} Q0 {item} {rank} {value} t\n" for query, item, rank, value in rows(**how))


def as_csv(**how):
    # The lines are not sorted by rank, so that only the rank column gives the order.
    shuffled = sorted(rows(**how), key=lambda row: (row[2] * 5 % 8, row[0]))
    return "query,item,rank,score\n" + "".join(",".join(map(str, row)) + "\n" for row in shuffled)


def as_jsonl(**how):
    keys = ("query", "item", "rank", "score")
    return "".join(json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in rows(**how))


def as_bare(first=0):
    return "".join(f"{query}\t{item}\t{place + first}\n" for query in QUERIES for place, item in enumerate(ITEMS[:3]))


CONTRADICTING = {
    "ranked lists with distances": (json.dumps(DISTANCES), "list"),
    "objects with distances": (json.dumps({query: dict(pairs) for query, pairs in DISTANCES.items()}), "list"),
    "a TREC run of distances": (as_trec(), "rank column"),
    "a TREC run with ranks from 0": (as_trec(first_rank=0), "rank column"),
    "a CSV table with a rank column": (as_csv(), "rank column"),
    "JSON Lines with a rank": (as_jsonl(), "rank column"),
    "query, item, rank from 0 without a header": (as_bare(0), "look like ranks"),
    "query, item, rank from 1 without a header": (as_bare(1), "look like ranks"),
}


@pytest.fixture(params=CONTRADICTING)
def contradicting(request, tmp_path):
    content, message = CONTRADICTING[request.param]
    (tmp_path / "a.run").write_text(content)
    return tmp_path / "a.run", message


def test_an_order_that_contradicts_the_scores_is_refused_until_it_is_decided(contradicting):
    path, message = contradicting
    with pytest.raises(InputError, match="the order contradicts the scores: in 4 of 4 queries") as refused:
        gr.score(GOLD, path, "mrr")
    assert message in str(refused.value)
    for choice in ("similarity", "distance", "ignore"):
        assert choice in str(refused.value)
    assert gr.score(GOLD, path, "mrr", scores="distance")["mrr"].mean == 1
    assert gr.score(GOLD, path, "mrr", scores="ignore")["mrr"].mean == 1
    decided = gr.score(GOLD, path, "mrr", scores="similarity")
    assert decided["mrr"].mean < 0.4
    assert codes(decided) == ["order-contradicts-scores"]


@pytest.mark.parametrize("profile", ["trec_eval", "trec_eval9"])
def test_the_trec_eval_profiles_go_by_the_scores_and_say_so_first(contradicting, profile):
    path, message = contradicting
    scores = gr.score(GOLD, path, "mrr", profile=profile)
    assert scores["mrr"].mean < 0.4
    assert scores.warnings[0].code == "order-contradicts-scores"
    assert message in scores.warnings[0].message
    assert scores.warnings[0].message.startswith("The order contradicts the scores")


def test_a_run_model_is_refused_and_decided_in_the_same_way(contradicting):
    from goldrank.encoders import load

    path, _ = contradicting
    with pytest.raises(InputError, match=r"order contradicts the scores.*run:FILE\(scores=…\)"):
        load(f"run:{path}")
    for choice in ("distance", "ignore"):
        assert next(iter(load(f"run:{path}(scores={choice})").search(["q0"], [""], 3)["q0"])) == "a"
    assert next(iter(load(f"run:{path}(scores=similarity)").search(["q0"], [""], 3)["q0"])) != "a"


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_a_data_frame_with_ranks_is_refused_too(frame):
    library = pytest.importorskip(frame)
    names = ("query", "item", "rank", "score")
    table = library.DataFrame(dict(zip(names, map(list, zip(*rows(), strict=True)), strict=True)))
    with pytest.raises(InputError, match="the rank column puts lower scores first"):
        gr.score(GOLD, table, "mrr")
    assert gr.score(GOLD, table, "mrr", scores="ignore")["mrr"].mean == 1


def test_a_parquet_file_with_ranks_is_refused_too(tmp_path):
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame(rows(), columns=["query", "item", "rank", "score"]).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="the rank column puts lower scores first"):
        gr.score(GOLD, tmp_path / "a.parquet", "mrr")


@pytest.mark.parametrize(
    "run",
    [
        {query: {item: float(score) for item, score in zip(ITEMS, order, strict=True)} for query in QUERIES}
        for order in ([8, 7, 6, 5, 4, 3, 2, 1], [1, 2, 3, 4, 5, 6, 8, 7], [5, 5, 5, 5, 5, 5, 5, 6])
    ],
    ids=["in order", "unsorted", "two scores only"],
)
def test_other_orders_of_a_dict_are_no_evidence(run):
    assert codes(gr.score(GOLD, run, "mrr")) in ([], ["all-tied"])


def test_a_short_list_that_ascends_by_chance_is_no_evidence():
    assert codes(gr.score(GOLD, {"q0": {"b": 0.1, "a": 0.2}, "q1": {"a": 0.1, "b": 0.3}}, "mrr")) == []


def test_a_minority_of_contradicting_queries_is_no_evidence():
    good = {item: 8.0 - place for place, item in enumerate(ITEMS)}
    run = {**dict.fromkeys(QUERIES, good), "q0": dict(DISTANCES["q0"])}
    assert codes(gr.score(GOLD, run, "mrr")) == []


def test_distances_of_a_run_in_order_of_similarity_are_warned_of():
    run = {query: {item: 8.0 - place for place, item in enumerate(ITEMS)} for query in QUERIES}
    assert codes(gr.score(GOLD, run, "mrr", scores="distance")) == ["order-contradicts-scores"]


def test_ranks_that_are_no_numbers_cannot_order_a_run(tmp_path):
    (tmp_path / "a.run").write_text("q0 Q0 a first 1 t\n")
    with pytest.raises(InputError, match="the rank of the item 'a' of query 'q0' is not a number"):
        gr.score(GOLD, tmp_path / "a.run", "mrr", scores="ignore")


@pytest.mark.parametrize(
    ("ties", "message"), [("docid", "that of the ids"), ("input", "that of the input"), ("expected", "random order")]
)
def test_equal_scores_throughout_are_said_with_the_order_that_remains(ties, message):
    (warning,) = gr.score(GOLD, {query: dict.fromkeys(ITEMS, 1.0) for query in QUERIES}, "mrr", ties=ties).warnings
    assert warning.code == "all-tied"
    assert warning.message.startswith("All tied: in 4 of 4 queries")
    assert message in warning.message


def test_gold_that_is_first_only_because_ties_count_in_its_favour_is_said():
    run = {query: {"a": 2.0, "b": 2.0, "c": 1.0} for query in QUERIES[:1]} | {
        query: {"a": 2.0, "b": 1.0, "c": 1.0} for query in QUERIES[1:]
    }
    (warning,) = gr.score(GOLD, run, "mrr", ties="optimistic", name="mine").warnings
    assert str(warning) == (
        "mine: 1 of 4 gold items share the best score with other items, and ties=optimistic counts each of them first, "
        "as where texts without a known word all have one vector. Count the mean over the orders with --ties expected, "
        "or such texts as misses with --oov miss."
    )
    assert codes(gr.score(GOLD, run, "mrr", ties="expected")) == []


def test_some_ties_are_nothing_to_say():
    run = {query: dict.fromkeys(ITEMS, 1.0) | {"a": 2.0} for query in QUERIES}
    assert codes(gr.score(GOLD, run, "mrr")) == []


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Write gold, a run with results for one query, a complete run of depth 8 and one of depth 2."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gold").write_text("".join(f"{query} 0 a 1\n" for query in QUERIES))
    similar = as_trec(value=lambda place: 8 - place)
    (tmp_path / "one.run").write_text("".join(line for line in similar.splitlines(True) if line.startswith("q0")))
    swapped = similar.replace(" a ", " x ").replace(" b ", " a ").replace(" x ", " b ")
    (tmp_path / "whole.run").write_text(swapped)
    (tmp_path / "cut.run").write_text("".join(line for line in swapped.splitlines(True) if line.split()[3] < "3"))
    (tmp_path / "distances.run").write_text(as_trec())
    return tmp_path


def command(capsys, *arguments):
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def test_the_first_line_of_score_and_compare_is_the_warning(files, capsys):
    for name in ("score", "compare"):
        runs = ["distances.run"] if name == "score" else ["distances.run", "whole.run"]
        code, _, err = command(capsys, name, "gold", *runs)
        assert (code, "the order contradicts the scores" in err) == (2, True)
        code, out, _ = command(capsys, name, "gold", *runs, "--profile", "trec_eval")
        assert code == 0
        assert out.startswith("Warning: distances: The order contradicts the scores")
        code, out, _ = command(capsys, name, "gold", *runs, "--profile", "trec_eval", "--format", "json")
        assert list(json.loads(out))[:2] == ["schema", "warnings"]
        assert json.loads(out)["warnings"][0]["code"] == "order-contradicts-scores"
        for output_format in ("csv", "markdown", "latex"):
            code, out, err = command(capsys, name, "gold", *runs, "--profile", "trec_eval", "--format", output_format)
            assert "goldrank: warning: distances: The order contradicts the scores" in err
            assert "Warning" not in out


def test_option_scores_decides_on_the_command_line(files, capsys):
    code, out, _ = command(capsys, "score", "gold", "distances.run", "-M", "mrr", "--scores", "distance")
    assert code == 0
    assert "1.0000" in out
    assert "scores=distance" in out
    assert "Warning" not in out


def test_counts_stand_beside_each_run_and_none_is_best_where_the_queries_differ(files, capsys):
    arguments = ["score", "gold", "one.run", "whole.run", "-M", "mrr", "--profile", "trec_eval9", "--no-interval"]
    _, out, _ = command(capsys, *arguments)
    assert "one lacks 3 ('q1', 'q2', 'q3')" in out.splitlines()[0]
    lines = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line}
    assert (lines["run"][0], lines["one"], lines["whole"]) == ("queries", ["1", "1.0000"], ["4", "0.5000"])
    _, out, _ = command(capsys, *arguments, "--format", "markdown")
    assert "**" not in out
    _, out, _ = command(capsys, *arguments, "--format", "json")
    content = json.loads(out)
    assert [run["queries"] for run in content["runs"]] == [1, 4]
    assert content["runs"][0]["missing_queries"] == ["q1", "q2", "q3"]
    _, out, _ = command(capsys, *arguments, "--missing", "zero", "--format", "markdown")
    assert "| whole | **0.5000** |" in out
    assert "queries |" not in out


def test_many_metrics_get_a_row_of_counts(files, capsys):
    metrics = [part for k in range(1, 9) for part in ("-M", f"recall@{k}")]
    _, out, _ = command(capsys, "score", "gold", "one.run", "whole.run", *metrics, "--profile", "trec_eval9")
    assert ["queries", "1", "4"] in [line.split() for line in out.splitlines()]


def test_a_single_run_that_skips_queries_says_which(files):
    (warning,) = gr.score("gold", "one.run", "mrr", profile="trec_eval").warnings
    assert warning.code == "missing-queries"
    assert "no results for 3 of 4 gold queries" in warning.message
    assert "'q1', 'q2', 'q3'" in warning.message


def test_compare_refuses_a_profile_that_skips_most_queries_until_that_is_chosen(files):
    with pytest.raises(InputError, match=r"one answered 1 of 4 queries, and under this profile"):
        gr.compare("gold", {"one": "one.run", "whole": "whole.run"}, "mrr", profile="trec_eval9")
    chosen = {"profile": "trec_eval9", "missing": "skip"}
    common = gr.compare("gold", {"one": "one.run", "whole": "whole.run"}, "mrr", **chosen)
    assert [warning.code for warning in common.warnings] == []
    zero = gr.compare("gold", {"one": "one.run", "whole": "whole.run"}, "mrr")
    assert [warning.code for warning in zero.warnings] == ["different-queries"]


@pytest.mark.parametrize(
    ("metrics", "named"),
    [(["recall@2"], None), (["recall@2", "recall@8"], "recall@8"), (["map"], "map"), (["mrr@1"], None)],
)
def test_different_depths_are_named_with_the_metrics_that_read_further(files, metrics, named):
    runs = {"cut": "cut.run", "whole": "whole.run"}
    warnings = gr.compare("gold", runs, metrics).warnings
    if named is None:
        assert warnings == ()
        return
    (warning,) = warnings
    assert warning.code == "different-depths"
    assert f"(cut 2, whole 8), less than these metrics read: {named}." in warning.message
    assert gr.compare("gold", runs, metrics, depth=2).warnings == ()


def test_score_of_several_runs_says_different_depths_too(files, capsys):
    _, out, _ = command(capsys, "score", "gold", "cut.run", "whole.run", "-M", "recall@8")
    assert out.startswith("Warning: The runs have different depths (cut 2, whole 8)")


COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"
FORMS = [
    (COMPOSED, DECOMPOSED, "the Unicode normal form"),
    ("007", "7", "the number format"),
    ("7", "7.0", "the number format"),
    ("9007199254740993", "9.007199254740993e15", "the number format"),
    ("Doc1", "doc1", "case"),
    ("a  b", "a b", "white space"),
]


@pytest.mark.parametrize(("of_gold", "of_run", "message"), FORMS)
def test_item_ids_that_differ_only_in_writing_are_said(of_gold, of_run, message):
    gold = {"q1": {of_gold: 1, "same": 1}, "q2": {"same": 1}}
    for run in ({"q1": {of_run: 2.0, "same": 1.0}}, {"q1": {of_run: 2.0}}):
        scores = gr.score(gold, run, "recall@10")
        (warning,) = [warning for warning in scores.warnings if warning.code == "item-id-forms"]
        assert message in warning.message
        assert repr(of_gold) in warning.message
        assert repr(of_run) in warning.message
        assert warning.message.startswith("1 item id ")


@pytest.mark.parametrize(("of_gold", "of_run", "message"), FORMS)
def test_query_ids_that_differ_only_in_writing_are_said(of_gold, of_run, message):
    gold = {of_gold: {"a": 1}, "same": {"a": 1}}
    scores = gr.score(gold, {of_run: {"a": 1.0}, "same": {"a": 1.0}}, "mrr")
    (warning,) = scores.warnings
    assert warning.code == "query-id-forms"
    assert message in warning.message
    with pytest.raises(InputError, match=f"no query of the run is in the gold.*differ only in {message}"):
        gr.score(gold, {of_run: {"a": 1.0}}, "mrr")


def test_ids_that_are_judged_in_both_forms_are_no_mistake():
    gold = {"q1": {"Doc1": 1, "doc1": 1}}
    assert gr.score(gold, {"q1": {"doc1": 1.0}}, "mrr").warnings == ()


def test_a_run_without_any_judged_item_is_said():
    (warning,) = gr.score({"q1": {"a": 1}}, {"q1": {"x": 1.0}}, "mrr").warnings
    assert (warning.code, "the gold has 'a', the run 'x'" in warning.message) == ("no-gold-found", True)


@pytest.mark.parametrize("text", ["9007199254740992.0", "9.007199254740993e+15", "9.00719925474100E+15", "9.00720e+18"])
def test_ids_that_were_rounded_as_floats_are_refused(text, tmp_path):
    (tmp_path / "gold.csv").write_text(f"query,item,grade\nq1,{text},1\n")
    with pytest.raises(InputError, match=r"gold.csv:2: the item id .* holds no whole number above 2\*\*53 exactly"):
        gr.Gold.read(tmp_path / "gold.csv")


def test_ids_that_would_be_refused_are_not_written(tmp_path):
    with pytest.raises(InputError, match=r"above 2\*\*53"):
        Run({"q1": {"9007199254740992.0": 1.0}}).write(tmp_path / "a.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["7.0", "9007199254740991.0", "1e10", "1e20", "12e34", "v1.0", "9007199254740993"])
def test_other_ids_with_points_and_digits_are_read(text, tmp_path):
    (tmp_path / "gold.csv").write_text(f"query,item,grade\nq1,{text},1\n")
    assert gr.Gold.read(tmp_path / "gold.csv").to_dict() == {"q1": {text: 1.0}}


def test_float_ids_beyond_the_exact_ones_are_refused_wherever_they_come_from(tmp_path):
    (tmp_path / "gold.jsonl").write_text('{"query": "q1", "item": 9007199254740993.0, "grade": 1}\n')
    with pytest.raises(InputError, match=r"above 2\*\*53"):
        gr.Gold.read(tmp_path / "gold.jsonl")
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InputError, match=r"above 2\*\*53"):
        gr.Gold(pandas.DataFrame({"query": ["q1"], "item": [9007199254740993.0], "grade": [1]}))
    whole = gr.Gold(pandas.DataFrame({"query": ["q1"], "item": [9007199254740993], "grade": [1]}))
    assert whole.to_dict() == {"q1": {"9007199254740993": 1.0}}


def test_runs_that_share_no_item_beside_the_gold_are_said():
    def run(corpus, place):
        items = [f"{corpus}{n}" for n in range(30)]
        ranking = [*items[:place], "a", *items[place:]]
        return {query: {item: 50.0 - n for n, item in enumerate(ranking)} for query in QUERIES}

    compared = gr.compare(GOLD, {"x": run("x", 1), "y": run("y", 3)}, "mrr")
    (warning,) = compared.warnings
    assert warning.code == "different-items"
    assert "x and y share 0 of" in warning.message
    assert gr.compare(GOLD, {"x": run("x", 1), "z": run("x", 3)}, "mrr").warnings == ()


def test_text_after_the_tag_is_read_and_said_once(tmp_path):
    text = as_trec(value=lambda place: 8 - place)
    (tmp_path / "plain.run").write_text(text)
    (tmp_path / "long.run").write_text(text.replace(" t\n", " t and more\n", 3))
    plain, long = (gr.score(GOLD, tmp_path / f"{name}.run", "mrr") for name in ("plain", "long"))
    assert long["mrr"].mean == plain["mrr"].mean
    (warning,) = long.warnings
    assert (warning.code, "text after the tag in 3 lines" in warning.message) == ("text-after-tag", True)


def test_query_ids_that_begin_with_a_hash_survive_the_round_trip(tmp_path):
    run, gold = Run({"#1": {"a": 2.0, "#b": 1.0}}), gr.Gold({"#1": {"a": 1}})
    run.write(tmp_path / "a.run")
    gold.write(tmp_path / "a.qrels")
    assert gr.score(tmp_path / "a.qrels", tmp_path / "a.run", "mrr")["mrr"].mean == 1
    assert Run.read(tmp_path / "a.run") == run


def test_scores_of_stored_hits_warn_of_ties_and_refuse_another_decision():
    hits = Run({query: dict.fromkeys(ITEMS, 1.0) for query in QUERIES}).hits(gr.Gold(GOLD))
    assert codes(gr.score_hits(hits, "mrr")) == ["all-tied"]
    with pytest.raises(InputError, match="these hits were counted with scores=similarity, but the conventions require"):
        gr.score_hits(hits, "mrr", scores="distance")


def test_stored_runs_over_changed_data_are_said():
    from types import SimpleNamespace

    from goldrank.runs.stored_scores import find_different_data

    def stored(task, data):
        return SimpleNamespace(task=task, inputs={"data": data})

    runs = {"a": stored("wines", "1f"), "b": stored("wines", "2e"), "c": stored("other", "3d")}
    (warning,) = find_different_data(runs)
    assert (warning.code, "a and b" in warning.message, "1f and 2e" in warning.message) == (
        "different-data",
        True,
        True,
    )
    assert find_different_data({"a": runs["a"], "d": stored("wines", "1f")}) == ()


def test_stored_runs_keep_their_order(tmp_path):
    from goldrank.metrics import Conventions
    from goldrank.store import count_under

    with pytest.raises(InputError, match="scores of the stored run k was fixed when it was computed"):
        count_under(SimpleRun(), Conventions(scores="distance"))


class SimpleRun:
    key = "k"
    conventions = {"scores": "similarity"}  # noqa: RUF012 - a constant


def test_warnings_do_not_depend_on_the_compiled_part(tmp_path):
    import subprocess
    import sys

    (tmp_path / "a.run").write_text(as_trec())
    code = (
        "import goldrank as gr; from goldrank import native; import sys;"
        "gold = {f'q{n}': {'a': 1} for n in range(4)};"
        "print(native.COMPILED, gr.score(gold, sys.argv[1], 'mrr', profile='trec_eval').warnings)"
    )
    import os

    outputs = [
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "a.run")],
            env={**os.environ, "GOLDRANK_NO_NATIVE": without},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.partition(" ")[2]
        for without in ("", "1")
    ]
    assert outputs[0] == outputs[1]
    assert "order-contradicts-scores" in outputs[0]


def test_queries_among_their_own_results_are_said_where_they_are_kept():
    gold = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
    run = {"q1": {"q1": 3.0, "a": 2.0}, "q2": {"q2": 3.0, "b": 2.0}, "q3": {"c": 1.0, "d": 0.5}}
    scores = gr.score(gold, run, "mrr")
    assert [str(warning) for warning in scores.warnings if warning.code == "self-matches"] == [
        "run: 2 of 3 queries are among their own results, which count like any other. "
        "Take them out with --self-matches drop if the queries are items of the corpus."
    ]
    assert not gr.score(gold, run, "mrr", self_matches="drop").warnings
    assert not gr.score(gold, {**run, "q2": {"b": 1.0, "d": 0.5}}, "mrr").warnings


def test_runs_that_were_not_judged_alike_are_said_if_the_gold_has_items_that_are_not_relevant():
    queries = [f"q{n}" for n in range(10)]
    gold = {query: {"a": 1, "b": 0, "c": 0} for query in queries}
    runs = {
        "pooled": {query: {"a": 3.0, "b": 2.0, "c": 1.0} for query in queries},
        "new": {query: {"a": 3.0, "x": 2.0, "y": 1.0} for query in queries},
    }

    def codes(gold, **conventions):
        return {warning.code for warning in gr.compare(gold, runs, "mrr", **conventions).warnings}

    assert "different-judged-shares" in codes(gold)
    (warning,) = [w for w in gr.compare(gold, runs, "mrr").warnings if w.code == "different-judged-shares"]
    assert "pooled 100%, new 33%" in warning.message
    assert "different-judged-shares" not in codes(gold, unjudged="drop")
    assert "different-judged-shares" not in codes({query: {"a": 1} for query in queries})
    assert "different-judged-shares" not in codes({query: gold[query] for query in queries[:9]})


def test_an_item_with_the_number_of_a_position_is_no_self_match_unless_it_comes_first():
    gold, run = [[11], [4], [26]], [[11, 0], [16, 4, 1], [24, 26, 2]]
    assert gr.score(gold, run, "mrr").warnings == ()
    (warning,) = gr.score(gold, [[0, 11], [1, 4], [2, 26]], "mrr").warnings
    assert warning.code == "self-matches"
    (warning,) = gr.score(gold, run, "mrr", self_matches="drop").warnings
    assert str(warning) == (
        "run: 3 results were dropped because their id is the position of their query. Give dicts with query ids, or "
        "self_matches='keep', unless query n is item n."
    )
