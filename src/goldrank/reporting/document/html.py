"""Render a report as one HTML file that opens offline and shows all text without scripts.

Its Content-Security-Policy allows only its own scripts, by their hashes, and no requests, so that no text of a query or
a document is ever executed.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from goldrank.errors import MissingExtraError
from goldrank.metrics import Metric
from goldrank.redaction import HIDDEN
from goldrank.reporting.document.sections import Report
from goldrank.reporting.document.summary import summarise
from goldrank.reporting.document.templating import environment
from goldrank.reporting.figures.description import Figure
from goldrank.reporting.render.plotly_figure import legend_of, to_plotly
from goldrank.reporting.render.themes import Theme, colour_name, tokens_css
from goldrank.reporting.text import formatting

THEMES = ("auto", "light", "dark")
_KINDS = {"ranked": "rankings", "measured": "measurements", "masked": "masked names"}


def to_html(report: Report, theme: str = "auto", *, opened: bool = False) -> str:
    """Return the page.

    Args:
        report: the content.
        theme: ``light`` or ``dark``; ``auto`` follows the reader's system. The page has a switch in any case.
        opened: whether all details are unfolded, as for printing.
    """
    template = environment("goldrank.reporting.document").get_template("report.html")
    from markupsafe import Markup

    scripts = [_file("shared", "page.js"), _file("templates", "report.js")]
    summary = summarise(report.sections)
    if any(section.figures for section in report.sections) or (summary is not None and summary.figures):
        scripts.insert(0, _plotly())
    # It runs before the page is rendered.
    first = _file("shared", "theme.js")
    return template.render(
        report=report,
        summary=summary,
        theme=theme,
        opened=opened,
        policy=_policy([first, *scripts]),
        kinds=_KINDS,
        colour_name=colour_name,
        hidden=HIDDEN,
        metric_value=_metric_value,
        figure_data=_figure_data,
        # The only texts that are not escaped: they are part of goldrank and plotly.
        style=Markup("\n".join([tokens_css(), _file("shared", "base.css"), _file("templates", "report.css")])),
        first_script=Markup(first),
        scripts=[Markup(script) for script in scripts],
    )


def _file(folder: str, name: str) -> str:
    # Browsers normalise line ends, so that the hash of a script must be that of the normalised text.
    return files("goldrank.reporting.document").joinpath(folder, name).read_text("utf-8").replace("\r\n", "\n")


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise MissingExtraError("a report with figures", "plotly", "report") from None
    script: str = get_plotlyjs()
    return script.replace("\r\n", "\n").replace("\r", "\n").replace("</script", "<\\/script")


def _policy(scripts: list[str]) -> str:
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _metric_value(metric: str, value: float) -> str:
    return formatting.value(Metric.parse(metric), value)


def _figure_data(figure: Figure) -> dict[str, Any]:
    """Return the figure in both themes, and its legend."""
    themes: tuple[Theme, ...] = ("light", "dark")
    legend = [asdict(entry) for entry in legend_of(figure)]
    return {**{theme: to_plotly(figure, theme) for theme in themes}, "legend": legend}
