"""What a report says in short: its verdicts and leaderboards."""

from __future__ import annotations

from goldrank.reporting.document.sections import Report, as_json
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
