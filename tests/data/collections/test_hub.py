"""Layouts of Hugging Face data sets: local copies are read with and without the datasets package, offline."""

import json
import os
import subprocess
import sys

import pytest

from goldrank.data.collections import hub, read_collection
from goldrank.errors import InputError, MissingExtraError

CORPUS = [{"_id": "d1", "title": "Wine", "text": "Grapes and sun."}, {"_id": "d2", "title": "", "text": "Games."}]
QUERIES = [{"_id": "q1", "text": "which grapes?"}, {"_id": "q2", "text": "which games?"}]
TEST = [{"query-id": "q1", "corpus-id": "d1", "score": 2}, {"query-id": "q2", "corpus-id": "d9", "score": 1}]
TRAIN = [{"query-id": "q2", "corpus-id": "d2", "score": 1}]
CARD = """\
---
configs:
- config_name: default
  data_files:
  - {split: test, path: judged/test.jsonl}
  - {split: train, path: judged/train.jsonl}
- config_name: corpus
  data_files: [{split: corpus, path: texts/corpus.jsonl}]
- config_name: queries
  data_files: [{split: queries, path: texts/queries.jsonl}]
---
"""
ARTICLES = [
    {"id": "a", "text": "Riesling", "labels": [{"id": "b", "text": "Silvaner"}]},
    {"id": "b", "text": "Silvaner", "labels": []},
]


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "hf-cache"))
    datasets.disable_progress_bars()


def grades(collection):
    return dict(zip(collection.gold.items, collection.gold.values.tolist(), strict=True))


def check_retrieval(collection):
    assert collection.format == "hub"
    assert (collection.split, collection.splits) == ("test", ("test", "train"))
    assert [(d.id, d.title, d.text) for d in collection.items] == [
        ("d1", "Wine", "Grapes and sun."),
        ("d2", "", "Games."),
    ]
    assert [(d.id, d.text) for d in collection.queries] == [("q1", "which grapes?"), ("q2", "which games?")]
    assert grades(collection) == {"d1": 2, "d9": 1}


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
@pytest.mark.parametrize("judged", ["default", "qrels", "data"])
def test_a_local_copy_in_the_layout_of_mteb_needs_no_package(tmp_path, monkeypatch, suffix, judged):
    monkeypatch.setitem(sys.modules, "datasets", None)
    write(tmp_path / "corpus" / f"corpus-00000-of-00001{suffix}", CORPUS)
    write(tmp_path / "queries" / f"queries-00000-of-00001{suffix}", QUERIES)
    write(tmp_path / judged / f"test-00000-of-00001{suffix}", TEST)
    write(tmp_path / judged / f"train-00000-of-00001{suffix}", TRAIN)
    check_retrieval(read_collection(f"hf:{tmp_path}"))
    assert grades(read_collection(f"hf:{tmp_path}", split="train")) == {"d2": 1}


def test_a_relative_path_is_a_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "set" / "corpus" / "corpus.jsonl", CORPUS)
    write(tmp_path / "set" / "queries" / "queries.jsonl", QUERIES)
    write(tmp_path / "set" / "default" / "test.jsonl", TEST)
    write(tmp_path / "set" / "default" / "train.jsonl", TRAIN)
    check_retrieval(read_collection("hf:./set"))


def test_parts_in_several_files_are_joined_in_order(tmp_path):
    for number in (0, 1):
        write(tmp_path / "corpus" / f"corpus-0000{number}-of-00002.parquet", CORPUS[number : number + 1])
        write(tmp_path / "queries" / f"queries-0000{number}-of-00002.jsonl", QUERIES[number : number + 1])
        write(tmp_path / "default" / f"test-0000{number}-of-00002.jsonl", TEST[number : number + 1])
    write(tmp_path / "default" / "train.jsonl", TRAIN)
    check_retrieval(read_collection(f"hf:{tmp_path}"))
    write(tmp_path / "corpus" / "corpus-00001-of-00002.parquet", CORPUS[:1])
    with pytest.raises(InputError, match=r"'d1' is given twice \(first at .*00000-of-00002.parquet: row 1\)"):
        list(read_collection(f"hf:{tmp_path}").items)


def test_the_package_reads_the_layout_of_mteb_by_its_configurations(tmp_path, own_cache):
    folder = tmp_path / "set"
    write(folder / "texts" / "corpus.jsonl", CORPUS)
    write(folder / "texts" / "queries.jsonl", QUERIES)
    write(folder / "judged" / "test.jsonl", TEST)
    write(folder / "judged" / "train.jsonl", TRAIN)
    (folder / "README.md").write_text(CARD)
    assert not hub.matches(folder)
    collection = read_collection(f"hf:{folder}")
    check_retrieval(collection)
    assert collection.items.streamed
    assert list(collection.items) == list(collection.items)
    assert grades(read_collection(f"hf:{folder}", split="train")) == {"d2": 1}
    with pytest.raises(InputError, match="there is no split 'dev'; choose 'test' or 'train'"):
        read_collection(f"hf:{folder}", split="dev")


def test_the_package_reads_articles_with_labels(tmp_path, own_cache):
    write(tmp_path / "set" / "wines" / "test.jsonl", ARTICLES)
    write(tmp_path / "set" / "wines" / "train.jsonl", ARTICLES[:1])
    collection = read_collection(f"hf:{tmp_path / 'set'}")
    assert collection.related
    assert (collection.split, collection.items.ids) == ("test", ["a", "b"])
    assert (collection.splits, grades(collection)) == (("test", "train"), {"b": 1})


def test_a_local_copy_of_articles_needs_no_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    write(tmp_path / "test.jsonl", ARTICLES)
    assert grades(read_collection(f"hf:{tmp_path}")) == {"b": 1}


def test_a_broken_file_is_bad_input(tmp_path, own_cache):
    (tmp_path / "set" / "wines").mkdir(parents=True)
    (tmp_path / "set" / "wines" / "test.parquet").write_bytes(b"PAR1 this is none")
    with pytest.raises(InputError, match="the data set cannot be loaded"):
        read_collection(f"hf:{tmp_path / 'set'}")


def test_configurations_that_are_not_known_are_told(tmp_path, own_cache):
    write(tmp_path / "set" / "a.jsonl", ARTICLES)
    card = "---\nconfigs:\n- {config_name: one, data_files: a.jsonl}\n- {config_name: two, data_files: a.jsonl}\n---\n"
    (tmp_path / "set" / "README.md").write_text(card)
    with pytest.raises(InputError, match="has the configurations 'one', 'two', of which none is known"):
        read_collection(f"hf:{tmp_path / 'set'}")


def test_without_the_network_it_is_said_that_a_local_path_will_do(tmp_path):
    pytest.importorskip("datasets")
    code = "import sys; from goldrank.cli.main import main; from goldrank.data.collections import read_collection\n"
    code += "try: read_collection('hf:someone/no-such-set')\nexcept Exception as e: print(type(e).__name__, e)"
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert process.stdout.startswith("InputError hf:someone/no-such-set: the data set cannot be loaded")
    assert "every loader takes a local path too" in process.stdout


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"needs datasets.*goldrank\[hub\]"):
        read_collection("hf:mteb/scifact")
