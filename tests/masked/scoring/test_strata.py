"""Test the scores split by a column of the examples."""

import numpy as np
import pyarrow
import pytest

from goldrank import score_hits
from goldrank.errors import InputError
from goldrank.masked.scoring.levels import score_predictions
from goldrank.masked.scoring.strata import split_by


@pytest.fixture(scope="module")
def scores():
    """Score six pages with two examples each, of one and two masks; only the guesses for even pages are right."""
    rows = [
        {
            "page": str(page),
            "sequence": sequence,
            "mask": mask,
            "title": "Ada Lovelace",
            "guesses": ["Ada Lovelace" if page % 2 == 0 else "Alan Turing"],
            "scores": [0.5],
            "masks": sequence + 1,
            "length": 100 * page + sequence,
            "type": "original",
            "views": None if page == 5 else page // 2,
            "field": ("science", "art", "science", "sport", "science", None)[page],
        }
        for page in range(6)
        for sequence in range(2)
        for mask in range(sequence + 1)
    ]
    return score_predictions(pyarrow.Table.from_pylist(rows))


def labels(strata):
    return [stratum.label for stratum in strata]


def test_few_distinct_numbers_each_get_a_stratum(scores):
    strata = split_by(scores, "masks")
    assert labels(strata) == ["1", "2"]
    assert [len(stratum.hits["mask"]) for stratum in strata] == [6, 12]
    assert [len(stratum.hits["example"]) for stratum in strata] == [6, 6]


def test_many_numbers_are_cut_into_ranges_of_about_equal_size(scores):
    strata = split_by(scores, "length", bins=3)
    assert labels(strata) == ["below 101", "101 to below 301", "301 and more"]
    assert sum(int(stratum.examples.sum()) for stratum in strata) == 12
    assert [int(stratum.examples.sum()) for stratum in strata] == [3, 4, 5]


def test_words_come_by_frequency_and_the_rare_ones_together(scores):
    strata = split_by(scores, "field", bins=1)
    assert labels(strata) == ["science", "other", "unknown"]
    assert [len(stratum.hits["page"]) for stratum in strata] == [3, 2, 1]


def test_missing_numbers_have_a_stratum_of_their_own(scores):
    strata = split_by(scores, "views")
    assert labels(strata) == ["0", "1", "2", "unknown"]
    assert strata[-1].hits["page"].queries == ["5"]


def test_pages_are_split_only_where_each_lies_in_one_stratum(scores):
    assert all("page" in stratum.hits for stratum in split_by(scores, "field"))
    assert not any("page" in stratum.hits for stratum in split_by(scores, "masks"))


def test_pages_without_rows_in_a_stratum_do_not_count_as_wrong(scores):
    science = split_by(scores, "field", bins=3)[0]
    for hits in science.hits.values():
        assert hits.queries == ["0", "2", "4"]
        assert score_hits(hits, "hits@1")["hits@1"].mean == 1.0


def test_every_row_is_in_exactly_one_stratum(scores):
    for by in ("masks", "length", "type", "views", "field"):
        counts = np.sum([stratum.examples for stratum in split_by(scores, by, bins=2)], axis=0)
        assert set(counts.tolist()) == {1}


def test_one_range_holds_all(scores):
    assert labels(split_by(scores, "length", bins=1)) == ["all"]


@pytest.mark.parametrize(
    ("by", "bins", "message"),
    [
        ("lenght", 5, "did you mean 'length'"),
        ("length", 0, "bins=0 is not"),
    ],
)
def test_what_cannot_be_split_is_refused(scores, by, bins, message):
    with pytest.raises(InputError, match=message):
        split_by(scores, by, bins)
