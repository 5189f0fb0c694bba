"""Wikipedia articles with gold: titles match in every spelling, sections are kept, and errors name their row."""

import collections
import csv
import html
import io
import json
import os
import pickle
import unicodedata

import pytest

from goldrank.data.collections import READERS, read_collection, wiki
from goldrank.errors import InputError

ARTICLES = [
    ("Château d'Yquem", [["", "A sweet wine, made of Sémillon."], ["History.", 'It "began" in 1593,\nor so.']]),
    ("Ratchet &amp; Clank", [["", "A platform game."]]),
    ("Riesling", [["", "A white grape."], ["", ""]]),
    ("Empty", []),
]
GOLD = {
    "Château d'Yquem": {"Riesling": 1, "Château d'Yquem": 1},
    "Ratchet & Clank": {"Riesling": 2, "No such article": 1},
}


def table(articles):
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["Title", "Sections"])
    writer.writerows((title, repr(sections)) for title, sections in articles)
    return out.getvalue()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "wines.txt").write_text(table(ARTICLES), newline="")
    (tmp_path / "wines_gold.json").write_text(json.dumps(GOLD))
    return tmp_path


def rows(collection):
    gold = collection.gold
    return {
        query: dict(zip(gold.items[start:end], gold.values[start:end].tolist(), strict=True))
        for query, start, end in zip(gold.queries, gold.starts[:-1].tolist(), gold.starts[1:].tolist(), strict=True)
    }


def test_articles_are_items_and_queries_and_gold_bears_their_spelling(folder):
    for path in (folder, folder / "wines.txt", str(folder / "wines.txt")):
        collection = read_collection(path)
        assert (collection.format, collection.name, collection.split) == ("wiki", "wines", "test")
        assert collection.related
        assert collection.items.ids == ["Château d'Yquem", "Ratchet & Clank", "Riesling", "Empty"]
        assert rows(collection) == GOLD
    first = next(iter(collection.items))
    assert first.sections == tuple(map(tuple, ARTICLES[0][1]))
    assert first.title == "Château d'Yquem"


def test_what_was_mended_or_is_missing_is_counted(folder):
    remarks = wiki.read(folder).remarks
    assert remarks == [
        "1 title written with HTML entities: the ids are without them.",
        "1 gold pair whose similar article is not among the articles: kept, as gold outside the corpus.",
        "1 source listed as similar to itself: kept, and treated as the profile says.",
        "joined by the very same spelling of titles, as transformer_document_embedding does, 1 of 2 sources and 2 of 4 "
        "pairs would be left.",
    ]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_gold_is_read_from_the_pickle_of_the_original_as_from_json(folder, protocol):
    from_json = wiki.read(folder)
    (folder / "wines_gold.json").unlink()
    gold = collections.defaultdict(dict)
    gold.update(GOLD)
    (folder / "gold_wines.pkl").write_bytes(pickle.dumps(gold, protocol))
    assert wiki.read(folder).checksum == from_json.checksum


GOLD_NAMES = [
    f"{name}{suffix}"
    for name in ("wines_gold", "gold", "wines_gt", "gt", "wines_ground_truth", "wines/gt")
    for suffix in (".json", ".pkl", ".pickle", "")
]


@pytest.mark.parametrize("name", GOLD_NAMES)
def test_every_name_of_gold_that_the_message_lists_is_read(folder, name):
    expected = wiki.read(folder).checksum
    (folder / "wines_gold.json").unlink()
    with pytest.raises(InputError, match="there is no gold beside the articles"):
        wiki.read(folder)
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(json.dumps(GOLD).encode() if name.endswith(".json") else pickle.dumps(GOLD))
    assert wiki.read(folder / "wines.txt").checksum == expected


@pytest.mark.parametrize("dataset", ["wines", "video_games"])
def test_a_folder_of_the_sdr_repository_is_read_as_it_is(folder, dataset):
    # data/datasets/NAME/{raw_data,gt}; the gold is a pickle of defaultdict(dict).
    expected = wiki.read(folder)
    place = folder / "data" / "datasets" / dataset
    place.mkdir(parents=True)
    gold = collections.defaultdict(dict)
    gold.update(GOLD)
    (place / "gt").write_bytes(pickle.dumps(gold))
    with pytest.raises(InputError) as error:
        read_collection(place)
    assert str(error.value) == (
        f"{place}: this is gold without its articles; put the table of Title,Sections beside it, as "
        f"{place / 'raw_data'} (Zenodo records 4812960 for wines, 4812962 for video games), "
        "or only check the gold: goldrank data check"
    )
    (place / "raw_data").write_bytes((folder / "wines.txt").read_bytes())
    for path in (place, place / "raw_data"):
        collection = read_collection(path)
        assert (collection.name, collection.format, collection.checksum) == (dataset, "wiki", expected.checksum)


def test_gold_whose_utf_8_was_read_as_windows_1252_finds_its_article(folder):
    gold = {"Riesling": {"Ch\u00c3\u00a2teau d'Yquem": 1}}
    (folder / "wines_gold.json").write_text(json.dumps(gold))
    collection = wiki.read(folder)
    assert rows(collection) == {"Riesling": {"Château d'Yquem": 1}}
    assert (
        "1 gold title spelt otherwise than the article (entities, encoding, Unicode form or case): matched."
        in collection.remarks
    )


class Touch:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.system, (f"touch {self.marker}",)


def test_gold_that_tries_to_execute_code_is_refused_and_executes_nothing(folder):
    (folder / "wines_gold.json").unlink()
    marker = folder / "marker"
    (folder / "wines_gold.pickle").write_bytes(pickle.dumps({"Riesling": Touch(marker)}))
    with pytest.raises(InputError, match=r"wines_gold\.pickle: the pickle asks for .*system"):
        wiki.read(folder)
    assert not marker.exists()


@pytest.mark.parametrize(("name", "pairs"), [("games", 800), ("wines", 840)])
@pytest.mark.parametrize("spell", ["escaped", "decomposed", "as it is"])
def test_no_pair_of_the_real_gold_is_lost_to_spelling(shared_data, tmp_path, name, pairs, spell):
    gold = json.loads((shared_data / "wikipedia_similarities" / f"{name}_gold.json").read_text())
    titles = dict.fromkeys(title for source, similar in gold.items() for title in (source, *similar))
    spelt = {
        "escaped": lambda title: html.escape(title, quote=False),
        "decomposed": lambda title: unicodedata.normalize("NFD", title),
        "as it is": str,
    }[spell]
    articles = [(spelt(html.unescape(title)), [["", "text"]]) for title in titles]
    if name == "games" and spell == "escaped":
        assert any("&amp;" in title for title, _ in articles)
    (tmp_path / "articles.csv").write_text(table(articles), newline="")
    (tmp_path / "gold.json").write_text(json.dumps(gold))
    collection = wiki.read(tmp_path)
    ids = set(collection.items.ids)
    gold_pairs = [(query, item) for query, items in rows(collection).items() for item in items]
    assert len(gold_pairs) == pairs
    assert all(query in ids and item in ids for query, item in gold_pairs)


def test_the_gold_named_for_the_articles_is_taken(folder):
    (folder / "video_games.txt").write_text(table([("Riesling", [])]), newline="")
    (folder / "games_gold.json").write_text('{"Riesling": {"Doom": 3}}')
    assert wiki.read(folder / "video_games.txt").gold.items == ["Doom"]
    assert len(wiki.read(folder / "wines.txt").gold.items) == 4
    with pytest.raises(InputError, match=r"one table of Title,Sections .*'video_games.txt', 'wines.txt'"):
        wiki.read(folder)


def test_two_spellings_of_one_title_are_one_and_the_first_article_of_a_title_stays(tmp_path):
    articles = [("A &amp; B", [["", "first"]]), ("A & B", [["", "second"]]), ("C", [])]
    (tmp_path / "a.csv").write_text(table(articles), newline="")
    (tmp_path / "gold.json").write_text('{"C": {"A & B": 1, "A &amp; B": 2}, "c": {"X": 1}}')
    collection = wiki.read(tmp_path)
    assert [document.text for document in collection.items] == ["first", ""]
    assert rows(collection) == {"C": {"A & B": 2.0, "X": 1.0}}
    remarks = " ".join(collection.remarks)
    assert "1 article under a title that was there already" in remarks
    assert "1 pair listed twice in two spellings" in remarks


def test_a_cell_larger_than_the_limit_of_the_csv_module_is_read(folder):
    long = "grapes \\d " * 40_000
    (folder / "wines.txt").write_text(table([("Riesling", [["", long]])]), newline="")
    assert next(iter(wiki.read(folder).items)).text == long


BAD = {
    "call": ("A,\"__import__('os').system('true')\"\n", r"wines.txt:2: the sections are not a Python list"),
    "cut": ('A,"[["""", ""x""]]"\nB,"[["""", ""lead"\n', r"wines.txt:3: the sections are not a Python list"),
    "open quote": ('A,"[]\n', r"wines.txt:2: .*not valid CSV"),
    "deep": ("A," + "[" * 100_000 + "\n", "not a Python list"),
    "no list": ("A,7\n", "the sections are 7, not a list"),
    "triple": ("A,\"[['a','b','c']]\"\n", "section 1 is .* not a heading and a text"),
    "number": ("A,\"[['a', 1]]\"\n", "not a heading and a text"),
    "no title": (' ,"[]"\n', "the article has no title"),
    "one column": ("A\n", "the row has 1 column"),
    "nothing": ("", "the file holds no articles"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_fault_in_the_articles_is_told_with_its_row(folder, case):
    rest, message = BAD[case]
    (folder / "wines.txt").write_text("Title,Sections\n" + rest)
    with pytest.raises(InputError, match=message):
        wiki.read(folder)


BAD_GOLD = {
    "list": ("[1]", r"the gold is \[1\]"),
    "empty": ("{}", "the gold is {}"),
    "weight": ('{"Riesling": {"Empty": "much"}}', "the grade 'much' is of type str"),
    "nan": ('{"Riesling": {"Empty": NaN}}', "NaN is not a finite number"),
    "cut": ('{"Riesling": {"Em', "not valid JSON"),
}


@pytest.mark.parametrize("case", BAD_GOLD)
def test_a_fault_in_the_gold_is_told_with_its_file(folder, case):
    content, message = BAD_GOLD[case]
    (folder / "wines_gold.json").write_text(content)
    with pytest.raises(InputError, match=rf"wines_gold\.json.*{message}"):
        wiki.read(folder)


def test_missing_or_doubtful_gold_is_said(folder):
    (folder / "wines_gold.json").rename(folder / "a_gold.json")
    (folder / "b_gold.json").write_text("{}")
    with pytest.raises(InputError, match=r"several files could be the gold: 'a_gold.json', 'b_gold.json'"):
        wiki.read(folder)
    (folder / "a_gold.json").unlink()
    (folder / "b_gold.json").unlink()
    with pytest.raises(InputError) as error:
        wiki.read(folder)
    assert str(error.value) == (
        f"{folder / 'wines.txt'}: there is no gold beside the articles; put wines_gold, gold, wines_gt, gt, "
        'wines_ground_truth or wines/gt there, each as .json ({"article": {"similar article": 1}}), as a pickle (.pkl, '
        ".pickle) or, as SDR has it, without a suffix"
    )


def test_other_tables_are_not_taken_for_articles(tmp_path):
    (tmp_path / "pairs.csv").write_text("query,item,grade\n")
    assert not READERS["wiki"].matches(tmp_path)
    assert not READERS["wiki"].matches(tmp_path / "pairs.csv")
    (tmp_path / "wines.csv").write_text('\ufeff"Title","Sections"\n')
    assert READERS["wiki"].matches(tmp_path)
    (tmp_path / "gold.json").write_text('{"A": {"B": 1}}')
    (tmp_path / "wines.csv").write_text("Title,Sections\nA,[]\n")
    with pytest.raises(InputError, match="there is no split 'train'"):
        wiki.read(tmp_path, "train")
