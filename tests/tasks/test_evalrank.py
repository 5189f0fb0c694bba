"""Test the EvalRank tasks: ranks of positives, ties, unknown words and uninformative vectors."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.data.collections import read_collection
from goldrank.data.collections.evalrank import PositivePair, collection_of
from goldrank.encoders import load
from goldrank.errors import InputError
from goldrank.runs.evaluate import evaluate, prepare_model
from goldrank.runs.run import Measures, run
from goldrank.scoring import score_hits
from goldrank.store import Store
from goldrank.store.tables import dump_hits, load_hits
from goldrank.tasks import Settings, task_of
from goldrank.tasks.evalrank import EVALRANK_TASKS
from goldrank.tasks.ranking.data import RankingData
from goldrank.vectors.similarity import normalised

BACKGROUND = [f"w{number}" for number in range(40)]


def task(pairs, background=BACKGROUND):
    return task_of(collection_of([PositivePair(*pair) for pair in pairs], background, "test", "test", []))


class Table:
    """Encoder that looks up one vector per word; words without a vector are out of vocabulary."""

    identity, by = "written down", "text"

    def __init__(self, vectors, dimension=3):
        self._vectors, self._dimension = vectors, dimension

    def encode_items(self, texts):
        zero = np.zeros(self._dimension)
        return np.array([self._vectors.get(text, zero) for text in texts], np.float32)

    encode_queries = encode_items

    def covers(self, texts):
        return np.array([text in self._vectors for text in texts])


def random_table(words, seed=0, dimension=3):
    rng = np.random.default_rng(seed)
    return {word: rng.standard_normal(dimension) for word in words}


PAIRS = [("w1", "w2"), ("w2", "w1"), ("w1", "w3"), ("w4", "w5")]


def test_all_equal_vectors_score_at_chance():
    result = evaluate(Table(dict.fromkeys(BACKGROUND, np.ones(3))), task(PAIRS))
    harmonic = np.mean(1 / np.arange(1, 40))
    assert result.scores["mrr(of=all)"].mean == pytest.approx(harmonic)
    assert result.scores["hits@1"].mean == pytest.approx(1 / 39)
    assert result.scores["mean_rank(unfound=last)"].mean == pytest.approx(20)


@pytest.mark.parametrize("vectors", [{}, {"w9": np.ones(3)}, {"w1": np.ones(3), "w4": np.ones(3)}])
def test_vectors_of_none_of_the_positives_score_nothing(vectors):
    result = evaluate(Table(vectors), task(PAIRS))
    assert result.scores["mrr(of=all)"].mean == result.scores["hits@15"].mean == 0
    assert result.scores["mean_rank(unfound=last)"].mean == 39
    assert "out of vocabulary: 4 of 4 pairs" in result.remarks[0]
    with pytest.raises(InputError, match="does not know a single pair"):
        evaluate(Table(vectors), task(PAIRS), oov="skip")


def test_a_pair_out_of_vocabulary_is_a_miss_or_left_out_and_never_a_hit():
    vectors = random_table([word for word in BACKGROUND if word not in ("w3", "w4")])
    vectors["w2"] = vectors["w1"]
    missed, skipped, mean = (evaluate(Table(vectors), task(PAIRS), oov=oov) for oov in ("miss", "skip", "mean"))
    assert missed.scores["hits@1"].per_query == {"w1": 0.5, "w2": 1.0, "w4": 0.0}
    assert missed.scores["hits@1"].mean == 2 / 4
    assert skipped.scores["hits@1"].mean == 1.0
    assert missed.scores.counts.missing == 1
    assert mean.ranked.hits.found.all()
    assert "2 of 4 pairs and 2 of 40 items" in mean.remarks[0]


def test_unknown_background_stands_behind_everything_known():
    known = {f"w{number}": np.array([1.0, number, 0.0]) for number in range(1, 6)}
    result = evaluate(Table(known), task(PAIRS), similarity="dot")
    # For w1 the ranking is 5, 4, 3, 2 and then all 35 unknown words; zero vectors would not guarantee this.
    assert result.ranked.hits.above.tolist() == [3, 2, 3, 0]
    assert result.ranked.hits.tied.tolist() == [0, 0, 0, 0]
    assert result.ranked.hits.corpus == 40


@given(st.integers(0, 2**32 - 1), st.sampled_from(["cosine", "dot", "l2"]), st.booleans())
def test_ranks_with_and_without_the_query_are_those_of_sorting(seed, similarity, duplicates):
    rng = np.random.default_rng(seed)
    words = BACKGROUND[:12]
    vectors = {word: rng.integers(-2, 3, 3).astype(float) for word in words}
    if duplicates:
        vectors["w3"] = vectors["w0"]
    pairs = {(words[a], words[b]) for a, b in rng.integers(0, 12, (6, 2)).tolist()}
    result = evaluate(Table(vectors), task(sorted(pairs), words), similarity=similarity)

    matrix = np.array([vectors[word] for word in words], np.float32)
    matrix = normalised(matrix) if similarity == "cosine" else matrix
    numbers = {word: list(map(Fraction, row.tolist())) for word, row in zip(words, matrix, strict=True)}

    def score(first, second):
        both = list(zip(numbers[first], numbers[second], strict=True))
        return -sum((a - b) ** 2 for a, b in both) if similarity == "l2" else sum(a * b for a, b in both)

    for profile, options in (("standard", {"self_matches": "aside", "ties": "optimistic"}), ("evalrank", {})):
        mrr = result.score(["mrr(of=all)"], profile=profile, **options)["mrr(of=all)"]
        ranks = []
        for query, positive in pairs:
            rivals = [word for word in words if word != positive and (profile == "evalrank" or word != query)]
            above = sum(score(query, word) > score(query, positive) for word in rivals)
            ranks.append(max(1, above) if profile == "evalrank" else above + 1)
        assert mrr.mean == pytest.approx(np.mean(1 / np.array(ranks)))


def test_a_positive_is_never_ranked_below_itself():
    rng = np.random.default_rng(3)
    words = [f"w{number}" for number in range(300)]
    vectors = {word: rng.standard_normal(50) for word in words}
    # Each positive is the nearest neighbour of its query, so no item may rank above it, whichever kernel is used.
    matrix = np.array([vectors[word] for word in words], np.float32)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    products = matrix @ matrix.T - 2 * np.eye(300)
    pairs = [(word, words[row.argmax()]) for word, row in zip(words, products, strict=True)]
    result = evaluate(Table(vectors, 50), task(pairs, words))
    assert result.score("hits@1", ties="pessimistic")["hits@1"].mean == 1.0


def test_a_pair_of_a_text_with_itself_is_ranked_and_a_duplicate_vector_ties():
    vectors = random_table(BACKGROUND)
    vectors["w7"] = vectors["w6"]
    result = evaluate(Table(vectors), task([("w6", "w6"), ("w1", "w1"), ("w6", "w7")]))
    assert result.scores["hits@1"].per_query == {"w6": 0.75, "w1": 1.0}
    assert result.score("hits@1", profile="evalrank")["hits@1"].mean == 1.0
    assert result.score("hits@1", self_matches="drop")["hits@1"].mean == 1.0


def test_the_interval_keeps_the_pairs_of_a_query_together():
    rng = np.random.default_rng(0)
    vectors = random_table(BACKGROUND)
    many = [("w0", word) for word in BACKGROUND[1:21]] + [(f"w{n}", f"w{n + 1}") for n in range(20, 39)]
    result = evaluate(Table(vectors), task(many))
    values, weights = result.scores["hits@10"].values, result.scores["hits@10"].weights
    samples = rng.integers(0, len(values), (4000, len(values)))
    means = (values[samples] * weights[samples]).sum(axis=1) / weights[samples].sum(axis=1)
    interval = result.score("hits@10").intervals[0]
    assert interval.low == pytest.approx(np.quantile(means, 0.025), abs=0.06)
    assert interval.high == pytest.approx(np.quantile(means, 0.975), abs=0.06)


def test_other_positives_are_rivals_or_filtered():
    vectors = {"w0": [1, 0, 0], "w1": [1, 0.1, 0], "w2": [1, 0.2, 0], "w3": [0, 1, 0]}
    table = Table({word: np.array(vector, float) for word, vector in vectors.items()})
    result = evaluate(table, task([("w0", "w1"), ("w0", "w2")], list(vectors)))
    assert result.scores["mrr(of=all)"].mean == 0.75
    assert result.score("mrr(of=all)", positives="filtered")["mrr(of=all)"].mean == 1.0


def test_searchers_rank_the_same_pairs(tmp_path):
    sentences = ["a red wine", "a wine that is red", "play chess", "a game of chess", "rain falls"]
    pairs = [(sentences[0], sentences[1]), (sentences[2], sentences[3]), (sentences[4], sentences[4])]
    lexical, dense = (evaluate(model, task(pairs, sentences)) for model in ("bm25", "tfidf"))
    assert lexical.scores["hits@1"].mean == dense.scores["hits@1"].mean == 1.0
    assert dense.score("hits@1", profile="evalrank")["hits@1"].mean == 1.0


def test_the_rankings_are_there_for_those_who_look():
    result = evaluate(Table(random_table(BACKGROUND)), task(PAIRS), depth=5)
    assert {len(ranking) for ranking in result.run.to_dict().values()} == {5}
    assert next(iter(result.run["w1"])) == "w1"


def test_a_hundred_items_of_each_ranking_are_stored_unless_a_depth_is_given(tmp_path):
    words = [f"w{number}" for number in range(150)]
    # Equal vectors produce a tie that spans rank 100.
    vectors = random_table(words) | dict.fromkeys(words[60:110], np.ones(3))
    stored = [
        run(Table(vectors), task(PAIRS, words), tmp_path, metrics=["mrr"], limit=None, **depth).runs[0]
        for depth in ({}, {"depth": 120}, {"depth": 1000})
    ]
    assert [np.diff(record.run().columns.starts).tolist() for record in stored] == [[100] * 3, [120] * 3, [150] * 3]
    assert len({record.key for record in stored}) == 3
    whole = stored[2].run()
    assert all(record.run() == whole.head(k) for record, k in zip(stored, (100, 120, 150), strict=True))
    assert len({dump_hits(record.hits()) for record in stored}) == 1


def test_what_becomes_of_unknown_words_is_part_of_what_names_a_result():
    ranking_task = task(PAIRS)
    names = {}
    for oov in (None, "miss", "skip", "mean", "keep"):
        settings = Settings(oov=oov)
        names[oov] = RankingData.load(ranking_task, settings).inputs(prepare_model(Table({}), settings)).get("oov")
    assert names == {None: "miss", "miss": "miss", "skip": "skip", "mean": "mean", "keep": "keep"}
    assert "oov" not in RankingData.load(ranking_task, Settings()).inputs(prepare_model("bm25", Settings()))
    with pytest.raises(InputError, match="there is no treatment of unknown words 'mis'; did you mean 'miss'"):
        Settings(oov="mis")


def test_words_of_a_file_know_what_they_cover(tmp_path):
    file = tmp_path / "vectors.txt"
    file.write_text("".join(f"w{n} {np.sin(n)} {np.cos(n)}\n" for n in range(1, 4)))
    result = evaluate(f"words:{file}", task(PAIRS))
    assert load(f"words:{file}").covers(["w1", "w9"]).tolist() == [True, False]
    assert result.hits.found.tolist() == [True, True, True, False]


def test_the_named_tasks_hold_what_they_say(shared_data):
    folders = {"evalrank-word": "word_evalrank", "evalrank-sentence": "sent_evalrank"}
    for evalrank_task in EVALRANK_TASKS:
        collection = read_collection(shared_data / "evalrank" / folders[evalrank_task.name])
        counts = len(collection.items), len(collection.gold.queries), len(collection.gold.items)
        assert (
            "{:,} {}, {:,} queries, {:,} pairs".format(
                counts[0], evalrank_task.name.partition("-")[2] + "s", *counts[1:]
            )
            == evalrank_task.about.counts
        )


def test_a_stored_result_is_scored_under_every_profile_from_its_hits_alone():
    vectors = random_table(BACKGROUND)
    vectors["w7"] = vectors["w6"]
    result = evaluate(Table(vectors), task([*PAIRS, ("w6", "w7"), ("w6", "w6")]))
    loaded = load_hits(dump_hits(result.ranked.hits), "a table")
    for profile, options in (
        ("standard", {"self_matches": "aside", "ties": "expected"}),
        ("evalrank", {}),
        ("sdr", {}),
    ):
        names = ["mrr(of=all)", "hits@1", "mpr(over=list,unfound=skip)"]
        again, direct = (score_hits(hits, names, profile=profile, **options) for hits in (loaded, result.ranked.hits))
        assert [again[name].value for name in names] == [direct[name].value for name in names]


def test_the_command_line_way_stores_once_and_scores_under_both_profiles(tmp_path):
    store = Store.open(str(tmp_path / "store"))
    ranking_task, table = task([*PAIRS, ("w6", "w6")]), Table(random_table(BACKGROUND))
    direct = evaluate(table, ranking_task)
    for measures in (Measures(), Measures(profile="evalrank")):
        (board,) = run([table], [ranking_task], store, **vars(measures))
        (scores,) = board.scores.values()
        expected = direct.score(profile=measures.profile)
        assert {name: scores[name].value for name in scores} == {name: expected[name].value for name in expected}
