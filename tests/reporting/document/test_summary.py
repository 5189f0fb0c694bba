"""The summary of a report compares every run across all tasks."""

import math
from dataclasses import replace

import numpy as np
import pytest

import stored_examples as examples
from goldrank import stats
from goldrank.analysis.across import TaskScores, TaskValue
from goldrank.comparing import Comparison, Flaw
from goldrank.reporting.document.content import content_of
from goldrank.reporting.document.html import to_html
from goldrank.reporting.document.markdown import to_markdown
from goldrank.reporting.document.sections import Report, Section
from goldrank.reporting.document.summary import as_json, summarise
from goldrank.scoring import Bootstrap
from goldrank.store import Store

QUICK = Bootstrap(resamples=200)


def section(task, values, *, metric="mrr", direction="higher", alike=(), queries=True):
    """Return a section whose runs have these means over four queries."""
    ordered = sorted(values, key=values.get, reverse=direction == "higher")
    spread = np.array([-0.1, 0.1, -0.05, 0.05])
    sources = {name: stats.Sample(values[name] + spread[:: 1 if at % 2 else -1]) if queries else None
               for at, name in enumerate(sorted(values))}  # fmt: skip
    task_values = {name: TaskValue(values[name], None, sources[name]) for name in ordered}
    leader = ordered[0] if len(values) > 1 else None
    headline = TaskScores(
        task, metric, "", direction, task_values, leader, frozenset(alike), None, True, bootstrap=QUICK
    )
    rest = dict.fromkeys(("verdicts", "tables", "figures", "left_out", "cases", "quality", "conventions"), ())
    palette = {name: number for number, name in enumerate(sorted(values))}
    return Section(task, "ranked", (), numbers={}, commands=(), headline=headline, palette=palette, **rest)


def texts(grid):
    return {row[0].text: [cell.text + cell.marks for cell in row[1:]] for row in grid.rows}


def test_runs_stand_in_the_order_of_their_means_with_a_figure():
    first, second = section("one", {"a": 0.9, "b": 0.5, "c": 0.5}), section("two", {"a": 0.1, "b": 0.4, "c": 0.2})
    summary = summarise([first, second])
    assert summary.table.headings == [
        "run", "one: mrr↑", "two: mrr↑", "mean", "rank", "win rate↑", "Borda↑", "Bradley–Terry↑"
    ]  # fmt: skip
    assert {run: row[:2] + row[5:6] for run, row in texts(summary.table).items()} == {
        "a": ["0.9000", "0.1000", "2"],
        "b": ["0.5000", "0.4000", "2.5"],
        "c": ["0.5000", "0.2000", "1.5"],
    }
    assert list(texts(summary.table)) == ["a", "b", "c"]
    assert dict(summary.palette) == {"a": 0, "b": 1, "c": 2}
    assert [figure.name for figure in summary.figures] == ["across-tasks"]
    assert summary.figures[0].palette == summary.palette


def test_metrics_without_a_common_scale_have_no_mean_and_the_table_says_why():
    lower = section("two", {"a": 9, "b": 3}, metric="rank", direction="lower")
    summary = summarise([section("one", {"a": 0.9, "b": 0.5}), lower])
    assert "mean" not in summary.table.headings
    assert "ranked by their win rates" in " ".join(summary.table.notes)


def test_runs_that_the_test_cannot_tell_from_the_best_are_marked():
    first = section("one", {"a": 0.9, "b": 0.8, "c": 0.1}, alike=["b"])
    summary = summarise([first, section("two", {"a": 0.9, "b": 0.5, "c": 0.2})])
    assert texts(summary.table)["b"][0] == "0.8000≈"
    assert "≈: the data cannot tell the run from the best one (the task's own" in summary.table.notes[0]
    assert summary.verdict.endswith("a leads on all 2 tasks.")


def test_a_run_without_a_task_is_stated_and_has_no_mean():
    summary = summarise([section("one", {"a": 0.9, "b": 0.8, "c": 0.7}), section("two", {"a": 0.3, "b": 0.5})])
    assert texts(summary.table)["c"] == ["0.7000", *["–"] * 6]
    assert "c on two. No mean is over different tasks: without the model c." in summary.table.notes[1]
    nothing = summarise([section("one", {"a": 0.9, "b": math.nan}), section("two", {"a": 0.3, "b": 0.5})])
    assert nothing.table.headings[-1] == "two: mrr↑"
    assert "fewer than two models have a value on every task" in nothing.table.notes[-1]
    assert nothing.figures == ()


def test_values_without_their_queries_are_shown_and_not_compared():
    summary = summarise([section("one", {"a": 0.9, "b": 0.8}, queries=False), section("two", {"a": 0.3, "b": 0.5})])
    assert summary.verdict.startswith("No model is called better across tasks: only values of one are known")


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


def test_a_broken_run_is_named_first_and_not_compared():
    first, second = section("one", {"a": 0.9, "b": 0.5, "c": 0.4}), section("two", {"a": 0.9, "b": 0.5, "c": 0.4})
    flaw = Flaw("b", 1, 30, 30, none_judged=False, unfit=True)
    compared = Comparison({}, [], "randomisation", "holm", "metric", 0.05, flaws=(flaw,))
    summary = summarise([replace(first, headline=replace(first.headline, comparison=compared)), second])
    assert summary.verdict.startswith("one: b answered 1 of 30 queries. So it is not compared")
    assert texts(summary.table)["b"][2:] == ["–"] * 5
