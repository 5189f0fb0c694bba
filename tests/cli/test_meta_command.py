"""`goldrank meta`: the verdict first, every output format, and invalid input."""

import csv
import io
import json

import numpy as np
import pytest

from goldrank.cli.main import main

MODELS = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibex", "jay", "koi", "lark"]
QUICK = ["--resamples", "300"]


@pytest.fixture
def scores(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    quality = rng.normal(size=12)
    lines = ["model,evaluator,value,split"]
    for name, noise in (("sts", 2.0), ("mrr", 0.2), ("accuracy", 0.2), ("f1", 0.2)):
        noisy = quality + noise * rng.normal(size=12)
        lines += [f"{model},{name},{value:.6f},test" for model, value in zip(MODELS, noisy, strict=True)]
    (tmp_path / "scores.csv").write_text("\n".join(lines) + "\n")
    return ["scores.csv", "--downstream", "accuracy", "f1", *QUICK]


def run(capsys, *arguments):
    code = main(["meta", *arguments])
    streams = capsys.readouterr()
    return code, streams.out, streams.err


def test_the_verdict_comes_first_then_the_grid_and_the_comparison(scores, capsys):
    code, out, err = run(capsys, *scores)
    lines = out.splitlines()
    reading = "scores.csv: model = model, evaluator = evaluator, value = value; ignored: split"
    assert (code, err) == (0, f"goldrank: note: {reading}.\n")
    assert run(capsys, *scores, "--quiet") == (0, out, "")
    assert lines[0].startswith("mrr follows the downstream scores best: mean Spearman 0.9")
    assert "evaluator" in out
    assert [line.split()[0] for line in lines if line.startswith(("mrr  ", "sts  "))] == ["mrr", "sts"]
    assert "mrr − sts" in out
    assert "Spearman correlation over 12 models; 95% intervals, bootstrap over models (300 resamples, seed 0)" in out


def test_json_and_csv_hold_every_cell_with_interval_p_and_models_left_out(scores, capsys):
    content = json.loads(run(capsys, *scores, "--format", "json")[1])
    assert len(content["cells"]) == 4
    first = content["cells"][0]
    assert first["low"] <= first["value"] <= first["high"]
    assert first["left_out_low"] <= first["value"] <= first["left_out_high"]
    assert first["models"] == 12
    assert content["differences"][0]["williams"].keys() == {"accuracy", "f1"}
    rows = list(csv.DictReader(io.StringIO(run(capsys, *scores, "--format", "csv")[1])))
    assert [(row["intrinsic"], row["downstream"]) for row in rows[-2:]] == [("mrr", "mean"), ("sts", "mean")]
    assert float(rows[0]["value"]) == first["value"]


def test_markdown_latex_plots_and_an_output_file(scores, capsys, tmp_path):
    pytest.importorskip("matplotlib")
    assert "| mrr |" in run(capsys, *scores, "--format", "markdown", "--plot", "map.png")[1]
    out = run(capsys, *scores, "--format", "latex", "--pivot", "f1", "--plot", "pivot.pdf", "-o", "table.tex")[1]
    assert out == ""
    assert r"\begin{tabular}" in (tmp_path / "table.tex").read_text()
    assert (tmp_path / "map.png").stat().st_size > 10_000
    assert (tmp_path / "pivot.pdf").read_bytes().startswith(b"%PDF")


def test_rows_are_chosen_by_any_column_and_warnings_go_to_standard_error(scores, capsys):
    few = ",".join(MODELS[:7])
    code, _, err = run(capsys, *scores, "--where", f"model={few}", "--where", "split=te*")
    assert code == 0
    assert "warning: 7 models are few" in err


def test_stored_runs_are_taken_from_the_store(capsys, tmp_path):
    from goldrank import Gold, Run
    from goldrank.store import RunRecord, Store

    store = Store.open(tmp_path / "store")
    for number in range(6):
        for task in ("inner", "outer"):
            ranking = {f"d{place}": float(-place) for place in range(8)}
            hits = Run({"q": ranking}).hits(Gold({"q": {f"d{number}": 1}}))
            inputs = {"task": task, "model": MODELS[number]}
            store.save(RunRecord(task, MODELS[number], inputs, {}, hits, metrics=("mrr",)))
    arguments = ["--from-store", "--store", str(tmp_path / "store"), "--downstream", "outer", *QUICK]
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    assert out.startswith("inner mrr follows the downstream scores best: mean Spearman 1.00")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is neither a table nor --from-store"),
        (["scores.csv", "--from-store"], "a table and --from-store are given"),
        (["scores.csv"], "the table does not say which evaluators are intrinsic"),
        (["scores.csv", "--downstream", "acuracy"], "did you mean 'accuracy'"),
        (["scores.csv", "--downstream", "f1", "--where", "modle=ant"], "did you mean 'model'"),
        (["scores.csv", "--downstream", "f1", "--where", "model"], "is not a column with a value"),
        (
            ["scores.csv", "--downstream", "f1", "--where", "model=ant,bee,cat,dog"],
            "4 models are too few for a correlation",
        ),
        (["scores.csv", "--downstream", "f1", "--pivot", "f1"], "--pivot draws a figure"),
        (["scores.csv", "--downstream", "f1", "--plot", "a.gif"], "names no image format"),
        (["scores.csv", "--downstream", "f1", "--alpha", "5"], "alpha is 5"),
        (["none.csv", "--downstream", "f1"], "none.csv"),
    ],
)
def test_what_a_user_gets_wrong_is_one_sentence_and_exit_2(scores, capsys, arguments, message):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
