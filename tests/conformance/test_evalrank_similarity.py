"""The published EvalRank logs of the toy vectors: STS, SICK, STR and the word sets, to ±0.001, and as goldrank does it.

What the reference did, found by reproducing its rows: sentence vectors are the plain means of known words, neither
centred nor otherwise changed, also in the logs of its l2 runs, and a sentence of unknown words is a vector of 1e-9;
word vectors are centred on the whole file, brought to length 1 for cosine, and a word out of vocabulary is the mean of
the vectors so made, which is not brought to length 1 again: its "cosine" is a dot product.
"""

import csv
from dataclasses import replace

import pytest

from goldrank.encoders import load
from goldrank.io.word_vectors import read_word_vectors
from goldrank.tasks.settings import Settings
from goldrank.tasks.similarity import KINDS, SIMILARITY_TASKS, measure

pytestmark = pytest.mark.conformance

TASKS = {task.name: task for task in SIMILARITY_TASKS}
SENTENCES = {
    "sts12": "STS12", "sts13": "STS13", "sts14": "STS14", "sts15": "STS15", "sts16": "STS16",
    "sts-b": "STSBenchmark", "sick-r": "SICKRelatedness", "str": "STR",
}  # fmt: skip
WORDS = {
    "mc30": "MC-30", "men": "MTR-3k", "mturk287": "MTurk-287", "mturk771": "MTurk-771", "rg65": "RG-65",
    "rw": "RW-STANFORD", "simlex999": "SIMLEX-999", "simverb3500": "SimVerb-3500", "verb143": "VERB-143",
    "ws353": "WS-353-ALL", "ws353-rel": "WS-353-REL", "ws353-sim": "WS-353-SIM", "yp130": "YP-130",
}  # fmt: skip
WORD_RUNS = {
    "word_cos_no_post_processing": Settings(transform="center|normalize", similarity="dot"),
    "word_l2_no_post_processing": Settings(transform="center", similarity="l2"),
    "word_cos_with_post_processing": Settings(transform="center|abtt:2|center|normalize", similarity="dot"),
}


@pytest.fixture(scope="module")
def toy(shared_data):
    return load(f"words:{shared_data / 'evalrank' / 'toy_emb.txt'}(preset=evalrank)")


@pytest.fixture(scope="module")
def zeros(shared_data):
    return load(f"words:{shared_data / 'evalrank' / 'toy_emb.txt'}(preset=evalrank,empty=0)")


@pytest.fixture(scope="module")
def published(shared_data):
    with (shared_data / "published" / "evalrank_logs.csv").open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if "toy_emb.txt" in row["model"]]
    return {(row["log"].partition("/")[0], row["task"], row["metric"]): float(row["value"]) for row in rows}


@pytest.fixture(autouse=True)
def data(shared_data, monkeypatch):
    monkeypatch.setenv("GOLDRANK_DATA", str(shared_data))


def agree(figures, published, log, task):
    for kind in KINDS:
        assert figures[kind].value == pytest.approx(published[log, task, kind], abs=0.001), f"{log} {task} {kind}"


@pytest.mark.parametrize("log", ["sentence_cos", "sentence_l2"])
@pytest.mark.parametrize("name", [name for name in SENTENCES if name != "str"])
def test_sentences_as_published(name, log, toy, published):
    task = TASKS[name]
    agree(task.measure(toy, task.read(None), Settings()).figures, published, log, SENTENCES[name])


def test_str_as_published_takes_sentences_for_characters_and_is_higher_when_done_right(toy, published):
    task = TASKS["str"]
    pairs = task.read(None)
    spelt = {side: tuple(" ".join(text) for text in getattr(pairs, side)) for side in ("first", "second")}
    agree(task.measure(toy, replace(pairs, **spelt), Settings()).figures, published, "sentence_cos", "STR")
    right = task.measure(toy, pairs, Settings()).figures["spearman"].value
    assert right == pytest.approx(0.376, abs=0.001)


@pytest.mark.parametrize(
    ("name", "spearman", "unknown"),
    [("sts12", 0.4082, 22), ("sts16", 0.3991, 1), ("str", 0.3760, 3), ("sts-b", 0.3074, 0)],
)
def test_sentences_of_unknown_words_are_like_nothing_and_counted(name, spearman, unknown, zeros):
    made = TASKS[name].measure(zeros, TASKS[name].read(None), Settings())
    assert made.figures["spearman"].value == pytest.approx(spearman, abs=0.0005)
    assert made.remarks[:1] == (
        (f"{unknown} pair{'s' * (unknown > 1)} of {len(made.predictions['id'])} with a text of unknown words only, "
         "compared by a vector of zeros",) if unknown else ()
    )  # fmt: skip


@pytest.mark.parametrize("log", WORD_RUNS)
@pytest.mark.parametrize("name", WORDS)
def test_words_as_published(name, log, toy, published, shared_data):
    vocabulary = read_word_vectors(shared_data / "evalrank" / "toy_emb.txt", rule="evalrank").words
    made = measure(toy, TASKS[name].read(None), WORD_RUNS[log], vocabulary=vocabulary)
    agree(made.figures, published, log, WORDS[name])


def test_words_out_of_vocabulary_decide_the_published_figures(toy, published):
    # Of ws353, 200 of 353 pairs have both words; over those the vectors are far better than their published figure.
    made = measure(toy, TASKS["ws353"].read(None), Settings())
    assert made.figures["spearman"].count == 200
    assert made.figures["coverage"].value == pytest.approx(200 / 353)
    assert made.figures["spearman"].value == pytest.approx(0.544, abs=0.001)
    assert published["word_cos_no_post_processing", "WS-353-ALL", "spearman"] < 0.23


def test_wordllama_on_the_sts_benchmark():
    pytest.importorskip("wordllama")
    task = TASKS["sts-b"]
    made = task.measure(load("wordllama"), task.read(None), Settings())
    assert made.figures["spearman"].value == pytest.approx(0.7737, abs=0.00005)
    assert made.figures["spearman"].count == 1379
