"""Shards return the written bits, for some rows or all of them, and damage is detected."""

from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.errors import InputError
from goldrank.io.formats import vector_shards as stored
from goldrank.io.formats.vector_shards import (
    GROUP_ROWS,
    PIECE_ROWS,
    ShardFile,
    VectorShard,
    read_vectors,
    write_vectors,
)
from goldrank.io.stored_vectors import StoredVectors
from goldrank.vectors.transforms import Pipeline
from profiles import examples

SIZES = [0, 1, 2, PIECE_ROWS, PIECE_ROWS + 1, GROUP_ROWS - 1, GROUP_ROWS, 2 * GROUP_ROWS + PIECE_ROWS + 3]


def some_vectors(count, dimension=3, seed=0):
    """Return vectors of any bits, with NaN payloads, infinities, negative zeros and subnormal numbers among them."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 2**32, (count, dimension), dtype=np.uint32).view(np.float32)


def same_bits(actual, expected):
    return actual.dtype == np.float32 and np.array_equal(actual.view(np.uint32), expected.view(np.uint32))


def refuse_to_decode(*_):
    raise AssertionError("the fast way did not work")


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_ids_and_bits_come_back_right_from_the_pages(count, dimension, tmp_path, monkeypatch):
    path, rows = str(tmp_path / "deep" / "a.parquet"), some_vectors(count, dimension)
    ids = [("é" * (number % 3)) + str(number) for number in range(count)]
    write_vectors(path, ids, rows)
    monkeypatch.setattr(ShardFile, "_decoded", refuse_to_decode)
    read_ids, read_rows = read_vectors(path)
    assert read_ids == ids
    assert same_bits(read_rows, rows)
    assert read_rows.shape == rows.shape


def test_any_parquet_reader_reads_a_shard(tmp_path):
    rows = np.random.default_rng(0).standard_normal((GROUP_ROWS + 9, 4)).astype(np.float32)
    ids = [f"i{number}" for number in range(len(rows))]
    write_vectors(str(tmp_path / "a.parquet"), ids, rows)
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.schema.field("vector").type.list_size == 4
    assert table.column("id").to_pylist() == ids
    assert np.array_equal(np.stack(table.column("vector").to_numpy()), rows)


def test_a_shard_that_another_writer_laid_out_is_decoded(tmp_path):
    rows, path = some_vectors(2 * GROUP_ROWS + 5, 4), tmp_path / "a.parquet"
    write_vectors(str(path), [str(number) for number in range(len(rows))], rows)
    table = pq.read_table(path)
    pq.write_table(table, path, row_group_size=GROUP_ROWS, compression="zstd", data_page_size=4000)
    assert same_bits(read_vectors(str(path))[1], rows)
    with ShardFile(str(path)) as file:
        assert same_bits(file.take(np.array([5000, 3])), rows[[5000, 3]])


@given(st.data())
@examples(0.4)
def test_slices_and_rows_by_number_are_those_of_the_matrix(tmp_path_factory, data):
    rows = some_vectors(2 * GROUP_ROWS + 300)
    cuts = data.draw(st.lists(st.integers(0, len(rows)), max_size=3).map(sorted))
    shards = shards_of(tmp_path_factory.mktemp("shards"), rows, cuts)
    matrix = StoredVectors(shards)
    assert (matrix.shape, matrix.ndim, matrix.dtype, len(matrix)) == (rows.shape, 2, rows.dtype, len(rows))
    bound = st.one_of(st.none(), st.integers(-len(rows) - 5, len(rows) + 5))
    for _ in range(3):
        chosen = data.draw(st.builds(slice, bound, bound, st.sampled_from([None, 1, 2, -1])))
        assert same_bits(matrix[chosen], rows[chosen])
    numbers = data.draw(st.lists(st.integers(-len(rows), len(rows) - 1), max_size=20))
    assert same_bits(matrix[numbers], rows[np.array(numbers, np.int64)])
    assert same_bits(matrix[np.array(numbers, np.int64)], rows[np.array(numbers, np.int64)])


def shards_of(folder, rows, cuts):
    bounds, shards = [0, *cuts, len(rows)], []
    for number, (start, stop) in enumerate(pairwise(bounds)):
        path = str(Path(folder, f"{number}.parquet"))
        write_vectors(path, [str(row) for row in range(start, stop)], rows[start:stop])
        shards.append(VectorShard(path, start, stop - start))
    return shards


def test_numbers_beyond_the_rows_are_refused_and_masks_and_the_whole_are_taken(tmp_path):
    rows = some_vectors(10)
    matrix = StoredVectors(shards_of(tmp_path, rows, [4]))
    for numbers in ([10], [-11]):
        with pytest.raises(IndexError):
            matrix[numbers]
    with pytest.raises(TypeError):
        matrix[[0.5]]
    assert same_bits(matrix[np.arange(10) % 3 == 0], rows[::3])
    assert same_bits(np.asarray(matrix), rows)


def test_going_through_in_order_reads_each_group_once_and_keeps_one(tmp_path, monkeypatch):
    rows = some_vectors(3 * GROUP_ROWS)
    matrix = StoredVectors(shards_of(tmp_path, rows, [1000, GROUP_ROWS + 1000]))
    read = []
    plain = ShardFile.group
    monkeypatch.setattr(ShardFile, "group", lambda file, group: read.append((file.path, group)) or plain(file, group))
    for start in range(0, len(rows), 700):
        assert same_bits(matrix[start : start + 700], rows[start : start + 700])
    assert len(read) == len(set(read)) == 4


def test_single_rows_are_read_without_the_rest_of_their_group(tmp_path):
    rows = some_vectors(2 * GROUP_ROWS)
    path = tmp_path / "a.parquet"
    write_vectors(str(path), [str(number) for number in range(len(rows))], rows)
    content = bytearray(path.read_bytes())
    content[content.index(rows[4000].tobytes())] ^= 1
    path.write_bytes(content)
    wanted = np.array([GROUP_ROWS + 1, 0, 3999, 0])
    with ShardFile(str(path)) as file:
        assert same_bits(file.take(wanted), rows[wanted])
        with pytest.raises(InputError, match=r"a\.parquet: this shard is damaged"):
            file.take(np.array([4001]))


@pytest.mark.parametrize("text", ["center", "whiten:4", "center|whiten:4|normalize", "pca:3", "abtt:1", "int8"])
def test_a_transform_fitted_on_shards_is_the_one_fitted_in_memory(text, tmp_path):
    rng = np.random.default_rng(1)
    rows = (rng.standard_normal((2 * GROUP_ROWS + 500, 6)) @ rng.standard_normal((6, 6))).astype(np.float32)
    matrix = StoredVectors(shards_of(tmp_path, rows, [700, 6000]))
    from_shards, from_memory = Pipeline.parse(text).fit(matrix), Pipeline.parse(text).fit(rows)
    assert from_shards.identity == from_memory.identity
    assert same_bits(from_shards.apply(matrix), from_memory.apply(rows))


def test_fitting_on_shards_never_makes_the_whole_matrix(tmp_path, monkeypatch):
    rows = np.random.default_rng(2).standard_normal((3 * GROUP_ROWS, 6)).astype(np.float32)
    matrix = StoredVectors(shards_of(tmp_path, rows, [GROUP_ROWS]))
    most = []
    plain = StoredVectors._take
    monkeypatch.setattr(StoredVectors, "_take", lambda self, numbers: most.append(len(numbers)) or plain(self, numbers))
    Pipeline.parse("center|whiten:4").fit(matrix)
    assert max(most) == GROUP_ROWS


@pytest.mark.parametrize("at", ["id", "vector", "footer", "cut", "empty"])
def test_a_damaged_shard_is_refused_by_its_name(at, tmp_path):
    path, rows = tmp_path / "bad.parquet", some_vectors(300)
    write_vectors(str(path), [f"name-{number}" for number in range(300)], rows)
    content = bytearray(path.read_bytes())
    if at in ("cut", "empty"):
        content = content[: len(content) // 2] if at == "cut" else b""
    else:
        offset = {"id": content.index(b"name-7"), "vector": content.index(rows[200].tobytes()), "footer": -2}[at]
        content[offset] ^= 2
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"bad\.parquet: .*(damaged|cannot be read).*"):
        read_vectors(str(path))


@given(st.integers(0, 2**30), st.integers(0, 7))
@examples(0.6)
def test_a_flipped_bit_anywhere_gives_an_error_or_the_same_rows(tmp_path_factory, place, bit):
    path, rows = tmp_path_factory.mktemp("flips") / "a.parquet", some_vectors(140, 2)
    ids = [str(number) for number in range(140)]
    write_vectors(str(path), ids, rows)
    content = bytearray(path.read_bytes())
    content[place % len(content)] ^= 1 << bit
    path.write_bytes(content)
    with suppress(InputError):
        read_ids, read_rows = read_vectors(str(path))
        assert read_ids == ids
        assert same_bits(read_rows, rows)


def test_a_parquet_file_of_something_else_is_refused(tmp_path):
    pq.write_table(pa.table({"id": ["a"], "vector": [[1.0]]}), tmp_path / "other.parquet")
    with pytest.raises(InputError, match=r"other\.parquet: this is not a shard of vectors as goldrank writes it"):
        read_vectors(str(tmp_path / "other.parquet"))


@pytest.mark.parametrize(
    ("vectors", "ids", "message"),
    [
        (np.ones((1, 2)), ["a"], r"dense float32 vectors, not float64; convert"),
        (np.ones(2, np.float32), ["a"], r"a matrix of dense float32"),
        ([[1.0]], ["a"], r"not list; convert"),
        (np.ones((1, 2), np.float32), ["a", "b"], r"1 vectors and 2 ids; give one id per row"),
        (np.ones((1, 0), np.float32), ["a"], r"no dimensions"),
    ],
)
def test_what_is_no_float32_matrix_with_ids_is_not_written(vectors, ids, message, tmp_path):
    with pytest.raises(InputError, match=message):
        write_vectors(str(tmp_path / "a.parquet"), ids, vectors)
    assert not list(tmp_path.iterdir())


def test_sparse_vectors_are_not_written(tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(InputError, match=r"not sparse; .*lsa"):
        write_vectors(str(tmp_path / "a.parquet"), ["a"], sparse.csr_matrix(np.ones((1, 2), np.float32)))


def test_shards_must_follow_each_other_and_agree_in_their_dimension(tmp_path):
    first, second = shards_of(tmp_path, some_vectors(10), [4])
    with pytest.raises(InputError, match=r"1\.parquet: this shard starts with row 4, the ones before it end at row 0"):
        StoredVectors([second, first])
    with pytest.raises(InputError, match="no shards"):
        StoredVectors([])
    with pytest.raises(InputError, match=r"0\.parquet: this shard holds 4 vectors, 5 are expected"):
        StoredVectors([VectorShard(first.path, 0, 5)])[:1]
    write_vectors(second.path, ["a"], some_vectors(1, 7))
    with pytest.raises(InputError, match=r"1\.parquet: this shard has 7 dimensions, the first one 3"):
        StoredVectors([first, VectorShard(second.path, 4, 1)])[:]


def test_sums_notice_every_single_bit():
    rows = some_vectors(PIECE_ROWS + 1, 3)
    before = stored._sums_of(rows)
    for position in range(0, rows.nbytes, 97):
        for bit in range(8):
            changed = rows.copy()
            changed.reshape(-1).view(np.uint8)[position] ^= 1 << bit
            assert stored._sums_of(changed) != before
