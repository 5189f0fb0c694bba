"""The HTML report in a real browser: figures, sorting, narrow screens, themes, disabled scripts, and hostile texts."""

import time

import pytest

import stored_examples as examples
from goldrank.reporting.document.content import content_of
from goldrank.reporting.document.html import to_html
from goldrank.reporting.document.sections import Report
from goldrank.reporting.render.themes import THEMES
from goldrank.scoring import Bootstrap
from web.browser import DESKTOP, PHONE, browser, missing

pytestmark = [pytest.mark.skipif(missing() is not None, reason=str(missing())), pytest.mark.slow]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    store, runs = examples.hostile_store(folder / "store")
    sections = content_of(runs, store, bootstrap=Bootstrap(resamples=200), worst=40)
    report = Report(examples.SCRIPT, tuple(sections), f"goldrank report {examples.SCRIPT}", "today", "1.2")
    path = folder / "report.html"
    path.write_text(to_html(report), "utf-8")
    return path.as_uri(), sections[0]


@pytest.fixture(scope="module")
def reader():
    with browser("") as opened:
        yield opened


def css(colour):
    return f"rgb({', '.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))})"


def drawn(reader, address):
    reader.driver.get(address)
    for _ in range(2400):
        if reader.run("return [...document.querySelectorAll('.plot')].every(plot => plot.querySelector('.main-svg'))"):
            return
        time.sleep(0.05)
    raise AssertionError("the figures were not drawn")


def test_every_figure_is_drawn_without_a_complaint_or_a_request(reader, page):
    address, section = page
    reader.complaints()
    reader.hosts()
    drawn(reader, address)
    assert len(reader.all(".plot .main-svg")) >= len(section.figures) > 0
    assert reader.complaints() == []
    assert reader.hosts() == set()


def test_hostile_texts_are_text(reader, page):
    drawn(reader, page[0])
    assert reader.run("return document.title") == examples.SCRIPT
    assert examples.SCRIPT in reader.text("h1")
    assert reader.all("img[src='x']") == []


def test_nothing_is_wider_than_a_phone(reader, page):
    reader.resize(PHONE)
    try:
        drawn(reader, page[0])
        reader.fit()
        legends = reader.run(
            "return [...document.querySelectorAll('.legend')].map(legend => [legend, \
            legend.previousElementSibling].map(part => part.getBoundingClientRect().toJSON()))"
        )
        assert legends
        assert all(legend["top"] >= plot["bottom"] - 1 for legend, plot in legends)
        wide = """[...document.querySelectorAll('.scroll')].filter(
            part => part.checkVisibility() && part.scrollWidth > part.clientWidth + 1)"""
        assert reader.run(f"return {wide}.length") > 0
        hint = "getComputedStyle(part, '::before').content"
        assert all("Scroll sideways" in text for text in reader.run(f"return {wide}.map(part => {hint})"))
    finally:
        reader.resize(DESKTOP)


def test_an_entry_of_the_legend_hides_its_series_and_shows_it_again(reader, page):
    drawn(reader, page[0])
    visibility = """
        const plot = document.querySelector('.legend').previousElementSibling;
        return plot.data.filter(trace => trace.legendgroup === '0').map(trace => trace.visible ?? true)"""
    assert set(reader.run(visibility)) == {True}
    press = "document.querySelector('.legend button').click()"
    reader.run(press)
    assert set(reader.run(visibility)) == {False}
    assert reader.one(".legend button").get_attribute("aria-pressed") == "false"
    reader.run(press)
    assert set(reader.run(visibility)) == {True}


def test_colours_follow_the_reader_and_then_the_switch(reader, page):
    paper = "return getComputedStyle(document.body).backgroundColor"
    try:
        reader.prefer("dark")
        drawn(reader, page[0])
        dark = reader.run(paper)
        reader.one("#theme").click()
        light = reader.run(paper)
        assert (dark, light) == (css(THEMES["dark"].paper), css(THEMES["light"].paper))
        assert reader.run("return document.documentElement.dataset.theme") == "light"
    finally:
        reader.prefer("light")


def test_a_heading_sorts_its_table_down_and_up(reader, page):
    drawn(reader, page[0])
    values = "return [...document.querySelector('table.sortable').tBodies[0].rows].map(row => row.cells[1].innerText)"
    heading = reader.one("table.sortable th:nth-child(2) button")
    heading.click()
    down = reader.run(values)
    assert reader.one("table.sortable th:nth-child(2)").get_attribute("aria-sort") == "descending"
    heading.click()
    assert reader.run(values) == down[::-1] != down


def test_without_scripts_everything_but_the_figures_can_be_read(reader, page):
    address, section = page
    reader.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        reader.driver.get(address)
        assert reader.all("#theme:not([hidden])") == []
        assert section.tables[0].rows[0][1].text in reader.text("main")
        assert "need JavaScript" in reader.text("main")
    finally:
        reader.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
