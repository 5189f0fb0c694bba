"""The form that all results share: data for programs, a data frame, text for terminals and HTML for notebooks.

`goldrank.reporting` writes the tables. It is a higher layer, so it is loaded by its name when a result is first shown.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


class Result:
    """Base class of what public functions return."""

    def to_dict(self) -> dict[str, Any]:
        """Return everything unrounded as JSON can hold it, in the shape that the command prints as JSON."""
        content: dict[str, Any] = _view_of(self).to_dict()
        return content

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame with the rows that the command writes as CSV.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        return _view_of(self).to_pandas()

    def __repr__(self) -> str:
        return str(_view_of(self).to_text())

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return str(_view_of(self).to_html())


def _view_of(result: Result) -> Any:
    return import_module("goldrank.reporting.text.views").view_of(result)
