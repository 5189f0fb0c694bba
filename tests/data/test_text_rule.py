"""TextRule makes the text of a document from the declared parts, in their order, and reads no more than it needs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.data.collections import Document
from goldrank.data.text_rule import split_sentences
from goldrank.errors import InputError
from goldrank.tasks import TextRule

ARTICLE = Document("a", "Tokaj", (("", "A sweet wine. It keeps."), ("Soil", "Clay on rock."), ("Empty", " ")))


def test_the_rule_of_the_thesis_is_the_default():
    assert TextRule().text(ARTICLE) == "Tokaj A sweet wine. It keeps. Soil Clay on rock. Empty"


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (TextRule(("title",)), "Tokaj"),
        (TextRule(("text",), " | "), "A sweet wine. It keeps. | Clay on rock."),
        (TextRule(("title", "text"), sections=1), "Tokaj A sweet wine. It keeps."),
        (TextRule(("title", "text"), words=3), "Tokaj A sweet"),
        (TextRule.parse("text+heading"), "A sweet wine. It keeps. Clay on rock. Soil Empty"),
    ],
)
def test_parts_separator_and_limits_are_kept(rule, text):
    assert rule.text(ARTICLE) == text


_WRITTEN = st.sampled_from(["", " ", "\u2003", "a", " b ", "\x1f", "c"])


@given(
    st.builds(Document, st.just("a"), _WRITTEN, st.lists(st.tuples(_WRITTEN, _WRITTEN), max_size=3).map(tuple)),
    st.permutations(["title", "heading", "text"]),
    st.integers(1, 3),
    st.none() | st.integers(1, 2),
)
def test_a_text_joins_the_parts_with_more_than_white_space(document, parts, used, sections):
    rule = TextRule(tuple(parts[:used]), "|", sections)
    titles = [document.title] if "title" in rule.parts else []
    rest = [
        dict(zip(("heading", "text"), section, strict=True))[part]
        for section in document.sections[:sections]
        for part in rule.parts
        if part != "title"
    ]
    assert rule.text(document) == "|".join(part for part in [*titles, *rest] if part.strip())


def test_sections_become_passages_and_sentences():
    assert TextRule().passages(ARTICLE) == ["Tokaj A sweet wine. It keeps.", "Soil Clay on rock.", "Empty"]
    assert TextRule().sentences(ARTICLE) == [
        ["Tokaj", "A sweet wine.", "It keeps."],
        ["Soil", "Clay on rock."],
        ["Empty"],
    ]
    assert TextRule().passages(Document("x")) == []


@pytest.mark.parametrize("parts", ["titel", "", "title+title", "title+"])
def test_unknown_or_repeated_parts_are_refused(parts):
    with pytest.raises(InputError, match="part"):
        TextRule.parse(parts)


@pytest.mark.parametrize("limit", [{"words": 0}, {"sections": -1}])
def test_limits_below_one_are_refused(limit):
    with pytest.raises(InputError, match="keep at least one"):
        TextRule(**limit)


@given(st.text())
def test_sentences_lose_nothing_but_white_space(text):
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())


@given(st.text(), st.integers(1, 5))
def test_a_limit_of_words_is_a_limit_and_keeps_the_start(text, words):
    rule = TextRule(("text",), words=words)
    cut = rule.text(Document.plain("d", text))
    assert len(cut.split()) <= words
    assert text.strip() == "" or text.startswith(cut)
