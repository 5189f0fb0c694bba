"""Test queries made from documents by rule and by a chat model, with known-item gold, and the systems they favour."""

import json

import pytest

from goldrank.cli.main import main
from goldrank.data.collections.collection import Document
from goldrank.errors import InputError
from goldrank.hits import Gold, Run
from goldrank.judging import make_queries, start
from goldrank.judging.known_items import KnownItemQuery, make_by_rule, parse_query
from goldrank.judging.query_kinds import measure_kinds
from judging.graded_projects import ChatServer

FILLER = (
    "the slow river carries sand and stones past quiet villages towards the wide grey sea every single day of spring"
)


def documents(count=12):
    return [
        Document(
            f"d{n}",
            f"Harbour number{n} of the north",
            (
                ("", f"Ships of fleet{n} arrive here early. {FILLER}."),
                (f"Prices of cargo{n} today", f"Coal rare{n % 6} x."),
            ),
        )
        for n in range(count)
    ]


def text_of(document):
    return " ".join([document.title, *(part for section in document.sections for part in section)])


def test_what_a_query_repeats_is_removed_wherever_the_document_has_it():
    repeated = Document("r", "Red Wine: a history", (("Red wine - a history", f"RED WINE, A HISTORY. {FILLER}"),))
    result = make_by_rule([repeated], ["title"], 1, 0)
    assert [query.text for query in result.queries] == ["Red Wine: a history"]
    assert text_of(result.documents[0]).split() == FILLER.split()


def test_kinds_take_turns_and_each_document_has_one_query():
    result = make_by_rule(documents(), ["title", "heading", "sentence", "terms"], 12, 0)
    assert [query.kind for query in result.queries[:4]] == ["title", "heading", "sentence", "terms"]
    assert len({query.document for query in result.queries}) == 12
    by_id = {document.id: document for document in result.documents}
    for query in result.queries:
        assert (query.text.lower() in text_of(by_id[query.document]).lower()) is False or query.kind == "terms"
    sentence = next(query for query in result.queries if query.kind == "sentence")
    assert sentence.text == f"Ships of fleet{sentence.document[1:]} arrive here early."
    assert make_by_rule(documents(), ["title"], 5, 0) == make_by_rule(documents(), ["title"], 5, 0)


def test_rare_terms_are_words_that_another_document_has_too():
    result = make_by_rule(documents(), ["terms"], 12, 0)
    words = [set(query.text.split()) for query in result.queries]
    assert all(f"rare{int(query.document[1:]) % 6}" in used for query, used in zip(result.queries, words, strict=True))
    assert not any(word.startswith(("number", "fleet", "cargo")) for used in words for word in used)


def test_a_title_that_several_documents_have_is_no_query():
    same = [Document(f"s{n}", "Annual report 2024", (("", FILLER + " end."),)) for n in range(3)]
    with pytest.raises(InputError, match="no query of the kind title can be made from these documents; choose other"):
        make_by_rule(same, ["title"], 2, 0)
    result = make_by_rule([*same, *documents(2)], ["title"], 10, 0)
    assert (len(result.queries), result.remarks) == (2, ("Only 2 queries could be made.",))


def test_the_files_start_a_project_and_their_gold_is_marked(own_folder):
    result = make_queries("questions", "made.jsonl", count=12, seed=3)
    gold = (own_folder / "made.known-item-qrels.txt").read_text().splitlines()
    assert {line.split()[1] for line in gold} == {"known-item"}
    assert Gold.read(own_folder / "made.known-item-qrels.txt").to_dict() == {
        query.id: {query.document: 1.0} for query in result.queries
    }
    project = start("made.documents.jsonl", "made.jsonl", ["bm25", "random:8"], depth=3, folder="judging")
    assert {query: project.query_text(query) for query in project.queries} == {q.id: q.text for q in result.queries}
    assert set(project.provenance["fields"]["kind"].values()) == {"title", "heading", "sentence", "terms"}


def test_an_advantage_that_depends_on_the_kind_is_shown_and_a_constant_one_is_not():
    queries = [
        KnownItemQuery(f"{kind}{n}", f"word{n} other", kind, f"d{n}") for kind in ("title", "llm") for n in range(20)
    ]
    by_id = {f"d{n}": Document.plain(f"d{n}", f"word{n} text") for n in range(20)}

    def run(ranks):
        """Rank the document of each query at the rank of its kind."""
        return Run(
            {q.id: {**{f"x{at}": 9.0 - at for at in range(ranks[q.kind] - 1)}, q.document: 1.0} for q in queries}
        )

    rankings = {"a": run({"title": 1, "llm": 4}), "b": run({"title": 2, "llm": 2}), "c": run({"title": 4, "llm": 8})}
    for number in range(3):  # some noise, so that there is a standard error
        for name, whole in list(rankings.items()):
            rows = whole.to_dict()
            rows[f"title{number}"] = rows[f"llm{number}"] = {"nothing": 1.0}
            rankings[name] = Run(rows)
    measures, [difference] = measure_kinds(queries, by_id, rankings)
    assert [(kind.kind, kind.queries, kind.overlap.value) for kind in measures] == [
        ("title", 20, 0.5),
        ("llm", 20, 0.5),
    ]
    assert difference.reversed == ("a - b",)
    assert "a - b" in difference.shown
    assert difference.overlap.value == 0


@pytest.fixture
def server(own_folder):
    with ChatServer() as server:
        server.say = lambda prompt: "where do ships of the north arrive"
        yield server


def test_a_chat_model_writes_queries_from_quoted_documents_within_limits(server, own_folder):
    server.say = lambda prompt: (
        f"where is {prompt.split('Document:')[1].split()[1]}" if len(server.requests) % 5 else "No.\nI cannot."
    )
    result = make_queries("questions", "made.jsonl", llm=f"openai:tiny@{server.url}", count=10)
    assert len(server.requests) == 10
    assert (len(result.queries), {query.kind for query in result.queries}) == (8, {"llm"})
    assert result.remarks[-1] == "Left out, because the answer was not one line of text: 2 queries."
    assert result.expense.requests == 10
    quoted = server.prompts[0].split("Document:\n")[1].split("\n\nAnswer with")[0]
    assert all(line.startswith("|") for line in quoted.split("\n"))
    assert {warning.code for warning in result.warnings} >= {"known-item-gold", "one-kind"}
    make_queries("questions", "made.jsonl", llm=f"openai:tiny@{server.url}", count=10)
    assert len(server.requests) == 10


def test_both_kinds_are_made_of_different_documents(server, own_folder):
    result = make_queries(
        "questions", "made.jsonl", llm=f"openai:tiny@{server.url}", kinds=["llm", "terms"], count=20, models=["bm25"]
    )
    kinds = [query.kind for query in result.queries]
    assert (kinds.count("llm"), kinds.count("terms")) == (10, 10)
    assert len({query.document for query in result.queries}) == 20
    [difference] = result.differences
    assert (difference.first, difference.second) == ("terms", "llm")
    assert difference.overlap.value > 0.4
    assert difference.overlap.interval.low > 0


@pytest.mark.parametrize("said", ["", "Sure:\nred wine", "...", "x" * 400])
def test_an_answer_that_is_not_one_query_is_none(said):
    assert parse_query(said) is None


def test_the_command_prints_measures_and_refuses_what_cannot_be(own_folder, capsys):
    assert (
        main(["judge", "queries", "questions", "-o", "made.jsonl", "--count", "12", "-m", "bm25", "--format", "json"])
        == 0
    )
    content = json.loads(capsys.readouterr().out)
    assert {kind["kind"] for kind in content["kinds"]} == {"title", "heading", "sentence", "terms"}
    assert "lexical-overlap" in {warning["code"] for warning in content["warnings"]}
    refused = {
        ("-o", "made.csv"): "made.csv: the queries are written as JSON Lines",
        ("-o", "no/made.jsonl"): "the folder does not exist",
        ("-o", "x.jsonl", "--query-kind", "llm"): "queries of the kind llm need a chat model",
        ("-o", "x.jsonl", "--llm", "bm25"): "'bm25' is not a chat model; write openai:MODEL@https://host/v1",
        ("-o", "x.jsonl", "--count", "2"): "2 queries cannot be of 4 kinds",
    }
    for arguments, message in refused.items():
        assert main(["judge", "queries", "questions", *arguments]) == 2
        assert message in capsys.readouterr().err
    assert not (own_folder / "x.jsonl").exists()
