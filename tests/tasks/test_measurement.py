"""Test tasks that produce measured values: they are stored with their inputs, compared and displayed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from goldrank.errors import InputError
from goldrank.reporting.text.leaderboards import leaderboard_view
from goldrank.runs.evaluate import evaluate
from goldrank.runs.run import run as run_models
from goldrank.store import RunRecord
from goldrank.tasks import MeasuredValue, Measurement, MeasurementTask
from goldrank.tasks.ranking.encoding import transformed_vectors
from goldrank.tasks.settings import Settings

TEXTS = ["red wine", "white wine", "a board game", "a card game"]


@dataclass(frozen=True)
class Data:
    texts: tuple[str, ...] = tuple(TEXTS)
    checksum: str = "abc"
    remarks: tuple[str, ...] = ("one text was left out",)

    def __len__(self):
        return len(self.texts)


def lengths(encoder, data, settings):
    """Measure the mean length of the vectors, which is easy to verify."""
    transformed = transformed_vectors(encoder, data.texts, settings, training=["other text", "more text"])
    values = np.linalg.norm(transformed.vectors, axis=1)
    figure = MeasuredValue(float(values.mean()), len(data), float(values.min()), float(values.max()), "range")
    return Measurement(
        {"length": figure, "first": MeasuredValue(float(values[0]), 1), "first:part": MeasuredValue(0.0, 1)},
        {"id": list(data.texts), "predicted": values},
        transformed.remarks,
    )


def compare(first, second):
    return 0.01 if first.predictions["predicted"] != second.predictions["predicted"] else 1.0


TASK = MeasurementTask("lengths", "similarity", lambda split: Data(), lengths, compare, summary="mean lengths")


def run(store, models=("wordllama", "random:8"), **options):
    (board,) = run_models(list(models), TASK, store, **options)
    return board


def test_a_measurement_is_stored_with_its_figures_and_predictions_and_not_made_again(store, monkeypatch):
    first = run(store)
    stored = store.get(first.best.stored.key)
    assert list(stored.measured) == ["length", "first", "first:part"]
    assert stored.measured["length"]["value"] == first.scores[first.best.model]["length"].value
    assert stored.predictions()["id"] == TEXTS
    assert len(stored.predictions()["predicted"]) == 4
    again = run(store)
    assert [outcome.fresh for outcome in again.outcomes] == [False, False]
    assert again.scores == first.scores


def test_the_best_comes_first_and_beats_others_only_where_the_task_says_so(store):
    board = run(store, ["random:8", "wordllama(normalize=false)"])
    assert [outcome.model for outcome in board.outcomes] == ["wordllama(normalize=false)", "random:8"]
    assert board.beaten_by("wordllama(normalize=false)") == ["random:8"]
    assert board.beaten_by("random:8") == []


def test_a_board_of_figures_is_shown_and_written_as_json(store):
    board = run(store)
    rendered = leaderboard_view(board).render("table")
    assert "lengths: mean lengths" in rendered
    assert rendered.count("one text was left out") == 1
    assert "first:part" not in rendered
    assert "lengths-wordllama-" in rendered
    assert board.to_dict()["measured"]["wordllama"]["length"]["count"] == 4


def test_only_the_settings_that_bear_on_it_make_another_key(store):
    first = run(store).best.stored.key
    # With another task that uses these settings the key stays the same; without one the settings are rejected.
    settings = Settings(similarity="dot", depth=5)
    _, beside = run_models(["wordllama", "random:8"], ["wines", TASK], store, settings=settings)
    assert beside.best.stored.key == first
    with pytest.raises(InputError, match="--similarity has no effect on wordllama, random:8 with lengths"):
        run(store, settings=settings)
    assert run(store, settings=Settings(transform="normalize")).outcomes[0].fresh


def test_a_transform_learns_from_the_training_texts_unless_told_otherwise():
    center = Settings(transform="center")
    by_training = evaluate("wordllama", TASK, settings=center).predictions["predicted"]
    by_evaluated = evaluate("wordllama", TASK, transform="center", fit_on="evaluated").predictions["predicted"]
    assert by_training.tolist() != by_evaluated.tolist()
    from goldrank.encoders import load

    with pytest.raises(InputError, match="--fit-on"):
        transformed_vectors(load("wordllama"), TEXTS, center)


def test_a_model_without_vectors_is_refused_before_anything_is_measured(store):
    with pytest.raises(InputError, match="without vectors"):
        run(store, ["wordllama", "bm25"])
    assert store.list() == []


def test_a_measurement_has_no_metrics():
    with pytest.raises(InputError, match="metrics have no effect on lengths"):
        evaluate("wordllama", TASK, metrics="mrr")


def test_a_stored_measurement_has_no_ranks(store):
    with pytest.raises(InputError, match="has no ranks"):
        run(store).best.stored.hits()


def test_a_record_is_either_a_ranking_or_a_measurement():
    with pytest.raises(ValueError, match="either"):
        RunRecord("t", "m", {}, {})


def test_p_values_are_corrected_for_the_number_of_pairs(store):
    board = run(store, ["random:8", "random:16", "wordllama(normalize=false)"])
    # With three p-values of 0.01 the Holm correction raises the smallest to 0.03.
    assert max(board.p_values.values()) == pytest.approx(0.03)
