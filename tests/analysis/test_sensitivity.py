"""Test the sensitivity analysis of vectors to similarities and transforms: its report, stored runs and plots."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import goldrank as gr
from goldrank.analysis.sensitivity import sensitivity
from goldrank.cli.main import main
from goldrank.errors import InputError
from goldrank.runs.evaluate import evaluate
from goldrank.tasks.ranking.models import Model, load_model
from goldrank.tasks.settings import Settings

ONE_TRANSFORM = ["--similarity", "cosine,l2", "--transform", "none"]


@pytest.fixture
def made(store):
    result = sensitivity("wordllama", ["wines", "questions"], ["cosine", "l2"], ["none", "center"], store=store)
    (model,) = result.models
    return model


def test_every_reading_is_that_of_an_evaluation_with_these_settings(made):
    for variant in made.variants:
        for name, reading in variant.readings.items():
            task, metric = name.split(" ", 1)
            alone = evaluate("wordllama", task, similarity=variant.similarity, transform=variant.transform)
            assert reading.value == alone.scores[metric].value
            assert (reading.low, reading.high) == (
                alone.scores[metric].interval.low,
                alone.scores[metric].interval.high,
            )


def test_the_swing_is_the_spread_of_the_readings_and_the_best_the_largest(made):
    values = [variant.readings["wines mrr"].value for variant in made.variants]
    assert made.swing("wines mrr") == max(values) - min(values)
    assert made.best("wines mrr").readings["wines mrr"].value == max(values)
    assert made.relative_swing("wines mrr") == made.swing("wines mrr") / values[0]


def test_all_variants_are_stored(made, store):
    assert len(store.list()) == 8
    assert {reading.key for variant in made.variants for reading in variant.readings.values()} == {
        r.key for r in store.list()
    }


@pytest.mark.parametrize("look", ["table", "json", "csv", "markdown", "latex"])
def test_the_command_shows_it_in_every_format(capsys, tmp_path, look):
    arguments = ["-m", "random:8", "-t", "wines", "--transform", "none,normalize", "--similarity", "cosine"]
    assert main(["sensitivity", *arguments, "--store", str(tmp_path), "--format", look]) == 0
    out = capsys.readouterr().out
    assert "wines mrr" in out
    if look == "json":
        assert json.loads(out)["models"][0]["swings"]["wines mrr"]["absolute"] == 0.0


@pytest.mark.parametrize(
    ("models", "arguments", "said"),
    [
        ("random:8", {"similarities": ["cosine"], "transforms": ["none"]}, "one setting cannot show a difference"),
        ("random:8", {"similarities": ["cosine", "cosine"]}, "the similarity cosine is given twice; name each once"),
        ("random:8", {"transforms": ["none", "none"]}, "the transform none is given twice; name each once"),
        (["random:8", "random:8"], {}, "the model random:8 is given twice; name each model once"),
        ("bm25", {}, "bm25 ranks without vectors, so that no similarity or transform has an effect on it"),
        (
            ["wordllama", "tfidf"],
            {"transforms": ["none", "whiten"]},
            "tfidf with cosine, whiten: .*; or leave this model or this setting out",
        ),
        ("random:8", {"bands": 4}, "wines mrr: all gold has the same score, so that it has no bands"),
    ],
)
def test_what_cannot_be_compared_is_refused(store, models, arguments, said):
    with pytest.raises(InputError, match=said):
        sensitivity(models, ["wines"], store=store, **arguments)


def test_a_setting_that_one_model_cannot_have_is_found_out_before_any_work(store):
    with pytest.raises(InputError, match="tfidf with cosine, whiten"):
        sensitivity(["wordllama", "tfidf"], ["wines"], transforms=["none", "whiten"], store=store)
    with pytest.raises(InputError, match="sentence-pairs has no texts set apart to fit the transform on; give a file"):
        sensitivity("wordllama", ["wines", "sentence-pairs"], transforms=["none", "center"], store=store)
    assert store.list() == []


def labelled(folder):
    rows = [f"{'good' if at % 2 else 'bad'} film number {at},{at % 2}" for at in range(40)]
    (folder / "films.csv").write_text("\n".join(["text,label", *rows]))
    return f"probe:{folder / 'films.csv'}"


@pytest.mark.slow
def test_a_similarity_has_no_effect_on_a_probe(store, tmp_path):
    probe = labelled(tmp_path)
    with pytest.raises(InputError, match="probe:films does not compare vectors, so that a similarity has no effect"):
        sensitivity("random:8", [probe], ["cosine", "l2"], ["none"], store=store)
    fitted = {"transforms": ["none", "center"], "settings": Settings(fit_on="evaluated"), "store": store}
    alone = sensitivity("random:8", [probe], **fitted)
    assert alone.variants == ["cosine, none", "cosine, center"], "the default similarities are not crossed"
    both = sensitivity(["random:8", "random:16"], [probe, "wines"], **fitted)
    assert "probe:films does not compare vectors: the similarity has no effect on it." in both.notes
    probed = [order for order in both.orders if order.evaluator == "probe:films accuracy"]
    assert probed
    assert all(order.first.split(", ")[1] != order.second.split(", ")[1] for order in probed)


def test_a_model_without_vectors_is_a_fixed_point_among_others(store):
    result = sensitivity(["bm25", "random:8"], ["wines"], ["cosine", "l2"], ["none"], store=store)
    assert "bm25 ranks without vectors: settings change only its place among the others." in result.notes
    assert result.models[0].swing("wines mrr") == 0


def test_a_text_is_encoded_once_whatever_the_number_of_settings(store, tmp_path, monkeypatch):
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path / "cache"))
    encoded = []

    class Lengths:
        identity = "lengths of words, to count calls"
        spec = "lengths"

        def encode_items(self, texts):
            encoded.extend(texts)
            return np.array([[len(text), text.count("a"), 1.0] for text in texts], np.float32)

        encode_queries = encode_items

    sensitivity(Lengths(), ["wines", "sentence-pairs"], ["cosine", "l2", "dot"], ["none", "normalize"], store=store)
    assert len(encoded) == len(set(encoded))


def broken(name, similarity):
    """A model of random vectors that fails under one similarity, while it ranks."""
    sound = load_model("random:16")

    def rank(data):
        if data.settings.similarity == similarity:
            raise InputError("the server hung up", remedy="try again")
        return sound.rank(data)

    return Model(name, name, rank, uses_vectors=True, encoder=sound.encoder)


def test_a_model_that_fails_is_left_out_and_the_others_are_compared(store):
    result = sensitivity(["random:8", broken("frail", "l2"), "wordllama"], "wines", transforms=["none"], store=store)
    assert [entry.model for entry in result.models] == ["random:8", "wordllama"]
    (failure,) = result.failures
    assert (failure.model, failure.variant) == ("frail", "l2, none")
    assert failure.reason == "the server hung up; try again"
    assert [entry.models for entry in result.orders] == [2]
    again = sensitivity(["random:8", broken("frail", "dot"), "wordllama"], "wines", transforms=["none"], store=store)
    assert len(again.models) == 3, "what it gave under other settings was stored"


def test_one_model_that_fails_is_an_error_and_so_are_all(store):
    with pytest.raises(InputError, match="the server hung up"):
        sensitivity(broken("frail", "l2"), "wines", transforms=["none"], store=store)
    with pytest.raises(InputError, match="the server hung up"):
        sensitivity([broken("a", "cosine"), broken("b", "cosine")], "wines", transforms=["none"], store=store)


def test_one_model_left_has_no_order(store):
    result = sensitivity(["random:8", broken("frail", "l2")], "wines", transforms=["none"], store=store)
    assert result.orders == []
    assert "Only one model is left, so that there is no order to compare." in result.notes


def test_what_is_not_stored_is_named_where_nothing_may_be_evaluated(store):
    with pytest.raises(InputError, match="no result of random:8 on wines with cosine, none is stored"):
        sensitivity("random:8", "wines", transforms=["none"], store=store, overwrite="never")


def test_the_same_model_under_two_names_is_told(store):
    twin = load_model("random:8")
    other = Model("twin", twin.identity, twin.rank, uses_vectors=True, encoder=twin.encoder)
    result = sensitivity([twin, other], "wines", transforms=["none"], store=store)
    assert "random:8 and twin are the same model." in result.notes
    (order,) = result.orders
    assert np.isnan(order.tau)
    assert order.answer == "cannot tell"


@pytest.fixture
def several(tmp_path, capsys):
    """Run the command for three models on two tasks, and return its output."""

    def run(*more):
        tasks = ["-t", "wines", "sentence-pairs"]
        models = ["-m", "wordllama", "tfidf", "random:8"]
        store = ["--store", str(tmp_path / "store"), "--resamples", "500"]
        assert main(["sensitivity", *models, *tasks, *ONE_TRANSFORM, *store, *more]) == 0
        return capsys.readouterr()

    return run


def test_the_command_answers_for_several_models(several):
    out = several().out
    assert "Does the change reorder the models?" in out
    assert "cosine → l2 (none)   same order" in out
    assert "3 models have 3 pairs, so that tau moves in steps of 0.67." in out
    assert "fewer than 10 models cannot show whether a setting reorders models in general." in " ".join(out.split())
    for look in ("markdown", "latex"):
        assert "Does the change reorder the models?" in several("--format", look).out


def test_json_of_several_models_holds_all_numbers(several):
    content = json.loads(several("--format", "json", "--bands", "3").out)
    assert [entry["model"] for entry in content["models"]] == ["wordllama", "tfidf", "random:8"]
    assert (content["resamples"], content["alpha"], content["level"]) == (500, 0.05, 0.95)
    assert content["resampled"] == {"wines mrr": "queries", "sentence-pairs spearman": "pairs"}
    wines, pairs = content["orders"]
    assert (wines["first"], wines["second"], wines["tau"]) == ("cosine, none", "l2, none", 1.0)
    assert (wines["low"], wines["high"], wines["same_order"], wines["swaps"]) == (1.0, 1.0, 1.0, [])
    assert pairs["models"] == 3
    assert {entry["evaluator"] for entry in content["bands"]} == {"sentence-pairs spearman"}
    assert "wines mrr: all gold has the same score, so that it has no bands." in content["notes"]


def test_csv_of_several_models_is_one_table_whose_kind_says_what_a_row_is(several):
    rows = list(csv.DictReader(several("--format", "csv", "--bands", "3").out.splitlines()))
    kinds = [row["kind"] for row in rows]
    assert kinds.count("reading") == 2 * 2 * 3
    assert kinds.count("order") == 2
    # Two settings and a change, of three quantities, in three bands, for three models.
    assert kinds.count("band") == 3 * 3 * 3 * 3
    order = next(row for row in rows if row["kind"] == "order")
    assert (order["quantity"], order["value"], order["said"]) == ("tau", "1.0", "same order")


@pytest.mark.slow
def test_figures_of_several_models_are_drawn_in_any_theme_and_size(several, tmp_path):
    pytest.importorskip("matplotlib")
    figures = ["--plot", str(tmp_path / "tau.png"), "--places", str(tmp_path / "places.svg")]
    err = several(*figures, "--theme", "dark", "--size", "single").err
    for name in ("tau.png", "places.svg", "places-2.svg"):
        assert (tmp_path / name).stat().st_size > 1000
        assert f"drawn: {tmp_path / name}" in err


def test_figures_of_one_model_are_a_map_for_each_evaluator(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    arguments = ["-m", "random:8", "-t", "wines", "--transform", "none,normalize", "--similarity", "cosine"]
    figure = tmp_path / "moves.png"
    assert main(["sensitivity", *arguments, "--store", str(tmp_path), "--plot", str(figure), "--theme", "dark"]) == 0
    assert f"drawn: {figure}" in capsys.readouterr().err
    assert figure.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-m", "random:8", "--places", "a.png"], "--places has no effect with one model; give several models with -m"),
        (["-m", "random:8", "--alpha", "0.1"], "--alpha has no effect with one model; give several models"),
        (["-m", "random:8", "random:4", "--theme", "dark"], "--theme has no effect without a figure"),
        (["-m", "random:8", "--bands", "many"], "--bands is 'many'; give a number of bands such as 4"),
        (["-m", "random:8", "--bands", "1"], "1 is not a usable number of bands; give a number from 2 to 20, or edges"),
        (["-m", "random:8", "--bands", "3,2,1"], "3, 2, 1 are not edges of bands; give three or more numbers"),
        (["-m", "random:8", "--bands", "1,2,3"], "gold scores go from 0 to 5, beyond the edges 1 and 3 of the bands"),
        (
            ["-m", "random:8", "--metric", "mrr"],
            "--metric has no effect on tasks with measures of their own (sentence-pairs)",
        ),
        (["-m", "random:8", "--resamples", "500"], "--resamples has no effect on tasks with measures of their own"),
        (["-m", "random:8", "--fit-on", "evaluated"], "--fit-on has no effect without a fitted transform"),
        (["-m", "random:8", "random:4", "--resamples", "5"], "5 resamples are too few for an interval"),
    ],
)
def test_options_without_an_effect_are_refused(capsys, tmp_path, arguments, said):
    assert main(["sensitivity", *arguments, "-t", "sentence-pairs", *ONE_TRANSFORM, "--store", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err


def test_python_has_it_under_the_name_of_the_command(store):
    result = gr.sensitivity(["random:8", "random:32"], "wines", transforms=["none"], store=store)
    assert isinstance(result, gr.Sensitivity)
    assert gr.sensitivity is sensitivity, "importing the module has not hidden the function"


@pytest.mark.slow
@pytest.mark.conformance
def test_whitening_moves_word_vectors_past_another_model_but_sts_b_cannot_show_a_swap(shared_data, store):
    folder = shared_data / "evalrank"
    words = f"words:{folder / 'toy_emb.txt'}"
    task = f"sts-b:{folder / 'sent_similarity' / 'STS' / 'STSBenchmark'}"
    options = {"settings": Settings(fit_on="evaluated"), "bootstrap": gr.Bootstrap(300), "store": store}
    result = sensitivity(["wordllama", words, "lsa:64"], task, ["cosine"], ["none", "whiten"], **options)
    (order,) = result.orders
    before, after = (result.places("sts-b spearman", at) for at in (0, 1))
    assert before == {"wordllama": 1, words: 3, "lsa:64": 2}
    assert after == {"wordllama": 1, words: 2, "lsa:64": 3}
    # Measured elsewhere for wordllama: 77.37.
    assert result.models[0].variants[0].readings["sts-b spearman"].value == pytest.approx(0.7737, abs=0.0001)
    assert order.tau == pytest.approx(1 / 3)
    (swap,) = order.swaps
    assert (swap.ahead, swap.behind, swap.verdict) == ("lsa:64", words, "the gap moves, the order is not certain")
    assert order.answer == "cannot tell"
