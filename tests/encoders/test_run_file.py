"""Run files as models: the rankings of the file, cut at k, for the given queries and items."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.encoders import Searcher, load
from goldrank.errors import InputError
from goldrank.hits import Gold, Run
from profiles import examples

RANKINGS = {"q1": {"a": 1.0, "b": 3.0, "c": 1.0, "d": 0.5}, "q2": {"b": 0.1}}


@pytest.fixture
def file(tmp_path):
    Run(RANKINGS).write(tmp_path / "bm25.trec")
    return tmp_path / "bm25.trec"


@pytest.mark.parametrize("name", ["a.trec", "a.json", "a.jsonl", "a.csv", "a.trec.gz", "a.parquet"])
def test_every_format_that_goldrank_reads_is_a_model(name, tmp_path):
    Run(RANKINGS).write(tmp_path / name)
    model = load(f"run:{tmp_path / name}")
    assert isinstance(model, Searcher)
    assert model.search(["q1", "q2"], ["", ""], 10).to_dict() == RANKINGS


def test_rankings_are_cut_at_k_with_ties_by_descending_id(file):
    assert list(load(f"run:{file}").search(["q1"], ["x"], 2)["q1"].items()) == [("b", 3.0), ("c", 1.0)]


def test_a_whole_ranking_is_sorted_and_keeps_the_order_of_equal_scores(tmp_path):
    rankings = {"q1": {"c": 1.0, "b": 3.0, "a": 1.0, "d": 0.5}, "q2": {"x": -1.0, "y": -1.0}}
    Run(rankings).write(tmp_path / "run.json")
    run = load(f"run:{tmp_path / 'run.json'}(scores=similarity)").search(["q1", "q2"], ["", ""], 10)
    assert list(run["q1"].items()) == [("b", 3.0), ("c", 1.0), ("a", 1.0), ("d", 0.5)]
    assert list(run["q2"]) == ["x", "y"]


def test_queries_come_in_the_order_asked_and_those_not_ranked_are_empty(file):
    run = load(f"run:{file}").search(["q9", "q2"], ["x", "y"], 5)
    assert run.to_dict() == {"q9": {}, "q2": {"b": 0.1}}
    assert run.queries == ["q9", "q2"]


@given(rankings=st.dictionaries(st.sampled_from(["1", "2"]), st.dictionaries(st.sampled_from("abcdef"),
    st.floats(-5, 5).map(lambda x: round(x, 1)), min_size=1), min_size=1), k=st.integers(1, 8))  # fmt: skip
@examples(0.3)
def test_cut_deep_enough_the_hits_are_those_of_the_file(rankings, k, tmp_path_factory):
    file = tmp_path_factory.mktemp("runs") / "run.json"
    Run(rankings).write(file)
    cut = load(f"run:{file}(scores=similarity)").search(list(rankings), [""] * len(rankings), k)
    gold = Gold({query: dict.fromkeys("abcdef", 1) for query in rankings})
    whole, hits = Run.read(file).hits(gold), cut.hits(gold)
    rank = whole.above + whole.tied_docid
    within = whole.found & (rank < k)
    assert hits.found.tolist() == within.tolist()
    assert (hits.above + hits.tied_docid)[within].tolist() == rank[within].tolist()


def test_unknown_items_are_counted_and_a_file_over_another_corpus_is_refused(file):
    model = load(f"run:{file}")
    model.index(["a", "b"], ["", ""])
    assert model.unknown == {"c", "d"}
    with pytest.raises(InputError, match=r"none of the 4 ranked ids is an item \(it ranks 'a', the items have 'x'\)"):
        load(f"run:{file}").index(["y", "x"], ["", ""])


def test_a_file_about_other_queries_is_refused(file):
    with pytest.raises(InputError, match=r"none of the 2 queries is in the file \(it has 'q1', the task has '7'\)"):
        load(f"run:{file}").search(["7", "8"], ["", ""], 5)


def test_the_identity_changes_with_the_content_and_not_with_a_rewrite(file):
    before = load(f"run:{file}").identity
    Run(RANKINGS).write(file)
    assert load(f"run:{file}").identity == before
    Run({"q1": {"a": 1.0}}).write(file)
    assert load(f"run:{file}").identity != before


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("run", "needs a file"),
        ("run:-", "needs a file"),
        ("run:/no/such.run", "no such file"),
        ("run:x.run(format=xml)", "no format 'xml'"),
        ("run:x.run(dim=3)", "no option of run 'dim'"),
    ],
)
def test_a_bad_spec_is_one_clear_sentence(spec, message):
    with pytest.raises(InputError) as caught:
        load(spec)
    assert message in str(caught.value)


def test_bad_questions_are_refused(file):
    model = load(f"run:{file}")
    with pytest.raises(InputError, match="k=0"):
        model.search(["q1"], [""], 0)
    with pytest.raises(InputError, match="is given to two texts"):
        model.search(["q1", "q1"], ["", ""], 3)
