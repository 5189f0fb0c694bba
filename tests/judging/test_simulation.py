"""The simulations of the page on corrected estimates, in a small size, and its tables."""

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
def test_races_end_with_the_right_winner_and_fewer_labels_for_precision(made):
    metric = judging.METRICS[0]
    grades = judging.judges(made)["long texts"]
    random, active, with_judge = (
        judging.race(made, metric, given, 2, active=active)
        for given, active in ((None, False), (None, True), (grades, True))
    )
    assert random.right == active.right == with_judge.right == 1.0
    assert max(active.labels, with_judge.labels) < 0.6 * random.labels


@pytest.mark.slow
def test_a_real_collection_is_read_with_all_judges(shared_data):
    data = judging.read(shared_data / "collections" / "time", "TIME")
    judges = judging.judges(data)
    assert len(data.rankings) >= 6
    assert "wordllama" in judges
    row = judging.coverage(data, "wordllama", judges["wordllama"], 20, 100)
    assert 0.1 < row.kappa < 0.4
    assert min(row.means, row.differences) >= 0.95
