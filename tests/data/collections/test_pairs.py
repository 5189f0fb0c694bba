"""Pairs of texts: ids are stable, names of columns many, and what cannot be told is refused."""

import csv
import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.data.collections import read_collection
from goldrank.data.collections.pairs import read
from goldrank.errors import InputError

TABLE = 'query,item,grade\nwhat is wine,grapes,2\nwhat is wine,"must, juice",1\nwho plays,grapes,0\n'
words = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=5).filter(
    lambda text: text == text.strip() and text != ""
)


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows(made):
    gold, bounds = made.gold, made.gold.starts.tolist()
    return [
        (query, gold.items[row], gold.values[row])
        for query, start, end in zip(gold.queries, bounds[:-1], bounds[1:], strict=True)
        for row in range(start, end)
    ]


def texts(documents):
    return {document.id: document.text for document in documents}


def test_distinct_texts_are_numbered_in_the_order_in_which_they_come(tmp_path):
    made = read_collection(write(tmp_path / "faq.csv", TABLE))
    assert (made.name, made.format, made.related, made.remarks) == ("faq", "pairs", False, [])
    assert texts(made.queries) == {"q1": "what is wine", "q2": "who plays"}
    assert texts(made.items) == {"d1": "grapes", "d2": "must, juice"}
    assert rows(made) == [("q1", "d1", 2), ("q1", "d2", 1), ("q2", "d1", 0)]


@given(st.lists(st.tuples(words, words), min_size=1, unique=True))
def test_every_pair_comes_back_with_its_texts(tmp_path_factory, pairs):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([("query", "item"), *pairs])
    made = read(write(tmp_path_factory.mktemp("pairs") / "x.csv", out.getvalue()))
    queries, items = texts(made.queries), texts(made.items)
    assert sorted((queries[query], items[item]) for query, item, _ in rows(made)) == sorted(pairs)
    assert (len(queries), len(items)) == (len({q for q, _ in pairs}), len({i for _, i in pairs}))


@pytest.mark.parametrize(
    "header",
    ["question\tanswer\tlabel", "Anchor\tPositive\tScore", "sentence1\tsentence2\tscore", "query\tpassage\trelevance"],
)
def test_columns_go_by_many_names_packed_or_not(tmp_path, header):
    path = write(tmp_path / "x.tsv.gz", gzip.compress(f"{header}\na\tb\t0.5\n".encode()))
    made = read_collection(path)
    assert rows(made) == [("q1", "d1", 0.5)]


def test_without_a_grade_it_is_one(tmp_path):
    assert rows(read(write(tmp_path / "x.csv", "query,item\na,b\n"))) == [("q1", "d1", 1)]


def test_given_ids_are_kept(tmp_path):
    made = read(write(tmp_path / "x.csv", "query_id,query,item_id,item,grade\n7,a,x,b,1\n8,a,y,b,2\n"))
    assert (texts(made.queries), texts(made.items)) == ({"7": "a", "8": "a"}, {"x": "b", "y": "b"})
    assert rows(made) == [("7", "x", 1), ("8", "y", 2)]


@pytest.mark.parametrize(("ids", "more"), [("", ["d3"]), ("item_id,", ["negative1"])])
def test_negatives_are_items_without_gold(tmp_path, ids, more):
    extra = ("x,", "y,") if ids else ("", "")
    content = f"{ids}anchor,positive,negative\n{extra[0]}a,b,c\n{extra[1]}a,d,b\n"
    made = read(write(tmp_path / "x.csv", content))
    assert made.items.ids[2:] == more
    assert [document.text for document in made.items] == ["b", "d", "c"]
    assert len(rows(made)) == 2
    assert made.remarks == ["1 negative added to the items, without gold"]


def test_a_pair_given_again_is_left_out_and_counted(tmp_path):
    made = read(write(tmp_path / "x.csv", "query,item,grade\na,b,1\na,b,1\n"))
    assert (rows(made), made.remarks) == ([("q1", "d1", 1)], ["1 pair given again left out"])


def test_a_folder_may_have_one_file_per_split_or_one_alone(tmp_path):
    (tmp_path / "alone").mkdir()
    write(tmp_path / "alone" / "faq.csv", TABLE)
    assert read_collection(tmp_path / "alone").splits == ("test",)
    (tmp_path / "split").mkdir()
    write(tmp_path / "split" / "train.csv", "query,item\na,b\n")
    write(tmp_path / "split" / "test.csv", TABLE)
    made = read_collection(tmp_path / "split")
    assert (made.split, made.splits, len(made.gold.items)) == ("test", ("test", "train"), 3)
    assert len(read(tmp_path / "split", "train").gold.items) == 1


BAD = {
    "no header": (
        "what is wine,grapes\nwho,b\n",
        r"x.csv:1: the first line names no column of queries .*start the file",
    ),
    "no item": ("query,year\na,1\n", r"x.csv:1: the first line names no column of items"),
    "ids only": ("query-id,corpus-id,score\na,b,1\n", r"x.csv:1: the first line names no column of queries"),
    "ragged": ("query,item\na,b\nc\n", r"x.csv:3: the row has 1 column, the first one has 2"),
    "quote": ('query,item\na,"b\n', r"x.csv:2: the row is not valid CSV"),
    "grade": ("query,item,grade\na,b,high\n", r"x.csv:2: the grade 'high' is not a number"),
    "nan": ("query,item,grade\na,b,nan\n", r"x.csv:2: the grade 'nan' is not a finite number"),
    "no query": ("query,item\n ,b\n", r"x.csv:2: the query is empty"),
    "no text": ("query,item\na,\n", r"x.csv:2: the item is empty"),
    "other grade": ("query,item,grade\na,b,1\na,b,2\n", r"x.csv:3: the pair has the grade 2 here and 1 before .*:2\)"),
    "other text": ("query_id,query,item\n1,a,b\n1,c,b\n", r"x.csv:3: the query '1' has another text here"),
    "no id": ("query_id,query,item\n,a,b\n", r"x.csv:2: the query id is empty"),
    "no pairs": ("query,item\n", r"x.csv: the file holds no pairs"),
    "empty": ("", r"x.csv: the file is empty"),
    "blank": ("\n\n", r"x.csv:1: the first line names no column"),
    "NUL": ("query,item\na,\0\n", r"x.csv:2: this is not a text file"),
    "latin-1": ("query,item\né,b\n".encode("latin-1"), r"x.csv:2: the text is not valid UTF-8"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_told_with_its_line(tmp_path, name):
    content, message = BAD[name]
    with pytest.raises(InputError, match=message):
        read_collection(write(tmp_path / "x.csv", content), format="pairs")


def test_a_cell_may_hold_a_whole_article(tmp_path):
    long = ("many words " * 20_000).strip()
    (tmp_path / "pairs.csv").write_text(f'query,passage\nwine,"{long}"\n')
    (item,) = read(tmp_path / "pairs.csv", None).items
    assert item.text == long
