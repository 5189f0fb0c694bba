"""Test that ranking documents by their best chunk equals reducing a ranking of all chunks, for every model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import goldrank as gr
from goldrank.data.chunking import Chunking
from goldrank.data.collections import Document, Documents
from goldrank.data.text_rule import TextRule
from goldrank.errors import InputError
from goldrank.fusion import Fusion
from goldrank.hits import Run
from goldrank.index.exact.index import exact_index
from goldrank.tasks.catalogue import find_task
from goldrank.tasks.ranking import chunks as chunk_ranking
from goldrank.tasks.ranking.chunks import Chunks
from goldrank.tasks.settings import Settings
from profiles import examples

CHUNKING = "words:12/4"
MODELS = ["bm25", "tfidf", "wordllama", "lsa:8", "random:16", "overlap"]
# "a" and "a b" sort in the opposite order to "a#…" and "a b#…".
NAMES = ["a", "a b", "a!", "b", "ab", "é"]


def reduced(run, data, depth):
    """Return the best documents of a ranking of all chunks, computed with plain dictionaries."""
    rankings = {}
    for query, ranking in run.items():
        best = {}
        for chunk, score in ranking.items():
            document = data.document_of(chunk)
            best[document] = max(best.get(document, -np.inf), score)
        rankings[query] = dict(sorted(best.items(), key=lambda entry: (entry[1], entry[0]), reverse=True)[:depth])
    return rankings


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("task", "depth"), [("wines", None), ("questions", 7)])
def test_every_model_ranks_documents_by_their_best_chunk(model, task, depth):
    settings = Settings(chunk=CHUNKING, limit=6, depth=depth)
    data = find_task(task).load(settings)
    chunked = data.in_chunks
    items = chunked.collection.items
    corpus = {chunk.id: {"title": chunk.title, "sections": chunk.sections} for chunk in items}
    queries = {document.id: data.query_rule.text(document) for document in data.query_documents}
    whole = {"corpus": corpus, "queries": queries, "qrels": {query: {next(iter(corpus)): 1} for query in queries}}
    every = gr.evaluate(model, whole, depth="all").run
    result = gr.evaluate(model, task, settings=settings)
    assert result.run.to_dict() == reduced(every, chunked, depth or len(data))
    assert len(result.run.columns.chunks) == len(result.run.columns.items)
    assert all(
        chunked.document_of(chunk) == item
        for chunk, item in zip(result.run.columns.chunks, result.run.columns.items, strict=True)
    )


@given(st.data())
@examples(2)
def test_the_best_documents_are_exact_whatever_is_tied(data):
    names = data.draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    sizes = data.draw(st.lists(st.integers(0, 5), min_size=len(names), max_size=len(names)))
    documents = [Document.plain(name, " ".join(["word"] * size)) for name, size in zip(names, sizes, strict=True)]
    chunks = Chunks.of(Documents(documents, "documents"), Chunking.parse("words:1"))
    numbers = st.integers(0, 2).map(float)
    vectors = np.array(data.draw(st.lists(st.tuples(numbers), min_size=len(chunks), max_size=len(chunks))))
    depth = data.draw(st.integers(1, len(names) + 1))
    index = exact_index(vectors, chunks.items.ids, "dot")
    queries = np.array([[1.0], [-1.0]])
    run = chunks.best_of_parts(lambda part, k: index.top_k(queries[part], k, query_ids=["p", "q"][part]), 2, depth)

    class Data:
        document_of = staticmethod(chunks.document)

    every = index.top_k(queries, len(chunks), query_ids=["p", "q"])
    assert run.to_dict() == reduced(every, Data, depth)


def test_the_result_does_not_depend_on_how_many_queries_are_searched_at_once(monkeypatch):
    whole = gr.evaluate("wordllama", "wines", chunk=CHUNKING)
    monkeypatch.setattr(chunk_ranking, "_HELD_AT_ONCE", 1)
    again = gr.evaluate("wordllama", "wines", chunk=CHUNKING)
    assert again.run.to_dict() == whole.run.to_dict()
    assert again.run.columns.chunks == whole.run.columns.chunks


def test_one_chunk_for_each_document_changes_no_score():
    for model in ("bm25", "tfidf", "wordllama"):
        plain, chunked = (gr.evaluate(model, "questions", chunk=chunk) for chunk in ("none", "words:100000"))
        assert chunked.scores["ndcg@10"].value == plain.scores["ndcg@10"].value


def test_a_streamed_corpus_gives_the_same_result():
    documents = list(gr.load_data("wines").items)
    held, streamed = Documents(documents, "x"), Documents(lambda: iter(documents), "x")
    held_chunks, streamed_chunks = (Chunks.of(corpus, Chunking.parse(CHUNKING)) for corpus in (held, streamed))
    assert streamed_chunks.items.streamed
    assert list(held_chunks.items) == list(streamed_chunks.items)
    assert held_chunks.row == streamed_chunks.row


def test_a_fusion_fuses_rankings_of_documents():
    parts = [gr.evaluate(model, "wines", chunk=CHUNKING).run for model in ("bm25", "wordllama")]
    fused = gr.evaluate("fuse:rrf(bm25,wordllama)", "wines", chunk=CHUNKING).run
    assert fused.to_dict() == Fusion.parse("fuse:rrf(bm25,wordllama)").fuse(parts).to_dict()
    assert all(fused.columns.chunks)


def test_a_reranker_scores_a_document_by_its_best_chunk():
    result = gr.evaluate("bm25", "questions", chunk=CHUNKING, rerank="overlap", rerank_depth=3, limit=5)
    chunked = result.data.in_chunks
    scorer = gr.evaluate("overlap", "questions", chunk=CHUNKING, limit=5, depth="all").run
    first = gr.evaluate("bm25", "questions", chunk=CHUNKING, limit=5).run
    for query, ranking in first.items():
        top = sorted(ranking, key=lambda item: (ranking[item], item), reverse=True)[:3]
        assert {item: result.run[query][item] for item in top} == {item: scorer[query].get(item, 0.0) for item in top}
    named = [chunk for chunk in result.run.columns.chunks if chunk]
    assert all(chunk in chunked.chunks.row for chunk in named)


def test_chunks_of_evaluated_articles_are_not_fitted_on():
    whole = find_task("wines").load(Settings(chunk=CHUNKING))
    evaluated = set(whole.collection.gold.queries)
    chunk_ids = [item for item in whole.in_chunks.item_ids if whole.in_chunks.document_of(item) not in evaluated]
    texts = whole.in_chunks.texts_of(chunk_ids)
    fitted = []

    def encode(batch):
        fitted.append(batch)
        return np.array([[len(text), text.count("e"), text.count("a")] for text in batch], float)

    result = gr.evaluate(encode, "wines", chunk=CHUNKING, transform="center", similarity="dot")
    mean = np.array([[len(text), text.count("e"), text.count("a")] for text in texts], float).mean(axis=0)
    query = result.data.query_texts[0]
    vector = np.array([len(query), query.count("e"), query.count("a")]) - mean
    chunk = result.run.columns.chunks[0]
    text = whole.in_chunks.texts_of([chunk])[0]
    item = np.array([len(text), text.count("e"), text.count("a")]) - mean
    assert result.run.columns.values[0] == pytest.approx(vector @ item, rel=1e-4)


def test_an_approximate_index_is_searched_for_chunks_and_says_so():
    result = gr.evaluate("wordllama", "wines", chunk=CHUNKING, index="faiss:Flat")
    exact = gr.evaluate("wordllama", "wines", chunk=CHUNKING)
    assert result.scores["mrr"].value == pytest.approx(exact.scores["mrr"].value)
    assert "ranked by the best of the" in result.remarks[-1]


def test_a_system_with_its_own_documents_is_not_cut(tmp_path):
    path = tmp_path / "wines.run"
    run = gr.evaluate("bm25", "wines").run
    path.write_text("".join(f"{q} Q0 {i} 1 {s} x\n" for q, ranking in run.items() for i, s in ranking.items()))
    with pytest.raises(InputError, match="chunk has no effect on run:"):
        gr.evaluate(f"run:{path}", "wines", chunk=CHUNKING)
    board = gr.run(["bm25", f"run:{path}"], "wines", store=tmp_path / "store", chunk=CHUNKING)[0]
    stored = {outcome.model: outcome for outcome in board.outcomes}
    assert "chunk" not in stored[f"run:{path}"].stored.inputs
    assert stored[f"run:{path}"].remarks == ["it ranks documents of its own, which are not cut into chunks"]
    assert stored["bm25"].stored.inputs["chunk"] == CHUNKING


def test_a_run_with_chunks_is_another_run_and_keeps_their_places(tmp_path):
    boards = [gr.run("bm25", "wines", store=tmp_path, **chunk) for chunk in ({}, {"chunk": "words:12/04"})]
    whole, chunked = (board.runs[0] for board in boards)
    assert whole.key != chunked.key
    assert "chunk" not in whole.inputs
    query = chunked.run().queries[0]
    columns, end = chunked.run().columns, int(chunked.run().columns.starts[1])
    assert chunked.chunks(query) == dict(zip(columns.items[:end], columns.chunks[:end], strict=True))
    assert whole.chunks(query) == {}
    assert "Items are ranked by their best chunk; words:12/4 cuts them into" in str(boards[1][0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scoring": "max_sim"}, "cannot be combined with --scoring max_sim"),
        ({"oov": "miss"}, "cannot be combined with --oov miss"),
        ({"text": TextRule(words=5)}, "cannot be combined with --words and --sections"),
    ],
)
def test_settings_that_cut_texts_otherwise_are_refused(settings, message, tmp_path):
    (tmp_path / "words.txt").write_text("wine 1 0\nred 0 1\n")
    with pytest.raises(InputError, match=message):
        gr.evaluate(f"words:{tmp_path / 'words.txt'}", "wines", chunk=CHUNKING, **settings)


def test_rankings_that_are_too_large_to_keep_are_refused(monkeypatch):
    monkeypatch.setattr(chunk_ranking, "MOST_RESULTS", 50)
    with pytest.raises(InputError, match="give --depth 2 or less"):
        gr.evaluate("bm25", "wines", chunk=CHUNKING)


def test_tasks_that_rank_no_texts_refuse_chunks():
    with pytest.raises(InputError, match="chunk has no effect on wordllama with sentence-pairs"):
        gr.evaluate("wordllama", "sentence-pairs", chunk=CHUNKING)


def test_best_keeps_the_first_of_equal_chunks():
    documents = Documents([Document.plain("a", "one two"), Document.plain("b", "three")], "x")
    chunks = Chunks.of(documents, Chunking.parse("words:1"))
    run = chunks.best(Run({"q": {"a#w2-2": 1.0, "a#w1-1": 1.0, "b#w1-1": 1.0}}), 5)
    assert run.to_dict() == {"q": {"b": 1.0, "a": 1.0}}
    assert run.columns.chunks == ["b#w1-1", "a#w1-1"]
