"""Test the checks of chunks: each fault is counted once and reported with an example location."""

import json
from dataclasses import asdict, replace

import pytest

from goldrank.errors import InputError
from goldrank.masked.examples.checks import check_chunks, check_file, last_word, leaked_surname
from goldrank.masked.examples.chunks import Chunk
from goldrank.masked.examples.cutting import Masked
from goldrank.masked.examples.files import read_chunks
from goldrank.masked.examples.masking import mask_pages
from goldrank.masked.examples.pages import Page
from goldrank.masked.names.matching import Person


def chunk(text="<mask> sat.", masks=("Lise",), *, page="7", sequence=0, title="Lise Meitner", **extra):
    return Chunk(page, sequence, title, text, tuple(masks), extra=extra)


def found(*chunks, aliases=None):
    return {finding.name: finding.count for finding in check_chunks(chunks, aliases=aliases).findings}


def count(report, name):
    return next((finding.count for finding in report.findings if finding.name == name), 0)


@pytest.fixture
def sample(shared_data):
    return shared_data / "masked" / "wiki_mask_filling" / "small-test-mask.jsonl"


def test_sound_chunks_have_no_findings():
    report = check_chunks([chunk(), chunk(sequence=1), chunk(page="8", title="Otto Hahn", masks=["Hahn"])])
    assert (report.pages, report.chunks, report.masks, report.findings) == (2, 3, 3, ())


@pytest.mark.parametrize(
    ("faulty", "name"),
    [
        (chunk("<mask> <unk> sat.", ["Lise", "Lise"]), "mask counts"),
        (chunk("<mask> met <mask>."), "mask counts"),
        (chunk(title="1789"), "titles without letters"),
        (chunk(title=""), "titles without letters"),
        (chunk("<mask> met Wilhelm Meitner."), "leaked surnames"),
        (chunk("<mask> met MEITNER."), "leaked surnames"),
        (chunk("<mask> and Lise."), "unmasked mentions"),
        (chunk("<mask> sat.", ["Otto"]), "gold outside the title"),
        (chunk("Nobody sat.", []), "chunks without masks"),
        (chunk(" \n<mask>"), "empty texts"),
        (chunk("the meitnerium of <mask>"), "surnames inside words"),
    ],
)
def test_each_fault_is_found(faulty, name):
    assert found(faulty)[name] == 1
    assert found(chunk(), faulty)[name] == 1


def test_masks_are_adjacent_with_at_most_one_blank_between():
    names = ["Lise"] * 5
    assert found(chunk("<mask> <mask><mask>\n<mask>  <mask> sat.", names)) == {"adjacent masks": 3}
    assert found(chunk("<mask>, <mask> and <mask> sat.", names[:3])) == {}


def test_a_lower_case_word_is_no_leak():
    assert found(chunk("<mask> was young.", ["Young"], title="Thomas Young")) == {"surnames inside words": 1}


def test_pages_with_one_name_are_namesakes_once_each():
    pages = [
        ("1", "Thomas Young (scientist)"),
        ("2", "Thomas Young (painter)"),
        ("3", "THOMAS YOUNG"),
        ("4", "Tom Young"),
    ]
    chunks = [
        chunk(masks=["Young"], page=page, sequence=sequence, title=title)
        for sequence in (0, 1)
        for page, title in pages
    ]
    assert found(*chunks) == {"namesakes": 2}


def test_keys_given_twice_and_pages_with_two_titles_are_errors():
    report = check_chunks([chunk(), chunk(), chunk(sequence=1, title="Lise M. Meitner")])
    assert [(finding.name, finding.count) for finding in report.of("error")] == [
        ("duplicated keys", 1),
        ("several titles", 1),
    ]


def test_other_names_count_as_gold_from_a_table_or_the_chunk():
    sonya = {"masks": ["Sonya"], "title": "Sofia Kovalevskaya"}
    assert found(chunk(**sonya)) == {"gold outside the title": 1}
    assert found(chunk(**sonya), aliases={"Sofia Kovalevskaya": ["Sonya"]}) == {}
    assert found(chunk(**sonya, names=["Sonya"])) == {}


def test_findings_say_where_and_show_five_at_most():
    report = check_chunks([chunk("<mask> met Meitner.", page=str(page)) for page in range(8)])
    leaked = next(finding for finding in report.findings if finding.name == "leaked surnames")
    assert (leaked.count, len(leaked.examples)) == (8, 5)
    assert leaked.examples[0] == "page 0, example 0: 'Meitner'"
    assert leaked.sentence.startswith("8 chunks still contain the surname")
    assert count(report, "leaked surnames") == 8
    assert count(report, "empty texts") == 0


def test_the_gravest_findings_come_first():
    report = check_chunks([chunk("<mask> met Meitner."), chunk("the meitnerium of <mask>", []), chunk(title="7")])
    order = [finding.severity for finding in report.findings]
    assert order == sorted(order, key=["error", "warning", "note"].index)
    assert set(order) == {"error", "warning", "note"}


def test_a_report_is_plain_data():
    assert json.loads(json.dumps(asdict(check_chunks([chunk("Nobody.", [])]))))["findings"][0]["count"] == 1


def test_lines_that_hold_no_chunk_are_counted_and_the_rest_is_checked(tmp_path):
    record = {"id": 7, "sequence_number": 0, "title": "Lise Meitner", "texts": "<mask> met Meitner.", "masks": ["Lise"]}
    path = tmp_path / "data.jsonl"
    path.write_text("\n".join([json.dumps(record), '{"id": 8', json.dumps({**record, "id": 9, "masks": []})]))
    report = check_file(path)
    assert [count(report, name) for name in ("unreadable lines", "mask counts", "leaked surnames")] == [1, 1, 2]
    assert report.findings[0].examples[0].startswith(f"{path}:2: this is not valid JSON")
    with pytest.raises(InputError, match="cannot be read"):
        check_file(tmp_path / "none.jsonl")


def test_surnames_are_leaked_as_whole_words_whatever_their_accents_and_hyphens():
    person = Person("Ludmila Ostrávková")
    assert leaked_surname("the Ostravkova garden", person) == "Ostravkova"
    assert leaked_surname("Nová-Ostrávková", person) == "Nová-Ostrávková"
    assert leaked_surname("Ostrávkovás", person) is None
    assert leaked_surname("Karim al-Karmuzi", Person("Yusuf al-Karmuzi")) == "al-Karmuzi"


def test_the_last_word_of_a_title_stands_before_comma_and_parentheses():
    titles = {
        "A B, 1st Earl of C (d)": "B",
        "A von B (c, d)": "B",
        "Siyaka": "Siyaka",
        "(Sandy) Alex G": "G",
        "(a)": "(a)",
    }
    assert {title: last_word(title) for title in titles} == titles


def test_chunks_that_we_made_ourselves_name_the_person_nowhere():
    text = "Lise Meitner met Otto Hahn. Meitner's nephew Otto Robert Frisch wrote to Lise. The Meitner Prize lives on."
    chunks = list(mask_pages([Page("7", "Lise Meitner", text)], size=60))
    assert check_chunks(chunks).findings == ()


def test_the_facts_of_the_real_sample_hold(sample):
    """The sample has 98 chunks that still contain the surname as `last_word` reads it, and 91 adjacent masks."""
    report = check_file(sample)
    assert (report.pages, report.chunks, report.masks) == (374, 374, 698)
    assert count(report, "surnames inside words") == 98
    assert count(report, "adjacent masks") == 91
    assert not report.of("error")
    # Whole capitalised words are fewer, because short surnames such as He also match inside other words.
    assert 80 < count(report, "leaked surnames") < 98


def test_merging_the_real_sample_leaves_only_masks_in_two_lines_adjacent(sample):
    merged = []
    for chunk in read_chunks(sample):
        masked = Masked(chunk.pieces, chunk.masks).merged()
        merged.append(replace(chunk, text=masked.text, masks=masked.hidden))
    assert count(check_chunks(merged), "adjacent masks") == 2
    assert sum(len(chunk.masks) for chunk in merged) == 698 - 89
