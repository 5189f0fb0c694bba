"""Test that a preset applies all settings of a reference system and that explicit settings override it."""

from pathlib import Path

import numpy as np
import pytest

from goldrank import InputError
from goldrank.runs.evaluate import evaluate, prepare_model
from goldrank.tasks import find_task
from goldrank.tasks.ranking.data import RankingData
from goldrank.tasks.settings import Settings

CHOSEN = ("similarity", "transform", "fit_on", "oov")


@pytest.fixture
def vectors(tmp_path):
    """Write word vectors in EvalRank's format: a header, 30 numbers per word, and one capitalised word."""
    rng = np.random.default_rng(0)
    words = ["Cat", "dog", "cow", "red", "blue", "green", "cat"]
    lines = [f"{word} " + " ".join(map(str, rng.standard_normal(30).round(4))) for word in words]
    (tmp_path / "toy.txt").write_text("7 30\n" + "\n".join(lines) + "\n")
    return f"words:{tmp_path / 'toy.txt'}"


@pytest.fixture
def words(tmp_path):
    """Write an EvalRank folder with two words that have no vector."""
    folder = tmp_path / "words"
    folder.mkdir()
    (folder / "pairs.tsv").write_text("cat\tdog\ndog\tcow\nred\tpink\nmauve\tpink\n")
    (folder / "background.txt").write_text("blue\ngreen\ncow\n")
    return str(folder)


@pytest.fixture
def pairs(tmp_path):
    rows = ["word1,word2,score", "cat,dog,4", "red,blue,3", "cat,red,1", "mauve,pink,5", "cow,mauve,2"]
    (tmp_path / "pairs.csv").write_text("\n".join(rows) + "\n")
    return f"sentence-pairs:{tmp_path / 'pairs.csv'}"


def chosen(settings):
    return tuple(getattr(settings, name) for name in CHOSEN)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ("dot", "center|normalize", "vocabulary", "mean")),
        ({"similarity": "l2"}, ("l2", "center", "vocabulary", "mean")),
        ({"oov": "miss"}, ("dot", "center|normalize", "vocabulary", "miss")),
        (
            {"transform": "abtt:2|center|normalize", "fit_on": "evaluated"},
            ("dot", "abtt:2|center|normalize", "evaluated", "mean"),
        ),
    ],
)
def test_the_preset_is_the_settings_of_the_reference_for_words(given, expected, words):
    assert chosen(RankingData.load(find_task(words), Settings(preset="evalrank", **given)).settings) == expected


def test_a_default_that_is_given_explicitly_wins_too():
    settings = Settings(preset="evalrank", given=frozenset({"transform"}))
    assert settings.under_preset("ws353", "similarity", "word").transform == "none"


def test_sentences_are_centred_on_what_is_evaluated_for_ranks_and_left_alone_for_correlations(tmp_path):
    ranked = Settings(preset="evalrank").under_preset("evalrank-sentence", "evalrank", "sentence")
    assert chosen(ranked) == ("cosine", "center", "evaluated", "keep")
    correlated = find_task("sentence-pairs").load(Settings(preset="evalrank")).settings
    assert chosen(correlated) == ("cosine", "none", "corpus", "keep")


def test_a_preset_is_stored_as_the_settings_it_stands_for(vectors, pairs):
    explicit = Settings(similarity="dot", transform="center|normalize", fit_on="vocabulary", oov="mean")
    model = prepare_model(vectors, Settings(preset="evalrank"))
    assert model.spec == f"{vectors}(preset=evalrank)"
    by_preset, by_hand = (
        find_task(pairs).load(settings).inputs(model) for settings in (Settings(preset="evalrank"), explicit)
    )
    assert by_preset == by_hand
    assert by_preset["oov"] == "mean"


def test_the_default_treatment_of_unknown_words_and_the_same_by_name_have_one_key(vectors, pairs):
    model = prepare_model(vectors, Settings())
    default, named = (find_task(pairs).load(settings).inputs(model) for settings in (Settings(), Settings(oov="skip")))
    assert default == named
    assert default["oov"] == "skip"


def test_words_are_centred_on_the_whole_file_and_unknown_ones_have_the_mean_of_what_that_gives(vectors, pairs):
    result = evaluate(vectors, pairs, preset="evalrank")
    lines = [line.split(" ") for line in Path(vectors.partition(":")[2]).read_text().splitlines()[1:-1]]
    matrix = np.array([[float(cell) for cell in line[1:]] for line in lines])
    matrix = matrix - matrix.mean(axis=0)
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    row, mean = {line[0].lower(): at for at, line in enumerate(lines)}, matrix.mean(axis=0)
    of = {name: matrix[row[name]] if name in row else mean for name in ("cat", "dog", "red", "blue", "cow", "mauve")}
    expected = [of["cat"] @ of["dog"], of["red"] @ of["blue"], of["cat"] @ of["red"], mean @ mean, of["cow"] @ mean]
    assert result.predictions["predicted"] == pytest.approx(expected, abs=1e-6)
    assert result.remarks == (
        "pairs: text1 = word1, text2 = word2, score = score",
        "2 pairs of 5 with a word out of vocabulary, which are given the mean vector",
    )


def test_the_preset_scores_ranks_by_the_profile_of_the_reference(vectors, words):
    result = evaluate(vectors, words, preset="evalrank")
    assert result.scores.profile.name == "evalrank"
    assert list(result.scores) == ["mean_rank", "mrr", "hits@1", "hits@3"]
    assert evaluate(vectors, words).scores.profile.name == "standard"


@pytest.mark.parametrize(
    ("model", "task", "options", "sentence"),
    [
        (
            "bm25",
            "wines",
            {},
            "the preset evalrank has no settings for wines, a task of the kind related; run it without --preset; the "
            "preset is for tasks of the kinds evalrank, similarity, probe",
        ),
        (
            "wordllama",
            "sentence-pairs",
            {"similarity": "l2"},
            "the preset evalrank has no settings for sentence-pairs by l2; leave --similarity out, or give cosine",
        ),
    ],
)
def test_tasks_and_similarities_that_the_reference_does_not_have_are_refused(model, task, options, sentence):
    with pytest.raises(InputError) as error:
        evaluate(model, task, preset="evalrank", **options)
    assert str(error.value) == sentence


def test_a_model_without_a_vocabulary_cannot_be_fitted_on_one(words):
    with pytest.raises(InputError) as error:
        evaluate("wordllama", words, transform="center", fit_on="vocabulary")
    assert str(error.value) == (
        "wordllama has no vocabulary to fit a transform on; use a model of word vectors (words:FILE), or --fit-on "
        "corpus, evaluated or a file of texts"
    )


def test_an_unknown_preset_is_named_with_those_there_are():
    with pytest.raises(InputError, match="there is no preset 'evalrnk'; did you mean 'evalrank'"):
        Settings(preset="evalrnk")
