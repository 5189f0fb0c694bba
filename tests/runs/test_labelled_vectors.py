"""Test evaluating vectors with labels or with qrels by row numbers: leaderboard and report."""

import re

import numpy as np
import pytest

import goldrank as gr
from command_runs import next_command, run
from goldrank.cli.main import main

CLASSES = ("red", "white", "rose", "port")


@pytest.fixture
def embeddings(tmp_path, monkeypatch):
    """A folder with emb.npy, other.npy, labels.csv, queries.npy and qrels.txt."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GOLDRANK_STORE", str(tmp_path / "store"))
    random = np.random.default_rng(0)
    centres, rows = random.normal(size=(4, 8)), random.integers(0, 4, 40)
    for name, noise in (("emb", 0.5), ("other", 2.0)):
        np.save(f"{name}.npy", (centres[rows] + noise * random.normal(size=(40, 8))).astype(np.float32))
    np.save("queries.npy", centres.astype(np.float32))
    (tmp_path / "labels.csv").write_text("label\n" + "".join(f"{CLASSES[row]}\n" for row in rows))
    qrels = [f"{query} 0 {item} 1\n" for query in range(4) for item in range(40) if rows[item] == query]
    (tmp_path / "qrels.txt").write_text("".join(qrels))
    return tmp_path


@pytest.mark.slow
def test_vectors_and_labels_give_a_leaderboard_and_a_report_in_two_commands(embeddings, capsys):
    code, printed, err = run(capsys, "run", "-m", "vectors:emb.npy", "vectors:other.npy", "-t", "labels.csv")
    assert code == 0, err
    assert printed.index("vectors:emb.npy") < printed.index("vectors:other.npy")
    assert "Data: 40 items of 4 classes: same class = relevant." in printed
    assert "40 self-matches dropped" in printed
    for command in (next_command(err), ["report", "--task", "labels", "-o", "by-task.html"]):
        code, out, err = run(capsys, *command)
        assert code == 0, err
        page = (embeddings / out.strip()).read_text()
        assert all(model in page for model in ("vectors:emb.npy", "vectors:other.npy"))


def test_the_scores_are_those_of_a_nearest_neighbour_search_without_the_item_itself(embeddings):
    vectors = np.load("emb.npy").astype(np.float64)
    labels = (embeddings / "labels.csv").read_text().split()[1:]
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    similar = units @ units.T
    np.fill_diagonal(similar, -np.inf)
    nearest = similar.argmax(axis=1)
    expected = np.mean([labels[row] == labels[near] for row, near in enumerate(nearest)])
    result = gr.evaluate(np.load("emb.npy"), labels, metrics=["precision@1"])
    assert result.scores["precision@1"].value == pytest.approx(expected)
    from_files = gr.evaluate("vectors:emb.npy", "labels.csv", metrics=["precision@1"])
    assert from_files.scores["precision@1"].value == result.scores["precision@1"].value


def test_matrices_of_queries_and_items_are_evaluated_on_qrels_by_row_numbers(embeddings, capsys):
    spec = "vectors:emb.npy(queries=queries.npy)"
    assert main(["run", "-m", spec, "-t", "qrels.txt", "--metric", "map"]) == 0
    assert "40 items, all rows of the vectors" in capsys.readouterr().out
    items, queries, gold = np.load("emb.npy"), np.load("queries.npy"), gr.Gold.read("qrels.txt")
    hits = gr.exact_hits(queries, items, gold, similarity="cosine")
    expected = gr.score_hits(hits, ["map"])["map"].value
    assert gr.evaluate(spec, "qrels.txt", metrics=["map"]).scores["map"].value == pytest.approx(expected)
    in_memory = gr.evaluate({"items": items, "queries": queries}, gold, metrics=["map"])
    assert in_memory.scores["map"].value == pytest.approx(expected)


def test_gold_without_a_vector_is_warned_of(embeddings, capsys):
    assert main(["run", "-m", "vectors:queries.npy", "-t", "qrels.txt"]) == 0
    assert re.search(r"\d+ of 40 gold pairs name an item that has no vector, such as '\d+'", capsys.readouterr().out)


def test_a_query_that_is_a_row_of_the_items_is_left_out_of_its_own_ranking(embeddings):
    result = gr.evaluate("vectors:emb.npy", "qrels.txt", metrics=["map"])
    assert all(query not in ranking for query, ranking in result.run.items())
    assert len(result.run["0"]) == 39
    assert result.remarks[-1] == "queries are rows of the same vectors, and each is left out of its own ranking"


def test_gold_that_names_the_query_itself_is_warned_of(embeddings, capsys):
    (embeddings / "own.txt").write_text("".join(f"{row} 0 {row} 1\n" for row in range(5)) + "5 0 6 1\n")
    code, out, _ = run(capsys, "run", "-m", "vectors:emb.npy", "-t", "own.txt")
    assert code == 0
    text = " ".join(out.split())
    assert "5 of 6 gold pairs name the query itself, which is left out of its ranking" in text
    assert "write vectors:ITEMS(queries=FILE)" in text
    code, out, _ = run(capsys, "run", "-m", "vectors:emb.npy(queries=emb.npy)", "-t", "own.txt")
    assert code == 0
    assert "the query itself" not in out


def test_fusions_of_vectors_need_no_texts_either(embeddings):
    fused = gr.evaluate("fuse:rrf(vectors:emb.npy,vectors:other.npy)", "labels.csv", metrics=["map"])
    assert 0.3 < fused.scores["map"].value <= 1


def test_ids_of_the_rows_come_from_a_table_if_it_is_named(embeddings, capsys):
    labels = (embeddings / "labels.csv").read_text().split()[1:]
    (embeddings / "named.csv").write_text("id,label\n" + "".join(f"w{n},{name}\n" for n, name in enumerate(labels)))
    assert main(["run", "-m", "vectors:emb.npy", "-t", "named.csv"]) == 2
    error = capsys.readouterr().err
    assert "there is no vector for the id 'w0': the vectors have no ids, so that their 40 rows are numbered" in error
    assert "-m 'vectors:emb.npy(ids=named.csv)' if the rows are in the order of that table" in error
    named = gr.evaluate("vectors:emb.npy(ids=named.csv)", "named.csv", metrics=["map"])
    assert (
        named.scores["map"].value == gr.evaluate("vectors:emb.npy", "labels.csv", metrics=["map"]).scores["map"].value
    )


def test_what_does_not_fit_is_refused_before_any_work(embeddings, capsys):
    np.save("narrow.npy", np.ones((4, 5), np.float32))
    np.save("flat.npy", np.ones(5, np.float32))
    np.save("objects.npy", np.array([[1, 2], [3]], dtype=object), allow_pickle=True)
    damaged = np.load("emb.npy")
    damaged[7, 2] = np.nan
    np.save("nan.npy", damaged)
    (embeddings / "short.csv").write_text("label\na\nb\na\nb\n")
    for arguments, message in {
        ("vectors:emb.npy", "short.csv"): "emb.npy holds 40 vectors, and short.csv holds 4 labels",
        ("vectors:nan.npy", "labels.csv"): "nan.npy: the vector of row 7 (counted from 0) is not finite",
        ("vectors:objects.npy", "labels.csv"): "the array holds Python objects, which are a pickle and never loaded",
        ("vectors:flat.npy", "labels.csv"): "the array has the shape (5,), and vectors are a matrix",
        ("vectors:emb.npy(queries=narrow.npy)", "qrels.txt"): "the queries have 5 dimensions and the items 8",
        ("bm25", "labels.csv"): "bm25 needs the texts of queries and items, and there are class labels only",
        ("vectors:emb.npy(ids=gone.txt)", "labels.csv"): "gone.txt: there is no such file of ids",
    }.items():
        assert main(["run", "-m", arguments[0], "-t", arguments[1]]) == 2, arguments
        assert message in capsys.readouterr().err
    with pytest.raises(gr.InputError, match="array holds 40 vectors, and the list holds 4 labels"):
        gr.evaluate(np.load("emb.npy"), ["a", "b", "a", "b"])
