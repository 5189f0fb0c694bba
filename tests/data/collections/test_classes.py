"""Class labels: items of the same class are relevant to each other, and ambiguous tables are refused."""

import re

import numpy as np
import pytest

from goldrank.data.collections import classes, read_collection
from goldrank.data.collections.classes import from_labels
from goldrank.data.collections.in_memory import collection_from
from goldrank.errors import InputError

LABELS = ["red", "white", "red", "rose", "white", "red"]


def gold_of(collection):
    return {query: collection.gold.items[rows] for query, rows in collection.gold.rows_by_query()}


GOLD = {"0": ["2", "5"], "1": ["4"], "2": ["0", "5"], "4": ["1"], "5": ["0", "2"]}


def write_labels(folder, kind):
    path = folder / f"labels{kind}"
    if kind == ".npy":
        np.save(path, np.array(LABELS))
    elif kind == ".txt":
        path.write_text("\n".join(LABELS))
    else:
        path.write_text("\n".join(["Label", *LABELS]) + "\n")
    return path


@pytest.mark.parametrize("kind", [".csv", ".tsv", ".txt", ".npy"])
def test_one_label_per_row_relates_the_rows_of_a_class(tmp_path, kind):
    collection = read_collection(write_labels(tmp_path, kind))
    assert (collection.format, collection.related, collection.numbered) == ("classes", True, True)
    assert (collection.has_texts, collection.has_corpus) == (False, True)
    assert collection.items.ids == ["0", "1", "2", "3", "4", "5"]
    assert gold_of(collection) == GOLD
    assert collection.remarks == [
        "6 items of 3 classes: same class = relevant",
        "1 class has a single item, which is no query, because no other item is relevant to it",
    ]


@pytest.mark.parametrize("labels", [LABELS, tuple(LABELS), np.array(LABELS), np.array([0, 1, 0, 2, 1, 0])])
def test_labels_in_memory_are_read_alike(labels):
    assert gold_of(collection_from(labels)) == GOLD


def test_ids_and_texts_come_from_their_columns_and_the_rest_is_told(tmp_path):
    path = tmp_path / "wines.csv"
    path.write_text("id,body,Category,year\na,one,red,1\nb,two,red,2\nc,three,white,3\n")
    collection = read_collection(f"classes:{path}(text=body)")
    assert gold_of(collection) == {"a": ["b"], "b": ["a"]}
    assert [document.text for document in collection.items] == ["one", "two", "three"]
    assert (collection.has_texts, collection.numbered) == (True, False)
    assert collection.readings == ("wines.csv: label = Category, id = id, text = body; ignored: year",)


def test_records_of_json_lines_are_a_table_too_and_their_classes_are_no_ids(tmp_path):
    path = tmp_path / "moods.jsonl"
    rows = [("a", "red"), ("b", "red"), ("c", "white")]
    path.write_text("".join(f'{{"id": "{name}", "text": "x {name}", "label": "{label}"}}\n' for name, label in rows))
    assert gold_of(read_collection(f"classes:{path}(text=text)")) == {"a": ["b"], "b": ["a"]}
    with pytest.raises(InputError, match=r"the labels are 'red', not a list.*classes:FILE\(text=text\).*probe:FILE"):
        read_collection(path)


def test_a_table_of_texts_and_labels_is_refused_and_both_readings_are_named(tmp_path):
    path = tmp_path / "moods.csv"
    path.write_text("text,label\na,x\nb,y\nc,x\n")
    with pytest.raises(InputError) as error:
        read_collection(path)
    assert f"-t probe:{path} trains and tests a classifier; -t 'classes:{path}(text=text)' ranks" in str(error.value)


def test_a_folder_per_class_holds_vectors_or_texts(tmp_path):
    for label, count in (("red", 2), ("white", 1)):
        for number in range(count):
            (tmp_path / "vectors" / label).mkdir(parents=True, exist_ok=True)
            np.save(tmp_path / "vectors" / label / f"{number}.npy", np.ones(3))
            (tmp_path / "texts" / label).mkdir(parents=True, exist_ok=True)
            (tmp_path / "texts" / label / f"{number}.txt").write_text(f"wine {number}")
    np.save(tmp_path / "vectors" / "white" / "more.npy", np.ones((2, 3)))
    vectors = read_collection(tmp_path / "vectors")
    assert vectors.items.ids == ["red/0.npy", "red/1.npy", "white/0.npy", "white/more.npy:0", "white/more.npy:1"]
    assert gold_of(vectors)["white/more.npy:1"] == ["white/0.npy", "white/more.npy:0"]
    texts = read_collection(f"classes:{tmp_path / 'texts'}")
    assert gold_of(texts) == {"red/0.txt": ["red/1.txt"], "red/1.txt": ["red/0.txt"]}
    assert texts.has_texts
    with pytest.raises(InputError, match="no folder of a class holds files"):
        read_collection(f"classes:{tmp_path / 'texts' / 'red'}")


def test_queries_are_sampled_where_the_classes_have_many_pairs(monkeypatch, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("label\n" + "a\nb\n" * 20)
    sampled = read_collection(f"classes:{path}(queries=5,seed=1)")
    assert len(sampled.gold.queries) == 5
    assert sampled.remarks[-1] == "5 of 40 items sampled as queries (seed 1)"
    assert read_collection(f"classes:{path}(queries=5,seed=1)").gold.queries == sampled.gold.queries
    monkeypatch.setattr(classes, "MOST_PAIRS", 190)
    limited = read_collection(path)
    assert len(limited.gold.items) == 190
    assert limited.remarks[-1] == "10 of 40 items sampled as queries (seed 0); queries=all uses all of them"
    assert len(read_collection(f"classes:{path}(queries=all)").gold.queries) == 40


BAD = {
    "label\n" + "x\n" * 3: "all 3 items have the label 'x', so that any ranking is right",
    "label\na\nb\nc\n": "each of the 3 items has a label of its own",
    "id,label\n1,a\n2,\n3,a\n": "labels.csv:3: the item has no label; give every item a label",
    "id,label\n1,a\n1,b\n3,a\n": "the id '1' is given twice",
    "id,label,class\n1,a,b\n": "several columns could be the label: 'label', 'class'; choose one: label=label or",
    "fruit\nred\nred\nwhite\n": "labels.csv:1: the first line, 'fruit', may be a label or the name of the column",
    "1,a\n2,b\n": "the first line names no column of labels",
}


@pytest.mark.parametrize("content", BAD)
def test_labels_that_define_nothing_are_refused_with_their_place(tmp_path, content):
    path = tmp_path / "labels.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=re.escape(BAD[content])):
        read_collection(f"classes:{path}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("queries=some", "queries is 'some'; write queries=N with a whole number from 1 up"),
        ("seed=1", "seed has no effect without queries=N"),
        ("label=year", "there is no column 'year' to be the label"),
        ("colour=red", "no option of classes .colour."),
    ],
)
def test_options_without_meaning_are_refused(tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        read_collection(f"classes:{write_labels(tmp_path, '.csv')}({options})")


def test_an_array_of_vectors_is_no_array_of_labels(tmp_path):
    np.save(tmp_path / "emb.npy", np.ones((3, 2)))
    with pytest.raises(InputError, match=r"the shape \(3, 2\).*vectors are a model: -m vectors:"):
        read_collection(tmp_path / "emb.npy")
    with pytest.raises(InputError, match=r"the label 0\.5 is neither a text nor an integer"):
        from_labels([1, 0.5])
