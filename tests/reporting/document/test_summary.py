"""The summary before the sections: every run on every task, its mean rank, and what may be compared."""

import math
from dataclasses import replace

import pytest

import stored_examples as examples
from goldrank.reporting.document.content import content_of
from goldrank.reporting.document.html import to_html
from goldrank.reporting.document.markdown import to_markdown
from goldrank.reporting.document.sections import Headline, HeadlineValue, Report, Section
from goldrank.reporting.document.summary import as_json, summarise
from goldrank.scoring import Bootstrap
from goldrank.store import Store

QUICK = Bootstrap(resamples=200)


def section(task, values, *, metric="mrr", direction="higher", alike=(), leader="", tested="a test"):
    ordered = sorted(values, key=values.get, reverse=direction == "higher")
    shown = {name: HeadlineValue(values[name], f"{values[name]:.2f}", "[0, 1]") for name in ordered}
    best = leader or (ordered[0] if len(values) > 1 else None)
    headline = Headline(metric, "standard", direction, shown, best, frozenset(alike), tested)
    rest = dict.fromkeys(("verdicts", "tables", "figures", "left_out", "cases", "quality", "conventions"), ())
    palette = {name: number for number, name in enumerate(sorted(values))}
    return Section(task, "ranked", (), numbers={}, commands=(), headline=headline, palette=palette, **rest)


def texts(grid):
    return {row[0].text: [cell.text + cell.marks for cell in row[1:]] for row in grid.rows}


def test_runs_stand_in_the_order_of_their_mean_ranks_with_ties_averaged():
    one = section("one", {"a": 0.9, "b": 0.5, "c": 0.5})
    two = section("two", {"a": 0.1, "b": 0.4, "c": 0.2})
    summary = summarise([one, two])
    assert summary.table.headings == ["run", "one: mrr↑", "two: mrr↑", "mean rank↓", "mean"]
    assert texts(summary.table) == {
        "b": ["0.50", "0.40", "1.75", "0.4500"],
        "a": ["0.90", "0.10", "2.00", "0.5000"],
        "c": ["0.50", "0.20", "2.25", "0.3500"],
    }
    bold = {(row[0].text, at) for row in summary.table.rows for at, cell in enumerate(row) if cell.best}
    assert bold == {("a", 1), ("b", 2), ("b", 3), ("a", 4)}
    assert dict(summary.palette) == {"a": 0, "b": 1, "c": 2}


def test_different_metrics_have_no_mean_and_the_table_says_why():
    summary = summarise(
        [section("one", {"a": 0.9, "b": 0.5}), section("two", {"a": 9, "b": 3}, metric="rank", direction="lower")]
    )
    assert summary.table.headings[-1] == "mean rank↓"
    assert texts(summary.table)["a"][-1] == texts(summary.table)["b"][-1] == "1.50"
    assert "a mean of their values would mean nothing" in summary.table.notes[1]
    assert "no test stands behind it" in summary.table.notes[1]


def test_runs_that_the_test_cannot_tell_from_the_best_are_marked():
    summary = summarise(
        [section("one", {"a": 0.9, "b": 0.8, "c": 0.1}, alike=["b"]), section("two", {"a": 0.9, "b": 0.5, "c": 0.2})]
    )
    assert [row[1] for row in texts(summary.table).items()][1][0] == "0.80≈"
    assert "≈: the data cannot tell the run from the best one (a test)" in summary.table.notes[0]
    assert summary.verdict == (
        "a leads on all 2 tasks; the lead is significant over every other run on two. a has the best mean rank, 1.00."
    )


def test_a_run_without_a_task_has_no_mean_rank():
    summary = summarise([section("one", {"a": 0.9, "b": 0.8, "c": 0.7}), section("two", {"a": 0.3, "b": 0.5})])
    assert texts(summary.table)["c"] == ["0.70", "–", "–", "–"]
    assert "because a task is missing: c" in summary.table.notes[-1]
    nothing = summarise([section("one", {"a": 0.9, "b": math.nan}), section("two", {"a": 0.3, "b": 0.5})])
    assert nothing.table.headings[-1] == "two: mrr↑"
    assert "fewer than two runs have a value on every task" in nothing.table.notes[-1]


def test_one_section_needs_no_summary():
    assert summarise([section("one", {"a": 0.9, "b": 0.8})]) is None


def test_two_sections_of_one_task_are_numbered():
    summary = summarise([section("one", {"a": 0.9, "b": 0.8}), section("one", {"a": 0.9, "b": 0.8})])
    assert summary.table.headings[1:3] == ["one (1): mrr↑", "one (2): mrr↑"]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    store = Store.open(tmp_path_factory.mktemp("summary") / "store")
    examples.save_ranked(store, {"weak": 1, "strong": 9, "middle": 4})
    examples.save_ranked(store, {"weak": 1, "strong": 9, "middle": 4}, task="other")
    examples.save_measured(store, {"strong": 0.8, "weak": 0.2})
    examples.save_masked(store, ["names:majority", "names:majority(seed=1)"][:1])
    sections = content_of(store.list(), store, bootstrap=QUICK, worst=0)
    return Report("All", tuple(sections), "goldrank report", "today", "1.2")


def test_every_kind_of_section_is_in_the_summary_which_comes_first(report):
    summary = summarise(report.sections)
    assert {section.kind for section in report.sections} == {"ranked", "measured", "masked"}
    assert len(summary.table.headings) >= 1 + len(report.sections)
    ranked = report.sections[0]
    for name, value in ranked.headline.values.items():
        assert ranked.numbers["runs"][[run["name"] for run in ranked.numbers["runs"]].index(name)]["scores"][
            ranked.headline.metric
        ]["mean"] == pytest.approx(value.value)
    page = to_html(report)
    assert page.index('id="summary"') < page.index('id="section-1"')
    assert page.index('href="#summary"') < page.index('href="#section-1"')
    written = to_markdown(report)
    assert written.index("## All tasks") < written.index("## wines")
    assert as_json(summary)["palette"]["strong"].startswith("series-")


def test_a_broken_run_is_named_before_the_leader():
    one, two = section("one", {"a": 0.9, "b": 0.5}), section("two", {"a": 0.9, "b": 0.5})
    broken = replace(one, headline=replace(one.headline, broken="b answered 1 of 30 queries; missing ones count as 0."))
    assert summarise([broken, two]).verdict.startswith(
        "one: b answered 1 of 30 queries; missing ones count as 0. a leads on all 2 tasks"
    )
