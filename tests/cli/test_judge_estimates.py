"""`goldrank judge leaderboard` and `goldrank judge next`: output, and refused input."""

import csv
import io
import json

import pytest

from goldrank.cli.main import main
from goldrank.judging.project import JudgingProject
from judging.judged_projects import create, grade, judge, rankings, truth


@pytest.fixture
def grades():
    return truth()


@pytest.fixture
def project(own_folder, grades):
    project = create("judging", grades, budget=150)
    judge(project, grades)
    return project


def run(capsys, *arguments):
    code = main(["judge", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_leaderboard_fits_80_columns_with_all_three_estimates(project, grades, capsys, monkeypatch):
    grade(project, grades)
    monkeypatch.setenv("COLUMNS", "80")
    rankings(grades, {"new": 1.5}, seed=7)["new"].write("new.run", format="trec")
    code, out, _ = run(capsys, "leaderboard", "-M", "ndcg@5", "-M", "map", "--others", "new.run")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    for heading in ("human", "model", "corrected", "behind", "Not in the pool: no estimate"):
        assert heading in out
    assert out.startswith("Believe the corrected estimates: people judged")


def test_the_forms_of_the_leaderboard_agree(project, grades, capsys):
    grade(project, grades)
    content = json.loads(run(capsys, "leaderboard", "-M", "ndcg@5", "--format", "json")[1])
    rows = list(csv.DictReader(io.StringIO(run(capsys, "leaderboard", "-M", "ndcg@5", "--format", "csv")[1])))
    assert len(rows) == len(content["systems"]) + len(content["differences"])
    for row, entry in zip(rows, [*content["systems"], *content["differences"]], strict=True):
        assert float(row["human"]) == entry["human"]["value"]
        assert float(row["corrected_low"]) == entry["corrected"]["low"]
        assert row["less"] == entry.get("other", "")


def test_next_extends_the_plan_and_says_what_to_do(project, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    before = len(project.plan.units)
    code, out, _ = run(capsys, "next", "-M", "ndcg@5", "--labels", "20", "--dry-run")
    assert code == 0
    assert len(JudgingProject.open("judging").plan.units) == before
    code, out, _ = run(capsys, "next", "-M", "ndcg@5", "--labels", "20")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "Not decided: next are" in out
    assert "next: goldrank judge serve" in out
    plan = JudgingProject.open("judging").plan
    assert len(plan.units) > before
    assert plan.in_rounds
    _, out, _ = run(capsys, "leaderboard", "-M", "ndcg@5")
    assert "`goldrank judge next` asked for are left out" in " ".join(out.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["leaderboard", "nowhere"], "there is no such folder"),
        (["leaderboard", "-M", "gmap"], "cannot be estimated from a sample"),
        (["leaderboard", "--judge", "nobody"], "no model judge has graded anything"),
        (["leaderboard", "--others", "missing.run"], "missing.run"),
        (["next", "--within", "2"], "not between 0 and 1"),
        (["next", "--labels", "0"], "too small"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(project, capsys, arguments, message):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
