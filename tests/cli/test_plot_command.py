"""`goldrank plot`: figures of stored runs as files, and the reasons for figures that are left out."""

import subprocess
import sys
from dataclasses import replace

import pyarrow
import pytest

from goldrank import Gold, Run
from goldrank.cli.main import main
from goldrank.errors import InputError
from goldrank.masked.scoring.levels import score_predictions
from goldrank.reporting.plots import ModelSize, read_sizes
from goldrank.store import RunRecord

pytest.importorskip("matplotlib")

PERSONS = ["Ada Lovelace", "Alan Turing", "Grace Hopper", "Emmy Noether"]
GOLD = Gold({"q1": {"d1": 2, "d2": 0}, "q2": {"d4": 1}, "q3": {"d9": 1}})
RANKED = Run({"q1": {"d2": 3.5, "d1": 3.0, "d7": 1.0}, "q2": {"d8": 2.0, "d4": 1.0}})


def masked(model, right, context="masked", parameters=None):
    """Return a record of masked predictions in which every *right*-th first guess names the person."""
    rows = [
        {
            "page": str(page), "sequence": 0, "mask": 0, "title": PERSONS[page % 4], "hidden": PERSONS[page % 4],
            "guesses": [PERSONS[(page + (page % right > 0)) % 4], PERSONS[(page + 2) % 4]], "scores": [0.6, 0.3],
            "masks": 1, "length": 100 + page, "type": "original", "views": 10.0 ** (page % 5),
        }
        for page in range(24)
    ]  # fmt: skip
    table = pyarrow.Table.from_pylist(rows)
    inputs = {"task": "masked-people", "kind": "masked", "model": model, "k": 2, "context": context}
    hits = score_predictions(table, workers=1).levels["mask"].hits
    return RunRecord("masked-people", model, inputs, {"parameters": parameters}, hits, predictions=table)


@pytest.fixture
def store(own_folder, store):
    store.small = store.save(masked("fill-mask:net-small", 3, parameters=1e8)).key
    store.large = store.save(masked("fill-mask:net-large", 2)).key
    store.ranked = store.save(
        RunRecord("wines", "bm25", {"task": "wines"}, {}, RANKED.hits(GOLD, corpus=20), RANKED)
    ).key
    return store


def run(capsys, *arguments):
    capsys.readouterr()
    code = main(["plot", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_a_masked_run_gives_every_figure_it_allows_and_says_why_others_are_left_out(capsys, store, tmp_path):
    code, out, err = run(capsys, store.small)
    folder = f"figures-{store.small}"
    assert code == 0
    assert names(tmp_path / folder) == {
        "accuracy-by-k.png", "accuracy-by-length.png", "accuracy-by-views.png", "distance-histogram.png",
        "frequent-answers.png", "calibration.png",
    }  # fmt: skip
    assert set(out.splitlines()) == {f"{folder}/{name}" for name in names(tmp_path / folder)}
    assert "note: left out accuracy-by-size: there is one run, and two are needed." in err
    assert "note: left out accuracy-by-type: all examples have the same 'type'." in err


def test_sizes_come_from_the_run_or_a_table_and_figures_are_chosen_by_name(capsys, store, tmp_path):
    (tmp_path / "sizes.csv").write_text("model,parameters,family\nnet-large,1.5B,nets\n")
    chosen = ["--figure", "accuracy-by-size", "accuracy-by-family", "--format", "svg", "-o", "out/here"]
    code, _, err = run(capsys, store.small, store.large, *chosen)
    assert (code, names(tmp_path / "out/here")) == (0, {"accuracy-by-family.svg"})
    assert "the size of 1 of 2 models is known" in err
    code, _, err = run(capsys, store.small, store.large, *chosen, "--sizes", "sizes.csv", "--theme", "dark")
    assert (code, err) == (
        0,
        "goldrank: note: sizes.csv: model = model, parameters = parameters, family = family.\n",
    )
    assert names(tmp_path / "out/here") == {"accuracy-by-family.svg", "accuracy-by-size.svg"}


def test_columns_levels_and_rules_are_options(capsys, store, tmp_path):
    options = ["--figure", "accuracy-by-column", "--by", "views", "length", "--unit", "page", "--pool", "gold"]
    code, out, _ = run(capsys, store.small, *options, "--matcher", "original", "--format", "pdf", "--size", "single")
    assert code == 0
    assert [line.rpartition("/")[2] for line in out.splitlines()] == ["accuracy-by-views.pdf", "accuracy-by-length.pdf"]
    code, _, err = run(capsys, store.small, "--by", "veiws")
    assert code == 2
    assert "there is no column 'veiws'; did you mean 'views'?" in err


def test_a_run_that_ranks_gives_its_curves(capsys, store, tmp_path):
    code, out, err = run(capsys, store.ranked, "-o", "ranks")
    assert code == 0
    assert out.splitlines() == ["ranks/rank-curve.png", "ranks/metric-by-cutoff.png", "ranks/rank-histogram.png"]
    assert err.splitlines() == [
        "goldrank: note: left out precision-recall: no query has two relevant items: precision is the reciprocal rank "
        "at every recall."
    ]


def test_runs_on_the_same_gold_give_the_figures_of_a_comparison(capsys, store, tmp_path):
    better = Run({"q1": {"d1": 3.0, "d2": 1.0}, "q2": {"d4": 2.0}, "q3": {"d8": 2.0, "d9": 1.0}})
    hits = better.hits(GOLD, corpus=20)
    other = store.save(RunRecord("wines", "tfidf", {"task": "wines", "model": "t"}, {}, hits, better)).key
    code, _, err = run(capsys, store.ranked, other, "-o", "two", "-M", "mrr")
    assert code == 0
    assert names(tmp_path / "two") == {
        "rank-curve.png", "leaderboard.png", "paired-scatter.png", "differences.png", "rank-histogram.png",
    }  # fmt: skip
    assert "left out significance-groups: it needs three runs or more" in err
    code, out, err = run(capsys, store.ranked, other, "--figure", "differences", "-o", "one", "--theme", "dark")
    assert (code, out, err) == (0, "one/differences.png\n", "")


def test_runs_of_different_tasks_share_only_what_needs_no_common_queries(capsys, store, tmp_path):
    other = store.save(RunRecord("beers", "bm25", {"task": "beers"}, {}, RANKED.hits(GOLD, corpus=20), RANKED)).key
    code, _, err = run(capsys, store.ranked, other, "-o", "apart")
    assert code == 0
    assert names(tmp_path / "apart") == {"rank-curve.png", "rank-histogram.png"}
    assert "left out leaderboard:" in err
    assert "are of different tasks (wines and beers)" in err


def test_masked_and_other_runs_go_together(capsys, store, tmp_path):
    options = ["--figure", "accuracy-by-k", "rank-curve", "-o", "both"]
    assert run(capsys, store.small, store.ranked, *options)[0] == 0
    assert names(tmp_path / "both") == {"accuracy-by-k.png", "rank-curve.png"}
    code, _, err = run(capsys, store.ranked, "--figure", "calibration", "rank-curve", "-o", "one")
    assert code == 0
    assert "left out calibration: no run holds guesses at masks" in err


def test_runs_of_one_model_are_told_apart_by_what_differs(store):
    from goldrank.runs.stored_scores import distinct_names

    revealed = store.get(store.save(masked("fill-mask:net-small", 3, "revealed")).key)
    assert list(distinct_names({"a": store.get(store.small), "b": revealed}).values()) == [
        "fill-mask:net-small, context=masked",
        "fill-mask:net-small, context=revealed",
    ]
    ranked = store.get(store.ranked)
    chunked = replace(ranked, key="c", inputs={**ranked.inputs, "chunk": "heading", "rerank": None})
    assert list(distinct_names({"b": ranked, "c": chunked}).values()) == [
        f"{ranked.model}, chunk=none",
        f"{ranked.model}, chunk=heading",
    ]
    same = store.get(store.small)
    assert list(distinct_names({"a": same, "b": same}).values()) == [f"{same.model} (a)", f"{same.model} (b)"]


def test_a_measurement_has_nothing_to_draw(capsys, store, tmp_path):
    measured = {"spearman": {"value": 0.5, "count": 10}}
    key = store.save(RunRecord("sts", "bm25", {"task": "sts"}, {}, measured=measured)).key
    code, _, err = run(capsys, key, "-o", "none")
    assert code == 2
    assert "nothing can be drawn" in err
    assert "it is a measurement (spearman), which has no ranks" in err
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no-such-run"], "there is no"),
        (["SMALL", "--figure", "acuracy-by-k"], "there is no figure 'acuracy-by-k'; did you mean 'accuracy-by-k'"),
        (["SMALL", "SMALL"], "is given twice"),
        (["SMALL", "-o", "file"], "this is a file, not a folder"),
        (["SMALL", "--sizes", "none.csv"], "there is no such file"),
        (["SMALL", "-k", "0"], "k=0 is not a whole number >= 1"),
        (["SMALL", "--format", "gif"], "there is no value of --format 'gif'"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(capsys, store, tmp_path, arguments, said):
    (tmp_path / "file").write_text("")
    before = names(tmp_path)
    code, out, err = run(capsys, *(store.small if argument == "SMALL" else argument for argument in arguments))
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1
    assert names(tmp_path) == before


def test_sizes_are_read_in_the_ways_people_write_them(tmp_path):
    path = tmp_path / "sizes.tsv"
    path.write_text("Model\tParameters\na\t110M\nb\t1.3 B\nc\t125,000,000\nd\t\ne\t3e8\n")
    read = read_sizes(str(path))
    assert [read[model].parameters for model in "abcde"] == [110e6, 1.3e9, 125e6, None, 3e8]
    path.write_text("model,parameters,family\nx,1K,nets\n")
    assert read_sizes(str(path)) == {"x": ModelSize(1000.0, "nets")}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model,size\na,1M\n", r"sizes.csv:1: there is no column parameters"),
        (
            "model,parameters\na,1M\nb,many\n",
            r"sizes.csv:3: the number of parameters is 'many', which is not a num",
        ),
        ("model,parameters\na,1.2.3M\n", r"the number of parameters is '1.2.3M', which is not a number"),
        ("model,parameters\na,0\n", r"the number of parameters is '0'; give a number above 0"),
        ("model,parameters\na,1M\na,2M\n", r"sizes.csv:3: the model 'a' is listed twice"),
        ("model,parameters\na,1M,x\n", r"the row has 3 columns, the first one has 2"),
    ],
)
def test_a_faulty_table_of_sizes_is_refused_with_its_line(tmp_path, text, said):
    (tmp_path / "sizes.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        read_sizes(str(tmp_path / "sizes.csv"))


@pytest.mark.parametrize(
    ("module", "command"), [("top_k_evaluation", "masked"), ("plotting.precomputed_plotting", "plot")]
)
def test_the_thin_names_start_the_same_commands(module, command):
    process = subprocess.run(
        [sys.executable, "-m", f"goldrank.evaluation.{module}", "--help"], capture_output=True, text=True, check=True
    )
    assert process.stdout.startswith(f"usage: goldrank {command}")
