"""The embedding cache: no text is encoded twice, and cached vectors equal those that the encoder returns."""

import json
import os
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.errors import GoldrankError, InputError
from goldrank.vectors import shards
from goldrank.vectors.cache import EmbeddingCache, default_folder
from vectors.cache_cases import CountingEncoder

any_text = st.text(st.characters(exclude_categories=()), max_size=20)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


def shard_files(folder):
    return sorted(folder.glob("*/*.shard"))


def test_what_was_encoded_once_is_not_encoded_again(folder):
    encoder = CountingEncoder()
    first = EmbeddingCache(folder).encode(encoder, ["a", "b"], "item")
    cache = EmbeddingCache(folder)
    second = cache.encode(encoder, ["a", "b"], "item")
    assert sorted(encoder.asked) == ["a", "b"]
    assert (cache.counts.reused, cache.counts.encoded) == (2, 0)
    assert first.dtype == second.dtype == np.float32
    np.testing.assert_array_equal(first, encoder.vectors(["a", "b"], "item"))
    np.testing.assert_array_equal(second, first)


def test_only_unknown_texts_are_encoded(folder):
    cache, encoder = EmbeddingCache(folder), CountingEncoder()
    cache.encode(encoder, ["a", "b", "c"], "item")
    texts = ["x", "b", "a", "y"]
    np.testing.assert_array_equal(cache.encode(encoder, texts, "item"), encoder.vectors(texts, "item"))
    assert sorted(encoder.asked) == ["a", "b", "c", "x", "y"]
    assert (cache.counts.reused, cache.counts.encoded) == (2, 5)


def test_a_repeated_text_is_encoded_once_and_has_its_vector_everywhere(folder):
    cache, encoder = EmbeddingCache(folder, batch=2), CountingEncoder()
    cache.encode(encoder, ["known"], "item")
    texts = ["b", "known", "a", "b", "longer", "a", "b", "known"]
    np.testing.assert_array_equal(cache.encode(encoder, texts, "item"), encoder.vectors(texts, "item"))
    assert sorted(encoder.asked) == ["a", "b", "known", "longer"]


@given(st.lists(any_text, max_size=12), st.lists(any_text, max_size=12), st.integers(1, 5))
def test_any_unicode_in_any_order_with_duplicates_and_any_batch(tmp_path_factory, known, texts, batch):
    folder, encoder = tmp_path_factory.mktemp("cache"), CountingEncoder()
    EmbeddingCache(folder, batch=batch).encode(encoder, known, "item")
    vectors = EmbeddingCache(folder, batch=batch).encode(encoder, texts, "item")
    assert sorted(encoder.asked) == sorted({*known, *texts})
    if texts:
        np.testing.assert_array_equal(vectors, encoder.vectors(texts, "item"))
    else:
        assert len(vectors) == 0


def test_a_surrogate_pair_and_the_character_it_stands_for_are_two_texts(folder):
    texts = ["\U0001f600", "\ud83d\ude00", "\ud83d", "", " ", "e\u0301", "\u00e9", "\0"]
    encoder = CountingEncoder()
    vectors = EmbeddingCache(folder).encode(encoder, texts, "item")
    assert len(encoder.asked) == len(texts)
    np.testing.assert_array_equal(vectors, encoder.vectors(texts, "item"))


def test_a_query_never_gets_the_vector_of_a_document(folder):
    cache, encoder = EmbeddingCache(folder), CountingEncoder()
    item, query = cache.encode(encoder, ["a"], "item"), cache.encode(encoder, ["a"], "query")
    assert encoder.asked == ["a", "a"]
    assert not np.array_equal(item, query)
    np.testing.assert_array_equal(cache.encode(encoder, ["a"], "query"), query)
    np.testing.assert_array_equal(cache.encode(encoder, ["a"], "item"), item)


def test_another_prompt_encodes_again_for_its_side_only(folder):
    cache = EmbeddingCache(folder)
    before, after = (CountingEncoder(prompts={"query": prompt, "item": ""}) for prompt in ("query: ", "Find this: "))
    for side in ("query", "item"):
        for encoder in (before, after):
            np.testing.assert_array_equal(cache.encode(encoder, ["a"], side), encoder.vectors(["a"], side))
    assert before.asked == ["a", "a"]
    assert after.asked == ["a"]


def test_another_identity_encodes_again(folder):
    cache, old, new = EmbeddingCache(folder), CountingEncoder("model 1"), CountingEncoder("model 2", width=4)
    cache.encode(old, ["a"], "item")
    np.testing.assert_array_equal(cache.encode(new, ["a"], "item"), new.vectors(["a"], "item"))
    assert new.asked == ["a"]


def test_parts_of_identity_and_prompt_cannot_be_mistaken_for_each_other(folder):
    cache = EmbeddingCache(folder)
    for identity, prompt in (("a", "b"), ("ab", ""), ("a\0b", ""), ("a", "\0b")):
        encoder = CountingEncoder(identity, prompts={"item": prompt})
        cache.encode(encoder, ["text"], "item")
        assert encoder.asked == ["text"]


@pytest.mark.parametrize("fresh", [True, False])
def test_another_dimension_under_the_same_identity_is_refused(folder, fresh):
    cache = EmbeddingCache(folder)
    cache.encode(CountingEncoder(width=8), ["a"], "item")
    cache = EmbeddingCache(folder) if fresh else cache
    with pytest.raises(GoldrankError, match="gave 5 dimensions, but 8 before under the same identity"):
        cache.encode(CountingEncoder(width=5), ["b"], "item")
    assert len(shard_files(folder)) == 1


def test_dimensions_mixed_by_two_processes_are_noticed(folder):
    EmbeddingCache(folder).encode(CountingEncoder(width=8), ["a"], "item")
    shard_folder = shard_files(folder)[0].parent
    shards.ShardFolder(shard_folder).add(np.zeros((1, 2), np.uint64), np.zeros((1, 5), np.float32))
    with pytest.raises(GoldrankError, match="different dimensions for one model"):
        EmbeddingCache(folder).encode(CountingEncoder(width=8), ["a"], "item")


@pytest.mark.parametrize("width", [1, 2, 3, 7, 256])
def test_odd_and_even_dimensions_come_back_to_the_bit(folder, width):
    encoder, texts = CountingEncoder(width=width), [str(i) for i in range(50)]
    EmbeddingCache(folder, batch=7).encode(encoder, texts, "item")
    np.testing.assert_array_equal(
        EmbeddingCache(folder).encode(encoder, texts[::-1], "item"), encoder.vectors(texts[::-1], "item")
    )


def test_no_texts_ask_nothing(folder):
    cache, encoder = EmbeddingCache(folder), CountingEncoder()
    assert cache.encode(encoder, [], "item").shape == (0, 0)
    assert not folder.exists()
    cache.encode(encoder, ["a"], "item")
    assert cache.encode(encoder, [], "item").shape == (0, 8)


def test_vectors_may_be_changed_by_the_caller(folder):
    cache, encoder = EmbeddingCache(folder), CountingEncoder()
    for _ in range(3):
        vectors = cache.encode(encoder, ["a", "b"], "item")
        np.testing.assert_array_equal(vectors, encoder.vectors(["a", "b"], "item"))
        vectors[:] = 0


def test_sparse_vectors_pass_through_and_are_not_kept(folder):
    sparse = pytest.importorskip("scipy.sparse")

    class Sparse(CountingEncoder):
        def encode_items(self, texts):
            return sparse.csr_matrix(super().encode_items(texts))

    encoder, texts = Sparse(), ["b", "a", "b"]
    for _ in range(2):
        vectors = EmbeddingCache(folder, batch=1).encode(encoder, texts, "item")
        np.testing.assert_array_equal(vectors.toarray(), encoder.vectors(texts, "item"))
    assert not shard_files(folder)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (np.zeros((2, 8)), r"shape \(2, 8\) for 1 texts"),
        (np.zeros(8), r"shape \(8,\)"),
        (np.zeros((1, 0)), r"shape \(1, 0\)"),
        (np.full((1, 8), np.nan), "not finite"),
        (np.full((1, 8), 1e300), "not finite"),
    ],
)
def test_what_no_encoder_should_give_is_refused_and_not_kept(folder, made, says):
    encoder = CountingEncoder()
    encoder.encode_items = lambda texts: made
    with pytest.raises(GoldrankError, match=says):
        EmbeddingCache(folder).encode(encoder, ["a"], "item")
    assert not shard_files(folder)


@pytest.mark.parametrize(
    ("texts", "side", "says"),
    [
        (["a", None], "item", "text 1 is None, not a string"),
        (["a", b"b"], "item", "text 1 is b'b', not a string"),
        ("abc", "item", "one text was given"),
        (["a"], "document", "no side 'document'"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(folder, texts, side, says):
    with pytest.raises(InputError, match=says):
        EmbeddingCache(folder).encode(CountingEncoder(), texts, side)


@pytest.mark.parametrize("options", [{"batch": 0}, {"unwritable": "perhaps"}])
def test_options_that_make_no_sense_are_refused(folder, options):
    with pytest.raises(InputError):
        EmbeddingCache(folder, **options)


def test_a_hundred_thousand_texts_are_found_again_each_with_its_own_vector(folder):
    class Quick(CountingEncoder):
        def vectors(self, texts, side):
            numbers = np.array([int(text) for text in texts], np.float32)
            return numbers[:, None] + np.arange(self.width, dtype=np.float32) / 8

    encoder = Quick(width=4)
    texts = [str(i) for i in range(100_000)]
    EmbeddingCache(folder, batch=4096).encode(encoder, texts, "item")
    assert len(encoder.asked) == 100_000
    mixed = [texts[i] for i in np.random.default_rng(0).integers(0, 100_000, 150_000)]
    np.testing.assert_array_equal(EmbeddingCache(folder).encode(encoder, mixed, "item"), encoder.vectors(mixed, "item"))
    assert len(encoder.asked) == 100_000


def test_texts_that_share_half_their_hash_keep_their_own_vectors(tmp_path):
    folder = shards.ShardFolder(tmp_path)
    hashes = np.array([[5, 1], [5, 2], [7, 3]], np.uint64)
    vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
    folder.add(hashes, vectors)
    gathered, present = folder.gather(np.array([[5, 2], [5, 1], [7, 3], [7, 4], [9, 9]], np.uint64))
    assert present[2]
    assert not present[3:].any()
    expected = vectors[[1, 0, 2]]
    np.testing.assert_array_equal(gathered[:3][present[:3]], expected[present[:3]])


def test_many_small_files_are_merged_and_nothing_is_lost(folder, monkeypatch):
    monkeypatch.setattr("goldrank.vectors.cache._MERGE_WHILE_ENCODING", 5)
    encoder, texts = CountingEncoder(), [str(i) for i in range(103)]
    EmbeddingCache(folder, batch=2).encode(encoder, texts, "item")
    assert len(shard_files(folder)) <= 6
    cache = EmbeddingCache(folder)
    np.testing.assert_array_equal(cache.encode(encoder, texts, "item"), encoder.vectors(texts, "item"))
    assert cache.counts.encoded == 0


def test_merging_keeps_one_vector_of_a_text_that_two_processes_encoded(tmp_path):
    folder = shards.ShardFolder(tmp_path)
    hashes = np.array([[1, 1], [2, 2]], np.uint64)
    for number in (1.0, 2.0):
        folder.add(hashes, np.full((2, 3), number, np.float32))
    folder.compact(more_than=1)
    (merged,) = tmp_path.glob("*.shard")
    assert shards.texts_in(merged) == (2, 3)


def test_a_reader_whose_files_are_merged_away_between_listing_and_opening_looks_again(tmp_path, monkeypatch):
    writer, reader = shards.ShardFolder(tmp_path), shards.ShardFolder(tmp_path)
    hashes = np.arange(8, dtype=np.uint64).reshape(4, 2)
    for i in range(4):
        writer.add(hashes[i : i + 1], np.full((1, 3), i, np.float32))
    list_names = reader.names

    def names_then_merge():
        names = list_names()
        if len(names) == 4:
            writer.compact(more_than=1)
        return names

    monkeypatch.setattr(reader, "names", names_then_merge)
    gathered, present = reader.gather(hashes)
    assert present.all()
    np.testing.assert_array_equal(gathered[:, 0], np.arange(4))


def test_what_a_killed_process_left_is_removed_later_but_not_while_it_may_be_at_work(tmp_path):
    folder = shards.ShardFolder(tmp_path)
    old, recent = (tmp_path / f".{digit * 24}.shard.{'0' * 12}.tmp" for digit in "ab")
    for path in (old, recent):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    folder.remove_stale()
    assert (old.exists(), recent.exists()) == (False, True)


def test_the_manifest_says_in_plain_text_what_is_kept(folder):
    EmbeddingCache(folder).encode(CountingEncoder("some model 1", prompts={"query": "find: "}), ["a"], "query")
    (manifest,) = folder.glob("*/manifest.json")
    content = json.loads(manifest.read_text())
    assert (content["identity"], content["side"], content["prompt"]) == ("some model 1", "query", "find: ")
    assert content["dimension"] == 8


def test_info_counts_texts_and_bytes_for_each_model_and_side(folder):
    cache = EmbeddingCache(folder)
    assert cache.info() == []
    cache.encode(CountingEncoder("old"), ["a", "b"], "item")
    os.utime(next(folder.glob("*/manifest.json")), (1e9, 1e9))
    cache.encode(CountingEncoder("new", width=3), ["a"], "query")
    new, old = cache.info()
    assert (new.identity, new.side, new.texts, new.dimension) == ("new", "query", 1, 3)
    assert (old.identity, old.side, old.texts, old.dimension) == ("old", "item", 2, 8)
    assert old.last_used == 1e9
    assert old.bytes == sum(path.stat().st_size for path in old.folder.iterdir())
    cache.encode(CountingEncoder("old"), ["a"], "item")
    assert cache.info()[0].identity == "old"


def test_clear_removes_what_is_asked_for_and_only_files_of_the_cache(folder):
    cache, encoders = EmbeddingCache(folder), [CountingEncoder(name) for name in ("st:one", "st:two", "bm25")]
    for encoder in encoders:
        cache.encode(encoder, ["a"], "item")
    first = next(entry.folder for entry in cache.info() if entry.identity == "st:one")
    foreign = [folder / "notes.txt", folder / "models" / "manifest.json", first / "mine.txt"]
    foreign[1].parent.mkdir()
    for path in foreign:
        path.write_text("keep me")
    os.utime(first / "manifest.json", (time.time() - 10 * 86400,) * 2)
    assert [entry.identity for entry in cache.clear("st:", older_than=5)] == ["st:one"]
    assert sorted(entry.identity for entry in cache.info()) == ["bm25", "st:two"]
    assert len(cache.clear("ST:TWO")) == 1
    assert len(cache.clear()) == 1
    assert not shard_files(folder)
    assert all(path.read_text() == "keep me" for path in foreign)
    for encoder in encoders:
        cache.encode(encoder, ["a"], "item")
        assert encoder.asked == ["a", "a"]


def test_a_link_out_of_the_folder_is_not_followed_when_clearing(folder, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    EmbeddingCache(elsewhere).encode(CountingEncoder(), ["a"], "item")
    folder.mkdir()
    (target,) = elsewhere.iterdir()
    (folder / target.name).symlink_to(target, target_is_directory=True)
    assert EmbeddingCache(folder).clear() == []
    assert shard_files(elsewhere)


def test_the_default_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path))
    assert EmbeddingCache().folder == tmp_path / "embeddings"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other variables")
def test_the_default_folder_is_in_the_systems_place_for_caches(monkeypatch, tmp_path):
    monkeypatch.delenv("GOLDRANK_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_folder() == tmp_path / "xdg" / "goldrank" / "embeddings"


def test_a_cache_that_keeps_nothing_batches_texts_as_ever_and_writes_nothing(folder, tmp_path):
    texts = ["a", "bbb", "a", "cc", "dddd", "e"]
    cached, uncached = CountingEncoder(), CountingEncoder()
    first = EmbeddingCache(folder, batch=2).encode(cached, texts, "item")
    second = EmbeddingCache(tmp_path / "other", batch=2, keep=False).encode(uncached, texts, "item")
    np.testing.assert_array_equal(first, second)
    assert uncached.asked == cached.asked
    assert not (tmp_path / "other").exists()
