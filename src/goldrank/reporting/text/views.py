"""The forms of a result: JSON, rows of a table, text for terminals, Markdown, LaTeX, HTML and a data frame."""

from __future__ import annotations

import html
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from goldrank.errors import MissingExtraError
from goldrank.escaping import escape_text
from goldrank.presentation import Result
from goldrank.reporting.text.grids import Grid, Layout, render
from goldrank.schemas import identify
from goldrank.terminal import PROSE, encodable, output_width, wrap

if TYPE_CHECKING:
    import pandas

_NARROWEST, _WIDEST = 60, 100


@dataclass(frozen=True)
class View:
    """A result in all its forms, each computed when it is needed."""

    content: Callable[[], Any]
    """Everything unrounded, as dicts and lists; undefined numbers are NaN."""
    rows: Callable[[], Sequence[Sequence[Any]]]
    """A table with one value per cell, the headings first."""
    grids: Callable[[], list[Grid]]
    """Tables for people."""
    lead: Callable[[], list[str]] = list
    """Paragraphs above the tables, such as warnings and verdicts."""
    is_prose: bool = False
    """Whether the paragraphs are wrapped in files and pipes too."""
    tail: Callable[[], list[str]] = list
    """Paragraphs below the tables, such as the verdict of a leaderboard."""
    schema: str | None = None
    """The name of the schema of the content, if a command prints it."""

    def to_dict(self) -> Any:
        """Return everything unrounded as JSON can hold it: undefined numbers are None."""
        from goldrank.reporting.text.results import plain

        return plain(self.content() if self.schema is None else identify(self.schema, self.content()))

    def render(self, look: str, layout: Layout = Layout()) -> str:  # noqa: B008 - frozen
        """Return the result as ``table``, ``json``, ``csv``, ``markdown`` or ``latex``; *layout* is that of a table."""
        from goldrank.reporting.text import results

        if look == "json":
            return results.to_json(self.content(), self.schema)
        if look == "csv":
            return results.to_csv(self.rows())
        lead, tail = (
            [self._wrapped(encodable(text, layout.encoding), layout.width) for text in paragraphs]
            if look == "table"
            else []
            for paragraphs in (self.lead(), self.tail())
        )
        return "\n\n".join(filter(None, [*lead, render(self.grids(), look, layout), *tail]))

    def _wrapped(self, paragraph: str, width: int | None) -> str:
        if width is None and not self.is_prose:
            # In a file or a pipe, where other programs may look for it, a sentence stays on one line.
            return paragraph
        return "\n".join(wrap(paragraph, min(width or PROSE, PROSE), hanging="  "))

    def to_text(self) -> str:
        """Return plain text at most as wide as the terminal."""
        width = max(_NARROWEST, min(output_width(sys.stdout) or _WIDEST, _WIDEST))
        lead, tail = (
            [self._wrapped(escape_text(paragraph), width) for paragraph in paragraphs]
            for paragraphs in (self.lead(), self.tail())
        )
        return "\n\n".join(filter(None, [*lead, render(self.grids(), "table", Layout(width)), *tail]))

    def to_html(self) -> str:
        """Return HTML in which everything that comes from data is escaped."""
        lead, tail = (
            [f'<div style="white-space: pre-wrap">{html.escape(escape_text(text))}</div>' for text in texts if text]
            for texts in (self.lead(), self.tail())
        )
        return "\n".join(filter(None, [*lead, render(self.grids(), "html"), *tail]))

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a data frame."""
        try:
            import pandas
        except ImportError:
            raise MissingExtraError("a data frame", "pandas", "pandas") from None
        headings, *rows = self.rows()
        return pandas.DataFrame(rows, columns=list(headings))


def view_rows(rows: Sequence[Mapping[str, Any]], grid: Callable[[], Grid], schema: str) -> View:
    """Return the view of rows with the same columns; *grid* creates the table for people."""
    return View(
        lambda: {"rows": rows},
        lambda: [list(rows[0]), *(list(row.values()) for row in rows)],
        lambda: [grid()],
        schema=schema,
    )


_MODULES = {
    "AcrossComparison": "across",
    "AgreementReport": "model_judges",
    "Audit": "audit",
    "Baseline": "gate",
    "Comparison": "comparison",
    "Diff": "diff",
    "Explanation": "explanation",
    "FaissFile": "index",
    "GateResult": "gate",
    "Gold": "rows",
    "Grading": "model_judges",
    "Hits": "rows",
    "IndexFolder": "index",
    "JudgingStatus": "judging",
    "JudgedLeaderboard": "judged_estimates",
    "Leaderboard": "leaderboards",
    "Leaderboards": "leaderboards",
    "MadeQueries": "made_queries",
    "MaskedPredictions": "masked",
    "MaskedResult": "masked",
    "MeasurementEvaluation": "evaluation",
    "MetaResult": "meta",
    "NextLabels": "judged_estimates",
    "Plots": "plots",
    "RankOverlap": "overlap",
    "RankingEvaluation": "evaluation",
    "Report": "report",
    "Run": "rows",
    "Scores": "results",
    "Sensitivity": "sensitivity",
    "SlicedComparison": "slices",
    "SlicedScores": "slices",
}
"""The module of this folder that has the function ``view`` of a class."""


def view_of(result: Result) -> View:
    """Return the view of a result of any kind."""
    module = next(_MODULES[kind.__name__] for kind in type(result).__mro__ if kind.__name__ in _MODULES)
    view: View = import_module(f"goldrank.reporting.text.{module}").view(result)
    return view
