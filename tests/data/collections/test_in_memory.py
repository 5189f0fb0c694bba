"""Data in memory: all forms read alike, results are keyed by content, and other shapes are refused."""

import numpy as np
import pytest

import goldrank as gr
from goldrank.cli.main import main
from goldrank.data.collections.in_memory import ACCEPTED, collection_from
from goldrank.errors import InputError
from goldrank.runs.run import run
from goldrank.store import Store
from goldrank.tasks.catalogue import find_task

# Articles as users write them: an article without similar ones has no field for labels.
ARTICLES = [
    {"id": "yquem", "title": "Yquem", "text": "A sweet white wine.", "labels": ["barsac"]},
    {"id": "barsac", "title": "Barsac", "text": "A sweet white wine of the left bank."},
    {"id": "barolo", "title": "Barolo", "text": "A dry red wine.", "labels": [{"id": "chianti", "grade": 2}]},
    {"id": "chianti", "title": "Chianti", "text": "A dry red wine of Tuscany."},
]
# Articles as tables store them: every row has every column.
WHOLE = [
    {**row, "labels": [label["id"] if isinstance(label, dict) else label for label in row.get("labels", [])]}
    for row in ARTICLES
]
CORPUS = {"d1": {"title": "Yquem", "text": "A sweet white wine."}, "d2": {"title": "Barolo", "text": "A dry red wine."}}
QUERIES = {"q1": "wine for dessert that is sweet"}
QRELS = {"q1": {"d1": 2}}


def rows_of(collection):
    gold, bounds = collection.gold, collection.gold.starts.tolist()
    return {
        query: dict(zip(gold.items[start:end], gold.values[start:end].tolist(), strict=True))
        for query, start, end in zip(gold.queries, bounds[:-1], bounds[1:], strict=True)
    }


def test_a_list_of_records_is_evaluated_and_rows_without_labels_are_items():
    result = gr.evaluate("bm25", ARTICLES)
    assert result.gold.to_dict() == {"yquem": {"barsac": 1}, "barolo": {"chianti": 2}}
    assert result.scores["mrr"].mean == 1.0
    assert result.data.item_ids == ["yquem", "barsac", "barolo", "chianti"]


def frames(library):
    if library == "pandas":
        pandas = pytest.importorskip("pandas")
        # Lists read from Parquet are arrays.
        return [pandas.DataFrame(WHOLE), pandas.DataFrame([{**r, "labels": np.array(r["labels"])} for r in WHOLE])]
    if library == "polars":
        return [pytest.importorskip("polars").DataFrame(WHOLE)]
    return [pytest.importorskip("pyarrow").Table.from_pylist(WHOLE)]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_tables_say_the_same_as_a_list(library):
    for table in frames(library):
        assert collection_from(table).checksum == collection_from(WHOLE).checksum


def test_iterators_and_tuples_say_the_same_as_a_list():
    expected = gr.evaluate("bm25", ARTICLES).inputs
    assert gr.evaluate("bm25", tuple(ARTICLES)).inputs == expected
    assert gr.evaluate("bm25", (row for row in ARTICLES)).inputs == expected


def test_a_hugging_face_dataset_says_the_same_as_a_list():
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_list(WHOLE)
    expected = gr.evaluate("bm25", WHOLE)
    for form in (data, data.with_format("numpy"), data.to_iterable_dataset()):
        result = gr.evaluate("bm25", form)
        assert result.inputs == expected.inputs
        assert result.scores["mrr"].mean == expected.scores["mrr"].mean


def test_a_dataset_dict_has_splits_of_which_test_is_evaluated():
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_list(WHOLE)
    splits = datasets.DatasetDict({"train": data.remove_columns("labels"), "test": data})
    result = gr.evaluate("bm25", splits)
    assert result.inputs == gr.evaluate("bm25", WHOLE).inputs
    assert result.data.collection.splits == ("test", "train")
    with pytest.raises(InputError, match=r"no article of the split 'train' has labels.*choose another split \(test\)"):
        gr.evaluate("bm25", splits, split="train")
    with pytest.raises(InputError, match="the DatasetDict: there is no split 'dev'; choose 'test' or 'train'"):
        gr.evaluate("bm25", splits, split="dev")


def test_the_thesis_form_of_ids_and_records_called_label_is_read_with_a_remark():
    datasets = pytest.importorskip("datasets")
    # transformer_document_embedding stores whole similar articles in the column label; train has none.
    texts = [{"id": number, "text": row["title"] + " " + row["text"]} for number, row in enumerate(ARTICLES)]
    labels = [[texts[1]], [], [texts[3]], []]
    train = datasets.Dataset.from_list(texts)
    test = datasets.Dataset.from_list([{**row, "label": label} for row, label in zip(texts, labels, strict=True)])
    collection = collection_from(datasets.DatasetDict({"train": train, "test": test}))
    assert rows_of(collection) == {"0": {"1": 1}, "2": {"3": 1}}
    assert collection.remarks == ["the field label was read as labels"]


def test_the_thesis_form_of_articles_and_sims_is_joined():
    articles = [
        {"id": 0, "title": "Yquem", "section_titles": ["", "History."], "section_texts": ["A wine.", "Old."]},
        {"id": 1, "title": "Barsac", "section_titles": [""], "section_texts": ["A wine."]},
    ]
    sims = [{"source_id": 0, "target_ids": [1]}]
    expected = collection_from(
        [
            {"id": 0, "title": "Yquem", "sections": [["", "A wine."], ["History.", "Old."]], "labels": [1]},
            {"id": 1, "title": "Barsac", "sections": [["", "A wine."]]},
        ]
    )
    assert collection_from({"articles": articles, "sims": sims}).checksum == expected.checksum
    datasets = pytest.importorskip("datasets")
    parts = {"articles": datasets.Dataset.from_list(articles), "sims": datasets.Dataset.from_list(sims)}
    assert collection_from(datasets.DatasetDict(parts)).checksum == expected.checksum


@pytest.mark.parametrize(
    "data",
    [
        {"corpus": CORPUS, "queries": QUERIES, "qrels": QRELS},
        (CORPUS, QUERIES, QRELS),  # as BEIR's GenericDataLoader returns them
        {
            "corpus": [{"_id": text_id, **text} for text_id, text in CORPUS.items()],
            "queries": [{"_id": "q1", "text": QUERIES["q1"]}],
            "qrels": [{"query-id": "q1", "corpus-id": "d1", "score": 2}],
        },
        {"corpus": CORPUS, "queries": QUERIES, "qrels": [("q1", "d1", 2)]},
    ],
    ids=["mappings", "tuple", "records", "triples"],
)
def test_corpus_queries_and_qrels_are_a_retrieval_task(data):
    result = gr.evaluate("bm25", data)
    assert result.task.kind == "retrieval"
    assert result.gold.to_dict() == {"q1": {"d1": 2}}
    assert result.scores["mrr@10"].mean == 1.0
    assert result.inputs == gr.evaluate("bm25", (CORPUS, QUERIES, QRELS)).inputs


def test_a_dataset_dict_of_corpus_queries_and_qrels_is_a_retrieval_task():
    datasets = pytest.importorskip("datasets")
    parts = {
        "corpus": [{"_id": text_id, **text} for text_id, text in CORPUS.items()],
        "queries": [{"_id": "q1", "text": QUERIES["q1"]}],
        "default": [{"query-id": "q1", "corpus-id": "d1", "score": 2}],
    }
    flat = datasets.DatasetDict({name: datasets.Dataset.from_list(rows) for name, rows in parts.items()})
    # mteb stores a dictionary of splits for each part.
    by_split = {name: datasets.DatasetDict({"test": rows}) for name, rows in flat.items()}
    expected = gr.evaluate("bm25", (CORPUS, QUERIES, QRELS)).inputs
    assert gr.evaluate("bm25", flat).inputs == expected
    assert gr.evaluate("bm25", by_split).inputs == expected
    # A corpus can have millions of rows, so it is not kept in memory.
    assert collection_from(flat).items.streamed
    doubled = datasets.DatasetDict({**flat, "corpus": datasets.concatenate_datasets([flat["corpus"]] * 2)})
    with pytest.raises(InputError, match=r"the DatasetDict\['corpus'\]: the id 'd1' is given twice; make ids unique"):
        gr.evaluate("bm25", doubled)


def test_ids_may_be_integers():
    result = gr.evaluate("bm25", {"corpus": {1: "sweet", 2: "dry"}, "queries": {7: "sweet"}, "qrels": {7: {1: 1}}})
    assert result.gold.to_dict() == {"7": {"1": 1}}
    assert result.scores["mrr@10"].mean == 1.0


def test_labelled_records_are_gold_for_scoring(tmp_path):
    run = {"yquem": {"barolo": 2.0, "barsac": 1.0}, "barolo": {"chianti": 1.0}}
    assert gr.score(ARTICLES, run, "mrr")["mrr"].mean == 0.75
    # Scoring needs no texts.
    assert gr.score([{"id": row["id"], "labels": row["labels"]} for row in WHOLE], run, "mrr")["mrr"].mean == 0.75
    data = pytest.importorskip("datasets").Dataset.from_list(WHOLE)
    assert gr.score(data, run, "mrr")["mrr"].mean == 0.75


def test_stored_results_are_keyed_by_what_the_data_holds(tmp_path):
    records = [dict(row) for row in ARTICLES]
    store = Store.open(str(tmp_path / "store"))

    def fresh():
        (board,) = run("bm25", [records], store)
        return board.outcomes[0].fresh, board.scores["bm25"]["mrr"].mean

    assert fresh() == (True, 1.0)
    assert fresh() == (False, 1.0)
    records[0] = {**records[0], "labels": ["chianti"]}
    changed = fresh()
    assert changed[0]
    assert changed[1] < 1.0
    records[3] = {**records[3], "text": "A sweet white wine of Tuscany."}
    assert fresh()[0]


def test_what_is_read_does_not_change_with_the_list():
    records = [dict(row) for row in ARTICLES]
    task = find_task(records)
    before = task.read(None).checksum
    records[0]["text"] = "Something else."
    assert task.read(None).checksum == before


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "an object of type int is not data to evaluate on; give the path of a file or folder, " + ACCEPTED),
        ([0.5, 1.5], "[0.5, 1.5] is not data to evaluate on; give the path of a file or folder, " + ACCEPTED),
        (
            {"q1": ["d1"]},
            "a mapping with the keys ['q1'] is not data to evaluate on; give the path of a file or folder, " + ACCEPTED,
        ),
        ([], "the list: there are no articles; check that the data is complete"),
        (
            {"corpus": CORPUS, "queries": QUERIES},
            "the dict: the data has a corpus but no qrels (keys: corpus, queries); "
            'give {"corpus": …, "queries": …, "qrels": {"query": {"item": grade}}}',
        ),
        (
            {"corpus": 3, "queries": QUERIES, "qrels": QRELS},
            'the dict: the corpus is 3; give {"id": "text"}, {"id": {"title": "…", "text": "…"}}, '
            'records or a data frame with id and text, or a list of texts, whose ids are "0", "1", …',
        ),
        (
            [{"id": "a", "text": "x", "label": 3}],
            'the list: row 0 (counted from 0): the labels are 3, not a list; write ["id", …]',
        ),
        (
            {"corpus": [{"id": 1, "text": "x"}, {"id": "1", "text": "y"}], "queries": QUERIES, "qrels": QRELS},
            "the dict['corpus']: row 1 (counted from 0): the id '1' is given twice (first at the dict['corpus']: row 0 "
            "(counted from 0)); give every text its own id",
        ),
    ],
    ids=["number", "numbers", "run", "empty", "no qrels", "corpus", "label", "twice"],
)
def test_other_shapes_are_refused_by_what_is_accepted(data, message):
    with pytest.raises(InputError) as error:
        gr.evaluate("bm25", data)
    assert str(error.value) == message


@pytest.mark.parametrize("text", ["x" * 5000, "wine" * 100, '{"id": "a"}\n{"id": "b"}', "", "a\0b"])
def test_a_text_that_is_data_is_refused_and_not_opened(text, capsys):
    message = f"of {len(text):,} characters is neither a name nor a path; to evaluate on data in memory, give it as "
    with pytest.raises(InputError) as error:
        gr.evaluate("bm25", text)
    assert message in str(error.value)
    assert main(["run", "-m", "bm25", "-t", text]) == 2
    assert message in capsys.readouterr().err
    assert main(["data", "check", text]) == 2
    assert message in capsys.readouterr().err
