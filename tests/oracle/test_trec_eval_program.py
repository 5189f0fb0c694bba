"""Test every number that the program trec_eval prints, under its options.

The sources are in no package registry. The tests use the executable that ``$TREC_EVAL`` names, build the folder of
sources that it names, or use the program on the path.
"""

import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import goldrank as gr

pytestmark = pytest.mark.oracle

OPTIONS = {
    "": {},
    "-c": {"missing": "zero"},
    "-l 2": {"relevance_level": 2},
    "-J": {"unjudged": "drop"},
    "-J -l 3": {"unjudged": "drop", "relevance_level": 3},
    "-M 20": {"depth": 20},
}


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    path = os.environ.get("TREC_EVAL") or shutil.which("trec_eval")
    if path is None:
        pytest.skip("there is no trec_eval: set TREC_EVAL to the program or to a folder of its sources")
    if Path(path).is_file():
        return path
    if shutil.which("make") is None or shutil.which("cc") is None:
        pytest.skip("trec_eval cannot be built: there is no make or no C compiler")
    folder = tmp_path_factory.mktemp("trec_eval") / "sources"
    shutil.copytree(path, folder)
    subprocess.run(["make", "trec_eval"], cwd=folder, check=True, capture_output=True)
    return str(folder / "trec_eval")


@pytest.fixture(scope="session")
def profile(program):
    process = subprocess.run([program, "--version"], check=False, capture_output=True, text=True)
    version = int(re.search(r"version (\d+)", process.stdout + process.stderr)[1])
    return "trec_eval" if version >= 10 else "trec_eval9"


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """Graded gold with grades below 0, and a run with many ties that has no results for some queries."""
    rng = random.Random(1)
    items = [f"d{i}" for i in range(300)]
    gold = {
        f"{q}": {item: rng.choice([-1, 0, 1, 2, 3]) for item in rng.sample(items, 25)} | {"d7": 3} for q in range(30)
    }
    run = {}
    for query, judged in list(gold.items())[:-3]:
        ranked = {*rng.sample(items, 50), *rng.sample(list(judged), 15)}
        run[query] = {item: round(rng.random() + 0.2 * (judged.get(item, 0) > 0), 2) for item in sorted(ranked)}
    folder = tmp_path_factory.mktemp("trec")
    gr.Gold(gold).write(folder / "qrels.txt", format="trec")
    gr.Run(run).write(folder / "run.txt", format="trec")
    return gold, run, [folder / "qrels.txt", folder / "run.txt"]


def printed(program, files, *options):
    process = subprocess.run([program, *options, *map(str, files)], check=True, capture_output=True, text=True)
    return {name: value for name, _, value in (line.split() for line in process.stdout.splitlines())}


def read(name):
    try:
        return gr.Metric.parse(name), ""
    except gr.InputError as error:
        return None, str(error)


@pytest.mark.parametrize("options", OPTIONS)
def test_every_number_that_trec_eval_prints_is_the_same_or_its_name_is_refused(program, profile, data, options):
    gold, run, files = data
    compared = 0
    for name, value in printed(program, files, "-m", "all_trec", *options.split()).items():
        metric, refusal = read(name)
        if metric is None:
            assert "trec_eval's" in refusal, name
            continue
        ours = gr.score(gold, run, metric, profile=profile, **OPTIONS[options])[str(metric)].value
        assert ours == pytest.approx(float(value), abs=6e-5), name
        compared += 1
    assert compared > 60


# trec_eval treats gains that differ by less than 1 as equal in its ideal order, so all gains are whole numbers.
@pytest.mark.parametrize("measure", ["ndcg.1=7,2=9", "ndcg.1=1,2=1,3=1", "ndcg.3=0", "set_F.4", "set_F.0.5"])
def test_a_measure_with_parameters_has_the_value_of_trec_eval(program, profile, data, measure):
    gold, run, files = data
    (value,) = printed(program, files, "-m", measure).values()
    metric = gr.Metric.parse(measure)
    ours = gr.score(gold, run, metric, profile=profile)[str(metric)].value
    assert ours == pytest.approx(float(value), abs=6e-5)
