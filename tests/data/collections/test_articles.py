"""Articles with labels: all layouts read alike, labels are resolved or counted, and errors name their place."""

import gzip
import json
import sys

import pytest

from goldrank.data.collections import Document, read_collection
from goldrank.data.collections.articles import read
from goldrank.errors import InputError, MissingExtraError

ARTICLES = [
    {
        "id": "a",
        "title": "Wine",
        "sections": [["", "Grapes."], ["History", "Old."]],
        "labels": [{"id": "b", "text": "Must"}],
    },
    {"id": "b", "title": "Must", "sections": [["", "Juice."]], "labels": []},
    {
        "id": "c",
        "title": "Ratchet &amp; Clank",
        "sections": [["", "A game."]],
        "labels": [{"id": "a", "text": "Wine"}, {"id": "b", "text": "Must"}],
    },
]
TRAIN = [{"id": "t", "title": "Other", "sections": [], "labels": [{"id": "t", "text": "Other"}]}]


def jsonl(path, records):
    content = "".join(json.dumps(record) + "\n" for record in records).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def parquet(path, records):
    pyarrow, module = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    module.write_table(pyarrow.Table.from_pylist(records), path)
    return path


def labelled(tmp_path, labels, **more):
    records = [{**ARTICLES[0], "labels": labels}, *ARTICLES[1:2], {**ARTICLES[2], "labels": None}]
    return read(jsonl(tmp_path / "x.jsonl", [*records, *more.get("others", [])]))


def rows(collection):
    gold, bounds = collection.gold, collection.gold.starts.tolist()
    return {
        query: dict(zip(gold.items[start:end], gold.values[start:end].tolist(), strict=True))
        for query, start, end in zip(gold.queries, bounds[:-1], bounds[1:], strict=True)
    }


def test_all_articles_are_items_and_queries_and_the_labels_are_gold(tmp_path):
    collection = read_collection(jsonl(tmp_path / "wines.jsonl", ARTICLES))
    assert (collection.name, collection.format, collection.split, collection.related, collection.remarks) == (
        "wines",
        "articles",
        "test",
        True,
        [],
    )
    assert collection.items.ids == ["a", "b", "c"]
    assert next(iter(collection.items)) == Document("a", "Wine", (("", "Grapes."), ("History", "Old.")))
    assert rows(collection) == {"a": {"b": 1}, "c": {"a": 1, "b": 1}}


def test_every_layout_says_the_same(tmp_path):
    expected = read(jsonl(tmp_path / "x.jsonl", ARTICLES)).checksum
    (tmp_path / "list.json").write_text(json.dumps(ARTICLES, indent=1))
    jsonl(tmp_path / "folder" / "test.jsonl.gz", ARTICLES)
    jsonl(tmp_path / "called" / "articles.jsonl", ARTICLES)
    parquet(tmp_path / "x.parquet", ARTICLES)
    parquet(tmp_path / "shards" / "data" / "test-00000-of-00002.parquet", ARTICLES[:2])
    parquet(tmp_path / "shards" / "data" / "test-00001-of-00002.parquet", ARTICLES[2:])
    for name in ("list.json", "folder", "called", "x.parquet", "shards"):
        collection = read_collection(tmp_path / name)
        assert (collection.format, collection.checksum) == ("articles", expected), name


def test_a_folder_has_one_file_per_split(tmp_path):
    jsonl(tmp_path / "train.jsonl", TRAIN)
    jsonl(tmp_path / "validation.jsonl", ARTICLES)
    collection = read_collection(tmp_path)
    assert (collection.split, collection.splits, collection.items.ids) == (
        "validation",
        ("validation", "train"),
        ["a", "b", "c"],
    )
    assert read(tmp_path, "dev").split == "validation"
    assert read(tmp_path, "train").items.ids == ["t"]
    with pytest.raises(InputError, match=r"there is no split 'test'; choose 'validation' or 'train'"):
        read(tmp_path, "test")


def test_a_data_set_saved_to_disk_says_the_same(tmp_path):
    datasets = pytest.importorskip("datasets")
    expected = read(jsonl(tmp_path / "x.jsonl", ARTICLES)).checksum
    dataset = datasets.Dataset.from_list(ARTICLES)
    dataset.save_to_disk(tmp_path / "one")
    datasets.DatasetDict({"train": datasets.Dataset.from_list(TRAIN * 2), "test": dataset}).save_to_disk(
        tmp_path / "two"
    )
    assert read_collection(tmp_path / "one").checksum == expected
    collection = read_collection(tmp_path / "two")
    assert (collection.split, collection.splits, collection.checksum) == ("test", ("test", "train"), expected)
    with pytest.raises(InputError, match=r"two \(train\): row 2: the id 't' is given twice"):
        read(tmp_path / "two", "train")
    (tmp_path / "one" / "state.json").write_text("{")
    with pytest.raises(InputError, match="one: the data set cannot be loaded"):
        read(tmp_path / "one")


def test_a_saved_data_set_without_the_package_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "dataset_info.json").write_text("{}")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match="needs datasets, which is not installed"):
        read_collection(tmp_path)


def test_a_label_that_points_nowhere_stays_in_the_gold_and_is_counted(tmp_path):
    collection = labelled(tmp_path, [{"id": "b"}, {"id": "nowhere", "text": "Wine"}, "nothing"])
    assert rows(collection) == {"a": {"b": 1, "nowhere": 1, "nothing": 1}}
    assert collection.remarks == ["2 labels pointing to no article of the split, kept in the gold"]


def test_an_article_that_names_itself_is_kept_and_counted(tmp_path):
    collection = labelled(tmp_path, ["a", "b"])
    assert rows(collection) == {"a": {"a": 1, "b": 1}}
    assert collection.remarks == ["1 article naming itself among its labels, kept in the gold"]


def test_labels_given_again_are_merged_and_counted(tmp_path):
    collection = labelled(tmp_path, [{"id": "b", "grade": 1}, {"id": "b", "score": 3}, "b", {"text": "Must"}])
    assert rows(collection) == {"a": {"b": 3}}
    assert "3 labels given again merged, of the highest grade" in collection.remarks


def test_a_label_without_an_id_is_found_by_title_in_any_spelling(tmp_path):
    collection = labelled(tmp_path, [{"text": "Ratchet & Clank"}, {"id": None, "title": "must"}, "Wine"])
    assert rows(collection) == {"a": {"c": 1, "b": 1, "a": 1}}
    assert "3 labels without an id found by title, 2 of them in another spelling" in collection.remarks


def test_an_id_wins_over_a_title(tmp_path):
    other = {"id": "Must", "title": "Another", "text": "x"}
    collection = labelled(tmp_path, ["Must"], others=[other])
    assert rows(collection) == {"a": {"Must": 1}}


def test_a_title_of_two_articles_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"the label 'Must' could be 'b' or 'z'; name the article by its id"):
        labelled(tmp_path, [{"text": "Must"}], others=[{"id": "z", "title": "Must", "text": ""}])


def test_labels_as_one_list_per_field_are_read(tmp_path):
    collection = labelled(tmp_path, {"id": ["b", "c"], "text": ["Must", "x"], "grade": [2, 1]})
    assert rows(collection) == {"a": {"b": 2, "c": 1}}


def test_plain_texts_and_numbers_as_ids_are_read(tmp_path):
    collection = read(jsonl(tmp_path / "x.jsonl", [{"id": 1, "text": "one", "labels": [2]}, {"id": 2, "text": "two"}]))
    assert (collection.items.ids, rows(collection)) == (["1", "2"], {"1": {"2": 1}})


def test_a_corrupt_parquet_is_refused(tmp_path):
    good = parquet(tmp_path / "x" / "test.parquet", ARTICLES).read_bytes()
    for size in (len(good) - 20, len(good) // 2, 40):
        (tmp_path / "x" / "test.parquet").write_bytes(good[:size])
        with pytest.raises(InputError, match=r"test.parquet: the Parquet file is truncated or corrupt"):
            read_collection(tmp_path / "x")
    damaged = bytearray(good)
    damaged[8:200] = bytes(192)
    (tmp_path / "x" / "test.parquet").write_bytes(damaged)
    with pytest.raises(InputError, match=r"test.parquet"):
        read_collection(tmp_path / "x")


LABELS = {
    "text": ("b", r"x.jsonl:1: the labels are 'b', not a list"),
    "nothing": ([{}], r"x.jsonl:1: the label has neither an id nor a text"),
    "grade": ([{"id": "b", "grade": "high"}], r"x.jsonl:1: the grade 'high' is of type str"),
    "float": ([1.5], r"x.jsonl:1: the label id 1.5 is of type float"),
    "none": ([None], r"x.jsonl:1: the label id is missing"),
    "no labels": ([], r"no article of the split 'test' has labels"),
}


@pytest.mark.parametrize("name", LABELS)
def test_bad_labels_are_refused_with_their_place(tmp_path, name):
    labels, message = LABELS[name]
    with pytest.raises(InputError, match=message):
        labelled(tmp_path, labels)


CONTENTS = {
    "twice": (
        b'{"id": "a", "text": "x"}\n{"id": "a", "text": "y"}\n',
        r":2: the id 'a' is given twice \(first at .*:1\)",
    ),
    "no id": (b'{"text": "x", "labels": ["b"]}\n', r":1: there is no id"),
    "latin-1": ('{"id": "é", "text": "x"}\n'.encode("latin-1"), r":1: the text is not valid UTF-8"),
    "NUL": (b'{"id": "a", "text": "x"}\n\0\n', r":2: this is not a text file"),
    "cut": (b'{"id": "a", "text": "x"}\n{"id": "b", "te', r":2: this is not valid JSON"),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_bad_files_are_refused_with_their_line(tmp_path, name):
    content, message = CONTENTS[name]
    (tmp_path / "x.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_collection(tmp_path / "x.jsonl")


def test_a_folder_without_articles_is_refused_when_named_so(tmp_path):
    with pytest.raises(InputError, match="there are no articles here"):
        read_collection(tmp_path, format="articles")


def test_a_split_without_labels_names_the_others(tmp_path):
    jsonl(tmp_path / "test.jsonl", ARTICLES)
    jsonl(tmp_path / "train.jsonl", [{"id": "t", "text": "x"}])
    with pytest.raises(InputError, match=r"no article of the split 'train' has labels.*choose another split \(test\)"):
        read(tmp_path, "train")
