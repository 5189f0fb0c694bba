"""Test that EvalRank data built from scored pairs equals the published data byte for byte."""

import json

import pytest

from goldrank.cli.main import main
from goldrank.data.collections import read_collection
from goldrank.data.conversion import convert
from goldrank.data.similarity_sets import read_pair_sources
from goldrank.errors import InputError
from goldrank.runs.evaluate import evaluate
from goldrank.tasks.evalrank import from_pairs

# The layouts of the published files: tabs without quoting, both sentences in one quoted cell, a header, blanks.
STS_B = (
    'news\theadlines\t2013\t7\t5.000\tHe said "go".\tHe said: "go"!\n'
    "news\theadlines\t2013\t8\t4.000\tRain falls.\tIt rains.\tan extra column\tand another\n"
    'forum\tdeft\t2014\t9\t1.000\t"Quiet\tA loud dog.\n'
    "forum\tdeft\t2014\t10\t0.000\tStars.\tGrapes, plums.\n"
)
STR = (
    "Index,SourceID,SubsetID,PairID,Text,Score\n"
    '0,STS,STS,STS_1,"A ""red"" wine, dry.\nA dry red wine.",1.0\n'
    '1,STS,STS,STS_2,"It rains.\nRain falls.",0.9\n'
    '2,STS,STS,STS_3,"One.\nTwo.",0.2\n'
    '3,STS,STS,STS_4,"Three.\nFour.",0.1\n'
)
# The layout of the complete SICK file, whose column order differs from that of its splits.
WHOLE_SICK = (
    "pair_ID\tsentence_A\tsentence_B\tentailment_label\trelatedness_score\tentailment_AB\n"
    "1\tOne man\tA man\tNEUTRAL\t4.5\tA_neutral_B\n2\tOne dog\tA man\tNEUTRAL\t1.5\tA_neutral_B\n"
)
SICK = (
    "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    '4\tA "dog" runs\tA dog is running\t4.9\tENTAILMENT\n'
    "6\tNobody sings\tA man sings\t3.1\tCONTRADICTION\n"
)
MEN = "sun Sunlight 50.0\ntiger tiger 49.0\nriver water 48.0\nzoo pen 2.0\n"


def write(folder, **files):
    paths = []
    for name, content in files.items():
        stem, _, suffix = name.rpartition("_")
        path = folder / f"{stem}.{suffix}"
        path.write_text(content)
        paths.append(path)
    return paths


def texts_of(collection):
    text = {document.id: document.text for document in collection.items}
    gold = collection.gold
    rows = [
        query for query, size in zip(gold.queries, gold.starts[1:] - gold.starts[:-1], strict=True) for _ in range(size)
    ]
    return [(text[rows[at]], text[gold.items[at]]) for at in collection.gold_order]


def table(tmp_path, lines):
    file = tmp_path / "pairs.tsv"
    file.write_text("sentence1\tsentence2\tscore\n" + "".join(f"{line}\n" for line in lines))
    return file


def test_the_layouts_of_the_paper_are_known_by_their_content_and_each_gives_its_share(tmp_path):
    collection = from_pairs(write(tmp_path, sts_csv=STS_B, str_csv=STR, sick_txt=SICK), top=0.5)
    assert texts_of(collection) == [
        ('He said "go".', 'He said: "go"!'),
        ('He said: "go"!', 'He said "go".'),
        ("Rain falls.", "It rains."),
        ("It rains.", "Rain falls."),
        ('A "red" wine, dry.', "A dry red wine."),
        ("A dry red wine.", 'A "red" wine, dry.'),
        ('A "dog" runs', "A dog is running"),
        ("A dog is running", 'A "dog" runs'),
    ]
    assert collection.name == "sts+str+sick"
    assert [document.text for document in collection.items][8:] == [
        '"Quiet', "A loud dog.", "Stars.", "Grapes, plums.", "One.", "Two.", "Three.", "Four.", "Nobody sings",
        "A man sings",
    ]  # fmt: skip
    assert collection.readings == (
        "sts: text1 = column 6, text2 = column 7, score = column 5; ignored: columns 1 to 4 and any after 7",
        "str: both texts = Text, score = Score, id = PairID; ignored: Index, SourceID, SubsetID",
        "sick: text1 = sentence_A, text2 = sentence_B, score = relatedness_score, id = pair_ID; "
        "ignored: entailment_judgment",
    )
    assert collection.remarks == [
        "sts: 2 pairs of 4, scored 4 or more, taken as positives",
        "str: 2 pairs of 4, scored 0.9 or more, taken as positives",
        "sick: 1 pair of 2, scored 4.9 or more, taken as positives",
        "1 positive pair given again, in either direction, counted once",
    ]


def test_the_whole_of_sick_is_read_by_its_header(tmp_path):
    (source,) = read_pair_sources(write(tmp_path, SICK_txt=WHOLE_SICK))
    assert source.scores.tolist() == [4.5, 1.5]
    assert source.columns == (
        "text1 = sentence_A, text2 = sentence_B, score = relatedness_score, id = pair_ID; "
        "ignored: entailment_label, entailment_AB"
    )


def test_words_are_lower_cased_and_pairs_of_a_word_with_itself_dropped_unless_asked_otherwise(tmp_path):
    (file,) = write(tmp_path, men_txt=MEN)
    collection = from_pairs(file, top=0.75)
    assert texts_of(collection) == [("sun", "sunlight"), ("sunlight", "sun"), ("river", "water"), ("water", "river")]
    assert collection.readings == ("men: text1 = column 1, text2 = column 2, score = column 3",)
    assert collection.remarks == [
        "men: 3 pairs of 4, scored 48 or more, taken as positives",
        "1 text lower-cased",
        "1 positive pair of a text with itself left out",
    ]
    unchanged = from_pairs(file, top=0.75, reverse=False, self_pairs="keep", case="keep")
    assert texts_of(unchanged) == [("sun", "Sunlight"), ("tiger", "tiger"), ("river", "water")]
    more = write(tmp_path, more_txt="the\nZoo\nof\n")
    collection = from_pairs(file, background=more)
    assert list(collection.items.ids) == ["sun", "sunlight", "tiger", "river", "water", "zoo", "pen", "the", "of"]


def test_sentences_keep_their_case_and_pairs_of_a_sentence_with_itself_unless_asked_otherwise(tmp_path):
    file = table(tmp_path, ["X y\tX y\t5", "a b\tc d\t4", "e f\tg h\t1", "i j\tk l\t0"])
    collection = from_pairs(file, top=0.5)
    assert texts_of(collection) == [("X y", "X y"), ("a b", "c d"), ("c d", "a b")]
    assert "1 pair of a text with itself, which ranks first by cosine" in collection.remarks
    dropped = from_pairs(file, top=0.5, self_pairs="drop", case="lower")
    assert texts_of(dropped) == [("a b", "c d"), ("c d", "a b")]
    assert dropped.remarks[-2:] == ["1 text lower-cased", "1 positive pair of a text with itself left out"]


def test_the_best_scored_pairs_are_positives_and_all_texts_the_background(tmp_path):
    file = table(tmp_path, ["a b\tc d\t5", "e f\tg h\t4", "i j\tk l\t1", "a b\tm n\t0"])
    collection = from_pairs(file, top=0.5, reverse=False)
    assert texts_of(collection) == [("a b", "c d"), ("e f", "g h")]
    assert len(collection.items) == 7
    assert evaluate("tfidf(tokens=runs)", collection).scores["hits@1"].mean >= 0


def test_ties_at_the_border_empty_texts_and_pairs_given_again_are_told(tmp_path):
    lines = ["a b\tc d\t5", "c d\ta b\t5", "a b\tc d\t4", "e f\tg h\t4", "i j\t \t5", "k l\tm n\t4"]
    collection = from_pairs(table(tmp_path, lines), top=0.6)
    assert texts_of(collection) == [("a b", "c d"), ("c d", "a b")]
    assert collection.readings == ("pairs: text1 = sentence1, text2 = sentence2, score = score",)
    assert collection.remarks == [
        "1 text is empty",
        "pairs: 1 pair with an empty text left out",
        "pairs: 3 pairs of 5, scored 4 or more, taken as positives; "
        "2 pairs scored 4 too, later in the source, not taken",
        "2 positive pairs given again, in either direction, counted once",
    ]
    one_way = from_pairs(table(tmp_path, lines), top=0.6, reverse=False)
    assert texts_of(one_way) == [("a b", "c d"), ("c d", "a b")]
    assert one_way.remarks[-1] == "1 positive pair given again counted once"


def test_a_share_is_rounded_down_but_not_by_the_error_of_floating_point(tmp_path):
    file = table(tmp_path, [f"a {number}\tb {number}\t{number}" for number in range(100)])
    assert len(from_pairs(file, top=0.29, reverse=False).gold.items) == 29
    assert len(from_pairs(file, top=0.299, reverse=False).gold.items) == 29


def test_shares_and_scores_that_make_no_sense_are_refused_with_file_and_line(tmp_path):
    file = table(tmp_path, ["a b\tc d\t5", "e f\tg h\t4"])
    for top, message in ((0, "the top share is 0"), (1.5, "the top share is 1.5"), (0.1, "is none")):
        with pytest.raises(InputError, match=message):
            from_pairs(file, top=top)
    for score in ("x", "nan", "NaN", "inf", ""):
        with pytest.raises(InputError, match=r"pairs.tsv:3: the score .*(not a number|not a finite number)"):
            from_pairs(table(tmp_path, ["a b\tc d\t5", f"e f\tg h\t{score}"]))
    with pytest.raises(InputError, match=r"pairs.tsv: this file is given twice"):
        from_pairs([table(tmp_path, ["a b\tc d\t5", "e f\tg h\t4"]), tmp_path / "." / "pairs.tsv"])
    (sts,) = write(tmp_path, sts_csv=STS_B + "news\theadlines\t2013\t11\tnan\tOne.\tTwo.\n")
    with pytest.raises(InputError, match=r"sts.csv:5: the score 'nan'"):
        from_pairs(sts)
    (short,) = write(tmp_path, short_csv=STS_B + "news\theadlines\t2013\t11\t2.0\tOne.\n")
    with pytest.raises(InputError, match=r"short.csv:5: the line has 6 columns where 7 are needed"):
        from_pairs(short)
    (names,) = write(tmp_path, names_csv="left,right,score\na b,c d,1\n")
    with pytest.raises(InputError, match=r"names.csv:1: there are no two texts \(columns: 'left', 'right', 'score'\)"):
        from_pairs(names)
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="the folder holds no file of pairs"):
        from_pairs(tmp_path / "none")


def test_splits_in_one_folder_are_one_source_and_other_files_are_not(tmp_path):
    for split, top in (("train", 5), ("dev", 3), ("test", 4)):
        rows = [f"g\tf\ty\t{n}\t{top - n}\t{split} {n}\tother {n}\n" for n in range(2)]
        (tmp_path / f"sts-{split}.csv").write_text("".join(rows))
    (tmp_path / "LICENSE.txt").write_text("not pairs\n")
    (folder,) = read_pair_sources([tmp_path])
    assert folder.name == tmp_path.name
    assert folder.first == ("train 0", "train 1", "dev 0", "dev 1", "test 0", "test 1")
    (files,) = read_pair_sources([tmp_path / f"sts-{split}.csv" for split in ("train", "dev", "test")])
    assert files.checksum == folder.checksum
    (single_file,) = read_pair_sources([tmp_path / "sts-dev.csv"])
    assert (single_file.name, len(single_file)) == ("sts-dev", 2)
    words = tmp_path / "words"
    words.mkdir()
    write(words, a_txt=MEN, b_txt="sun\tmoon\t3\nzoo\tpen\t1\n")
    assert [(source.name, source.level) for source in read_pair_sources([words])] == [("a", "word"), ("b", "word")]


def test_tables_of_sentences_that_start_like_words_are_sentences(tmp_path):
    (file,) = write(tmp_path, bare_txt="Hello.\tHi.\t4.5\nGood morning.\tHi.\t4\nGo away.\tHi.\t1\nHi.\tBye.\t0\n")
    collection = from_pairs(file)
    assert texts_of(collection) == [("Hello.", "Hi."), ("Hi.", "Hello.")]
    (records,) = write(tmp_path, pairs_jsonl="".join(
        json.dumps({"text1": f"a {n}", "text2": f"b {n}", "similarity": n, "by": "me"}) + "\n" for n in range(4)
    ))  # fmt: skip
    assert from_pairs(records).readings == ("pairs: text1 = text1, text2 = text2, score = similarity; ignored: by",)


def read_as_the_reference_does(pairs, background):
    """Return the pairs and the background, read line by line in text mode like the reference code."""
    text_pairs = [line.strip().split("\t") for line in pairs.open(encoding="utf-8")]
    assert all(len(pair) == 2 for pair in text_pairs)
    texts = dict.fromkeys(text for pair in text_pairs for text in pair)
    texts |= dict.fromkeys(line.strip() for line in background.open(encoding="utf-8"))
    return text_pairs, list(texts)


@pytest.mark.slow
@pytest.mark.parametrize("as_files", [False, True], ids=["folder", "files"])
def test_the_released_sentence_data_is_made_of_the_sts_benchmark_and_str_byte_for_byte(
    shared_data, tmp_path, capsys, as_files
):
    data = shared_data / "evalrank"
    benchmark = data / "sent_similarity" / "STS" / "STSBenchmark"
    splits = [benchmark / f"sts-{split}.csv" for split in ("train", "dev", "test")]
    ranked = data / "sent_similarity" / "STR" / "sem_text_rel_ranked.csv"
    sources = [*splits, ranked] if as_files else [benchmark, ranked]
    target = tmp_path / "made"
    assert main(["data", "convert", "--from-pairs", *map(str, sources), "--to", "evalrank", str(target)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{target}: 24957 items, which are also the queries, 6989 judged pairs of the split test, as evalrank.",
        "Data: STSBenchmark: text1 = column 6, text2 = column 7, score = column 5; "
        "ignored: columns 1 to 4 and any after 7.",
        "Data: sem_text_rel_ranked: both texts = Text, score = Score, id = PairID; ignored: Index, SourceID, SubsetID.",
        "Data: STSBenchmark: 2157 pairs of 8628, scored 3.8 or more, taken as positives; "
        "248 pairs scored 3.8 too, later in the source, not taken.",
        "Data: sem_text_rel_ranked: 1375 pairs of 5500, scored 0.656 or more, taken as positives; "
        "170 pairs scored 0.656 too, later in the source, not taken.",
        "Data: 31 positive pairs given again, in either direction, counted once.",
        "Data: 13 pairs of a text with itself, which ranks first by cosine.",
        "Verified: the written collection reads back without a difference.",
    ]
    released = data / "sent_evalrank"
    assert sorted(path.name for path in target.iterdir()) == ["background_sent.txt", "pos_pair.txt"]
    for name in ("background_sent.txt", "pos_pair.txt"):
        assert (target / name).read_bytes() == (released / name).read_bytes()
    assert from_pairs(sources).checksum == read_collection(released).checksum
    pairs, texts = read_as_the_reference_does(target / "pos_pair.txt", target / "background_sent.txt")
    assert (len(pairs), len(texts)) == (6989, 24957)


def test_most_released_positives_of_the_sts_benchmark_come_from_its_training_split(shared_data):
    data = shared_data / "evalrank"
    benchmark = data / "sent_similarity" / "STS" / "STSBenchmark"
    (train,) = read_pair_sources([benchmark / "sts-train.csv"])
    positives = texts_of(from_pairs(benchmark, reverse=False))
    assert (len(positives), len({*positives} & {*zip(train.first, train.second, strict=True)})) == (2134, 1540)


def test_the_released_word_data_is_made_of_the_thirteen_similarity_sets(shared_data, tmp_path):
    data = shared_data / "evalrank"
    order = (
        "WS-353-ALL WS-353-SIM WS-353-REL MC-30 RG-65 RW-STANFORD MEN-TR-3k MTurk-287 MTurk-771 YP-130 SIMLEX-999 "
        "VERB-143 SimVerb-3500"
    )
    sets = [data / "word_similarity" / f"EN-{name}.txt" for name in order.split()]
    released = data / "word_evalrank"
    assert convert(from_pairs(sets), tmp_path / "made", "evalrank") == []
    assert (tmp_path / "made" / "basic_vocab.txt").read_bytes() == (released / "basic_vocab.txt").read_bytes()
    lines = (tmp_path / "made" / "pos_pair_5514.txt").read_bytes().splitlines(keepends=True)
    assert b"".join(sorted(lines)) == (released / "pos_pair_5514.txt").read_bytes()
    whole = from_pairs(data / "word_similarity", background=[released / "wiki_vocab.txt"])
    reference = read_collection(released)
    assert (len(whole.items), len(whole.gold.items)) == (22207, 5514)
    assert {*whole.items.ids} == {*reference.items.ids}
    assert {*texts_of(whole)} == {*texts_of(reference)}


def test_sick_gives_its_own_quarter(shared_data):
    collection = from_pairs(shared_data / "evalrank" / "sent_similarity" / "SICK")
    assert (len(collection.items), len(collection.gold.items)) == (6077, 4848)
    assert (
        "SICK: 2481 pairs of 9927, scored 4.3 or more, taken as positives; "
        "212 pairs scored 4.3 too, later in the source, not taken"
    ) in collection.remarks


def test_converted_data_is_read_back_and_other_layouts_are_refused_or_told(tmp_path, capsys):
    paths = [str(path) for path in write(tmp_path, sts_csv=STS_B, str_csv=STR)]
    target = tmp_path / "made"
    collection = from_pairs(paths, top=0.5)
    assert convert(collection, target, "evalrank") == []
    assert read_collection(target).checksum == collection.checksum
    assert main(["data", "check", str(target), "--strict"]) == 0
    assert convert(read_collection(target), tmp_path / "again", "evalrank") == []
    for name in ("pos_pair.txt", "background_sent.txt"):
        assert (tmp_path / "again" / name).read_bytes() == (target / name).read_bytes()
    assert convert(collection, target, "evalrank", overwrite=True) == []
    (records,) = write(
        tmp_path, odd_jsonl='{"a": "x\\ty", "b": "u\\nv", "score": 2}\n{"a": "k l", "b": "m n", "score": 1}\n'
    )
    assert convert(from_pairs(records, top=0.5), tmp_path / "odd", "evalrank") == [
        "2 texts with tabs or line breaks, which became blanks.",
        "The written collection reads back with differences: ids, titles, sections or white space of the items differ.",
    ]
    assert (tmp_path / "odd" / "pos_pair.txt").read_text() == "x y\tu v\nu v\tx y\n"
    capsys.readouterr()
    for arguments, message in (
        (["questions", str(tmp_path / "q"), "--to", "evalrank"], "which EvalRank's files cannot hold"),
        (["a", "b", "--from-pairs", *paths, "--to", "evalrank"], "the path a has no effect with --from-pairs"),
        (["wines", "--to", "evalrank"], "OUT is missing; give PATH and OUT, or OUT before --from-pairs FILE…"),
        (["--to", "evalrank", "--from-pairs", *paths, "out"], "OUT is missing"),
        (["wines", "x", "--to", "evalrank", "--top", "0.5"], "--top has no effect without --from-pairs"),
        (["x", "--split", "dev", "--to", "evalrank", "--from-pairs", *paths], "--split has no effect with"),
    ):  # fmt: skip
        assert main(["data", "convert", *arguments]) == 2
        assert message in capsys.readouterr().err
