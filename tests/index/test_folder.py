"""The index folder: a saved index loads equal, and damaged, foreign or incomplete files are refused."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from goldrank.errors import GoldrankError, InputError
from goldrank.index import folder, folder_checks
from goldrank.index.folder import MANIFEST, Manifest, open_index, write_index
from goldrank.vectors.transforms import Pipeline

faiss = pytest.importorskip("faiss")
IDS = [f"d{i}" for i in range(300)]
TEXTS = [f"text {i} é\n" for i in range(300)]
SPECS = ["exact", "faiss:Flat", "faiss:HNSW8(efSearch=40)", "faiss:IVF4,PQ4x4(nprobe=2)"]


class Fake:
    """An encoder that must not be called for vectors."""

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


def file_of(path, name):
    """Return the path of a file of an index."""
    return path / Manifest.load(path).folder / name


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
    monkeypatch.setattr(folder, "MAP_FROM", 0)
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
    with pytest.raises(InputError, match="something else than an index"):
        write_index(other, "faiss:Flat", vectors, IDS, overwrite=True)
    assert (other / "thesis.tex").exists()


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_failure_while_writing_leaves_nothing_new_behind(tmp_path, vectors, monkeypatch, overwrite):
    if overwrite:
        write_index(tmp_path / "ix", "faiss:Flat", vectors, IDS)
    before = sorted(path.name for path in tmp_path.rglob("*"))

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Manifest, "dump", fail)
    with pytest.raises(GoldrankError, match=r"No space left on device.*nothing was kept"):
        write_index(tmp_path / "ix", "faiss:HNSW8", vectors, IDS, overwrite=overwrite)
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


@pytest.mark.parametrize("verify", [False, True])
def test_a_changed_byte_anywhere_is_noticed(written, verify):
    rng = np.random.default_rng(1)
    for path in [path for path in written.rglob("*") if path.is_file()]:
        good = path.read_bytes()
        for offset in rng.integers(0, len(good), 12):
            path.write_bytes(good[:offset] + bytes([good[offset] ^ int(rng.integers(1, 256))]) + good[offset + 1 :])
            with pytest.raises(InputError):
                open_index(written, verify=verify)
        path.write_bytes(good)
    open_index(written, verify=verify)


def test_of_a_large_file_the_first_the_last_and_blocks_between_are_checked(tmp_path, vectors, monkeypatch):
    monkeypatch.setattr(folder_checks, "BLOCK", 64)
    monkeypatch.setattr(folder_checks, "BLOCKS_CHECKED", 8)
    write_index(tmp_path / "ix", "exact", vectors, IDS)
    path = file_of(tmp_path / "ix", "vectors.npy")
    good = path.read_bytes()
    blocks = len(good) // 64
    refused_blocks = []
    for block in range(blocks):
        path.write_bytes(good[: block * 64] + bytes([good[block * 64] ^ 1]) + good[block * 64 + 1 :])
        with pytest.raises(InputError, match="its checksum is wrong"):
            open_index(tmp_path / "ix", verify=True)
        try:
            open_index(tmp_path / "ix")
        except InputError as error:
            if "its checksum is wrong" in str(error):
                refused_blocks.append(block)
    assert len(refused_blocks) == 8
    assert (refused_blocks[0], refused_blocks[-1]) == (0, blocks - 1)


def change(path, **entries):
    manifest = Manifest.load(path)
    (path / MANIFEST).write_bytes(replace(manifest, **entries).dump())


DAMAGE = {
    "truncated": (
        lambda p: file_of(p, "index.faiss").write_bytes(b"x"),
        r"index.faiss: the file has 1 bytes instead of",
    ),
    "missing": (lambda p: file_of(p, "ids.json").unlink(), r"ids.json: the file is missing"),
    "no manifest": (lambda p: (p / MANIFEST).unlink(), r"there is no index here; build one"),
    "gone": (shutil.rmtree, r"there is no such folder"),
    "foreign": (lambda p: (p / MANIFEST).write_text('{"name": "web app"}'), r"not a manifest of goldrank"),
    "no JSON": (lambda p: (p / MANIFEST).write_bytes(b"\xff\x00"), r"not a manifest of goldrank"),
    "newer": (lambda p: change(p, format=3), r"format 3, this goldrank reads 2; upgrade"),
    "other count": (lambda p: change(p, count=299), r"ids.json: the file holds 300 texts, the manifest says 299"),
    "other dimension": (lambda p: change(p, dimension=10**12), r"300 vectors of 16 dimensions, the manifest says 300"),
    "path out of the folder": (lambda p: change(p, folder="files-abc/../.."), r"not a manifest of goldrank"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_folder_is_refused_with_place_and_remedy(written, case):
    damage, message = DAMAGE[case]
    damage(written)
    with pytest.raises(InputError, match=message):
        open_index(written)


def replace_file(path, name, data):
    """Replace the content of a file, and update its checksums."""
    file_of(path, name).write_bytes(data)
    files = {**Manifest.load(path).files, name: folder_checks.stamp(file_of(path, name))}
    change(path, files=files)


def test_a_file_that_faiss_cannot_read_is_refused(written):
    good = file_of(written, "index.faiss").read_bytes()
    for data in (b"\xff" * len(good), good[:100], good[:-1], b"", good[:30] + b"\xff" * 8 + good[38:]):
        replace_file(written, "index.faiss", data)
        with pytest.raises(InputError, match=r"faiss cannot read the file|the file holds|the manifest says"):
            open_index(written)


@pytest.mark.parametrize("content", [b"{}", b"[1]", b"null", b"[", b'["d0"]', b"[" * 99_999])
def test_ids_and_texts_that_are_none_are_refused(written, content):
    for name in ("ids.json", "texts.json.zst"):
        replace_file(written, name, content)
        with pytest.raises(InputError, match=r"not a list of texts|no JSON|holds 1 texts"):
            _ = open_index(written).texts


def test_the_manifest_is_plain_json(written):
    content = json.loads((written / MANIFEST).read_text())
    assert content["format"] == 2
    assert set(content["files"]) == {"index.faiss", "ids.json", "texts.json.zst", "transform.npz"}


@pytest.mark.parametrize("spec", ["exact", "faiss:Flat"])
def test_vectors_that_are_not_finite_are_never_written(tmp_path, vectors, spec):
    vectors[7, 3] = np.nan
    with pytest.raises(InputError, match=r"item 7 .* is not finite"):
        write_index(tmp_path / "ix", spec, vectors, IDS)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("array", [np.zeros(3), np.array(["a"]), np.zeros((300, 16), complex)])
def test_a_file_that_holds_no_vectors_is_refused(tmp_path, vectors, array):
    write_index(tmp_path / "ix", "exact", vectors, IDS)
    size = file_of(tmp_path / "ix", "vectors.npy").stat().st_size
    np.save(tmp_path / "other.npy", array)
    for data in (b"\xff" * size, b"", (tmp_path / "other.npy").read_bytes()):
        replace_file(tmp_path / "ix", "vectors.npy", data)
        with pytest.raises(InputError, match=r"vectors.npy: the file holds no vectors"):
            open_index(tmp_path / "ix")
