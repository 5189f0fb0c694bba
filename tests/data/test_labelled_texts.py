"""Labelled texts: all layouts give the same rows, repairs are reported, and errors name their place."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from goldrank.data.labelled_sets import LABELLED_SETS
from goldrank.data.labelled_texts import LabelledTexts, read_labelled
from goldrank.errors import InputError

ROWS = [("good film, really", "positive", "train"), ("bad", "negative", "train"), ("fine", "positive", "test")]


def write(path, kind, rows=ROWS):
    if kind == "jsonl":
        lines = [json.dumps({"text": text, "label": label, "split": split}) for text, label, split in rows]
    else:
        mark = "," if kind == "csv" else "\t"
        lines = [mark.join(("text", "label", "split"))]
        lines += [mark.join((f'"{text}"', label, split)) for text, label, split in rows]
    (path / f"moods.{kind}").write_text("\n".join(lines) + "\n")
    return path / f"moods.{kind}"


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_every_kind_of_file_gives_the_same_rows(kind, tmp_path):
    data = read_labelled(write(tmp_path, kind))
    assert list(zip(data.texts, data.labels, data.splits, strict=True)) == ROWS
    assert (data.name, data.classes, data.seconds, data.remarks) == ("moods", ("negative", "positive"), None, ())
    assert data.rows("train").tolist() == [0, 1]
    assert data.rows("dev").tolist() == []


def test_a_folder_with_one_file_per_split_is_read_whatever_the_splits_are_called(tmp_path):
    for split, text in (("train", "a,x\nb,y"), ("validation", "c,x"), ("test", "d,y")):
        (tmp_path / f"{split}.csv").write_text(f"sentence,class\n{text}\n")
    data = read_labelled(tmp_path)
    assert sorted(zip(data.splits, data.texts, strict=True)) == [
        ("dev", "c"),
        ("test", "d"),
        ("train", "a"),
        ("train", "b"),
    ]


def test_pairs_have_a_second_text(tmp_path):
    (tmp_path / "pairs.tsv").write_text("text\ttext2\tlabel\na\tb\t1\nc\td\t0\n")
    data = read_labelled(tmp_path / "pairs.tsv")
    assert (data.texts, data.seconds, data.labels) == (("a", "c"), ("b", "d"), ("1", "0"))


def test_latin_1_crlf_and_a_byte_order_mark_are_read_and_told(tmp_path):
    (tmp_path / "latin.csv").write_bytes("text,label\r\ncafé,x\r\nthé,y\r\n".encode("latin-1"))
    (tmp_path / "marked.csv").write_bytes(b"\xef\xbb\xbf" + "text,label\ncafé,x\nthé,y\n".encode())
    latin, marked = read_labelled(tmp_path / "latin.csv"), read_labelled(tmp_path / "marked.csv")
    assert latin.texts == marked.texts == ("café", "thé")
    assert latin.remarks == ("latin.csv is not UTF-8 and was read as latin-1", "3 lines of latin.csv ended in CRLF")
    assert marked.remarks == ("the byte order mark of marked.csv was left out",)
    assert latin.checksum == marked.checksum


def test_a_control_character_of_latin_1_does_not_break_a_line_in_two(tmp_path):
    (tmp_path / "custrev.pos").write_bytes(b"one \x85 line\n")
    (tmp_path / "custrev.neg").write_bytes(b"another\n\n")
    data = LABELLED_SETS["cr"].read_at(tmp_path)
    assert data.labels == ("positive", "negative")
    assert "1 blank line of custrev.neg left out" in data.remarks


def test_the_checksum_changes_with_texts_labels_and_splits():
    same = {"name": "x", "texts": ("a", "b", "c"), "labels": ("0", "1", "0"), "splits": ("train", "train", "test")}
    variants = [
        LabelledTexts(**same),
        LabelledTexts(**same | {"texts": ("a", "b", "d")}),
        LabelledTexts(**same | {"labels": ("0", "1", "1")}),
        LabelledTexts(**same | {"splits": None}),
        LabelledTexts(**same | {"seconds": ("a", "b", "c")}),
    ]
    assert len({data.checksum for data in variants}) == len(variants)
    assert LabelledTexts(**same | {"name": "y"}).checksum == variants[0].checksum


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("text,label\na,x\nb,x\n", r"bad\.csv: all 2 rows to learn from have the label 'x'; a classifier needs"),
        ("text,label\n", "there are no labelled texts"),
        ("text,label\na,x\nb,\n", r"bad\.csv:3: the label '' is none"),
        ("text,label\na,x\nb,y,z\n", r"bad\.csv:3: the row has 3 columns, the first one has 2"),
        ("words,label\na,x\n", r"bad\.csv:2: there is no text \(columns: 'words', 'label'\); call it one of text"),
        ("text,mood\na,x\n", r"bad\.csv:2: there is no label"),
        ("text,label,split\na,x,train\nb,y,holdout\n", r"bad\.csv:3: there is no split 'holdout'"),
        ("text,label,split\na,x,train\nb,y,train\n", r"bad\.csv: no row belongs to the split test"),
        ("text,label,split\na,x,train\nb,y,test\n", r"all 1 rows to learn from have the label 'x'"),
        ("text,text,label\na,x,y\n", r"bad\.csv:1: two columns are called 'text'"),
        ('text,label\n"a,x\n', r"bad\.csv:2: the row is not valid CSV"),
        ("", "the file is empty"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(content, message, tmp_path):
    (tmp_path / "bad.csv").write_text(content)
    with pytest.raises(InputError, match=message):
        read_labelled(tmp_path / "bad.csv")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "b"', "bad.jsonl:2"),
        ('["b", "y"]', "bad.jsonl:2: .* is not a record"),
        ('{"text": 3, "label": "y"}', "bad.jsonl:2: the text 3 is not a string"),
        ('{"text": "b", "label": 0.5}', "bad.jsonl:2: the label 0.5 is none"),
        ('{"text": "b", "label": null}', "bad.jsonl:2: the label None is none"),
        ('{"text": "b", "label": "y", "split": "test"}', "bad.jsonl:2: some rows have a split and others none"),
        ('{"text": "b", "text2": "c", "label": "y"}', "bad.jsonl:2: the row has a second text, others have none"),
    ],
)
def test_a_bad_record_is_refused_with_its_line(line, message, tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"text": "a", "label": "x"}\n' + line + "\n")
    with pytest.raises(InputError, match=message):
        read_labelled(tmp_path / "bad.jsonl")


def test_a_pair_without_its_second_text_is_refused(tmp_path):
    (tmp_path / "bad.jsonl").write_text('{"text": "a", "text2": "b", "label": "x"}\n{"text": "a", "label": "y"}\n')
    with pytest.raises(InputError, match=r"bad\.jsonl:2: the row has no second text"):
        read_labelled(tmp_path / "bad.jsonl")


@pytest.mark.parametrize(
    ("name", "files", "message"),
    [
        ("trec", {"train_5500.label": "DESC How?\n", "TREC_10.label": "X:y z\n"}, "train_5500.label:1: the line"),
        ("sst2", {f"sentiment-{split}": "fine 1\n" for split in ("train", "dev", "test")}, "sentiment-train:1"),
        ("sst5", {f"sentiment-{split}": "7 fine\n" for split in ("train", "dev", "test")}, "sentiment-train:1"),
        ("mrpc", {"msr_paraphrase_train.txt": "head\n1\t2\t3\t4\n"}, "train.txt:2: the row has 4 columns instead of 5"),
        ("scicite", {"train.txt": '{"text": "a"}\n'}, "train.txt:1: the record has no label"),
        ("mr", {"rt-polarity.pos": "good\n"}, "rt-polarity.neg: there is no such file"),
    ],
)
def test_files_that_are_not_the_named_set_are_refused_with_their_place(name, files, message, tmp_path):
    for file, content in files.items():
        (tmp_path / file).write_text(content)
    with pytest.raises(InputError, match=message):
        LABELLED_SETS[name].read_at(tmp_path)


@pytest.mark.parametrize(
    ("name", "folder", "size", "classes", "splits"),
    [
        ("mr", "MR", 10662, 2, None),
        ("cr", "CR", 3771, 2, None),
        ("mpqa", "MPQA", 10603, 2, None),
        ("subj", "SUBJ", 10000, 2, None),
        ("sst2", "SST", 70042, 2, (67349, 872, 1821)),
        ("sst5", "SST/fine", 11855, 5, (8544, 1101, 2210)),
        ("trec", "TREC", 5952, 6, (5452, 0, 500)),
        ("mrpc", "MRPC", 5801, 2, (4076, 0, 1725)),
        ("sick-e", "SICK", 9927, 3, (4500, 500, 4927)),
        ("scicite", "SCICITE", 10097, 3, (7320, 916, 1861)),
    ],
)
def test_the_known_sets_are_read_whole(name, folder, size, classes, splits, shared_data):
    data = LABELLED_SETS[name].read_at(shared_data / "evalrank" / "sent_classification" / folder)
    assert (len(data), len(data.classes)) == (size, classes)
    assert (data.seconds is not None) == (name in ("mrpc", "sick-e"))
    if splits is None:
        assert data.splits is None
    else:
        counts = Counter(data.splits)
        assert tuple(counts[split] for split in ("train", "dev", "test")) == splits


def test_every_known_set_is_tested():
    assert set(LABELLED_SETS) == {"mr", "cr", "mpqa", "subj", "sst2", "sst5", "trec", "mrpc", "sick-e", "scicite"}
