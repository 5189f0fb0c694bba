"""The embedding cache under faults: killed processes, concurrent processes, damaged files, a full disk."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.errors import GoldrankError, InputError
from goldrank.vectors import shards
from goldrank.vectors.cache import EmbeddingCache
from vectors.cache_cases import BATCH, TEXTS, CountingEncoder

CASES = Path(__file__).with_name("cache_cases.py")


def start(folder, log, seconds=0.0, before=""):
    """Start `work` of cache_cases.py in a separate process."""
    code = (
        f"import sys; sys.path.insert(0, {str(CASES.parents[1])!r})\n"
        f"from vectors.cache_cases import work; {before}\n"
        f"work({str(folder)!r}, {str(log)!r}, {seconds})"
    )
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)


def logged(log):
    return log.read_text().splitlines() if log.exists() else []


def files(folder, pattern):
    return sorted(folder.glob(f"*/{pattern}"))


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
@pytest.mark.parametrize("step", range(6, 90, 7))
def test_a_killed_run_resumes_and_encodes_at_most_the_lost_batch_again(tmp_path, step):
    log = tmp_path / "log"
    process = start(tmp_path / "cache", log, before=f"from killing import die_at_step; die_at_step({step})")
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    encoder = CountingEncoder()
    vectors = EmbeddingCache(tmp_path / "cache", batch=BATCH).encode(encoder, TEXTS, "item")
    np.testing.assert_array_equal(vectors, encoder.vectors(TEXTS, "item"))
    assert len(set(encoder.asked) & set(logged(log))) <= BATCH
    assert set(encoder.asked) | set(logged(log)) == set(TEXTS)


@pytest.mark.slow
def test_several_processes_share_a_cache_without_harm(tmp_path):
    folder = tmp_path / "cache"
    processes = [start(folder, tmp_path / f"log{i}", seconds=0.002) for i in range(3)]
    for process in processes:
        assert process.communicate(timeout=300)[1] == ""
        assert process.returncode == 0
    cache = EmbeddingCache(folder)
    encoder = CountingEncoder()
    np.testing.assert_array_equal(cache.encode(encoder, TEXTS, "item"), encoder.vectors(TEXTS, "item"))
    assert encoder.asked == []
    assert not files(folder, "*.damaged")
    assert not files(folder, ".*.tmp")


def damaged_cache(folder, damage):
    """Write a cache of one shard and damage its bytes; return the encoder and the texts of the cache."""
    encoder, texts = CountingEncoder(width=3), ["a", "b", "c", "d"]
    EmbeddingCache(folder).encode(encoder, texts, "item")
    (shard,) = files(folder, "*.shard")
    shard.write_bytes(damage(bytearray(shard.read_bytes())))
    encoder.asked.clear()
    return encoder, texts


@given(st.data())
def test_a_changed_byte_is_noticed_wherever_it_is(tmp_path_factory, data):
    def damage(content):
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
        return content

    folder = tmp_path_factory.mktemp("cache")
    encoder, texts = damaged_cache(folder, damage)
    cache = EmbeddingCache(folder)
    np.testing.assert_array_equal(cache.encode(encoder, texts, "item"), encoder.vectors(texts, "item"))
    assert sorted(encoder.asked) == texts
    assert cache.counts.set_aside == 1
    assert len(files(folder, "*.damaged")) == 1
    again = EmbeddingCache(folder)
    np.testing.assert_array_equal(again.encode(encoder, texts, "item"), encoder.vectors(texts, "item"))
    assert (again.counts.encoded, again.counts.set_aside) == (0, 0)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:20],
        lambda content: content[:-1],
        lambda content: content[: len(content) // 2],
        lambda content: content + b"\0",
        lambda content: bytes(len(content)),
        lambda content: content[:-32] + content[-16:] + content[-32:-16],
        lambda content: content[:16] + b"\xff" * 16 + content[32:],
    ],
    ids=["empty", "header cut", "last byte cut", "half", "longer", "zeros", "rows swapped", "huge counts"],
)
def test_a_cut_or_overwritten_file_is_noticed(tmp_path, damage):
    encoder, texts = damaged_cache(tmp_path, damage)
    vectors = EmbeddingCache(tmp_path).encode(encoder, texts, "item")
    np.testing.assert_array_equal(vectors, encoder.vectors(texts, "item"))
    assert sorted(encoder.asked) == texts


def test_damage_found_while_merging_is_put_aside_and_the_rest_is_kept(tmp_path, monkeypatch):
    encoder, texts = CountingEncoder(), [str(i) for i in range(12)]
    EmbeddingCache(tmp_path, batch=2).encode(encoder, texts, "item")
    shard = files(tmp_path, "*.shard")[3]
    shard.write_bytes(shard.read_bytes()[:-4] + b"\1\2\3\4")
    encoder.asked.clear()
    monkeypatch.setattr("goldrank.vectors.cache._MERGE_AFTERWARDS", 1)
    EmbeddingCache(tmp_path).encode(encoder, ["new"], "item")
    np.testing.assert_array_equal(
        EmbeddingCache(tmp_path).encode(encoder, texts, "item"), encoder.vectors(texts, "item")
    )
    assert len(encoder.asked) == 3
    assert len(files(tmp_path, "*.damaged")) == 1


def test_an_unreadable_manifest_does_not_hide_the_vectors(tmp_path):
    encoder = CountingEncoder()
    EmbeddingCache(tmp_path).encode(encoder, ["a"], "item")
    (manifest,) = files(tmp_path, "manifest.json")
    manifest.write_bytes(b"\xff{")
    EmbeddingCache(tmp_path).encode(encoder, ["a", "b"], "item")
    assert encoder.asked == ["a", "b"]
    assert [(entry.identity, entry.texts) for entry in EmbeddingCache(tmp_path).info()] == [("fake 1", 2)]


def test_vectors_without_a_readable_manifest_are_shown_and_cleared(tmp_path):
    EmbeddingCache(tmp_path).encode(CountingEncoder(), ["a"], "item")
    files(tmp_path, "manifest.json")[0].write_bytes(b"")
    (entry,) = EmbeddingCache(tmp_path).clear()
    assert (entry.identity, entry.texts, entry.dimension) == ("(manifest damaged)", 1, 8)
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_is_cleared_while_it_is_written_to_is_made_anew(tmp_path, monkeypatch):
    cache, encoder = EmbeddingCache(tmp_path, batch=1), CountingEncoder()
    add = shards.ShardFolder.add
    cleared = []

    def clear_then_add(self, hashes, vectors):
        if not cleared:
            cleared.append(EmbeddingCache(tmp_path).clear())
        add(self, hashes, vectors)

    monkeypatch.setattr(shards.ShardFolder, "add", clear_then_add)
    np.testing.assert_array_equal(cache.encode(encoder, ["a", "b"], "item"), encoder.vectors(["a", "b"], "item"))
    assert len(cleared[0]) == 1
    assert [entry.texts for entry in cache.info()] == [2]


def test_a_full_disk_is_an_error_and_leaves_nothing_half_written(tmp_path, monkeypatch):
    encoder, texts = CountingEncoder(), [str(i) for i in range(6)]
    synced = os.fsync
    writes = []

    def full_from_the_third_on(handle):
        writes.append(handle)
        if len(writes) > 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        synced(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_from_the_third_on)
        with pytest.raises(GoldrankError, match="No space left on device"):
            EmbeddingCache(tmp_path, batch=2).encode(encoder, texts, "item")
    assert not files(tmp_path, ".*.tmp")
    cache = EmbeddingCache(tmp_path)
    np.testing.assert_array_equal(cache.encode(encoder, texts, "item"), encoder.vectors(texts, "item"))
    assert cache.counts.reused in (2, 4)
    assert cache.counts.set_aside == 0


@pytest.mark.skipif(os.name != "posix", reason="RLIMIT_FSIZE")
def test_a_real_write_that_fails_in_the_middle_is_an_error_and_leaves_nothing(tmp_path):
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400)); "
    process = start(tmp_path / "cache", tmp_path / "log", before=limit)
    assert "the file cannot be written (File too large); nothing was kept" in process.communicate(timeout=300)[1]
    assert process.returncode != 0
    assert [path.name for path in files(tmp_path / "cache", "*")] == ["manifest.json"]


@pytest.mark.skipif(os.name != "posix", reason="RLIMIT_FSIZE")
def test_no_room_to_merge_is_no_error_for_the_vectors_are_kept_already(tmp_path):
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)); "
    process = start(tmp_path / "cache", tmp_path / "log", before=limit)
    # The limit applies to the log as well, but only its first lines are needed.
    process.communicate(timeout=300)
    cache = EmbeddingCache(tmp_path / "cache")
    encoder = CountingEncoder()
    np.testing.assert_array_equal(cache.encode(encoder, TEXTS, "item"), encoder.vectors(TEXTS, "item"))
    assert cache.counts.reused >= 4 * BATCH
    assert cache.counts.set_aside == 0


def test_a_folder_that_cannot_be_written_to_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match=r"the cache cannot be written to .* set GOLDRANK_CACHE"):
        EmbeddingCache(tmp_path / "file").encode(CountingEncoder(), ["a"], "item")


def test_at_the_callers_choice_a_folder_that_cannot_be_written_to_only_means_no_caching(tmp_path):
    (tmp_path / "file").write_text("in the way")
    cache, encoder = EmbeddingCache(tmp_path / "file", batch=1, unwritable="ignore"), CountingEncoder()
    for _ in range(2):
        vectors = cache.encode(encoder, ["a", "b"], "item")
        np.testing.assert_array_equal(vectors, encoder.vectors(["a", "b"], "item"))
    assert len(encoder.asked) == 4
    assert "cannot be written to" in cache.problem
    assert (tmp_path / "file").read_text() == "in the way"
