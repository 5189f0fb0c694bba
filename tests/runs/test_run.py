"""Test runs of many models on many tasks: stored one by one, resumed after a kill, and safe with concurrent writers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from goldrank import Run, stats
from goldrank.errors import InputError
from goldrank.metrics import Metric
from goldrank.runs.run import Measures, run
from goldrank.store import Store
from goldrank.tasks.settings import Settings

MODELS = ["bm25", "wordllama", "fuse:rrf(bm25,wordllama)"]
COMMAND = [sys.executable, "-m", "goldrank", "run", "-m", *MODELS, "-t", "wines", "questions", "--format", "json"]
# Runs the same command in a process that is killed at the step of the first argument.
DYING = f"""
import sys
sys.path.insert(0, {str(Path(__file__).resolve().parents[1])!r})
from goldrank.cli.main import main
from killing import die_at_step
die_at_step(int(sys.argv.pop(1)))
sys.exit(main())
"""


def boards(models, tasks, store, **options):
    return list(run(models, tasks, store, **vars(options.pop("measures", Measures())), **options))


def means(board):
    return {model: {name: score.value for name, score in scores.items()} for model, scores in board.scores.items()}


def test_what_is_stored_is_not_evaluated_again(store, monkeypatch):
    (first,) = boards(MODELS, ["wines"], store)
    assert all(outcome.fresh for outcome in first.outcomes)
    monkeypatch.setattr("goldrank.tasks.ranking.data.RankingData.evaluate", lambda *_: pytest.fail("evaluated again"))
    (again,) = boards(MODELS, ["wines"], store)
    assert not any(outcome.fresh for outcome in again.outcomes)
    assert means(again) == means(first)


def test_hits_metrics_and_intervals_are_computed_once_and_not_read_back(store, monkeypatch):
    calls = []

    def counted(owner, name):
        original = getattr(owner, name)

        def wrapped(*args, **options):
            calls.append(name)
            return original(*args, **options)

        monkeypatch.setattr(owner, name, wrapped)

    counted(Run, "hits")
    counted(stats, "intervals")
    counted(Metric, "compute")
    monkeypatch.setattr("goldrank.store.records.load_hits", lambda *_: pytest.fail("the hits were read back"))
    (board,) = boards(["bm25", "tfidf"], ["questions"], store)
    read = [(score.value, score.interval) for scores in board.scores.values() for score in scores.values()]
    assert len(read) == 2 * len(board.task.default_metrics)
    assert calls.count("hits") == 2
    assert calls.count("compute") == len(read)
    # There is one interval for each model, and one for the difference of the two.
    assert calls.count("intervals") == 3


def test_the_best_comes_first_and_knows_whom_it_beats(store):
    (board,) = boards(["random", "bm25"], ["questions"], store)
    assert list(board.scores) == ["bm25", "random"]
    assert board.best.model == "bm25"
    assert board.comparison.better_than("ndcg@10", "bm25") == ["random"]


def test_a_model_without_a_value_comes_last(store, tmp_path):
    articles = [
        {"id": "a", "text": "red wine", "labels": ["b"]},
        {"id": "b", "text": "white wine"},
        {"id": "c", "text": "green tea"},
    ]
    (tmp_path / "unrelated.run").write_text("a Q0 c 1 1.0 tag\n")
    unrelated = f"run:{tmp_path / 'unrelated.run'}"
    (board,) = boards([unrelated, "bm25"], [articles], store, measures=Measures(["mrr(unfound=skip)"]))
    assert list(board.scores) == ["bm25", unrelated]
    assert board.best.model == "bm25"


def test_one_model_alone_has_a_leaderboard_of_one(store):
    (board,) = boards(["bm25"], ["wines"], store)
    assert list(board.scores) == ["bm25"]
    assert board.comparison.pairs == []


def test_other_metrics_and_profiles_come_from_the_stored_rankings(store, monkeypatch):
    (fresh,) = boards(["wordllama"], ["wines"], store, measures=Measures(profile="sdr"))
    monkeypatch.setattr("goldrank.tasks.ranking.data.RankingData.evaluate", lambda *_: pytest.fail("evaluated again"))
    (sdr,) = boards(["wordllama"], ["wines"], store, measures=Measures(profile="sdr"))
    (float32,) = boards(["wordllama"], ["wines"], store, measures=Measures(["mrr"], profile="trec_eval9"))
    assert means(sdr) == means(fresh)
    assert means(float32)["wordllama"]["mrr"] < means(sdr)["wordllama"]["mrr"]


def test_other_settings_are_another_run(store):
    boards(["wordllama"], ["wines"], store)
    (other,) = boards(["wordllama"], ["wines"], store, settings=Settings(similarity="dot", depth=10))
    assert other.outcomes[0].fresh
    assert len(store.list()) == 2


@pytest.mark.slow
def test_a_search_that_is_killed_asks_no_query_twice_that_was_kept(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import os, signal\ndef search(query, k, query_id):\n"
        "    with open('asked', 'a') as log: log.write(query_id + '\\n')\n"
        "    if len(open('asked').readlines()) == int(os.environ.get('DIES_AT', 0)):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return ['w001']\n"
    )
    command = [sys.executable, "-m", "goldrank", "run", "-m", "search:mine:search", "-t", "questions"]
    environ = environment(tmp_path / "store", tmp_path / "cache")
    killed = subprocess.run(command, cwd=tmp_path, env={**environ, "DIES_AT": "30"}, check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    subprocess.run(command, cwd=tmp_path, env=environ, check=True, capture_output=True)
    query_ids = (tmp_path / "asked").read_text().split()
    assert len(set(query_ids)) == 60
    # Batches of at most 1, 2, 4, 8 and 16 queries: the last one was lost, and at most 16 saved ones are compared.
    assert 60 < len(query_ids) <= 60 + 15 + 16


def test_overwrite_always_replaces_and_never_only_shows(store):
    (first,) = boards(["bm25"], ["wines"], store)
    (again,) = boards(["bm25"], ["wines"], store, overwrite="always")
    assert again.outcomes[0].fresh
    assert again.outcomes[0].stored.key == first.outcomes[0].stored.key
    (board,) = boards(["bm25", "tfidf"], ["wines"], store, overwrite="never")
    assert board.missing == ["tfidf"]
    with pytest.raises(InputError, match="--overwrite never"):
        boards(["tfidf"], ["wines"], store, overwrite="never")


@pytest.mark.parametrize(("models", "tasks"), [([], ["wines"]), (["bm25"], []), (["bm25", "bm25"], ["wines"])])
def test_nothing_to_do_or_the_same_twice_is_refused(models, tasks, store):
    with pytest.raises(InputError, match=r"model|task"):
        boards(models, tasks, store)


def test_everything_wrong_is_found_before_the_first_evaluation(store, tmp_path, monkeypatch):
    monkeypatch.setattr("goldrank.tasks.ranking.data.RankingData.evaluate", lambda *_: pytest.fail("started"))
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "corpus.jsonl").write_text('{"_id": "d", "text": "t"}\n')
    for tasks in (["wines", "not-a-task"], ["wines", str(tmp_path / "broken")]):
        with pytest.raises(InputError):
            boards(["bm25"], tasks, store)


def test_a_result_carries_where_it_comes_from(store):
    (board,) = boards(["wordllama"], ["wines"], store)
    stored = board.outcomes[0].stored
    assert stored.key.startswith("wines-wordllama-")
    assert stored.inputs["data"] == board.data.collection.checksum
    assert stored.inputs["model_identity"].startswith("wordllama wordllama ")
    assert stored.inputs["text"]["parts"] == "title+heading+text"
    assert {"goldrank", "python", "packages", "machine", "commit", "seconds"} <= set(stored.environment)


def environment(store, cache):
    return {**os.environ, "GOLDRANK_STORE": str(store), "GOLDRANK_CACHE": str(cache)}


def shown(output: bytes):
    return [{"task": task["task"], "runs": task["runs"], "keys": task["keys"]} for task in json.loads(output)["tasks"]]


@pytest.mark.slow
def test_a_run_that_is_killed_at_many_steps_goes_on_to_the_same_numbers(where, tmp_path):
    environ = environment(tmp_path / "undisturbed", tmp_path / "cache of its own")
    undisturbed = subprocess.run(COMMAND, capture_output=True, check=True, env=environ)
    environ = environment(where, tmp_path / "cache")
    killed = 0
    for step in (8**exponent for exponent in range(7)):
        ended = subprocess.run(
            [sys.executable, "-c", DYING, str(step), *COMMAND[3:]], capture_output=True, check=False, env=environ
        )
        for stored in Store.open(where).list():
            assert len(stored.hits()) > 0
        if ended.returncode == 0:
            break
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        killed += 1
    assert killed > 2
    resumed = subprocess.run(COMMAND, capture_output=True, check=True, env=environ)
    assert shown(resumed.stdout) == shown(undisturbed.stdout) == shown(ended.stdout)


@pytest.mark.slow
def test_two_processes_evaluate_into_one_store_at_once(where, tmp_path):
    environ = environment(where, tmp_path / "cache")
    both = [subprocess.Popen(COMMAND, stdout=subprocess.PIPE, env=environ) for _ in range(2)]
    outputs = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert shown(outputs[0]) == shown(outputs[1])
    assert len(Store.open(where).list()) == 6
