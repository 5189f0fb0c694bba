"""Word-vector files of every format, damaged files, the cache, and means over words."""

import gzip
import struct

import numpy as np
import pytest

from goldrank.encoders import load
from goldrank.errors import InputError
from goldrank.io.formats import word_vectors
from goldrank.io.formats.word_vectors import read_word_vectors

WORDS = {"cat": [1.0, 0.0, 2.0], "dog": [0.0, 1.0, -1.5], "the": [0.5, 0.5, 0.25]}
PLAIN = "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in WORDS.items())


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def as_binary(end=b""):
    rows = [word.encode() + b" " + struct.pack("<3f", *row) + end for word, row in WORDS.items()]
    return b"3 3\n" + b"".join(rows)


FORMS = {
    "glove": PLAIN,
    "word2vec text": "3 3\n" + PLAIN,
    "fasttext, blanks at the ends": "3 3\n" + PLAIN.replace("\n", " \n"),
    "CRLF": PLAIN.replace("\n", "\r\n"),
    "byte order mark": "\ufeff" + PLAIN,
    "no newline at the end": PLAIN.rstrip("\n"),
    "tabs": PLAIN.replace(" ", "\t"),
    "word2vec binary": as_binary(),
    "word2vec binary with newlines": as_binary(b"\n"),
    "gzip": gzip.compress(PLAIN.encode()),
    "gzip of binary": gzip.compress(as_binary()),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_format_gives_the_same_words_and_vectors(form, tmp_path):
    vectors = read_word_vectors(write(tmp_path / "file", FORMS[form]))
    assert vectors.words == list(WORDS)
    np.testing.assert_array_equal(vectors.matrix, list(WORDS.values()))
    assert (vectors.duplicates, vectors.skipped) == (0, 0)


@pytest.mark.parametrize("beside", [False, True])
def test_parquet_holds_vectors_in_a_column_or_beside_it(beside, tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    columns = {"word": list(WORDS)}
    if beside:
        np.save(tmp_path / "matrix.npy", np.array(list(WORDS.values())))
    else:
        columns["vector"] = list(WORDS.values())
    pq.write_table(pa.table(columns), tmp_path / "words.parquet")
    vectors = read_word_vectors(tmp_path / "words.parquet")
    assert vectors.words == list(WORDS)
    np.testing.assert_array_equal(vectors.matrix, list(WORDS.values()))


def test_a_word_may_hold_spaces_and_the_first_of_two_counts(tmp_path):
    vectors = read_word_vectors(write(tmp_path / "f", "new york 1 2 3\n" + PLAIN + "cat 9 9 9\n. . . 4 5 6\n"))
    assert vectors.words == ["new york", "cat", "dog", "the", ". . ."]
    assert vectors.duplicates == 1
    assert vectors.matrix[1].tolist() == WORDS["cat"]


def test_unicode_line_separators_do_not_end_a_line(tmp_path):
    assert read_word_vectors(write(tmp_path / "f", "a\u2028b 1 2\n\x85 3 4\n")).words == ["a\u2028b", "\x85"]


def test_the_rule_of_evalrank(tmp_path):
    row = " ".join(["1"] * 30)
    other = " ".join(["2"] * 30)
    content = f"3 30\nCat {row}\ncat {other}\nDog {other}\nshort 1 2 3\n"
    vectors = read_word_vectors(write(tmp_path / "f", content), rule="evalrank")
    assert vectors.words == ["cat", "dog"]
    assert (vectors.duplicates, vectors.skipped) == (1, 2)
    assert vectors.matrix[0, 0] == 1.0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (PLAIN + "bird 1 2\n", r"f:4: 'bird 1 2' has 2 numbers where other lines have 3"),
        (PLAIN + "bird 1 x 3\n", r"f:4: the vector of 'bird' holds something that is not a number"),
        (PLAIN + "bird 1 nan 3\n", r"f:4: the vector of b'bird' is not finite"),
        (PLAIN.encode() + b"caf\xe9 1 2 3\n", r"f:4: the word b'caf\\xe9' is not valid utf-8; try encoding=latin-1"),
        ("5 3\n" + PLAIN, "promises 5 words, the file has 3"),
        (as_binary()[:-3], "ends in word 3 of the 3"),
        ("", "empty"),
        ("\n\n", "empty"),
        (gzip.compress(PLAIN.encode(), mtime=0)[:-9], "gzip file is truncated"),
        (b"\xba\x16\x4f\x2f" + b"\0" * 50, "give its .vec file"),
        (b"PAR1 not really", "Parquet file is truncated or corrupt"),
    ],
)
def test_a_bad_file_is_an_error_with_the_line_and_leaves_no_cache(content, message, tmp_path, cache):
    with pytest.raises(InputError, match=message):
        read_word_vectors(write(tmp_path / "f", content))
    assert not list(cache.rglob("*.npy"))


def test_latin_1_is_read_when_asked_for(tmp_path):
    assert read_word_vectors(write(tmp_path / "f", b"caf\xe9 1 2\n"), encoding="latin-1").words == ["café"]


def test_the_second_reading_maps_what_the_first_one_kept(tmp_path, monkeypatch):
    file = write(tmp_path / "f", PLAIN + "cat 9 9 9\n")
    first = read_word_vectors(file)
    monkeypatch.setattr(word_vectors, "_read", lambda *_: pytest.fail("the file was read again"))
    second = read_word_vectors(file)
    assert isinstance(second.matrix, np.memmap)
    assert (second.words, second.duplicates) == (first.words, 1)
    np.testing.assert_array_equal(second.matrix, first.matrix)


def test_a_changed_file_is_read_again_and_a_broken_cache_too(tmp_path, cache):
    file = write(tmp_path / "f", PLAIN)
    read_word_vectors(file)
    write(file, PLAIN + "bird 1 2 3\n")
    assert len(read_word_vectors(file).words) == 4
    for matrix in cache.rglob("matrix.npy"):
        matrix.write_bytes(b"broken")
    assert len(read_word_vectors(file).words) == 4
    assert not list(cache.rglob(".*"))


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, monkeypatch):
    monkeypatch.setenv("GOLDRANK_CACHE", str(write(tmp_path / "in the way", "")))
    assert read_word_vectors(write(tmp_path / "f", PLAIN)).words == list(WORDS)


def test_the_mean_is_over_known_words_and_coverage_is_counted(tmp_path):
    encoder = load(f"words:{write(tmp_path / 'f', PLAIN)}")
    rows = encoder.encode_items(["The cat", "cat unknown dog", "nothing known", ""])
    np.testing.assert_allclose(rows[0], np.mean([WORDS["the"], WORDS["cat"]], axis=0))
    np.testing.assert_allclose(rows[1], np.mean([WORDS["cat"], WORDS["dog"]], axis=0))
    assert not rows[2:].any()
    coverage = encoder.coverage
    assert (coverage.tokens, coverage.known, coverage.texts, coverage.without) == (7, 4, 4, 2)


def test_a_word_is_looked_up_whole_and_else_by_its_letters(tmp_path):
    encoder = load(f"words:{write(tmp_path / 'f', PLAIN + 'the-cat 9 9 9' + chr(10))}")
    rows = encoder.encode_items(["(Cat), dog's", "the-cat", "the-dog!"])
    np.testing.assert_allclose(rows[0], np.mean([WORDS["cat"], WORDS["dog"]], axis=0))
    assert rows[1].tolist() == [9, 9, 9]
    np.testing.assert_allclose(rows[2], np.mean([WORDS["the"], WORDS["dog"]], axis=0))
    assert encoder.covers(["cat!", "?"]).tolist() == [True, False]


def test_the_evalrank_preset_splits_at_white_space_and_gives_unknown_texts_a_tiny_vector(tmp_path):
    row, other = " ".join(["1"] * 30), " ".join(["3"] * 30)
    file = write(tmp_path / "f", f"Cat {row}\ndog {other}\nshort 1 2\n")
    rows = load(f"words:{file}(preset=evalrank)").encode_items(["CAT dog", "cat dog,", "dog,", ""])
    assert rows[:, 0].tolist() == pytest.approx([2.0, 1.0, 1e-9, 1e-9])


def test_lower_false_tells_cases_apart(tmp_path):
    assert not load(f"words:{write(tmp_path / 'f', PLAIN)}(lower=false)").encode_items(["Cat"]).any()


def test_sif_weighs_by_rank_before_a_fit_and_by_counts_after(tmp_path):
    encoder = load(f"words:{write(tmp_path / 'f', PLAIN)}(weighting=sif)")
    places = np.arange(1, 4)
    share = (1 / places) / (1 / places).sum()
    expected = np.array(WORDS["dog"]) * (1e-3 / (1e-3 + share[1]))
    np.testing.assert_allclose(encoder.encode_items(["dog"])[0], expected, rtol=1e-5)
    corpus = ["the cat", "the dog", "the the cat"]
    encoder.fit(corpus)
    weight = {"the": 4 / 7, "cat": 2 / 7, "dog": 1 / 7}
    means = np.array(
        [np.mean([np.array(WORDS[w]) * 1e-3 / (1e-3 + weight[w]) for w in text.split()], axis=0) for text in corpus]
    )
    common = np.linalg.svd(means)[2][0]
    np.testing.assert_allclose(encoder.encode_items(corpus), means - np.outer(means @ common, common), atol=1e-8)


def test_covers_tells_which_texts_have_a_known_word_and_counts_nothing(tmp_path):
    encoder = load(f"words:{write(tmp_path / 'file', PLAIN)}")
    assert encoder.covers(["The cat", "zebra", "", "zebra dog"]).tolist() == [True, False, False, True]
    assert encoder.covers([]).shape == (0,)
    assert encoder.coverage.texts == 0
