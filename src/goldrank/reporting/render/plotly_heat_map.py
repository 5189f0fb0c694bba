"""Convert described heat maps to the JSON that plotly.js draws."""

from __future__ import annotations

from goldrank.reporting.figures.heat_map import HeatMap
from goldrank.reporting.render.plotly_common import Json, base_layout, config, escaped, rounded
from goldrank.reporting.render.themes import Colours, short_names

_NAME = 22
_ROW = 46
_DETAILED = 3
"""With more columns than this, a telephone has no room for the second line of a cell; a pointer shows it."""


def heat_map_plot(figure: HeatMap, colours: Colours) -> Json:
    """Return the heat map as ``{"data": …, "layout": …, "config": …}``."""
    low, high = figure.limits
    last = len(figure.stops) - 1
    trace: Json = {
        "type": "heatmap",
        "z": [rounded(cell.value for cell in row) for row in figure.cells],
        "zmin": low,
        "zmax": high,
        "colorscale": [[at / last, stop] for at, stop in enumerate(figure.stops)],
        "xgap": 2,
        "ygap": 2,
        "customdata": [
            [
                [escaped(part) for part in (row, column, cell.text, cell.detail)]
                for column, cell in zip(figure.columns, cells, strict=True)
            ]
            for row, cells in zip(figure.rows, figure.cells, strict=True)
        ],
        "hovertemplate": "<b>%{customdata[0]}</b>, %{customdata[1]}<br>"
        f"{escaped(figure.measure)}: %{{customdata[2]}} %{{customdata[3]}}<extra></extra>",
        # Every cell shows its value, so that a scale of colours is not needed.
        "showscale": False,
    }
    rows, columns = ([escaped(name) for name in short_names(names, _NAME)] for names in (figure.rows, figure.columns))
    axis: Json = {"automargin": True, "ticks": "", "showgrid": False, "zeroline": False, "showline": False}
    layout = base_layout(colours, 150 + _ROW * len(rows)) | {
        "annotations": _annotations(figure, colours),
        "xaxis": axis
        | {"side": "top", "tickvals": list(range(len(columns))), "ticktext": columns}
        | {
            "title": {"text": escaped(figure.column_label), "standoff": 8, "font": {"size": 13}},
            "range": [-0.5, len(columns) - 0.5],
        },
        "yaxis": axis
        | {"tickvals": list(range(len(rows))), "ticktext": rows, "range": [len(rows) - 0.5, -0.5]}
        | {"title": {"text": escaped(figure.row_label), "standoff": 8, "font": {"size": 13}}},
    }
    return {"data": [trace], "layout": layout, "config": config(figure.name)}


def _annotations(figure: HeatMap, colours: Colours) -> list[Json]:
    """Return the texts of the cells, as annotations because each may need white or black text."""
    annotations = []
    for row, cells in enumerate(figure.cells):
        for column, cell in enumerate(cells):
            text = f"<b>{escaped(cell.text)}</b>" if cell.bold else escaped(cell.text)
            if cell.detail and len(figure.columns) <= _DETAILED:
                text += f'<br><span style="font-size:10px">{escaped(cell.detail)}</span>'
            font = {"size": 13, "color": figure.ink(cell.value, colours.ink)}
            annotations.append({"x": column, "y": row, "text": text, "showarrow": False, "font": font})
    return annotations
