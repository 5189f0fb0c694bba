"""Files of scored pairs: every layout, repairs with a remark, and errors with their place."""

import gzip
import json

import numpy as np
import pytest

from goldrank.data.scored_pairs import (
    PairSets,
    ScoredPairs,
    built_in_pairs,
    read_scored_pairs,
    read_word_similarity,
)
from goldrank.data.similarity_sets import read_sick, read_str, read_sts_benchmark, read_sts_folder
from goldrank.errors import InputError

HEADED = 'sentence1,sentence2,score\nA cat.,A dog.,2.5\n"One, two.",Three.,4\n'
PAIRS = [("A cat.", "A dog.", 2.5), ("One, two.", "Three.", 4.0)]


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows(pairs):
    return list(zip(pairs.first, pairs.second, pairs.scores.tolist(), strict=True))


FORMS = {
    "a.csv": HEADED,
    "b.csv": HEADED.replace("sentence1,sentence2,score", "Text_A,Text_B,Similarity"),
    "c.csv": HEADED.partition("\n")[2],
    "d.tsv": "score\tsentence1\tsentence2\n2.5\tA cat.\tA dog.\n4\tOne, two.\tThree.\n",
    "e.txt": "sentence_A\tsentence_B\trelatedness_score\nA cat.\tA dog.\t2.5\nOne, two.\tThree.\t4\n",
    "f.jsonl": "".join(json.dumps({"text1": a, "text2": b, "score": s}) + "\n" for a, b, s in PAIRS),
    "g.json": json.dumps([{"sentence1": a, "sentence2": b, "label": s} for a, b, s in PAIRS]),
    "h.csv.gz": gzip.compress(HEADED.encode()),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_kind_of_table_gives_the_same_pairs(name, tmp_path):
    pairs = read_scored_pairs(write(tmp_path / name, FORMS[name]))
    assert rows(pairs) == PAIRS
    assert (pairs.level, pairs.remarks, pairs.subset) == ("sentence", (), ())


@pytest.mark.parametrize(
    ("content", "remark"),
    [
        (b"\xef\xbb\xbf" + HEADED.encode(), "the byte order mark of"),
        (HEADED.replace("\n", "\r\n").encode(), "ended in CRLF"),
        (HEADED.replace("cat", "ch\xe4t").encode("latin-1"), "is not UTF-8 and was read as latin-1"),
    ],
)
def test_marks_line_ends_and_latin_1_are_mended_with_a_remark(content, remark, tmp_path):
    pairs = read_scored_pairs(write(tmp_path / "pairs.csv", content))
    assert [(a.replace("ch\xe4t", "cat"), b, s) for a, b, s in rows(pairs)] == PAIRS
    assert len(pairs.remarks) == 1
    assert remark in pairs.remarks[0]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.csv", HEADED.replace("2.5", "much"), "x.csv:2: the score 'much'"),
        ("x.csv", HEADED.replace(",4", ",nan"), "x.csv:3: the score"),
        ("x.csv", HEADED.replace(",4", ","), "x.csv:3: the score"),
        ("x.csv", HEADED + "too,few\n", "x.csv:4: the row has 2 columns"),
        ("x.csv", "left,right,score\na,b,1\n", "x.csv:1: there are no two texts"),
        ("x.csv", "sentence1,sentence2,how much\na,b,c\n", "x.csv:1: there is no score"),
        ("x.csv", "sentence1,sentence2,score\n", "there are no pairs"),
        ("x.csv", "sentence1,sentence2,score\na,b,3\nc,d,3\n", "all 2 scores are 3"),
        ("x.csv", "id,sentence1,sentence2,score\n1,a,b,3\n1,c,d,4\n", r"x.csv:3: the id '1' is given twice \(first"),
        ("x.csv", "id,sentence1,sentence2,score\n1,a,b,3\n,c,d,4\n", "x.csv:3: the id is missing"),
        ("x.csv", "", "the file is empty"),
        ("x.csv", b"sentence1,sentence2,score\n\x00,b,3\n", "x.csv:2: the text holds a NUL byte"),
        ("x.jsonl", '{"text1": "a", "text2": "b", "score": "x"}\n', "x.jsonl:1: the score 'x'"),
        ("x.jsonl", '{"text1": "a", "text2": "b", "score": true}\n', "x.jsonl:1: the score True"),
        ("x.jsonl", '{"text1": "a", "text2": 7, "score": 1}\n', "x.jsonl:1: the text 7 is not a string"),
        ("x.jsonl", '{"text1": "a", "text2": "b", "score": 1}\n[1]\n', "x.jsonl:2:"),
    ],
)
def test_what_is_no_pair_with_a_score_is_refused_with_its_line(name, content, said, tmp_path):
    with pytest.raises(InputError, match=said):
        read_scored_pairs(write(tmp_path / name, content))


def test_pairs_of_single_words_are_word_pairs_unless_said_otherwise(tmp_path):
    path = write(tmp_path / "words.csv", "word1,word2,score\ncat,dog,7\ncat,car,1\n")
    assert read_scored_pairs(path).level == "word"
    assert read_scored_pairs(path, level="sentence").level == "sentence"


@pytest.mark.parametrize("between", ["\t", " "])
def test_word_files_part_by_tabs_or_blanks_and_may_trail_them(between, tmp_path):
    content = f"# a comment\ncat{between}dog{between}7.5\t \r\n\r\nTiger{between}cat{between}3\r\n"
    pairs = read_word_similarity(write(tmp_path / "words.txt", content))
    assert rows(pairs) == [("cat", "dog", 7.5), ("Tiger", "cat", 3.0)]
    assert (pairs.level, pairs.ids) == ("word", ("2", "4"))
    assert "CRLF" in pairs.remarks[0]


@pytest.mark.parametrize(
    ("content", "said"), [("cat dog 1\ncat car\n", ":2: the line has 2 columns"), ("cat dog x\n", ":1: the score 'x'")]
)
def test_a_bad_line_of_a_word_file_is_named(content, said, tmp_path):
    with pytest.raises(InputError, match=said):
        read_word_similarity(write(tmp_path / "words.txt", content))


def sts_folder(folder, gold="1.5\n\n4\n"):
    write(folder / "STS.input.news.txt", 'a b\tc d\nno\tscore\n"e\tf\textra\n')
    write(folder / "STS.gs.news.txt", gold)
    write(folder / "STS.input.web.txt", "g\th\n")
    write(folder / "STS.gs.web.txt", "2")
    write(folder / "STS.gs.ALL.txt", "1.5\n4\n2\n")
    write(folder / "STS.gs.SMT.txt", "5\n")
    return folder


def test_sts_folders_keep_subsets_and_count_pairs_without_a_score(tmp_path):
    pairs = read_sts_folder(sts_folder(tmp_path / "STS99"))
    assert rows(pairs) == [("a b", "c d", 1.5), ('"e', "f", 4.0), ("g", "h", 2.0)]
    assert pairs.subset == ("news", "news", "web")
    assert pairs.ids == ("news:1", "news:3", "web:1")
    assert pairs.remarks == (
        "news: 1 pair of 3 without a score, left out",
        "SMT has scores and no sentences, left out",
    )


def test_sts_folders_that_do_not_fit_together_are_refused(tmp_path):
    with pytest.raises(InputError, match="there are 2 scores for 3 pairs"):
        read_sts_folder(sts_folder(tmp_path / "a", gold="1\n2\n"))
    with pytest.raises(InputError, match=r"STS\.gs\.news\.txt:3: the score 'x'"):
        read_sts_folder(sts_folder(tmp_path / "b", gold="1\n2\nx\n"))
    (sts_folder(tmp_path / "c") / "STS.gs.web.txt").unlink()
    with pytest.raises(InputError, match="the scores of this file are not here"):
        read_sts_folder(tmp_path / "c")
    with pytest.raises(InputError, match=r"there is no file STS\.input"):
        read_sts_folder(tmp_path)
    with pytest.raises(InputError, match="there is no split 'dev'"):
        read_sts_folder(tmp_path / "a", "dev")


def benchmark_line(score, first, second):
    return f"main-news\theadlines\t2015\t0001\t{score}\t{first}\t{second}\n"


def test_the_benchmark_takes_quotes_as_they_are_and_brings_its_training_texts(tmp_path):
    write(tmp_path / "sts-test.csv", benchmark_line(5, 'he said "no', 'so "it is"') + benchmark_line(1, "a", "b"))
    write(tmp_path / "sts-train.csv", benchmark_line(3, "x", "y") + benchmark_line(2, "x", "z"))
    pairs = read_sts_benchmark(tmp_path)
    assert rows(pairs)[0] == ('he said "no', 'so "it is"', 5.0)
    assert pairs.training == ("x", "y", "z")
    train = read_sts_benchmark(tmp_path, "train")
    assert (len(train), train.training) == (2, ())
    assert rows(read_sts_benchmark(tmp_path / "sts-train.csv")) == rows(train)
    with pytest.raises(InputError, match="there is no split 'dev'"):
        read_sts_benchmark(tmp_path, "dev")
    write(tmp_path / "sts-test.csv", "too\tfew\n")
    with pytest.raises(InputError, match=r"sts-test\.csv:1: the line has 2 columns where 7"):
        read_sts_benchmark(tmp_path)


def test_sick_reads_the_relatedness_of_the_split(tmp_path):
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\r\n"
    write(tmp_path / "SICK_test_annotated.txt", header + '6\tA "b\tC\t3.3\tNEUTRAL\r\n9\tD\tE\t1\tNEUTRAL\r\n')
    write(tmp_path / "SICK_trial.txt", header + "4\tF\tG\t2\tNEUTRAL\n5\tF\tH\t3\tNEUTRAL\n")
    pairs = read_sick(tmp_path)
    assert rows(pairs) == [('A "b', "C", 3.3), ("D", "E", 1.0)]
    assert pairs.ids == ("6", "9")
    assert read_sick(tmp_path, "dev").ids == ("4", "5")


def test_str_finds_both_sentences_in_one_cell(tmp_path):
    content = 'Index,SourceID,PairID,Text,Score\n0,s,p_1,"One, two.\nThree.",1.0\n1,s,p_2,"a\nb",0.25\n'
    pairs = read_str(write(tmp_path / "sem_text_rel_ranked.csv", content).parent)
    assert rows(pairs) == [("One, two.", "Three.", 1.0), ("a", "b", 0.25)]
    assert pairs.ids == ("p_1", "p_2")
    with pytest.raises(InputError, match=r"\.csv:4: the row does not hold two sentences"):
        read_str(write(tmp_path / "bad.csv", content.replace('"a\nb"', '"a b"')))


def test_the_built_in_pairs_need_no_data():
    pairs = built_in_pairs()
    assert (pairs.name, len(pairs), pairs.level) == ("sentence-pairs", 150, "sentence")
    assert 0 <= pairs.scores.min() < pairs.scores.max() <= 5


def test_the_checksum_tells_apart_whatever_can_change_a_result():
    def made(**changes):
        plain = {"ids": ("1", "2"), "first": ("a", "b"), "second": ("c", "d"), "scores": np.array([1.0, 2.0])}
        return ScoredPairs("x", **{**plain, **changes}).checksum

    changes = [
        {},
        {"ids": ("1", "3")},
        {"first": ("a", "bc"), "second": ("", "d")},
        {"first": ("ab", ""), "second": ("c", "d")},
        {"scores": np.array([1.0, 2.5])},
        {"subset": ("s", "t")},
        {"level": "word"},
        {"training": ("t",)},
    ]
    assert len({made(**change) for change in changes}) == len(changes)
    assert made() == made(remarks=("mended",), source="elsewhere")


def test_sets_together_name_whose_remark_it_is():
    pairs = ScoredPairs("one", ("1",), ("a",), ("b",), np.array([1.0]), remarks=("mended",))
    both = PairSets("both", (pairs, ScoredPairs("other", ("1", "2"), ("a", "b"), ("c", "d"), np.array([1.0, 2.0]))))
    assert (len(both), both.remarks) == (3, ("one: mended",))
    assert both.checksum != PairSets("both", both.sets[::-1]).checksum
