"""`goldrank index`: build, search and info on ten texts, every output format, and invalid input."""

import csv
import io
import json
import re
import subprocess
import sys

import pytest

from goldrank.cli import index_command
from goldrank.errors import InputError
from goldrank.hits import Run

pytest.importorskip("faiss")
pytest.importorskip("wordllama")

PERSONS = {
    "einstein": "Albert Einstein, a physicist, worked out the theory of relativity.",
    "curie": "Marie Curie discovered the radioactive elements radium and polonium.",
    "mozart": "Wolfgang Amadeus Mozart composed operas, symphonies and piano concertos in Vienna.",
    "shakespeare": "William Shakespeare wrote the plays Hamlet, Macbeth and Romeo and Juliet.",
    "armstrong": "Neil Armstrong was the first astronaut to walk on the moon.",
    "darwin": "Charles Darwin explained the evolution of species by natural selection.",
    "lovelace": "Ada Lovelace wrote the first computer program, for a machine of Charles Babbage.",
    "picasso": "Pablo Picasso painted Guernica and was one of the founders of cubism.",
    "mandela": "Nelson Mandela fought apartheid and became president of South Africa.",
    "pele": "Pelé won the football World Cup three times with Brazil.",
}
QUESTIONS = {
    "Who walked on the moon?": "armstrong",
    "the president of South Africa who fought apartheid": "mandela",
    "a composer of symphonies and operas": "mozart",
}


@pytest.fixture
def persons(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path / "cache"))
    lines = [json.dumps({"id": name, "text": text}) + "\n" for name, text in PERSONS.items()]
    (tmp_path / "persons.jsonl").write_text("".join(lines))
    return tmp_path


def run(capsys, *arguments):
    code = index_command.run(index_command.build_parser().parse_args(list(arguments)))
    return code, capsys.readouterr().out


@pytest.fixture
def built(persons, capsys):
    run(capsys, "build", "persons.jsonl", "-m", "wordllama", "-o", "ix")
    return "ix"


@pytest.mark.slow
def test_the_tutorial_of_ten_persons_in_the_shell(persons):
    def shell(*arguments):
        command = [sys.executable, "-m", "goldrank", "index", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    build_output = shell("build", "persons.jsonl", "-m", "wordllama", "--factory", "Flat", "-o", "persons.index")
    assert "10 texts, 256 dimensions, cosine, faiss:Flat" in build_output
    search_output = shell("search", "persons.index", *QUESTIONS, "-k", "3", "--format", "json")
    for answer in json.loads(search_output)["queries"]:
        assert answer["results"][0]["id"] == QUESTIONS[answer["text"]]
    assert "wordllama" in shell("info", "persons.index", "--verify")


@pytest.mark.parametrize(
    "how",
    [[], ["--factory", "exact"], ["--factory", "HNSW8"], ["--similarity", "l2"], ["--transform", "center|normalize"]],
)
def test_every_question_finds_its_person_first(persons, capsys, how):
    code, build_output = run(capsys, "build", "persons.jsonl", "-m", "wordllama", "-o", "ix", *how)
    assert code == 0
    assert "10 texts, 256 dimensions" in build_output
    _, out = run(capsys, "search", "ix", *QUESTIONS, "--format", "json")
    answers = json.loads(out)["queries"]
    assert [answer["results"][0]["id"] for answer in answers] == list(QUESTIONS.values())
    assert [len(answer["results"]) for answer in answers] == [3, 3, 3]
    assert answers[0]["results"][0]["text"] == PERSONS["armstrong"]


def test_a_model_that_is_fitted_on_the_corpus_is_fitted_again_on_the_texts_kept(persons, capsys):
    pytest.importorskip("sklearn")
    run(capsys, "build", "persons.jsonl", "-m", "lsa:8", "-o", "ix")
    _, out = run(capsys, "search", "ix", "operas and symphonies", "--format", "json")
    assert json.loads(out)["queries"][0]["results"][0]["id"] == "mozart"
    run(capsys, "build", "persons.jsonl", "-m", "lsa:8", "-o", "bare", "--no-texts")
    with pytest.raises(InputError, match="fitted on the texts of the corpus, and there are none"):
        run(capsys, "search", "bare", "operas")


def test_the_table_shows_rank_score_id_and_text(built, capsys):
    _, out = run(capsys, "search", built, "Who walked on the moon?", "-k", "2")
    lines = out.splitlines()
    assert lines[0] == "Who walked on the moon?"
    assert lines[2].split() == ["rank", "score", "id", "text"]
    assert lines[4].split()[0] == "1"
    assert "armstrong   Neil Armstrong was the first" in lines[4]


def test_csv_markdown_and_latex_hold_the_same_results(built, capsys):
    _, out = run(capsys, "search", built, *QUESTIONS, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["id"] for row in rows if row["rank"] == "1"] == list(QUESTIONS.values())
    assert "| armstrong |" in run(capsys, "search", built, *QUESTIONS, "--format", "markdown")[1]
    assert "armstrong &" in run(capsys, "search", built, *QUESTIONS, "--format", "latex")[1]


def test_queries_come_from_a_file_and_results_go_to_a_run(built, persons, capsys):
    (persons / "queries.tsv").write_text("".join(f"{name}\t{text}\n" for text, name in QUESTIONS.items()))
    code, out = run(capsys, "search", built, "--queries", "queries.tsv", "-k", "5", "--run", "found.run")
    assert (code, out) == (0, "")
    rankings = Run.read("found.run")
    assert [max(rankings[query], key=rankings[query].get) for query in rankings] == list(QUESTIONS.values())
    assert {len(rankings[query]) for query in rankings} == {5}


def test_info_says_what_made_the_index(built, capsys):
    _, out = run(capsys, "info", built)
    assert "wordllama 0.4" in out
    assert "CRC-32 of all files" in out
    content = json.loads(run(capsys, "info", built, "--format", "json", "--verify")[1])
    assert (content["count"], content["dimension"], content["index"]) == (10, 256, "faiss:Flat")
    assert "field,value" in run(capsys, "info", built, "--format", "csv")[1]


def test_a_bare_faiss_file_is_described_and_searched_with_a_model_that_the_user_names(persons, capsys):
    import faiss

    from goldrank import encoders

    vectors = encoders.load("wordllama").encode_items(list(PERSONS.values()))
    faiss.normalize_L2(vectors)
    index = faiss.index_factory(256, "Flat", faiss.METRIC_INNER_PRODUCT)
    index.add(vectors)
    faiss.write_index(index, "./index.bin")
    (persons / "ids.txt").write_text("\n".join(PERSONS))
    _, out = run(capsys, "search", "index.bin", *QUESTIONS, "-m", "wordllama", "--ids", "ids.txt", "--format", "json")
    assert [answer["results"][0]["id"] for answer in json.loads(out)["queries"]] == list(QUESTIONS.values())
    _, out = run(capsys, "search", "index.bin", *QUESTIONS, "-m", "wordllama", "-k", "1", "--format", "csv")
    assert [row["id"] for row in csv.DictReader(io.StringIO(out))] == ["4", "8", "2"]
    lines = {line.split()[0]: line.split()[1:] for line in run(capsys, "info", "index.bin")[1].splitlines() if line}
    assert (lines["index"], lines["similarity"], lines["count"]) == (["faiss:Flat"], ["dot"], ["10"])
    assert (lines["trained"], lines["ids"]) == (["True"], ["counted", "from", "0"])
    assert lines["checked"] == ["nothing:", "a", "faiss", "file", "has", "no", "checksums"]
    info = json.loads(run(capsys, "info", "index.bin", "--ids", "ids.txt", "--format", "json")[1])
    assert (info["ids"], info["dimension"]) == ("ids.txt", 256)
    for arguments, message in (
        (["search", "index.bin", "x"], "a faiss file does not say which model made its vectors; name it with -m"),
        (["search", "index.bin", "x", "-m", "wordllama(dim=64)"], "have 64 dimensions, the index has 256; encode both"),
        (["search", "index.bin", "x", "-m", "lsa:8"], "fitted on the texts of the corpus, and there are none"),
        (["info", "index.bin", "--verify"], "a faiss file has no checksums to verify; leave verify out"),
        (["info", "persons.jsonl"], "persons.jsonl: this is neither an index folder nor a file of faiss; give what"),
    ):
        with pytest.raises(InputError, match=re.escape(message)):
            run(capsys, *arguments)


def test_empty_texts_are_counted(persons, capsys):
    (persons / "lines.txt").write_text("one line\n\nanother\n")
    _, build_output = run(capsys, "build", "lines.txt", "-m", "wordllama", "-o", "lines.index", "--no-texts")
    assert "3 texts, 1 of them empty" in build_output
    _, out = run(capsys, "search", "lines.index", "another", "-k", "1")
    assert out.splitlines()[2].split() == ["rank", "score", "id"]
    assert out.splitlines()[4].split()[2] == "3"


WRONG = {
    "another model": (
        ["search", "ix", "x", "-m", "wordllama(dim=64)"],
        "encoded by .*would be by .*dim=64",
    ),
    "no query": (["search", "ix"], "from the command line or from a file"),
    "query and file": (["search", "ix", "x", "--queries", "persons.jsonl"], "from the command line or from a file"),
    "empty query": (["search", "ix", " "], "query 1 is empty"),
    "no such index": (["search", "iy", "x"], "iy: there is no such folder"),
    "k of 0": (["search", "ix", "x", "-k", "0"], "k is 0"),
    "exists": (["build", "persons.jsonl", "-m", "wordllama", "-o", "ix"], "already; add --overwrite"),
    "file in the way": (
        ["build", "persons.jsonl", "-m", "wordllama", "-o", "persons.jsonl"],
        "something else than an index",
    ),
    "no data": (["build", "person.jsonl", "-m", "wordllama", "-o", "new"], "did you mean"),
    "no model": (["build", "persons.jsonl", "-m", "wordlama", "-o", "new"], "did you mean 'wordllama'"),
    "no vectors": (["build", "persons.jsonl", "-m", "bm25", "-o", "new"], "ranks without vectors"),
    "sparse": (["build", "persons.jsonl", "-m", "tfidf", "-o", "new"], "sparse, which this index cannot hold"),
    "factory": (["build", "persons.jsonl", "-m", "wordllama", "-o", "new", "--factory", "Flt"], "no index 'Flt'"),
    "too few": (["build", "persons.jsonl", "-m", "wordllama", "-o", "new", "--factory", "IVF64,Flat"], "64 vectors"),
    "transform": (["build", "persons.jsonl", "-m", "wordllama", "-o", "new", "--transform", "centre!"], "centre"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_a_user_gets_wrong_is_said_and_nothing_is_written(built, persons, capsys, case):
    arguments, message = WRONG[case]
    before = sorted(path.name for path in persons.iterdir())
    with pytest.raises(InputError, match=message):
        run(capsys, *arguments)
    assert sorted(path.name for path in persons.iterdir()) == before
