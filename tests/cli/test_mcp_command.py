"""`goldrank mcp`: the tools through the official client, and refused reads and writes."""

import json
import os
import sys

import anyio
import jsonschema
import pytest

pytest.importorskip("mcp")
from mcp import Client, StdioServerParameters, stdio_client

from goldrank.cli.main import main
from goldrank.cli.mcp_server import Tools, create_server
from goldrank.errors import GoldrankError, InputError
from goldrank.schemas import load_schema
from goldrank.store import Store
from json_outputs import write_runs
from stored_examples import save_ranked

FILES = {"gold": "gold.txt", "runs": ["a.run", "b.run"]}


@pytest.fixture
def root(own_folder):
    """A folder with gold, runs, a store and a secret file beside it."""
    folder = own_folder / "root"
    folder.mkdir()
    write_runs(folder)
    (own_folder / "secret.txt").write_text("q1 0 d1 1\n")
    os.chdir(folder)
    return folder.resolve()


@pytest.fixture
def keys(root):
    return [run.key for run in save_ranked(Store.open(), {"weak": 2, "strong": 9})]


def in_process(tools, *calls):
    """Return the results of calls through the client, in this process."""

    async def talk():
        async with Client(create_server(tools)) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return anyio.run(talk)


def printed(capsys, *arguments):
    assert main([*arguments, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_calls_every_tool_over_stdio(root, keys, capfd, mode):
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "goldrank", "mcp", "--root", str(root), "--store", os.environ["GOLDRANK_STORE"]],
        env={name: os.environ[name] for name in ("GOLDRANK_CACHE", "PYTHONPATH") if name in os.environ},
    )
    calls = {
        "score": {**FILES, "metrics": ["ndcg@10"], "per_query": True},
        "compare": {"keys": keys, "metrics": ["ndcg@10"]},
        "gate": {"gold": "gold.txt", "base": "a.run", "new": "b.run", "fail_under": {"ndcg@10": 0.1}},
        "explain": {"metrics": ["ndcg@10"], "profile": "beir"},
        "runs_list": {},
        "runs_show": {"key": keys[0]},
        "report": {"keys": keys, "worst": 1},
    }

    async def talk():
        async with Client(stdio_client(server), mode=mode) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(tools) == set(calls)
            for name, arguments in calls.items():
                tool = tools[name]
                jsonschema.validate(arguments, tool.input_schema)
                assert all("description" in schema for schema in tool.input_schema["properties"].values())
                assert tool.annotations.read_only_hint
                result = await client.call_tool(name, arguments)
                assert not result.is_error, result.content
                jsonschema.validate(result.structured_content, tool.output_schema)
                assert json.loads(result.content[0].text) == result.structured_content
            refused = await client.call_tool("score", {**FILES, "gold": "../secret.txt"})
            assert refused.is_error
            assert "leads out of" in refused.content[0].text

    anyio.run(talk)
    assert capfd.readouterr().out == ""


def test_results_are_those_of_the_commands(root, keys, capsys):
    tools = Tools(root)
    compared = {**FILES, "metrics": ["mrr", "ndcg@10"], "conventions": {"ties": "expected"}, "alpha": 0.01}
    words = ["gold.txt", "a.run", "b.run", "-M", "mrr", "-M", "ndcg@10", "--ties", "expected", "--alpha", "0.01"]
    assert tools.call("compare", compared) == printed(capsys, "compare", *words)
    gated = tools.call("gate", {"keys": keys, "metrics": ["ndcg@10"], "margin": 0.02})
    assert gated == printed(capsys, "gate", *keys, "-M", "ndcg@10", "--margin", "0.02")
    assert gated["answer"] == "not_worse"
    assert tools.call("score", {"keys": keys}) == printed(capsys, "score", *keys)
    assert tools.call("explain", {"metrics": ["mrr", "map"]}) == printed(capsys, "explain", "mrr", "map")
    assert tools.call("runs_list", {"model": "str*"}) == printed(capsys, "runs", "list", "--model", "str*")
    assert tools.call("runs_show", {"key": keys[0]}) == printed(capsys, "runs", "show", keys[0])
    assert capsys.readouterr().out == ""


def test_the_client_sees_schemas_and_errors(root):
    good, bad, unknown = in_process(
        Tools(root), ("explain", {"metrics": ["ndcg@10"]}), ("explain", {"metrics": ["ndgc"]}), ("nothing", {})
    )
    jsonschema.validate(good.structured_content, load_schema("explain"))
    assert bad.is_error
    assert "did you mean 'ndcg'" in bad.content[0].text
    assert unknown.is_error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({**FILES, "gold": "../secret.txt"}, "leads out of"),
        ({**FILES, "gold": "/etc/hostname"}, "leads out of"),
        ({**FILES, "runs": ["a.run", "link.run"]}, "leads out of"),
        ({**FILES, "runs": ["folder"]}, "leads out of"),
        ({**FILES, "gold": "python:os:system"}, "no such file"),
        ({**FILES, "gold": "s3://bucket/gold"}, "no such file"),
        ({**FILES, "gold": "-"}, "no such file"),
        ({**FILES, "gold": "a\0b"}, "not a path"),
        ({**FILES, "metrics": ["--output=x"]}, "metric"),
        ({**FILES, "profile": "../x"}, "there is no profile"),
        ({**FILES, "output": "x"}, "unexpected"),
        ({**FILES, "runs": "a.run"}, "is not of type"),
        ({"keys": ["--store=x"]}, "is not the key"),
        ({"keys": ["secretfile"]}, "is not the key"),
        ({"keys": ["../x"]}, "is not the key"),
        ({**FILES, "keys": ["a"]}, "but not both"),
        ({"gold": "gold.txt"}, "give gold and runs"),
    ],
)
def test_what_is_outside_the_root_or_no_data_is_refused(root, arguments, message):
    (root / "link.run").symlink_to(root.parent / "secret.txt")
    (root / "secretfile").symlink_to(root.parent / "secret.txt")
    (root / "folder").mkdir()
    (root / "folder" / "inner.txt").symlink_to(root.parent / "secret.txt")
    with pytest.raises(GoldrankError, match=message):
        Tools(root).call("score", arguments)


def test_an_explained_metric_is_never_an_option(root):
    with pytest.raises(GoldrankError, match="metric"):
        Tools(root).call("explain", {"metrics": ["--help"], "profile": "beir"})


def test_nothing_is_written_unless_the_user_allows_it(root, keys):
    before = sorted(path.name for path in root.iterdir())
    with pytest.raises(GoldrankError, match="there is no tool"):
        Tools(root).call("report_file", {"keys": keys, "output": "new.md"})
    assert Tools(root).call("report", {**FILES, "worst": 1})["path"] is None
    assert sorted(path.name for path in root.iterdir()) == before
    tools = Tools(root, allow_writes=True)
    assert tools.call("report_file", {"keys": keys, "output": "new.md"}) == {"path": str(root / "new.md")}
    assert (root / "new.md").read_text().startswith("# ")
    for output, message in (("new.md", "exists"), ("../new.md", "leads out"), ("new.pdf", "not the name of a report")):
        with pytest.raises(InputError, match=message):
            tools.call("report_file", {"keys": keys, "output": output})


def test_a_root_that_is_no_folder_is_refused(root, capsys):
    assert main(["mcp", "--root", "missing"]) == 2
    assert "this is not a folder" in capsys.readouterr().err


def test_a_missing_package_is_named(root, capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "goldrank.cli.mcp_server")
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert main(["mcp"]) == 2
    assert "pip install 'goldrank[mcp]'" in capsys.readouterr().err
