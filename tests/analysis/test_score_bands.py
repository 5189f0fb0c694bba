"""Test readings by gold score: the bands add up, and each equals the reading of its pairs or items alone."""

from __future__ import annotations

import numpy as np
import pytest

import goldrank as gr
from goldrank.analysis.score_bands import Bands
from goldrank.analysis.sensitivity import sensitivity
from goldrank.errors import InputError
from goldrank.scoring import Bootstrap
from goldrank.tasks.settings import Settings

QUICK = {"bootstrap": Bootstrap(200)}
FITTED = Settings(fit_on="evaluated")


def values(result, quantity, variant):
    return {
        reading.band: reading for reading in result.bands if (reading.quantity, reading.variant) == (quantity, variant)
    }


def test_what_the_bands_lose_adds_up_to_one_minus_spearman_and_their_changes_to_its_change(store):
    result = sensitivity(
        "wordllama", "sentence-pairs", ["cosine"], ["none", "whiten"], FITTED, bands=4, store=store, **QUICK
    )
    spearman = [variant.readings["sentence-pairs spearman"].value for variant in result.models[0].variants]
    for at, name in enumerate(result.variants):
        bands = values(result, "lost", name)
        assert sum(band.value for band in bands.values()) == pytest.approx(1 - spearman[at], abs=1e-12)
        assert sum(band.count for band in bands.values()) == 150
    changes = values(result, "lost", "cosine, whiten").values()
    assert sum(band.change for band in changes) == pytest.approx(spearman[0] - spearman[1], abs=1e-12)
    assert all(band.change_low <= band.change <= band.change_high for band in changes)


def write(path, rows):
    path.write_text("\n".join(["sentence1\tsentence2\tscore", *("\t".join(map(str, row)) for row in rows)]) + "\n")
    return f"sentence-pairs:{path}"


def words(*similarities):
    """A model that gives each pair of texts ``a1 b1``, ``a2 b2`` … the similarity of its number."""
    angles = np.arccos(similarities)

    def encode(texts):
        directions = [angles[int(text[1:])] if text[0] == "b" else 0.0 for text in texts]
        return np.column_stack([np.cos(directions), np.sin(directions)])

    return encode


def test_the_numbers_of_a_small_example(store, tmp_path):
    # Gold in order, similarities with the two most alike pairs swapped: ranks 1, 2, 3, 4, 6, 5.
    task = write(tmp_path / "six.tsv", [(f"a{at}", f"b{at}", at) for at in range(6)])
    model = words(0.1, 0.2, 0.3, 0.4, 0.6, 0.5)
    result = sensitivity(model, task, ["cosine", "l2"], ["none"], bands=[0, 3, 5], store=store, **QUICK)
    low, high = values(result, "lost", "cosine, none").values()
    # Spearman is 1 − 6·2 / (6·35) = 33/35, and the low band has no loss.
    assert (low.band, low.count, high.band, high.count) == ("[0, 3)", 3, "[3, 5]", 3)
    assert (low.value, high.value) == (pytest.approx(0), pytest.approx(2 / 35))
    low, high = values(result, "spearman", "cosine, none").values()
    assert (low.value, high.value) == (pytest.approx(1), pytest.approx(0.5))
    low, high = values(result, "similarity rank", "cosine, none").values()
    assert (low.value, high.value) == (pytest.approx(25), pytest.approx(75))
    # On unit vectors l2 orders as cosine does.
    assert all(band.change == 0 for band in result.bands if band.variant == "l2, none")


def test_equal_similarities_lose_everything(store, tmp_path):
    task = write(tmp_path / "flat.tsv", [(f"a{at}", f"b{at}", at) for at in range(6)])
    result = sensitivity(words(*[0.5] * 6), task, ["cosine", "l2"], ["none"], bands=2, store=store, **QUICK)
    assert sum(band.value for band in values(result, "lost", "cosine, none").values()) == pytest.approx(1)


def test_bands_of_one_score_have_no_correlation_of_their_own(store, tmp_path):
    rows = [(f"a{at}", f"b{at}", at // 3) for at in range(6)]
    result = sensitivity(
        words(0.1, 0.2, 0.3, 0.4, 0.6, 0.5), write(tmp_path / "two.tsv", rows), ["cosine", "l2"], ["none"],
        bands=[0, 1, 2], store=store, **QUICK,
    )  # fmt: skip
    assert all(np.isnan(band.value) for band in values(result, "spearman", "cosine, none").values())
    assert result.to_dict()["bands"][0]["value"] is None


def test_equally_many_pairs_are_as_equal_as_shared_scores_allow():
    scores = np.array([0, 0, 0, 0, 1, 2, 3, 4.0])
    assert {name: int(rows.sum()) for name, rows in Bands.of(4).cut(scores).items()} == {
        "[0, 1)": 4, "[1, 3)": 2, "[3, 4]": 2,
    }  # fmt: skip
    assert Bands.of(4).cut(np.ones(5)) == {}


def graded(folder):
    """A collection of graded judgments in the layout of BEIR."""
    (folder / "qrels").mkdir(parents=True)
    texts = {"d1": "red wine from Spain", "d2": "white wine from France", "d3": "a board game of cards", "d4": "wine"}
    rows = [f'{{"_id": "{name}", "title": "", "text": "{text}"}}' for name, text in texts.items()]
    (folder / "corpus.jsonl").write_text("\n".join(rows) + "\n")
    queries = {"q1": "Spanish red wine", "q2": "French white wine", "q3": "playing cards"}
    (folder / "queries.jsonl").write_text(
        "\n".join(f'{{"_id": "{name}", "text": "{text}"}}' for name, text in queries.items()) + "\n"
    )
    judged = ["q1\td1\t2", "q1\td4\t1", "q2\td2\t2", "q2\td4\t1", "q3\td3\t2"]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judged]) + "\n")
    return str(folder)


def test_of_grades_each_band_is_the_metric_with_only_its_items_relevant(store, tmp_path):
    task = graded(tmp_path / "wine")
    result = sensitivity("wordllama", task, ["cosine", "l2"], ["none"], bands=4, store=store, **QUICK)
    (name,) = result.evaluators
    metric = name.split(" ", 1)[1]
    run = gr.evaluate("wordllama", task).run
    for band, gold in {
        "grade 1": {"q1": {"d4": 1}, "q2": {"d4": 1}},
        "grade 2": {"q1": {"d1": 2}, "q2": {"d2": 2}, "q3": {"d3": 2}},
    }.items():
        readings = values(result, metric, "cosine, none")[band]
        assert readings.count == len(gold)
        assert readings.value == pytest.approx(gr.score(gold, run, metric)[metric].value)
    assert values(result, metric, "l2, none")["grade 2"].change is not None


def test_the_pairs_of_evalrank_are_cut_by_the_scores_of_the_data_they_came_from(store, tmp_path):
    folder = tmp_path / "weather"
    folder.mkdir()
    pairs = ["The sun is out.\tIt is a sunny day.", "It pours.\tHeavy rain is falling.", "Snow fell.\tIt was warm."]
    (folder / "pairs.tsv").write_text("\n".join(pairs) + "\n")
    (folder / "background.txt").write_text("Rain stopped the match.\nSnow covers the road.\n")
    scored = write(
        tmp_path / "scored.tsv",
        [("It is a sunny day.", "The sun is out.", 4.5), ("It pours.", "Heavy rain is falling.", 4.9), ("a", "b", 1)],
    )
    options = {"bands": [4, 4.7, 5], "store": store, **QUICK}
    result = sensitivity("wordllama", str(folder), ["cosine", "l2"], ["none"], band_scores=scored, **options)
    (note,) = [note for note in result.notes if "have a score" in note]
    assert note.startswith("2 of 3 pairs of weather have a score in ")
    (evaluator,) = result.evaluators
    readings = values(result, evaluator.split(" ", 1)[1], "cosine, none")
    ranks = {"[4, 4.7)": ("s1", "s2"), "[4.7, 5]": ("s3", "s4")}
    hits = gr.evaluate("wordllama", str(folder)).hits
    place = {(q, i): at for at, (q, i) in enumerate(zip(hits.query, hits.items, strict=True))}
    for band, pair in ranks.items():
        assert readings[band].value == pytest.approx(1 / (1 + hits.above[place[pair]]))
        assert readings[band].count == 1
    with pytest.raises(InputError, match="no pair of weather has a score in sentence-pairs; name the similarity task"):
        sensitivity("wordllama", str(folder), ["cosine", "l2"], ["none"], band_scores="sentence-pairs", **options)
    with pytest.raises(InputError, match="wines has no scored pairs; name a similarity task, such as sts-b"):
        sensitivity("wordllama", str(folder), ["cosine", "l2"], ["none"], band_scores="wines", **options)
    with pytest.raises(InputError, match="scores for bands have no effect without bands of an EvalRank task"):
        sensitivity("wordllama", "wines", ["cosine", "l2"], ["none"], band_scores="sentence-pairs", **options)


def test_sets_of_different_scales_have_bands_of_their_own_and_no_edges(store, monkeypatch, tmp_path):
    from dataclasses import replace

    from goldrank.data.scored_pairs import PairSets, read_scored_pairs
    from goldrank.tasks.catalogue import find_task

    first = [(f"a{at}", f"b{at}", at) for at in range(6)]
    second = [(f"a{at}", f"b{at}", 100 * at) for at in range(6)]
    for name, rows in (("ones", first), ("hundreds", second)):
        write(tmp_path / f"{name}.tsv", rows)
    sets = tuple(read_scored_pairs(tmp_path / f"{name}.tsv") for name in ("ones", "hundreds"))
    task = replace(find_task("sentence-pairs"), name="both", read=lambda split: PairSets("both", sets))
    model = words(0.1, 0.2, 0.3, 0.4, 0.6, 0.5)
    result = sensitivity(model, task, ["cosine", "l2"], ["none"], bands=2, store=store, **QUICK)
    bands = values(result, "lost", "cosine, none")
    assert {name: band.count for name, band in bands.items()} == {"band 1 of each set": 6, "band 2 of each set": 6}
    assert sum(band.value for band in bands.values()) == pytest.approx(2 / 35)
    with pytest.raises(InputError, match="both spearman is over several sets, whose scores have different scales"):
        sensitivity(model, task, ["cosine", "l2"], ["none"], bands=[0, 3, 500], store=store, **QUICK)
