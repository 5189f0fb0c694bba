"""The index folder: what was written comes back, and nothing damaged, foreign or half-written is ever used."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from goldrank.errors import InputError
from goldrank.index import folder
from goldrank.index.folder import MANIFEST, Manifest, open_index, write_index
from goldrank.vectors.transforms import Pipeline

faiss = pytest.importorskip("faiss")
IDS = [f"d{i}" for i in range(300)]
TEXTS = [f"text {i} é\n" for i in range(300)]
SPECS = ["exact", "faiss:Flat", "faiss:HNSW8(efSearch=40)", "faiss:IVF4,PQ4x4(nprobe=2)"]


class Fake:
    """An encoder that nobody asks for vectors."""

    def __init__(self, identity="fake 1.0"):
        self.identity = identity

    def prompt(self, side):
        return f"{side}: "

    def encode_queries(self, texts):
        raise AssertionError

    encode_items = encode_queries


@pytest.fixture
def vectors():
    return np.random.default_rng(0).normal(size=(300, 16)).astype(np.float32)


@pytest.fixture
def written(tmp_path, vectors):
    pipeline = Pipeline.parse("center").fit(vectors)
    write_index(
        tmp_path / "ix", "faiss:Flat", vectors, IDS, texts=TEXTS, model="fake", encoder=Fake(), transform=pipeline
    )
    return tmp_path / "ix"


@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
@pytest.mark.parametrize("spec", SPECS)
def test_an_index_searches_after_opening_as_before(tmp_path, vectors, spec, similarity):
    from goldrank.index.base import build

    write_index(tmp_path / "ix", spec, vectors, IDS, similarity=similarity)
    opened = open_index(tmp_path / "ix", verify=True)
    queries = vectors[:20] + 0.1
    assert opened.index.spec == spec
    assert opened.search(queries, 5) == build(spec, vectors, IDS, similarity).top_k(queries, 5)
    assert opened.texts is None


def test_ids_texts_transform_and_provenance_come_back(written, vectors):
    opened = open_index(written)
    assert (opened.ids, list(opened.texts.values())) == (IDS, TEXTS)
    manifest = opened.manifest
    assert (manifest.model, manifest.identity, manifest.prompts["query"]) == ("fake", "fake 1.0", "query: ")
    assert (manifest.count, manifest.dimension, manifest.similarity) == (300, 16, "cosine")
    assert manifest.faiss == faiss.__version__
    assert manifest.transform.startswith("center")
    # Centred items are found by centred queries: each is its own nearest.
    run = opened.search(vectors[:10], 1, query_ids=IDS[:10])
    assert all(list(run[query]) == [query] for query in run)


def test_a_large_flat_index_is_mapped_and_searches_alike(tmp_path, vectors, monkeypatch):
    write_index(tmp_path / "ix", "faiss:Flat", vectors, IDS)
    plain = open_index(tmp_path / "ix").search(vectors[:9], 3)
    monkeypatch.setattr(folder, "_MAP_FROM", 0)
    assert open_index(tmp_path / "ix").search(vectors[:9], 3) == plain


def test_another_encoder_is_refused_naming_both(written):
    opened = open_index(written)
    opened.refuse_other(Fake())
    with pytest.raises(InputError, match=r"encoded by 'fake 1.0', the queries would be by 'fake 2.0'"):
        opened.refuse_other(Fake("fake 2.0"))


def test_an_index_is_replaced_only_when_asked_and_other_folders_never(tmp_path, written, vectors):
    with pytest.raises(InputError, match="already; add --overwrite"):
        write_index(written, "faiss:Flat", vectors, IDS)
    write_index(written, "faiss:SQ8", vectors, IDS, overwrite=True)
    assert open_index(written).index.spec == "faiss:SQ8"
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="no index is there"):
        write_index(other, "faiss:Flat", vectors, IDS, overwrite=True)
    assert (other / "thesis.tex").exists()


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_failure_while_writing_leaves_nothing_new_behind(tmp_path, vectors, monkeypatch, overwrite):
    if overwrite:
        write_index(tmp_path / "ix", "faiss:Flat", vectors, IDS)
    before = sorted(path.name for path in tmp_path.rglob("*"))

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder, "_move_into_place", fail)
    with pytest.raises(Exception, match=r"No space left on device.*nothing was kept"):
        write_index(tmp_path / "ix", "faiss:HNSW8", vectors, IDS, overwrite=overwrite)
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


def test_a_changed_byte_anywhere_is_noticed(written, vectors):
    rng = np.random.default_rng(1)
    for name in [path.name for path in written.iterdir()]:
        path = written / name
        good = path.read_bytes()
        for at in rng.integers(0, len(good), 12):
            path.write_bytes(good[:at] + bytes([good[at] ^ int(rng.integers(1, 256))]) + good[at + 1 :])
            with pytest.raises(InputError):
                _ = open_index(written, verify=True).texts
        path.write_bytes(good)
    open_index(written, verify=True)


def test_what_is_read_whole_is_always_checked(written):
    ids = written / "ids.json"
    ids.write_bytes(ids.read_bytes().replace(b'"d7"', b'"d8"'))
    with pytest.raises(InputError, match=r"ids.json: the file is damaged"):
        open_index(written)


def change(path, **entries):
    manifest = Manifest.load(path)
    (path / MANIFEST).write_bytes(replace(manifest, **entries).dump())


DAMAGE = {
    "truncated": (lambda p: (p / "index.faiss").write_bytes(b"x"), r"index.faiss: the file has 1 bytes instead of"),
    "missing": (lambda p: (p / "ids.json").unlink(), r"ids.json: the file is missing"),
    "no manifest": (lambda p: (p / MANIFEST).unlink(), r"there is no index here; build one"),
    "gone": (shutil.rmtree, r"there is no such folder"),
    "foreign": (lambda p: (p / MANIFEST).write_text('{"name": "web app"}'), r"no manifest of goldrank"),
    "no JSON": (lambda p: (p / MANIFEST).write_bytes(b"\xff\x00"), r"no manifest of goldrank"),
    "newer": (lambda p: change(p, format=2), r"format 2, this goldrank reads up to 1; upgrade"),
    "other count": (lambda p: change(p, count=299), r"300 vectors of 16 dimensions and 300 ids, the manifest says 299"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_folder_is_refused_with_place_and_remedy(written, case):
    damage, message = DAMAGE[case]
    damage(written)
    with pytest.raises(InputError, match=message):
        open_index(written)


def test_a_file_that_faiss_cannot_read_is_refused(written):
    size = (written / "index.faiss").stat().st_size
    (written / "index.faiss").write_bytes(b"\xff" * size)
    with pytest.raises(InputError, match=r"faiss cannot read the file"):
        open_index(written)


def test_the_manifest_is_plain_json(written):
    content = json.loads((written / MANIFEST).read_text())
    assert content["format"] == 1
    assert set(content["files"]) == {"index.faiss", "ids.json", "texts.json.zst", "transform.npz"}


@pytest.mark.parametrize("spec", ["exact", "faiss:Flat"])
def test_vectors_that_are_not_finite_are_never_written(tmp_path, vectors, spec):
    vectors[7, 3] = np.nan
    with pytest.raises(InputError, match=r"item 7 .* is not finite"):
        write_index(tmp_path / "ix", spec, vectors, IDS)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_holds_no_vectors_is_refused(tmp_path, vectors):
    write_index(tmp_path / "ix", "exact", vectors, IDS)
    size = (tmp_path / "ix" / "vectors.npy").stat().st_size
    (tmp_path / "ix" / "vectors.npy").write_bytes(b"\xff" * size)
    with pytest.raises(InputError, match=r"vectors.npy: the file holds no vectors"):
        open_index(tmp_path / "ix")
