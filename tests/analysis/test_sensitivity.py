"""The same vectors under other similarities and transforms: what moves is told, stored and drawn."""

from __future__ import annotations

import json

import pytest

from goldrank.cli.main import main
from goldrank.errors import InputError
from goldrank.sensitivity import plot_sensitivity, sensitivity
from goldrank.store import Store
from goldrank.tasks import evaluate


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "store")


@pytest.fixture
def made(store):
    return sensitivity("wordllama", ["wines", "questions"], ["cosine", "l2"], ["none", "center"], store=store)


def test_every_reading_is_that_of_an_evaluation_with_these_settings(made):
    for variant in made.variants:
        for name, reading in variant.readings.items():
            task, metric = name.split(" ", 1)
            alone = evaluate("wordllama", task, similarity=variant.similarity, transform=variant.transform)
            assert reading.value == alone.scores[metric].mean


def test_the_swing_is_the_spread_of_the_readings_and_the_best_the_largest(made):
    values = [variant.readings["wines mrr"].value for variant in made.variants]
    assert made.swing("wines mrr") == max(values) - min(values)
    assert made.best("wines mrr").readings["wines mrr"].value == max(values)
    assert made.relative_swing("wines mrr") == made.swing("wines mrr") / values[0]


def test_all_variants_are_stored(made, store):
    assert len(store.list()) == 8
    assert {one.key for variant in made.variants for one in variant.readings.values()} == {r.key for r in store.list()}


def test_one_setting_is_too_few(store):
    with pytest.raises(InputError, match="one setting"):
        sensitivity("wordllama", ["wines"], ["cosine"], ["none"], store=store)


def test_the_figure_is_an_image(made, tmp_path):
    pytest.importorskip("matplotlib")
    plot_sensitivity(made, tmp_path / "moves.png")
    assert (tmp_path / "moves.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize("look", ["table", "json", "csv", "markdown", "latex"])
def test_the_command_shows_it_in_every_format(capsys, tmp_path, look):
    arguments = ["-m", "random:8", "-t", "wines", "--transform", "none,normalize", "--similarity", "cosine"]
    assert main(["sensitivity", *arguments, "--store", str(tmp_path), "--format", look]) == 0
    out = capsys.readouterr().out
    assert "wines mrr" in out
    if look == "json":
        assert json.loads(out)["swings"]["wines mrr"]["absolute"] == 0.0
