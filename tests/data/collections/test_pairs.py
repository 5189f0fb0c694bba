"""Pairs of texts: ids are stable, columns have many names, and ambiguous tables are refused."""

import csv
import gzip
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.data.collections import read_collection
from goldrank.data.collections.pairs import read
from goldrank.errors import InputError
from goldrank.tasks.catalogue import find_task as task_named

TABLE = 'query,item,grade\nwhat is wine,grapes,2\nwhat is wine,"must, juice",1\nwho plays,grapes,0\n'
words = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=5).filter(
    lambda text: text == text.strip() and text != ""
)


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows(collection):
    gold, bounds = collection.gold, collection.gold.starts.tolist()
    return [
        (query, gold.items[row], gold.values[row])
        for query, start, end in zip(gold.queries, bounds[:-1], bounds[1:], strict=True)
        for row in range(start, end)
    ]


def texts(documents):
    return {document.id: document.text for document in documents}


def test_distinct_texts_are_numbered_in_the_order_in_which_they_come(tmp_path):
    collection = read_collection(write(tmp_path / "faq.csv", TABLE))
    assert (collection.name, collection.format, collection.related, collection.remarks) == ("faq", "pairs", False, [])
    assert texts(collection.queries) == {"q1": "what is wine", "q2": "who plays"}
    assert texts(collection.items) == {"d1": "grapes", "d2": "must, juice"}
    assert rows(collection) == [("q1", "d1", 2), ("q1", "d2", 1), ("q2", "d1", 0)]


@given(st.lists(st.tuples(words, words), min_size=1, unique=True))
def test_every_pair_comes_back_with_its_texts(tmp_path_factory, pairs):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([("query", "item"), *pairs])
    collection = read(write(tmp_path_factory.mktemp("pairs") / "x.csv", out.getvalue()))
    queries, items = texts(collection.queries), texts(collection.items)
    assert sorted((queries[query], items[item]) for query, item, _ in rows(collection)) == sorted(pairs)
    assert (len(queries), len(items)) == (len({q for q, _ in pairs}), len({i for _, i in pairs}))


@pytest.mark.parametrize(
    "header",
    ["question\tanswer\tlabel", "Anchor\tPositive\tScore", "question\tcontext\tscore", "query\tpassage\trelevance"],
)
def test_columns_go_by_many_names_packed_or_not(tmp_path, header):
    path = write(tmp_path / "x.tsv.gz", gzip.compress(f"{header}\na\tb\t0.5\n".encode()))
    collection = read_collection(path)
    assert rows(collection) == [("q1", "d1", 0.5)]


def test_without_a_grade_it_is_one(tmp_path):
    assert rows(read(write(tmp_path / "x.csv", "query,item\na,b\n"))) == [("q1", "d1", 1)]


def test_given_ids_are_kept(tmp_path):
    collection = read(write(tmp_path / "x.csv", "query_id,query,item_id,item,grade\n7,a,x,b,1\n8,a,y,b,2\n"))
    assert (texts(collection.queries), texts(collection.items)) == ({"7": "a", "8": "a"}, {"x": "b", "y": "b"})
    assert rows(collection) == [("7", "x", 1), ("8", "y", 2)]


@pytest.mark.parametrize(("ids", "more"), [("", ["d3"]), ("item_id,", ["negative1"])])
def test_negatives_are_items_without_gold(tmp_path, ids, more):
    extra = ("x,", "y,") if ids else ("", "")
    content = f"{ids}anchor,positive,negative\n{extra[0]}a,b,c\n{extra[1]}a,d,b\n"
    collection = read(write(tmp_path / "x.csv", content))
    assert collection.items.ids[2:] == more
    assert [document.text for document in collection.items] == ["b", "d", "c"]
    assert len(rows(collection)) == 2
    assert collection.remarks == ["1 negative added to the items, without gold"]


def test_a_pair_given_again_is_left_out_and_counted(tmp_path):
    collection = read(write(tmp_path / "x.csv", "query,item,grade\na,b,1\na,b,1\n"))
    assert (rows(collection), collection.remarks) == ([("q1", "d1", 1)], ["1 pair given again left out"])


def test_a_folder_may_have_one_file_per_split_or_one_alone(tmp_path):
    (tmp_path / "alone").mkdir()
    write(tmp_path / "alone" / "faq.csv", TABLE)
    assert read_collection(tmp_path / "alone").splits == ("test",)
    (tmp_path / "split").mkdir()
    write(tmp_path / "split" / "train.csv", "query,item\na,b\n")
    write(tmp_path / "split" / "test.csv", TABLE)
    collection = read_collection(tmp_path / "split")
    assert (collection.split, collection.splits, len(collection.gold.items)) == ("test", ("test", "train"), 3)
    assert len(read(tmp_path / "split", "train").gold.items) == 1


BAD = {
    "no header": (
        "what is wine,grapes\nwho,b\n",
        r"x.csv:1: the first line names no column of queries .*start the file",
    ),
    "other columns": ("id,genre\n1,a\n", r"of class labels: -t .classes:.*x.csv\(label=COLUMN\)"),
    "semicolons": ("query;item\na;b\n", r"x.csv:1: the first line is a single column 'query;item'.*save the table"),
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


def test_the_reading_names_every_column_and_those_that_are_ignored(tmp_path):
    content = "qid,Question,passage,label,negative_1,by\n1,a,b,1,c,me\n"
    assert read(write(tmp_path / "x.csv", content)).readings == (
        "x.csv: query = Question, item = passage, query_id = qid, grade = label, negatives = negative_1; ignored: by",
    )


TWO_READINGS = {
    "question,answer,expected_file\na,b,c.md\n": [
        "the texts of answer are the items to rank, or expected_file names the relevant documents",
        "-t '{spec}(item=answer)'",
        "-t FOLDER --questions {file} if expected_file names",
    ],
    "question,answer,doc_id\na,b,7\n": ["or doc_id names the relevant documents", "-t '{spec}(item=answer)'"],
    "question,passage,expected_file\na,b,c.md\n": ["or expected_file names the relevant documents"],
    "question,source\na,b.md\n": ["-t FOLDER --questions {file} if source names documents of a folder"],
    "question,context,answer\na,b,c\n": [
        "context and answer could each be the item",
        "-t '{spec}(item=context)' or '{spec}(item=answer)'",
    ],
    "query,question,item\na b,c d,e f\n": ["query and question could each be the query"],
    "query,item,score,label\na b,c d,1,0\n": ["score and label could each be the grade", "'{spec}(grade=label)'"],
    "sentence1,sentence2,score\na,b,0.2\nc,d,4.8\n": [
        "sentence1 and sentence2 with a score of their similarity (from 0.2 to 4.8), or queries with graded items",
        "-t sentence-pairs:{file} correlates",
        "-t '{spec}(min_grade=",
        "--from-pairs {file} ranks",
    ],
    "text1,text2,similarity\na,b,0\nc,d,3\ne,f,5\n": ["text1 and text2 with a similarity of their similarity"],
}


@pytest.mark.parametrize("content", TWO_READINGS)
def test_a_table_with_two_plausible_readings_is_refused_and_both_are_named(tmp_path, content):
    file = write(tmp_path / "x.csv", content)
    with pytest.raises(InputError) as error:
        read_collection(file)
    for part in TWO_READINGS[content]:
        assert part.format(file=file, spec=f"pairs:{file}") in str(error.value)


@pytest.mark.parametrize(
    "content",
    [
        "question,passage,source\na,b,wikipedia\n",
        "query,item,doc_id\na b,c d,7\n",
        "sentence1,sentence2,label\na,b,0\nc,d,1\n",
        "sentence1,sentence2\na,b\n",
        "question,answer,answer_id\na,b,7\n",
    ],
)
def test_a_table_with_one_plausible_reading_is_read(tmp_path, content):
    assert read_collection(write(tmp_path / "x.csv", content)).readings


def test_the_options_of_a_spec_choose_the_columns_and_the_lowest_grade(tmp_path):
    file = write(tmp_path / "rag.csv", "question,context,answer,expected_file\na,long,short,c.md\n")
    chosen = read_collection(f"pairs:{file}(item=Context)")
    assert texts(chosen.items) == {"d1": "long"}
    assert chosen.readings == ("rag.csv: query = question, item = context; ignored: answer, expected_file",)
    assert task_named(f"pairs:{file}(item=answer)").name == "rag"
    sts = write(tmp_path / "sts.csv", "sentence1,sentence2,score\na,b,0.2\nc,d,4.8\ne,f,4\n")
    ranked = read_collection(f"pairs:{sts}(min_grade=4)")
    assert rows(ranked) == [("q1", "d1", 0), ("q2", "d2", 4.8), ("q3", "d3", 4)]
    assert ranked.remarks == ["1 pair of 3 below the grade 4: judged, not relevant"]
    assert rows(read_collection(f"pairs:{sts}(grade=score)"))[0] == ("q1", "d1", 0.2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("item=nope", r"there is no column 'nope' to be the item \(columns: 'query', 'item'\)"),
        ("items=item", "no option of pairs 'items'; did you mean 'item'"),
        ("min_grade=4", "min_grade has no effect without a column of grades"),
    ],
)
def test_options_that_name_nothing_are_refused(tmp_path, options, message):
    file = write(tmp_path / "x.csv", "query,item\na,b\n")
    with pytest.raises(InputError, match=message):
        read_collection(f"pairs:{file}({options})")


def test_a_lowest_grade_is_a_number(tmp_path):
    file = write(tmp_path / "x.csv", "query,item,grade\na,b,1\n")
    with pytest.raises(InputError, match="min_grade is 'high', not a number"):
        read_collection(f"pairs:{file}(min_grade=high)")
    with pytest.raises(InputError, match="there is no such file or folder"):
        read_collection("pairs:nowhere.csv(item=answer)")


def test_grades_that_are_fractions_are_remarked(tmp_path):
    content = "query,passage,score\na,b,0.25\nc,d,1\n"
    (remark,) = read(write(tmp_path / "x.csv", content)).remarks
    assert remark.startswith("1 of 2 grades (from 0.25 to 1) are fractions, and any above 0 is relevant")
