"""Statistics of articles and their similar articles agree with published counts, with the texts and without."""

import json
import pickle

import pytest

from goldrank.cli.main import main
from goldrank.data.article_statistics import describe, published_counts
from goldrank.data.checks import check, check_gold
from goldrank.data.collections import read_collection, wiki

# The format of SDR is a CSV of Title,Sections with the sections as Python literals; the gold is a pickle named gt.
ARTICLES = """\
Title,Sections
Moët &amp; Chandon,"[['', 'A house in Champagne.'], ['History.', 'Founded in 1743.'], ['Empty.', '']]"
Champagne,"[['', 'A sparkling wine, as Moët makes it.']]"
Champagne wine region,"[['', 'A region of France.'], ['Towns.', 'Reims and Épernay.']]"
Riesling,"[]"
"""
GOLD = {"Moët & Chandon": {"Champagne": 1, "Krug": 1}, "Champagne": {"Champagne wine region": 1, "Champagne": 1}}


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "wines"
    place.mkdir()
    (place / "raw_data").write_text(ARTICLES)
    (place / "gt").write_bytes(pickle.dumps(GOLD))
    return place


def test_the_statistics_of_articles_are_those_counted_by_hand(folder):
    collection = read_collection(folder)
    statistics = describe(collection.gold, collection)
    assert (statistics.articles, statistics.sources, statistics.sources_with_article) == (4, 2, 2)
    assert (statistics.pairs, statistics.pairs_with_articles) == (4, 3)  # there is no article Krug
    assert (statistics.similar_mean, statistics.similar_deviation) == (2.0, 0.0)
    # Champagne shares its word with the region and with itself.
    assert statistics.titles_share_no_word == 2
    # Moët stands in the text of Champagne; Champagne stands neither in its own text nor in that of the region.
    assert statistics.target_text_without_source_title == 2
    # Champagne stands in the text of Moët & Chandon; the text of Champagne has wine, of the region's title.
    assert statistics.source_text_without_target_title == 1
    assert statistics.sections_mean == (2 + 1 + 2 + 0) / 4  # one section is empty
    assert statistics.words_per_section_mean == (4 + 3 + 7 + 4 + 3) / 5


def test_data_check_prints_them_and_what_a_join_by_spelling_loses(folder, capsys):
    assert main(["data", "check", str(folder)]) == 0
    output = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in output.splitlines()]
    for line in (
        "articles 4",
        "sources 2",
        "pairs 4",
        "similar articles per source 2.00 ± 0.00",
        "pairs whose titles share no word 2 of 4 (50.0%)",
        "sources with an article 2 of 2 (100.0%)",
        "pairs with both articles 3 of 4 (75.0%)",
        "no word of the source's title in the similar text 2 of 3 (66.7%)",
        "no word of the similar title in the source's text 1 of 3 (33.3%)",
        "sections per article 1.25 ± 0.83",
        "words per section 4.2",
        "note Joined by the very same spelling of titles, as transformer_document_embedding does, 1 of 2 sources and 2 "
        "of 4 pairs would be left.",
    ):
        assert line in lines


def test_gold_is_checked_without_its_articles(folder, capsys):
    (folder / "raw_data").unlink()
    for path in (folder, folder / "gt"):
        assert main(["data", "check", str(path), "--format", "json"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert report["format"] == "gold alone"
        counted = {name: value for name, value in report["statistics"].items() if value is not None}
        assert counted == {
            "sources": 2, "pairs": 4, "similar_mean": 2.0, "similar_deviation": 0.0, "titles_share_no_word": 2,
        }  # fmt: skip
        assert [(entry["name"], entry["sentence"], entry["examples"]) for entry in report["findings"]] == [
            ("self gold", "1 source whose list holds the source itself.", ["'Champagne'"])
        ]


def test_faults_of_titles_are_found_in_the_gold_alone(tmp_path):
    gold = {"Appellation d'origine contrôlée": {"Appellation d'origine contrÃ´lÃ©e": 1, "Hugel &amp; Fils": 1}}
    (tmp_path / "gt").write_bytes(pickle.dumps(gold))
    report = check_gold(wiki.read_gold(tmp_path / "gt"))
    sentences = [finding.sentence for finding in report.findings]
    assert sentences == [
        "1 title whose UTF-8 was read as Windows-1252: an article is found by the repaired title only.",
        "1 gold title that differ from another one only in UTF-8 read as Windows-1252.",
        "1 title with HTML entities, which not every copy of the articles has.",
    ]


# Statistics of the original gold: sources, pairs, mean and deviation of similar articles, pairs of titles without a
# common word, and the counts in the first sentence about published counts.
REAL = {
    "wines": (94, 840, "8.94 ± 1.21", 717, "89 sources with 8.92 ± 1.23 similar articles, which is 794 pairs."),
    "games": (90, 800, "8.89 ± 2.25", 550, "88 sources with 8.74 ± 2.35 similar articles, which is 769 pairs."),
}


@pytest.mark.conformance
@pytest.mark.parametrize("name", REAL)
def test_the_original_gold_is_counted_and_its_published_counts_explained(shared_data, name):
    gold = wiki.read_gold(shared_data / "wikipedia_similarities" / f"{name}_gold.json")
    sources, pairs, similar, no_word, published = REAL[name]
    statistics = describe(gold)
    assert (statistics.sources, statistics.pairs, statistics.titles_share_no_word) == (sources, pairs, no_word)
    assert f"{statistics.similar_mean:.2f} ± {statistics.similar_deviation:.2f}" == similar
    assert published_counts(gold)[0] == f"The thesis of transformer_document_embedding prints {published}"


@pytest.mark.conformance
def test_the_88_sources_of_games_are_those_without_an_ampersand(shared_data, tmp_path):
    gold = json.loads((shared_data / "wikipedia_similarities" / "games_gold.json").read_text())
    without_ampersand = {
        source: {title: 1 for title in similar if "&" not in title}
        for source, similar in gold.items()
        if "&" not in source
    }
    (tmp_path / "gt.json").write_text(json.dumps(without_ampersand))
    statistics = describe(wiki.read_gold(tmp_path / "gt.json"))
    assert (statistics.sources, statistics.pairs) == (88, 769)
    assert f"{statistics.similar_mean:.2f} ± {statistics.similar_deviation:.2f}" == "8.74 ± 2.35"


@pytest.mark.conformance
def test_a_join_by_spelling_loses_what_the_thesis_lost_of_games(shared_data, tmp_path):
    path = shared_data / "wikipedia_similarities" / "games_gold.json"
    gold = json.loads(path.read_text())
    titles = dict.fromkeys(title for source, similar in gold.items() for title in (source, *similar))
    rows = "".join('"' + title.replace("&", "&amp;").replace('"', '""') + '",[]\n' for title in titles)
    (tmp_path / "video_games.txt").write_text("Title,Sections\n" + rows)
    (tmp_path / "games_gold.json").write_bytes(path.read_bytes())
    report = check(read_collection(tmp_path))
    remarks = [finding.sentence for finding in report.findings if finding.name == "remark of the reader"]
    assert remarks[-1] == (
        "Joined by the very same spelling of titles, as transformer_document_embedding does, 88 of 90 sources and 769 "
        "of 800 pairs would be left."
    )
    assert report.published[2] == (
        "Without the titles that hold an & the gold has 88 sources and 769 pairs, 8.74 ± 2.35."
    )
