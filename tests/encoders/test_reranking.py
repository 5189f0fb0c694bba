"""Reranked runs: the scorer orders the top, the rest keeps its order below it, and killed runs resume."""

import signal
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.encoders import load, searcher
from goldrank.encoders.pair_scorers import load_pair_scorer
from goldrank.encoders.reranking import rerank, search_resuming
from goldrank.errors import GoldrankError, InputError
from goldrank.hits import Run
from goldrank.io.checkpoints import Checkpoint

SCORES = st.sampled_from([-1e300, -2.0, 0.0, 0.5, 1.0, 1e300])
RUNS = st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), st.dictionaries(st.sampled_from("abcdefgh"), SCORES))


def in_order(ranking):
    return sorted(ranking, key=lambda item: (ranking[item], item), reverse=True)


def same(ids):
    return list(ids)


def scoring(second):
    """Return a pair scorer for texts that equal their ids."""
    return load_pair_scorer(lambda pairs: [second[query][item] for query, item in pairs])


@given(run=RUNS.filter(bool), data=st.data(), depth=st.integers(1, 9))
def test_the_top_is_ordered_by_the_scorer_and_the_rest_keeps_its_order_below(run, data, depth):
    second = {q: {item: data.draw(SCORES) for item in ranking} for q, ranking in run.items()}
    reranked = rerank(Run(run), scoring(second), {q: q for q in run}, same, depth).to_dict()
    assert list(reranked) == list(run)
    for query, ranking in run.items():
        first = in_order(ranking)
        top, rest = first[:depth], first[depth:]
        expected = in_order({item: second[query][item] for item in top})
        assert {item: reranked[query][item] for item in top} == {item: second[query][item] for item in top}
        assert list(reranked[query]) == expected + rest
        assert in_order(reranked[query])[: len(top)] == expected
        values = [reranked[query][item] for item in rest]
        assert np.isfinite(values).all()
        assert all(value < min(reranked[query][item] for item in top) for value in values)
        for upper, lower in pairwise(rest):
            assert (reranked[query][upper] > reranked[query][lower]) == (ranking[upper] > ranking[lower])


def test_texts_reach_the_scorer_and_each_item_is_fetched_once_a_batch():
    texts = {"a": "red wine", "b": "white wine", "c": "beer"}
    requests = []

    def fetch(ids):
        requests.append(ids)
        return [texts[item] for item in ids]

    run = Run({"q1": {"b": 2.0, "a": 1.0, "c": 0.0}, "q2": {"c": 2.0, "b": 1.0}})
    reranked = rerank(run, load_pair_scorer("overlap"), {"q1": "red wine", "q2": "white"}, fetch, 2)
    assert list(reranked["q1"]) == ["a", "b", "c"]
    assert list(reranked["q2"]) == ["b", "c"]
    assert requests == [["b", "a", "c"]]


def test_many_pairs_are_scored_in_several_batches_with_the_same_result():
    run = {f"q{q}": {f"d{d:04}": float(-d) for d in range(700)} for q in range(10)}
    calls = []

    def fetch(ids):
        calls.append(len(ids))
        return ids

    scorer = load_pair_scorer(lambda queries, items: [int(item[1:]) % 13 for item in items], batch_size=999)
    reranked = rerank(Run(run), scorer, {q: q for q in run}, fetch, 600)
    assert len(calls) == 4
    assert reranked["q3"] == rerank(Run({"q3": run["q3"]}), scorer, {"q3": ""}, same, 600)["q3"]
    assert list(reranked["q3"])[-1] == "d0699"


def test_what_cannot_be_reranked_is_refused_before_any_scoring():
    run = Run({"q1": {"a": 1.0}, "q2": {"a": 1.0}})
    with pytest.raises(InputError, match="1 queries of the run have no text, 'q2' for one"):
        rerank(run, load_pair_scorer(lambda pairs: 1 / 0), {"q1": "x"}, same, 3)
    with pytest.raises(InputError, match="depth=0"):
        rerank(run, load_pair_scorer("overlap"), {"q1": "x", "q2": "y"}, same, 0)
    with pytest.raises(GoldrankError, match="0 texts were given for 1 items"):
        rerank(run, load_pair_scorer("overlap"), {"q1": "x", "q2": "y"}, lambda ids: [], 3)


def test_what_a_checkpoint_holds_is_not_scored_again(tmp_path):
    run = {f"q{q}": {f"d{d:04}": float(-d) for d in range(1500)} for q in range(4)}
    scored = []

    def score(queries, items):
        scored.extend(queries)
        if len(scored) > 2500:
            raise RuntimeError("killed")
        return [int(item[1:]) % 13 for item in items]

    checkpoint = Checkpoint("a", tmp_path)
    with pytest.raises(GoldrankError, match="killed"):
        rerank(Run(run), load_pair_scorer(score), {q: q for q in run}, same, 1500, checkpoint=checkpoint)
    assert set(checkpoint.done()) == {"q0"}
    scored.clear()

    def well(queries, items):
        scored.extend(queries)
        return [int(item[1:]) % 13 for item in items]

    resumed = rerank(Run(run), load_pair_scorer(well), {q: q for q in run}, same, 1500, checkpoint=checkpoint)
    assert set(scored) == {"q1", "q2", "q3"}
    assert resumed == rerank(Run(run), load_pair_scorer(well), {q: q for q in run}, same, 1500)


def test_scores_kept_for_other_items_are_not_taken(tmp_path):
    checkpoint = Checkpoint("a", tmp_path)
    checkpoint.add({"q": {"x": 5.0}})
    reranked = rerank(
        Run({"q": {"a": 1.0}}), load_pair_scorer("overlap"), {"q": "a"}, lambda ids: ["no"], 3, checkpoint=checkpoint
    )
    assert reranked["q"] == {"a": 0.0}


def test_a_search_goes_on_where_it_was(tmp_path, monkeypatch):
    # A function that is not live is not called again to compare its answers.
    monkeypatch.setattr("goldrank.encoders.search_function.SearchFunction.live", False)
    requests = []

    def search(query, k):
        requests.append(query)
        if len(requests) == 100:
            raise RuntimeError("killed")
        return [f"d{len(query)}", "d0"]

    ids, texts = [f"q{number}" for number in range(150)], ["x" * (number % 9 + 1) for number in range(150)]
    checkpoint = Checkpoint("a", tmp_path)
    with pytest.raises(GoldrankError, match="killed"):
        search_resuming(searcher(search), ids, texts, 5, checkpoint)
    saved = len(checkpoint.done())
    assert 0 < saved < 100
    run, remarks = search_resuming(searcher(search), ids, texts, 5, checkpoint)
    assert not remarks
    assert len(requests) == 100 + 150 - saved
    assert run == searcher(search).search(ids, texts, 5)
    assert run.queries == ids


def test_a_run_file_is_not_kept_twice(tmp_path):
    Run({"q1": {"a": 1.0}}).write(tmp_path / "a.trec")
    checkpoint = Checkpoint("a", tmp_path / "partial")
    model = load(f"run:{tmp_path / 'a.trec'}")
    assert search_resuming(model, ["q1"], [""], 5, checkpoint)[0].to_dict() == {"q1": {"a": 1.0}}
    assert not checkpoint.path.exists()


WORKER = """
import sys
from goldrank.encoders.pair_scorers import load_pair_scorer
from goldrank.encoders.reranking import rerank
from goldrank.hits import Run
from goldrank.io.checkpoints import Checkpoint

def score(pairs):
    print("scoring", flush=True)
    sys.stdin.readline()
    return [hash_of(q + i) for q, i in pairs]

def hash_of(text):
    return sum(ord(c) * 7 ** at for at, c in enumerate(text)) % 1009 / 7

run = Run({f"q{q}": {f"d{d}": float(d) for d in range(900)} for q in range(24)})
reranked = rerank(run, load_pair_scorer(score, batch_size=1000), {q: q for q in run}, list, 900,
              checkpoint=Checkpoint("a", sys.argv[1]))
reranked.write(sys.argv[2])
print("written", flush=True)
"""


@pytest.mark.slow
def test_a_rerank_killed_again_and_again_ends_with_the_same_run(tmp_path):
    def start(partial, out):
        arguments = [sys.executable, "-c", WORKER, str(tmp_path / partial), str(tmp_path / out)]
        return subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    whole = start("one", "one.json")
    assert whole.communicate()[0].endswith("written\n")
    saved = []
    for batches in (1, 4, 6):
        process = start("other", "other.json")
        # A batch is scored when a line is sent, so that the process waits in the last one until it is killed.
        for _ in range(batches - 1):
            assert process.stdout.readline() == "scoring\n"
            process.stdin.write("\n")
            process.stdin.flush()
        assert process.stdout.readline() == "scoring\n"
        process.send_signal(signal.SIGKILL)
        process.communicate()
        saved.append(len(Checkpoint("a", tmp_path / "other").done()))
    assert 0 < saved[-1] < 24
    assert saved == sorted(saved)
    last = start("other", "other.json")
    assert last.communicate()[0].count("scoring") < 24
    assert (tmp_path / "other.json").read_bytes() == (tmp_path / "one.json").read_bytes()
