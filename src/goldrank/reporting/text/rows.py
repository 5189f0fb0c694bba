"""Gold, runs and hits as tables."""

from __future__ import annotations

from goldrank.hits import Gold, Hits, Run
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.views import View

_SHOWN = 10


def view(rows: Gold | Run | Hits) -> View:
    """Return the rows in all their forms; for people the first of them."""
    return View(rows.to_dict, lambda: _rows(rows), lambda: [_grid(rows)])


def _rows(rows: Gold | Run | Hits) -> list[list[object]]:
    if isinstance(rows, Hits):
        columns = rows.to_dict()
        return [list(columns), *map(list, zip(*columns.values(), strict=True))]
    value = "grade" if isinstance(rows, Gold) else "score"
    return [["query", "item", value], *([query, *row] for query, items in rows.items() for row in items.items())]


def _grid(rows: Gold | Run | Hits) -> Grid:
    headings, *table = _rows(rows)
    cells = [[Cell(f"{cell:g}" if isinstance(cell, float) else str(cell)) for cell in row] for row in table[:_SHOWN]]
    more = [f"The first {_SHOWN} rows."] if len(table) > _SHOWN else []
    return Grid([str(heading) for heading in headings], cells, notes=[f"{rows!r}.", *more], text_columns=2)
