"""Test how chunks are made from pages: detection of mentions, masking and splitting."""

import json
import re
import sys
from importlib.resources import files
from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.errors import InputError, MissingExtraError
from goldrank.masked.examples.checks import check_chunks
from goldrank.masked.examples.chunks import MASK, Chunk
from goldrank.masked.examples.cutting import Masked, cut
from goldrank.masked.examples.files import read_chunks, write_chunks
from goldrank.masked.examples.masking import MaskingCounts, mask_page, mask_pages
from goldrank.masked.examples.mentions import find_mentions
from goldrank.masked.examples.ner import ner_finder
from goldrank.masked.examples.pages import Page, read_pages
from goldrank.masked.names.matching import Person


def masked(title, text, *names):
    return Masked.of(text, find_mentions(text, title, names)).text


MENTIONS = [
    # Full and partial names, with punctuation in and around them; mentions are in brackets.
    ("Lise Meitner", "[Lise Meitner] met Otto Hahn, as [Meitner] said and [Lise] knew."),
    ("Lise Meitner", "[Meitner]'s work, [MEITNER]’S fame."),
    ("Casey Jones", "The [Jones]' house"),
    ("Thomas Young (scientist)", "Dr. [Young] and Dr [Young], the young man"),
    ("John F. Kennedy", "[J. F. Kennedy], [J.F. Kennedy], [John F.] and [John Fitzgerald Kennedy]"),
    ("Martin Luther King Jr.", "Then [Martin Luther King Jr.] spoke."),
    ("Alexander von Humboldt", "[Von Humboldt] and [von Humboldt]"),
    ("Alexander von Humboldt", "The [Humboldt] Current, the [Humboldt]-era maps, pro-[Humboldt]"),
    ("Irène Joliot-Curie", "[Irene Joliot Curie] or [Joliot-Curie]"),
    ("Émilie du Châtelet", "[Emilie du Chatelet]; [E\u0301milie]"),
    ("Flann O'Brien", "[O’Brien] wrote"),
    ("Yusuf al-Karmuzi", "[Al-Karmuzi] slept. So [al-Karmuzi] said."),
    ("bell hooks", "[bell hooks] taught; [hooks] wrote."),
    ("Siyaka", "the grant of [Siyaka]'s son"),
    ("Aldric III of Vennmark", "King [Aldric], [Aldric III]'s bridge, the [Aldric] Bridge"),
    ("Lise Meitner", "When [Meitner] came, The [Meitner] Prize was founded."),
    ("Lise Meitner", "She was a physicist. Physicist [Meitner] worked."),
    ("Irène Joliot-Curie", "In the Radium Institute [Irène] met him; in Berlin [Joliot-Curie] did not."),
    ("Artemisia Gentileschi", "She painted for Charles I. [Artemisia]'s letters survive."),
    ("Hugh Jass", "[Jass],\n[Hugh]\n[Hugh Jass]"),
    # Names of other people, and words that only look like the name.
    ("Alexander von Humboldt", "His brother Wilhelm von Humboldt and Margarethe zu Humboldt"),
    ("Alexander von Humboldt", "Alexander Graham Bell and Alexander von Tauberstein"),
    ("John F. Kennedy", "Robert Kennedy, R. Kennedy and Robert F. Kennedy"),
    ("Quah Mei-Lan", "Her nephew Quah Teng Huat argued."),
    ("Pedro II of Brazil", "his father, Pedro I, left Brazil"),
    ("Henry VIII", "Henry VII built it, Henry V did not."),
    ("Johann Strauss II", "Josef Strauss and Johannes Brahms"),
    ("Rose Miller", "The rose of the miller rose; Rosewood, Millers"),
    ("May Winter", "She may come in May, each May, on 3 May and on May 3, in winter."),
    ("Peter Muller", "educated at St Peter's College"),
    ("Alexander von Humboldt", "von der Tann and Von"),
    ("Irène Joliot-Curie", "Marie Curie, Ève Curie and Frédéric Joliot"),
]


@pytest.mark.parametrize(("title", "marked"), MENTIONS)
def test_the_persons_mentions_are_masked_and_nothing_else(title, marked):
    text = marked.replace("[", "").replace("]", "")
    assert masked(title, text) == re.sub(r"\[.*?\]", MASK, marked)


def test_other_names_of_the_page_are_masked_where_they_stand_whole():
    text = "Muhammad ibn Abdallah, called Ibn Battuta, met Sultan Muhammad bin Tughluq."
    assert (
        masked("Ibn Battuta", text, "Muhammad ibn Abdallah")
        == "<mask>, called <mask>, met Sultan Muhammad bin Tughluq."
    )
    assert masked("Ibn Battuta", text) == "Muhammad ibn Abdallah, called <mask>, met Sultan Muhammad bin Tughluq."


def test_a_page_becomes_chunks_with_the_columns_of_the_page():
    page = Page("7", "Lise Meitner", "Lise sat. Nobody came at all. Meitner's pen.", ("Lise",), {"views": 3, "size": 1})
    counts = MaskingCounts()
    chunks = mask_page(page, size=20, counts=counts)
    assert chunks == [
        Chunk("7", 0, "Lise Meitner", "<mask> sat. ", ("Lise",), "original", 20, {"names": ["Lise"], "views": 3}),
        Chunk("7", 2, "Lise Meitner", "<mask>'s pen.", ("Meitner",), "original", 20, {"names": ["Lise"], "views": 3}),
    ]
    assert counts == MaskingCounts(pages=1, chunks=2, masks=2, dropped=1, unnamed=0)


def test_pages_that_never_name_the_person_are_counted():
    counts = MaskingCounts()
    (chunk,) = mask_pages([Page("1", "Lise", "Nobody."), Page("2", "Otto", "Otto.")], counts)
    assert chunk.page == "2"
    assert counts == MaskingCounts(pages=2, chunks=1, masks=1, dropped=1, unnamed=1)


def test_aliases_of_a_table_are_masked_for_their_title():
    pages = [Page("1", "Sofia Kovalevskaya", "Sonya sat."), Page("2", "Otto Hahn", "Sonya and Otto.")]
    chunks = list(mask_pages(pages, aliases={"Sofia Kovalevskaya": ["Sonya"]}))
    assert [chunk.text for chunk in chunks] == ["<mask> sat.", "Sonya and <mask>."]


def test_the_type_of_a_page_is_kept():
    (chunk,) = mask_page(Page("1", "Otto", "Otto sat.", extra={"type": "paraphrased"}))
    assert (chunk.kind, chunk.extra) == ("paraphrased", {})


def test_a_text_with_masks_in_it_is_refused():
    with pytest.raises(InputError, match="page '9': the text already contains <mask>; give pages without masks"):
        mask_page(Page("9", "Otto", "Otto met <mask>."))


def test_a_size_that_holds_no_mask_is_refused():
    with pytest.raises(InputError, match="chunks of 5 characters cannot hold a mask"):
        mask_page(Page("9", "Otto", "Otto."), size=5)


def test_merging_joins_masks_with_blanks_between_and_keeps_lines_apart():
    masked = Masked(("", " ", "\n", "", ", ", "."), ("Lise", "Meitner", "Li", "se", "Meitner"))
    merged = masked.merged()
    assert merged.text == "<mask>\n<mask>, <mask>."
    assert merged.hidden == ("Lise Meitner", "Lise", "Meitner")
    assert merged.restored == masked.restored
    assert merged.merged() == merged


def test_merging_is_asked_for_when_chunks_are_made():
    page = Page("7", "Lise Meitner", "By Lise\u00a0 Meitner.")

    def finder(text, title, names):
        return [(3, 7), (9, 16)]

    assert mask_page(page, finder=finder)[0].masks == ("Lise", "Meitner")
    (chunk,) = mask_page(page, finder=finder, merge=True)
    assert (chunk.text, chunk.masks) == ("By <mask>.", ("Lise\u00a0 Meitner",))


def parts_of(text, size):
    return [part.text for part in cut(Masked((text,), ()), size)]


def test_parts_end_where_sentences_do():
    assert parts_of("One two. Three four! Five?", 20) == ["One two. ", "Three four! Five?"]
    assert parts_of('He said "Go." Then left.', 20) == ['He said "Go." ', "Then left."]
    assert parts_of("Heading\nText goes on here", 20) == ["Heading\n", "Text goes on here"]


def test_full_stops_of_initials_and_short_words_end_no_sentence():
    assert parts_of("Ask Dr. Who or J. Doe here", 18) == ["Ask Dr. Who or J. ", "Doe here"]
    assert parts_of("All of it. Ask Dr. Who or J. Doe", 22) == ["All of it. ", "Ask Dr. Who or J. Doe"]
    assert parts_of("In version 3.14 of it. Yes", 25) == ["In version 3.14 of it. ", "Yes"]


def test_long_sentences_are_cut_between_words_and_long_words_inside_but_no_mask_is():
    assert parts_of("aaa bbb ccc", 8) == ["aaa bbb ", "ccc"]
    assert parts_of("abcdefghij", 6) == ["abcdef", "ghij"]
    assert [part.text for part in cut(Masked(("abcd", "efgh"), ("X",)), 7)] == ["abcd", "<mask>e", "fgh"]


NAMES = ["Lise", "Meitner", "Lise Meitner", "Meitner's", "L. Meitner", "Otto Meitner", "von", "Prize", "II"]
TEXTS = st.lists(
    st.one_of(
        st.sampled_from(NAMES), st.sampled_from([". ", ", ", "\n", " ", "-", "  ", "…", "'s "]), st.text(max_size=6)
    ),
    max_size=40,
).map(" ".join)


@given(TEXTS.filter(lambda text: MASK not in text), st.integers(len(MASK), 60), st.booleans())
def test_restoring_the_masks_gives_the_page_back(text, size, merge):
    spans = find_mentions(text, "Lise Meitner")
    assert all(start < end for start, end in spans)
    assert all(left[1] <= right[0] for left, right in pairwise(spans))
    person = Person("Lise Meitner")
    assert all(person.match(text[start:end]) for start, end in spans)
    whole = Masked.of(text, spans)
    parts = cut(whole.merged() if merge else whole, size)
    assert "".join(part.restored for part in parts) == text
    assert all(len(part.text) <= size and part.text.count(MASK) == len(part.hidden) for part in parts)
    chunks = mask_page(Page("7", "Lise Meitner", text), size=size, merge=merge)
    assert {chunk.sequence: chunk.text for chunk in chunks} == {
        n: part.text for n, part in enumerate(parts) if part.hidden
    }
    assert all(Masked(chunk.pieces, chunk.masks).restored == parts[chunk.sequence].restored for chunk in chunks)


@given(st.text(max_size=80), st.integers(len(MASK), 30))
def test_any_text_is_cut_into_parts_of_the_size(text, size):
    parts = parts_of(text.replace(MASK, ""), size)
    assert "".join(parts) == text.replace(MASK, "")
    assert all(0 < len(part) <= size for part in parts) or parts == [""]


LETTERED = st.text(min_size=1, max_size=20).filter(lambda title: any(map(str.isalpha, title)))
PIECES = st.sampled_from(["von ", "Jr.", "II", "(x)", ", ", "O'", "-", "J. ", "St ", "the ", "de ", "Ann ", "ann", "É"])


@given(st.one_of(LETTERED, st.lists(PIECES, min_size=1).map("".join)), st.lists(PIECES).map("".join), st.text())
def test_any_title_can_be_searched_for_in_any_text(title, text, more):
    if any(map(str.isalpha, title)):
        whole = f"{text} {title} {more} {title}'s {text}"
        spans = find_mentions(whole, title, [text])
        assert Masked.of(whole, spans).restored == whole
        check_chunks([Chunk("7", 0, title, whole, ())])


def demo_pages():
    return list(read_pages(files("goldrank") / "demo" / "persons.jsonl"))


def test_every_name_listed_for_our_own_pages_is_found_where_it_names_the_person():
    """Parts of listed names that remain in the demo pages belong to relatives and namesakes."""
    left = {}
    for page in demo_pages():
        text = masked(page.title, page.text, *page.names)
        assert MASK in text
        words = {word for name in page.names for word in name.split() if word[0].isupper() and len(word) > 2}
        left[page.id] = sorted(word for word in words if f" {word} " in text.replace(",", " ").replace(".", " "))
    assert {page: words for page, words in left.items() if words} == {
        "n02": ["Humboldt"],
        "n03": ["Pedro"],
        "n04": ["Gentileschi"],
        "n05": ["Cajal", "Ramón"],
        "n07": ["Nansen"],
        "n08": ["Ibn", "Muhammad"],
        "n09": ["Merian"],
        "n10": ["Cruz"],
        "n12": ["Leeuwenhoek"],
        "n13": ["Mbande", "Sousa"],
        "n15": ["Curie"],
        "n16": ["Young"],
        "n17": ["Strauss"],
        "n18": ["Châtelet"],
        "n20": ["Wierzgoń"],
        "n21": ["Hollin"],
        "n22": ["Aldric"],
        "n24": ["Viñuela"],
        "n25": ["Kisegawa"],
        "n26": ["Ostrávková"],
        "n27": ["Tauberstein"],
        "n28": ["Quah"],
        "n29": ["May"],
    }


def test_made_chunks_can_be_written_and_read_again(tmp_path):
    chunks = list(mask_pages(demo_pages(), size=300))
    assert write_chunks(chunks, tmp_path / "made.jsonl.gz") == len(chunks)
    assert list(read_chunks(tmp_path / "made.jsonl.gz")) == chunks
    assert max(len(chunk.text) for chunk in chunks) <= 300


def test_masking_the_real_sample_again_takes_what_was_left(shared_data):
    chunks = read_chunks(shared_data / "masked" / "wiki_mask_filling" / "small-test-mask.jsonl")
    texts = [(chunk.title, Masked(chunk.pieces, chunk.masks).restored) for chunk in chunks]
    again = [(title, masked(title, text)) for title, text in texts]
    # The other masks hide relatives and namesakes (Sun Quan for Sun He), or parts of words.
    assert sum(MASK in text for _, text in again) > 335
    assert not any(find_mentions(text, title) for title, text in again)


class FakeSpacy:
    """Replacement for spaCy that finds the given spans, including possessives, as a real model would."""

    def __init__(self, spans):
        self.spans = spans

    def load(self, model):
        if model != "en_core_web_sm":
            raise OSError(f"no model {model}")
        return lambda text: SimpleNamespace(
            ents=[
                SimpleNamespace(label_=label, start_char=text.index(name), end_char=text.index(name) + len(name))
                for name, label in self.spans
            ]
        )


def test_a_model_that_recognises_persons_can_find_the_mentions(monkeypatch):
    spans = [("Lise Meitner's", "PERSON"), ("Otto Hahn", "PERSON"), ("Meitner Haus", "ORG")]
    monkeypatch.setitem(sys.modules, "spacy", FakeSpacy(spans))
    page = Page("7", "Lise Meitner", "Lise Meitner's friend Otto Hahn left the Meitner Haus.")
    (chunk,) = mask_page(page, finder=ner_finder())
    assert (chunk.text, chunk.masks) == ("<mask>'s friend Otto Hahn left the Meitner Haus.", ("Lise Meitner",))
    (chunk,) = mask_page(
        Page("7", "Otto Frisch", "Lise Meitner's friend Otto Hahn left the Meitner Haus."),
        finder=ner_finder(masking="parts"),
    )
    assert chunk.masks == ("Otto Hahn",)
    with pytest.raises(InputError, match="no spaCy model 'none' here; run: python -m spacy download none"):
        ner_finder("none")


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtraError, match=r"goldrank\[ner\]"):
        ner_finder()


def test_extra_columns_reach_the_file(tmp_path):
    page = Page("7", "Otto", "Otto.", extra={"views": 3})
    write_chunks(mask_page(page), tmp_path / "made.jsonl")
    assert json.loads((tmp_path / "made.jsonl").read_text())["views"] == 3
