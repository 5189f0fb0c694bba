"""`goldrank encode` and `--engine`: output, errors, and damaged or incomplete vectors."""

import json
import sys

import numpy as np
import pytest

from goldrank.cli.main import main
from goldrank.io.stored_vectors import StoredVectors

MODEL = "wordllama(dim=64)"


@pytest.fixture
def texts(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    for part in range(2):
        rows = [json.dumps({"_id": f"d{part}-{number}", "text": f"wine {number}"}) for number in range(30)]
        (folder / f"{part}.jsonl").write_text("\n".join(rows) + "\n")
    return folder


def test_texts_of_a_folder_become_one_folder_of_vectors(texts, tmp_path, capsys):
    out = tmp_path / "vectors"
    assert main(["encode", str(texts), "-m", MODEL, "-o", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}: vectors of 60 texts in 64 dimensions, 1 shard.\n"
    assert main(["encode", str(texts), "-m", MODEL, "-o", str(out), "--format", "json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert (content["texts"], content["dimension"], content["shards"], content["new_shards"]) == (60, 64, 1, 0)
    assert StoredVectors.in_folder(str(out)).shape == (60, 64)


def test_the_vectors_are_a_model_that_gives_the_same_scores(texts, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("GOLDRANK_STORE", str(tmp_path / "store"))
    data = tmp_path / "data"
    (data / "qrels").mkdir(parents=True)
    corpus = "".join(path.read_text() for path in sorted(texts.iterdir()))
    (data / "corpus.jsonl").write_text(corpus)
    (data / "queries.jsonl").write_text('{"_id": "q1", "text": "wine 7"}\n{"_id": "q2", "text": "some wine"}\n')
    (data / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td0-7\t1\nq2\td1-3\t1\n")
    items, queries = tmp_path / "items", tmp_path / "queries"
    assert main(["encode", str(data / "corpus.jsonl"), "-m", MODEL, "-o", str(items)]) == 0
    assert main(["encode", str(data / "queries.jsonl"), "-m", MODEL, "--side", "query", "-o", str(queries)]) == 0
    capsys.readouterr()
    scores = {}
    for model in (MODEL, f"vectors:{items}(queries={queries})"):
        assert main(["run", "-m", model, "-t", str(data), "--format", "json"]) == 0
        (run,) = json.loads(capsys.readouterr().out)["tasks"][0]["runs"]
        scores[model] = run["scores"]
    first, second = scores.values()
    assert first == second


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-m", "bm25"], "ranks texts without vectors"),
        (["-m", "lsa:8"], "has to be fitted on the whole corpus first"),
        (["-m", MODEL, "--shard-items", "1000"], "a multiple of 4096"),
        (["-m", MODEL, "--work-folder", "x"], "there is no option '--work-folder'"),
        (["-m", MODEL, "--engine", "spark"], "no engine 'spark'"),
        (["-m", MODEL, "--engine", "ray:0"], "no engine 'ray:0'"),
        (["-m", MODEL, "--text", "abstract"], "no part of a document 'abstract'"),
    ],
)
def test_bad_requests_are_refused_and_leave_no_vectors(arguments, message, texts, tmp_path, capsys):
    assert main(["encode", str(texts), "-o", str(tmp_path / "out"), *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.glob("out/*.parquet"))


@pytest.mark.parametrize(
    "command", [["run", "-m", "bm25", "-t", "wines"], ["encode", "x.jsonl", "-m", MODEL, "-o", "y"]]
)
def test_without_ray_the_extra_is_named(command, texts, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setenv("GOLDRANK_STORE", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.jsonl").write_text('{"id": "a", "text": "b"}\n')
    assert main([*command, "--engine", "ray"]) == 2
    assert "pip install 'goldrank[ray]'" in capsys.readouterr().err


def test_a_truncated_text_is_reported_with_its_line(texts, tmp_path, capsys):
    with (texts / "1.jsonl").open("a") as stream:
        stream.write('{"_id": "broken", "te')
    assert main(["encode", str(texts), "-m", MODEL, "-o", str(tmp_path / "out")]) == 2
    assert "1.jsonl:31" in capsys.readouterr().err
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").glob("*.parquet"))


def test_damaged_vectors_are_refused_with_the_file_name(texts, tmp_path, capsys):
    out = tmp_path / "vectors"
    main(["encode", str(texts), "-m", MODEL, "-o", str(out)])
    shard = out / "000000.parquet"
    content = bytearray(shard.read_bytes())
    at = content.find(np.float32(StoredVectors.in_folder(str(out))[0:1][0, 5]).tobytes())
    content[at] ^= 1
    shard.write_bytes(bytes(content))
    capsys.readouterr()
    assert main(["run", "-m", f"vectors:{out}", "-t", "wines"]) == 2
    assert "000000.parquet" in capsys.readouterr().err
