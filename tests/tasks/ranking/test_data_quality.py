"""Test the data quality warnings of run: they precede the leaderboard and state their effect on the score."""

import json
import re

import pytest

from goldrank.cli.main import main
from goldrank.hits import Gold, Run
from goldrank.runs.score_effects import collapse_duplicates
from goldrank.tasks.catalogue import find_task
from goldrank.tasks.ranking import data_quality

pytestmark = pytest.mark.usefixtures("own_folder")

ITEMS = {
    "d0": "Radium was discovered by Marie and Pierre Curie in Paris in 1898.",
    "d1": "The Moon landing of 1969 was the work of many thousands of people over ten years.",
    "d2": "Hamlet is a tragedy by William Shakespeare about a prince of Denmark and his father.",
    "d3": "Grapes for sweet wine stay on the vine until noble rot has shrunk them.",
    "d4": "Chess is a game for two players on a board of sixty-four squares.",
}
QUERIES = {"q0": "who found radium", "q1": "who went to the moon", "q2": "who wrote the play of a Danish prince"}
GOLD = {"q0": "d0", "q1": "d1", "q2": "d2"}


@pytest.fixture
def warned(tmp_path, capsys):
    """Run bm25 on a changed collection, check the warnings in the table, and return those of the JSON by code."""

    def run(items=None, queries=None, gold=None):
        folder = tmp_path / "data"
        folder.mkdir()
        for name, texts in (("corpus", ITEMS | (items or {})), ("queries", QUERIES | (queries or {}))):
            rows = [json.dumps({"_id": i, "text": t}) + "\n" for i, t in texts.items() if t is not None]
            (folder / f"{name}.jsonl").write_text("".join(rows))
        (folder / "qrels").mkdir()
        rows = [f"{query}\t{item}\t1\n" for query, item in (GOLD | (gold or {})).items()]
        (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows))
        assert main(["run", "-m", "bm25", "-t", str(folder), "--metric", "ndcg@10"]) == 0
        output = capsys.readouterr().out
        assert main(["run", "-m", "bm25", "-t", str(folder), "--metric", "ndcg@10", "--format", "json"]) == 0
        (board,) = json.loads(capsys.readouterr().out)["tasks"]
        for warning in board["warnings"]:
            assert output.index(warning["message"]) < output.index("Stored as")
        return {warning["code"]: warning for warning in board["warnings"]}

    return run


def test_clean_data_are_not_warned_of(warned):
    assert warned() == {}


@pytest.mark.parametrize(
    "query", [ITEMS["d0"], ITEMS["d0"].upper(), "radium was discovered by marie & pierre curie, in Paris in 1898"]
)
def test_a_query_that_is_its_own_answer_is_warned_of_whatever_its_case_and_punctuation(warned, query):
    warnings = warned(queries={"q0": query})
    message = warnings["query-is-its-answer"]["message"]
    assert message.startswith("1 of 3 queries has the text of a relevant item")
    assert re.search(r"Without these queries ndcg@10 is 0\.\d{4} instead of 0\.\d{4} \(bm25\)", message)


def test_a_query_inside_its_answer_and_an_answer_inside_its_query_are_warned_of(warned):
    warnings = warned(
        queries={"q1": "the work of many thousands of people", "q2": f"is this right? {ITEMS['d2']} " + "I ask. " * 30}
    )
    assert warnings.keys() == {"query-inside-its-answer", "answer-inside-query"}


def test_near_duplicates_are_warned_of_with_what_they_do_to_the_score(warned):
    copy = ITEMS["d0"].replace("Paris", "a shed in Paris") + " Radium!"
    warnings = warned(items={"zz": copy})
    message = warnings["near-duplicate-items"]["message"]
    assert "1 item of 6 is a near-duplicate of another one" in message
    assert "1 query of 3 has a relevant item with a near-duplicate that is not judged relevant" in message
    change = re.search(r"near-duplicates change ndcg@10 by ([+-][\d.]+) \(bm25\)", message)
    assert float(change[1]) > 0.05


def test_a_search_that_is_left_out_is_said(warned, monkeypatch):
    monkeypatch.setattr(data_quality, "MOST_ITEMS", 4)
    assert "not looked for among 5 items" in warned()["near-duplicates-unknown"]["message"]


@pytest.mark.parametrize(
    ("changed", "code", "message"),
    [
        ({"items": {"d4": ""}}, "empty-items", "1 of 5 items has an empty text."),
        ({"queries": {"q1": " "}}, "empty-queries", "1 of 3 queries has an empty text."),
        ({"gold": {"q1": "d99"}}, "gold-outside-corpus", "1 of 3 gold pairs names an item that is not in the corpus"),
        ({"queries": {"q1": None}}, "gold-without-query", "1 of 3 queries in the gold have no text to ask with."),
        ({"items": {"d9": ITEMS["d4"]}}, "near-duplicate-items", "1 item of 6 is a near-duplicate of another one"),
    ],
)
def test_every_fault_of_the_data_is_said_by_run(warned, changed, code, message):
    assert message in warned(**changed)[code]["message"]


def test_warnings_go_to_standard_error_where_the_output_has_no_place_for_them(tmp_path, capsys, warned):
    warned(items={"d4": ""})
    assert main(["run", "-m", "bm25", "-t", str(tmp_path / "data"), "--format", "csv"]) == 0
    out, err = capsys.readouterr()
    assert "an empty text" not in out
    assert "goldrank: warning: data: 1 of 5 items has an empty text." in err


def test_data_check_finds_the_same_leaks(tmp_path, capsys, warned):
    warned(queries={"q0": ITEMS["d0"].upper()}, items={"zz": ITEMS["d2"] + " More."})
    assert main(["data", "check", str(tmp_path / "data"), "--format", "json"]) == 0
    findings = {finding["name"]: finding for finding in json.loads(capsys.readouterr().out)["findings"]}
    assert findings["queries that are their answer"]["severity"] == "warning"
    assert findings["queries that are items"]["count"] == 1
    assert findings["near-duplicate items"]["examples"] == ["'zz' is nearly 'd2'"]
    assert findings["gold with duplicates that are not gold"]["examples"] == ["'q2'"]


def test_a_copy_of_a_query_that_is_an_item_stays_an_item():
    gold, run = Gold({"a": {"b": 1}}), Run({"a": {"a": 9.0, "c": 3.0, "b": 2.0, "d": 1.0}})
    judged, ranked = collapse_duplicates(gold, run, (("a", "b", "c"),), find_task("wines"))
    assert (judged, ranked) == ({"a": {"b": 1.0}}, {"a": {"b": 3.0, "d": 1.0}})


def test_near_duplicates_are_searched_for_once_and_again_if_the_kept_result_is_damaged(warned, tmp_path, monkeypatch):
    searches = []
    search = data_quality.group_near_duplicates
    monkeypatch.setattr(data_quality, "group_near_duplicates", lambda texts: searches.append(1) or search(texts))
    warnings = warned(items={"d9": ITEMS["d4"]})
    assert len(searches) == 1  # two commands share one search
    (cache_file,) = (tmp_path / "cache" / data_quality.FOLDER).iterdir()
    for damage in ("[[0, 99]]", "[[0", '"x"', "[[null]]", "{}{}"):
        cache_file.write_text(damage)
        assert main(["run", "-m", "bm25", "-t", str(tmp_path / "data"), "--metric", "ndcg@10"]) == 0
        assert json.loads(cache_file.read_text()) == [[4, 5]]
    assert len(searches) == 6
    assert "near-duplicate-items" in warnings


def test_run_says_that_all_scores_of_a_model_are_equal(warned, tmp_path, capsys):
    warned()
    (tmp_path / "tied.run").write_text("".join(f"{query} Q0 {item} 1 0.5 t\n" for query in QUERIES for item in ITEMS))
    assert main(["run", "-m", f"run:{tmp_path / 'tied.run'}", "-t", str(tmp_path / "data"), "--metric", "mrr"]) == 0
    assert "All tied: in 3 of 3 queries every result has the same score" in capsys.readouterr().out
