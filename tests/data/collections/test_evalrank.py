"""EvalRank folders: ids and order of the items, repeated texts and pairs, and lines that are no pair."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.data.collections import read_collection
from goldrank.data.collections.evalrank import PositivePair, collection_of
from goldrank.errors import InputError

words = st.text("abcd", min_size=1, max_size=2)


def folder(path, **files):
    path.mkdir(exist_ok=True)
    for name, content in files.items():
        stem, _, suffix = name.rpartition("_")
        (path / f"{stem}.{suffix}").write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows(collection):
    gold, bounds = collection.gold, collection.gold.starts.tolist()
    return [
        (query, item)
        for query, start, end in zip(gold.queries, bounds[:-1], bounds[1:], strict=True)
        for item in gold.items[start:end]
    ]


def test_words_are_their_own_ids_and_stand_in_the_order_pairs_basic_wiki(tmp_path):
    path = folder(
        tmp_path / "w",
        pos_pair_9_txt="cat\tpet\npet\tcat\n",
        wiki_vocab_txt="the\ndog\n",
        basic_vocab_txt="dog\ncat\npet\n",
    )
    collection = read_collection(path)
    assert (collection.format, collection.related, collection.items.ids) == (
        "evalrank",
        True,
        ["cat", "pet", "dog", "the"],
    )
    assert rows(collection) == [("cat", "pet"), ("pet", "cat")]
    assert collection.remarks == []


def test_sentences_are_numbered_and_the_same_text_is_one_item(tmp_path):
    path = folder(tmp_path / "s", pairs_tsv="a b\tc d\na b\te\n", background_txt="e\na b\nf g\nf g\n")
    collection = read_collection(path)
    assert [(document.id, document.text) for document in collection.items] == [
        ("s1", "a b"),
        ("s2", "c d"),
        ("s3", "e"),
        ("s4", "f g"),
    ]
    assert rows(collection) == [("s1", "s2"), ("s1", "s3")]
    assert collection.remarks == ["1 text of pairs not in the background, added to it"]


@given(st.lists(st.tuples(words, words), min_size=1), st.lists(words))
def test_every_pair_is_there_once_and_every_text_too(pairs, background):
    collection = collection_of([PositivePair(*pair) for pair in pairs], background, "x", "x", [])
    assert sorted(rows(collection)) == sorted(set(pairs))
    assert collection.items.ids == list(dict.fromkeys([text for pair in pairs for text in pair] + background))


def test_pairs_given_again_and_pairs_of_a_text_with_itself_are_counted(tmp_path):
    collection = read_collection(folder(tmp_path / "s", pairs_tsv="a\tb\na\tb\nc\tc\n", background_txt="a\nb\nc\n"))
    assert rows(collection) == [("a", "b"), ("c", "c")]
    assert collection.remarks == [
        "1 pair given again left out",
        "1 pair of a text with itself, which ranks first by cosine",
    ]


def test_line_ends_marks_and_latin_1_are_mended_and_told(tmp_path):
    path = folder(
        tmp_path / "s",
        pairs_tsv=b"\xef\xbb\xbfquery\titem\r\na\tb\r\n",
        background_txt="a\nb\ncaf\xe9\n".encode("latin-1"),
    )
    collection = read_collection(path)
    assert collection.items.ids == ["a", "b", "café"]
    assert len(collection.remarks) == 3


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ("a\tb\tc\n", r"pairs.tsv:1: the line has 3 columns, not two texts"),
        ("a b\n", r"pairs.tsv:1: the line has 1 column"),
        ("a\tb\nc\t \n", r"pairs.tsv:2: a text of the pair is empty"),
        ("query\titem\n", "there are no pairs"),
        ("", "the file is empty"),
    ],
)
def test_what_is_no_pair_is_refused_with_its_place(tmp_path, pairs, message):
    with pytest.raises(InputError, match=message):
        read_collection(folder(tmp_path / "s", pairs_tsv=pairs, background_txt="a\nb\n"))


def test_a_folder_without_background_or_with_two_files_of_pairs_is_refused(tmp_path):
    alone = folder(tmp_path / "one", pairs_tsv="a\tb\n")
    with pytest.raises(InputError, match="1 files of pairs and 0 of background"):
        read_collection(alone, format="evalrank")
    two = folder(tmp_path / "two", pairs_tsv="a\tb\n", pos_pair_txt="a\tb\n", background_txt="a\n")
    with pytest.raises(InputError, match="2 files of pairs"):
        read_collection(two)
    with pytest.raises(InputError, match="there is no split 'dev'"):
        read_collection(folder(tmp_path / "s", pairs_tsv="a\tb\n", background_txt="a\n"), split="dev")
