"""Curves of CPU time and peak memory over the number of items and of queries: measured, fitted, drawn and tabulated.

`python -m benchmarks --part growth` measures them and writes ``benchmarks/results/growth.json``, the figures and the
table of ``docs/guide/cost-growth.md``; `python -m benchmarks.growth` writes figures and table from the file again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.growth_jobs import DEPTH, DIMENSION, QUESTION, VOCABULARY, WORDS
from benchmarks.masked_scoring_jobs import GUESSES
from benchmarks.measure import job_cpu
from goldrank.planning.calibration import processor_name
from goldrank.reporting.render.themes import THEMES, Colours

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "growth.json"
PAGE, FIGURES = ROOT / "docs" / "guide" / "cost-growth.md", ROOT / "docs" / "assets"
LIMIT_SECONDS, LIMIT_MB, LONG_SECONDS, REPEATS = 120.0, 6144.0, 10.0, 3
SLOPE = 1.1
Axis = Literal["items", "queries"]
SIZES: dict[Axis, list[int]] = {
    "items": [10**power for power in range(3, 8)],
    "queries": [10**power for power in range(2, 6)],
}
QUICK: dict[Axis, list[int]] = {axis: sizes[:-2] for axis, sizes in SIZES.items()}
_MARKER = "<!-- table of growth.json -->\n"
_MARKS = "os^Dvx"


@dataclass(frozen=True)
class Bound:
    """The most memory that a work may take: a base, and bytes for its input, its items and its results."""

    base_mb: float
    input_times: float = 0.0
    item_bytes: float = 0.0
    result_bytes: float = 0.0

    def megabytes(self, input_mb: float, items: float, results: float) -> float:
        """Return the bound of one size."""
        further = items * self.item_bytes + results * self.result_bytes
        return self.base_mb + self.input_times * input_mb + further / 2**20

    def __str__(self) -> str:
        parts = [f"{self.base_mb:,.0f} MB"]
        parts += [f"{self.input_times:g} × input" if self.input_times != 1 else "input"] * bool(self.input_times)
        parts += [f"{self.item_bytes:g} B an item"] * bool(self.item_bytes)
        parts += [f"{self.result_bytes:g} B a result"] * bool(self.result_bytes)
        return " + ".join(parts)


BOUNDS = {
    "score": Bound(200, 1, result_bytes=500),
    "exact ranks": Bound(200, 1, result_bytes=1500),
    # Half of the vectors again as 16-bit integers, and the ids of the items.
    "top k": Bound(200, 1.5, item_bytes=100, result_bytes=60),
    "bm25": Bound(200, 1, item_bytes=450, result_bytes=60),
    "masked": Bound(2048),
    "store": Bound(200, 1, result_bytes=100),
}


@dataclass(frozen=True)
class Point:
    """One size of a curve."""

    items: int
    queries: int
    seconds: float
    peak_mb: float
    bound_mb: float


@dataclass(frozen=True)
class Curve:
    """One work at growing sizes."""

    work: str
    axis: Axis
    what: str
    """The sizes that do not grow."""
    points: tuple[Point, ...] = ()
    stopped: str = ""
    """Why there is no larger size; empty if all were measured."""

    @property
    def sizes(self) -> list[int]:
        """The sizes that grow."""
        return [getattr(point, self.axis) for point in self.points]

    @property
    def slope(self) -> float:
        """The exponent of the time, fitted to the larger half of the sizes."""
        half = min(len(self.points) // 2, len(self.points) - 2)
        seconds = [point.seconds for point in self.points]
        return float(np.polyfit(np.log(self.sizes[half:]), np.log(seconds[half:]), 1)[0])


_VECTORS = f"{DIMENSION} dimensions"
_RUN_LINES = "results in all, 100 queries"
_TEXTS = f"texts of {WORDS} words out of {VOCABULARY:,}"
PLANNED: tuple[tuple[Curve, Callable[[int], tuple[int, int]]], ...] = (
    (Curve("score", "items", f"TREC file, five metrics; {_RUN_LINES}"), lambda size: (size, 100)),
    (Curve("exact ranks", "items", f"{_VECTORS}, 1,000 queries with one gold item"), lambda size: (size, 1000)),
    (Curve("top k", "items", f"{_VECTORS}, 1,000 queries, top {DEPTH}"), lambda size: (size, 1000)),
    (Curve("bm25", "items", f"{_TEXTS}, 100 questions of {QUESTION}, top {DEPTH}"), lambda size: (size, 100)),
    (Curve("masked", "items", f"masks of {GUESSES} guesses, three levels"), lambda size: (size, size)),
    (Curve("store", "items", f"save and read; {_RUN_LINES}"), lambda size: (size, 100)),
    (Curve("score", "queries", "TREC file, five metrics; 100 results each"), lambda size: (100 * size, size)),
    (Curve("exact ranks", "queries", f"100,000 items of {_VECTORS}, one gold item each"), lambda size: (10**5, size)),
    (Curve("top k", "queries", f"100,000 items of {_VECTORS}, top {DEPTH}"), lambda size: (10**5, size)),
    (Curve("bm25", "queries", f"100,000 {_TEXTS}; {QUESTION} words each, top {DEPTH}"), lambda size: (10**5, size)),
    (Curve("store", "queries", "save and read; 100 results each"), lambda size: (100 * size, size)),
)


def measure(sizes: Mapping[Axis, Sequence[int]]) -> Iterable[Curve]:
    """Measure all curves; a curve ends before the first size that would exceed a limit."""
    for curve, size_of in PLANNED:
        points: list[Point] = []
        stopped = ""
        for size in sizes[curve.axis]:
            if points and (stopped := _too_large(points[-1], size / getattr(points[-1], curve.axis), size)):
                break
            points.append(_point(curve.work, *size_of(size)))
        yield replace(curve, points=tuple(points), stopped=stopped)


def _too_large(last: Point, growth: float, size: int) -> str:
    """Return why a size is not measured; the cost of the last one is multiplied. Empty if it is measured."""
    seconds, memory = last.seconds * growth, last.peak_mb * growth
    if seconds > LIMIT_SECONDS:
        return f"{size:,} would take about {seconds:,.0f} s, and the limit is {LIMIT_SECONDS:g} s"
    if last.peak_mb > LIMIT_MB / 2 and memory > LIMIT_MB:
        return f"{size:,} would take about {memory:,.0f} MB, and the limit is {LIMIT_MB:,.0f} MB"
    return ""


def _point(work: str, items: int, queries: int) -> Point:
    job = ("benchmarks.growth_jobs", work.replace(" ", "_"), str(items), str(queries))
    best = job_cpu(*job)
    if best["seconds"] < LONG_SECONDS:
        best = min(best, job_cpu(*job, repeat=REPEATS - 1), key=lambda result: result["seconds"])
    bound = BOUNDS[work].megabytes(best["input_mb"], items, best["results"])
    return Point(items, queries, float(f"{best['seconds']:.3g}"), round(best["peak_mb"]), round(bound))


def write(curves: Sequence[Curve], results: Path) -> None:
    """Write the measured points."""
    content = {
        "command": "python -m benchmarks --part growth",
        "machine": f"one core of {processor_name()}",
        "curves": [{**asdict(curve), "points": [asdict(point) for point in curve.points]} for curve in curves],
    }
    text = json.dumps(content, indent=1, ensure_ascii=False)
    # A line for each point.
    results.write_text(re.sub(r"(?<=\{)\n +(\"items\"[^}]*?)\s+(?=\})", _one_line, text) + "\n", encoding="utf-8")


def _one_line(point: re.Match[str]) -> str:
    return re.sub(r"\s+", " ", point[1])


def read(results: Path = RESULTS) -> list[Curve]:
    """Read the points that were written."""
    curves: list[dict[str, Any]] = json.loads(results.read_text(encoding="utf-8"))["curves"]
    return [Curve(**{**curve, "points": tuple(Point(**point) for point in curve["points"])}) for curve in curves]


def table(curves: Iterable[Curve]) -> str:
    """Return the Markdown table of the page."""
    head = "| work | grows | from – to | CPU seconds at each power of ten | slope | peak memory | bound |"
    lines = [head, "| :-- | :-- | --: | --: | --: | --: | --: |"]
    for curve in curves:
        sizes, seconds = curve.sizes, ", ".join(f"{point.seconds:g}" for point in curve.points)
        memory = f"{curve.points[-1].peak_mb:,} MB | {curve.points[-1].bound_mb:,} MB"
        what = f"{curve.work}: {curve.what}"
        lines.append(
            f"| {what} | {curve.axis} | {sizes[0]:,} – {sizes[-1]:,} | {seconds} | {curve.slope:.2f} | {memory} |"
        )
    notes = [f"\n{curve.work.capitalize()} ends early: {curve.stopped}." for curve in curves if curve.stopped]
    return "\n".join([*lines, *notes]) + "\n"


def update_page(curves: Sequence[Curve], page: Path = PAGE) -> None:
    """Replace the table between the two markers of the page."""
    before, _, after = page.read_text(encoding="utf-8").split(_MARKER)
    page.write_text(f"{before}{_MARKER}\n{table(curves)}\n{_MARKER}{after}", encoding="utf-8")


def draw(curves: Sequence[Curve], folder: Path = FIGURES) -> None:
    """Draw time and memory over items and over queries, for light and for dark pages."""
    from matplotlib.figure import Figure

    works = list(BOUNDS)
    for theme, colours in THEMES.items():
        for measured, title in (("seconds", "CPU seconds"), ("peak_mb", "peak memory, MB")):
            for axis in ("items", "queries"):
                figure = Figure(figsize=(4.6, 3.9), layout="constrained")
                axes = figure.add_subplot(xscale="log", yscale="log", facecolor="none")
                for curve in (curve for curve in curves if curve.axis == axis):
                    number = works.index(curve.work)
                    values = [getattr(point, measured) for point in curve.points]
                    (line,) = axes.plot(curve.sizes, values, label=curve.work, linewidth=1.6)
                    line.set(color=colours.series[number], marker=_MARKS[number], markersize=4.5)
                _style(axes, colours)
                axes.set_xlabel(axis, color=colours.ink)
                axes.set_title(title, color=colours.ink, fontsize=11, loc="left")
                figure.legend(loc="outside lower center", ncols=3, frameon=False, labelcolor=colours.ink)
                name = f"growth-{'time' if measured == 'seconds' else 'memory'}-{axis}-{theme}.svg"
                figure.savefig(folder / name, transparent=True, metadata={"Date": None})


def _style(axes: Any, colours: Colours) -> None:
    """Colour the axes, and show the slope of linear growth as a dotted line."""
    (low, high), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    centre = (bottom * top / (low * high)) ** 0.5
    axes.plot([low, high], [centre * low, centre * high], ":", color=colours.grey, label="linear")
    axes.set(xlim=(low, high), ylim=(bottom, top))
    axes.tick_params(which="both", colors=colours.ink)
    axes.grid(color=colours.line, linewidth=0.5)
    for side, spine in axes.spines.items():
        spine.set_color(colours.grey)
        spine.set_visible(side in ("left", "bottom"))


def main() -> None:
    """Draw the figures and write the table from the file of the last measurement."""
    curves = read()
    update_page(curves)
    draw(curves)
    print(table(curves), end="")


if __name__ == "__main__":
    main()
