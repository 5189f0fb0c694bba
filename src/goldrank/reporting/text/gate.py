"""The answer of a gate: a sentence, tables, JSON, Markdown for a pull request, GitHub annotations and JUnit XML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from goldrank.baselines import Baseline
from goldrank.errors import counts
from goldrank.escaping import escape_line, escape_text
from goldrank.gating import Answer, Check, GateResult, Threshold
from goldrank.metrics import Metric
from goldrank.reporting.text import formatting, results
from goldrank.reporting.text.grids import Cell, Grid, render
from goldrank.reporting.text.views import View

WORDS: dict[Answer, str] = {"not_worse": "not worse", "worse": "worse", "cannot_tell": "cannot tell"}
_SIGNS: dict[Answer, str] = {"not_worse": "✅", "worse": "❌", "cannot_tell": "❔"}
_MOST_NAMES = 3
"""The checks that a sentence names; the table has all."""


def view(result: GateResult | Baseline) -> View:
    """Return the result of a gate, or a baseline, in all its forms."""
    if isinstance(result, Baseline):
        rows = [["metric", "value", "queries"]]
        rows += [[name, str(value), str(len(result.queries))] for name, value in result.means.items()]
        return View(result.content, lambda: rows, lambda: [Grid(rows[0], [list(map(Cell, row)) for row in rows[1:]])])
    return View(
        lambda: as_json(result),
        lambda: _rows(result),
        lambda: _grids(result),
        # A name with a line break must not begin a line, which a workflow would take for a command.
        lambda: [results.warning_lines(result.warnings), escape_line(sentence(result))],
        schema="gate",
    )


def sentence(result: GateResult) -> str:
    """Return the answer in a sentence, with the checks that it follows from."""
    parts = result.parts
    cause = [part for part in parts if part.answer == result.answer]
    listed = "; ".join(_describe(part, result) for part in cause[:_MOST_NAMES])
    if len(cause) > _MOST_NAMES:
        listed += f"; and {counts(len(cause) - _MOST_NAMES, 'further check')}"
    share = f" in {len(cause)} of {counts(len(parts), 'check')}" if len(parts) > 1 else ""
    if result.answer == "worse" and not any(isinstance(part, Check) for part in cause):
        return f"{result.new} misses a threshold{share}: {listed}."
    if result.answer == "cannot_tell":
        return f"Cannot tell whether {result.new} is worse than {result.base}{share}: {listed}."
    return f"{result.new} is {WORDS[result.answer]} than {result.base}{share}: {listed}."


def _describe(part: Check | Threshold, result: GateResult) -> str:
    metric = Metric.parse(part.metric)
    if isinstance(part, Threshold):
        under, over = ("below", "at least") if metric.definition.direction == "higher" else ("above", "at most")
        relation = under if part.answer == "worse" else over
        return f"{part.metric} is {formatting.value(metric, part.value)}, {relation} {part.limit:g}"
    if not part.queries:
        return f"{_name(part)} has no scored query yet"
    text = (
        f"{_name(part)} {formatting.value(metric, part.new)} vs {formatting.value(metric, part.base)}, difference "
        f"{formatting.signed(metric, part.difference)} {formatting.signed_interval(metric, part.interval)}".rstrip()
        + f" over {counts(part.queries, 'query', 'queries')}"
    )
    if part.answer == "worse":
        return f"{text} ({formatting.p_clause(part.p_worse)})"
    if part.answer == "not_worse":
        if part.ties == part.queries:
            return f"{text}, the same on every query"
        lower = "significantly worse, but " if part.is_lower(result.alpha) else ""
        return f"{text}, {lower}within the margin of {part.margin:g} ({formatting.p_clause(part.p_not_worse)})"
    needed = "more queries" if part.needed is None else f"about {part.needed} queries"
    return f"{text}; {needed} would decide with the margin of {part.margin:g}"


def _name(part: Check | Threshold) -> str:
    if isinstance(part, Threshold):
        return f"{part.metric} threshold {part.limit:g}"
    return f"{part.metric} of {part.slice}" if part.slice else part.metric


def _grids(result: GateResult) -> list[Grid]:
    rows = []
    sliced = any(check.slice for check in result.checks)
    for check in result.checks:
        metric = Metric.parse(check.metric)
        difference = formatting.signed(metric, check.difference)
        rows.append(
            [
                Cell(formatting.heading(metric)),
                *([Cell(check.slice or "all queries")] if sliced else []),
                Cell(formatting.value(metric, check.base)),
                Cell(formatting.value(metric, check.new)),
                Cell(difference, formatting.signed_interval(metric, check.interval)),
                Cell(f"{check.margin:g}"),
                Cell(formatting.p_value(check.p_worse)),
                Cell(formatting.p_value(check.p_not_worse)),
                Cell(str(check.queries)),
                Cell("–" if check.needed is None else f"≈ {check.needed}"),
                Cell(WORDS[check.answer], best=check.answer == "worse"),
            ]
        )
    headings = [
        "metric",
        *(["slice"] if sliced else []),
        *("base", "new", "difference", "margin", "p worse", "p not worse", "queries", "needed", "answer"),
    ]
    keys = 2 if sliced else 1
    grids = [Grid(headings, rows, notes=_notes(result), text_columns=keys, key_columns=keys)]
    if result.thresholds:
        rows = [
            [
                Cell(formatting.heading(metric)),
                Cell(formatting.value(metric, part.value), formatting.interval(metric, part.interval)),
                Cell(f"{part.limit:g}"),
                Cell("missed" if part.answer == "worse" else "reached", best=part.answer == "worse"),
            ]
            for part in result.thresholds
            for metric in [Metric.parse(part.metric)]
        ]
        grids.append(Grid(["metric", result.new, "threshold", "answer"], rows))
    return grids


def _notes(result: GateResult) -> list[str]:
    level = result.scores.bootstrap.level
    if result.planned is None:
        test = f"paired randomisation tests; {level:.0%} intervals of single differences by bootstrap"
    else:
        test = (
            f"sequential tests, valid at every look, planned for {result.planned} queries in the order of the gold; "
            f"{level:.0%} confidence sequences of single differences"
        )
    return [
        f"Base: {result.base}. New: {result.new}. {test[:1].upper()}{test[1:]}. p after Holm over "
        f"{counts(len(result.checks), 'check')}, α = {result.alpha:g}.",
        "Not worse: the loss is significantly smaller than the margin. Worse: there is a significant loss, and it is "
        "not shown to be within the margin.",
        *result.notes,
        results.conventions_note(result.scores),
    ]


def as_json(result: GateResult) -> dict[str, Any]:
    """Return everything as JSON can hold it."""
    return {
        "answer": result.answer,
        "exit_code": result.exit_code,
        "sentence": sentence(result),
        "base": result.base,
        "new": result.new,
        "alpha": result.alpha,
        "cannot_tell": result.cannot_tell,
        "planned": result.planned,
        "profile": result.scores.profile.name,
        "conventions": result.scores.conventions.as_dict(),
        "checks": [_fields(check) for check in result.checks],
        "thresholds": [_fields(part) for part in result.thresholds],
        "notes": list(result.notes),
        "warnings": [warning.to_dict() for warning in result.warnings],
    }


def _fields(part: Check | Threshold) -> dict[str, Any]:
    """Return the fields of a part for JSON and CSV, with the limits of its interval."""
    content: dict[str, Any] = {}
    for name, value in vars(part).items():
        content |= results.limits(part.interval) if name == "interval" else {name: value}
    return content


def _rows(result: GateResult) -> list[list[Any]]:
    """Return one row per check and threshold; of a threshold, the limit and the value of the new run."""
    rows = [{**_fields(check), "limit": None} for check in result.checks]
    nothing = dict.fromkeys(rows[0])
    rows += [
        {**nothing, "metric": part.metric, "new": part.value, "answer": part.answer, "limit": part.limit}
        for part in result.thresholds
    ]
    return [list(rows[0]), *(list(row.values()) for row in rows)]


def to_markdown(result: GateResult) -> str:
    """Return a comment for a pull request: the answer, the sentence, and the tables folded."""
    title = f"### {_SIGNS[result.answer]} goldrank: {WORDS[result.answer]}"
    warnings = [f"> **Warning:** {escape_line(str(warning))}" for warning in result.warnings]
    tables = render(_grids(result), "markdown")
    text = escape_line(sentence(result)).replace("<", "&lt;")
    folded = f"<details><summary>All checks</summary>\n\n{tables}\n\n</details>"
    return "\n\n".join([title, text, *warnings, folded])


def to_annotations(result: GateResult) -> str:
    """Return the workflow commands of GitHub: an error for each failed check, else a warning or a notice."""
    undecided = {"pass": "notice", "fail": "error", None: "warning"}[result.cannot_tell]
    levels: dict[Answer, str] = {"not_worse": "notice", "worse": "error", "cannot_tell": undecided}
    lines = [(levels[result.answer], WORDS[result.answer], sentence(result))]
    if len(result.parts) > 1:
        failed = [part for part in result.parts if part.answer != "not_worse"]
        lines += [(levels[part.answer], _name(part), _describe(part, result)) for part in failed]
    lines += [("warning", warning.code, str(warning)) for warning in result.warnings]
    return "\n".join(
        f"::{level} title={_property(f'goldrank: {title}')}::{_data(text)}" for level, title, text in lines
    )


def _data(text: str) -> str:
    """Escape the message of a workflow command.

    >>> _data("50%\\nof it")
    '50%25%0Aof it'
    """
    return escape_text(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    """Escape a property of a workflow command.

    >>> _property("a:b,c")
    'a%3Ab%2Cc'
    """
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def to_junit(result: GateResult | None, error: str = "") -> bytes:
    """Return JUnit XML with a test case for each check and threshold, or for the *error* that prevented the gate.

    A check that cannot tell is an error, a failure with ``cannot_tell="fail"``, and skipped with ``"pass"``.
    """
    if result is None:
        return _junit([("input", "error", "refused", error)])
    tags: dict[Answer, str] = {
        "not_worse": "system-out",
        "worse": "failure",
        "cannot_tell": {"pass": "skipped", "fail": "failure", None: "error"}[result.cannot_tell],
    }
    return _junit([(_name(part), tags[part.answer], part.answer, _describe(part, result)) for part in result.parts])


def _junit(cases: Sequence[tuple[str, str, str, str]]) -> bytes:
    numbers = {
        "tests": len(cases),
        **{f"{tag}s".replace("skippeds", "skipped"): sum(case[1] == tag for case in cases) for tag in _COUNTED},
    }
    attributes = {name: str(number) for name, number in numbers.items()}
    suites = ElementTree.Element("testsuites", {"name": "goldrank", **attributes})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": "goldrank gate", **attributes})
    for name, tag, kind, text in cases:
        case = ElementTree.SubElement(suite, "testcase", {"classname": "goldrank.gate", "name": escape_line(name)})
        details = {"system-out": {}, "skipped": {"message": escape_line(text)}}.get(
            tag, {"message": escape_line(text), "type": kind}
        )
        ElementTree.SubElement(case, tag, details).text = escape_line(text)
    ElementTree.indent(suites)
    content: bytes = ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)
    return content


_COUNTED = ("failure", "error", "skipped")
