"""The two readings of masked scoring through the commands: the worked example, its groups, and the profiles."""

import csv
import io
import json

import pytest

from command_runs import run

# The worked example as its author writes it: five scores a mask, and null where a name was dropped.
KENNEDY = {
    "id": 1,
    "sequence_number": 0,
    "title": "John F. Kennedy",
    "predictions": [
        ["John Fitzgerald Kennedy", "Kennedy", "John F. Kennedy", None, "He"],
        ["He", "Kennedy", "Trumann", "His", "Junior"],
        ["Margareth Kennedy", "Kennedy", None, "together", "he"],
    ],
    "scores": [[0.45, 0.12, 0.11, 0.15, 0.12], [0.62, 0.22, 0.21, 0.12, 0.05], [0.48, 0.44, 0.31, 0.23, 0.06]],
}
TRUMAN = {
    "id": 2,
    "sequence_number": 4,
    "title": "Harry S. Truman",
    "predictions": [["Truman", "he"]],
    "scores": [[0.6, 0.3]],
}


@pytest.fixture
def here(own_folder):
    (own_folder / "kennedy.jsonl").write_text(json.dumps(KENNEDY) + "\n")
    (own_folder / "two.jsonl").write_text(json.dumps(KENNEDY) + "\n" + json.dumps(TRUMAN) + "\n")
    return own_folder


def score(capsys, *arguments):
    code, out, err = run(capsys, "masked", "score", *arguments, "--format", "json")
    assert code == 0, err
    return json.loads(out)


def test_the_worked_example_comes_out_without_an_option(here, capsys):
    content = score(capsys, "kennedy.jsonl")
    [result] = content["runs"]
    [table] = result["groups"]
    sums = [(group["group"], round(group["sum"], 10)) for group in table["readings"]["source"]]
    assert sums == [
        ("John F. Kennedy", 1.82), ("he", 0.80), ("together", 0.23), ("trumann", 0.21), ("his", 0.12), ("junior", 0.05)
    ]  # fmt: skip
    assert [group["right"] for group in table["readings"]["source"]] == [True] + [False] * 5
    assert result["levels"]["example"]["scores"]["hits@1"]["mean"] == 1
    assert (content["profile"], content["beside"]["profile"], result["beside"]["profile"]) == (
        "source",
        "strict",
        "strict",
    )


def test_the_strict_reading_stands_beside_it(here, capsys):
    [result] = score(capsys, "kennedy.jsonl")["runs"]
    source, strict = (result["groups"][0]["readings"][profile] for profile in ("source", "strict"))
    right = {guess["guess"]: guess["right"] for group in source for guess in group["guesses"]}
    assert right["Margareth Kennedy"] == {"source": True, "strict": False}
    assert right["John Fitzgerald Kennedy"] == {"source": True, "strict": True}
    sums = [(group["group"], round(group["sum"], 10), group["right"], group["named"]) for group in strict]
    assert sums[:4] == [
        ("John Fitzgerald Kennedy", 1.34, True, True), ("Margareth Kennedy", 0.48, False, True),
        ("Trumann", 0.21, False, True), ("He", 0.80, False, False),
    ]  # fmt: skip
    assert result["levels"]["mask"]["scores"]["hits@1"]["mean"] == pytest.approx(2 / 3)
    assert result["beside"]["levels"]["mask"]["scores"]["hits@1"]["mean"] == pytest.approx(1 / 3)


def test_the_table_has_the_readings_in_neighbouring_columns_and_the_groups_below(here, capsys):
    code, out, _ = run(capsys, "masked", "score", "kennedy.jsonl")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert ["level", "n", "measure", "source", "strict"] in lines
    assert ["mask", "3", "accuracy↑", "0.6667", "0.3333"] in lines
    assert "John F. Kennedy (page 1, example 0): groups of the reading source" in out
    first = "John F. Kennedy 0: John Fitzgerald Kennedy 0.45, Kennedy 0.12, John F. Kennedy 0.11 1.8200 56.3% right"
    assert [*first.split(), "5", "of", "6", "right"] in lines
    assert ["2:", "Margareth", "Kennedy", "0.48,", "Kennedy", "0.44"] in lines
    for look in ("markdown", "latex"):
        assert "1.8200" in run(capsys, "masked", "score", "kennedy.jsonl", "--format", look)[1]


def test_the_strict_profile_swaps_the_columns(here, capsys):
    source, strict = (score(capsys, "kennedy.jsonl", "--profile", name) for name in ("source", "strict"))
    assert (strict["profile"], strict["beside"]["profile"]) == ("strict", "source")
    assert strict["runs"][0]["levels"] == source["runs"][0]["beside"]["levels"]
    assert strict["runs"][0]["beside"]["levels"] == source["runs"][0]["levels"]
    out = run(capsys, "masked", "score", "kennedy.jsonl", "--profile", "strict")[1]
    assert ["level", "n", "measure", "strict", "source"] in [line.split() for line in out.splitlines()]


def test_csv_has_the_readings_in_one_row_or_every_guess_of_the_groups(here, capsys):
    _, out, _ = run(capsys, "masked", "score", "kennedy.jsonl", "--format", "csv")
    first = next(csv.DictReader(io.StringIO(out)))
    assert (first["profile"], first["beside"], first["metric"]) == ("source", "strict", "hits@1")
    assert (float(first["mean"]), float(first["beside_mean"])) == pytest.approx((2 / 3, 1 / 3))
    _, out, _ = run(capsys, "masked", "score", "kennedy.jsonl", "--format", "csv", "--groups")
    rows = [row for row in csv.DictReader(io.StringIO(out)) if row["reading"] == "source"]
    assert len(rows) == 13
    assert sum(float(row["score"]) for row in rows if row["rank"] == "1") == pytest.approx(1.82)
    margareth = next(row for row in rows if row["guess"] == "Margareth Kennedy")
    assert [margareth[name] for name in ("group", "mask", "right_source", "right_strict")] == [
        "John F. Kennedy", "2", "True", "False",
    ]  # fmt: skip


def test_groups_of_many_pages_are_shown_where_they_are_asked_for(here, capsys):
    assert "groups" not in score(capsys, "two.jsonl")["runs"][0]
    tables = score(capsys, "two.jsonl", "--groups")["runs"][0]["groups"]
    assert [(table["page"], table["example"]) for table in tables] == [("1", 0), ("2", 4)]
    [group_table] = score(capsys, "two.jsonl", "--page", "2")["runs"][0]["groups"]
    assert [group["group"] for group in group_table["readings"]["source"]] == ["Harry S. Truman", "he"]
    assert [group["share"] for group in group_table["readings"]["source"]] == pytest.approx([2 / 3, 1 / 3])


def test_a_page_of_several_examples_has_groups_of_its_own(here, capsys):
    more = {**KENNEDY, "sequence_number": 1, "predictions": [["he"]], "scores": [[0.9]]}
    (here / "more.jsonl").write_text(json.dumps(KENNEDY) + "\n" + json.dumps(more) + "\n")
    tables = score(capsys, "more.jsonl")["runs"][0]["groups"]
    assert [table["example"] for table in tables] == [0, 1, None]
    whole = {group["group"]: round(group["sum"], 10) for group in tables[-1]["readings"]["source"]}
    assert (whole["John F. Kennedy"], whole["he"]) == (1.82, 1.70)
    [only] = score(capsys, "more.jsonl", "--page", "1", "--example", "1")["runs"][0]["groups"]
    assert only["example"] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--profile", "source", "--pool", "alias", "--matcher", "names"),
         "pool alias and matcher names turn the profile source into strict; use the profile strict alone"),
        (("--tier", "exact"), "the matcher tokens does not distinguish the tier exact"),
        (("--profile", "strikt"), "did you mean 'strict'?"),
        (("--page", "9"), "there is no page '9' in the predictions"),
        (("--example", "0"), "--example: the predictions cover 2 pages, which number their examples separately; "
         "give the page as well, with --page"),
        (("--page", "1", "--example", "3"), "there is no example '3'"),
        (("--groups", "--page", "1"),
         "--groups has no effect beside --page or --example, which choose the groups"),
        (("--groups", "--format", "csv", "--original"), "--original has no effect on --format csv"),
    ],
)  # fmt: skip
def test_options_that_contradict_each_other_or_name_nothing_are_errors(here, capsys, options, message):
    code, out, err = run(capsys, "masked", "score", "two.jsonl", *options)
    assert (code, out) == (2, "")
    assert message in err


def test_stored_runs_are_scored_and_drawn_in_either_reading(here, capsys):
    (here / "examples.jsonl").write_text(
        "".join(
            json.dumps({"id": number, "sequence_number": 0, "title": title, "texts": "<mask> spoke.", "masks": [title]})
            + "\n"
            for number, title in enumerate(["John F. Kennedy", "Harry S. Truman", "Ada Lovelace"])
        )
    )
    (here / "guesses.jsonl").write_text(
        "".join(
            json.dumps({"id": number, "sequence_number": 0, "predictions": [guesses], "scores": [[0.5, 0.2]]}) + "\n"
            for number, guesses in enumerate([["Robert Kennedy", "he"], ["Truman", "he"], ["he", "she"]])
        )
    )
    code, out, err = run(capsys, "masked", "predict", "examples.jsonl", "-m", "file:guesses.jsonl")
    assert code == 0, err
    key = out.split()[0]
    means = {}
    for options in ((), ("--profile", "source"), ("--profile", "strict")):
        code, out, err = run(capsys, "score", key, "--format", "json", *options)
        assert code == 0, err
        means[options] = json.loads(out)["runs"][0]["scores"]["hits@1"]["mean"]
    assert list(means.values()) == pytest.approx([2 / 3, 2 / 3, 1 / 3])
    code, _, err = run(capsys, "plot", key, "--profile", "strict", "--figure", "accuracy-by-k", "--format", "svg")
    assert code == 0, err
    code, _, err = run(capsys, "plot", key, "--profile", "trec_eval")
    assert code == 2
    assert "there is no profile of masked runs 'trec_eval'" in err
