"""Test calibration: constants are positive, fits recover their inputs, and temporary files are removed."""

import os
import sys
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.data.texts import read_texts
from goldrank.errors import InputError
from goldrank.planning import calibration, measured_costs, workloads
from goldrank.planning.constants import (
    REFERENCE,
    RankingCost,
    RayCost,
    ranking_features,
    read_constants,
    write_constants,
)
from goldrank.planning.workloads import best, fit_costs, synthetic_hits, synthetic_job
from goldrank.scoring import score_hits

TINY = ((500, 8, 64, 1), (2_000, 16, 80, 1), (1_500, 32, 200, 2))


@pytest.fixture
def quick(monkeypatch):
    """Calibrate with small sizes and without Ray or a GPU."""
    for name in ("COUNTING", "SEARCH"):
        monkeypatch.setattr(calibration, name, TINY)
    monkeypatch.setattr(calibration, "_SHARD", (512, 8))
    monkeypatch.setattr(calibration, "_SCORED_QUERIES", (20, 200))
    monkeypatch.setattr(calibration, "reading_cost", lambda folder: measured_costs.reading_cost(folder, 50))
    monkeypatch.setattr(calibration, "encoding_cost", lambda model: measured_costs.encoding_cost(model, seconds=0.01))
    monkeypatch.setattr(calibration, "ray_cost", lambda: None)
    monkeypatch.setattr(calibration, "gpu_cost", lambda: None)


def test_a_calibration_measures_every_group_and_says_what_it_could_not(quick, tmp_path):
    pytest.importorskip("wordllama")
    lines = []
    constants = calibration.calibrate(["wordllama"], folder=tmp_path, warn=lines.append)
    assert constants.cores == len(os.sched_getaffinity(0))
    assert constants.measured
    for group in (constants.counting, constants.search):
        assert sum(group.parts(1000, 16, 100, 1, 1)) > 0
    assert min(asdict(constants.disk_rate).values()) > 0
    assert constants.encoding["wordllama"].text + constants.encoding["wordllama"].word > 0
    assert constants.reading.text + constants.reading.byte > 0
    assert (constants.ray, constants.gpu) == (REFERENCE.ray, REFERENCE.gpu)
    assert set(constants.elsewhere) == {"Ray", "GPU"}
    assert sum("Ray is not installed" in line or "no CUDA device" in line for line in lines) == 2
    assert list(tmp_path.iterdir()) == []
    write_constants(constants, tmp_path / "constants.json")
    assert read_constants(tmp_path / "constants.json") == constants


def test_what_was_measured_here_is_not_said_to_be_from_elsewhere(quick, monkeypatch):
    monkeypatch.setattr(calibration, "ray_cost", lambda: RayCost(1.0, 0.001, 5.0))
    constants = calibration.calibrate([])
    assert constants.ray == RayCost(1.0, 0.001, 5.0)
    assert set(constants.elsewhere) == {"GPU"}


def test_a_busy_machine_is_told_to_be_measured_again(quick, monkeypatch):
    for load, warned in ((0.0, False), (99.0, True)):
        lines = []
        monkeypatch.setattr(calibration, "_load", lambda load=load: load)
        calibration.calibrate([], warn=lines.append)
        assert any("was busy with other work" in line for line in lines) == warned


def test_a_model_that_does_not_exist_is_refused_before_anything_is_measured(quick, monkeypatch):
    monkeypatch.setattr(calibration, "ranking_cost", lambda *sizes, **options: pytest.fail("measured first"))
    with pytest.raises(InputError, match="no kind of model"):
        calibration.calibrate(["nonsense"])


def test_without_ray_or_a_gpu_there_is_nothing_to_measure(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert measured_costs.ray_cost() is None
    assert measured_costs.gpu_cost() is None


@given(st.lists(st.floats(1e-3, 1e3), min_size=6, max_size=6))
def test_a_fit_reproduces_the_times_of_a_cost_of_this_form(scales):
    cost = RankingCost(
        *(scale * usual for scale, usual in zip(scales, (1e-2, 1e-4, 1e-9, 1e-11, 1e-9, 1e-6), strict=True))
    )
    rows = [ranking_features(*size, 1) for size in measured_costs.SEARCH]
    seconds = [sum(cost.parts(*size, 1)) for size in measured_costs.SEARCH]
    fitted = RankingCost(*fit_costs(rows, seconds))
    for size, wanted in zip(measured_costs.SEARCH, seconds, strict=True):
        assert sum(fitted.parts(*size, 1)) == pytest.approx(wanted, rel=1e-3)


def test_a_fit_never_takes_time_away_for_more_work():
    assert min(fit_costs([[1, 1], [1, 2], [1, 3]], [3.0, 2.0, 1.0])) >= 0


@pytest.mark.parametrize(
    ("sizes", "parts"),
    [
        (measured_costs.COUNTING, measured_costs.COUNTING_PARTS),
        (measured_costs.SEARCH, measured_costs.ALL_PARTS),
    ],
)
def test_the_sizes_measured_at_tell_all_parts_from_each_other(sizes, parts):
    chosen = [measured_costs.ALL_PARTS.index(part) for part in parts]
    counted = sizes is measured_costs.COUNTING
    rows = np.array([ranking_features(*size, size[3] if counted else 1) for size in sizes])[:, chosen]
    assert np.linalg.matrix_rank(rows / rows.max(axis=0), tol=1e-6) == len(parts)


def test_only_the_given_parts_are_fitted():
    cost = measured_costs.ranking_cost(TINY, "top k", parts=("start", "entry"), repeats=1)
    assert (cost.number, cost.multiply, cost.pair) == (0, 0, 0)
    assert cost.start + cost.entry > 0


def test_the_shortest_time_counts_and_preparation_is_not_timed(monkeypatch):
    ticks = iter([0, 5, 10, 12, 20, 29])
    calls = []
    monkeypatch.setattr(workloads, "clock", lambda: next(ticks))
    assert best(lambda: calls.append("work"), 3, before=lambda: calls.append("before")) == 2
    assert calls == ["before", "work"] * 3


def test_synthetic_jobs_are_reproducible_and_neither_trivial_nor_hopeless():
    job, again = (synthetic_job(3_000, 24, 200, 2) for _ in range(2))
    assert np.array_equal(job.queries, again.queries)
    assert np.allclose(np.linalg.norm(job.items, axis=1), 1, atol=1e-5)
    hits = job.count()
    assert 0 < (hits.above == 0).mean() < 0.9
    assert len(job.search(7)["q0"]) == 7


def test_synthetic_hits_can_be_scored():
    assert 0 < score_hits(synthetic_hits(50, 1000))["mrr@10"].mean < 1


def test_synthetic_texts_have_the_given_length_and_are_read_back(tmp_path):
    texts = measured_costs.synthetic_texts(40, 12)
    assert len(set(texts)) == 40
    assert {len(text.split()) for text in texts} == {12}
    measured_costs.write_texts(tmp_path / "texts.jsonl", texts)
    assert read_texts(tmp_path / "texts.jsonl").texts == texts


def test_a_machine_names_its_processor_and_nothing_else():
    assert calibration.processor_name()
    assert os.uname().nodename not in calibration.processor_name()
