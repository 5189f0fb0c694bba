"""Test that probes measure the accuracy of a classifier and never see the test part during fitting."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score

from goldrank.data.labelled_texts import LabelledTexts
from goldrank.encoders import load
from goldrank.engines.base import usable_cores
from goldrank.errors import InputError
from goldrank.tasks import probe_fitting
from goldrank.tasks.probe import PROBE_TASKS, compare, measure, probe_of
from goldrank.tasks.probe_fitting import Features, Probe, draw_folds, fit_paths
from goldrank.tasks.settings import Settings

RNG = np.random.default_rng(3)
WORDS = [f"w{number}" for number in range(240)]


def model(vectors: dict[str, np.ndarray], scale: float = 1.0):
    """Return a model that looks up the vector of each text."""

    def written_down(texts):
        return np.array([vectors[text] for text in texts]) * scale

    return load(written_down)


def labelled(signal: float, splits=None, count: int = 240, classes: int = 2):
    """Return labelled texts and their vectors, whose classes are separated by *signal*."""
    labels = [f"c{number % classes}" for number in range(count)]
    vectors = RNG.standard_normal((count, 6))
    vectors[:, 0] += signal * np.array([number % classes for number in range(count)])
    data = LabelledTexts("made", tuple(WORDS[:count]), tuple(labels), splits=splits)
    return data, dict(zip(WORDS, vectors, strict=False))


SPLIT = ("train",) * 120 + ("dev",) * 40 + ("test",) * 80
TWO_PARTS = ("train",) * 160 + ("test",) * 80


@pytest.mark.parametrize(
    ("splits", "tested"), [pytest.param(None, 240, marks=pytest.mark.slow), (TWO_PARTS, 80), (SPLIT, 80)]
)
def test_classes_that_vectors_tell_are_found_and_those_they_do_not_are_at_chance(splits, tested):
    data, vectors = labelled(8.0, splits)
    result = measure(model(vectors), data, Settings())
    assert result.scores["accuracy"].value > 0.98
    assert result.scores["accuracy"].count == len(result.predictions["id"]) == tested
    assert list(result.scores) == ["accuracy", "macro_f1"]
    data, vectors = labelled(0.0, splits)
    chance = measure(model(vectors), data, Settings()).scores["accuracy"]
    assert chance.low < 0.5 < chance.high
    assert chance.low < chance.value < chance.high


def test_figures_are_those_of_the_predictions():
    data, vectors = labelled(1.5, SPLIT, classes=3)
    result = measure(model(vectors), data, Settings())
    gold, predicted = result.predictions["gold"], result.predictions["predicted"]
    assert gold == [data.labels[int(row)] for row in result.predictions["id"]]
    assert result.scores["accuracy"].value == pytest.approx(np.mean(np.array(gold) == np.array(predicted)))
    assert result.scores["accuracy"].method == "wilson"
    f1 = result.scores["macro_f1"]
    assert f1.value == pytest.approx(f1_score(gold, predicted, average="macro"))
    assert f1.low < f1.value < f1.high


@pytest.mark.slow
def test_several_draws_of_the_folds_are_averaged_and_the_first_is_shown():
    data, vectors = labelled(1.0)
    result = measure(model(vectors), data, Settings(seed=5))
    correct = np.array(result.predictions["correct"])
    assert set(np.round(correct * 3)) == {0, 1, 2, 3}
    assert result.scores["accuracy"].value == pytest.approx(correct.mean())
    assert result.scores["accuracy"].method == "bca"
    right = np.array(result.predictions["gold"]) == np.array(result.predictions["predicted"])
    assert (correct[right] > 0).all()
    assert (correct[~right] < 1).all()
    assert any("mean of 3 draws" in remark for remark in result.remarks)


@pytest.mark.parametrize("splits", [pytest.param(None, marks=pytest.mark.slow), TWO_PARTS, SPLIT])
def test_same_seed_same_figures_on_any_number_of_threads(splits, monkeypatch):
    data, vectors = labelled(1.0, splits)
    results = []
    for threads in (1, 3):
        monkeypatch.setattr(probe_fitting, "usable_cores", lambda threads=threads: threads)
        results.append(measure(model(vectors), data, Settings(seed=2)))
    assert results[0].scores == results[1].scores
    assert results[0].predictions == results[1].predictions
    assert usable_cores() >= 1


@pytest.mark.parametrize("pairs", [False, True])
def test_vectors_times_a_thousand_give_the_same_predictions(pairs):
    data, vectors = labelled(1.0, SPLIT)
    if pairs:
        data = LabelledTexts("pairs", data.texts, data.labels, tuple(reversed(data.texts)), SPLIT)
    plain, scaled = (measure(model(vectors, scale), data, Settings()) for scale in (1.0, 1000.0))
    assert plain.predictions == scaled.predictions


def test_labels_and_vectors_of_the_test_part_are_not_seen_in_fitting():
    data, vectors = labelled(1.0, SPLIT)
    before = measure(model(vectors), data, Settings())
    # All test texts except one get new vectors and labels; the prediction for that text must not change.
    unchanged_row = 200
    for row in range(160, 240):
        if row != unchanged_row:
            vectors[WORDS[row]] = RNG.standard_normal(6) * 50
    labels = [label if row < 160 else "c0" for row, label in enumerate(data.labels)]
    after = measure(model(vectors), LabelledTexts("x", data.texts, tuple(labels), splits=SPLIT), Settings())
    place = before.predictions["id"].index(str(unchanged_row))
    assert after.predictions["predicted"][place] == before.predictions["predicted"][place]
    features = np.array([vectors[word] for word in WORDS])
    changed = features.copy()
    changed[160:] *= 100
    rows = np.arange(160)
    scaled_features = [Features.of(matrix).scaled(rows)(rows) for matrix in (features, changed)]
    np.testing.assert_array_equal(*scaled_features)


def test_every_row_is_tested_once_in_a_draw_by_a_model_that_did_not_see_it():
    codes = np.arange(100) % 4
    folds = draw_folds(codes, np.arange(100), seed=1)
    assert sorted(row for _, ask in folds for row in ask.tolist()) == list(range(100))
    for fit, ask in folds:
        assert not set(fit.tolist()) & set(ask.tolist())
        assert np.bincount(codes[ask]).tolist() == [5, 5, 5, 5]
    assert draw_folds(codes, np.arange(100), seed=2)[0][1].tolist() != folds[0][1].tolist()


def test_pairs_are_seen_as_difference_and_product():
    first, second = RNG.standard_normal((2, 5, 3), dtype=np.float32)
    features = Features.of(first, second)
    np.testing.assert_allclose(features.matrix, np.hstack([abs(first - second), first * second]))
    labels = RNG.integers(0, 2, 200)
    texts = [f"t{row}" for row in range(400)]
    vectors = {text: RNG.standard_normal(4) for text in texts}
    for row, label in enumerate(labels):
        if label:
            vectors[texts[200 + row]] = vectors[texts[row]] + 0.1 * RNG.standard_normal(4)
    data = LabelledTexts("pairs", tuple(texts[:200]), tuple(map(str, labels)), tuple(texts[200:]))
    assert measure(model(vectors), data, Settings()).scores["accuracy"].value > 0.9


def test_sparse_vectors_give_what_the_same_dense_ones_give():
    from scipy.sparse import csr_matrix

    vectors = np.maximum(RNG.standard_normal((300, 8)), 0)
    codes = (vectors[:, 0] + 0.3 * RNG.standard_normal(300) > 0.4).astype(np.int64)
    job = (np.arange(200), np.arange(200, 300))
    [dense], [sparse] = (
        fit_paths(Probe(Features.of(matrix), codes), [job]) for matrix in (vectors, csr_matrix(vectors))
    )
    assert np.mean(dense.codes == sparse.codes) > 0.99
    assert dense.converged
    assert sparse.converged


@pytest.mark.slow
def test_a_model_that_learns_from_a_corpus_is_probed_too():
    texts = tuple(f"{'fine great' if number % 2 else 'awful bad'} thing {number % 7}" for number in range(60))
    labels = tuple("good" if number % 2 else "bad" for number in range(60))
    result = measure(load("tfidf"), LabelledTexts("moods", texts, labels), Settings())
    assert result.scores["accuracy"].value == 1.0
    assert any("learned from all texts" in remark for remark in result.remarks)


def test_a_transform_is_fitted_on_the_training_part_or_refused_where_there_is_none():
    data, vectors = labelled(2.0, SPLIT)
    assert measure(model(vectors), data, Settings(transform="whiten")).scores["accuracy"].value > 0.6
    data, vectors = labelled(2.0)
    with pytest.raises(InputError, match="no texts set apart"):
        measure(model(vectors), data, Settings(transform="whiten"))


def test_all_equal_vectors_say_nothing_but_the_commonest_class():
    data = LabelledTexts("made", tuple(WORDS[:60]), tuple("a" if row % 3 else "b" for row in range(60)))
    result = measure(model(dict.fromkeys(WORDS, np.ones(4))), data, Settings())
    assert set(result.predictions["predicted"]) == {"a"}


@pytest.mark.parametrize(("count", "splits"), [(6, None), (4, "train")])
def test_a_class_with_fewer_rows_than_folds_is_refused_before_anything_is_encoded(count, splits):
    labels = ("rare",) * count + ("common",) * (40 - count)
    parts = None if splits is None else ("train",) * 30 + ("test",) * 10
    data = LabelledTexts("made", tuple(WORDS[:40]), labels, splits=parts, source="made.csv")
    with pytest.raises(InputError, match=f"made.csv: the class 'rare' has {count} rows to learn from"):
        measure(model({}), data, Settings())


@pytest.mark.slow
def test_seven_rows_of_a_class_are_enough_for_nested_folds():
    labels = ("rare",) * 7 + ("common",) * 33
    data = LabelledTexts("made", tuple(WORDS[:40]), labels)
    vectors = {word: RNG.standard_normal(3) for word in WORDS}
    assert measure(model(vectors), data, Settings()).scores["accuracy"].count == 40


@pytest.mark.slow
def test_two_models_are_compared_over_the_same_examples():
    data, vectors = labelled(3.0, SPLIT)
    noise = {word: RNG.standard_normal(6) for word in WORDS}
    good, bad = measure(model(vectors), data, Settings()), measure(model(noise), data, Settings())
    assert compare(good, bad) < 0.001
    assert compare(good, good) == 1.0
    assert compare(good, bad) == compare(bad, good)
    nested, vectors = labelled(3.0)
    good, bad = measure(model(vectors), nested, Settings()), measure(model(noise), nested, Settings())
    assert compare(good, bad) < 0.001
    with pytest.raises(InputError, match="not of the same examples"):
        compare(good, measure(model(vectors), data, Settings()))


def test_vectors_that_are_not_finite_are_refused():
    with pytest.raises(InputError, match="not finite"):
        Features.of(np.array([[1.0, np.nan]]))


def test_any_labelled_file_is_a_probe(tmp_path):
    rows = [f"{'lovely' if number % 2 else 'horrid'} {number},{number % 2}" for number in range(40)]
    (tmp_path / "moods.csv").write_text("\n".join(["text,label", *rows]))
    task = probe_of(tmp_path / "moods.csv")
    assert (task.name, task.kind) == ("probe:moods", "probe")
    assert task.measure(load("tfidf"), task.read(None), Settings()).scores["accuracy"].value == 1.0
    with pytest.raises(InputError, match="no such file"):
        probe_of(tmp_path / "other.csv")
    with pytest.raises(InputError, match="no split 'train'"):
        task.read("train")


def test_known_probes_say_where_their_data_is_looked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("GOLDRANK_DATA", str(tmp_path))
    assert [task.name for task in PROBE_TASKS] == [
        f"probe-{name}" for name in ("mr", "cr", "mpqa", "subj", "sst2", "sst5", "trec", "mrpc", "sick-e", "scicite")
    ]
    for task in PROBE_TASKS:
        assert task.about is not None
        with pytest.raises(InputError, match=f"{task.name}:PATH, or set GOLDRANK_DATA"):
            task.read(None)
    (tmp_path / "sent_classification" / "MR").mkdir(parents=True)
    for name, text in (("pos", "good\n"), ("neg", "bad\n")):
        (tmp_path / "sent_classification" / "MR" / f"rt-polarity.{name}").write_text(text)
    assert PROBE_TASKS[0].read(None).texts == ("good", "bad")
