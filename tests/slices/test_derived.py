"""Test attributes derived from gold and texts, and attributes stored with the data of runs."""

import json

import pytest

import goldrank as gr
from goldrank.cli.main import main
from goldrank.errors import InputError
from goldrank.hits import Gold
from goldrank.slices.attributes import Attributes
from goldrank.slices.derived import DERIVED, PlainTexts, SliceSource
from goldrank.store import Store

GOLD = Gold({"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 1, "d2": 2}, "q3": {"d3": 1}})
TEXTS = PlainTexts(
    {"q1": "How is wine made?", "q2": "вино красное", "q3": "wine zythum"},
    {
        "d1": "Wine is made of grapes.",
        "d2": "Красное вино",
        "d3": "Beer",
        **{f"e{n}": "other wine" for n in range(200)},
    },
)


def derive(name):
    return DERIVED[name].derive(SliceSource(GOLD, texts=TEXTS))


def test_each_attribute_is_derived_as_described():
    assert derive("relevant_items") == {"q1": "1", "q2": "2", "q3": "1"}
    assert derive("query_length") == {"q1": "4", "q2": "2", "q3": "2"}
    assert derive("question_word") == {"q1": "how", "q2": "no question word", "q3": "no question word"}
    assert derive("script") == {"q1": "Latin", "q2": "Cyrillic", "q3": "Latin"}
    assert derive("rare_words") == {"q1": "a word of no item", "q2": "a rare word", "q3": "a word of no item"}
    assert derive("gold_overlap") == {"q1": "0.75", "q2": "1.00", "q3": "0.00"}


def test_the_attributes_that_can_be_derived_depend_on_the_texts():
    assert SliceSource(GOLD).attribute_names() == ["relevant_items"]
    queries = PlainTexts(TEXTS.query_texts)
    assert SliceSource(GOLD, texts=queries).attribute_names() == list(DERIVED)[:4]
    assert SliceSource(GOLD, Attributes({"x": {"q1": "y"}}), TEXTS).attribute_names() == ["x", *DERIVED]


def test_an_attribute_that_is_given_replaces_a_derived_one():
    gold = Gold({f"q{number}": ["d"] for number in range(10)})
    attributes = Attributes({"relevant_items": {query: "few" if query < "q5" else "many" for query in gold.queries}})
    assert [part.value for part in SliceSource(gold, attributes).slices(["relevant_items"])] == ["few", "many"]


@pytest.fixture
def folder(tmp_path):
    """A BEIR folder whose queries have a language, and one field that holds a list."""
    folder = tmp_path / "beir"
    (folder / "qrels").mkdir(parents=True)
    corpus = [{"_id": f"d{number}", "text": f"word{number} wine"} for number in range(12)]
    queries = [
        {"_id": f"q{number}", "text": f"word{number}", "language": "de" if number < 6 else "en", "tags": ["x"]}
        for number in range(12)
    ]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    rows = [f"q{number}\td{number}\t1" for number in range(12)]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]))
    return folder


def test_further_fields_of_queries_are_stored_with_a_run_and_change_no_key(folder, tmp_path, capsys):
    collection = gr.load_data(folder)
    assert "queries.jsonl: id = _id, text = text; further columns: language; ignored: tags" in collection.notes
    store = str(tmp_path / "store")
    [board] = gr.run("bm25", folder, store=store, metrics=["mrr"])
    [run] = [outcome.stored for outcome in board.outcomes]
    expected = {"language": {f"q{number}": "de" if number < 6 else "en" for number in range(12)}}
    assert Store.open(store).texts(run.inputs["data"]).attributes() == expected
    assert main(["score", run.key, "--store", store, "--slice", "language", "--format", "json"]) == 0
    slices = json.loads(capsys.readouterr().out)["slices"]
    assert [(part["value"], part["queries"]) for part in slices] == [("de", 6), ("en", 6)]
    # Another field appears in the queries: the data and the key stay, and the attributes are stored anew.
    queries = folder / "queries.jsonl"
    queries.write_text(queries.read_text().replace('"tags"', '"kind": "new", "tags"'))
    [again] = gr.run("bm25", folder, store=store, metrics=["mrr"])
    assert again.outcomes[0].stored.key == run.key
    assert set(Store.open(store).texts(run.inputs["data"]).attributes()) == {"language", "kind"}


def test_derived_attributes_of_a_stored_run_read_its_stored_texts(folder, tmp_path, capsys):
    store = str(tmp_path / "store")
    gr.run("bm25", folder, store=store, metrics=["mrr"])
    key = Store.open(store).list()[0].key
    assert main(["score", key, "--store", store, "--slice", "rare_words"]) == 2
    assert "does not divide the queries: all have the value 'common words only'" in capsys.readouterr().err


def test_damaged_stored_attributes_are_an_error_with_a_remedy(folder, tmp_path):
    store = Store.open(str(tmp_path / "store"))
    [board] = gr.run("bm25", folder, store=store, metrics=["mrr"])
    texts = store.texts(board.outcomes[0].stored.inputs["data"])
    for content in ("[1", "[1]", '{"a": 1}', "\x00"):
        texts.attributes_path.write_text(content)
        with pytest.raises(InputError, match="the stored attributes of queries are damaged"):
            texts.attributes()


def test_further_columns_of_questions_and_of_records_are_attributes(tmp_path):
    from goldrank.data.collections.collection import further_fields

    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("About wine.")
    table = [{"question": "What?", "expected_file": "a.md", "topic": "wine"}]
    collection = gr.load_data(tmp_path / "docs", questions=table)
    assert further_fields(collection.queries) == {"topic": {"q1": "wine"}}
    records = {
        "corpus": {"d": "one"},
        "queries": [{"id": "q", "text": "two", "metadata": {"language": "en"}}],
        "qrels": {"q": ["d"]},
    }
    assert further_fields(gr.load_data(records).queries) == {"metadata.language": {"q": "en"}}
