"""Figures of masked runs show the scores of the same examples, or a reason why they are left out."""

import math

import numpy as np
import pyarrow
import pytest

from goldrank.masked.scoring.calibration import calibration
from goldrank.masked.scoring.levels import Rules, score_predictions
from goldrank.reporting.figures.description import Figure, LeftOut
from goldrank.reporting.figures.masked import (
    FIGURES,
    MaskedRun,
    accuracy_by_column,
    accuracy_by_family,
    accuracy_by_k,
    accuracy_by_length,
    accuracy_by_size,
    calibration_diagram,
    distance_histogram,
    frequent_answers,
)
from goldrank.scoring import score_hits

PERSONS = ["Ada Lovelace", "Alan Turing", "Grace Hopper", "Emmy Noether", "Kurt Gödel", "Rosa Parks"]


def row(page, sequence, mask, guesses, *, title=None, scores=None, **columns):
    title = title or PERSONS[int(page) % len(PERSONS)]
    scores = scores if scores is not None else [0.5 / 2**at for at in range(len(guesses))]
    described = {"masks": 2, "length": 100 * (1 + int(page)), "type": "original"} | columns
    key = {"page": str(page), "sequence": sequence, "mask": mask, "title": title, "hidden": title}
    return key | {"guesses": guesses, "scores": scores} | described


def rows(skill, *, pages=40, examples=1):
    """Return masks whose true name is the first guess, the second or none; a higher skill ranks it higher."""
    rng = np.random.default_rng(int(100 * skill))
    mask_rows = []
    for page in range(pages):
        right, wrong = PERSONS[page % 6], [PERSONS[(page + step) % 6] for step in (1, 2, 3)]
        for sequence in range(examples):
            kind = ("original", "paraphrased")[(page + sequence) % 2]
            for mask in range(2):
                place = 0 if rng.random() < skill else 1 if rng.random() < 0.5 else 9
                guesses = [*wrong[:place], right, *wrong[place:]][:3] if place < 9 else wrong
                mask_rows.append(row(page, sequence, mask, guesses, type=kind, views=float(10 ** (page / 8))))
    return mask_rows


def run(name="model", table=None, family="family", parameters=None, k=3, rules=Rules(), **changes):  # noqa: B008
    table = pyarrow.Table.from_pylist(rows(0.6, **changes) if table is None else table)
    return MaskedRun(name, score_predictions(table, rules, workers=1), family, parameters, k)


@pytest.fixture(scope="module")
def runs():
    return [
        run("small", rows(0.3), "net", 1e8),
        run("large", rows(0.8), "net", 1e9),
        run("other", rows(0.5), "tree", 2e8),
        run("names", rows(0.1), "names", None),
    ]


def accuracy(masked_run, level="mask"):
    return score_hits(masked_run.scores.levels[level].hits, "hits@1", ties="expected")["hits@1"].mean


def test_every_figure_is_made_of_several_runs_and_has_the_name_it_goes_by(runs):
    for name, make in FIGURES.items():
        for level in ("mask", "example", "page"):
            figure = make(runs, level)
            assert isinstance(figure, Figure), figure
            assert figure.name == name
            assert "40 pages" in figure.caption


def test_accuracy_by_k_is_hits_at_k_with_intervals_around_it(runs):
    figure = accuracy_by_k(runs)
    readings = [(series.name, series.hollow) for series in figure.series]
    assert readings[:4] == [
        ("small, source", False), ("small, strict", True), ("large, source", False), ("large, strict", True)
    ]  # fmt: skip
    large = figure.series[2]
    assert large.x == (1, 2, 3)
    assert large.y[0] == accuracy(runs[1])
    assert large.y == tuple(sorted(large.y))
    assert all(low < y < high for low, y, high in zip(large.low, large.y, large.high, strict=True))
    assert figure.x.scale == "linear"


def test_accuracy_by_k_stops_where_a_run_has_no_more_guesses_and_goes_logarithmic_for_many():
    many = [row(page, 0, 0, [f"Name {at}" for at in range(40)]) for page in range(3)]
    figure = accuracy_by_k([run("many", many, k=40), run("few", k=3)])
    assert figure.x.scale == "log"
    assert (figure.series[0].x[-1], figure.series[2].x[-1]) == (40, 3)
    cut = accuracy_by_k([run("cut", many, k=40, rules=Rules(k=2))])
    assert cut.series[0].x == (1, 2)


def test_levels_count_masks_examples_or_pages(runs):
    assert "80 masks of 40 pages" in accuracy_by_k(runs, "mask").caption
    assert "pool" not in accuracy_by_k(runs, "mask").caption
    example = accuracy_by_k(runs, "example")
    assert "40 examples of 40 pages" in example.caption
    assert "source: matcher tokens, tier given or better, pool gold; " in example.caption
    assert "strict: matcher names, tier given or better, pool alias; " in example.caption
    assert example.series[0].y[0] == accuracy(runs[0], "example")


def test_size_groups_models_by_family_and_names_those_without_one(runs):
    figure = accuracy_by_size(runs)
    assert figure.x.scale == "log"
    net, strict, tree, _ = figure.series
    assert (net.name, net.x, net.labels) == ("net, source", (1e8, 1e9), ("small", "large"))
    assert net.y == (accuracy(runs[0]), accuracy(runs[1]))
    assert (strict.name, strict.x, strict.hollow) == ("net, strict", net.x, True)
    assert tree.name == "tree, source"
    assert figure.note == "Left out, because their size is unknown: names."
    assert accuracy_by_size(runs[2:]) == LeftOut(
        "accuracy-by-size", "the size of 1 of 2 models is known, and two are needed"
    )


def test_families_stand_together_the_best_on_top(runs):
    figure = accuracy_by_family(runs)
    assert figure.y.categories == ("large", "small", "other", "names")
    assert [series.name for series in figure.series if not series.hollow] == [
        "net, source",
        "tree, source",
        "names, source",
    ]
    assert figure.series[0].y == (0, 1)
    assert figure.series[0].x == (accuracy(runs[1]), accuracy(runs[0]))
    assert isinstance(accuracy_by_family(runs[:1]), LeftOut)


def test_length_is_cut_into_ranges_that_hold_every_mask_once(runs):
    figure = accuracy_by_length(runs)
    assert figure.x.label == "input length (characters)"
    series = figure.series[2]
    assert len(series.x) == 8
    assert series.x == tuple(sorted(series.x))
    held = [int(label.split(": ")[1].split()[0]) for label in series.labels]
    assert sum(held) == 80
    weighted = sum(count * y for count, y in zip(held, series.y, strict=True)) / 80
    assert weighted == pytest.approx(accuracy(runs[1]))
    assert "range of length" in figure.note


def test_a_column_over_more_than_two_decades_gets_a_logarithmic_axis(runs):
    assert accuracy_by_column(runs, "views").x.scale == "log"
    assert accuracy_by_column(runs, "length").x.scale == "linear"


def test_words_become_categories_with_the_accuracy_of_each(runs):
    figure = accuracy_by_column(runs, "type")
    assert figure.x.categories == ("original", "paraphrased")
    levels = runs[0].scores.levels["mask"]
    original = runs[0].scores.examples["type"][levels.example] == "original"
    expected = score_hits(levels.hits.keep_rows(original), "hits@1", ties="expected")["hits@1"].mean
    assert figure.series[0].y[0] == pytest.approx(expected)
    assert figure.series[0].mark == "points"


def test_few_distinct_numbers_get_a_point_each():
    table = [row(page, 0, 0, ["Ada Lovelace"], masks=1 + page % 3) for page in range(12)]
    figure = accuracy_by_column([run(table=table)], "masks")
    assert figure.series[0].x == (1, 2, 3)
    assert "Each point is one value of masks." in figure.note


def test_numbers_that_are_missing_have_no_point_and_missing_columns_give_a_reason(runs):
    table = [row(page, 0, 0, ["Ada Lovelace"], views=float(page) if page < 20 else None) for page in range(24)]
    figure = accuracy_by_column([run(table=table)], "views")
    assert all(math.isfinite(x) and x < 20 for x in figure.series[0].x)
    assert accuracy_by_column(runs, "age").reason == "the examples have no column 'age'"
    same = [row(page, 0, 0, ["Ada Lovelace"], length=100) for page in range(4)]
    assert accuracy_by_length([run(table=same)]).reason == "all examples have the same 'length'"


def test_a_page_that_is_split_by_a_column_has_no_part_at_the_page_level():
    several = [run(examples=2)]
    assert isinstance(accuracy_by_column(several, "type", "example"), Figure)
    assert "different 'type'" in accuracy_by_column(several, "type", "page").reason
    assert isinstance(accuracy_by_column(several, "views", "page"), Figure)


def test_distances_are_shares_of_the_answered_masks_up_to_the_last_edge(runs):
    figure = distance_histogram(runs)
    series = figure.series[0]
    assert (series.x[0], series.x[-1]) == (0, 1)
    assert sum(series.y[:-1]) == pytest.approx(1)
    assert series.y[0] == pytest.approx(accuracy(runs[0]))  # here only the name itself has distance 0
    assert series.y[-1] == series.y[-2]


def test_frequent_answers_are_the_ten_with_the_highest_share():
    answers = [f"Name {chr(65 + at)}" for at in range(12) for _ in range(12 - at)]
    table = [row(page, 0, 0, [answer], title="Ada Lovelace") for page, answer in enumerate(answers)]
    figure = frequent_answers([run(table=table, k=1)])
    assert figure.y.categories == tuple(f"Name {chr(65 + at)}" for at in range(10))
    assert figure.series[0].x[0] == 12 / len(answers)
    assert figure.series[0].labels[:2] == ("12", "11")
    two = frequent_answers([run("a", table, k=1), run("b", k=3)])
    assert len(two.y.categories) == 10
    assert two.series[1].x[two.y.categories.index("Name A")] == 0


def test_calibration_shows_bins_their_intervals_and_the_error(runs):
    figure = calibration_diagram(runs[:1])
    expected = calibration(runs[0].scores.levels["mask"])
    series, _ = figure.series
    assert figure.diagonal
    assert series.name.startswith(f"small, source · ECE {expected.ece:.3f} [")
    filled = [calibration_bin for calibration_bin in expected.bins if calibration_bin.count]
    assert series.x == tuple(calibration_bin.confidence for calibration_bin in filled)
    assert series.y == tuple(calibration_bin.accuracy for calibration_bin in filled)
    assert all(low <= y <= high for low, y, high in zip(series.low, series.y, series.high, strict=True))


def test_confidences_that_are_no_probabilities_are_left_out_and_counted():
    table = [row(page, 0, 0, ["Ada Lovelace"], scores=[3.0 if page else 0.5]) for page in range(4)]
    figure = calibration_diagram([run(table=table, k=1)])
    left_out = "3 confidences outside 0 to 1 are left out."
    assert figure.note == f"model, source: {left_out} model, strict: {left_out}"
    assert figure.series[0].labels == ("1",)
    assert isinstance(calibration_diagram([run(table=table[1:], k=1)]), LeftOut)


def test_masks_without_an_answer_are_mentioned():
    table = [row(page, 0, 0, ["Ada Lovelace", "Rosa Parks"] if page else []) for page in range(4)]
    figure = accuracy_by_k([run(table=table)])
    assert figure.note == "Masks without an answer count as wrong: 1 of model."
    empty = [run(table=[row(page, 0, 0, []) for page in range(4)])]
    assert distance_histogram(empty).reason == "no mask has an answer"
    assert frequent_answers(empty).reason == "no mask has an answer"


def test_a_column_never_takes_the_name_of_another_figure():
    table = [row(page, 0, 0, ["Ada Lovelace"], size=page % 3, **{"page views/day": page % 2}) for page in range(12)]
    names = [accuracy_by_column([run(table=table)], column).name for column in ("size", "page views/day", "length")]
    assert names == ["accuracy-by-column-size", "accuracy-by-page-views-day", "accuracy-by-length"]


def test_one_guess_a_mask_gives_no_curve():
    assert accuracy_by_k([run(k=1)]).reason == "there is one guess for each mask"
