"""Gold without texts is recognised as a collection in every format, and never confused with texts."""

import pytest

from goldrank.data.checks import check
from goldrank.data.collections import read_collection
from goldrank.data.conversion import convert
from goldrank.errors import InputError
from goldrank.hits import Gold

GOLD = Gold({"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2}})


@pytest.mark.parametrize(
    "name", ["qrels.txt", "qrels.trec.gz", "gold.tsv", "gold.csv", "gold.json", "gold.jsonl", "gold.parquet"]
)
def test_every_format_of_gold_is_a_collection_without_texts(name, tmp_path):
    GOLD.write(tmp_path / name, format="trec" if name.endswith(("txt", "gz")) else None)
    collection = read_collection(tmp_path / name)
    assert (collection.format, collection.has_texts, len(collection.items)) == ("gold", False, 0)
    assert Gold.from_columns(collection.gold) == GOLD
    assert collection.queries.ids == ["q1", "q2"]
    assert collection.name == name.partition(".")[0]


@pytest.mark.parametrize(
    ("rows", "format"),
    [
        ("query-id\tcorpus-id\tscore\nq1\td1\t1\n", "gold"),
        ("query_id,doc_id,grade\nq 1,d 1,1\n", "gold"),
        ("q1\td1\t1\n", "gold"),
        ("query,item,grade\nq1,d1,1\n", "gold"),
        ("query,item,grade\nsweet wine,Yquem of Sauternes,1\n", "pairs"),
        ("query_id,query,doc_id,document,grade\nq1,sweet wine,d1,Yquem of Sauternes,1\n", "pairs"),
        ("question,answer\nwho,me\n", "pairs"),
    ],
)
def test_tables_of_ids_are_gold_and_tables_of_texts_are_pairs(rows, format, tmp_path):
    file = tmp_path / ("table.tsv" if "\t" in rows else "table.csv")
    file.write_text(rows)
    assert read_collection(file).format == format


def test_the_prefix_reads_ids_with_blanks_as_gold(tmp_path):
    (tmp_path / "g.csv").write_text("query,item,grade\nRed wine,White wine,1\n")
    assert read_collection(tmp_path / "g.csv").has_texts
    assert not read_collection(f"gold:{tmp_path / 'g.csv'}").has_texts


def test_a_run_in_the_place_of_gold_is_refused(tmp_path):
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 0.5 a\n")
    with pytest.raises(InputError, match="this may be a run: give the qrels here"):
        read_collection(tmp_path / "a.run")


def test_gold_alone_is_checked_without_complaints_about_texts_and_is_not_converted(tmp_path):
    GOLD.write(tmp_path / "qrels.txt", format="trec")
    collection = read_collection(tmp_path / "qrels.txt")
    assert check(collection).findings == ()
    (tmp_path / "none.txt").write_text("q1 0 d1 0\n")
    assert [finding.name for finding in check(read_collection(tmp_path / "none.txt")).findings] == ["nothing relevant"]
    with pytest.raises(InputError, match="gold without texts, which no layout"):
        convert(collection, tmp_path / "out", "beir")
    assert not (tmp_path / "out").exists()
