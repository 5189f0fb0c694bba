"""Test the guide: its commands and code run unchanged and print the output shown."""

import csv
import re
import shlex

import pytest

from docs_pages import DOCS, assert_shown_lines_are_printed, blocks, run_pages
from goldrank.cli.main import main
from goldrank.runs.evaluate import evaluate


@pytest.mark.slow
def test_the_commands_of_the_embeddings_and_index_pages_run_as_they_stand(tmp_path):
    process = run_pages(("guide/embeddings.md", "guide/indexes.md"), tmp_path)
    assert process.returncode == 0, process.stderr
    assert re.search(r"1 +[\d.]+ +curie", process.stdout)
    assert '"id": "armstrong"' in process.stdout
    assert '"id": "cleopatra"' in process.stdout


SCORING_PAGES = (
    "guide/scoring.md", "guide/comparing.md", "guide/gate.md", "guide/conventions.md", "guide/output.md",
    "guide/agents.md", "guide/slices.md", "guide/diff.md",
)  # fmt: skip
TASK_PAGES = (
    "guide/tasks.md", "guide/collections.md", "guide/store.md", "guide/evaluators.md", "guide/meta.md",
    "guide/masked.md", "guide/seeing.md", "guide/plan.md", "guide/cluster.md",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "pages",
    [SCORING_PAGES, TASK_PAGES, ("guide/model-judges.md",), ("guide/judged-estimates.md",)],
    ids=["scoring", "tasks", "model judges", "estimates"],
)
def test_the_commands_of_the_pages_run_as_they_stand_and_print_what_is_shown(tmp_path, pages):
    assert_shown_lines_are_printed(pages, run_pages(pages, tmp_path))


def test_the_table_of_the_released_logs_is_what_its_command_prints(capsys, shared_data):
    """The meta page shows the mean correlation of each evaluator, its interval, and the means of the paper."""
    page = (DOCS / "guide" / "meta.md").read_text()
    (command,) = re.findall(r"\$ goldrank (meta evalrank_logs\.csv .*?)```", page, re.DOTALL)
    published = shared_data / "published"
    arguments = shlex.split(
        command.replace("\\\n", " ").replace("evalrank_logs.csv", str(published / "evalrank_logs.csv"))
    )
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    with (published / "evalrank_meta_correlations.csv").open() as file:
        printed = [row for row in csv.DictReader(file) if row["level"] == "sentence"]
    names = {"SICK-R": "SICKRelatedness", "STS-B": "STSBenchmark"}
    rows = re.findall(r"^\| ([\w @-]+) \| (−?\d\.\d\d) \| (−?\d\.\d\d) (\[.*?\]) \|$", page, re.MULTILINE)
    assert len(rows) == 10
    for label, in_the_paper, mean, interval in rows:
        name = names.get(label, label)
        (place,) = [n for n, line in enumerate(lines) if re.match(rf"{name}( spearman)? +{mean} ", line)]
        assert lines[place + 1].strip().startswith(interval)
        rho = [float(row["rho_x100"]) / 100 for row in printed if row["intrinsic"] == name.replace(" ", "-")]
        assert f"{sum(rho) / len(rho):.2f}".replace("-", "−") == in_the_paper
        if name == "EvalRank MRR":
            left_out = "the mean of EvalRank's MRR is −0.14; without `bert:bert-base-uncased:last-avg` it is 0.21."
            assert left_out in " ".join(page.split())
            assert (lines[place].split()[-1], lines[place + 1].split()[-2:]) == ("−0.14", ["to", "0.21"])


def test_the_number_of_the_python_page_is_that_of_its_call():
    page = (DOCS / "guide" / "python.md").read_text()
    (documented,) = re.findall(r'result\.scores\["ndcg@10"\]\.mean  # (\d\.\d+)…', page)
    assert 'result = gr.evaluate("wordllama", "questions")' in page
    assert str(evaluate("wordllama", "questions").scores["ndcg@10"].mean).startswith(documented)


@pytest.mark.slow
def test_the_code_of_the_python_page_runs(own_folder):
    names: dict[str, object] = {}
    for block in blocks("guide/python.md", "python"):
        exec(compile(block, "guide/python.md", "exec"), names)
    assert (own_folder / "report.md").is_file()
    assert (own_folder / "figures" / "rank-curve.png").is_file()
