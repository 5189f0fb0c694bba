"""Test that text files are encoded into shards with every document once and in order, even after an interruption."""

import gzip
import json
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.data.text_rule import TextRule
from goldrank.encoders import load
from goldrank.engines.local import LocalEngine
from goldrank.errors import InputError
from goldrank.io.formats.vector_shards import read_vectors
from goldrank.io.stored_vectors import StoredVectors
from goldrank.tasks.ranking.shard_encoding import cut, encode_files, files_at

pyarrow = pytest.importorskip("pyarrow")


def records(first, count):
    return [
        {"id": f"d{number}", "title": f"title {number}", "text": f"wine {number % 7} of stone {number}"}
        for number in range(first, first + count)
    ]


def write_lines(path, rows):
    content = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())


def write_parquet(path, rows):
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=50)


@pytest.fixture
def files(tmp_path):
    """Write three files of different formats with 9,300 documents in total."""
    folder = tmp_path / "texts"
    folder.mkdir()
    write_lines(folder / "a.jsonl", records(0, 3000))
    write_parquet(folder / "b.parquet", records(3000, 6000))
    write_lines(folder / "c.jsonl.gz", records(9000, 300))
    return folder


def expected(count=9300):
    encoder = load("wordllama(dim=64)")
    texts = [f"{row['title']} {row['text']}" for row in records(0, count)]
    return encoder.encode_items(texts)


def test_every_document_has_its_vector_in_order_whatever_its_file(files, tmp_path):
    result = encode_files(
        load("wordllama(dim=64)"), files_at([str(files)]), str(tmp_path / "out"), LocalEngine(), items=4096
    )
    assert [shard.count for shard in result.shards] == [4096, 4096, 1108]
    assert (result.count, result.new, result.dimension) == (9300, 3, 64)
    ids = [name for shard in result.shards for name in read_vectors(shard.path)[0]]
    assert ids == [f"d{number}" for number in range(9300)]
    np.testing.assert_array_equal(StoredVectors(result.shards)[:], expected())


def test_addresses_of_other_file_systems_are_read_and_written(files, tmp_path):
    pytest.importorskip("fsspec")
    # pyarrow does not support the scheme "local", so these addresses are opened by fsspec.
    sources = [f"local://{path}" for path in sorted(files.iterdir())]
    result = encode_files(load("wordllama(dim=64)"), sources, f"local://{tmp_path}/out", LocalEngine(), items=4096)
    np.testing.assert_array_equal(StoredVectors(result.shards)[:], expected())
    assert sorted(path.name for path in (tmp_path / "out").iterdir())[0] == "000000.parquet"


class Stopping(LocalEngine):
    """Engine that is interrupted after a given number of shards."""

    def __init__(self, after):
        self._after = after

    def map_with(self, make, tasks, **options):
        yield from islice(super().map_with(make, tasks, **options), self._after)
        raise KeyboardInterrupt


def test_what_was_stopped_goes_on_and_makes_no_shard_twice(files, tmp_path):
    sources, folder, encoder = files_at([str(files)]), str(tmp_path / "out"), load("wordllama(dim=64)")
    with pytest.raises(KeyboardInterrupt):
        encode_files(encoder, sources, folder, Stopping(2), items=4096)
    assert len(list((tmp_path / "out").glob("*.parquet"))) == 2
    result = encode_files(encoder, sources, folder, LocalEngine(), items=4096)
    assert result.new == 1
    np.testing.assert_array_equal(StoredVectors(result.shards)[:], expected())


def test_a_folder_of_another_model_or_of_changed_files_is_refused(files, tmp_path):
    sources, folder = files_at([str(files)]), str(tmp_path / "out")
    encode_files(load("random:8"), sources, folder, LocalEngine(), items=4096)
    with pytest.raises(InputError, match="another model"):
        encode_files(load("random:9"), sources, folder, LocalEngine(), items=4096)
    with pytest.raises(InputError, match="another items"):
        encode_files(load("random:8"), sources, folder, LocalEngine(), items=8192)
    with pytest.raises(InputError, match="another text"):
        encode_files(load("random:8"), sources, folder, LocalEngine(), items=4096, rule=TextRule(("text",)))
    write_lines(files / "a.jsonl", records(0, 3001))
    with pytest.raises(InputError, match="another files"):
        encode_files(load("random:8"), sources, folder, LocalEngine(), items=4096)


def test_parquet_files_of_someone_else_are_never_overwritten(files, tmp_path):
    write_parquet(tmp_path / "000000.parquet", records(0, 2))
    before = (tmp_path / "000000.parquet").read_bytes()
    with pytest.raises(InputError, match="goldrank encode did not write"):
        encode_files(load("random:8"), files_at([str(files)]), str(tmp_path), LocalEngine(), items=4096)
    assert (tmp_path / "000000.parquet").read_bytes() == before


def test_a_model_on_the_worker_that_is_not_the_same_is_refused(files, tmp_path, monkeypatch):
    from goldrank.encoders.random import Random

    encoder = load("random:8")
    expected_identity = encoder.identity
    monkeypatch.setattr(Random, "version", property(lambda self: "2"))
    monkeypatch.setattr(type(encoder), "identity", property(lambda self: expected_identity if self is encoder else "x"))
    with pytest.raises(InputError, match="same packages"):
        encode_files(encoder, files_at([str(files)]), str(tmp_path / "out"), LocalEngine(), items=4096)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda folder: None, "no such file or folder"),
        (lambda folder: folder.mkdir(), "no files of documents"),
        (lambda folder: (folder.mkdir(), (folder / "a.jsonl").write_text('{"id": "x"}\n')), "no text"),
        (lambda folder: (folder.mkdir(), (folder / "a.parquet").write_bytes(b"PAR1 broken")), "truncated or corrupt"),
    ],
)
def test_bad_sources_are_refused_with_their_place(write, message, tmp_path):
    write(tmp_path / "texts")
    with pytest.raises(InputError, match=message) as raised:
        encode_files(
            load("random:8"), files_at([str(tmp_path / "texts")]), str(tmp_path / "out"), LocalEngine(), items=4096
        )
    assert "texts" in str(raised.value)
    assert not list((tmp_path / "out").glob("*.parquet"))


@given(st.lists(st.integers(0, 9), max_size=6), st.integers(1, 7))
def test_shards_hold_every_document_once_and_are_full_but_for_the_last(counts, size):
    files = [f"{number}.parquet" for number in range(len(counts))]
    shards = cut(files, counts, TextRule(), size)
    listed = [(piece.path, row) for shard in shards for piece in shard.pieces for row in range(piece.start, piece.stop)]
    assert listed == [(file, row) for file, count in zip(files, counts, strict=True) for row in range(count)]
    assert all(shard.count == size for shard in shards[:-1])
    assert [shard.first for shard in shards] == [number * size for number in range(len(shards))]


@pytest.mark.parametrize(("spec", "expected"), [("random:8", True), ("random:8(device=cpu)", False)])
def test_a_model_that_uses_a_gpu_asks_for_one_unless_told_otherwise(spec, expected, files, tmp_path, monkeypatch):
    from goldrank.encoders.random import Random

    requests = []

    class Asked(LocalEngine):
        def map_with(self, make, tasks, *, accelerated, **options):
            requests.append(accelerated)
            yield from super().map_with(make, tasks, **options)

    monkeypatch.setattr(Random, "uses_torch", True)
    encode_files(load(spec), files_at([str(files)]), str(tmp_path / "out"), Asked(), items=4096)
    assert requests == [expected]
