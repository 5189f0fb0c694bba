"""Test starting a project from documents and queries: reading, pooling, storing, resuming and rejected input."""

import json

import pytest

from goldrank.errors import InputError
from goldrank.judging import GradeScale, JudgingProject, start
from goldrank.judging.sources import read_queries

FILES = {
    "wine/red.md": "# Red wine\n\nRed wine is made from dark grapes.\n\n## Skins\n\nThe skins give the colour.\n",
    "wine/white.txt": "White wine is made without skins.",
    "chess.html": "<title>Chess</title><p>Chess is a game of two players.</p>",
    "notes.csv": "a,b\n1,2\n",
}
QUERIES = "how is red wine made?\n\nwho plays chess?\nhow is red wine made?\nwhat is nowhere xyzzy\n"


@pytest.fixture
def docs(own_folder):
    for name, text in FILES.items():
        file = own_folder / "docs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (own_folder / "queries.txt").write_text(QUERIES)
    return own_folder


def test_a_folder_of_documents_and_a_file_of_queries_make_a_project(docs):
    project = start("docs", "queries.txt", ["bm25", "tfidf", "fuse:rrf(bm25,tfidf)"], depth=2)
    assert project.systems == ("bm25", "tfidf", "fuse:rrf(bm25,tfidf)")
    assert {query: project.query_text(query) for query in project.queries} == {
        "q1": "how is red wine made?",
        "q3": "who plays chess?",
        "q5": "what is nowhere xyzzy",
    }
    assert project.pool.items["q3"][0].item == "chess.html"
    assert project.pool.items["q3"][0].ranks == dict.fromkeys(project.systems, 1)
    assert project.item_text("wine/red.md") == (
        "Red wine",
        "Red wine is made from dark grapes.\n\nSkins\nThe skins give the colour.",
    )
    assert set(project.rankings()) == set(project.systems)
    assert set(project.rankings()["tfidf"]["q1"]) == {"wine/red.md", "wine/white.txt", "chess.html"}
    remarks = project.provenance["documents"]["remarks"]
    assert any("notes.csv" in remark for remark in remarks)
    assert remarks[-2:] == ["1 blank query left out", "1 repeated query left out"]
    systems = project.provenance["start"]["systems"]
    assert systems["tfidf"]["similarity"] == "cosine"
    assert systems["tfidf"]["model_identity"].startswith("tfidf")


def test_the_file_of_queries_may_be_among_the_documents(docs):
    (docs / "docs" / "queries.txt").write_text(QUERIES)
    project = start("docs", "docs/queries.txt", "bm25", depth=5)
    assert project.provenance["documents"]["count"] == 3


def test_documents_are_ranked_by_their_best_chunk_and_judged_whole(docs):
    project = start("docs", "queries.txt", {"words": "bm25"}, chunk="words:5")
    assert project.rankings()["words"].columns.chunks is not None
    assert {entry.item for items in project.pool.items.values() for entry in items} <= {*FILES}
    assert project.provenance["start"]["systems"]["words"]["chunk"] == "words:5"


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("q.jsonl", '{"_id": "a", "text": "one"}\n{"_id": "b", "text": "two"}\n', {"a": "one", "b": "two"}),
        ("q.csv", "query_id,query,kind\n7,one,log\n8,two,log\n", {"7": "one", "8": "two"}),
        ("q.csv", "question\none\n\ntwo\none\n", {"q1": "one", "q2": "two"}),
        ("q.tsv", "a\tone\nb\ttwo\n", {"a": "one", "b": "two"}),
        ("q.txt", "one, with a comma\r\ntwo\n", {"q1": "one, with a comma", "q2": "two"}),
        ("q.csv(query=asked)", "asked,text\none,x\n", {"q1": "one"}),
    ],
)
def test_queries_are_read_from_lines_and_tables(own_folder, name, content, expected):
    (own_folder / name.partition("(")[0]).write_text(content)
    assert {query.id: query.text for query in read_queries(name).documents} == expected


def test_further_columns_of_queries_are_kept(docs):
    (docs / "q.jsonl").write_text(json.dumps({"_id": "a", "text": "red wine", "kind": "known-item", "source": "x"}))
    project = start("docs", "q.jsonl", "bm25")
    assert project.provenance["fields"] == {"kind": {"a": "known-item"}, "source": {"a": "x"}}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("q.txt", "\n \n", "the file holds no queries; write one query per line"),
        ("q.csv", "a,b\n1,2\n", "no column is known to hold the questions"),
        ("q.csv", "id,query\n1,one\n1,two\n", "the query '1' has two texts"),
        ("q.csv", "id,query\n1,one\n,two\n", "the query has no id; give all queries an id, or none"),
    ],
)
def test_queries_that_cannot_be_read_are_refused_with_the_place(own_folder, name, content, message):
    (own_folder / name).write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        read_queries(name)
    assert str(caught.value).startswith(name)


def test_a_collection_brings_its_queries_and_its_gold_is_not_used(own_folder):
    project = start("questions", models=["bm25", "random:8"], depth=3, limit=5)
    assert len(project.queries) == 5
    assert project.labels() == []
    assert any("120 judgments of questions are not used" in line for line in project.provenance["documents"]["remarks"])


def test_starting_again_resumes_enlarges_or_refuses_and_never_changes_what_is_stored(docs):
    def again(**changes):
        options = {"docs": "docs", "queries": "queries.txt", "models": ["bm25", "tfidf"], "depth": 2, "budget": 3}
        return start(**{**options, "double": 0, **changes})

    project = again()
    assert len(project.plan.units) == 1
    unit = project.claim("ann")
    project.add_label(unit.query, unit.items[0], 2, "ann")
    assert again().identity == project.identity
    assert again(budget=None).budget == 3
    larger = again(budget=100)
    assert larger.plan.units[0] == unit
    assert (len(larger.plan.units), larger.budget) == (3, 100)
    for changes, message in (
        ({"models": ["bm25"]}, "the systems or their settings are others"),
        ({"models": ["bm25", "tfidf(ngrams=2)"]}, "the systems or their settings are others"),
        ({"depth": 3}, "depth is 2 there and 3 here"),
        ({"scale": GradeScale(("no", "yes"))}, "the grade scale is another"),
        ({"seed": 1}, "the systems or their settings are others|seed is 0 there and 1 here"),
        ({"budget": 50}, "the plan was made for 100 labels, and cannot be changed to 50 labels"),
    ):
        with pytest.raises(InputError, match=message):
            again(**changes)
    (docs / "docs" / "new.md").write_text("New.")
    with pytest.raises(InputError, match="documents or queries have changed; start again with the same settings"):
        again()
    assert JudgingProject.open("judging").labels() == project.labels()
    assert len(JudgingProject.open("judging").plan.units) == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"models": []}, "there is no system to pool"),
        ({"models": ["bm25", "bm25"]}, "a model is given twice"),
        ({"models": ["bm52"]}, "bm52"),
        ({"docs": "dosc"}, "dosc: there is no such file or folder"),
        ({"queries": None}, "there are no queries for these documents; give them with --queries FILE"),
        ({"docs": "wines", "queries": None}, "the articles of this collection are its own queries"),
        ({"docs": "sentence-pairs", "queries": None}, "this task ranks no documents"),
        ({"sample": "items"}, "a sample of items needs a budget"),
        ({"sample": "all"}, "there is no sample 'all'"),
        ({"settings": None, "similarity": "cosin"}, "there is no similarity 'cosin'"),
        ({"depth": 0}, "the depth of the pool is 0"),
        ({"budget": 0}, "the budget is 0 labels"),
        ({"folder": "queries.txt"}, "queries.txt: this is a file, not a folder"),
    ],
)
def test_what_cannot_be_started_is_refused_and_leaves_no_folder(docs, changes, message):
    options = {"docs": "docs", "queries": "queries.txt", "models": ["bm25"], **changes}
    with pytest.raises(InputError, match=message):
        start(**options)
    assert not (docs / "judging").exists()


def test_a_ranking_of_other_documents_is_refused(docs):
    (docs / "other.run").write_text("q1 Q0 wine/red.md 1 2.0 x\nq1 Q0 elsewhere.md 2 1.0 x\n")
    with pytest.raises(InputError, match=r"run:other.run ranks 'elsewhere.md', which is not among the documents"):
        start("docs", "queries.txt", ["run:other.run"])
    assert not (docs / "judging").exists()
