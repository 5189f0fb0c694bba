"""The forms of a result: JSON, rows of a table, text for terminals, Markdown, LaTeX, HTML and a data frame."""

from __future__ import annotations

import html
import shutil
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from goldrank.errors import MissingExtraError
from goldrank.escaping import escape_text
from goldrank.presentation import Result
from goldrank.reporting.text.grids import Grid, render

if TYPE_CHECKING:
    import pandas

_NARROWEST, _WIDEST = 60, 100


@dataclass(frozen=True)
class View:
    """A result in all its forms, each computed when it is asked for."""

    content: Callable[[], Any]
    """Everything unrounded, as dicts and lists; undefined numbers are NaN."""
    rows: Callable[[], Sequence[Sequence[Any]]]
    """A table with one value per cell, the headings first."""
    grids: Callable[[], list[Grid]]
    """Tables for people."""
    lead: Callable[[], list[str]] = list
    """Paragraphs above the tables, such as warnings and verdicts."""

    def to_dict(self) -> Any:
        """Return everything unrounded as JSON can hold it: undefined numbers are None."""
        from goldrank.reporting.text.results import plain

        return plain(self.content())

    def render(self, look: str) -> str:
        """Return the result as ``table``, ``json``, ``csv``, ``markdown`` or ``latex``."""
        from goldrank.reporting.text import results

        if look == "json":
            return results.to_json(self.content())
        if look == "csv":
            return results.to_csv(self.rows())
        lead = self.lead() if look == "table" else []
        return "\n\n".join(filter(None, [*lead, render(self.grids(), look)]))

    def to_text(self) -> str:
        """Return plain text at most as wide as the terminal."""
        width = max(_NARROWEST, min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST))
        lead = [
            "\n".join(part for line in escape_text(paragraph).splitlines() for part in _wrap(line, width))
            for paragraph in self.lead()
        ]
        return "\n\n".join(filter(None, [*lead, render(self.grids(), "table", width)]))

    def to_html(self) -> str:
        """Return HTML in which everything that comes from data is escaped."""
        lead = [
            f'<div style="white-space: pre-wrap">{html.escape(escape_text(text))}</div>' for text in self.lead() if text
        ]
        return "\n".join(filter(None, [*lead, render(self.grids(), "html")]))

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a data frame."""
        try:
            import pandas
        except ImportError:
            raise MissingExtraError("a data frame", "pandas", "pandas") from None
        headings, *rows = self.rows()
        return pandas.DataFrame(rows, columns=list(headings))


def view_rows(rows: Sequence[Mapping[str, Any]], grid: Callable[[], Grid]) -> View:
    """Return the view of rows with the same columns; *grid* creates the table for people."""
    return View(lambda: rows, lambda: [list(rows[0]), *(list(row.values()) for row in rows)], lambda: [grid()])


def _wrap(line: str, width: int) -> list[str]:
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(line, width, subsequent_indent=indent) or [""]


_MODULES = {
    "Audit": "audit",
    "Comparison": "comparison",
    "Explanation": "explanation",
    "FaissFile": "index",
    "Gold": "rows",
    "Hits": "rows",
    "IndexFolder": "index",
    "Leaderboard": "leaderboards",
    "Leaderboards": "leaderboards",
    "MaskedPredictions": "masked",
    "MaskedResult": "masked",
    "MeasurementEvaluation": "evaluation",
    "MetaResult": "meta",
    "Plots": "plots",
    "RankOverlap": "overlap",
    "RankingEvaluation": "evaluation",
    "Report": "report",
    "Run": "rows",
    "Scores": "results",
    "Sensitivity": "sensitivity",
}
"""The module of this folder that has the function ``view`` of a class."""


def view_of(result: Result) -> View:
    """Return the view of a result of any kind."""
    module = next(_MODULES[kind.__name__] for kind in type(result).__mro__ if kind.__name__ in _MODULES)
    view: View = import_module(f"goldrank.reporting.text.{module}").view(result)
    return view
