"""`goldrank audit`: a folder or three files as input, the verdict first, and every output format."""

import csv
import io
import json

import numpy as np
import pytest

from goldrank.cli import audit_command
from goldrank.errors import InputError

pytest.importorskip("faiss")
pytest.importorskip("wordllama")
WORDS = ["river", "stone", "winter", "garden", "engine", "violin", "market", "planet", "doctor", "castle", "bread"]
QUICK = ["-m", "wordllama(dim=64)", "--factory", "Flat", "--factory", "IVF16,Flat(nprobe=1)", "--resamples", "200"]


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(WORDS, 6)) for _ in range(700)]
    query_numbers = rng.choice(700, 60, replace=False).tolist()
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text(
        "".join(json.dumps({"_id": f"d{n}", "title": "", "text": text}) + "\n" for n, text in enumerate(texts))
    )
    (tmp_path / "queries.jsonl").write_text(
        "".join(json.dumps({"_id": f"q{n}", "text": " ".join(texts[n].split()[:4])}) + "\n" for n in query_numbers)
    )
    rows = "".join(f"q{n}\td{n}\t1\n" for n in query_numbers)
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + rows)
    return tmp_path


def run(capsys, *arguments):
    code = audit_command.run(audit_command.build_parser().parse_args(list(arguments)))
    return code, capsys.readouterr().out


def test_the_verdict_comes_first_and_the_table_below(data, capsys):
    code, out = run(capsys, ".", *QUICK, "--metric", "ndcg@10")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].startswith("Flat does not hurt")
    assert lines[1].startswith("IVF16,Flat(nprobe=1) ")
    assert lines[3].split()[:2] == ["index", "ndcg@10↑"]
    assert "60 queries" in out
    assert "700 items, cosine; rankings of 10 results" in out


def test_json_holds_differences_recall_speed_and_conventions(data, capsys):
    files = ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"]
    content = json.loads(run(capsys, *files, *QUICK, "--format", "json")[1])
    exact, flat, weak = content["indexes"]
    assert (exact["speed"], flat["recall"]["mean"]) == (1.0, 1.0)
    assert weak["recall"]["low"] <= weak["recall"]["mean"] < 1
    assert weak["metrics"]["ndcg@10"]["difference"] <= 0
    assert all(row["queries_per_second"] > 0 and row["bytes"] > 0 for row in content["indexes"])
    assert content["conventions"]["ties"] == "docid"


def test_csv_and_markdown_and_the_plot(data, capsys):
    pytest.importorskip("matplotlib")
    rows = list(csv.DictReader(io.StringIO(run(capsys, ".", *QUICK, "--format", "csv", "--plot", "a.png")[1])))
    assert [row["index"] for row in rows] == ["exact", "Flat", "IVF16,Flat(nprobe=1)"]
    assert (data / "a.png").stat().st_size > 10_000
    assert (data / "a-2.png").stat().st_size > 10_000
    assert "| Flat |" in run(capsys, ".", *QUICK, "--format", "markdown")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["corpus.jsonl", "queries.jsonl"], "2 files are given"),
        (["qrels"], r"the folder holds no corpus.jsonl"),
        ([".", "-k", "0"], "k is 0"),
        ([".", "--metric", "ndgc@10"], "did you mean 'ndcg'"),
    ],
)
def test_what_a_user_gets_wrong_is_said(data, capsys, arguments, message):
    with pytest.raises(InputError, match=message):
        run(capsys, *arguments, *QUICK)
