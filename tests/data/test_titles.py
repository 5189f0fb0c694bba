"""Titles match in every equivalent spelling, and ambiguous titles do not match."""

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from goldrank.data.titles import match_titles, normal_title

titles = st.lists(st.text(min_size=1, max_size=6), unique=True, max_size=8)


@given(st.text())
def test_the_normal_form_is_its_own(title):
    assert normal_title(normal_title(title)) == normal_title(title)


@given(titles, titles)
def test_every_wanted_title_is_either_found_or_missing(wanted, there):
    matched, missing = match_titles(wanted, there)
    assert set(matched) | set(missing) == set(wanted)
    assert not set(matched) & set(missing)
    assert set(matched.values()) <= set(there)
    assert all(matched[title] == title for title in wanted if title in there)


@given(titles)
def test_titles_are_found_in_another_unicode_form(there):
    unique = [title for title in there if sum(normal_title(title) == normal_title(other) for other in there) == 1]
    matched, missing = match_titles([unicodedata.normalize("NFD", title) for title in unique], there)
    assert (len(missing), len(set(matched.values()))) == (0, len(unique))


def test_a_form_of_two_titles_names_neither():
    assert match_titles(["a&b"], ["a&amp;b", "a &b"]) == ({"a&b": "a&amp;b"}, [])
    assert match_titles(["A&B"], ["a&amp;b", "a&b"]) == ({}, ["A&B"])
    assert match_titles(["DOOM"], ["Doom", "doom"]) == ({}, ["DOOM"])
    assert match_titles(["Doom"], ["Doom", "doom"]) == ({"Doom": "Doom"}, [])


def test_no_title_of_the_games_is_lost_to_entities(shared_data):
    gold = json.loads((shared_data / "wikipedia_similarities" / "games_gold.json").read_text(encoding="utf-8"))
    wanted = list(gold) + [title for row in gold.values() for title in row]
    matched, missing = match_titles(wanted, {title.replace("&", "&amp;") for title in wanted})
    assert missing == []
    assert sum(title != spelling for title, spelling in matched.items()) > 0
