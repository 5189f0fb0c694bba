"""Saved transforms load equal to the bit, and changed files are refused."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.errors import InputError
from goldrank.vectors.transforms import Pipeline
from vectors.transform_cases import KINDS, LONG, cloud, same_bits


@pytest.mark.parametrize("text", [*KINDS, LONG, "none"])
def test_what_was_saved_loads_equal_to_the_bit(text, tmp_path):
    pipeline = Pipeline.parse(text).fit(cloud())
    pipeline.save(tmp_path / "p.npz")
    loaded = Pipeline.load(tmp_path / "p.npz")
    assert (str(loaded), loaded.identity, loaded.dimension) == (text, pipeline.identity, pipeline.dimension)
    assert loaded.notes == pipeline.notes
    assert same_bits(loaded.apply(cloud(seed=5)), pipeline.apply(cloud(seed=5)))
    pipeline.save(tmp_path / "again.npz")
    assert (tmp_path / "p.npz").read_bytes() == (tmp_path / "again.npz").read_bytes()


def test_what_learns_nothing_is_saved_without_fitting(tmp_path):
    Pipeline.parse("normalize").save(tmp_path / "p.npz")
    assert Pipeline.load(tmp_path / "p.npz").apply([[3.0, 4.0]]).tolist() == pytest.approx(np.array([[0.6, 0.8]]))


@given(st.data())
def test_a_saved_file_with_any_byte_changed_or_cut_is_refused_or_unharmed(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("saved") / "p.npz"
    pipeline = Pipeline.parse("center|pca:2").fit(cloud(20, 4))
    pipeline.save(path)
    content = bytearray(path.read_bytes())
    position = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content = content[:position]
    else:
        content[position] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    # Bytes without meaning may differ, such as a date in the zip directory; the loaded transform must be equal.
    try:
        loaded = Pipeline.load(path)
    except InputError:
        return
    assert loaded.identity == pipeline.identity


def rewritten(path, **changes):
    with np.load(path) as content:
        arrays = dict(content)
    metadata = json.loads(arrays["goldrank"].tobytes())
    metadata.update(changes.pop("about", {}))
    arrays["goldrank"] = np.frombuffer(json.dumps(metadata).encode(), np.uint8)
    arrays.update(changes)
    np.savez(path, **arrays)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"about": {"format": 2}}, "has format 2"),
        ({"about": {"pipeline": "center|pca:3"}}, "checksum"),
        ({"about": {"widths": [4, 4, 3]}}, "checksum"),
        ({"0.mean": np.zeros(4)}, "checksum"),
        ({"0.mean": np.zeros(4, np.float32)}, "not float64"),
        ({"7.mean": np.zeros(4)}, "not a pipeline"),
        ({"0.mean": np.array([{}], dtype=object)}, "not a pipeline"),
    ],
)
def test_a_tampered_file_is_refused(tmp_path, changes, says):
    path = tmp_path / "p.npz"
    Pipeline.parse("center|pca:2").fit(cloud(20, 4)).save(path)
    rewritten(path, **changes)
    with pytest.raises(InputError, match=says):
        Pipeline.load(path)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04", b"\x93NUMPY\x01\x00"])
def test_a_foreign_file_is_refused(tmp_path, content):
    (tmp_path / "p.npz").write_bytes(content)
    with pytest.raises(InputError, match="is not a pipeline that goldrank saved"):
        Pipeline.load(tmp_path / "p.npz")
    np.save(tmp_path / "array.npy", np.zeros(3))
    with pytest.raises(InputError, match="is not a pipeline that goldrank saved"):
        Pipeline.load(tmp_path / "array.npy")


def test_a_missing_file_is_named():
    with pytest.raises(InputError, match=r"nowhere.npz: there is no such file"):
        Pipeline.load("nowhere.npz")
