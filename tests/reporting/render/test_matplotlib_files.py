"""Figures drawn by matplotlib: complete and reproducible files in every theme and size, without overlaps."""

import math
import sys
from dataclasses import replace
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.errors import InputError, MissingExtraError
from goldrank.reporting.figures.description import Axis, Bracket, Figure, Series
from goldrank.reporting.figures.heat_map import HeatCell, HeatMap
from goldrank.reporting.render.matplotlib_figure import FigureSheet
from goldrank.reporting.render.matplotlib_files import draw, settings_for
from goldrank.reporting.render.matplotlib_heat_map import HeatMapSheet
from goldrank.reporting.render.matplotlib_page import DPI, Box
from goldrank.reporting.render.themes import SIZES, THEMES, short_names

pytest.importorskip("matplotlib")

LONG = "retrieve:sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2 (texts=other-texts-of-the-persons.jsonl)"
CAPTION = "698 masks of 374 pages; matcher names. 95% intervals: bootstrap over pages (2000 resamples, seed 0). " * 2
SHARE = Axis("accuracy (hits@1)", percent=True, low=0)
HEADS = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}


def curves(count):
    x = (1, 2, 5, 10, 100, 1000)
    series = []
    for at in range(count):
        y = [min(1.0, 0.05 * at + 0.1 * math.log(k) + 0.05) for k in x]
        name = f"{LONG} number {at}" if at % 2 else f"bm25 {at}"
        series.append(Series(name, x, y, [v - 0.03 for v in y], [v + 0.03 for v in y]))
    return Figure(f"curves-{count}", f"Where did {LONG} land?", CAPTION, Axis("rank k", "log"), SHARE, series)


def points():
    sizes, accuracy = (1.1e8, 1.12e8, 3.4e8), (0.1, 0.1, 0.3)
    low, high = (0.05, math.nan, 0.2), (0.15, math.nan, 0.4)
    labels = [f"fill-mask:model-{at}" for at in range(3)]
    series = [Series("bert", sizes, accuracy, low, high, "points", labels)]
    return Figure("sizes", "Size", CAPTION, Axis("parameters", "log"), SHARE, series, note="Left out: none.")


def bars(runs):
    names = [f"{'A very long name of a person, 3rd Earl of Suffolk ' * (at % 2)}{at}" for at in range(10)]
    share = tuple(0.02 * at for at in range(10))
    series = [Series(f"run {at}", share, range(10), mark="bars", labels=map(str, range(10))) for at in range(runs)]
    return Figure(f"bars-{runs}", "Answers", CAPTION, SHARE, Axis("first answer", categories=names), series)


def categories(mark):
    names = [f"a kind of page with number {at}" for at in range(12)]
    y = [0.05 * at for at in range(12)]
    series = [Series(f"run {at}", range(12), y, y, [v + 0.1 for v in y], mark) for at in range(3)]
    return Figure(f"kinds-{mark}", "Kinds", CAPTION, Axis("type", categories=names), SHARE, series)


def steps():
    series = [Series("run", (0, 0.5, 1), (3, 7, 7), mark="steps")]
    return Figure("steps", "Steps", "C", Axis("distance", low=0, high=1), Axis("answers", low=0), series)


def diagonal():
    unit = Axis("confidence", percent=True, low=0, high=1)
    series = [Series("one", (0.2,), (0.3,), (0.1,), (0.4,)), Series("$x_1$ · ECE 0.1", (0.1, 0.9), (0.2, 0.8))]
    return Figure("diagonal", "Calibration", CAPTION, unit, unit, series, diagonal=True)


def bracketed():
    runs = Axis("run", categories=(LONG, "bm25", "tfidf"))
    series = [Series("mean rank", (1.2, 1.5, 3.0), (0, 1, 2), mark="points")]
    return Figure("bracketed", "Ranks", CAPTION, Axis("mean rank"), runs, series, brackets=(Bracket((0, 1), 1.6),))


def paired():
    sized = Series("better", (0.1, 0.9), (0.5, 0.9), mark="points", labels=("q1", "q2"), sizes=(1, 40))
    faint = Series("equal", (0.2, 0.4), (0.2, 0.4), mark="points", labels=("q3", "q4"), faint=True)
    axis = Axis("ndcg@10", low=0, high=1)
    return Figure("paired", "Pairs", CAPTION, axis, axis, (faint, sized), diagonal=True)


def gains():
    series = [
        Series("b better", (1, 2), (0.5, 0.1), mark="bars"),
        Series("a better", (3, 4), (-0.1, -0.4), mark="bars"),
    ]
    return Figure("gains", "Gains", CAPTION, Axis("queries"), Axis("b − a", line=0), series)


def short_log():
    series = [Series("index", (3.0, 3.7), (0.5, 0.1), mark="points")]
    return Figure("short-log", "Speed", CAPTION, Axis("speed", "log"), Axis("loss"), series)


def heat_map(columns):
    names = tuple(f"transform number {at}" for at in range(columns))
    table = tuple(
        tuple(HeatCell(0.1 * at, "0.123", "[0.100, 0.200]", bold=row == at == 0) for at in range(columns))
        for row in range(2)
    )
    words = {"row_label": "similarity", "column_label": "transform"}
    rows = ("cosine", LONG)
    return HeatMap("map", "Map", CAPTION, "mrr", rows, names, table, **words)


ALL = [
    curves(1), curves(3), curves(9), points(), bars(1), bars(3), categories("points"), categories("bars"), steps(),
    diagonal(), bracketed(), paired(), gains(), short_log(),
]  # fmt: skip


@pytest.mark.parametrize("figure", ALL, ids=lambda figure: figure.name)
@pytest.mark.parametrize("size", ["single", pytest.param("double", marks=pytest.mark.slow)])
def test_nothing_is_laid_over_anything_else(figure, size):
    with settings_for("salt"):
        sheet = FigureSheet(figure, THEMES["light"], SIZES[size])
        canvas = sheet.draw()
        renderer = sheet.renderer()
        title, caption = (text for text in canvas.texts)
        tight = sheet.axes.get_tightbbox(renderer)
        blocks = [Box.of(element) for element in (title, canvas.legends[0], caption)] + [Box(*tight.extents)]
        paper = Box(0, 0, canvas.get_figwidth() * DPI, canvas.get_figheight() * DPI)
        assert all(block.within(paper) for block in blocks)
        assert not any(element.overlaps(other) for element, other in combinations(blocks, 2))
        written = [text for text in sheet.axes.texts if text.get_text()]
        boxes = [Box.of(text) for text in written if not text.arrow_patch]
        assert not any(element.overlaps(other) for element, other in combinations(boxes, 2))
        for axis in (sheet.axes.xaxis, sheet.axes.yaxis):
            ticks = [label for label in axis.get_ticklabels() if label.get_visible() and label.get_text()]
            if not any(label.get_rotation() for label in ticks):
                assert not any(a.overlaps(b) for a, b in pairwise(map(Box.of, ticks)))


@pytest.mark.parametrize("columns", [1, 4, 9])
@pytest.mark.parametrize("size", SIZES)
def test_what_is_written_in_a_heat_map_stays_in_its_cells(columns, size):
    with settings_for("salt"):
        sheet = HeatMapSheet(heat_map(columns), THEMES["dark"], SIZES[size])
        canvas = sheet.draw()
        boxes = [Box.of(text) for text in sheet.axes.texts if text.get_text()]
        assert len(boxes) >= 2 * columns
        assert not any(first.overlaps(other) for first, other in combinations(boxes, 2))
        assert all(box.within(Box.of(sheet.axes)) for box in boxes)
        tight = Box(*sheet.axes.get_tightbbox(sheet.renderer()).extents)
        words = [Box.of(text) for text in canvas.texts]
        paper = Box(0, 0, canvas.get_figwidth() * DPI, canvas.get_figheight() * DPI)
        assert all(block.within(paper) for block in (tight, *words))
        assert not any(tight.overlaps(word) for word in words)


def test_colours_of_runs_do_not_change_the_size_of_the_sheet():
    figure = bracketed()
    coloured = replace(figure, palette={name: at for at, name in enumerate(figure.y.categories)})
    with settings_for("salt"):
        sheets = [FigureSheet(variant, THEMES["light"], SIZES["double"]).draw() for variant in (figure, coloured)]
        assert sheets[1].get_figheight() == pytest.approx(sheets[0].get_figheight())


def test_labels_of_crowds_are_left_to_a_pointer_and_faint_series_are_grey():
    with settings_for("salt"):
        sheet = FigureSheet(paired(), THEMES["light"], SIZES["double"])
        sheet.draw()
        assert not sheet.axes.texts
        assert [handle.get_color() for handle in sheet.handles] == [THEMES["light"].grey, THEMES["light"].series[0]]


def test_points_close_together_all_keep_their_labels():
    with settings_for("salt"):
        sheet = FigureSheet(points(), THEMES["light"], SIZES["double"])
        sheet.draw()
        assert {text.get_text() for text in sheet.axes.texts} == {f"fill-mask:model-{at}" for at in range(3)}


def test_labels_without_room_are_counted_in_the_caption():
    crowd = [0.5 + 0.0001 * at for at in range(60)]
    series = [Series("crowd", crowd, crowd, mark="points", labels=[f"point number {at}" for at in range(60)])]
    with settings_for("salt"):
        sheet = FigureSheet(
            Figure("crowd", "Crowd", "C.", Axis("x"), Axis("y"), series), THEMES["light"], SIZES["single"]
        )
        caption = sheet.draw().texts[1].get_text()
    label_count = len(sheet.axes.texts)
    assert 0 < label_count < 60
    assert f"{60 - label_count} labels had no room" in caption.replace("\n", " ")


def test_series_differ_in_more_than_colour():
    with settings_for("salt"):
        sheet = FigureSheet(curves(9), THEMES["light"], SIZES["double"])
        sheet.draw()
    looks = [(line.get_marker(), line.get_linestyle()) for line in sheet.handles]
    assert len(set(looks)) == 9
    assert len({(line.get_color(), *look) for line, look in zip(sheet.handles, looks, strict=True)}) == 9


@pytest.mark.parametrize("format", HEADS)
def test_equal_figures_give_equal_files(tmp_path, format):
    for name in ("first", "second"):
        draw(steps(), tmp_path / f"{name}.{format}")
    first, second = ((tmp_path / f"{name}.{format}").read_bytes() for name in ("first", "second"))
    assert first.startswith(HEADS[format])
    assert first == second
    draw(steps(), tmp_path / f"first.{format}", theme="dark", size="single")
    assert (tmp_path / f"first.{format}").read_bytes() != first
    assert len(list(tmp_path.iterdir())) == 2


def test_names_that_matplotlib_would_take_for_something_else_are_written_as_they_are(tmp_path):
    odd = ["_hidden", "$\\frac{1}$", "50% of $", "名前", "two\nlines", ""]
    series = [Series(name, (1, 2), (at, at), mark="points", labels=[name, name]) for at, name in enumerate(odd)]
    with settings_for("salt"):
        sheet = FigureSheet(
            Figure("odd", "$ and $", "_", Axis("$x$"), Axis("y_1"), series), THEMES["light"], SIZES["double"]
        )
        canvas = sheet.draw()
        assert len(canvas.legends[0].get_texts()) == len(odd)
        canvas.draw_without_rendering()


@pytest.mark.parametrize(
    ("changes", "what"),
    [({"path": "figure.gif"}, "image format"), ({"theme": "pink"}, "no theme 'pink'"), ({"size": "huge"}, "no size")],
)
def test_an_unknown_format_theme_or_size_is_refused_and_nothing_written(tmp_path, changes, what):
    options = {"path": "figure.png"} | changes
    with pytest.raises(InputError, match=what):
        draw(steps(), tmp_path / options.pop("path"), **options)
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'goldrank\[plot\]'"):
        draw(steps(), tmp_path / "figure.png")


@given(st.lists(st.text(max_size=30), max_size=8), st.integers(8, 20))
def test_shortened_names_stay_distinct_and_on_one_line(names, limit):
    shortened = short_names(names, limit)
    assert len(set(shortened)) == len(names)
    assert all(len(name) <= limit + 3 and "\n" not in name for name in shortened)
