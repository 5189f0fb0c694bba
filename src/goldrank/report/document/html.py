"""The report as one HTML file: it opens offline, holds its own scripts, and shows all text without them.

The page allows no script but the two it comes with, by their hashes, and no request to anywhere: whatever a query or
a document says, it stays text.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from string import Template

from goldrank.errors import MissingExtraError, counts
from goldrank.report.document.html_parts import commands_markup, figure_name, section_markup
from goldrank.report.document.markup import embedded, escape, isolated
from goldrank.report.document.sections import Report, plain

THEMES = ("auto", "light", "dark")


def to_html(report: Report, theme: str = "auto", *, opened: bool = False) -> str:
    """The page.

    Args:
        report: what it says.
        theme: ``light`` or ``dark``; ``auto`` follows the reader's system. The page has a switch in any case.
        opened: whether everything is unfolded, as for printing.
    """
    scripts = [_plotly(), _template("report.js")] if any(section.figures for section in report.sections) else []
    scripts = scripts or [_template("report.js")]
    return Template(_template("report.html")).substitute(
        theme="" if theme == "auto" else f' data-theme="{escape(theme)}"',
        policy=escape(_policy(scripts)),
        version=escape(report.version),
        title=escape(report.title),
        style=_template("report.css"),
        meta=_meta(report),
        contents=_contents(report),
        sections="\n".join(section_markup(one, at, opened) for at, one in enumerate(report.sections, 1)),
        reproduce=_reproduce(report),
        made=escape(report.made),
        scripts="\n".join([*_figures(report), *(f"<script>{script}</script>" for script in scripts)]),
    )


def _template(name: str) -> str:
    # Line ends as a reader of HTML hands them on, so that the hash of a script is that of what it sees.
    return files("goldrank.report.document").joinpath("templates", name).read_text("utf-8").replace("\r\n", "\n")


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


def _meta(report: Report) -> str:
    runs = sum(len(section.runs) for section in report.sections)
    tasks = len({section.task for section in report.sections})
    return escape(f"{counts(runs, 'run')} on {counts(tasks, 'task')} · {report.made} · goldrank {report.version}")


def _contents(report: Report) -> str:
    links = [(f"section-{at}", isolated(section.task)) for at, section in enumerate(report.sections, 1)]
    links.append(("reproduce", "Cite and reproduce"))
    entries = "".join(f'<li><a href="#{name}">{text}</a></li>' for name, text in links)
    return f'<nav aria-label="Contents"><ul class="contents">{entries}</ul></nav>'


def _reproduce(report: Report) -> str:
    made = list(dict.fromkeys(line for section in report.sections for line in section.commands))
    runs = f"<p>The runs were made by</p>{commands_markup(made)}" if made else ""
    return (
        '<section id="reproduce"><h2>How to cite and reproduce</h2><div class="box">'
        f"<p>Cite as: <q>{escape(citation(report))}</q></p>{runs}"
        f"<p>This report was made by</p>{commands_markup([report.command])}</div></section>"
    )


def citation(report: Report) -> str:
    """A sentence for a paper: what was evaluated, by what, under which conventions."""
    runs = sum(len(section.runs) for section in report.sections)
    tasks = ", ".join(dict.fromkeys(section.task for section in report.sections))
    line = f"Evaluated with goldrank {report.version}: {counts(runs, 'run')} on {tasks}"
    profiles = dict.fromkeys(str(one.numbers["profile"]) for one in report.sections if "profile" in one.numbers)
    return f"{line}; profile {', '.join(profiles)}." if profiles else f"{line}."


def _figures(report: Report) -> list[str]:
    """The data of every figure, as both themes draw it."""
    if not any(section.figures for section in report.sections):
        return []
    from goldrank.report.render.plotly_figure import to_plotly

    return [
        embedded(
            {theme: plain(to_plotly(figure, theme)) for theme in ("light", "dark")},
            figure_name(number, figure),
        )
        for number, section in enumerate(report.sections, 1)
        for figure in section.figures
    ]
