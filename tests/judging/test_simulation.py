"""Test the simulations of the page on corrected estimates, at a small size, and its tables."""

import numpy as np
import pytest
from benchmarks import judging

from docs_pages import DOCS


def test_the_page_shows_the_stored_results():
    page = (DOCS / "guide" / "judged-estimates.md").read_text().splitlines()
    lines = judging.stored_tables()
    assert len(lines) > 40
    assert [line for line in lines if line and line not in page] == []


@pytest.fixture(scope="module")
def made():
    return judging.make(120)


@pytest.mark.slow
def test_corrected_intervals_cover_and_are_never_wider(made):
    results = [judging.coverage(made, name, grades, 20, 200) for name, grades in judging.judges(made).items()]
    assert {row.judge for row in results} >= {"long texts", "one system", "shared words", "noisy", "adversarial"}
    for row in results:
        assert min(row.means, row.differences) >= 0.95
        assert row.below <= row.cells * 0.05
        assert max(*row.mean_widths, *row.difference_widths) <= 1.02
    good = [row for row in results if row.kappa >= 0.5]
    assert len(good) == 4
    for widths in ("mean_widths", "difference_widths"):
        assert np.mean([getattr(row, widths) for row in good]) <= 0.8


@pytest.mark.slow
def test_races_end_with_the_right_winner_and_fewer_labels(made):
    for metric in judging.METRICS[:3:2]:
        ends = {row.method: row for row in judging.races(made, metric, 3)}
        assert {row.right for row in ends.values()} == {1.0}
        assert ends["long texts"].labels < 0.5 * ends["random judging"].labels
        assert max(ends["long texts"].labels, ends["noisy"].labels) < ends["no judge"].labels
        assert min(row.covered for row in ends.values() if row.covered is not None) > 0.9


def test_random_judging_ends_with_all_labels_where_systems_differ_little(made):
    truth = np.random.default_rng(0).random((120, 2))
    truth[:, 1] = 1 - truth[:, 0]
    truth -= truth.mean(axis=0) - [0.5, 0.48]
    scores = judging.PoolScores(judging.METRICS[0], made.pool, made.rankings)
    end = judging.judge_randomly(scores, truth, 0)
    assert (end.labels, end.winner) == (scores.sizes.sum(), 0)


@pytest.mark.slow
def test_a_real_collection_is_read_with_all_judges(shared_data):
    data = judging.read(shared_data / "collections" / "time", "TIME")
    judges = judging.judges(data)
    assert len(data.rankings) >= 6
    assert "wordllama" in judges
    row = judging.coverage(data, "wordllama", judges["wordllama"], 20, 100)
    assert 0.1 < row.kappa < 0.4
    assert min(row.means, row.differences) >= 0.95
