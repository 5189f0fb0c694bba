"""Checks of collections: every fault is found, counted and reported with examples, and sound collections have none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.data.checks import check
from goldrank.data.collections import Collection, Document, Documents, read_collection
from goldrank.io.mappings import from_pairs

SOUND = {"d1": "Grapes and sun.", "d2": "Games of dice."}
ASKED = {"q1": "which grapes?", "q2": "which dice?"}


def documents(texts):
    items = [text if isinstance(text, Document) else Document.plain(i, text) for i, text in texts.items()]
    return Documents(items, "made")


def collection(items=SOUND, queries=ASKED, gold=None, **more):
    corpus = documents(items)
    columns = from_pairs((gold or {"q1": {"d1": 1}, "q2": {"d2": 1}}).items(), "gold", "made", integers=False)
    return Collection("made", corpus, corpus if queries is None else documents(queries), columns, **more)


def found(report):
    return {finding.name: finding for finding in report.findings}


def test_a_sound_collection_has_numbers_and_no_findings():
    report = check(collection())
    assert report.findings == ()
    assert (report.items, report.queries, report.judged_queries) == (2, 2, 2)
    assert (report.judged_pairs, report.relevant_pairs) == (2, 2)
    assert report.words["items"] == dict.fromkeys(["least", "5%", "25%", "median", "75%", "95%", "most"], 3)
    assert report.words["queries"]["median"] == 2
    assert json.loads(json.dumps(report.as_dict()))["checksum"] == collection().checksum


CASES = {
    "gold outside the corpus": (
        {"gold": {"q1": {"d1": 1, "d9": 1}, "q2": {"d2": 1}}}, "warning", ("'d9' for 'q1'",)),
    "gold without a query": ({"gold": {"q1": {"d1": 1}, "q2": {"d2": 1}, "q9": {"d1": 1}}}, "warning", ("'q9'",)),
    "queries without gold": ({"gold": {"q1": {"d1": 1}}}, "note", ("'q2'",)),
    "queries with nothing relevant": ({"gold": {"q1": {"d1": 1}, "q2": {"d2": 0}}}, "note", ("'q2'",)),
    "negative grades": ({"gold": {"q1": {"d1": 1}, "q2": {"d2": 1, "d1": -1}}}, "note", ("'d1' for 'q2'",)),
    "empty items": ({"items": {**SOUND, "d3": " \n"}}, "warning", ("'d3'",)),
    "empty queries": ({"queries": {"q1": "which?", "q2": ""}}, "warning", ("'q2'",)),
    "identical items": ({"items": {**SOUND, "d3": "Grapes  and sun."}}, "warning", ("'d3' is 'd1'",)),
    "identical queries": ({"queries": {"q1": "which?", "q2": "which?"}}, "note", ("'q2' is 'q1'",)),
    "queries that are items": ({"queries": {**ASKED, "q2": "Games of dice."}}, "note", ("'q2' is 'd2'",)),
    "control characters in items": ({"items": {**SOUND, "d2": "a\x07b"}}, "warning", ("'d2'",)),
    "replacement characters in queries": ({"queries": {**ASKED, "q1": "Ch\ufffdteau"}}, "warning", ("'q1'",)),
    "items of one title": (
        {"items": {"d1": Document.plain("d1", "x", "T"), "d2": Document.plain("d2", "y", "T")}}, "note",
        ("'d2' and 'd1'",)),
    "ids of items alike but for HTML entities": (
        {"items": {**SOUND, "a & b": "x", "a &amp; b": "y"}}, "warning", ("'a &amp; b' and 'a & b'",)),
    "ids of items alike but for Unicode forms": (
        {"items": {**SOUND, "\xe9": "x", "e\u0301": "y"}}, "warning", ("'e\u0301' and '\xe9'",)),
    "ids of queries alike but for case": ({"queries": {**ASKED, "Q1": "why?"}}, "note", ("'Q1' and 'q1'",)),
    "titles of items alike but for case": (
        {"items": {"d1": Document.plain("d1", "x", "T"), "d2": Document.plain("d2", "y", "t")}}, "note",
        ("'t' and 'T'",)),
    "gold items spelt otherwise (HTML entities)": (
        {"items": {"a & b": "x", "d2": "y"}, "gold": {"q1": {"a &amp; b": 1}, "q2": {"d2": 1}}}, "warning",
        ("'a &amp; b' is 'a & b'",)),
    "gold items spelt otherwise (case)": (
        {"items": {"Doom": "x", "d2": "y"}, "gold": {"q1": {"DOOM": 1}, "q2": {"d2": 1}}}, "warning",
        ("'DOOM' is 'Doom'",)),
    "gold items spelt otherwise (white space)": (
        {"items": {"a b": "x", "d2": "y"}, "gold": {"q1": {"a  b": 1}, "q2": {"d2": 1}}}, "warning",
        ("'a  b' is 'a b'",)),
    "gold queries spelt otherwise (Unicode forms)": (
        {"queries": {"\xe9": "x", "q2": "y"}, "gold": {"e\u0301": {"d1": 1}, "q2": {"d2": 1}}}, "warning",
        ("'e\u0301' is '\xe9'",)),
    "remark of the reader": ({"remarks": ["3 labels merged"]}, "note", ()),
    "nothing relevant": ({"gold": {"q1": {"d1": 0}, "q2": {"d2": 0}}}, "error", ("'q1'", "'q2'")),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_each_fault_is_found_with_its_severity_and_examples(name):
    arguments, severity, examples = CASES[name]
    finding = found(check(collection(**arguments)))[name]
    assert (finding.severity, finding.examples) == (severity, examples)
    assert finding.count == max(1, len(examples))
    assert finding.sentence.endswith(".")


def test_gold_of_which_nothing_is_there_is_an_error():
    report = check(collection(gold={"x1": {"y1": 1}}))
    assert [finding.name for finding in report.of("error")] == ["gold without a query", "gold outside the corpus"]


def test_a_related_collection_is_gone_through_once_and_self_gold_found():
    report = check(collection(queries=None, gold={"d1": {"d1": 1, "d2": 1}}))
    assert report.related
    assert found(report)["self gold"].examples == ("'d1'",)
    assert list(report.words) == ["items"]


def test_a_query_and_an_item_that_are_both_called_1_are_not_the_same():
    numbered = collection({"1": "a"}, {"1": "b"}, {"1": {"1": 1}})
    assert "self gold" not in found(check(numbered))
    same = collection({"1": "a", "2": "b"}, {"1": "a"}, {"1": {"1": 1}})
    assert found(check(same))["self gold"].severity == "warning"


def test_repeated_ids_are_an_error_even_where_the_reader_let_them_pass():
    items = Documents([Document.plain("a", "x"), Document.plain("a", "y")], "made")
    gold = from_pairs([("q1", {"a": 1})], "gold", "made", integers=False)
    report = check(Collection("made", items, documents({"q1": "x"}), gold))
    assert found(report)["repeated ids of items"].severity == "error"


def test_the_gravest_come_first_and_five_examples_are_shown():
    report = check(collection(items={**SOUND, **{f"e{i}": "" for i in range(9)}}, gold={"q1": {"d1": 0}}))
    assert [finding.severity for finding in report.findings] == ["error", "warning", "note"]
    empty = found(report)["empty items"]
    assert (empty.count, len(empty.examples)) == (9, 5)


# Every reader refuses a lone surrogate in an id.
IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3)


@given(
    st.dictionaries(IDS, st.text(max_size=5), min_size=1, max_size=6),
    st.dictionaries(
        IDS,
        st.dictionaries(IDS, st.integers(-1, 2), min_size=1, max_size=4),
        min_size=1,
        max_size=4,
    ),
)
def test_the_numbers_add_up_for_any_collection(texts, gold):
    report = check(collection(texts, None, gold))
    pairs = [(query, item, grade) for query, row in gold.items() for item, grade in row.items()]
    counted = {finding.name: finding.count for finding in report.findings}
    assert report.judged_pairs == len(pairs)
    assert report.relevant_pairs == sum(grade > 0 for _, _, grade in pairs)
    assert counted.get("gold outside the corpus", 0) == sum(item not in texts for _, item, _ in pairs)
    assert counted.get("gold without a query", 0) == sum(query not in texts for query in gold)
    assert counted.get("queries without gold", 0) == sum(i not in gold for i in texts)
    assert counted.get("self gold", 0) == sum(query == item and query in texts for query, item, _ in pairs)
    assert counted.get("empty items", 0) == sum(not text.strip() for text in texts.values())
    distinct = {" ".join(text.split()) for text in texts.values() if text.split()}
    assert counted.get("identical items", 0) == sum(bool(text.split()) for text in texts.values()) - len(distinct)


def test_the_classic_collections_are_as_they_are_known_to_be(shared_data):
    cranfield = check(read_collection(shared_data / "collections" / "cran"))
    assert (cranfield.items, cranfield.queries, cranfield.judged_pairs) == (1400, 225, 1837)
    assert found(cranfield)["empty items"].examples == ("'471'", "'995'")
    cisi = check(read_collection(shared_data / "collections" / "cisi"))
    assert (cisi.items, cisi.queries, found(cisi)["queries without gold"].count) == (1460, 112, 36)
    assert not cranfield.of("error")
    assert not cisi.of("error")
