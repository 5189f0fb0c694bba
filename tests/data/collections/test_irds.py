"""Names of ir_datasets are read through the package itself, from data sets made of local files."""

import sys

import pytest

from goldrank.data.collections import read_collection
from goldrank.errors import InputError, MissingExtraError

pytestmark = pytest.mark.heavy

ir_datasets = pytest.importorskip("ir_datasets")

DOCUMENTS = "d1\tGrapes and sun.\nd2\tÉlan & games\nd3\tNothing\n"


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    folder = tmp_path_factory.mktemp("irds")
    (folder / "docs.tsv").write_text(DOCUMENTS)
    (folder / "queries.tsv").write_text("q1\twhich grapes?\nq2\twhich games?\n")
    (folder / "test.qrels").write_text("q1 0 d1 2\nq1 0 d3 0\nq2 0 d2 1\n")
    (folder / "train.qrels").write_text("q2 0 d9 1\n")
    (folder / "twice.qrels").write_text("q1 0 d1 0\nq1 1 d1 3\n")
    (folder / "broken.qrels").write_text("q1 0 d1\n")
    docs, queries = str(folder / "docs.tsv"), str(folder / "queries.tsv")
    datasets = {
        "goldrank-base": ir_datasets.create_dataset(docs_tsv=docs),
        "goldrank-docs": ir_datasets.create_dataset(docs_tsv=docs),
        "goldrank-gone/test": ir_datasets.create_dataset(str(folder / "none.tsv"), queries, str(folder / "test.qrels")),
    }
    for split in ("test", "train", "twice", "broken"):
        datasets[f"goldrank-base/{split}"] = ir_datasets.create_dataset(docs, queries, str(folder / f"{split}.qrels"))
    for name, dataset in datasets.items():
        ir_datasets.registry.register(name, dataset)
    yield
    for name in datasets:
        del ir_datasets.registry._registered[name]


def grades(collection):
    return dict(zip(collection.gold.items, collection.gold.values.tolist(), strict=True))


def test_documents_queries_and_judgments_come_from_the_package(names):
    collection = read_collection("irds:goldrank-base/test")
    assert collection.format == "ir_datasets"
    assert collection.source == "irds:goldrank-base/test"
    assert (collection.name, collection.split) == ("goldrank-base-test", "test")
    assert [document.text for document in collection.items] == ["Grapes and sun.", "Élan & games", "Nothing"]
    assert [document.id for document in collection.queries] == ["q1", "q2"]
    assert collection.gold.queries == ["q1", "q2"]
    assert grades(collection) == {"d1": 2, "d3": 0, "d2": 1}


def test_documents_are_read_anew_each_time_and_never_held(names):
    items = read_collection("irds:goldrank-base/test").items
    assert items.streamed
    assert list(items) == list(items)
    assert len(items) == 3


def test_a_split_is_a_part_of_the_name(names):
    assert read_collection("irds:goldrank-base").source == "irds:goldrank-base/test"
    assert read_collection("irds:goldrank-base", split="train").source == "irds:goldrank-base/train"
    collection = read_collection("goldrank-base/test", format="ir_datasets", split="train")
    assert collection.split == "train"
    assert collection.splits == ("test", "broken", "twice", "train")
    with pytest.raises(InputError, match="no split 'dev'; choose 'test' or"):
        read_collection("irds:goldrank-base", split="dev")


def test_a_pair_judged_twice_is_told_and_its_highest_grade_kept(names):
    collection = read_collection("irds:goldrank-base/twice")
    assert grades(collection) == {"d1": 3}
    assert collection.remarks == ["1 pair judged more than once: the highest grade is kept."]


def test_a_name_that_is_not_there_is_told_with_those_near_it(names):
    with pytest.raises(InputError, match="no data set of ir_datasets 'goldrank-base/tset'; did you mean 'goldrank-bas"):
        read_collection("irds:goldrank-base/tset")


def test_what_the_package_cannot_read_is_told_as_bad_input(names):
    with pytest.raises(InputError, match="irds:goldrank-base/broken: ir_datasets cannot read it"):
        read_collection("irds:goldrank-base/broken")
    collection = read_collection("irds:goldrank-gone/test")
    with pytest.raises(InputError, match=r"irds:goldrank-gone/test: ir_datasets cannot read it .*by their path"):
        list(collection.items)


def test_a_data_set_without_judgments_is_told(names):
    with pytest.raises(InputError, match="irds:goldrank-docs: the data set has no queries"):
        read_collection("irds:goldrank-docs")


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingExtraError, match=r"needs ir_datasets.*goldrank\[irds\]"):
        read_collection("irds:beir/scifact/test")
