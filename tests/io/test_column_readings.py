"""Every reader of tables reports how it read each column, and which columns it ignored."""

import json

import pandas
import pyarrow
import pyarrow.parquet
import pytest

import goldrank as gr
from goldrank.cli.main import main
from goldrank.data.collections import read_collection
from goldrank.data.collections.in_memory import collection_from
from goldrank.data.labelled_texts import read_labelled
from goldrank.errors import InputError
from goldrank.tasks.catalogue import find_task

READING = "{name}: query = qid, item = docno, grade = rel; ignored: query, note"
RECORD = {"qid": "q1", "query": "red", "docno": "d1", "rel": 1, "note": "x"}


def write_gold(folder, suffix):
    path = folder / f"gold{suffix}"
    if suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist([RECORD]), path)
    elif suffix in (".csv", ".tsv"):
        delimiter = "," if suffix == ".csv" else "\t"
        path.write_text("\n".join(delimiter.join(map(str, row)) for row in (RECORD, RECORD.values())) + "\n")
    else:
        path.write_text(json.dumps([RECORD] if suffix == ".json" else RECORD))
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".json", ".jsonl", ".parquet"])
def test_gold_says_how_the_columns_of_its_file_were_read(tmp_path, suffix):
    path = write_gold(tmp_path, suffix)
    assert gr.Gold.read(path).reading == READING.format(name=path.name)


def test_gold_and_runs_in_memory_say_how_their_columns_were_read():
    assert gr.Gold(pandas.DataFrame([RECORD])).reading == READING.format(name="DataFrame")
    run = gr.Run(pandas.DataFrame([{"query": "q1", "item": "d1", "score": 1.0, "rank": 1, "tag": "x"}]))
    assert run.reading == "DataFrame: query = query, item = item, score = score, rank = rank; ignored: tag"
    assert gr.Gold({"q1": ["d1"]}).reading == ""


def test_the_fields_that_only_some_records_have_are_told(tmp_path):
    path = tmp_path / "gold.jsonl"
    path.write_text(
        '{"query": "q1", "item": "d1", "grade": 1}\n{"query": "q2", "item": "d1", "grade": 1, "by": "me"}\n'
    )
    assert gr.Gold.read(path).reading == "gold.jsonl: query = query, item = item, grade = grade; ignored: by"


def test_score_says_once_how_each_table_was_read(tmp_path, capsys):
    gold = write_gold(tmp_path, ".csv")
    run = tmp_path / "bm25.run"
    run.write_text("q1 Q0 d1 1 2.0 x\n")
    assert main(["score", str(gold), str(run), "-M", "mrr"]) == 0
    assert capsys.readouterr().err.splitlines() == [f"goldrank: note: {READING.format(name='gold.csv')}."]
    assert main(["score", str(gold), str(run), "-M", "mrr", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_articles_say_how_the_fields_of_all_records_were_read(tmp_path):
    path = tmp_path / "articles.jsonl"
    records = [{"id": "a", "title": "t", "text": "x", "labels": ["b"]}, {"id": "b", "sections": ["y"], "url": "z"}]
    path.write_text("\n".join(map(json.dumps, records)))
    reading = "id = id, title = title, text = text, sections = sections, labels = labels; ignored: url"
    assert read_collection(path).readings == (f"articles.jsonl: {reading}",)
    assert collection_from(records).readings == (f"the list: {reading}",)


def test_a_beir_folder_says_how_each_of_its_files_was_read(tmp_path):
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d", "title": "t", "text": "x", "metadata": {}}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "y"}\n')
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n")
    assert read_collection(tmp_path).readings == (
        "corpus.jsonl: id = _id, title = title, text = text; ignored: metadata",
        "queries.jsonl: id = _id, text = text",
        "qrels.tsv: query = query-id, item = corpus-id, grade = score",
    )


def test_frames_of_a_corpus_say_how_their_columns_were_read():
    parts = {
        "corpus": pandas.DataFrame([{"docid": "d", "contents": "x", "year": 1999}]),
        "queries": {"q": "y"},
        "qrels": pandas.DataFrame([{"qid": "q", "docid": "d", "label": 1}]),
    }
    assert collection_from(parts).readings == (
        "corpus: id = docid, text = contents; ignored: year",
        "DataFrame: query = qid, item = docid, grade = label",
    )


def test_wikipedia_articles_and_evalrank_pairs_say_how_they_were_read(tmp_path):
    (tmp_path / "wines.csv").write_text("Title,Sections,Url\na,\"[['', 'x']]\",u\nb,\"[['', 'y']]\",v\n")
    (tmp_path / "wines_gold.json").write_text('{"a": {"b": 1}}')
    assert read_collection(tmp_path / "wines.csv").readings == (
        "wines.csv: title = Title, sections = Sections; ignored: Url",
    )
    folder = tmp_path / "rain"
    folder.mkdir()
    (folder / "background.txt").write_text("Snow.\n")
    (folder / "pairs.tsv").write_text("anchor\tpositive\nIt pours.\tIt rains.\n")
    assert read_collection(folder).readings == ("pairs.tsv: query = anchor, positive = positive",)
    (folder / "pairs.tsv").write_text("It pours.\tIt rains.\n")
    assert read_collection(folder).readings == ("pairs.tsv (no header): query = column 1, positive = column 2",)


def test_labelled_texts_say_how_they_were_read_and_refuse_two_labels(tmp_path):
    path = tmp_path / "moods.csv"
    path.write_text("sentence,label,category,year\na,x,1,2\nb,y,1,2\n")
    assert read_labelled(path).readings == ("moods.csv: text = sentence, label = label; ignored: category, year",)
    path.write_text("text,class,category\na,x,1\nb,y,1\n")
    with pytest.raises(InputError, match="several columns could be the label: 'class', 'category'; call the right one"):
        read_labelled(path)


def test_the_table_of_a_run_shows_how_the_data_was_read_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "faq.csv").write_text("question,answer,year\nred wine?,red grapes,1\nwhite wine?,white grapes,2\n")
    assert main(["run", "-m", "bm25", "tfidf", "-t", "faq.csv", "--metric", "mrr", "--store", "store"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("Data: faq.csv: query = question, item = answer; ignored: year.") == 1
    pairs = find_task("sentence-pairs")
    assert pairs.read(None).readings == ()


def test_a_similarity_task_on_a_file_says_how_it_was_read(tmp_path):
    path = tmp_path / "sts.csv"
    path.write_text("sentence1,sentence2,score,genre\na b,c d,0.2,x\ne f,g h,4.8,x\ni j,k l,3,x\n")
    result = gr.evaluate("random:8", f"sentence-pairs:{path}")
    assert result.remarks[0] == "sts: text1 = sentence1, text2 = sentence2, score = score; ignored: genre"


EXAMPLE = {"id": 7, "sequence_number": 0, "title": "Ada Fox", "texts": "<mask> ran.", "masks": ["Fox"], "views": 3}


def write_lines(path, *records):
    path.write_text("\n".join(map(json.dumps, records)) + "\n")
    return str(path)


def test_masked_predictions_say_how_their_columns_were_read(tmp_path):
    head = "page_id,id,mask_index,title,prediction_0,score_0,prediction_1,score_1,text,input_string,views\n"
    (tmp_path / "wide.csv").write_text(head + "7,1,0,Ada Fox,Fox,0.5,Bo,0.1,x,y,3\n")
    result = gr.masked.score(tmp_path / "wide.csv")
    assert result.readings == (
        "wide.csv: page = page_id, mask = mask_index, title = title, guesses = prediction_0 + prediction_1, "
        "scores = score_0 + score_1, text = text; further columns: id, views; ignored: input_string",
    )
    record = {"id": 7, "mask": 0, "sequence": 0, "title": "Ada Fox", "guess": "Fox", "rank": 1, "tags": ["a"]}
    tidy = write_lines(tmp_path / "tidy.jsonl", record, {**record, "guess": "Bo", "rank": 2, "note": "x"})
    assert gr.masked.score(tidy).readings == (
        "tidy.jsonl: page = id, mask = mask, sequence = sequence, title = title, guess = guess, rank = rank; "
        "ignored: tags, note",
    )


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_predictions_joined_with_examples_say_what_was_read_from_each(tmp_path, suffix):
    path = tmp_path / f"p{suffix}"
    record = {"page": "7", "sequence": 0, "mask": 0, "title": "Bo", "guesses": ["Fox"], "scores": [0.5], "views": 1}
    if suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist([record]), path)
    else:
        write_lines(path, record)
    roles = "page = page, sequence = sequence, mask = mask, "
    assert gr.masked.score(path).readings == (
        f"{path.name}: {roles}title = title, guesses = guesses, scores = scores; further columns: views",
    )
    examples = write_lines(tmp_path / "examples.jsonl", {**EXAMPLE, "input_string": "<mask> ran."})
    assert gr.masked.score(path, data=examples).readings == (
        f"{path.name}: {roles}guesses = guesses, scores = scores; ignored: title, views",
        "examples.jsonl: page = id, sequence = sequence_number, title = title, text = texts, masks = masks; "
        "further columns: views; ignored: input_string",
    )


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["page", "guesses", "predictions"], "several columns could be the guesses: 'guesses', 'predictions'"),
        (["page", "predictions", "prediction_0"], "could be the predictions: 'predictions', 'prediction_0'"),
        (["page", "guess", "prediction"], "several columns could be the guess: 'guess', 'prediction'"),
        (["page", "page_id", "guesses"], "several columns could be the page: 'page', 'page_id'"),
        (["id", "title", "page_title", "guesses"], "several columns could be the title: 'title', 'page_title'"),
    ],
)
def test_predictions_with_two_plausible_readings_are_refused(tmp_path, names, message):
    (tmp_path / "p.csv").write_text(",".join(names) + "\n" + ",".join("7" for _ in names) + "\n")
    with pytest.raises(InputError, match=f"{message}; rename or drop all but one of them"):
        gr.masked.score(tmp_path / "p.csv")


def test_commands_on_masks_say_once_how_each_table_was_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "pages.jsonl", {"id": 7, "title": "Ada Fox", "text": "Ada Fox ran.", "views": 3})
    (tmp_path / "aliases.csv").write_text("Title,Alias,source\nAda Fox,Foxy,x\n")
    pages = "goldrank: note: pages.jsonl: page = id, title = title, text = text; further columns: views."
    examples = (
        "goldrank: note: examples.jsonl: page = id, sequence = sequence_number, title = title, type = type, "
        "size = size, text = texts, masks = masks; further columns: views."
    )
    aliases = "goldrank: note: aliases.csv: title = Title, alias = Alias; ignored: source."
    predictions = "goldrank: note: p.csv: page = page, guess = guess"
    (tmp_path / "p.csv").write_text("page,guess,rank\n7,Fox,1\n")
    for command, expected in (
        (["make", "pages.jsonl", "-o", "examples.jsonl", "--aliases", "aliases.csv"], [pages, aliases]),
        (["check", "examples.jsonl", "--aliases", "aliases.csv"], [examples, aliases]),
        (["check", "examples.jsonl", "--remask", "strict"], [examples]),
        (["predict", "examples.jsonl", "-m", "names:majority", "--limit", "1", "--store", "s"], [examples]),
        (["score", "p.csv", "--data", "examples.jsonl", "--aliases", "aliases.csv"], [aliases, predictions, examples]),
    ):
        assert main(["masked", *command]) == 0
        lines = [line for line in capsys.readouterr().err.splitlines() if " = " in line]
        assert len(lines) == len(expected)
        assert all(line.startswith(start) for line, start in zip(lines, expected, strict=True)), lines
        assert main(["masked", *command, "--quiet"]) == 0
        assert " = " not in capsys.readouterr().err


def test_two_columns_of_names_in_a_table_of_aliases_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("title,alias,names\nAda Fox,Foxy,F\n")
    with pytest.raises(InputError, match="several columns could be the alias: 'alias', 'names'"):
        gr.masked.score([], aliases=tmp_path / "a.csv")


def test_a_table_of_scores_says_how_its_columns_were_read(tmp_path):
    rows = [
        {"Model": m, "Evaluator": e, "Value": i * f % 7, "seed": 1, "year": 9}
        for i, m in enumerate("abcdefg")
        for e, f in (("sts", 1), ("accuracy", 3))
    ]
    options = {"downstream": ["accuracy"], "bootstrap": gr.Bootstrap(resamples=200)}
    table = gr.meta(rows, where={"SEED": "1"}, **options).table
    assert (
        table.reading == "the table: model = Model, evaluator = Evaluator, value = Value, where = seed; ignored: year"
    )
    logs = [{**row, "task": row["Evaluator"], "metric": "x", "level": "word"} for row in rows]
    for log in logs:
        del log["Evaluator"]
    frame = pandas.DataFrame(logs)
    frame.to_csv(tmp_path / "logs.csv", index=False)
    assert gr.meta(tmp_path / "logs.csv", **options).to_dict()["reading"] == (
        "logs.csv: model = Model, value = Value, task = task, metric = metric, level = level; ignored: seed, year"
    )
    with pytest.raises(InputError, match="row 0: two columns are called 'value'; rename one"):
        gr.meta(frame.rename(columns={"year": "value"}), **options)
