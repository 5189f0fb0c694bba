"""Evaluations on a real Ray cluster: the hits and scores of one machine, whatever nodes are killed on the way."""

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
    """Short texts of few words, so that many of them are equal and tie."""
    rng = random.Random(documents)
    texts = [" ".join(rng.choices(WORDS.split(), k=rng.randint(3, 30))) for _ in range(documents)]
    (folder / "qrels").mkdir(parents=True)
    corpus = (json.dumps({"_id": f"d{number}", "text": text}) for number, text in enumerate(texts))
    (folder / "corpus.jsonl").write_text("\n".join(corpus) + "\n")
    asked = [(f"q{number}", rng.randrange(documents)) for number in range(50)]
    queries = (json.dumps({"_id": name, "text": texts[item].partition(" ")[2] or "wine"}) for name, item in asked)
    (folder / "queries.jsonl").write_text("\n".join(queries) + "\n")
    rows = (f"{name}\td{gold}\t1" for name, item in asked for gold in (item, (item + 7) % documents))
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_collection(tmp_path_factory.mktemp("data") / "many", 6000)


@dataclasses.dataclass(frozen=True)
class SmallShards(Sharding):
    """Shards of fewer items than transforms allow."""

    def __post_init__(self):
        pass


def evaluated(folder, sharding=None, **settings):
    data = dataclasses.replace(RankingData.load(find_task(str(folder)), Settings(**settings)), sharding=sharding)
    made = data.evaluate(load_model(MODEL))
    return made.hits, made.scores, made.run.to_dict()


def assert_same(one, other):
    for field in dataclasses.fields(one[0]):
        left, right = getattr(one[0], field.name), getattr(other[0], field.name)
        assert np.array_equal(left, right) if isinstance(left, np.ndarray) else left == right, field.name
    for name, score in one[1].items():
        assert score.per_query == other[1][name].per_query
        assert (score.value, score.interval) == (other[1][name].value, other[1][name].interval)
    assert list(one[2]) == list(other[2])
    assert all(list(one[2][query].items()) == list(other[2][query].items()) for query in one[2])


@pytest.mark.parametrize("most", [20_000_000, 1], ids=["ranked", "counted"])
@pytest.mark.parametrize("items", [250, 1000, 20_000])
def test_hits_and_scores_are_those_of_one_machine(folder, joined, items, most, tmp_path, monkeypatch):
    monkeypatch.setattr(vector_ranking, "MOST_RESULTS", most)
    found = evaluated(folder, SmallShards(joined, str(tmp_path), items))
    assert_same(evaluated(folder), found)


def test_a_transform_on_the_cluster_gives_the_same_bits(folder, joined, tmp_path):
    settings = {"transform": "center|whiten:8|normalize", "similarity": "dot"}
    found = evaluated(folder, Sharding(joined, str(tmp_path), 4096), **settings)
    assert_same(evaluated(folder, **settings), found)


def test_the_ray_client_gives_the_same(folder, nodes, tmp_path):
    with open_engine(nodes.client_address) as client:
        assert_same(evaluated(folder), evaluated(folder, SmallShards(client, str(tmp_path), 1000)))


def test_nodes_killed_at_random_moments_change_nothing(folder, nodes, joined, tmp_path, monkeypatch):
    monkeypatch.setattr(vector_ranking, "MOST_RESULTS", 1)
    expected = evaluated(folder)
    rng = random.Random(8)
    begun = time.monotonic()
    evaluated(folder, SmallShards(joined, str(tmp_path / "whole"), 250))
    usual = time.monotonic() - begun
    for turn in range(3):
        killer = threading.Timer(rng.uniform(0.02, 0.9) * usual, nodes.kill_a_worker, [rng.choice])
        killer.start()
        try:
            found = evaluated(folder, SmallShards(joined, str(tmp_path / str(turn)), 250))
        finally:
            killer.join()
        assert_same(expected, found)


def test_masked_predictions_scored_by_page_shards_are_the_same(joined, tmp_path):
    chunks = list(examples_at("persons"))
    table, _ = join(chunks, predict_all(chunks, load_predictor("names:majority"), k=3))
    one, other = score_predictions(table), score_predictions(table, sharding=Sharding(joined, str(tmp_path)))
    for level in LEVELS:
        for field in dataclasses.fields(one.levels[level].hits):
            left, right = (getattr(scores.levels[level].hits, field.name) for scores in (one, other))
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
            made = sorted((tmp_path / "work").glob("vectors/*/*.parquet"))
            if len(made) >= 3:
                break
            assert running.poll() is None, running.stderr.read()
            time.sleep(0.05)
        nodes.head.kill()
        output, said = running.communicate(timeout=300)
    assert (running.returncode, output) == (1, "")
    assert "head" in said
    assert "Traceback" not in said
    kept = {path: path.stat().st_mtime_ns for path in made}
    again = command(folder, tmp_path, "--engine", "ray:2", *shards)
    on_ray, said = again.communicate(timeout=300)
    assert again.returncode == 0, said
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    here = command(folder, tmp_path / "data", "--store", str(tmp_path / "other"))
    local, said = here.communicate(timeout=300)
    assert here.returncode == 0, said
    one, other = json.loads(on_ray)["tasks"][0], json.loads(local)["tasks"][0]
    assert one["keys"] == other["keys"]
    assert one == other
