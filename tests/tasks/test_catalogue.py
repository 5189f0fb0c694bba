"""Test that tasks are found by name, by name with path and by path, and that errors name the remedy."""

import json
from pathlib import Path

import pytest

from goldrank.errors import InputError
from goldrank.runs.evaluate import evaluate
from goldrank.tasks import TASKS, find_task


def beir_folder(path, documents=3):
    path.mkdir(parents=True, exist_ok=True)
    corpus = [{"_id": f"d{n}", "title": f"Title {n}", "text": f"word{n} common"} for n in range(documents)]
    (path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus))
    (path / "queries.jsonl").write_text('{"_id": "q1", "text": "word1"}\n{"_id": "q2", "text": "word2"}\n')
    (path / "qrels").mkdir(exist_ok=True)
    (path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n")
    return path


def test_a_folder_of_ones_own_is_a_task_named_after_it(tmp_path):
    task = find_task(str(beir_folder(tmp_path / "my-folder")))
    assert (task.name, task.kind) == ("my-folder", "retrieval")
    assert evaluate("bm25", task).scores["mrr@10"].mean == 1.0


def test_a_path_that_reads_like_a_name_is_the_path(tmp_path, monkeypatch):
    beir_folder(tmp_path / "wines")
    monkeypatch.chdir(tmp_path)
    assert find_task(Path("wines")).kind == "retrieval"
    assert find_task("wines") is TASKS["wines"]
    with pytest.raises(InputError) as caught:
        find_task(Path("games"))
    assert str(caught.value) == "./games: there is no such file or folder; check the path"


def test_a_named_task_takes_its_data_from_a_path_or_from_the_data_folder(tmp_path, monkeypatch):
    folder = beir_folder(tmp_path / "data" / "scifact")
    assert len(find_task(f"scifact:{folder}").read(None).items) == 3
    monkeypatch.setenv("GOLDRANK_DATA", str(tmp_path / "data"))
    collection = find_task("scifact").read(None)
    assert (collection.name, len(collection.items)) == ("scifact", 3)


def test_cranfield_cisi_and_time_read_by_path(shared_data):
    for name, folder, items, queries in (
        ("cranfield", "cran", 1400, 225),
        ("cisi", "cisi", 1460, 76),
        ("time", "time", 423, 83),
    ):
        collection = find_task(f"{name}:{shared_data / 'collections' / folder}").read(None)
        assert (collection.name, len(collection.items), len(collection.gold.queries)) == (name, items, queries)


@pytest.mark.heavy
def test_lee_is_symmetric_and_graded_by_people():
    pytest.importorskip("gensim")
    collection = find_task("lee").read(None)
    assert (len(collection.items), len(collection.gold.queries), len(collection.gold.items)) == (50, 48, 286)
    gold = {
        (query, item): value
        for query, start, end in zip(
            collection.gold.queries, collection.gold.starts[:-1], collection.gold.starts[1:], strict=True
        )
        for item, value in zip(collection.gold.items[start:end], collection.gold.values[start:end], strict=True)
    }
    assert all(gold[item, query] == value >= 0.5 for (query, item), value in gold.items())


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("cranfeld", "did you mean 'cranfield'"),
        ("./not-here", "no such file"),
        ("cranfield:/not/here", "no such file"),
        ("cranfield", "GOLDRANK_DATA"),
    ],
)
def test_a_task_that_is_not_there_says_what_to_do(asked, said, monkeypatch):
    monkeypatch.delenv("GOLDRANK_DATA", raising=False)
    with pytest.raises(InputError, match=said):
        find_task(asked).read(None)


def test_a_split_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="split"):
        TASKS["wines"].read("train")
