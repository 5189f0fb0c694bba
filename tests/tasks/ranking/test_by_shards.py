"""Test that ranking in shards is bit-identical to ranking on one machine, for any shard size and after a crash."""

import dataclasses
import json
import random

import numpy as np
import pytest

from goldrank.engines.local import LocalEngine
from goldrank.errors import GoldrankError, InputError
from goldrank.tasks.catalogue import find_task
from goldrank.tasks.ranking import by_shards as sharded_ranking
from goldrank.tasks.ranking import by_vectors as vector_ranking
from goldrank.tasks.ranking.data import RankingData
from goldrank.tasks.ranking.models import load_model
from goldrank.tasks.ranking.sharding import Sharding
from goldrank.tasks.settings import Settings


class EngineIsLost(GoldrankError):  # noqa: N818 - an event, not an error
    pass


class Shuffled(LocalEngine):
    """Engine that runs tasks in random order and fails after a given number of them."""

    def __init__(self, seed=0, lost_after=None):
        self._random, self.left, self.done = random.Random(seed), lost_after, 0

    def map(self, work, tasks, *, what, total):
        waiting, source = [], iter(tasks)
        while True:
            while len(waiting) < 3 and (task := next(source, None)) is not None:
                waiting.append(task)
            if not waiting:
                return
            task = waiting.pop(self._random.randrange(len(waiting)))
            if self.left is not None and self.done >= self.left:
                raise EngineIsLost
            result = work(task)
            self.done += 1
            yield result


def small_shards(engine, folder, items):
    """Return a sharding with fewer items per shard than the minimum, which only transforms depend on."""
    sharding = object.__new__(Sharding)
    for name, value in (("engine", engine), ("folder", str(folder)), ("items", items)):
        object.__setattr__(sharding, name, value)
    return sharding


def assert_same(expected, result):
    assert (expected.hits is None) == (result.hits is None)
    if expected.hits is not None:
        for field in dataclasses.fields(expected.hits):
            left, right = getattr(expected.hits, field.name), getattr(result.hits, field.name)
            assert np.array_equal(left, right) if isinstance(left, np.ndarray) else left == right, field.name
    left, right = expected.run.to_dict(), result.run.to_dict()
    assert list(left) == list(right)
    for query in left:
        assert list(left[query].items()) == list(right[query].items())


def data_of(task, **settings):
    return RankingData.load(find_task(str(task)), Settings(**settings))


@pytest.mark.parametrize("most", [20_000_000, 1], ids=["ranked", "counted"])
@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
@pytest.mark.parametrize("task", ["wines", pytest.param("questions", marks=pytest.mark.slow)])
def test_rankings_and_hits_are_those_of_one_machine_for_any_shards(task, similarity, most, tmp_path, monkeypatch):
    monkeypatch.setattr(vector_ranking, "MOST_RESULTS", most)
    data = data_of(task, similarity=similarity)
    model = load_model("wordllama")
    expected = model.rank(data)
    for items in (7, 64, 1000):
        sharding = small_shards(Shuffled(items), tmp_path / str(items), items)
        result = model.rank(dataclasses.replace(data, sharding=sharding))
        assert_same(expected, result)
        assert len(list((tmp_path / str(items) / "vectors").glob("*/*.parquet"))) == -(-len(data.item_ids) // items)


@pytest.mark.parametrize("fit_on", ["evaluated", "corpus"])
def test_a_transform_fitted_over_shards_gives_the_same_bits(fit_on, tmp_path):
    data = data_of("questions", transform="center|whiten:16|normalize", fit_on=fit_on)
    model = load_model("wordllama")
    result = model.rank(dataclasses.replace(data, sharding=Sharding(Shuffled(), str(tmp_path), 4096)))
    assert_same(model.rank(data), result)


def test_a_model_that_learns_from_the_corpus_travels_as_it_was_fitted(tmp_path):
    data, model = data_of("wines"), load_model("lsa:16")
    sharding = small_shards(LocalEngine(), tmp_path, 30)
    assert_same(model.rank(data), model.rank(dataclasses.replace(data, sharding=sharding)))


@pytest.mark.parametrize(
    ("model", "settings", "reason"),
    [
        ("tfidf", {}, "sparse"),
        ("bm25", {}, "no vectors"),
        ("wordllama", {"scoring": "max_sim"}, "several vectors"),
        ("wordllama", {"index": "faiss:Flat"}, "faiss:Flat"),
    ],
)
def test_what_cannot_be_cut_is_ranked_here_and_says_so(model, settings, reason, tmp_path):
    data, loaded = data_of("wines", **settings), load_model(model)
    sharding = small_shards(Shuffled(lost_after=0), tmp_path, 10)
    result = loaded.rank(dataclasses.replace(data, sharding=sharding))
    assert_same(loaded.rank(data), result)
    assert any("ranked on this machine" in remark and reason in remark for remark in result.remarks)


def test_a_second_start_does_only_what_was_not_done(tmp_path, monkeypatch):
    monkeypatch.setattr(vector_ranking, "MOST_RESULTS", 1)
    data, model = data_of("questions"), load_model("wordllama")
    whole = Shuffled()
    expected = model.rank(dataclasses.replace(data, sharding=small_shards(whole, tmp_path / "whole", 10)))
    expected.run.to_dict()
    starts = tasks_done = 0
    while True:
        starts += 1
        assert starts < 20
        engine = Shuffled(starts, lost_after=11 * starts)
        sharding = small_shards(engine, tmp_path / "parts", 10)
        try:
            result = model.rank(dataclasses.replace(data, sharding=sharding))
            result.run.to_dict()
        except EngineIsLost:
            tasks_done += engine.done
            continue
        tasks_done += engine.done
        break
    assert starts > 2
    # Gold vectors are gathered again at each start; no other task is repeated.
    assert whole.done <= tasks_done <= whole.done + starts * 20
    assert_same(expected, result)
    for checkpoint in result.checkpoints:
        checkpoint.remove()
    assert not list((tmp_path / "parts" / "jobs").iterdir())
    assert not list((tmp_path / "parts" / "texts").iterdir())


def write_collection(folder, files, documents=200):
    """Write a corpus in the layout of MTEB, split into the given number of Parquet and JSON Lines files."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for name in ("corpus", "queries", "default"):
        (folder / name).mkdir(parents=True)
    rng = random.Random(3)
    words = ["red", "white", "dry", "sweet", "wine", "game", "card", "dice", "old", "new", "stone", "river", "oak"]
    rows = [
        {"_id": f"d{number}", "title": f"T{number}", "text": " ".join(rng.choices(words, k=9))}
        for number in range(documents)
    ]
    for number, part in enumerate(np.array_split(np.arange(documents), files)):
        part_rows = [rows[at] for at in part]
        if number % 2:
            parquet.write_table(
                pyarrow.Table.from_pylist(part_rows), folder / f"corpus/{number:03d}.parquet", row_group_size=7
            )
        else:
            lines = "\n\n".join(json.dumps(row) for row in part_rows)
            (folder / f"corpus/{number:03d}.jsonl").write_text(lines + "\n")
    queries = [{"_id": f"q{number}", "text": rows[number]["text"]} for number in range(20)]
    (folder / "queries/queries.jsonl").write_text("\n".join(map(json.dumps, queries)) + "\n")
    gold = [{"query-id": f"q{number}", "corpus-id": f"d{number}", "score": 1} for number in range(20)]
    (folder / "default/test.jsonl").write_text("\n".join(map(json.dumps, gold)) + "\n")
    return folder


def test_a_corpus_in_several_files_is_read_where_it_lies_whatever_the_files(tmp_path, monkeypatch):
    monkeypatch.setattr(sharded_ranking, "staged", lambda *arguments: pytest.fail("texts were copied"))
    runs = []
    for files in (2, 3, 5):
        data = data_of(write_collection(tmp_path / f"in-{files}", files))
        model = load_model("wordllama")
        result = model.rank(dataclasses.replace(data, sharding=small_shards(Shuffled(), tmp_path / f"w{files}", 32)))
        assert_same(model.rank(data), result)
        runs.append(result.run.to_dict())
    assert runs[0] == runs[1] == runs[2]


def test_nodes_elsewhere_are_given_the_texts(tmp_path, monkeypatch):
    data = data_of(write_collection(tmp_path / "data", 2))
    model = load_model("wordllama")
    sharding = small_shards(LocalEngine(), f"file://{tmp_path}/work", 32)
    written = []
    real = sharded_ranking.staged
    monkeypatch.setattr(sharded_ranking, "staged", lambda *arguments: written.append(1) or real(*arguments))
    assert_same(model.rank(data), model.rank(dataclasses.replace(data, sharding=sharding)))
    assert written


def test_shards_that_would_change_the_bits_of_a_transform_are_refused(tmp_path):
    with pytest.raises(InputError, match="multiple of 4096"):
        Sharding(LocalEngine(), str(tmp_path), 1000)
