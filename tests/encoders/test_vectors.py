"""Precomputed vectors as a model, found by id or text."""

import errno
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.encoders import load, row_lookup
from goldrank.encoders.row_lookup import RowLookup
from goldrank.errors import InputError

IDS, TEXTS = ["d1", "d2", "d3"], ["a cat", "a dog", "a bird"]
ROWS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], np.float32)


def jsonl(path, **columns):
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return path


def write(form, folder):
    if form == "npy":
        np.save(folder / "v.npy", ROWS)
        (folder / "v.ids").write_text("\n".join(IDS) + "\n")
        return folder / "v.npy"
    if form == "npz":
        np.savez(folder / "v.npz", ids=np.array(IDS), vectors=ROWS)
        return folder / "v.npz"
    if form == "parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({"id": IDS, "embedding": ROWS.tolist()}), folder / "v.parquet")
        return folder / "v.parquet"
    return jsonl(folder / "v.jsonl", id=IDS, vector=ROWS.tolist())


@pytest.mark.parametrize("form", ["npy", "npz", "parquet", "jsonl"])
def test_every_format_is_looked_up_by_id(form, tmp_path):
    encoder = load(f"vectors:{write(form, tmp_path)}", batch_size=1)
    np.testing.assert_array_equal(encoder.encode_queries(["d3", "d1", "d3"]), ROWS[[2, 0, 2]])
    assert encoder.encode_items([]).shape == (0, 2)
    with pytest.raises(InputError, match="no vector for the id 'd9'; the keys are the ids of its 3 rows"):
        encoder.encode_items(["d1", "d9"])


def test_texts_are_the_keys_where_the_file_has_them_unless_told_otherwise(tmp_path):
    file = jsonl(tmp_path / "v.jsonl", id=IDS, text=TEXTS, vector=ROWS.tolist())
    np.testing.assert_array_equal(load(f"vectors:{file}").encode_items(["a dog"]), ROWS[[1]])
    np.testing.assert_array_equal(load(f"vectors:{file}(by=id)").encode_items(["d2"]), ROWS[[1]])
    assert load(f"vectors:{file}").identity != load(f"vectors:{file}(by=id)").identity
    with pytest.raises(InputError, match="no vector for the text 'd2'"):
        load(f"vectors:{file}").encode_items(["d2"])


def test_dim_truncates_and_brings_unit_vectors_back_to_length(tmp_path):
    unit = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
    file = jsonl(tmp_path / "v.jsonl", id=IDS, vector=unit.tolist())
    np.testing.assert_allclose(load(f"vectors:{file}(dim=1)").encode_items(IDS), 1.0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"id": "a", "vector": [1, 2]}\n{"id": "b", "vector": [1]}\n', "of one length"),
        ('{"id": "a", "vector": [1, 2]}\n{"id": "a", "vector": [3, 4]}\n', "'a' is repeated in rows 1 and 2"),
        ('{"id": "a", "vector": [1, NaN]}\n', r"row 0 \(counted from 0\) is not finite"),
        ('{"id": "a", "vector": ["x", 1]}\n', "of one length"),
        ('{"id": "a", "vector": [1]}\nnot json\n', r"v\.jsonl:2: the line is not a JSON object"),
        ('{"name": "a", "numbers": [1]}\n', "columns name, numbers hold no ids"),
        ("", "empty"),
    ],
)
def test_a_bad_file_is_one_clear_sentence(content, message, tmp_path):
    (tmp_path / "v.jsonl").write_text(content)
    with pytest.raises(InputError, match=message):
        load(f"vectors:{tmp_path / 'v.jsonl'}")


def test_ids_must_be_there_and_fit(tmp_path):
    np.save(tmp_path / "v.npy", ROWS)
    with pytest.raises(InputError, match="there is no such file of ids"):
        load(f"vectors:{tmp_path / 'v.npy'}(ids=gone)")
    numbered = load(f"vectors:{tmp_path / 'v.npy'}")
    assert (numbered.numbered, numbered.row_ids()) == (True, ["0", "1", "2"])
    (tmp_path / "names").write_text("a\nb\n")
    with pytest.raises(InputError, match="2 ids for 3 vectors"):
        load(f"vectors:{tmp_path / 'v.npy'}(ids={tmp_path / 'names'})")
    (tmp_path / "v.txt").write_text("x")
    with pytest.raises(InputError, match=r"use \.npy, \.npz"):
        load(f"vectors:{tmp_path / 'v.txt'}")


def test_no_pickle_is_ever_loaded(tmp_path):
    np.save(tmp_path / "v.npy", np.array([{"a": 1}], object), allow_pickle=True)
    (tmp_path / "v.ids").write_text("a\n")
    with pytest.raises(InputError, match="Python objects, which are a pickle and never loaded"):
        load(f"vectors:{tmp_path / 'v.npy'}")


texts = st.lists(st.text(st.characters(), max_size=3))


@pytest.mark.parametrize("hashed", [hash, len, lambda key: 0])
@given(keys=texts, others=texts)
def test_a_row_lookup_finds_what_a_dict_does_for_any_hash_function(hashed, keys, others):
    first = {key: row for row, key in reversed(list(enumerate(keys)))}
    duplicate = next(((first[key], row) for row, key in enumerate(keys) if first[key] != row), None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_lookup, "hash", hashed, raising=False)
        lookup = RowLookup(keys)
        assert lookup.find([*others, *keys]).tolist() == [first.get(key, -1) for key in [*others, *keys]]
        assert lookup.find_duplicate() == duplicate
    assert list(lookup) == keys


@pytest.mark.parametrize("listed", [b"d1\nd2\nd3\n", b"d1\nd2\nd3", b"\xef\xbb\xbfd1\r\nd2\r\nd3\r\n"])
def test_ids_are_read_with_any_line_ends(listed, tmp_path):
    np.save(tmp_path / "v.npy", ROWS)
    (tmp_path / "v.ids").write_bytes(listed)
    np.testing.assert_array_equal(load(f"vectors:{tmp_path / 'v.npy'}").encode_items(IDS[::-1]), ROWS[::-1])


@pytest.mark.parametrize(
    ("rows", "ids", "message"),
    [
        (ROWS, b"d1\nd2\nd2\n", "'d2' is repeated in rows 2 and 3"),
        (ROWS, b"d1\nd2\n\xff\n", "cannot be read"),
        (np.array([[1.0, 2.0], [3.0, np.nan], [np.inf, 6.0]]), b"a\nb\nc\n", r"row 1 \(counted from 0\) is not finite"),
        (np.array([[1.0, 2.0], [3.0, 1e300]]), b"a\nb\n", r"row 1 \(counted from 0\) is not finite"),
        (np.zeros((0, 4), np.float32), b"a\n", r"the matrix of vectors is empty: its shape is \(0, 4\)"),
        (np.zeros(4, np.float32), b"a\n", r"the shape \(4,\), and vectors are a matrix"),
        (np.array([["x", "y"]]), b"a\n", "of one length"),
    ],
)
def test_a_bad_matrix_is_one_clear_sentence(rows, ids, message, tmp_path, monkeypatch):
    monkeypatch.setattr("goldrank.encoders.vectors._BLOCK_ELEMENTS", 2)
    np.save(tmp_path / "v.npy", rows)
    (tmp_path / "v.ids").write_bytes(ids)
    with pytest.raises(InputError, match=message):
        load(f"vectors:{tmp_path / 'v.npy'}")


@pytest.mark.parametrize("step", [1, 4, 1 << 20])
@pytest.mark.parametrize("held", [0, 1 << 20])
def test_copies_are_the_same_whatever_the_blocks_and_wherever_they_lie(step, held, tmp_path, monkeypatch):
    monkeypatch.setattr("goldrank.encoders.vectors._BLOCK_ELEMENTS", step)
    monkeypatch.setattr("goldrank.encoders.vectors._HELD_ELEMENTS", held)
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path / "cache"))
    encoder = load(f"vectors:{write('npy', tmp_path)}")
    np.testing.assert_array_equal(encoder.encode_items(["d3", "d1", "d3"]), ROWS[[2, 0, 2]])
    assert encoder.encode_items([]).shape == (0, 2)
    assert not list((tmp_path / "cache").rglob("*"))


def test_a_full_disk_is_one_clear_sentence(tmp_path, monkeypatch):
    class Full:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("goldrank.encoders.vectors._HELD_ELEMENTS", 0)
    monkeypatch.setattr("goldrank.encoders.vectors.TemporaryFile", lambda dir=None: Full())
    with pytest.raises(InputError, match=r"another order .No space left on device.*set GOLDRANK_CACHE"):
        load(f"vectors:{write('npy', tmp_path)}").encode_items(["d3", "d1"])
