"""Test that memory-mapped vectors are ranked without a copy in memory and give bit-identical results."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from goldrank.data.collections import Collection, Document, Documents
from goldrank.encoders import load
from goldrank.hits import Gold
from goldrank.runs.evaluate import evaluate
from goldrank.tasks import task_of
from goldrank.tasks.ranking.data import Corpus

_WIDTH, _QUERIES = 1024, 20
_FEW, _MANY = 20_000, 90_000


def write(folder: Path, items: int, *, shuffled: bool) -> Path:
    """Write a BEIR folder and the vectors of its items and queries."""
    rng = np.random.default_rng(3)
    (folder / "task" / "qrels").mkdir(parents=True)
    shape = (items + _QUERIES, _WIDTH)
    vectors = np.lib.format.open_memmap(folder / "v.npy", "w+", np.float32, shape)
    for start in range(0, len(vectors), 4096):
        part = vectors[start : start + 4096]
        part[:] = rng.standard_normal(part.shape, np.float32)
    vectors.flush()
    order = rng.permutation(items) if shuffled else np.arange(items)
    names = [*(f"d{item}" for item in order), *(f"q{query}" for query in range(_QUERIES))]
    (folder / "v.ids").write_text("\n".join(names) + "\n")
    with (folder / "task" / "corpus.jsonl").open("w") as corpus:
        corpus.writelines(f'{{"_id": "d{item}", "text": "text {item}"}}\n' for item in range(items))
    with (folder / "task" / "queries.jsonl").open("w") as queries:
        queries.writelines(f'{{"_id": "q{query}", "text": "who"}}\n' for query in range(_QUERIES))
    rows = "".join(f"q{query}\td{query * 7}\t1\n" for query in range(_QUERIES))
    (folder / "task" / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}")
    return folder


def peak_mb(folder: Path) -> float:
    """Return the peak memory of `goldrank run` in MB, without memory-mapped file pages."""
    model, task = f"vectors:{folder / 'v.npy'}", str(folder / "task")
    environment = {"GOLDRANK_STORE": str(folder / "store"), "GOLDRANK_CACHE": str(folder / "cache")}
    command = [sys.executable, "-m", "goldrank", "run", "-m", model, "-t", task, "--depth", "100"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, **environment})
    peak = 0
    while process.poll() is None:
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        kinds = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
        peak = max(peak, sum(int(kinds[name][0]) for name in ("RssAnon", "RssShmem") if name in kinds))
        time.sleep(0.01)
    assert process.returncode == 0
    assert peak > 0
    return peak / 1024


@pytest.fixture(scope="module")
def few_mb(tmp_path_factory) -> float:
    """Return the peak memory for few items, which includes everything that does not grow with their number."""
    if "RssAnon" not in (Path("/proc/self/status").read_text() if Path("/proc/self/status").exists() else ""):
        pytest.skip("this system does not tell memory from mapped files")
    return peak_mb(write(tmp_path_factory.mktemp("few"), _FEW, shuffled=False))


@pytest.mark.slow
@pytest.mark.parametrize("shuffled", [False, True])
def test_a_run_over_many_mapped_vectors_takes_far_less_memory_than_they_do(shuffled, few_mb, tmp_path):
    folder = write(tmp_path, _MANY, shuffled=shuffled)
    matrix_mb = (_MANY - _FEW) * _WIDTH * 4 / 2**20
    assert peak_mb(folder) - few_mb < matrix_mb / 3
    # The cache may hold only the digest of the file and the groups of near-duplicates.
    assert sum(file.stat().st_size for file in (folder / "cache").rglob("*") if file.is_file()) < 10_000


def vectors_of(names: list[str]) -> np.ndarray:
    """Return vectors with difficult rows: equal, zero, parallel, tiny and huge ones."""
    rng = np.random.default_rng(len(names))
    rows = rng.standard_normal((len(names), 12)).astype(np.float32)
    rows[5], rows[9], rows[14], rows[20:24] = rows[3], 0, 2 * rows[3], rows[20:24].round()
    rows[30] *= np.float32(1e-25)
    rows[31] *= np.float32(1e15)
    return rows


def written(folder: Path, names: list[str], order: list[int]) -> tuple[str, str]:
    """Write the same vectors as a mapped file in the given order and as a loaded file; return both specs."""
    rows = vectors_of(names)
    np.save(folder / "mapped.npy", rows[order])
    (folder / "mapped.ids").write_text("".join(f"{names[at]}\n" for at in order))
    np.savez(folder / "held.npz", ids=np.array(names), vectors=rows)
    return f"vectors:{folder / 'mapped.npy'}", f"vectors:{folder / 'held.npz'}"


def task(names: list[str], *, related: bool):
    documents = [Document.plain(name, f"text of {name}") for name in names]
    items = Documents(documents if related else documents[:80], "items")
    queries = items if related else Documents(documents[80:], "queries")
    query_names = names[:20] if related else names[80:]
    gold = {query: {names[(at * 7 + 3) % 80]: 1.0, names[(at * 5) % 80]: 2.0} for at, query in enumerate(query_names)}
    return task_of(Collection("c", items, queries, Gold(gold).columns))


@pytest.mark.slow
@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
@pytest.mark.parametrize("related", [False, True])
@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("order", ["as asked", "turned round", "turned round, in a file"])
def test_mapped_vectors_give_the_same_bits_as_vectors_in_memory(
    similarity, related, counted, order, tmp_path, monkeypatch
):
    names = [f"n{number}" for number in range(100)]
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path / "cache"))
    if counted:
        monkeypatch.setattr("goldrank.tasks.ranking.by_vectors.MOST_RESULTS", 1)
    if order == "turned round, in a file":
        monkeypatch.setattr("goldrank.encoders.vectors._HELD_ELEMENTS", 0)
    placed = list(range(100)) if order == "as asked" else list(reversed(range(100)))
    specs = written(tmp_path, names, placed)
    mapped, held = (evaluate(spec, task(names, related=related), similarity=similarity) for spec in specs)
    assert mapped.run.to_dict() == held.run.to_dict()
    assert [list(ranking) for ranking in mapped.run.to_dict().values()] == [
        list(ranking) for ranking in held.run.to_dict().values()
    ]
    for name in ("above", "tied", "tied_docid", "tied_input", "depth", "own", "outside"):
        np.testing.assert_array_equal(getattr(mapped.hits, name), getattr(held.hits, name))


def test_rows_that_lie_in_the_order_asked_for_are_those_of_the_file(tmp_path):
    names = [f"n{number}" for number in range(100)]
    spec, _ = written(tmp_path, names, list(range(100)))
    encoder, rows = load(spec), vectors_of(names)
    part = encoder.encode_items(names[10:90])
    np.testing.assert_array_equal(part, rows[10:90])
    assert not part.flags.owndata
    assert not part.flags.writeable
    assert encoder.encode_items([names[4], names[3]]).flags.writeable
    np.testing.assert_array_equal(encoder.encode_items([names[4], names[3], names[4]]), rows[[4, 3, 4]])


@pytest.mark.parametrize("dtype", ["<f2", "<f8", ">f4", "<i4"])
def test_other_types_come_out_in_float32_as_before(dtype, tmp_path):
    rows = (10 * np.random.default_rng(1).standard_normal((30, 4))).astype(dtype)
    np.save(tmp_path / "v.npy", np.asfortranarray(rows))
    (tmp_path / "v.ids").write_text("".join(f"{row}\n" for row in range(30)))
    vectors = load(f"vectors:{tmp_path / 'v.npy'}").encode_items([str(row) for row in range(30)])
    assert vectors.dtype == np.float32
    assert vectors.dtype.isnative
    np.testing.assert_array_equal(vectors, rows.astype(np.float32))


def test_a_corpus_is_the_set_of_its_ids_whatever_was_expected():
    corpus = Corpus(["a", "b", "c"], expected=["b", "x"])
    assert corpus == frozenset("abc")
    assert [name in corpus for name in ("a", "b", "x", "y")] == [True, True, False, False]
