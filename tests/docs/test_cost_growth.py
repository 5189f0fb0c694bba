"""Test the page about the growth of cost: it shows the stored measurement, and its measuring and plotting code runs."""

import re

import pytest
from benchmarks import growth
from benchmarks.growth_jobs import JOBS

from docs_pages import DOCS

PAGE = DOCS / "guide" / "cost-growth.md"
SMALL = {"items": [1000, 10_000, 100_000], "queries": [100, 1000]}


@pytest.fixture
def quadratic(monkeypatch):
    """Return jobs whose time grows with the square of the items."""

    def job_cpu(module, job, items, queries, *, repeat=1):
        seconds = (int(items) / 1000) ** 2 / 1000
        return {"seconds": seconds, "peak_mb": 300.0, "input_mb": 1.0, "results": 10.0}

    monkeypatch.setattr(growth, "job_cpu", job_cpu)


def test_the_table_of_the_page_is_that_of_the_stored_measurement():
    assert growth.table(growth.read()) in PAGE.read_text()


def test_the_page_states_the_bound_of_every_work_and_shows_every_figure():
    page = PAGE.read_text()
    assert all(f"| {work} | {bound} |\n" in page for work, bound in growth.BOUNDS.items())
    figures = set(re.findall(r"\.\./assets/(growth-[\w-]+\.svg)#only-(light|dark)\)", page))
    assert {name for name, _ in figures} == {file.name for file in growth.FIGURES.glob("growth-*.svg")}
    assert len(figures) == 8
    assert all(name.endswith(f"{theme}.svg") for name, theme in figures)


def test_a_page_gets_the_table_between_its_markers(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(re.sub(r"(?m)^\|.*\n", "", PAGE.read_text()))
    growth.update_page(growth.read(), page)
    growth.update_page(growth.read(), page)
    assert page.read_text().count(growth.table(growth.read())) == 1


def test_the_slope_of_quadratic_growth_is_two_and_a_curve_ends_at_the_limit(quadratic):
    curves = {(curve.work, curve.axis): curve for curve in growth.measure({**SMALL, "items": [1000, 10_000]})}
    assert curves["top k", "items"].slope == pytest.approx(2)
    assert curves["exact ranks", "queries"].slope == pytest.approx(0)
    longer = next(iter(growth.measure({**SMALL, "items": [10_000, 100_000, 10**6, 10**8, 10**9]})))
    assert longer.sizes == [10_000, 100_000, 10**6]
    assert longer.stopped == "100,000,000 would take about 100,000 s, and the limit is 120 s"


def test_memory_above_the_limit_ends_a_curve():
    point = growth.Point(items=10**6, queries=100, seconds=1.0, peak_mb=5000, bound_mb=6000)
    assert growth._too_large(point, 10, 10**7) == "10,000,000 would take about 50,000 MB, and the limit is 6,144 MB"
    assert growth._too_large(growth.Point(10**6, 100, 1.0, 700, 800), 10, 10**7) == ""


def test_measured_curves_are_written_read_and_drawn(quadratic, tmp_path):
    curves = list(growth.measure(SMALL))
    growth.write(curves, tmp_path / "growth.json")
    assert growth.read(tmp_path / "growth.json") == curves
    growth.draw(curves, tmp_path)
    assert {file.name for file in tmp_path.glob("*.svg")} == {file.name for file in growth.FIGURES.glob("growth-*.svg")}


@pytest.mark.parametrize("job", JOBS)
def test_every_work_is_done_at_a_small_size(job, tmp_path):
    seconds, size, results = JOBS[job](200, 20, tmp_path)
    assert seconds > 0
    assert size > 0
    assert results >= 20
