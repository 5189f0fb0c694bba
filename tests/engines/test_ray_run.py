"""Test evaluations on a real Ray cluster: hits and scores equal those of one machine, even if nodes are killed."""

import dataclasses
import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from engines.ray_nodes import ray_cluster
from goldrank.engines import open_engine
from goldrank.masked.examples.masking import examples_at
from goldrank.masked.predictions.joining import join
from goldrank.masked.predictions.predict import predict_all
from goldrank.masked.predictors import load_predictor
from goldrank.masked.scoring.levels import LEVELS, score_predictions
from goldrank.tasks.catalogue import find_task
from goldrank.tasks.ranking import by_vectors as vector_ranking
from goldrank.tasks.ranking.data import RankingData
from goldrank.tasks.ranking.models import load_model
from goldrank.tasks.ranking.sharding import Sharding
from goldrank.tasks.settings import Settings

pytestmark = pytest.mark.heavy
pytest.importorskip("ray", reason="the Ray engine needs the package ray")

WORDS = "red white dry sweet wine game card dice old new stone river oak sea"
MODEL = "wordllama(dim=64)"
GOLDRANK = [Path(sys.executable).parent / "goldrank"]


def write_collection(folder, documents):
    """Write a collection of short texts with a small vocabulary, so that many are equal and tie."""
    rng = random.Random(documents)
    texts = [" ".join(rng.choices(WORDS.split(), k=rng.randint(3, 30))) for _ in range(documents)]
    (folder / "qrels").mkdir(parents=True)
    corpus = (json.dumps({"_id": f"d{number}", "text": text}) for number, text in enumerate(texts))
    (folder / "corpus.jsonl").write_text("\n".join(corpus) + "\n")
    query_items = [(f"q{number}", rng.randrange(documents)) for number in range(50)]
    queries = (json.dumps({"_id": name, "text": texts[item].partition(" ")[2] or "wine"}) for name, item in query_items)
    (folder / "queries.jsonl").write_text("\n".join(queries) + "\n")
    rows = (f"{name}\td{gold}\t1" for name, item in query_items for gold in (item, (item + 7) % documents))
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_collection(tmp_path_factory.mktemp("data") / "many", 6000)


@dataclasses.dataclass(frozen=True)
class SmallShards(Sharding):
    """Sharding with fewer items in a shard than transforms allow."""

    def __post_init__(self):
        pass


def evaluated(folder, sharding=None, **settings):
    data = dataclasses.replace(RankingData.load(find_task(str(folder)), Settings(**settings)), sharding=sharding)
    result = data.evaluate(load_model(MODEL))
    return result.hits, result.scores, result.run.to_dict()


def assert_same(expected, actual):
    for field in dataclasses.fields(expected[0]):
        left, right = getattr(expected[0], field.name), getattr(actual[0], field.name)
        assert np.array_equal(left, right) if isinstance(left, np.ndarray) else left == right, field.name
    for name, score in expected[1].items():
        assert score.per_query == actual[1][name].per_query
        assert (score.value, score.interval) == (actual[1][name].value, actual[1][name].interval)
    assert list(expected[2]) == list(actual[2])
    assert all(list(expected[2][query].items()) == list(actual[2][query].items()) for query in expected[2])


@pytest.mark.parametrize("most", [20_000_000, 1], ids=["ranked", "counted"])
@pytest.mark.parametrize("items", [250, 1000, 20_000])
def test_hits_and_scores_are_those_of_one_machine(folder, joined, items, most, tmp_path, monkeypatch):
    monkeypatch.setattr(vector_ranking, "MOST_RESULTS", most)
    result = evaluated(folder, SmallShards(joined, str(tmp_path), items))
    assert_same(evaluated(folder), result)


def test_a_transform_on_the_cluster_gives_the_same_bits(folder, joined, tmp_path):
    settings = {"transform": "center|whiten:8|normalize", "similarity": "dot"}
    result = evaluated(folder, Sharding(joined, str(tmp_path), 4096), **settings)
    assert_same(evaluated(folder, **settings), result)


def test_the_ray_client_gives_the_same(folder, nodes, tmp_path):
    with open_engine(nodes.client_address) as client:
        assert_same(evaluated(folder), evaluated(folder, SmallShards(client, str(tmp_path), 1000)))


def test_nodes_killed_at_random_moments_change_nothing(folder, nodes, joined, tmp_path, monkeypatch):
    monkeypatch.setattr(vector_ranking, "MOST_RESULTS", 1)
    expected = evaluated(folder)
    rng = random.Random(8)
    start = time.monotonic()
    evaluated(folder, SmallShards(joined, str(tmp_path / "whole"), 250))
    duration = time.monotonic() - start
    for attempt in range(3):
        killer = threading.Timer(rng.uniform(0.02, 0.9) * duration, nodes.kill_a_worker, [rng.choice])
        killer.start()
        try:
            result = evaluated(folder, SmallShards(joined, str(tmp_path / str(attempt)), 250))
        finally:
            killer.join()
        assert_same(expected, result)


def test_masked_predictions_scored_by_page_shards_are_the_same(joined, tmp_path):
    chunks = list(examples_at("persons"))
    table, _ = join(chunks, predict_all(chunks, load_predictor("names:majority"), k=3))
    whole, sharded = score_predictions(table), score_predictions(table, sharding=Sharding(joined, str(tmp_path)))
    for level in LEVELS:
        for field in dataclasses.fields(whole.levels[level].hits):
            left, right = (getattr(scores.levels[level].hits, field.name) for scores in (whole, sharded))
            assert np.array_equal(left, right) if isinstance(left, np.ndarray) else left == right


def command(folder, tmp_path, *arguments):
    names = {"GOLDRANK_STORE": str(tmp_path / "store"), "GOLDRANK_CACHE": str(tmp_path / "cache")}
    return subprocess.Popen(
        [*GOLDRANK, "run", "-m", MODEL, "-t", str(folder), "--format", "json", "--resamples", "200", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | names, cwd=tmp_path,
    )  # fmt: skip


def test_when_the_head_is_lost_the_command_says_so_and_a_second_start_goes_on(tmp_path):
    folder = write_collection(tmp_path / "data", 40_000)
    shards = ["--work-folder", str(tmp_path / "work"), "--shard-items", "4096"]
    with ray_cluster(head_cpus=0, workers=2) as nodes:
        running = command(folder, tmp_path, "--engine", nodes.address, *shards)
        for _ in range(1200):
            files = sorted((tmp_path / "work").glob("vectors/*/*.parquet"))
            if len(files) >= 3:
                break
            assert running.poll() is None, running.stderr.read()
            time.sleep(0.05)
        nodes.head.kill()
        output, message = running.communicate(timeout=300)
    assert (running.returncode, output) == (1, "")
    assert "head" in message
    assert "Traceback" not in message
    modified = {path: path.stat().st_mtime_ns for path in files}
    second_start = command(folder, tmp_path, "--engine", "ray:2", *shards)
    on_ray, message = second_start.communicate(timeout=300)
    assert second_start.returncode == 0, message
    assert {path: path.stat().st_mtime_ns for path in modified} == modified
    local_process = command(folder, tmp_path / "data", "--store", str(tmp_path / "other"))
    local, message = local_process.communicate(timeout=300)
    assert local_process.returncode == 0, message
    ray_task, local_task = json.loads(on_ray)["tasks"][0], json.loads(local)["tasks"][0]
    assert ray_task["keys"] == local_task["keys"]
    assert ray_task == local_task
