"""`goldrank judge` from documents and queries to qrels: start, status, export and import."""

import json
import shlex

import pytest

from goldrank.cli.judge_command import ACTIONS, build_parser
from goldrank.cli.main import main
from goldrank.hits import Gold
from goldrank.judging.project import JudgingProject

START = ["judge", "start", "questions", "-m", "bm25", "random:8", "--depth", "3", "--limit", "8", "--no-serve"]


@pytest.fixture
def project(own_folder, capsys):
    """A project of 8 queries, of which ann has judged 2."""
    assert main([*START, "--second-judge", "0"]) == 0
    capsys.readouterr()
    project = JudgingProject.open("judging")
    for unit in project.plan.units[:2]:
        for grade, item in enumerate(unit.items):
            project.add_label(unit.query, item, grade % 4, "ann", seconds=2.0)
    return project


def run(capsys, *arguments):
    code = main(["judge", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_start_says_what_is_planned_and_what_to_do_next(own_folder, capsys):
    code = main([*START, "--budget", "20", "--folder", "my judging"])
    out, err = capsys.readouterr()
    assert code == 0
    assert "Created the judging project in my judging." in out
    assert "of 8 queries" in out
    assert "with a budget of 20" in out
    assert "20 labels suffice for" in out
    assert "next: goldrank judge serve 'my judging'" in out
    assert "the 120 judgments of questions are not used" in err
    code = main([*START, "--budget", "20", "--folder", "my judging", "--format", "json"])
    out, _ = capsys.readouterr()
    assert (code, json.loads(out)["resumed"]) == (0, True)


def test_a_project_that_plans_nothing_asks_for_labels_round_by_round(own_folder, capsys):
    arguments = ["judge", "start", "questions", "-m", "bm25", "random:8", "--depth", "3", "--sample", "next"]
    assert main(arguments) == 0  # no page is served, although --no-serve is not given
    out = capsys.readouterr().out
    assert "plan      nothing yet" in out
    assert "next: goldrank judge next (plan the labels that decide" in out
    code, out, _ = run(capsys, "next", "-M", "precision@3", "--labels", "30")
    assert code == 0
    assert "Not decided: next are" in out
    assert "next: goldrank judge serve" in out
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "Resumed" in out
    assert "1 of goldrank judge next" in out
    code, _, err = run(capsys, "leaderboard")
    assert code == 2
    assert "goldrank judge next says which system is best" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--budget", "20"], "the budget has no effect"),
        (["--second-judge", "0.2"], "the share for a second judge has no effect"),
        (["--allocation", "equal"], "the allocation has no effect"),
        (["--pooling", "mtf"], "cannot ask for labels of a pool by mtf"),
        (["--port", "9"], "--port has no effect with --sample next"),
    ],
)
def test_what_has_no_effect_without_a_plan_is_refused(own_folder, capsys, arguments, message):
    start = [argument for argument in START if argument != "--no-serve"]
    assert main([*start, "--sample", "next", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (own_folder / "judging").exists()


def test_more_queries_cannot_be_planned_after_a_round(own_folder, capsys):
    assert main([*START, "--second-judge", "0", "--folder", "other", "--budget", "9"]) == 0
    other = JudgingProject.open("other")
    for unit in other.plan.units:
        for grade, item in enumerate(unit.items):
            other.add_label(unit.query, item, grade % 4, "ann")
    run(capsys, "next", "other", "--labels", "5")
    assert main([*START, "--second-judge", "0", "--folder", "other", "--budget", "30"]) == 2
    assert "the plan was extended by `goldrank judge next`" in capsys.readouterr().err


def test_status_shows_progress_judges_and_commands_that_exist(project, capsys):
    code, out, _ = run(capsys, "status")
    assert code == 0
    assert "2 of 8 queries" in out
    assert "ann" in out
    content = json.loads(run(capsys, "status", "--format", "json")[1])
    judged = sum(len(unit.items) for unit in project.plan.units[:2])
    assert content["labels"] == {"human": judged, "imported": 0, "weak": 0}
    assert content["judges"] == [{"judge": "ann", "source": "human", "labels": judged, "unclear": 0, "seconds": 2.0}]
    assert content["missing"] == content["planned"] - judged
    assert content["seconds_left"] == 2.0 * content["missing"]
    for step in content["next"]:
        program, command, action, *arguments = shlex.split(step["command"])
        assert (program, command) == ("goldrank", "judge")
        assert action in ACTIONS
        build_parser().parse_args([action, *arguments])


def test_strata_are_shown_and_an_export_says_if_their_shares_are_others(own_folder, capsys):
    strata = ["--strata", "query_length", "--limit", "40", "--second-judge", "0"]
    assert main([*START, *strata, "--allocation", "equal", "--budget", "60"]) == 0
    out = capsys.readouterr().out
    assert "whole pools of queries in random order, equal over" in out
    project = JudgingProject.open("judging")
    for unit in project.plan.units:
        for item in unit.items:
            project.add_label(unit.query, item, 1, "ann")
    out = run(capsys, "status")[1]
    for part in project.plan.strata.slices:
        assert str(part) in out
    assert "the strata of query_length have other shares among the judged queries" in run(capsys, "export")[2]
    assert "from each of" in run(capsys, "leaderboard", "-M", "mrr")[1]
    (own_folder / "kinds.csv").write_text("qid,kind\nq99,x\n")
    assert main([*START, "--slices", "kinds.csv", "--folder", "other"]) == 2
    assert main([*START, *strata, "--folder", "even"]) == 0
    capsys.readouterr()
    even = JudgingProject.open("even")
    unit = even.plan.units[0]
    for item in unit.items:
        even.add_label(unit.query, item, 1, "ann")
    assert "biased" not in run(capsys, "export", "even")[2]


@pytest.mark.parametrize("format", ["trec", "beir"])
def test_exported_qrels_are_read_back_as_gold(project, capsys, format):
    code, _, err = run(capsys, "export", "-o", "labels", "--format", format)
    assert (code, "note:" in err) == (0, False)
    gold = Gold.read("labels")
    assert gold == {
        unit.query: {item: float(grade % 4) for grade, item in enumerate(unit.items)} for unit in project.plan.units[:2]
    }


def test_an_export_says_if_scores_on_it_would_be_biased(project, capsys):
    unit = project.plan.units[2]
    project.add_label(unit.query, unit.items[0], 1, "ann")
    assert "1 query is judged in part, so that their scores are too low" in run(capsys, "export")[2]
    assert main([*START, "--sample", "items", "--budget", "9", "--folder", "items"]) == 0
    sampled = JudgingProject.open("items")
    unit = next(unit for unit in sampled.plan.units if unit.items)
    sampled.add_label(unit.query, unit.items[0], 1, "ann")
    assert "items were sampled, so that plain scores on these qrels are biased" in run(capsys, "export", "items")[2]


def test_an_export_as_json_lines_tells_who_and_when_and_can_be_imported(project, capsys, own_folder):
    assert run(capsys, "export", "-o", "labels.jsonl", "--format", "jsonl")[0] == 0
    rows = [json.loads(line) for line in (own_folder / "labels.jsonl").read_text().splitlines()]
    assert rows[1].items() >= {
        "judge": "ann", "source": "human", "grade": 1, "grade_name": "related", "seconds": 2.0,
        "scale": ["not relevant", "related", "relevant", "perfectly relevant"],
    }.items()  # fmt: skip
    assert rows[0]["created"] == project.labels()[0].created
    assert main([*START, "--second-judge", "0", "--folder", "other"]) == 0
    assert run(capsys, "import", "other", "labels.jsonl")[0] == 0
    imported = JudgingProject.open("other").labels()
    assert {(label.judge, label.source) for label in imported} == {("ann", "imported")}
    assert {label.pair: label.grade for label in imported} == {label.pair: label.grade for label in project.labels()}
    # Imported labels are exported only if --source selects them.
    code, _, err = run(capsys, "export", "other")
    assert (code, "there are no labels with the source human" in err) == (2, True)
    assert run(capsys, "export", "other", "--source", "imported")[1].count("\n") == len(rows)


def test_qrels_are_imported_as_judgments_of_people_elsewhere(project, capsys, own_folder):
    unit = project.plan.units[4]
    (own_folder / "qrels.txt").write_text(
        f"{unit.query} 0 {unit.items[0]} 2\n{unit.query} 0 x 1\nq 0 {unit.items[1]} -1\n"
    )
    code, out, err = run(capsys, "import", "qrels.txt")
    assert (code, out) == (
        0,
        "1 label added, 0 known already, 2 of pairs outside of the pool, 1 grade below 0 read as 0.\n",
    )
    assert "2 judgments left out, whose pairs are not in the pool" in err
    assert run(capsys, "import", "qrels.txt")[1].startswith("0 labels added, 1 known already")
    [label] = project.labels("imported")
    assert (label.judge, label.grade, label.pair) == ("imported:qrels.txt", 2, (unit.query, unit.items[0]))
    # The judging page still asks for a label of the imported pair.
    assert unit.items[0] in project.remaining(unit, "ben")


def test_clicks_are_weak_labels_of_queries_by_id_or_text(project, capsys, own_folder):
    first, second = project.plan.units[:2]
    text = project.query_text(second.query).upper()
    rows = [
        ("query", "url", "clicks", "impressions"),
        (first.query, first.items[0], 2, 9),
        (first.query, first.items[1], 1, 9),
        (first.query, first.items[1], 1, 3),
        (first.query, first.items[2], 0, 9),
        (second.query, second.items[0], 0, 0),
        (f" {text} ", second.items[1], 1, 1),
    ]
    (own_folder / "clicks.csv").write_text("".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in rows))
    code, out, err = run(capsys, "import", "clicks.csv", "--source", "weak", "--min-clicks", "2", "--format", "json")
    assert (code, json.loads(out)["added"]) == (0, 4)
    assert "query = query, item = url, clicks = clicks, impressions = impressions" in err
    assert {label.pair: label.grade for label in project.labels("weak")} == {
        (first.query, first.items[0]): 1,
        (first.query, first.items[1]): 1,
        (first.query, first.items[2]): 0,
        (second.query, second.items[1]): 0,
    }
    assert "derived from clicks" in run(capsys, "status")[1]


@pytest.mark.parametrize(
    ("arguments", "content", "message"),
    [
        (["import", "file.txt"], "q1 0 d1 1\n", "file.txt: none of the 1 judgment is of a pair in the pool"),
        (["import", "file.txt"], "{query} 0 {item} 4\n", "the grade 4 is not on the scale; give a grade from 0 to 3"),
        (["import", "file.txt"], "{query} 0 {item} 1.5\n", "the grade 1.5 of query"),
        (["import", "file.csv", "--source", "weak"], "query,item\nq,d\n", "no column is known to hold the clicks"),
        (["import", "file.csv", "--source", "weak"], "query,item,clicks\nq,d,-1\n", "the number of clicks is '-1'"),
        (["import", "file.txt", "--min-clicks", "2"], "", "--min-clicks has no effect without --source weak"),
        (["import", "no.txt"], "", "no.txt"),
        (
            ["export", "--judge", "ben"],
            "",
            "there are no labels of 'ben' with the source human; there are labels of ann",
        ),
        (["export", "nowhere"], "", "nowhere: there is no such folder; goldrank judge start creates one"),
        (["status", "store"], "", "store: there is no such folder"),
        (
            ["start", "questions", "-m", "bm25", "--pool-size", "3"],
            "",
            "--pool-size has no effect with --pooling depth",
        ),
        (["start", "questions", "-m", "bm25", "--similarity", "dot"], "", "--similarity has no effect on bm25"),
        (["start", "questions", "-m", "bm25", "--no-serve", "--port", "0"], "", "--port has no effect with --no-serve"),
        (["start", "questions", "-m", "bm25", "--grades", "one"], "", "the grade scale 'one' cannot be used"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_sentence(project, capsys, own_folder, arguments, content, message):
    unit = project.plan.units[0]
    name = next((word for word in arguments if word.startswith("file.")), "file.txt")
    (own_folder / name).write_text(content.replace("{query}", unit.query).replace("{item}", unit.items[0]))
    before = project.history()
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert project.history() == before
