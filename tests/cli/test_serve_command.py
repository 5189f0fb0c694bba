"""`goldrank serve`: prints its address, answers requests, refuses unsafe settings, and stops on interrupt."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

pytest.importorskip("fastapi", reason="the explorer needs the extra web")

from goldrank.cli import serve_command
from goldrank.errors import InputError, MissingExtraError

SERVE = "import sys; from goldrank.cli.main import main; sys.exit(main(['serve', *sys.argv[1:]]))"


def run(*arguments: object) -> int:
    return serve_command.run(serve_command.build_parser().parse_args([str(argument) for argument in arguments]))


@pytest.fixture(autouse=True)
def _no_token(monkeypatch):
    monkeypatch.delenv("GOLDRANK_TOKEN", raising=False)


def test_it_prints_its_address_answers_there_and_ends_cleanly_when_interrupted(tmp_path):
    command = [sys.executable, "-c", SERVE, "--port", "0", "--store", str(tmp_path)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})
    try:
        printed = server.stdout.readline() + server.stdout.readline()
        (url,) = re.findall(r"http://127\.0\.0\.1:\d+/", printed)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{url}api/about", timeout=300) as answer:
            assert b'"runs":0' in answer.read()
            assert "uvicorn" not in str(answer.headers).lower()
        server.send_signal(signal.SIGINT)
        _, complaints = server.communicate(timeout=300)
    finally:
        server.kill()
    assert server.returncode == 0
    assert "Traceback" not in complaints


def test_a_port_in_use_is_reported_with_a_remedy(tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(InputError, match=r"port \d+ is in use; .*--port"):
            run("--port", other.getsockname()[1], "--store", tmp_path)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_another_address_needs_a_token(tmp_path, host):
    with pytest.raises(InputError, match="could read the store") as raised:
        run("--host", host, "--store", tmp_path)
    assert "GOLDRANK_TOKEN" in raised.value.remedy


@pytest.mark.parametrize("token", ["", "short", "x" * 11, "päßwörter-sind-lang", "with\nnew line in it"])
def test_a_token_that_is_easily_guessed_or_cannot_be_sent_is_refused(tmp_path, token):
    with pytest.raises(InputError, match="token"):
        run("--host", "0.0.0.0", "--token", token, "--store", tmp_path)


def test_the_token_may_come_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("GOLDRANK_TOKEN", "short")
    with pytest.raises(InputError, match="GOLDRANK_TOKEN"):
        run("--store", tmp_path)


@pytest.mark.parametrize(("option", "value"), [("--port", "70000"), ("--port", "-1"), ("--host", "127.0.0.300")])
def test_unknown_addresses_are_reported(tmp_path, option, value):
    arguments = [option, value, "--store", tmp_path, "--token", "a-token-that-is-long"]
    with pytest.raises(InputError, match=option):
        run(*arguments)


def test_missing_packages_are_reported_with_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtraError, match=r"goldrank\[web\]"):
        run("--store", tmp_path)


def test_an_unreadable_store_is_reported_before_the_start(tmp_path):
    (tmp_path / "goldrank.db").write_bytes(b"this is no database, whatever its name says" * 50)
    with pytest.raises(InputError, match="not a goldrank store"):
        run("--store", tmp_path, "--port", 0)
