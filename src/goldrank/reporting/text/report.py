"""The summary of a report: its verdicts and leaderboards."""

from __future__ import annotations

from typing import Any

from goldrank.reporting.document.sections import Report, as_json
from goldrank.reporting.document.summary import summarise
from goldrank.reporting.text import across
from goldrank.reporting.text.views import View


def view(report: Report) -> View:
    """Return the report in all its forms."""
    where = f" ({report.path})" if report.path else ""
    return View(
        lambda: {
            "title": report.title,
            "path": report.path and str(report.path),
            "command": report.command,
            "created": report.created,
            "goldrank": report.version,
            "sections": [as_json(section) for section in report.sections],
            "across": _across(report),
        },
        lambda: [
            ["task", "kind", "key", "name", "model", "created", "seconds"],
            *(
                [section.task, section.kind, run.key, run.name, run.model, run.created, run.seconds]
                for section in report.sections
                for run in section.runs
            ),
        ],
        lambda: [grid for section in report.sections for grid in section.tables[:1]],
        lambda: [f"{report.title}{where}", *("\n".join(section.verdicts) for section in report.sections)],
        schema="report",
    )


def _across(report: Report) -> dict[str, Any] | None:
    """Return the comparison across tasks as JSON data; None if no run is in two sections."""
    summary = summarise(report.sections)
    return None if summary is None else across.view(summary.comparison).to_dict()
