"""The benchmarks of the explorer ask for addresses that exist."""

import pytest
from benchmarks import web_jobs, web_load


@pytest.mark.slow
def test_the_explorer_answers_all_requests_of_its_benchmarks():
    first_page, result = web_jobs.goldrank_explorer("6", "40")
    assert first_page > 0
    assert result["drill_down_worst"] >= result["drill_down_median"] > 0
    times, took = web_load.measure(2, 1)
    assert set(times) == {"runs", "about", "query", "score", "queries"}
    assert took > 0
