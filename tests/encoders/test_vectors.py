"""Vectors made elsewhere, looked up by id or text."""

import json

import numpy as np
import pytest

from goldrank.encoders import load
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
        ('{"id": "a", "vector": [1, 2]}\n{"id": "a", "vector": [3, 4]}\n', "'a' stands in rows 1 and 2"),
        ('{"id": "a", "vector": [1, NaN]}\n', "row 1 is not finite"),
        ('{"id": "a", "vector": ["x", 1]}\n', "of one length"),
        ('{"id": "a", "vector": [1]}\nnot json\n', r"v\.jsonl:2: the line is no JSON object"),
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
    with pytest.raises(InputError, match="no ids for the rows"):
        load(f"vectors:{tmp_path / 'v.npy'}")
    (tmp_path / "names").write_text("a\nb\n")
    with pytest.raises(InputError, match="2 ids for 3 vectors"):
        load(f"vectors:{tmp_path / 'v.npy'}(ids={tmp_path / 'names'})")
    (tmp_path / "v.txt").write_text("x")
    with pytest.raises(InputError, match=r"use \.npy, \.npz"):
        load(f"vectors:{tmp_path / 'v.txt'}")


def test_no_pickle_is_ever_loaded(tmp_path):
    np.save(tmp_path / "v.npy", np.array([{"a": 1}], object), allow_pickle=True)
    (tmp_path / "v.ids").write_text("a\n")
    with pytest.raises(InputError, match="cannot be read"):
        load(f"vectors:{tmp_path / 'v.npy'}")
