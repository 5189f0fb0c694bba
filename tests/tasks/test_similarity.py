"""Test the similarity tasks: correlations against scipy, subsets, unknown words, comparisons and data locations."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from goldrank.data.scored_pairs import PairSets, ScoredPairs
from goldrank.data.similarity_sets import SENTENCE_SETS, WORD_SETS
from goldrank.encoders import load
from goldrank.errors import InputError
from goldrank.stats import compare_correlations
from goldrank.tasks.measurement import Measurement
from goldrank.tasks.settings import Settings
from goldrank.tasks.similarity import KINDS, SIMILARITY_TASKS, _correlated, _mean, compare, measure

TASKS = {task.name: task for task in SIMILARITY_TASKS}
SCIPY = {"spearman": stats.spearmanr, "pearson": stats.pearsonr, "kendall": stats.kendalltau}


class Planted:
    """Encoder that gives each text a known angle, so that every cosine is known."""

    def __init__(self, angles):
        self.angles, self.seen = angles, []

    @property
    def identity(self):
        return f"{type(self).__name__} {sorted(self.angles.items())}"

    def encode_items(self, texts):
        self.seen += texts
        return np.array([[np.cos(self.angles[text]), np.sin(self.angles[text])] for text in texts], np.float32)

    encode_queries = encode_items


class Patchy(Planted):
    """Encoder that knows only the texts with an angle; any other text gets a zero vector."""

    def encode_items(self, texts):
        rows = super().encode_items([text if text in self.angles else "" for text in texts])
        rows[~self.covers(texts)] = 0
        return rows

    encode_queries = encode_items

    def covers(self, texts):
        return np.array([text in self.angles and text != "" for text in texts])


def planted(count=40, noise=0.4, seed=0, kind=Planted, name="set", subset=(), level="sentence", scale=1.0):
    """Return pairs whose scores decrease with the angle between their texts, and the model with those angles."""
    random = np.random.default_rng(seed)
    between = random.uniform(0, 1.5, count)
    scores = -between + noise * random.standard_normal(count)
    first, second = (tuple(f"{name} {side} {row}" for row in range(count)) for side in "ab")
    angles = dict.fromkeys(first, 0.0) | {
        text: float(scale * angle) for text, angle in zip(second, between, strict=True)
    }
    ids = tuple(map(str, range(count)))
    pairs = ScoredPairs(name, ids, first, second, scores, tuple(subset), level)
    return pairs, kind({"": 0.0, **angles} if kind is Patchy else angles)


def test_figures_are_those_of_scipy_and_their_intervals_hold_them():
    pairs, model = planted()
    result = measure(model, pairs, Settings())
    predicted = np.array(result.predictions["predicted"])
    np.testing.assert_allclose(predicted, [np.cos(model.angles[text]) for text in pairs.second], atol=1e-6)
    assert list(result.scores) == list(KINDS)
    for kind, figure in result.scores.items():
        assert figure.value == pytest.approx(SCIPY[kind](pairs.scores, predicted)[0], abs=1e-12)
        assert figure.count == 40
        assert -1 < figure.low < figure.value < figure.high < 1
    assert result.predictions["gold"] == pairs.scores.tolist()
    assert result.remarks == ()


@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
def test_every_similarity_is_higher_for_what_is_more_alike(similarity):
    pairs, model = planted(noise=0.0)
    figure = measure(model, pairs, Settings(similarity=similarity)).scores["spearman"]
    assert figure.value == pytest.approx(1.0, abs=1e-3)


def test_bootstrap_intervals_are_there_by_choice_and_near_fishers():
    pairs, model = planted(count=60)
    fisher, bootstrap = (
        measure(model, pairs, Settings(), interval=method).scores for method in ("fisher", "bootstrap")
    )
    for kind in KINDS:
        assert bootstrap[kind].value == fisher[kind].value
        assert bootstrap[kind].method in ("bca", "percentile")
        assert bootstrap[kind].low == pytest.approx(fisher[kind].low, abs=0.12)
        assert bootstrap[kind].high == pytest.approx(fisher[kind].high, abs=0.12)


def test_subsets_are_averaged_by_size_and_the_other_two_ways_stand_beside():
    subset = ["small"] * 10 + ["large"] * 30
    pairs, model = planted(noise=0.9, subset=subset)
    figures = measure(model, pairs, Settings()).scores
    predicted = np.array(measure(model, pairs, Settings()).predictions["predicted"])
    for kind in KINDS:
        small, large, pooled = (
            SCIPY[kind](pairs.scores[rows], predicted[rows])[0] for rows in (slice(10), slice(10, 40), slice(40))
        )
        assert figures[f"{kind}:small"].value == pytest.approx(small)
        assert figures[kind].value == pytest.approx(0.25 * small + 0.75 * large)
        assert figures[f"{kind}_unweighted"].value == pytest.approx((small + large) / 2)
        assert figures[f"{kind}_pooled"].value == pytest.approx(pooled)
    assert figures["spearman"].count == 40
    assert figures["spearman"].method == "fisher, combined over 2 subsets"


def test_the_interval_of_a_mean_holds_the_truth_as_often_as_it_says():
    random = np.random.default_rng(1)
    truth, held = 0.6, 0
    for _ in range(300):
        samples = random.multivariate_normal([0, 0], [[1, truth], [truth, 1]], 120)
        figures = [_correlated("pearson", *part.T, "fisher") for part in (samples[:40], samples[40:])]
        mean = _mean(figures, [40.0, 80.0], "subset")
        held += mean.low <= truth <= mean.high
    assert 0.92 <= held / 300 <= 0.98


def test_sets_count_alike_whatever_their_size():
    sets = [planted(count=count, noise=0.8, seed=count, name=f"set{count}") for count in (20, 60)]
    model = Planted(sets[0][1].angles | sets[1][1].angles)
    result = measure(model, PairSets("both", tuple(pairs for pairs, _ in sets)), Settings())
    alone = [measure(model, pairs, Settings()).scores["spearman"].value for pairs, _ in sets]
    assert result.scores["spearman"].value == pytest.approx(sum(alone) / 2)
    assert [result.scores[f"spearman:set{count}"].value for count in (20, 60)] == pytest.approx(alone)
    assert result.scores["spearman"].count == 80
    assert result.predictions["set"] == ["set20"] * 20 + ["set60"] * 60


def test_pairs_with_an_unknown_word_are_left_out_and_counted():
    pairs, model = planted(kind=Patchy, level="word", name="w")
    for text in pairs.second[:8]:
        del model.angles[text]
    result = measure(model, pairs, Settings())
    predicted = np.array(result.predictions["predicted"])
    assert result.predictions["id"] == list(pairs.ids[8:])
    assert result.scores["spearman"].value == pytest.approx(stats.spearmanr(pairs.scores[8:], predicted)[0])
    assert result.scores["coverage"].value == 0.8
    assert (result.scores["coverage"].count, result.scores["spearman"].count) == (40, 32)
    assert result.remarks == ("8 pairs of 40 with a word out of vocabulary, left out",)


def test_an_unknown_word_can_be_given_the_mean_vector_instead():
    pairs, model = planted(kind=Patchy, level="word", name="w")
    del model.angles[pairs.second[0]]
    result = measure(model, pairs, Settings(similarity="dot", oov="mean"))
    known = {*pairs.first, *pairs.second[1:]}
    angles = [model.angles[text] - model.angles[pairs.first[0]] for text in known]
    assert result.predictions["predicted"][0] == pytest.approx(np.cos(angles).mean(), abs=1e-6)
    assert result.scores["spearman"].count == 40
    assert result.remarks == ("1 pair of 40 with a word out of vocabulary, which are given the mean vector",)


@pytest.mark.parametrize(
    ("oov", "count", "remark"),
    [
        ("keep", 40, "compared by the vector that the model gives such texts"),
        ("skip", 32, "left out"),
        ("mean", 40, "which are given the mean vector"),
    ],
)
def test_sentences_of_unknown_words_become_what_is_asked_for(oov, count, remark):
    pairs, model = planted(kind=Patchy, level="sentence", name="s")
    for text in pairs.second[:8]:
        del model.angles[text]
    result = measure(model, pairs, Settings(oov=oov))
    assert result.scores["spearman"].count == count
    assert result.scores["coverage"].value == 0.8
    assert result.remarks == (f"8 pairs of 40 with a text of unknown words only, {remark}",)


def test_a_model_that_knows_nothing_scores_no_better_than_chance():
    pairs, model = planted(kind=Patchy, level="word", name="w")
    model.angles = {"": 0.0}
    result = measure(model, pairs, Settings())
    assert [result.scores[kind].value for kind in KINDS] == [0.0, 0.0, 0.0]
    assert result.scores["coverage"].value == 0.0
    assert "no two similarities differ in w: the correlation counts as 0" in result.remarks


def test_equal_vectors_for_all_texts_score_no_better_than_chance():
    pairs, model = planted(subset=["x"] * 20 + ["y"] * 20)
    model.angles = dict.fromkeys(model.angles, 0.3)
    result = measure(model, pairs, Settings())
    assert [result.scores[kind].value for kind in KINDS] == [0.0, 0.0, 0.0]
    assert "no two similarities differ in x, y: the correlation counts as 0" in result.remarks


def test_rounding_puts_no_order_into_pairs_of_equal_texts():
    random = np.random.default_rng(0)
    texts = tuple(f"text {row}" for row in range(50))
    vectors = dict(zip(texts, random.standard_normal((50, 64)).astype(np.float32), strict=True))

    class Looked:
        identity = "looked up"

        def encode_items(self, batch):
            return np.array([vectors[text] for text in batch])

        encode_queries = encode_items

    result = measure(Looked(), ScoredPairs("same", texts, texts, texts, np.arange(50.0)), Settings())
    assert set(result.predictions["predicted"]) == {1.0}


def test_words_are_looked_up_in_lower_case_and_sentences_as_written():
    scores = np.array([1.0, 2.0, 3.0])
    for level, expected in (("word", {"cat", "dog", "car", "van"}), ("sentence", {"Cat", "dog", "car", "Van"})):
        model = Planted({"cat": 0.1, "Cat": 0.1, "dog": 0.4, "car": 0.9, "van": 0.2, "Van": 0.2, level: 0.0})
        pairs = ScoredPairs("x", ("1", "2", "3"), ("Cat", "dog", "Cat"), ("dog", "car", "Van"), scores, level=level)
        measure(model, pairs, Settings())
        assert set(model.seen) == expected


def test_a_transform_learns_from_the_training_texts_or_from_what_is_evaluated_if_asked():
    pairs, model = planted()
    with pytest.raises(InputError, match="no texts set apart"):
        measure(model, pairs, Settings(transform="center"))
    evaluated = measure(model, pairs, Settings(transform="center", fit_on="evaluated"))
    trained = measure(model, replace(pairs, training=pairs.first[:3]), Settings(transform="center", similarity="l2"))
    assert evaluated.scores["pearson"].value != measure(model, pairs, Settings()).scores["pearson"].value
    # A common shift of all vectors does not change their distances.
    assert trained.scores["pearson"].value == pytest.approx(
        measure(model, pairs, Settings(similarity="l2")).scores["pearson"].value, abs=1e-5
    )


def test_a_sparse_model_is_measured_too():
    result = TASKS["sentence-pairs"].measure(load("tfidf"), TASKS["sentence-pairs"].read(None), Settings())
    assert result.scores["spearman"].value > 0.3


def rivals(subset=(), count=200):
    pairs, good = planted(count=count, noise=0.3, subset=subset)
    random = np.random.default_rng(7)
    worse = Planted({text: angle + 1.2 * abs(random.standard_normal()) for text, angle in good.angles.items()})
    return pairs, [measure(model, pairs, Settings()) for model in (good, worse)]


@pytest.mark.parametrize("subset", [(), ["x"] * 50 + ["y"] * 150])
def test_a_clear_difference_is_significant_either_way_round_and_none_to_itself(subset):
    _, (good, worse) = rivals(subset)
    assert 0 < compare(good, worse) == compare(worse, good) < 0.001
    assert compare(good, good) == 1.0


def test_the_comparison_is_williams_test_on_the_pairs_that_both_compared():
    pairs, (good, worse) = rivals()
    assert compare(good, worse) == pytest.approx(
        compare_correlations(pairs.scores, good.predictions["predicted"], worse.predictions["predicted"])
    )
    half = Measurement(worse.scores, {name: column[::2] for name, column in worse.predictions.items()})
    assert compare(good, half) == pytest.approx(
        compare_correlations(pairs.scores[::2], good.predictions["predicted"][::2], half.predictions["predicted"])
    )
    none = Measurement(worse.scores, {name: [] for name in worse.predictions})
    assert compare(good, none) == 1.0


@pytest.mark.parametrize("subset", [[""] * 4000, ["x"] * 2000 + ["y"] * 2000])
def test_no_p_value_is_zero(subset):
    gold = np.arange(4000.0)
    columns = {"id": list(map(str, range(4000))), "set": ["s"] * 4000, "subset": subset, "gold": gold}
    noise = np.random.default_rng(0).standard_normal((2, 4000))
    accurate, unrelated, opposite = (
        Measurement({}, {**columns, "predicted": predicted})
        for predicted in (gold + noise[0], noise[1], -gold - noise[0])
    )
    assert 0 < compare(accurate, unrelated) < 1e-200
    assert 0 < compare(accurate, opposite) < 0.01


@pytest.mark.parametrize("subset", [(), ["x"] * 20 + ["y"] * 40])
def test_models_that_differ_by_chance_alone_are_told_apart_about_one_time_in_twenty(subset):
    random = np.random.default_rng(3)
    significant = 0
    for _ in range(400):
        gold = random.standard_normal(60)
        columns = {"id": [str(row) for row in range(60)], "set": ["s"] * 60, "subset": list(subset) or [""] * 60}
        measurements = [
            Measurement({}, {**columns, "gold": gold, "predicted": gold + random.standard_normal(60)}) for _ in "ab"
        ]
        significant += compare(*measurements) < 0.05
    assert 0.02 <= significant / 400 <= 0.09


def test_every_task_says_where_its_data_comes_from_and_names_are_unique():
    assert len(TASKS) == len(SIMILARITY_TASKS) == 24
    for task in SIMILARITY_TASKS:
        assert task.kind == "similarity"
        assert task.summary
        assert task.about is not None
        assert task.about.source
        assert task.about.counts


def test_data_that_is_not_here_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.delenv("GOLDRANK_DATA", raising=False)
    with pytest.raises(InputError, match="write sts12:PATH, or set GOLDRANK_DATA"):
        TASKS["sts12"].read(None)
    with pytest.raises(InputError, match="write mc30:PATH"):
        TASKS["word-similarity"].read(None)
    with pytest.raises(InputError, match="there is no split 'dev'; choose 'test'"):
        TASKS["sts"].read("dev")
    file = tmp_path / "x.csv"
    file.write_text("sentence1,sentence2,score\na b,b c,1\nc d,d e,2\n")
    with pytest.raises(InputError, match="give the folder that holds the sets"):
        TASKS["sts"].read_at(file, None)
    assert len(TASKS["sentence-pairs"].read_at(file, None)) == 2


SIZES = {
    "sts12": 3108, "sts13": 1500, "sts14": 3750, "sts15": 3000, "sts16": 1186, "sts-b": 1379, "sick-r": 4927,
    "str": 5500, "mc30": 30, "men": 3000, "mturk287": 287, "mturk771": 771, "rg65": 65, "rw": 2034, "simlex999": 999,
    "simverb3500": 3500, "verb143": 144, "ws353": 353, "ws353-rel": 252, "ws353-sim": 203, "yp130": 130,
}  # fmt: skip


@pytest.mark.parametrize("below", ["", "evalrank"])
def test_public_data_is_found_by_name_under_the_data_folder(shared_data, monkeypatch, below):
    monkeypatch.setenv("GOLDRANK_DATA", str(shared_data / below))
    for name, size in SIZES.items():
        data = TASKS[name].read(None)
        assert (data.name, len(data)) == (name, size)
        assert f"{size:,}" in TASKS[name].about.counts
    assert [data_set.name for data_set in (*SENTENCE_SETS, *WORD_SETS)] == list(SIZES)
    assert len(TASKS["sts"].read(None)) == 24_350
    assert len(TASKS["word-similarity"].read(None)) == 11_768


def test_public_data_is_found_at_a_path_of_its_own_or_above_it(shared_data, monkeypatch):
    monkeypatch.delenv("GOLDRANK_DATA", raising=False)
    sentences, words = shared_data / "evalrank" / "sent_similarity", shared_data / "evalrank" / "word_similarity"
    assert len(TASKS["sts12"].read_at(sentences / "STS" / "STS12-en-test", None)) == 3108
    assert len(TASKS["sts-b"].read_at(sentences / "STS" / "STSBenchmark", "dev")) == 1500
    assert len(TASKS["sts"].read_at(sentences, None)) == 24_350
    assert len(TASKS["word-similarity"].read_at(words, None).sets) == 13
    assert len(TASKS["ws353"].read_at(words / "EN-WS-353-ALL.txt", None)) == 353
    benchmark = TASKS["sts-b"].read_at(sentences, None)
    assert (len(benchmark.training), len(benchmark)) == (10_518, 1379)
