"""Gold with subtopics reads back equal from every format that holds them, and other formats refuse it."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import goldrank as gr
from goldrank.data.collections.collection import Collection, Documents
from profiles import examples

JUDGED = {
    "q1": {"d1": {"1": 1.0, "2": 1.0}, "d2": {"2": 2.0}, "d4": {"1": 0.0}},
    "q2": {"d1": {"3": 1.0}, "é": {"1": 0.5, "3": -1.0}},
}
DIVERSITY = "q1 1 d1 1\nq1 2 d1 1\nq1 2 d2 2\nq1 1 d4 0\nq2 3 d1 1\nq2 1 é 0.5\nq2 3 é -1\n"
GRADES = st.dictionaries(st.sampled_from(["1", "2", "x"]), st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0]), min_size=1)
GOLD = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(st.sampled_from(["a", "b", "c"]), GRADES, min_size=1),
    min_size=1,
)


def test_diversity_qrels_are_recognised_by_an_item_with_two_subtopics(tmp_path):
    path = tmp_path / "qrels"
    path.write_text(DIVERSITY)
    gold = gr.Gold.read(path)
    assert gold.subtopics == JUDGED
    assert gold["q1"] == {"d1": 1.0, "d2": 2.0, "d4": 0.0}
    assert gold["q2"] == {"d1": 1.0, "é": 0.5}


def test_the_second_column_of_other_qrels_is_no_subtopic_unless_said(tmp_path):
    path = tmp_path / "qrels"
    path.write_text("q1 4.5 d1 1\nq1 0.5 d2 2\n")
    assert gr.Gold.read(path).subtopics is None
    assert gr.Gold.read(path, format="diversity").subtopics == {"q1": {"d1": {"4.5": 1.0}, "d2": {"0.5": 2.0}}}


@pytest.mark.parametrize("format", ["trec", "diversity", "csv", "tsv", "json", "jsonl", "parquet"])
@given(judged=GOLD)
@examples(0.25)
def test_subtopics_come_back_from_every_format(format, judged, tmp_path_factory):
    gold, path = gr.Gold(judged), tmp_path_factory.mktemp("gold") / "file"
    gold.write(path, format=format)
    assert gr.Gold.read(path, format="diversity" if format == "trec" else format).subtopics == judged


def test_a_data_frame_with_a_subtopic_column_is_gold_by_subtopic():
    rows = [line.split() for line in DIVERSITY.splitlines()]
    table = pd.DataFrame(rows, columns=["query", "subtopic", "item", "grade"]).astype({"grade": float})
    assert gr.Gold(table) == gr.Gold(JUDGED)
    assert gr.Gold(table) != gr.Gold({query: dict(gr.Gold(JUDGED)[query]) for query in JUDGED})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q 1 d 1\nq 1 d 2\n", ":2: the item 'd' is listed twice for query 'q'; keep one row per query and item"),
        ("q 1 d 1\nq 2 d 2\nq 1 d 1\n", ":3: the item 'd' is listed twice for query 'q' and subtopic '1'"),
        ("q 1 d 1\nq 2 d 2\nq 3 d\n", ":3: the line has 3 columns"),
        ("q 1 d 1\nq 2 d x\n", ":2: the grade 'x' is not a number"),
        ("q 1 d 1\nq 2 d 1\nq 3 d x\n", ":3: the grade 'x' is not a number"),
        ("q 1 d 1\nq 2 d 1\nq 3 d nan\n", ":3: the grade 'nan' is not a finite number"),
        ('{"query": "q", "item": "d", "grade": 1, "subtopic": "1"}\n{"query": "q", "item": "e", "grade": 1}\n',
         "1 of 2 records have no subtopic"),
        ("query,item,grade,subtopic\nq,d,1,\n", ":2: the subtopic id is empty"),
    ],
)  # fmt: skip
def test_a_fault_in_gold_by_subtopic_is_one_sentence_with_its_place(text, message, tmp_path):
    path = tmp_path / "qrels"
    path.write_text(text)
    with pytest.raises(gr.InputError) as caught:
        gr.Gold.read(path)
    assert message in str(caught.value)


def test_what_cannot_hold_subtopics_refuses_them(tmp_path):
    gold, plain = gr.Gold(JUDGED), gr.Gold({"q": {"d": 1}})
    with pytest.raises(gr.InputError, match="BEIR's qrels cannot hold"):
        gold.write(tmp_path / "x.tsv", format="beir")
    with pytest.raises(gr.InputError, match="there are no subtopics to write"):
        plain.write(tmp_path / "x", format="diversity")
    with pytest.raises(gr.InputError, match="'a b' holds white space"):
        gr.Gold({"q": {"d": {"a b": 1}}}).write(tmp_path / "x", format="trec")
    documents = Documents(["d1"], ["text"])
    with pytest.raises(gr.InputError, match="judged by subtopic, which a collection does not hold"):
        Collection("name", documents, documents, gold.columns)
    assert list(tmp_path.iterdir()) == []


def test_a_run_is_not_read_as_diversity_qrels(tmp_path):
    path = tmp_path / "run"
    path.write_text("q Q0 d 1 2.0 tag\n")
    with pytest.raises(gr.InputError, match="diversity qrels are gold, not a run"):
        gr.Run.read(path, format="diversity")
