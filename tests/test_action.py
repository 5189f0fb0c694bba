"""Test the GitHub action: it runs the gate, writes a summary, and exits with the code of the answer."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import goldrank as gr

ACTION = yaml.safe_load((Path(__file__).parents[1] / "action.yml").read_text())


@pytest.mark.slow
def test_the_script_of_the_action_reports_each_answer(tmp_path):
    (step,) = [step for step in ACTION["runs"]["steps"] if step.get("id") == "gate"]
    gold = "".join(f"q{number} 0 right 1\n" for number in range(50))
    (tmp_path / "qrels.txt").write_text(gold)
    for name, items in {"main": ("right", "wrong"), "bad $(touch planted)": ("wrong", "right")}.items():
        lines = [f"q{n} Q0 {items[0]} 1 2 t\nq{n} Q0 {items[1]} 2 1 t\n" for n in range(50)]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    os.link(tmp_path / "main.run", tmp_path / "same.run")
    gr.save_baseline(tmp_path / "baseline.json", tmp_path / "main.run", "mrr", gold=tmp_path / "qrels.txt")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    answers = {"same.run": (0, "not_worse"), "bad $(touch planted).run": (1, "worse"), "none.run": (2, "error")}
    for new, (code, answer) in answers.items():
        files = {name: str(tmp_path / name.lower()) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
        inputs = {**dict.fromkeys(step["env"], ""), "BASE": "baseline.json", "NEW": new, "FAIL_UNDER": "mrr=0.1"}
        process = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=tmp_path,
            env={**os.environ, **files, **inputs, "RUNNER_TEMP": str(tmp_path), "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == code, process.stderr
        assert (tmp_path / "github_output").read_text().splitlines()[-1] == f"answer={answer}"
        assert process.stdout.startswith("::") or answer == "error"
    assert "### ❌ goldrank: worse" in (tmp_path / "github_step_summary").read_text()
    assert not (tmp_path / "planted").exists()


def test_every_input_of_the_action_reaches_its_script():
    (step,) = [step for step in ACTION["runs"]["steps"] if step.get("id") == "gate"]
    assert {value.split("inputs.")[1].split()[0] for value in step["env"].values()} == set(ACTION["inputs"])
    assert all(f"${name}" in step["run"] for name in step["env"])
    assert "${{" not in step["run"]
