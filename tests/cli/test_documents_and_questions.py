"""`goldrank run` and `goldrank report` on a folder of Markdown files with a CSV of questions."""

import re
from pathlib import Path

import pytest

import goldrank
from command_runs import next_command, run
from goldrank.errors import InputError

PAGES = {
    "guide/install.md": "# Install\n\nUse pip to install the package on Linux.\n\n## Windows\n\nRun the installer.\n",
    "guide/update.md": "# Update\n\nAn update keeps all settings.\n",
    "pricing.md": "# Pricing\n\nThe team plan costs ten euros per seat and month.\n",
    "faq.md": "# Questions and answers\n\nTo reset a password, click on the link in the mail.\n",
}
QUESTIONS = """\
question,expected_file,answer
How do I install it?,guide/install.md,with pip
What does the team plan cost?,pricing.md,ten euros
I forgot my password,faq,click
Are settings kept by an update?,update.md;guide\\install.md,yes
"""


@pytest.fixture
def project(own_folder):
    for name, text in PAGES.items():
        path = own_folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (own_folder / "questions.csv").write_text(QUESTIONS)
    return own_folder


@pytest.mark.slow
def test_two_commands_give_a_leaderboard_and_a_report(project, capsys):
    code, out, err = run(capsys, "run", "-m", "bm25", "wordllama", "-t", "./docs", "--questions", "questions.csv")
    assert code == 0, err
    assert "4 queries" in out
    assert "further columns: answer" in out
    keys = re.findall(r"docs-(?:bm25|wordllama)-\w+", out)
    assert len(keys) == 2
    texts = (*keys, "Are settings kept by an update?", "guide/install.md")
    for command in (next_command(err), ["report", "--task", "docs", "-o", "by-task.html"]):
        code, out, err = run(capsys, *command)
        assert code == 0, err
        page = Path(out.strip()).read_text()
        assert all(text in page for text in texts)


def test_without_the_option_the_error_names_the_table(project, capsys):
    code, _, err = run(capsys, "run", "-m", "bm25", "-t", "docs")
    assert code == 2
    assert "add --questions questions.csv" in err


def test_a_run_file_names_the_questions(project, capsys):
    (project / "run.toml").write_text('models = ["bm25"]\ntasks = ["docs"]\nquestions = "questions.csv"\n')
    code, out, err = run(capsys, "run", "--config", "run.toml", "--dry-run")
    assert code == 0, err
    assert re.search(r"docs +bm25 +4 +4", out)


def test_questions_belong_to_the_folders_among_the_tasks(project, capsys):
    code, out, err = run(
        capsys, "run", "-m", "bm25", "-t", "docs", "wines", "--questions", "questions.csv", "--limit", "4"
    )
    assert code == 0, err
    assert "docs: folder data" in out
    code, _, err = run(capsys, "run", "-m", "bm25", "-t", "wines", "--questions", "questions.csv")
    assert code == 2
    assert "--questions has no effect on wines" in err


def test_chunks_are_shown_with_their_lines(project, capsys):
    (project / "docs" / "pricing.md").write_text("# Pricing\n\nSee below.\n\n## Team\n\nThe team plan is cheap.\n")
    common = ["run", "-m", "bm25", "-t", "docs", "--questions", "questions.csv"]
    code, out, err = run(capsys, *common, "--chunk", "heading", "--worst", "4")
    assert code == 0, err
    assert "Items are ranked by their best chunk; heading cuts them into 6 chunks." in out
    assert "1. Pricing (pricing.md#L7-7)" in out
    (key,) = re.findall(r"docs-bm25-\w+", out)
    code, out, err = run(capsys, "runs", "show", key)
    assert re.search(r"chunk +heading", out)
    code, out, err = run(capsys, "report", key, "-o", "report.md")
    assert code == 0, err
    code, out, err = run(capsys, *common, "--chunk", "heading", "--dry-run")
    assert key in out
    code, out, err = run(capsys, *common, "--chunk", "words:3/9")
    assert code == 2
    assert "the chunks of 'words:3/9' never end" in err


def test_checking_and_converting_read_the_questions(project, capsys):
    code, out, err = run(capsys, "data", "check", "docs", "--questions", "questions.csv")
    assert code == 0, err
    assert "questions.csv: query = question, items = " in out
    code, out, err = run(capsys, "data", "convert", "docs", "out", "--to", "beir", "--questions", "questions.csv")
    assert code == 0, err
    assert goldrank.load_data("out").gold.items == goldrank.load_data("docs", questions="questions.csv").gold.items


def test_python_takes_rows_as_questions(project):
    rows = [{"question": "What is the team plan?", "file": "pricing"}]
    assert goldrank.evaluate("bm25", "docs", questions=rows).scores["mrr@10"].value == 1
    assert len(goldrank.run("bm25", "docs", questions=rows)[0].outcomes) == 1
    with pytest.raises(InputError, match="--questions has no effect on this task"):
        goldrank.evaluate("bm25", [{"id": "a", "text": "x", "labels": ["a"]}], questions=rows)


def test_other_settings_can_be_compared_on_a_folder(project, capsys):
    code, out, err = run(
        capsys, "sensitivity", "-m", "wordllama", "-t", "docs", "--questions", "questions.csv", "--transform", "none"
    )
    assert code == 0, err
    assert "cosine" in out
