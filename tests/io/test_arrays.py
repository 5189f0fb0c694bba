"""Damaged NumPy files are reported in one sentence, and small archives cannot fill the memory."""

import io
import zipfile

import numpy as np
import pytest

import goldrank as gr
from goldrank.errors import InputError
from goldrank.io.arrays import load_array, load_arrays

ROWS = np.arange(12, dtype=np.float32).reshape(3, 4)


def archive(**arrays):
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def test_whole_files_are_read(tmp_path):
    (tmp_path / "a.npy").write_bytes(npy(ROWS))
    (tmp_path / "a.npz").write_bytes(archive(ids=np.array(["a", "b", "c"]), vectors=ROWS))
    assert isinstance(load_array(tmp_path / "a.npy"), np.memmap)
    assert (load_array(tmp_path / "a.npy") == ROWS).all()
    assert list(load_arrays(tmp_path / "a.npz")) == ["ids", "vectors"]


@pytest.mark.parametrize("step", range(0, 1000, 7))
def test_every_cut_and_every_changed_byte_is_a_sentence_or_an_array(tmp_path, step):
    for data, load in ((npy(ROWS), load_array), (archive(ids=np.array(["a"]), vectors=ROWS), load_arrays)):
        path = tmp_path / "file"
        i = step * len(data) // 1000
        for damaged in (data[:i], data[:i] + bytes([data[i] ^ 0xFF]) + data[i + 1 :], data[:i] + data[i + 1 :]):
            path.write_bytes(damaged)
            message = ""
            try:
                load(path)
            except InputError as error:
                message = str(error)
            assert not message or message.startswith(f"{path}: ")
            assert "\n" not in message


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4",
        b"{'descr': '|O', 'fortran_order': False, 'shape': (3, 4), }",
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }",
        b"((((((((((((((((",
        b"'''",
    ],
)
def test_a_damaged_header_is_a_sentence(tmp_path, header):
    data = bytearray(npy(ROWS))
    data[10:127] = header.ljust(117)
    (tmp_path / "a.npy").write_bytes(data)
    with pytest.raises(InputError, match=r"a\.npy: the (file cannot be read|array holds Python objects)"):
        load_array(tmp_path / "a.npy")
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as out:
        out.writestr("vectors.npy", bytes(data))
    with pytest.raises(InputError, match=r"a\.npz: the (file cannot be read|arrays do not fit)"):
        load_arrays(tmp_path / "a.npz")


def test_one_kind_of_file_is_not_taken_for_the_other(tmp_path):
    (tmp_path / "a.npy").write_bytes(archive(vectors=ROWS))
    with pytest.raises(InputError, match=r"\.npz archive"):
        load_array(tmp_path / "a.npy")
    (tmp_path / "a.npz").write_bytes(npy(ROWS))
    with pytest.raises(InputError, match="cannot be read"):
        load_arrays(tmp_path / "a.npz")


def test_an_archive_of_zeros_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setenv("GOLDRANK_MAX_BYTES", "1000000")
    (tmp_path / "a.npz").write_bytes(archive(vectors=np.zeros((1000, 1000))))
    with pytest.raises(InputError, match=r"unpacks to more than 1000000 bytes; .* GOLDRANK_MAX_BYTES"):
        load_arrays(tmp_path / "a.npz")


def test_a_table_that_says_it_holds_millions_of_rows_is_refused(tmp_path, monkeypatch):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    count = 200_000
    table = pyarrow.table({"query": ["q"] * count, "item": ["d"] * count, "score": [1.0] * count})
    parquet.write_table(table, tmp_path / "run")
    assert (tmp_path / "run").stat().st_size < 20_000
    monkeypatch.setenv("GOLDRANK_MAX_BYTES", "1000000")
    with pytest.raises(InputError, match=r"unpacks to more than 1000000 bytes"):
        gr.Run.read(tmp_path / "run")
