"""`goldrank plan`: output formats, notations of numbers, and errors."""

import csv
import io
import json
from dataclasses import replace

import pytest

from goldrank.cli import plan_command
from goldrank.cli.main import main
from goldrank.planning import calibration
from goldrank.planning.constants import REFERENCE, EncodingCost, constants_file, read_constants, write_constants

JOB = ["plan", "--item-count", "1e9", "--dim", "768", "--query-count", "1e5", "--nodes", "64"]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path / "cache"))


def run(capsys, *arguments):
    code = main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_a_plan_shows_times_limits_and_bytes_of_every_stage_and_where_the_constants_come_from(capsys):
    code, out, _ = run(capsys, *JOB, "--encode-rate", "1000")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("1,000,000,000 items of 768 dimensions, 100,000 queries with 1 judged and 1,000 results")
    assert lines[2].split() == ["time", "local", "limit", "Ray", "limit", "one", "GPU", "limit"]
    for stage in ("read texts", "encode", "write vectors", "gather gold", "exact ranks", "top k", "merge", "total"):
        assert sum(line.startswith(stage) for line in lines) == 2
    assert "not of this one" in out
    assert "Run goldrank plan --calibrate to measure this machine." in out.replace("\n", " ")
    assert "10 Gbit/s" in out


def test_json_holds_the_job_the_constants_and_every_number(capsys):
    content = json.loads(run(capsys, *JOB, "--format", "json", "--gold", "3", "--depth", "2k")[1])
    assert content["job"]["items"] == 10**9
    assert (content["job"]["judged"], content["job"]["depth"], content["job"]["nodes"]) == (3, 2000, 64)
    assert [engine["engine"] for engine in content["engines"]] == ["local", "Ray", "one GPU"]
    written = next(stage for stage in content["engines"][1]["stages"] if stage["stage"] == "write vectors")
    assert written["storage"] >= 10**9 * 768 * 4
    assert content["engines"][0]["stages"][2]["seconds"] is None
    assert content["constants"]["cores"] == REFERENCE.cores
    assert any("encode is left out" in note for note in content["notes"])


def test_csv_has_a_line_for_each_engine_and_stage(capsys):
    rows = list(csv.DictReader(io.StringIO(run(capsys, *JOB, "--format", "csv")[1])))
    assert len(rows) == 3 * 10
    assert {row["engine"] for row in rows} == {"local", "Ray", "one GPU"}
    assert float(rows[-1]["seconds"]) > 0


@pytest.mark.parametrize("look", ["markdown", "latex"])
def test_plans_can_be_pasted(capsys, look):
    code, out, _ = run(capsys, *JOB, "--format", look)
    assert code == 0
    assert "exact ranks" in out


def test_a_plan_goes_to_a_file(capsys, tmp_path):
    code, out, _ = run(capsys, *JOB, "-o", str(tmp_path / "plan.md"), "--format", "markdown")
    assert (code, out) == (0, "")
    assert "| total |" in (tmp_path / "plan.md").read_text()


def test_measured_constants_are_used_from_the_cache_or_from_a_file(capsys, tmp_path):
    mine = replace(REFERENCE, machine="4 cores of a toaster", measured="2026-01-31", elsewhere={})
    write_constants(mine, constants_file())
    out = run(capsys, *JOB)[1].replace("\n", " ")
    assert "4 cores of a toaster, measured on 2026-01-31" in out
    other = tmp_path / "other.json"
    write_constants(replace(mine, machine="a kettle"), other)
    assert "a kettle" in run(capsys, *JOB, "--constants", str(other))[1]


def test_a_model_is_planned_with_the_rate_that_was_measured_for_it(capsys, tmp_path):
    path = tmp_path / "constants.json"
    write_constants(replace(REFERENCE, encoding={"wordllama": EncodingCost(0.0, 0.5, 0.0)}), path)
    sizes = ["--item-count", "90", "--dim", "2", "--query-count", "10"]
    small = ["plan", *sizes, "--format", "json", "--constants", str(path)]
    content = json.loads(run(capsys, *small, "--model", "wordllama")[1])
    assert content["engines"][0]["stages"][2]["seconds"] == pytest.approx(50)
    assert run(capsys, *small, "--model", "st:none")[0] == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plan"], "--item-count is not given"),
        (["plan", "--item-count", "1e9", "--dim", "8"], "--query-count is not given"),
        ([*JOB, "--depth", "many"], "--depth is 'many', which is not a number"),
        ([*JOB, "--gold=-1"], "--gold is '-1'"),
        ([*JOB, "--nodes", "0"], "--nodes is '0'; give 1 or more"),
        ([*JOB, "--cores", "1.5"], "not a whole number"),
        ([*JOB, "--words-per-text", "0"], "--words-per-text is '0'; give a number above 0"),
        ([*JOB, "--encode-rate", "nan"], "--encode-rate is 'nan'"),
        ([*JOB, "--model", "wordllama", "--encode-rate", "5"], "a job has one model"),
        ([*JOB, "--model", "tfidf"], "no rate was measured for the model 'tfidf'"),
        ([*JOB, "--constants", "nowhere.json"], "there is no such file"),
        ([*JOB, "--calibrate"], "beside --calibrate, which plans nothing"),
        (["plan", "--calibrate", "--constants", "no/such/folder.json"], "the folder does not exist"),
        (["plan", "--calibrate", "-m", "nonsense"], "there is no kind of model 'nonsense'"),
    ],
)
def test_bad_input_is_one_sentence_with_a_remedy_and_exit_code_2(capsys, arguments, said):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_damaged_constants_are_refused_and_not_overwritten(capsys, tmp_path):
    path = tmp_path / "notes.json"
    path.write_text('{"my": "notes"}')
    for arguments in (JOB, ["plan", "--calibrate"]):
        assert run(capsys, *arguments, "--constants", str(path))[0] == 2
    assert path.read_text() == '{"my": "notes"}'


def test_calibrating_writes_what_it_shows_and_keeps_the_models_measured_before(capsys, tmp_path, monkeypatch):
    measured = replace(REFERENCE, machine="a machine", measured="2026-01-31", encoding={"a": EncodingCost(0, 1, 0)})
    monkeypatch.setattr(calibration, "calibrate", lambda models, warn: warn("Nothing is easy.") or measured)
    code, out, _ = run(capsys, "plan", "--calibrate")
    assert code == 0
    assert "Nothing is easy." in out
    assert "texts of 100 words encoded by a" in out
    assert read_constants(constants_file()) == measured
    measured = replace(measured, encoding={"b": EncodingCost(0, 2, 0)})
    assert json.loads(run(capsys, "plan", "--calibrate", "--format", "json")[1])["encoding"].keys() == {"a", "b"}
    measured = replace(measured, machine="another one")
    assert run(capsys, "plan", "--calibrate", "--format", "csv")[1].startswith("constant,value")
    assert set(read_constants(constants_file()).encoding) == {"b"}


def test_the_help_shows_examples(capsys):
    with pytest.raises(SystemExit):
        plan_command.build_parser().parse_args(["--help"])
    assert "goldrank plan --item-count 1e9 --dim 768 --query-count 1e5 --nodes 64" in capsys.readouterr().out
