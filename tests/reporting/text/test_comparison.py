"""Verdicts: who beats whom by how much, in a sentence that reads the same whichever run comes first."""

import pytest

from goldrank import Gold, Run
from goldrank.comparing import compare
from goldrank.reporting.text.comparison import verdict

GOLD = Gold({f"q{number}": {"right": 1} for number in range(40)})


def ranked(place):
    return Run({f"q{n}": {f"x{i}": 9.0 - i for i in range(place(n))} | {"right": 0.5} for n in range(40)})


@pytest.mark.parametrize("order", [("good", "bad"), ("bad", "good")])
def test_the_size_of_a_win_and_its_interval_are_positive_whoever_comes_first(order):
    runs = {"good": ranked(lambda n: n % 3 == 0), "bad": ranked(lambda n: 2 + n % 4)}
    made = compare(GOLD, {name: runs[name] for name in order}, ["mrr"])
    said = verdict(made.pairs[0], made)
    assert said.startswith("good beats bad on mrr by 0.")
    assert "−" not in said
    assert "+" not in said


def test_where_the_data_cannot_tell_the_sentence_says_what_they_could_show():
    made = compare(GOLD, {"one": ranked(lambda n: n % 2), "other": ranked(lambda n: (n + 1) % 2)}, ["mrr"])
    said = verdict(made.pairs[0], made)
    assert said.startswith("On mrr the data cannot tell other from one: ")
    assert "40 queries could show a difference of" in said
