"""Test the scores of the original project, as coded and as corrected."""

import numpy as np
import pytest

from goldrank.masked.names.matching import Person
from goldrank.masked.scoring.legacy import DISTANCE_BINS, GuessDistances, PageSums, legacy_scores
from goldrank.masked.scoring.pooling import Tiers
from goldrank.stats import aggregate


def scored(title, masks):
    person = Person(title)
    distances = np.zeros(DISTANCE_BINS, np.int64)
    tiers = Tiers(person)
    page, gold = PageSums(distances), GuessDistances([title])
    for names in masks:
        page.add(gold, names, max((tiers[name] for name in names), default=0), names[0] if names else None)
    sums = {name: np.array([total]) for name, total in page.values.items()}
    return legacy_scores(sums, np.array([float(len(masks))]), distances)


def value(sample):
    return aggregate(sample.values, sample.weights)


def test_as_coded_a_part_of_the_title_anywhere_in_a_guess_counts():
    scores = scored("John Smith", [["he", "Johnnie"], ["Smith"], ["john"], []])
    assert value(scores.coded["pnms"]) == 2 / 4
    assert value(scores.coded["lnms"]) == 1 / 4
    assert value(scores.coded["w-pnms"]) == pytest.approx(0.35 * 2 / 4 + 0.65 * 1 / 4)


def test_as_coded_parentheses_of_the_title_are_no_part_of_what_is_sought_but_of_the_last_name():
    scores = scored("Ann Lee (photographer)", [["a photographer"]])
    assert value(scores.coded["pnms"]) == 1
    assert value(scores.coded["lnms"]) == 0


def test_corrected_whole_names_count_in_any_case():
    scores = scored("John Smith", [["he", "Johnnie"], ["SMITH"], ["john"], []])
    assert value(scores.right["pnms"]) == 2 / 4
    assert value(scores.right["lnms"]) == 1 / 4


def test_as_coded_a_qualifier_is_the_last_name():
    scores = scored("Ann Lee (photographer)", [["Lee"]])
    assert value(scores.coded["lnms"]) == 0
    assert value(scores.right["lnms"]) == 1


def test_as_coded_the_distance_is_over_correct_masks_only_and_by_the_titles_length():
    scores = scored("John Smith", [["he"], ["he", "Smith"]])
    assert value(scores.coded["nld"]) == 5 / 10


def test_as_coded_the_distance_is_undefined_where_nothing_is_correct():
    assert np.isnan(value(scored("John Smith", [["he"]]).coded["nld"]))


def test_corrected_the_distance_is_over_all_masks_and_never_above_one():
    scores = scored("John Smith", [["JOHN SMITH"], ["x" * 40], []])
    assert value(scores.right["nld"]) == pytest.approx((0 + 1 + 1) / 3)
    assert scores.distances.sum() == 2
    assert (scores.distances[0], scores.distances[-1]) == (1, 1)


def test_accents_and_qualifiers_are_no_distance_when_corrected():
    assert value(scored("Zoë Müller (actor)", [["Zoe Muller"]]).right["nld"]) == 0
