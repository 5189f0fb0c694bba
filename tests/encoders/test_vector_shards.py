"""A folder of shards as a model: rows by id, separate queries, and ranking shard by shard."""

import dataclasses

import numpy as np
import pytest

from goldrank.data.collections import Collection, Document, Documents
from goldrank.encoders import load
from goldrank.engines.local import LocalEngine
from goldrank.errors import InputError
from goldrank.hits import Gold
from goldrank.io.formats.vector_shards import write_vectors
from goldrank.tasks.ranking import by_shards
from goldrank.tasks.ranking.data import RankingData
from goldrank.tasks.ranking.models import load_model
from goldrank.tasks.ranking.sharding import Sharding
from goldrank.tasks.ranking.task import task_of
from goldrank.tasks.settings import Settings

NAMES = [f"d{number}" for number in range(50)]


def vectors(count, seed=0):
    return np.random.default_rng(seed).standard_normal((count, 6)).astype(np.float32)


@pytest.fixture
def folder(tmp_path):
    rows = vectors(50)
    for number, first in enumerate(range(0, 50, 20)):
        part = slice(first, first + 20)
        write_vectors(str(tmp_path / f"items/{number:06d}.parquet"), NAMES[part], rows[part])
    write_vectors(str(tmp_path / "queries/000000.parquet"), [f"q{n}" for n in range(5)], vectors(5, 1))
    return tmp_path


def load_data(order=1, **settings):
    items = Documents([Document.plain(name, "t") for name in NAMES[::order]], "items")
    queries = Documents([Document.plain(f"q{number}", "t") for number in range(5)], "queries")
    gold = Gold({f"q{number}": {NAMES[number * 7]: 1.0} for number in range(5)})
    return RankingData.load(task_of(Collection("c", items, queries, gold.columns)), Settings(**settings))


def test_rows_are_looked_up_by_id_and_queries_in_their_own_folder(folder):
    encoder = load(f"vectors:{folder}/items(queries={folder}/queries)")
    np.testing.assert_array_equal(encoder.encode_items(["d3", "d49", "d3"]), vectors(50)[[3, 49, 3]])
    np.testing.assert_array_equal(encoder.encode_queries(["q4", "q0"]), vectors(5, 1)[[4, 0]])
    with pytest.raises(InputError, match="no vector for the id 'q1'"):
        encoder.encode_items(["q1"])


def test_an_address_is_a_folder_too(folder):
    encoder = load(f"vectors:file://{folder}/items")
    np.testing.assert_array_equal(encoder.encode_items(NAMES), vectors(50))


def test_the_identity_is_that_of_the_content(folder, tmp_path):
    version = load(f"vectors:{folder}/items").version
    for path in sorted((folder / "items").iterdir()):
        (tmp_path / "copy").mkdir(exist_ok=True)
        (tmp_path / "copy" / path.name).write_bytes(path.read_bytes())
    assert load(f"vectors:{tmp_path}/copy").version == version
    changed = vectors(10)
    changed[3, 2] += 1
    write_vectors(str(tmp_path / "copy/000002.parquet"), NAMES[40:], changed)
    assert load(f"vectors:{tmp_path}/copy").version != version


@pytest.mark.parametrize("order", [1, -1], ids=["in order", "turned round"])
@pytest.mark.parametrize("similarity", ["cosine", "l2"])
def test_an_engine_ranks_them_as_one_machine_does(folder, tmp_path, order, similarity, monkeypatch):
    data = load_data(order, similarity=similarity)
    model = load_model(f"vectors:{folder}/items(queries={folder}/queries)")
    if order == 1:
        monkeypatch.setattr(by_shards, "write_vectors", lambda *arguments: pytest.fail("they were copied"))
    ranked = model.rank(dataclasses.replace(data, sharding=Sharding(LocalEngine(), str(tmp_path / "work"))))
    expected = model.rank(data).run.to_dict()
    assert {query: list(row.items()) for query, row in ranked.run.to_dict().items()} == {
        query: list(row.items()) for query, row in expected.items()
    }


def test_shards_cut_elsewhere_than_a_transform_needs_are_written_anew(folder, tmp_path):
    data = load_data(transform="center|normalize")
    model = load_model(f"vectors:{folder}/items(queries={folder}/queries)")
    ranked = model.rank(dataclasses.replace(data, sharding=Sharding(LocalEngine(), str(tmp_path / "work"))))
    assert ranked.run.to_dict() == model.rank(data).run.to_dict()


def test_fewer_dimensions_are_asked_of_a_copy(folder, tmp_path):
    model = load_model(f"vectors:{folder}/items(dim=3)")
    assert model.encoder.shards == ()
    np.testing.assert_array_equal(model.encoder.encode_items(NAMES), vectors(50)[:, :3])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: (folder / "empty").mkdir(), "no shards of vectors"),
        (
            lambda folder: write_vectors(str(folder / "empty/0.parquet"), ["a", "a"], vectors(2)),
            "is repeated in rows 1 and 2",
        ),
    ],
)
def test_bad_folders_are_refused(folder, make, message):
    make(folder)
    with pytest.raises(InputError, match=message):
        load(f"vectors:{folder}/empty")


def test_queries_of_another_dimension_are_refused(folder):
    write_vectors(str(folder / "other/0.parquet"), ["q"], vectors(1)[:, :4].copy())
    with pytest.raises(InputError, match="same model"):
        load(f"vectors:{folder}/items(queries={folder}/other)")
