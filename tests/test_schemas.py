"""Test that the JSON output of every command follows a schema, and that standard output contains nothing else."""

import argparse
import json
import re
from functools import cache
from importlib import import_module

import jsonschema
import pytest

from goldrank.cli.main import COMMANDS, main
from goldrank.comparing import compare
from goldrank.errors import UnknownNameError
from goldrank.schemas import load_schema, schema_names
from json_outputs import CASES, KEYS, REFUSED, write_inputs, write_runs


def commands_with_json(name, parser):
    """Yield the commands, with their actions, that have a format json."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner, subparser in action.choices.items():
                yield from commands_with_json(f"{name} {inner}", subparser)
        elif "--format" in action.option_strings and "json" in action.choices:
            yield name


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Run all cases once: (command, arguments, exit code, standard output, standard error)."""
    from _pytest.capture import SysCapture

    folder = tmp_path_factory.mktemp("outputs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("GOLDRANK_STORE", str(folder / "store"))
        patch.setenv("GOLDRANK_CACHE", str(folder / "cache"))
        out, err = SysCapture(1), SysCapture(2)
        for stream in (out, err):
            stream.start()
        try:
            write_inputs(folder, patch)
            out.snap()
            results = []
            runs = [(command, arguments) for command, cases in CASES.items() for arguments in cases]
            for command, arguments in [*runs, *REFUSED.items()]:
                code = main([*command.split(), *arguments, "--format", "json"])
                results.append((command, arguments, code, out.snap(), err.snap()))
        finally:
            for stream in (out, err):
                stream.done()
    return results[: len(runs)], results[len(runs) :]


def name_of(content):
    """Return the name of the schema that an output names; rankings and rows of an export name none."""
    if isinstance(content, dict) and "schema" in content:
        return re.fullmatch(r"goldrank/([a-z-]+)/\d+", content["schema"])[1]
    return "runs-export"


@cache
def validator(name):
    return jsonschema.Draft202012Validator(load_schema(name))


def validate(content):
    validator(name_of(content)).validate(content)


def test_every_command_that_prints_json_is_tried():
    commands = {
        command
        for name in COMMANDS
        for command in commands_with_json(name, import_module(f"goldrank.cli.{name}_command").build_parser())
    }
    assert commands == set(CASES) == set(REFUSED)


# Commands whose exit code is an answer.
EXIT_CODES = {"diff": (0, 1), "gate": (0, 1, 3)}
QUICK = ("score", "compare", "diff", "explain", "list", "plan", "masked match", "runs list")


def test_outputs_of_quick_commands_follow_their_schemas(own_folder, capsys):
    write_runs(own_folder)
    for command in QUICK:
        for arguments in CASES[command]:
            if not {*KEYS, "--calibrate", "--across"} & {*arguments}:
                assert main([*command.split(), *arguments, "--format", "json"]) in EXIT_CODES.get(command, (0,))
                validate(json.loads(capsys.readouterr().out))


@pytest.mark.slow
def test_every_output_follows_its_schema_and_is_alone_on_standard_output(outputs):
    for command, arguments, code, out, err in outputs[0]:
        assert code in EXIT_CODES.get(command, (0,)), (command, arguments, err)
        content = json.loads(out)
        validate(content)
        assert name_of(content).startswith("across" if "--across" in arguments else command.replace(" ", "-"))


@pytest.mark.slow
def test_every_schema_describes_an_output(outputs):
    # A baseline is a file that a gate reads back.
    assert {name_of(json.loads(out)) for _, _, _, out, _ in outputs[0]} == set(schema_names()) - {"baseline"}


@pytest.mark.slow
def test_refused_input_leaves_standard_output_empty(outputs):
    for command, arguments, code, out, err in outputs[1]:
        assert (code, out) == (2, ""), (command, arguments)
        assert err.startswith("goldrank: ")


@pytest.mark.slow
def test_a_renamed_or_missing_field_does_not_follow_the_schema(outputs):
    by_schema = {name_of(content): content for content in (json.loads(out) for _, _, _, out, _ in outputs[0])}
    del by_schema["runs-export"]
    for name, content in by_schema.items():
        for field in content:
            others = {key: value for key, value in content.items() if key != field}
            if field in load_schema(name)["required"]:
                assert not validator(name).is_valid(others), (name, field)
            assert not validator(name).is_valid({**others, f"{field}_": content[field]}), (name, field)


@pytest.mark.parametrize("name", schema_names())
def test_schemas_are_valid_complete_documented_and_strict(name):
    schema = load_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert "goldrank " in schema["title"]
    assert schema["description"].endswith(".")
    assert "definitions.json" not in json.dumps(schema)
    if name != "runs-export":
        assert re.fullmatch(rf"goldrank/{name}/\d+", schema["properties"]["schema"]["const"])
        assert loose_objects(schema) <= {"inputs", "environment"}


def loose_objects(part, name=""):
    """Return the names of fields that may be any object."""
    if isinstance(part, list):
        return {loose for entry in part for loose in loose_objects(entry, name)}
    if not isinstance(part, dict):
        return set()
    names = {name} if part.get("type") == "object" and "additionalProperties" not in part else set()
    fields = part.get("properties", {})
    inner = {loose for key, entry in fields.items() for loose in loose_objects(entry, key)}
    others = [value for key, value in part.items() if key != "properties"]
    return names | inner | loose_objects(others)


@pytest.mark.slow
def test_a_comparison_says_where_it_cannot_tell(outputs):
    contents = [json.loads(out) for command, _, _, out, _ in outputs[0] if command == "compare"]
    comparisons = [content["comparison"] for content in contents if name_of(content) == "compare"]
    outcomes = {pair["outcome"] for comparison in comparisons for pair in comparison["pairs"]}
    assert outcomes == {"a_better", "b_better", "equal", "cannot_tell", "not_compared"}
    for comparison in comparisons:
        for metric, decision in comparison["decisions"].items():
            sentence = comparison["verdict"][metric]
            assert decision["cannot_tell"] == bool(decision["cannot_tell_from"])
            if "cannot be told apart" in sentence:
                assert decision["cannot_tell"]
            if decision["better_than"]:
                assert re.search(r"is better than|is best|leads", sentence)
        for pair in comparison["pairs"]:
            winner = {"a_better": pair["a"], "b_better": pair["b"]}.get(pair["outcome"])
            assert pair["better"] == winner


def test_differences_that_cancel_are_not_equality():
    gold = {f"q{n}": ["d"] for n in range(4)}
    first = {query: {"d": 1.0, "x": n % 2 * 2.0} for n, query in enumerate(gold)}
    second = {query: {"d": 1.0, "x": (n + 1) % 2 * 2.0} for n, query in enumerate(gold)}
    for other, outcome, undecided in ((second, "cannot_tell", ["second"]), (first, "equal", [])):
        comparison = compare(gold, {"first": first, "second": other}, "mrr").to_dict()["comparison"]
        assert [(pair["difference"], pair["outcome"]) for pair in comparison["pairs"]] == [(0, outcome)]
        assert comparison["decisions"]["mrr"]["cannot_tell_from"] == undecided
        assert comparison["decisions"]["mrr"]["cannot_tell"] == bool(undecided)


@pytest.mark.slow
def test_audit_meta_and_sensitivity_say_where_they_cannot_tell(outputs):
    by_command = {}
    for command, _, _, out, _ in outputs[0]:
        by_command.setdefault(command, []).append(json.loads(out))
    (audited,) = by_command["audit"]
    _, flat, approximate = [index["metrics"]["ndcg@10"] for index in audited["indexes"]]
    assert (flat["difference"], flat["hurts"], flat["cannot_tell"]) == (0, False, False)
    assert approximate["cannot_tell"] == (approximate["difference"] != 0 and not approximate["hurts"])
    for content in by_command["meta"]:
        for entry in (*content["cells"], *content["differences"]):
            assert entry["cannot_tell"] == (entry["p_adjusted"] >= content["alpha"])
    answers = {order["answer"] for content in by_command["sensitivity"] for order in content["orders"]}
    assert "cannot_tell" in answers


def test_output_of_a_model_does_not_reach_standard_output(own_folder, capsys):
    (own_folder / "loud.py").write_text(
        "import numpy\ndef encode(texts):\n    print('loud')\n    return numpy.eye(len(texts), 8)\n"
    )
    assert main(["run", "-m", "python:loud:encode", "-t", "wines", "--limit", "2", "--format", "json"]) == 0
    out, err = capsys.readouterr()
    validate(json.loads(out))
    assert "loud" in err


def test_the_command_prints_a_schema_or_all_names(capsys):
    assert main(["schema", "score"]) == 0
    assert json.loads(capsys.readouterr().out) == load_schema("score")
    assert main(["schema"]) == 0
    table = capsys.readouterr().out
    assert all(name in table for name in schema_names())
    assert main(["schema", "scores"]) == 2
    assert "did you mean 'score'" in capsys.readouterr().err


def test_an_unknown_schema_is_refused_with_the_nearest_name():
    with pytest.raises(UnknownNameError, match="did you mean 'compare'"):
        load_schema("compar")
