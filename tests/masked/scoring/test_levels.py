"""Test scoring on its three levels: masks, examples and pages."""

import numpy as np
import pyarrow
import pytest

from goldrank import score_hits
from goldrank.errors import InputError
from goldrank.masked.names.patterns import Tier
from goldrank.masked.scoring.levels import LEVELS, Rules, score_predictions
from goldrank.stats import aggregate

# Page 7 has two examples with three masks in total; page 10 has one example with one mask.
ROWS = [
    ("7", 0, 0, "Ada Lovelace", ["Ada", "Grace Hopper"], [0.6, 0.3]),
    ("7", 0, 1, "Ada Lovelace", ["Grace Hopper", "Lovelace", "he"], [0.5, 0.3, 0.1]),
    ("7", 2, 0, "Ada Lovelace", ["Grace Hopper"], [0.9]),
    ("10", 1, 0, "Alan Turing", [], []),
]


def table(rows, **extra):
    columns = zip(*rows, strict=True)
    names = ("page", "sequence", "mask", "title", "guesses", "scores")
    data = dict(zip(names, map(list, columns), strict=True))
    data["guesses"] = pyarrow.array(data["guesses"], pyarrow.list_(pyarrow.string()))
    data["scores"] = pyarrow.array(data["scores"], pyarrow.list_(pyarrow.float64()))
    return pyarrow.table(data | extra)


@pytest.fixture(scope="module")
def scores():
    columns = {"masks": [2, 2, 1, 3], "length": [100, 100, 80, 60], "type": ["original"] * 4}
    return score_predictions(table(ROWS, **columns), Rules.of("strict"))


def test_each_level_has_a_query_per_page_and_an_item_per_row(scores):
    for name in LEVELS:
        assert scores.levels[name].hits.queries == ["10", "7"]
    assert scores.levels["mask"].hits.items == ["1:0", "0:0", "0:1", "2:0"]
    assert scores.levels["example"].hits.items == ["1", "0", "2"]
    assert scores.levels["page"].hits.items == ["Alan Turing", "Ada Lovelace"]


def test_the_right_name_is_ranked_among_guesses_and_among_groups(scores):
    assert scores.levels["mask"].hits.above.tolist() == [-1, 0, 1, -1]
    # Ada (0.6) and Lovelace (0.3) are two answers of the same example, because no guess joins the two names.
    assert scores.levels["example"].hits.above.tolist() == [-1, 1, -1]
    assert scores.levels["page"].hits.above.tolist() == [-1, 1]


def test_gold_pooling_takes_all_right_guesses_for_one_answer():
    scores = score_predictions(table(ROWS), Rules(pool="gold"))
    example = scores.levels["example"]
    assert example.right.tolist() == [False, True, False]
    assert example.margin[1] == pytest.approx((0.9 - 0.8) / 1.8)
    assert example.confidence[1] == pytest.approx(0.9 / 1.8)


def test_depths_are_the_longest_list_and_the_most_groups(scores):
    assert scores.levels["mask"].hits.depth.tolist() == [0, 3]
    assert scores.levels["example"].hits.depth.tolist() == [0, 3]
    assert scores.levels["page"].hits.depth.tolist() == [0, 3]


def test_rows_point_to_their_example(scores):
    assert scores.levels["mask"].example.tolist() == [0, 1, 1, 2]
    assert scores.levels["example"].example.tolist() == [0, 1, 2]
    assert scores.levels["page"].example.tolist() == [-1, -1]
    assert scores.examples["page"].tolist() == ["10", "7", "7"]
    assert scores.examples["sequence"].tolist() == [1, 0, 2]
    assert scores.examples["length"].tolist() == [60, 100, 80]


def test_what_was_not_answered_or_is_not_there_is_counted(scores):
    counts = scores.counts
    assert (counts.pages, counts.examples, counts.masks, counts.unanswered, counts.absent) == (2, 3, 4, 1, 2)
    assert np.isnan(scores.levels["mask"].confidence[0])
    assert not scores.levels["mask"].right[0]


def test_the_confidence_of_a_mask_is_the_score_of_its_first_answer(scores):
    assert scores.levels["mask"].confidence[1:].tolist() == [0.6, 0.5, 0.9]


def test_a_sample_has_the_mean_of_each_page_weighted_by_its_rows(scores):
    level = scores.levels["mask"]
    sample = level.sample(level.right)
    assert aggregate(sample.values, sample.weights) == pytest.approx(1 / 4)
    assert aggregate(sample.values, None) == pytest.approx((0 + 1 / 3) / 2)


def test_rows_without_a_value_do_not_weigh(scores):
    level = scores.levels["mask"]
    sample = level.sample(level.confidence)
    assert aggregate(sample.values, sample.weights) == pytest.approx((0.6 + 0.5 + 0.9) / 3)


def test_rank_metrics_over_hits_give_the_share_of_right_first_answers(scores):
    for level in scores.levels.values():
        metrics = score_hits(level.hits, ["hits(average=items)@1", "hits(average=queries)@1"], ties="input")
        sample = level.sample(level.right)
        for weights, metric in zip((sample.weights, None), metrics.values(), strict=True):
            assert metric.mean == pytest.approx(aggregate(sample.values, weights))


def test_the_other_reading_is_scored_beside_the_one_asked_for(scores):
    source = score_predictions(table(ROWS))
    assert (source.rules, source.beside.rules) == (Rules(), Rules.of("strict"))
    assert (scores.rules, scores.beside.rules) == (Rules.of("strict"), Rules())
    for name in LEVELS:
        for first, second in ((source, scores.beside), (source.beside, scores)):
            assert first.levels[name].hits.above.tolist() == second.levels[name].hits.above.tolist()
            assert np.array_equal(first.levels[name].margin, second.levels[name].margin, equal_nan=True)
    # Only pooling by the gold adds the score of Ada to that of Lovelace.
    assert source.levels["example"].right.tolist() == [False, True, False]
    assert source.beside.levels["example"].right.tolist() == [False, False, False]
    assert source.beside.counts is source.counts


def test_a_profile_is_changed_by_single_rules_but_not_turned_into_the_other():
    assert Rules.of("source", pool="alias") == Rules("tokens", Tier.GIVEN, "alias")
    assert Rules.of("strict", 3, tier="surname") == Rules("names", Tier.SURNAME, "alias", 3)
    assert Rules.of(matcher="names", pool="alias").profile == "strict"
    with pytest.raises(InputError) as error:
        Rules.of("source", pool="alias", matcher="names")
    assert str(error.value) == (
        "pool alias and matcher names turn the profile source into strict; use the profile strict alone"
    )
    with pytest.raises(InputError, match="there is no profile 'stric'; did you mean 'strict'"):
        Rules.of("stric")


@pytest.mark.parametrize(
    ("matcher", "tier"), [("tokens", "all"), ("tokens", "initial"), ("surname", "surname"), ("seed", "exact")]
)
def test_a_tier_without_effect_is_refused(matcher, tier):
    with pytest.raises(InputError) as error:
        Rules.of(matcher=matcher, tier=tier)
    assert str(error.value) == (
        f"the matcher {matcher} does not distinguish the tier {tier}; use the matcher names (--profile strict), "
        "which has every tier, or omit the tier"
    )


def test_only_the_first_k_guesses_count():
    level = score_predictions(table(ROWS), Rules(k=1)).levels["mask"]
    assert level.hits.above.tolist() == [-1, 0, -1, -1]
    assert level.hits.depth.tolist() == [0, 1]


def test_aliases_count_as_the_person():
    rows = [("1", 0, 0, "Ada Lovelace", ["Augusta King"], [0.5])]
    assert not score_predictions(table(rows)).levels["page"].right[0]
    assert score_predictions(table(rows), aliases={"Ada Lovelace": ["Augusta King"]}).levels["page"].right[0]


def test_the_most_frequent_first_answers_are_counted(scores):
    assert scores.frequent == {"Grace Hopper": 2, "Ada": 1}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"matcher": "nmaes"}, "did you mean 'names'"), ({"pool": "all"}, "no pool 'all'"), ({"k": 0}, "k=0 is not")],
)
def test_rules_that_do_not_exist_are_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        Rules(**wrong)
