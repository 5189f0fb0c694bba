"""Code and servers named in index manifests and run files need consent, and keys are sent to no other host."""

import json
import sys

import pytest

from goldrank.cli.main import main
from goldrank.encoders import ACCESS, KINDS, load
from goldrank.encoders.consent import effects_of, is_address
from goldrank.encoders.pair_scorers import PAIR_KINDS
from goldrank.errors import InputError
from goldrank.index.folder import Manifest, _digest, open_index, write_index
from goldrank.masked.predictors import PREDICTORS
from http_servers import HttpServer, Reply, json_reply

PAYLOAD = """
from pathlib import Path
Path("ran").touch()
def go(texts):
    return [[float(len(text)), 1.0] for text in texts]
def search(query, k):
    return []
def score(pairs):
    return [0.0] * len(pairs)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder as an attacker would publish it, with code beside the data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-private")
    # A module that was imported before would not run again.
    monkeypatch.delitem(sys.modules, "payload", raising=False)
    (tmp_path / "payload.py").write_text(PAYLOAD)
    (tmp_path / "models").mkdir()
    return tmp_path


@pytest.fixture
def listener():
    """A server that nothing should connect to."""
    with HttpServer(lambda request: json_reply({"results": []})) as server:
        yield server


def rename_model(path, model):
    """Write another model into a manifest, with a valid checksum, as anyone can."""
    content = json.loads((path / "manifest.json").read_bytes())
    content.pop("checksum")
    content |= {"model": model, "identity": None}
    (path / "manifest.json").write_text(json.dumps({**content, "checksum": _digest(content)}))


@pytest.mark.parametrize(
    "model",
    [
        "python:payload:go",
        "PYTHON:payload:go",
        " python:payload:go",
        "openai:m@{url}/v1",
        "openai:m",
        "st:models",
        "st:someone/model",
        "flag:someone/model",
        "model2vec:someone/model",
        "vectors:{url}/shards",
        "fuse:rrf(bm25,python:payload:go)",
        "search:payload:search",
        "http:{url}/search",
    ],
)
def test_a_manifest_neither_runs_code_nor_opens_a_connection(folder, listener, capsys, model):
    write_index("ix", "exact", [[3.0, 1.0], [5.0, 1.0]], ["a", "b"], texts=["one", "three"])
    rename_model(folder / "ix", model.format(url=listener.url))
    assert main(["index", "search", "ix", "a query"]) == 2
    assert "name it yourself with -m" in capsys.readouterr().err
    assert not (folder / "ran").exists()
    assert listener.requests == []


def test_a_model_that_the_user_names_is_loaded_and_has_to_be_the_one_of_the_index(folder, capsys):
    encoder = load("python:payload:go")
    write_index("ix", "exact", encoder.encode_items(["one"]), ["a"], model="python:payload:go", encoder=encoder)
    assert main(["index", "search", "ix", "one", "-m", "python:payload:go"]) == 0
    assert main(["index", "search", "ix", "one", "-m", "random:2"]) == 2
    assert "the items were encoded by" in capsys.readouterr().err


def test_a_harmless_model_of_a_manifest_loads_by_itself(folder):
    encoder = load("random:4")
    write_index("ix", "exact", encoder.encode_items(["one"]), ["a"], model="random:4", encoder=encoder)
    assert main(["index", "search", "ix", "one"]) == 0


@pytest.mark.parametrize("model", [None, 7, ["python:payload:go"], {}])
def test_a_manifest_whose_model_is_no_text_is_refused(folder, model, capsys):
    write_index("ix", "exact", [[3.0, 1.0]], ["a"])
    rename_model(folder / "ix", model)
    assert main(["index", "search", "ix", "a query"]) == 2
    message = "does not say which model" if model is None else "this is not a manifest of goldrank"
    assert message in capsys.readouterr().err


def test_a_manifest_holds_no_secret(folder):
    write_index("ix", "exact", [[3.0, 1.0]], ["a"], model="openai:m@http://h/v1?token=abc")
    assert b"abc" not in (folder / "ix" / "manifest.json").read_bytes()
    assert Manifest.load(folder / "ix").model == "openai:m@http://h/v1?token=***"
    assert open_index("ix").model("random:2") == "random:2"


def test_every_kind_declares_its_access_and_its_example_agrees():
    for kinds in (KINDS, PAIR_KINDS, PREDICTORS):
        for name, kind in kinds.items():
            assert kind.access in ACCESS, name
            assert (kind.access == "code") == (":mymodel:" in kind.example), name
            assert (kind.access == "network") == ("http://" in kind.example), name
    assert {name for name, kind in {**KINDS, **PAIR_KINDS, **PREDICTORS}.items() if kind.access == "hub"} == {
        "st", "flag", "cross", "fill-mask",
    }  # fmt: skip


def test_a_local_model_folder_may_hold_code_and_a_hub_may_be_trusted(folder):
    assert effects_of("st:models").code
    assert not effects_of("st:someone/model").code
    assert effects_of("st:someone/model(trust_remote_code=TRUE)").code
    assert effects_of("cross:someone/model").download
    assert not effects_of("model2vec:models")
    assert not effects_of("st:models").connection


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("s3://bucket/x", True), ("pgvector:postgresql://host/db", True), ("chroma:http://host/x", True),
        ("ray://head:1", True), ("\\\\host\\share", True), ("//host/share", True),
        ("file:///tmp/x", False), ("sqlite:////tmp/x.db", False), ("lancedb:folder/table", False), ("exact", False),
    ],
)  # fmt: skip
def test_an_address_is_told_from_a_local_place(place, expected):
    assert is_address(place) == expected


TEXTS = '{"id": "a", "text": "one"}\n{"id": "b", "text": "three"}\n'


@pytest.mark.parametrize("dry_run", [[], ["--dry-run"]])
@pytest.mark.parametrize(
    ("lines", "flag"),
    [
        ('models = ["python:payload:go"]', "--allow-code"),
        ('models = "python:payload:go"', "--allow-code"),
        ('models = ["fuse:rrf(bm25,python:payload:go)"]', "--allow-code"),
        ('models = ["bm25"]\nrerank = "pairs:payload:score"', "--allow-code"),
        ('models = ["st:models"]', "--allow-code"),
        ('models = ["openai:m@{url}/v1"]', "--allow-connections"),
        ('models = ["http:{url}/search"]', "--allow-connections"),
        ('models = ["random:4"]\nindex = "chroma:{url}/x"', "--allow-connections"),
        ('models = ["random:4"]\nstore = "postgresql://127.0.0.1:1/x"', "--allow-connections"),
        ('models = ["random:4"]\nengine = "ray://127.0.0.1:1"', "--allow-code --allow-connections"),
        ('models = ["random:4"]\nengine = "127.0.0.1:1"', "--allow-code --allow-connections"),
        ('models = ["random:4"]\nwork_folder = "s3://bucket/x"', "--allow-connections"),
    ],
)
def test_a_run_file_asks_before_code_runs_or_a_connection_opens(folder, listener, capsys, lines, flag, dry_run):
    (folder / "run.toml").write_text('tasks = ["wines"]\n' + lines.format(url=listener.url))
    assert main(["run", "--config", "run.toml", "--store", "s", *dry_run][: 3 if "store =" in lines else None]) == 2
    assert f"add {flag} if you trust it" in capsys.readouterr().err
    assert not (folder / "ran").exists()
    assert listener.requests == []


def test_a_run_file_may_run_code_where_the_user_says_so_and_it_is_said(folder, capsys):
    (folder / "run.toml").write_text('tasks = ["wines"]\nlimit = 3\nmodels = ["python:payload:go"]')
    assert main(["run", "--config", "run.toml", "--dry-run", "--store", "s", "--allow-code"]) == 0
    assert "note: run.toml: models names 'python:payload:go', which runs code" in capsys.readouterr().err
    assert (folder / "ran").exists()


def test_a_model_on_the_command_line_needs_no_flag(folder):
    (folder / "run.toml").write_text('tasks = ["wines"]\nlimit = 3\nmodels = ["search:payload:search"]')
    assert main(["run", "--config", "run.toml", "--dry-run", "--store", "s", "-m", "python:payload:go"]) == 0


def test_a_key_does_not_follow_a_redirect_to_another_host(folder, listener, monkeypatch):
    monkeypatch.setenv("SEARCH_KEY", "k-private")
    elsewhere = Reply(status=302, headers={"Location": f"{listener.url}/elsewhere"})
    with HttpServer(lambda request: elsewhere) as first:
        model = load(f"http:{first.url}/search(key_env=SEARCH_KEY,retries=0)")
        model.search(["q"], ["a query"], 3)
        own = load(f"http:{first.url}/search(key_env=SEARCH_KEY,key_header=X-Key,retries=0)")
        own.search(["q"], ["a query"], 3)
    assert ["k-private" in str(request.headers) for request in first.requests] == [True, True]
    assert len(listener.requests) == 2
    assert not any("k-private" in str(request) + str(request.headers) for request in listener.requests)


@pytest.mark.parametrize("spec", ["openai:m@http://user:s3cr3t@host/v1", "http:http://user:s3cr3t@host/search"])
def test_an_address_with_a_password_is_refused_without_repeating_it(spec):
    with pytest.raises(InputError, match="holds a password") as refused:
        load(spec)
    assert "s3cr3t" not in str(refused.value)
