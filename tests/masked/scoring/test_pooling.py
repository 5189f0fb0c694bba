"""Test pooling of guesses into answers and the rank of the right answer."""

import math
from collections import namedtuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank import Gold, Run
from goldrank.masked.examples.chunks import Guesses
from goldrank.masked.names.aliases import group_aliases
from goldrank.masked.names.matching import MATCHERS, Person
from goldrank.masked.names.patterns import Tier
from goldrank.masked.scoring.levels import Rules
from goldrank.masked.scoring.pooling import (
    NO_ANSWER,
    Tiers,
    counted_guesses,
    pool_names,
    rank_gold,
    same_person,
    scores_by_name,
)

# The guesses of the worked example in the definition; an empty name marks a dropped one.
KENNEDY = [
    Guesses(("John Fitzgerald Kennedy", "Kennedy", "John F. Kennedy", "", "He"), (0.45, 0.12, 0.11, 0.15, 0.12)),
    Guesses(("He", "Kennedy", "Trumann", "His", "Junior"), (0.62, 0.22, 0.21, 0.12, 0.05)),
    Guesses(("Margareth Kennedy", "Kennedy", "", "together", "he"), (0.48, 0.44, 0.31, 0.23, 0.06)),
]


STRICT = Rules.of("strict")


Group = namedtuple("Group", "name total right members named")


def pool(masks, rules, tiers):
    return pool_names(scores_by_name(masks), rules, tiers)


def pooled(guesses, rules, matcher):
    """Return the groups of all guesses, best first."""
    masks = [counted_guesses(mask_guesses.names, mask_guesses.scores, rules.k) for mask_guesses in guesses]
    result = pool(masks, rules, Tiers(matcher))
    columns = (result.names, result.totals, result.right, map(tuple, result.members), result.named)
    groups = [Group(*values) for values in zip(*columns, strict=True)]
    return [groups[at] for at in result.order]


def totals(groups):
    return {group.name: pytest.approx(group.total, abs=1e-12) for group in groups}


@pytest.mark.parametrize("matcher", ["tokens", "seed", "original"])
def test_the_worked_example_of_the_definition_comes_out_under_gold_pooling(matcher):
    groups = pooled(KENNEDY, Rules(matcher=matcher), MATCHERS[matcher]("John F. Kennedy", ()))
    assert [round(group.total, 10) for group in groups] == [1.82, 0.80, 0.23, 0.21, 0.12, 0.05]
    assert [group.name for group in groups[1:]] == ["he", "together", "trumann", "his", "junior"]
    assert [group.right for group in groups] == [True] + [False] * 5


def test_alias_pooling_joins_wrong_names_as_it_joins_right_ones():
    guesses = [Guesses(("Truman", "Kennedy"), (0.4, 0.5)), Guesses(("Harry Truman", "John Kennedy"), (0.4, 0.2))]
    fair = pooled(guesses, STRICT, Person("John F. Kennedy"))
    assert totals(fair) == {"Harry Truman": 0.8, "John Kennedy": 0.7}
    original = pooled(guesses, Rules(pool="gold"), Person("John F. Kennedy"))
    assert original[0].right
    assert totals(original) == {"John Kennedy": 0.7, "truman": 0.4, "harry truman": 0.4}


def test_by_the_guesses_alone_the_worked_example_gives_one_kennedy_the_surname_and_he_is_nobody():
    groups = pooled(KENNEDY, STRICT, Person("John F. Kennedy"))
    assert [(group.name, round(group.total, 10), group.named, group.right) for group in groups] == [
        ("John Fitzgerald Kennedy", 1.34, True, True),
        ("Margareth Kennedy", 0.48, True, False),
        ("Trumann", 0.21, True, False),
        ("He", 0.80, False, False),
        ("together", 0.23, False, False),
        ("His", 0.12, False, False),
        ("Junior", 0.05, False, False),
    ]
    assert groups[0].members == ("John Fitzgerald Kennedy", "Kennedy", "John F. Kennedy")


def test_a_word_that_is_no_name_is_neither_an_answer_nor_a_rival():
    guesses = [Guesses(("He", "The President", "Ada Lovelace", "Grace"), (0.5, 0.2, 0.2, 0.1))]
    result = pool([(guesses[0].names, guesses[0].scores)], STRICT, Tiers(Person("Ada Lovelace")))
    assert result.rank()[:5] == (0, 0, 0, 0, True)
    assert result.rank().margin == pytest.approx(0.1 / 0.3)
    assert (result.size, result.led_by_no_name) == (2, True)
    assert pool([(("he", "who"), (0.5, 0.1))], STRICT, Tiers(Person("Ada Lovelace"))).rank() is NO_ANSWER
    assert not pooled(guesses, Rules(pool="gold"), Person("Ada Lovelace"))[0].right


def names_among(*guesses):
    groups = pooled(
        [Guesses(guesses, tuple(1 / n for n in range(1, len(guesses) + 1)))], STRICT, Person("Ada Lovelace")
    )
    return {member for group in groups if group.named for member in group.members}


def test_names_that_are_words_too_stay_names_where_a_predictor_writes_no_capitals():
    assert names_among("will", "mark", "may", "rose", "king", "born", "he", "the president", "it") == {
        "will", "mark", "may", "rose", "king", "born",
    }  # fmt: skip


def test_words_in_lower_case_are_no_names_where_another_guess_has_a_capital():
    assert names_among("football", "kennedy", "John Kennedy", "毛泽东", "1898", "bell") == {
        "kennedy", "John Kennedy", "毛泽东", "1898",
    }  # fmt: skip
    # A capitalised pronoun does not show that the predictor capitalises names.
    assert names_among("He", "kennedy") == {"kennedy"}


MANY = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "Kennedy",
                "kennedy",
                "John Kennedy",
                "Robert Kennedy",
                "John F. Kennedy",
                "J. Kennedy",
                "John",
                "He",
                "he",
            ]
        ),
        st.sampled_from([0.1, 0.2, 0.3, 1 / 3]),
    ),
    max_size=12,
)


@given(MANY, st.randoms(use_true_random=False))
def test_no_order_of_the_guesses_changes_the_groups_of_a_shared_surname(scored_names, random):
    def groups(pairs):
        names, scores = zip(*pairs, strict=True) if pairs else ((), ())
        answers = pooled([Guesses(names, scores)], STRICT, Person("John F. Kennedy"))
        return {(group.name, group.total, group.named, group.right, frozenset(group.members)) for group in answers}

    assert groups(random.sample(scored_names, len(scored_names))) == groups(scored_names)


def test_the_fullest_name_decides_whether_a_group_is_right():
    guesses = [Guesses(("Truman", "Bess Truman"), (0.9, 0.1))]
    [group] = pooled(guesses, STRICT, Person("Harry S. Truman"))
    assert (group.name, group.right, group.members) == ("Bess Truman", False, ("Truman", "Bess Truman"))
    assert pooled(guesses, Rules(pool="gold"), Person("Harry S. Truman"))[0].right


WORDS = ("John", "jean", "Vital", "Jean-Vital", "JeanVital", "de la", "Cruz", "delacruz", "O'Brien", "Müller", "J.",
         "JFK", "J. F. K.", "the Great", "of York", "II", "Sir", "he", "...", "王", "muller's")  # fmt: skip


@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join), unique=True, max_size=12))
def test_names_that_share_no_word_can_be_left_out_of_grouping(names):
    expected = {}
    scores = {name: [len(name) / 7, 0.1] for name in names}
    for name, number in zip(names, group_aliases(names, list(scores.values())), strict=True):
        expected.setdefault(number, []).append(name)
    assert same_person(scores) == list(expected.values())


def test_only_the_first_k_guesses_of_each_mask_count():
    [group] = pooled(KENNEDY[:1], Rules(k=1), Person("John F. Kennedy"))
    assert group.members == ("John Fitzgerald Kennedy",)


def test_empty_guesses_form_no_group_and_keep_the_slot_of_a_cut():
    assert counted_guesses(("", "he", " "), (0.5, 0.3, 0.2), None) == (["he"], [0.3])
    assert counted_guesses(("", "he"), (0.5, 0.3), 1) == ([], [])


def test_the_tier_asked_for_is_the_least_that_is_right():
    guesses = [Guesses(("John",), (0.4,))]
    person = Person("John F. Kennedy")
    assert pooled(guesses, Rules(tier=Tier.GIVEN), person)[0].right
    assert not pooled(guesses, Rules(tier=Tier.SURNAME), person)[0].right


@given(
    st.permutations(
        [(name, score) for guesses in KENNEDY for name, score in zip(guesses.names, guesses.scores, strict=True)]
    )
)
def test_no_order_of_the_guesses_changes_a_sum_by_a_bit(order):
    rules, person = STRICT, Person("John F. Kennedy")
    before = {group.total for group in pooled(KENNEDY, rules, person)}
    names, scores = zip(*order, strict=True)
    assert {group.total for group in pooled([Guesses(names, scores)], rules, person)} == before


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=2), st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1),
    st.data(),
)
def test_the_place_of_one_right_answer_is_that_of_a_ranked_item(scores, data):
    right = data.draw(st.sampled_from(sorted(scores)))
    place = rank_gold(list(scores), list(scores.values()), [name == right for name in scores])
    hits = Run({"q": scores}).hits(Gold({"q": {right: 1}}))
    expected = [int(getattr(hits, name)[0]) for name in ("above", "tied", "tied_docid", "tied_input")]
    assert list(place[:4]) == expected
    assert place.right == (place.above + place.tied_input == 0)


def test_other_right_answers_are_no_rivals():
    assert rank_gold(["b", "c", "a"], [0.3, 0.5, 0.3], [False, True, True])[:4] == (0, 0, 0, 0)
    assert rank_gold(["b", "d", "a"], [0.3, 0.3, 0.3], [False, True, True])[:4] == (0, 1, 0, 1)


def test_the_order_of_the_scores_counts_not_that_of_the_list():
    place = rank_gold(["wrong", "right"], [0.2, 0.7], [False, True])
    assert (place.above, place.right, place.top) == (0, True, 0.7)


def test_the_margin_is_the_lead_over_the_best_wrong_answer_as_a_share_of_all():
    assert rank_gold(["a", "b", "c"], [0.5, 0.2, 0.1], [True, False, False]).margin == pytest.approx(0.3 / 0.8)
    assert rank_gold(["a", "b"], [0.5, 0.3], [False, False]).margin == pytest.approx(-0.5 / 0.8)
    assert rank_gold(["a"], [0.4], [True]).margin == 1.0


def test_no_answer_has_no_place_and_no_confidence():
    assert rank_gold([], [], []) is NO_ANSWER
    assert pool([], Rules(), Tiers(Person("Ada Lovelace"))).rank() is NO_ANSWER
    assert math.isnan(NO_ANSWER.share)


def test_scores_of_zero_or_below_leave_shares_within_bounds():
    assert rank_gold(["a", "b"], [0.0, 0.0], [True, False])[4:] == (True, 0.0, 0.0, 0.0)
    assert rank_gold(["a", "b"], [0.5, -0.5], [True, False]).share == 0.5
