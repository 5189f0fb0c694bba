"""Models across tasks: equality with score, missing results, forms of output, bad input, and published models."""

import csv
import json
import math
from collections import defaultdict
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
from scipy.stats import rankdata

import goldrank as gr
import stored_examples as examples
from goldrank.analysis.across import _sample, compare_tasks, stored_tasks
from goldrank.cli.main import main
from goldrank.runs.run import Measures

QUICK = gr.Bootstrap(resamples=500)
SKILLS = {"wines": {"weak": 1, "strong": 9, "middle": 5}, "games": {"weak": 2, "strong": 8, "middle": 6}}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("across") / "store"


@pytest.fixture(scope="module")
def store(place):
    store = gr.Store.open(place)
    for task, skills in SKILLS.items():
        examples.save_ranked(store, skills, task=task)
    examples.save_ranked(store, {"weak": 3, "strong": 9}, task="books")
    examples.save_measured(store, {"weak": 0.2, "strong": 0.8, "middle": 0.5})
    return store


def across(capsys, place, *arguments):
    code = main(["compare", "--across", "--store", str(place), *arguments])
    return code, *capsys.readouterr()


def test_values_of_tasks_are_those_of_score_to_the_last_digit(store, place, capsys):
    code, out, _ = across(capsys, place, "--task", "wines", "--task", "games", "--format", "json", "-M", "mrr")
    assert code == 0
    content = json.loads(out)
    for task in content["tasks"]:
        assert main(["score", "--task", task["name"], "-M", "mrr", "--store", str(place), "--format", "json"]) == 0
        scored = {run["name"]: run["scores"]["mrr"] for run in json.loads(capsys.readouterr().out)["runs"]}
        for run in store.list(task=task["name"]):
            score = task["scores"][run.model]
            assert (score["value"], score["low"], score["high"]) == tuple(
                scored[run.key][name] for name in ("value", "low", "high")
            )
    for model in content["models"]:
        assert model["mean"] == math.fsum(task["scores"][model["name"]]["value"] for task in content["tasks"]) / 2


def test_the_order_groups_ranks_and_tests_agree(store):
    result = gr.compare_across([*store.list(task="wines"), *store.list(task="games")], bootstrap=QUICK)
    assert [entry.model for entry in result.standings] == ["strong", "middle", "weak"]
    assert result.first == ["strong"]
    alike = {frozenset((pair.better, pair.worse)) for pair in result.pairs if pair.adjusted > result.alpha}
    assert alike == {frozenset((a, b)) for group in result.groups for a in group for b in group if a != b}
    for entry in result.standings:
        worse = sum(pair.better == entry.model and pair.adjusted <= 0.05 for pair in result.pairs)
        better = sum(pair.worse == entry.model and pair.adjusted <= 0.05 for pair in result.pairs)
        assert (entry.best_rank, entry.worst_rank) == (1 + better, 3 - worse)
        assert all((pair.low > 0) == (pair.adjusted <= 0.05) for pair in result.pairs)
    assert sum(entry.win_rate for entry in result.standings) == pytest.approx(1.5)
    assert [entry.borda for entry in result.standings] == [4, 2, 0]


def test_a_lower_metric_is_better_where_it_is_lower(store):
    runs = [*store.list(task="wines"), *store.list(task="games")]
    result = gr.compare_across(runs, metrics="mean_rank(unfound=last)", bootstrap=QUICK)
    assert [entry.model for entry in result.standings] == ["strong", "middle", "weak"]
    assert all(entry.interval.low < entry.mean < entry.interval.high for entry in result.standings)
    assert all(pair.difference < 0 and pair.low <= pair.difference <= pair.high for pair in result.pairs)


def test_models_stay_paired_and_tasks_have_resamples_of_their_own(store):
    wines, games = stored_tasks([*store.list(task="wines"), *store.list(task="games")], Measures(bootstrap=QUICK))
    twice, _ = _sample(wines, ["weak", "weak"], QUICK, resample=True)
    assert (twice.replicates[:, 0] == twice.replicates[:, 1]).all()
    first, second = (_sample(task, ["weak", "strong"], QUICK, resample=True)[0].replicates for task in (wines, games))
    assert abs(np.corrcoef(first[:, 0], second[:, 0])[0, 1]) < 0.2


def test_missing_results_are_refused_or_left_out_by_request(store, place, capsys):
    tasks = [word for task in ("wines", "games", "books") for word in ("--task", task)]
    code, out, err = across(capsys, place, *tasks)
    assert (code, out) == (2, "")
    assert "middle on books" in err
    assert "--incomplete models" in err
    by_models = json.loads(across(capsys, place, *tasks, "--incomplete", "models", "--format", "json")[1])
    assert [model["name"] for model in by_models["models"]] == ["strong", "weak"]
    assert by_models["left_out_models"] == ["middle"]
    by_tasks = json.loads(across(capsys, place, *tasks, "--incomplete", "tasks", "--format", "json")[1])
    assert [model["name"] for model in by_tasks["models"]] == ["strong", "middle", "weak"]
    assert (by_tasks["left_out_tasks"], by_tasks["missing"]) == (["books"], [{"model": "middle", "task": "books"}])


def test_json_follows_its_schema(store, place, capsys):
    checker = jsonschema.Draft202012Validator(gr.load_schema("across"))
    checker.validate(json.loads(across(capsys, place, "--task", "wines", "--task", "games", "--format", "json")[1]))
    impossible = compare_tasks(stored_tasks(store.list(task="wines"), Measures(bootstrap=QUICK)))
    assert impossible.to_dict()["cannot_tell"] is True
    checker.validate(impossible.to_dict())


@pytest.mark.parametrize(
    ("look", "needle"),
    [("table", "strong"), ("csv", "run,wines: ndcg@10"), ("markdown", "| strong |"), ("latex", "\\begin{tabular}")],
)
def test_every_format_has_the_table(store, place, capsys, look, needle):
    code, out, _ = across(capsys, place, "--task", "wines", "--task", "games", "--format", look)
    assert code == 0
    assert needle in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--task", "wines"], "needs runs of two tasks"),
        (["--task", "wines", "--task", "games", "--test", "t"], "--test has no effect on --across"),
        (["--task", "wines", "--task", "games", "-M", "mrr", "-M", "map"], "several metrics"),
        (["--task", "wines", "--task", "games", "--resample-tasks"], "tasks cannot be resampled if there are 2"),
        (["--task", "wines", "--task", "sick"], "only values of sick are known"),
        (["--task", "wines", "--task", "nothing"], "no task in the store"),
    ],
)
def test_what_cannot_be_compared_is_refused(store, place, capsys, arguments, message):
    code, out, err = across(capsys, place, *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_options_of_across_have_no_effect_without_it(store, place, capsys):
    keys = [run.key for run in store.list(task="wines")]
    for option in (["--incomplete", "tasks"], ["--resample-tasks"]):
        assert main(["compare", *keys, *option, "--store", str(place)]) == 2
        assert "has no effect without --across" in capsys.readouterr().err


def test_one_model_with_two_runs_on_a_task_is_refused(tmp_path):
    store = gr.Store.open(tmp_path / "twice")
    examples.save_ranked(store, {"a": 3, "b": 5})
    examples.save_ranked(store, {"a": 3, "b": 5}, task="games")
    runs = store.list()
    with pytest.raises(gr.InputError, match="given twice"):
        gr.compare_across([*runs, runs[0]])
    with pytest.raises(gr.InputError, match="x has several runs on wines"):
        gr.compare_across([replace(run, label="x") for run in runs])


def test_scores_in_memory_and_plain_numbers_are_compared():
    gold = examples.gold()
    scores = {
        name: gr.score(gold, examples.rankings(skill), "mrr", name=name) for name, skill in SKILLS["wines"].items()
    }
    result = gr.compare_across({"one": scores, "two": scores}, bootstrap=QUICK)
    assert result.standings[0].mean == scores["strong"]["mrr"].mean
    assert result.standings[0].model in repr(result)
    with pytest.raises(gr.InputError, match="only values of one are known"):
        gr.compare_across({"one": {"a": 0.1, "b": 0.2}, "two": {"a": 0.1, "b": 0.3}})
    with pytest.raises(gr.InputError, match="neither Scores nor a number"):
        gr.compare_across({"one": {"a": "high", "b": 0.2}, "two": {"a": 0.1, "b": 0.3}}, resample_tasks=True)


def test_run_ends_with_the_models_across_tasks(tmp_path, capsys):
    arguments = ["run", "-m", "bm25", "tfidf", "-t", "wines", "games", "--limit", "20", "--store", str(tmp_path)]
    assert main(arguments) == 0
    output = capsys.readouterr().out
    assert "All tasks" in output
    assert main([*arguments, "--format", "json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["across"]["schema"] == "goldrank/across/1"
    keys = [key for task in content["tasks"] for key in task["keys"].values()]
    code, out, _ = across(capsys, tmp_path, *keys, "--format", "json")
    assert code == 0
    assert json.loads(out)["models"] == content["across"]["models"]


@pytest.mark.conformance
def test_the_published_models_of_evalrank_are_ranked_by_their_means(shared_data):
    """The sentence models of the EvalRank logs on seven tasks; only values were published, so tasks are resampled."""
    values = defaultdict(dict)
    with (shared_data / "published" / "evalrank_logs.csv").open() as file:
        for row in csv.DictReader(file):
            if (row["level"], row["task_type"], row["metric"]) == ("sentence", "downstream", "accuracy"):
                values[row["task"]][row["model_id"]] = float(row["value"]) / 100
    result = gr.compare_across(values, resample_tasks=True)
    models = [entry.model for entry in result.standings]
    assert len(models) == 14
    table = np.array([[values[task][model] for model in models] for task in values])
    assert [entry.mean for entry in result.standings] == pytest.approx(table.mean(axis=0))
    assert (np.diff(table.mean(axis=0)) <= 0).all()
    points = (14 - rankdata(-table, axis=1)).sum(axis=0)
    assert [entry.borda for entry in result.standings] == points.tolist()
    # All pairs of models are compared equally often, so strengths have the order of win rates.
    strengths, rates = (
        np.array([getattr(entry, name) for entry in result.standings]) for name in ("strength", "win_rate")
    )
    assert (np.argsort(-strengths, kind="stable") == np.argsort(-rates, kind="stable")).all()
    assert all(entry.best_rank <= entry.rank <= entry.worst_rank for entry in result.standings)
    # Seven tasks that order the models differently separate few of them: the first model is only above the last.
    assert result.standings[0].worst_rank == 13
    assert result.standings[-1].best_rank == 9
    assert {frozenset((p.better, p.worse)) for p in result.pairs if p.adjusted > 0.05} == {
        frozenset((a, b)) for group in result.groups for a in group for b in group if a != b
    }
