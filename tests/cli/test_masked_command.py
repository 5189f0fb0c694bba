"""`goldrank masked`: from pages to examples, guesses, scores and comparisons, with right, wrong and hostile input."""

import json
import subprocess
import sys

import pytest

from command_runs import run
from goldrank.cli.main import main
from goldrank.store import Store

PAGES = [
    {"id": 1, "title": "Lise Meitner", "text": "Lise Meitner was a physicist. Meitner worked in Berlin with Hahn."},
    {"id": 2, "title": "Ada Lovelace", "text": "Ada Lovelace wrote about an engine. To friends she was Ada."},
    {"id": 3, "title": "Siyaka", "text": "Siyaka was a king. The grant of Siyaka's son is lost."},
]


@pytest.fixture
def here(own_folder):
    (own_folder / "pages.jsonl").write_text("".join(json.dumps(page) + "\n" for page in PAGES))
    assert main(["masked", "make", "pages.jsonl", "-o", "people.jsonl", "--max-characters", "40"]) == 0
    return own_folder


def predict(capsys, *models, options=()):
    code, out, err = run(capsys, "masked", "predict", "people.jsonl", "-m", *models, *options, "--quiet")
    assert (code, err) == (0, "")
    return [line.split()[0] for line in out.splitlines()]


def test_pages_become_examples_that_say_what_they_hid(here):
    rows = [json.loads(line) for line in (here / "people.jsonl").read_text().splitlines()]
    assert [row["masks"] for row in rows if row["id"] in (1, "1")] == [["Lise Meitner"], ["Meitner"]]
    assert all(row["texts"].count("<mask>") == len(row["masks"]) for row in rows)
    assert "<mask>'s son" in rows[-1]["texts"]


def test_making_says_what_came_of_it(here, capsys):
    code, out, _ = run(capsys, "masked", "make", "pages.jsonl", "-o", "again.jsonl.xz", "--max-characters", "40")
    assert code == 0
    assert "again.jsonl.xz: 6 examples with 6 masks of 3 pages." in out
    assert run(capsys, "masked", "check", "again.jsonl.xz")[0] == 0


def test_a_leak_is_a_warning_and_fails_where_that_is_asked_for(here, capsys):
    row = {"id": 9, "sequence_number": 0, "title": "Max Born", "texts": "<mask> or Born?", "masks": ["Max"]}
    (here / "leak.jsonl").write_text(json.dumps(row))
    code, out, _ = run(capsys, "masked", "check", "leak.jsonl")
    assert code == 0
    assert "still contain the surname" in out
    assert run(capsys, "masked", "check", "leak.jsonl", "--strict")[0] == 1
    content = json.loads(run(capsys, "masked", "check", "leak.jsonl", "--format", "json")[1])
    assert (content["pages"], content["chunks"], content["masks"]) == (1, 1, 1)


def test_guesses_are_stored_once_under_a_key(here, capsys):
    [key] = predict(capsys, "names:random")
    code, out, _ = run(capsys, "masked", "predict", "people.jsonl", "-m", "names:random")
    assert (code, out) == (0, f"{key} (stored before)\n")
    stored = Store.open().get(key)
    assert stored.task == "masked-people"
    assert set(stored.summary) == {"hits@1", "hits@3", "hits@5", "mrr(of=all)"}
    assert stored.predictions_table().num_rows == 6
    assert Store.open().texts(stored.inputs["data"]).find(["1:0"], "item")["1:0"].title == "Lise Meitner"


def test_a_run_is_scored_by_mask_example_and_page(here, capsys):
    [key] = predict(capsys, "retrieve:tfidf")
    code, out, _ = run(capsys, "masked", "score", key)
    assert code == 0
    for expected in (
        "mask",
        "example",
        "page",
        "accuracy↑",
        "MRR↑",
        "margin↑",
        "ECE↓",
        "6 masks in 6 examples of 3 pages",
    ):
        assert expected in out
    content = json.loads(run(capsys, "masked", "score", key, "--format", "json")[1])
    levels = content["runs"][0]["levels"]
    assert [levels[level]["rows"] for level in ("mask", "example", "page")] == [6, 6, 3]
    assert content["rules"] == {"matcher": "tokens", "tier": "given", "pool": "gold", "k": None}
    beside = {"matcher": "names", "tier": "given", "pool": "alias", "k": None}
    assert content["beside"] == {"profile": "strict", "rules": beside}


def test_the_plain_score_of_a_run_is_that_of_its_masks(here, capsys):
    [key] = predict(capsys, "retrieve:tfidf")
    plain = json.loads(run(capsys, "score", key, "--format", "json")[1])["runs"][0]["scores"]
    masked = json.loads(run(capsys, "masked", "score", key, "--format", "json")[1])["runs"][0]["levels"]["mask"][
        "scores"
    ]
    assert {name: masked[name]["mean"] for name in plain} == {name: score["mean"] for name, score in plain.items()}


def test_contexts_are_compared_on_the_same_masks(here, capsys):
    masked, revealed = (
        predict(capsys, "retrieve:tfidf", options=("--context", context))[0] for context in ("masked", "revealed")
    )
    assert masked != revealed
    code, out, _ = run(capsys, "masked", "score", masked, revealed)
    assert code == 0
    assert "By page, source: " in out
    assert "By page, strict: " in out
    assert "difference, strict" in out
    assert "retrieve:tfidf revealed" in out
    assert run(capsys, "compare", masked, revealed, "-M", "hits@1")[0] == 0


def test_a_file_of_predictions_is_scored_with_its_data_in_any_order(here, capsys):
    rows = [json.loads(line) for line in (here / "people.jsonl").read_text().splitlines()]
    predictions = [
        {
            "id": row["id"],
            "sequence_number": row["sequence_number"],
            "predictions": [["Nobody", row["title"]] for _ in row["masks"]],
            "scores": [[0.3, 0.6] for _ in row["masks"]],
        }
        for row in rows
    ]
    results = []
    for name, lines in (("one", predictions), ("other", predictions[::-1]), ("short", predictions[1:])):
        (here / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        code, out, err = run(capsys, "masked", "score", f"{name}.jsonl", "--data", "people.jsonl", "--format", "json")
        assert code == 0
        entry = json.loads(out)["runs"][0]
        results.append((entry["levels"]["mask"]["scores"]["hits@1"]["mean"], entry["counts"]["unanswered"]))
        assert "not descending" in err or "descend" in err
    assert results == [(1.0, 0), (1.0, 0), (pytest.approx(5 / 6), 1)]


def test_strata_and_the_original_scores_stand_below(here, capsys):
    [key] = predict(capsys, "retrieve:tfidf")
    out = run(capsys, "masked", "score", key, "--by", "masks", "--original")[1]
    assert "masks" in out
    assert "PNMS↑" in out
    assert "as coded" in out
    content = json.loads(run(capsys, "masked", "score", key, "--by", "length", "--original", "--format", "json")[1])
    assert set(content["runs"][0]["original"]) == {"as_coded", "corrected"}
    assert sum(stratum["examples"] for stratum in content["runs"][0]["strata"]) == 6


def test_names_are_matched_by_themselves(here, capsys):
    code, out, _ = run(capsys, "masked", "match", "John F. Kennedy", "Kennedy", "Robert Kennedy", "--format", "json")
    assert code == 0
    assert [entry["tier"] for entry in json.loads(out)["guesses"]] == ["surname", None]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("predict", "none.jsonl", "-m", "names:random"), "No such file"),
        (("predict", "people.jsonl", "-m", "nomes:random"), "did you mean 'names'?"),
        (("predict", "people.jsonl", "-m", "names:random", "-k", "0"), "k is 0, less than 1; give 1 or more"),
        (("predict", "people.jsonl", "-m", "names:random", "--limit", "0"), "limit is 0, less than 1; give 1 or more"),
        (("predict", "broken.jsonl", "-m", "names:random"), "broken.jsonl:2"),
        (("score", "no-such-key"), "there is no stored run"),
        (("score", "people.jsonl"), "people.jsonl"),
        (("make", "pages.jsonl", "-o", "no/folder.jsonl"), "the folder does not exist"),
        (("make", "people.jsonl", "-o", "out.jsonl"), "people.jsonl"),
        (("match", "123", "Kennedy"), "letters"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(here, capsys, arguments, message):
    first = (here / "people.jsonl").read_text().splitlines()[0]
    (here / "broken.jsonl").write_text(f"{first}\n{{not json\n")
    code, out, err = run(capsys, "masked", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert not (here / "out.jsonl").exists()


def test_runs_of_other_tasks_have_no_guesses_to_score(here, capsys):
    assert main(["run", "-m", "random", "-t", "wines"]) == 0
    key = Store.open().list()[0].key
    code, _, err = run(capsys, "masked", "score", key)
    assert code == 2
    assert "which predicts no masks" in err


@pytest.fixture
def results(here):
    """Result files of the source system: JSON lines with one row per page, and one file per model and configuration."""
    folder = here / "results" / "1000_basic"
    folder.mkdir(parents=True)
    guesses = {
        "bloomz-7b1_original_1000": ["Lise Meitner", "Ada Byron", "Siyaka"],
        "bloomz-1b7_original_1000": ["Otto Hahn", "Ada Byron", "a king"],
        "mt0-13b_original_1000": ["Otto Hahn", "Alan Turing", "Siyaka"],
    }
    for name, first in guesses.items():
        rows = [
            {"prediction_0": guess, "prediction_1": "Nobody", "page_id": page, "input_length": 1000}
            for page, guess in enumerate(first, start=1)
        ]
        (folder / f"{name}.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pages = [
        {"id": page["id"], "sequence_number": 0, "title": page["title"], "texts": "<mask> lived.", "masks": ["x"]}
        for page in PAGES
    ]
    (here / "one.jsonl").write_text("".join(json.dumps(page) + "\n" for page in pages))
    return folder


@pytest.mark.parametrize("name", ["results/1000_basic", "1000_basic"])
def test_a_folder_of_result_files_is_scored_file_by_file(results, capsys, name):
    code, out, err = run(capsys, "masked", "score", name, "--data", "one.jsonl", "--format", "json")
    assert code == 0, err
    accuracy = {entry["name"]: entry["levels"]["page"]["scores"]["hits@1"]["mean"] for entry in json.loads(out)["runs"]}
    assert accuracy == {
        "bloomz-1b7_original_1000": pytest.approx(1 / 3),
        "bloomz-7b1_original_1000": 1.0,
        "mt0-13b_original_1000": pytest.approx(1 / 3),
    }


def test_what_a_folder_of_results_holds_besides_is_named(results, capsys):
    (results / "README.md").write_text("notes")
    (results / "plots").mkdir()
    code, _, err = run(capsys, "masked", "score", "results/1000_basic", "--data", "one.jsonl", "--format", "csv")
    assert code == 0
    assert (
        "note: results/1000_basic: skipped 'README.md', 'plots/'; only files that end in .json, .jsonl, .ndjson, .csv, "
        ".tsv, .parquet are read.\n" in err
    )
    (results / "broken-1b_original_1000.json").write_text('{"page_id": 1, "prediction_0": \n')
    code, _, err = run(capsys, "masked", "score", "results/1000_basic", "--data", "one.jsonl")
    assert code == 2
    assert "results/1000_basic/broken-1b_original_1000.json:1: " in err


def test_a_folder_without_results_is_an_error_that_says_what_belongs_there(here, capsys):
    (here / "empty").mkdir()
    code, _, err = run(capsys, "masked", "score", "empty", "--data", "people.jsonl")
    assert code == 2
    assert "empty: the folder has no predictions: it is empty" in err
    assert "one file for each model and configuration" in err


@pytest.mark.parametrize("command", [("masked", "score"), ("plot",)])
def test_a_name_that_is_a_folder_and_a_stored_run_is_an_error_with_both_remedies(results, capsys, command):
    [key] = predict(capsys, "names:majority")
    results.rename(results.parent / key)
    (results.parent / key).rename(key)
    code, _, err = run(capsys, *command, key)
    assert code == 2
    assert f"'{key}' is both a folder and the key of the stored run {key}" in err
    assert f"write ./{key} for the folder; for the stored run, run the command where no folder has that name" in err
    assert run(capsys, "masked", "score", f"./{key}", "--data", "one.jsonl")[0] == 0


def test_options_of_files_are_refused_for_stored_runs(here, capsys):
    [key] = predict(capsys, "names:majority")
    code, _, err = run(capsys, "masked", "score", key, "--data", "people.jsonl")
    assert (code, "--data has no effect on stored runs" in err) == (2, True)
    code, _, err = run(capsys, "plot", key, "--data", "people.jsonl")
    assert (code, "--data has no effect on stored runs" in err) == (2, True)


def test_figures_are_drawn_from_a_folder_of_result_files(results, capsys):
    pytest.importorskip("matplotlib")
    figures = ["accuracy-by-size", "accuracy-by-family"]
    code, out, err = run(
        capsys, "plot", "1000_basic", "--data", "one.jsonl", "-o", "out", "--format", "svg", "--figure", *figures
    )
    assert code == 0, err
    assert out.split() == ["out/accuracy-by-size.svg", "out/accuracy-by-family.svg"]


RUNNABLES = pytest.mark.parametrize(
    ("module", "options"),
    [("top_k_evaluation", []), ("plotting.precomputed_plotting", ["--figure", "accuracy-by-k"])],
)


@pytest.mark.slow
@RUNNABLES
def test_the_runnables_take_the_key_of_a_run_that_is_a_folder(results, module, options):
    process = subprocess.run(
        [sys.executable, "-m", f"goldrank.evaluation.{module}", "1000_basic", "--data", "one.jsonl", *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout


@pytest.mark.slow
@RUNNABLES
def test_the_runnables_are_thin_names_for_the_commands(here, capsys, module, options):
    [key] = predict(capsys, "names:majority")
    process = subprocess.run(
        [sys.executable, "-m", f"goldrank.evaluation.{module}", key, *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout
