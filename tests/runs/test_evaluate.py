"""Test `evaluate`: scores equal those of the exported rankings, for any number of threads, part size and model."""

from __future__ import annotations

import json

import numpy as np
import pytest

import goldrank
from goldrank.data.collections import Collection, Document, Documents
from goldrank.errors import InputError
from goldrank.hits import Gold
from goldrank.runs.evaluate import evaluate, prepare_model
from goldrank.tasks import RankingTask, Settings, find_task, task_of
from goldrank.vectors.cache import EmbeddingCache


def related(documents: dict[str, str], gold: dict[str, dict[str, float]]) -> RankingTask:
    items = Documents([Document.plain(id, text) for id, text in documents.items()], "test")
    return task_of(Collection("test", items, items, Gold(gold).columns))


def retrieval(documents: dict[str, str], queries: dict[str, str], gold: dict[str, dict[str, float]]) -> RankingTask:
    items, query_documents = (
        Documents([Document.plain(id, text) for id, text in texts.items()], "test") for texts in (documents, queries)
    )
    return task_of(Collection("test", items, query_documents, Gold(gold).columns))


class Scored:
    """A scorer of pairs with given scores, and 0 for all other pairs."""

    identity = "scores written down"

    def __init__(self, scores):
        self._scores = scores

    def score_pairs(self, queries, items):
        return np.array([self._scores.get((q, i), 0.0) for q, i in zip(queries, items, strict=True)])


@pytest.mark.oracle
@pytest.mark.parametrize("model", ["bm25", "tfidf", "wordllama", "fuse:rrf(bm25,wordllama)"])
@pytest.mark.parametrize(
    ("task", "folder"),
    [
        ("cranfield", "cran"),
        pytest.param("cisi", "cisi", marks=pytest.mark.slow),
        pytest.param("time", "time", marks=pytest.mark.slow),
    ],
)
def test_scores_of_the_classic_collections_are_those_of_pytrec_eval_on_the_exported_run(
    model, task, folder, shared_data, tmp_path
):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    result = evaluate(model, f"{task}:{shared_data / 'collections' / folder}")
    result.run.write(tmp_path / "exported.run", format="trec")
    result.gold.write(tmp_path / "qrels.txt", format="trec")
    run = goldrank.Run.read(tmp_path / "exported.run").to_dict()
    qrels = {
        query: {item: int(grade) for item, grade in row.items()}
        for query, row in goldrank.Gold.read(tmp_path / "qrels.txt").to_dict().items()
    }
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "map"}).evaluate(run)
    ours = result.score(["ndcg@10", "map"], profile="trec_eval9")
    for metric, name in (("ndcg@10", "ndcg_cut_10"), ("map", "map")):
        values = ours[metric].per_query
        assert set(values) == set(theirs)
        assert max(abs(values[query] - theirs[query][name]) for query in theirs) < 1e-12
        assert abs(ours[metric].mean - np.mean([row[name] for row in theirs.values()])) < 1e-12


@pytest.mark.parametrize("model", ["tfidf", "wordllama", "lsa:16", "fuse:combmnz(tfidf,wordllama)"])
@pytest.mark.parametrize("task", ["wines", pytest.param("questions", marks=pytest.mark.slow)])
def test_the_leaderboard_is_the_same_for_every_number_of_threads_and_size_of_parts(model, task, monkeypatch, tmp_path):
    rankings = []
    for threads, part, batch in ((1, 1 << 16, 1024), (2, 7, 3), (2, 1, 64)):
        monkeypatch.setattr("goldrank.index.exact.index.usable_cores", lambda threads=threads: threads)
        monkeypatch.setattr("goldrank.tasks.ranking.data._BATCH", part)
        defaults = EmbeddingCache.__init__.__kwdefaults__ | {"batch": batch}
        monkeypatch.setattr("goldrank.vectors.cache.EmbeddingCache.__init__.__kwdefaults__", defaults)
        monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path / f"{threads}-{part}"))
        result = evaluate(model, task)
        rankings.append((result.scores["ndcg@10"].values.tolist(), [list(result.run[q]) for q in result.run]))
    assert rankings[0] == rankings[1] == rankings[2]


def streamed(task: RankingTask) -> RankingTask:
    """Return the same task, with its items read again on each iteration."""
    whole = task.read(None)
    items = Documents(lambda: iter(whole.items), "stream")
    parts = Collection(whole.name, items, whole.queries, whole.gold)
    return RankingTask(task.name, task.kind, lambda split: parts, text=task.text, query_text=task.query_text)


@pytest.mark.parametrize("model", ["bm25", "wordllama"])
def test_streamed_items_give_the_same_rankings(model, monkeypatch):
    task = find_task("questions")
    monkeypatch.setattr("goldrank.tasks.ranking.data._BATCH", 13)
    assert evaluate(model, streamed(task)).run.to_dict() == evaluate(model, task).run.to_dict()


# A is a query whose first result is A itself. D and "B & C" tie. Z is no article, and the gold of A includes A.
HAND_SCORES = {
    ("a", "a"): 9.0, ("a", "e"): 8.0, ("a", "d"): 7.0, ("a", "b"): 7.0, ("a", "f"): 3.0, ("a", "g"): 1.0,
    ("d", "d"): 9.0, ("d", "e"): 8.0, ("d", "a"): 6.0, ("d", "b"): 5.0, ("d", "f"): 4.0, ("d", "g"): 1.0,
}  # fmt: skip
HAND_GOLD = {"A": {"A": 1, "B & C": 1, "Z": 1}, "D": {"E": 1, "F": 1}}


@pytest.fixture
def hand_made(tmp_path):
    """Write the example as Wikipedia articles: a CSV with escaped titles and a file of gold."""
    rows = ["Title,Sections"]
    for title, text in (("A", "a"), ("B &amp; C", "b"), ("D", "d"), ("E", "e"), ("F", "f"), ("G", "g")):
        rows.append(f"{title},\"[['', '{text}']]\"")
    (tmp_path / "wines.txt").write_text("\n".join(rows) + "\n")
    (tmp_path / "wines_gold.json").write_text(json.dumps(HAND_GOLD))
    task = find_task(str(tmp_path / "wines.txt"))
    return evaluate(Scored(HAND_SCORES), task, text=goldrank.tasks.TextRule(("text",)))


def test_sdr_conventions_on_an_example_worked_by_hand(hand_made):
    scores = hand_made.score(["mrr", "mpr", "recall@3"], profile="sdr")
    # After dropping the first result: A: E 0, D 1, "B & C" 2. D: E 0, A 1, "B & C" 2, F 3. Two queries, six articles.
    assert scores["mrr"].per_query == {"A": 1 / 2, "D": 1.0}
    assert scores["mpr"].mean == pytest.approx((2 / 5 + 0 / 5 + 3 / 5) / 3)
    # A has three gold items, of which only "B & C" can be retrieved; of D's two, F is at 3, which is not below 3.
    assert scores["recall@3"].per_query == {"A": 1 / 3, "D": 1 / 2}
    assert scores.counts.outside == 1


def test_tde_conventions_on_the_same_example(hand_made):
    scores = hand_made.score(["mrr", "mpr"], profile="tde")
    assert scores["mrr"].per_query == {"A": 1 / 2, "D": 1.0}
    assert scores["mpr"].mean == pytest.approx((2 + 0 + 3) / 3 / 1000)


def test_standard_conventions_on_the_same_example(hand_made):
    scores = hand_made.score(["mrr", "recall@3"])
    # The query is removed by id from ranking and gold; ranks start at 1; D is before "B & C" by id.
    assert scores["mrr"].per_query == {"A": 1 / 3, "D": 1.0}
    assert scores["recall@3"].per_query == {"A": 1 / 2, "D": 1 / 2}
    assert hand_made.score("mrr", ties="expected", self_matches="drop")["mrr"].per_query["A"] == (1 / 2 + 1 / 3) / 2


def test_the_query_is_left_out_by_its_id_even_where_another_article_is_its_twin():
    task = related({"a": "same text", "b": "same text", "c": "other words"}, {"a": {"b": 1}, "b": {"a": 1}})
    assert evaluate("tfidf", task).score("mrr")["mrr"].per_query == {"a": 1.0, "b": 1.0}


def test_a_transform_never_learns_from_the_queries_unless_asked_to(monkeypatch):
    counts = []
    fit = goldrank.vectors.transforms.Pipeline.fit
    monkeypatch.setattr(
        "goldrank.vectors.transforms.Pipeline.fit", lambda self, rows: (counts.append(len(rows)), fit(self, rows))[1]
    )
    evaluate("wordllama", "wines", transform="center|normalize")
    evaluate("wordllama", "wines", transform="center|normalize", fit_on="evaluated")
    evaluate("wordllama", "questions", transform="center|normalize")
    assert counts == [77, 100, 200]


def test_where_every_article_is_a_query_a_transform_asks_what_to_learn_from():
    task = related({"a": "one", "b": "two"}, {"a": {"b": 1}, "b": {"a": 1}})
    with pytest.raises(InputError, match="--fit-on"):
        evaluate("wordllama", task, transform="whiten:1")


def test_a_transform_can_be_fitted_on_a_file(tmp_path):
    (tmp_path / "train.txt").write_text("red wine\nwhite wine\na board game\n")
    result = evaluate("wordllama", "wines", transform="center", fit_on=str(tmp_path / "train.txt"))
    assert result.run.to_dict() != evaluate("wordllama", "wines").run.to_dict()


@pytest.mark.parametrize("scoring", ["max_sim", "sum_max_sim", "sdr"])
def test_sections_are_scored_one_by_one_as_the_definition_says(scoring):
    result = evaluate("wordllama", "wines", scoring=scoring)
    query = result.gold.queries[0]
    data = result.data
    encoder = goldrank.encoders.load("wordllama")
    by_id = {document.id: document for document in data.collection.items}

    def pieces(item):
        rule = data.text_rule
        sections = rule.sentences(by_id[item]) if scoring == "sdr" else [rule.passages(by_id[item])]
        return [encoder.encode_items(section).astype(float) for section in sections]

    def alike(a, b):
        best = (a @ b.T).max(axis=1)
        return best.sum() if scoring == "sum_max_sim" else best.mean()

    query_sections = pieces(query)
    for item, score in list(result.run[query].items())[::20]:
        item_sections = pieces(item)
        assert score == pytest.approx(
            np.mean([max(alike(a, b) for b in item_sections) for a in query_sections]), abs=1e-5
        )


def test_an_approximate_index_ranks_what_it_finds():
    exact, flat = (evaluate("wordllama", "questions", index=index) for index in ("exact", "faiss:Flat"))
    assert flat.scores["ndcg@10"].mean == pytest.approx(exact.scores["ndcg@10"].mean)


def test_a_depth_cuts_rankings_and_a_large_whole_ranking_is_counted_instead(monkeypatch):
    assert {len(ranking) for ranking in evaluate("tfidf", "questions", depth=5).run.to_dict().values()} == {5}
    whole = evaluate("wordllama", "wines")
    monkeypatch.setattr("goldrank.tasks.ranking.by_vectors.MOST_RESULTS", 1)
    counted = evaluate("wordllama", "wines")
    assert counted.ranked.hits is not None
    assert counted.scores["mpr(unfound=last)"].values.tolist() == whole.scores["mpr(unfound=last)"].values.tolist()


def test_a_limit_draws_the_same_queries_for_the_same_seed():
    first, same, other = (evaluate("bm25", "questions", limit=10, seed=seed) for seed in (1, 1, 2))
    assert first.gold.queries == same.gold.queries != other.gold.queries
    assert len(first.gold.queries) == 10


def test_a_collection_at_hand_is_a_task():
    assert evaluate("bm25", find_task("wines").read(None)).scores["mrr"].mean > 0.3


def test_naming_the_tasks_own_profile_changes_nothing():
    result = evaluate("bm25", "wines")
    assert result.score("mrr", profile="standard")["mrr"].mean == result.scores["mrr"].mean


def test_the_vectors_of_an_encoder_are_not_written_into():
    known = np.random.default_rng(0).standard_normal((200, 4)).astype(np.float32)

    class Known:
        identity, by = "known", "text"

        def encode_items(self, texts):
            return known[: len(texts)]

        encode_queries = encode_items

    before = known.copy()
    evaluate(Known(), "questions")
    assert (known == before).all()


def test_functions_and_objects_are_models_too():
    def lengths(texts):
        return np.array([[len(text), 1.0] for text in texts])

    assert evaluate(lengths, "questions").scores["ndcg@10"].mean >= 0
    assert evaluate(Scored({}), "questions").scores["ndcg@10"].mean < 0.2


def test_a_run_file_is_a_model(tmp_path):
    first = evaluate("bm25", "questions")
    first.run.write(tmp_path / "first.run", format="trec")
    again = evaluate(f"run:{tmp_path / 'first.run'}", "questions")
    assert again.scores["ndcg@10"].values.tolist() == first.scores["ndcg@10"].values.tolist()


def test_reranking_moves_only_the_top():
    first, second = evaluate("bm25", "questions"), evaluate("bm25", "questions", rerank="overlap", rerank_depth=5)
    for query in first.run:
        before, after = list(first.run[query]), list(second.run[query])
        assert set(before[:5]) == set(after[:5])
        assert before[5:] == after[5:]
    assert second.model.spec == "bm25 > overlap"


def test_precomputed_vectors_are_looked_up_by_id(tmp_path):
    task = find_task("questions")
    collection = task.read(None)
    encoder = goldrank.encoders.load("wordllama")
    ids, texts = zip(
        *((d.id, task.text.text(d)) for documents in (collection.items, collection.queries) for d in documents),
        strict=True,
    )
    np.savez(tmp_path / "vectors.npz", ids=np.array(ids), vectors=encoder.encode_items(texts))
    result = evaluate(f"vectors:{tmp_path / 'vectors.npz'}", "questions")
    assert result.scores["map"].mean == evaluate("wordllama", "questions").scores["map"].mean


def test_gold_queries_without_a_text_are_missing_and_counted():
    task = retrieval({"d1": "red wine", "d2": "board game"}, {"q1": "wine"}, {"q1": {"d1": 1}, "q2": {"d2": 1}})
    scores = evaluate("bm25", task).score("mrr")
    assert (scores.counts.queries, scores.counts.missing, scores["mrr"].mean) == (2, 1, 0.5)


def test_the_inputs_name_what_decides_the_result_and_nothing_else():
    def inputs(model="wordllama", task="wines", **options):
        settings = Settings(**options)
        return find_task(task).load(settings).inputs(prepare_model(model, settings))

    base = inputs()
    assert inputs(seed=5) == base
    assert inputs(depth="all") == base
    assert inputs(limit=23) == base
    for options in ({"similarity": "dot"}, {"transform": "center"}, {"scoring": "sdr"}, {"depth": 5}, {"limit": 3}):
        assert inputs(**options) != base
    assert inputs("bm25", similarity="dot") == inputs("bm25")
    assert inputs("wordllama(batch_size=3)")["model_identity"] == base["model_identity"]
    json.dumps(base)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"similarity": "cosin"}, "did you mean 'cosine'"),
        ({"scoring": "maxsim"}, "did you mean 'max_sim'"),
        ({"index": "hnsw"}, "faiss"),
        ({"index": "faiss:Flat", "scoring": "sdr"}, "exact"),
        ({"transform": "centre"}, "transform"),
        ({"depth": "deep"}, "depth"),
        ({"depth": 0}, "depth is 0"),
        ({"limit": -1}, "limit is -1"),
        ({"seed": -1}, "seed"),
        ({"similarty": "dot"}, "did you mean 'similarity'"),
        ({"limit": "x"}, "limit is 'x'"),
        ({"text": "title"}, "text is 'title'"),
        ({"fit_on": "no-such-file"}, "no-such-file"),
    ],
)
def test_settings_that_make_no_sense_are_refused_before_any_work(options, said):
    with pytest.raises(InputError, match=said):
        evaluate("wordllama", "wines", **options)


def test_gold_that_no_query_has_is_refused():
    with pytest.raises(InputError, match="same ids"):
        evaluate("bm25", retrieval({"d": "text"}, {"q": "text"}, {"other": {"d": 1}}))


def test_a_password_in_the_address_of_an_index_is_refused_and_not_shown():
    with pytest.raises(InputError, match="holds a password") as refused:
        Settings(index="pgvector:postgresql://ann:secret@localhost/db?table=t")
    assert "secret" not in str(refused.value)
    with pytest.raises(InputError, match="no kind of index 'pgvectr'; did you mean 'pgvector'") as refused:
        Settings(index="pgvectr:postgresql://ann:secret@localhost/db")
    assert "secret" not in str(refused.value)
    assert Settings(index="lancedb:folder/table").index == "lancedb:folder/table"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"similarity": "dot"}, "similarity has no effect on bm25 with wines: it compares vectors"),
        ({"oov": "mean"}, "oov has no effect on bm25 with wines: it is for models of word vectors"),
        ({"rerank_depth": 5}, "rerank_depth has no effect without rerank; name a scorer with rerank"),
    ],
)
def test_a_setting_without_effect_is_refused(options, sentence):
    with pytest.raises(InputError, match=sentence):
        evaluate("bm25", "wines", **options)
