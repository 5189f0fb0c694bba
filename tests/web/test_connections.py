"""Idle connections and requests that never end do not keep the server from answering others."""

import os
import re
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager, suppress

import pytest

pytest.importorskip("fastapi", reason="the explorer needs the extra web")
pytest.importorskip("httpx", reason="readers need the package httpx")
pytest.importorskip("resource", reason="limits of open files are those of POSIX")

import resource

import httpx
import uvicorn

from goldrank.store import Store
from goldrank.web.app import create_app
from goldrank.web.connections import limited_protocol, most_connections
from web.stores import ranked

HALF_OPEN, FILES = 1_100, 1_024
_SERVE = (
    "import resource, sys; hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]; "
    f"resource.setrlimit(resource.RLIMIT_NOFILE, ({FILES}, hard)); "
    "from goldrank.cli.main import main; sys.exit(main(sys.argv[1:]))"
)


@contextmanager
def limited(store, **limits):
    """Yield the address of a server in a thread whose connections are limited."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(128)
        config = uvicorn.Config(
            create_app(store), http=limited_protocol(**limits), ws="none", log_level="warning", lifespan="off"
        )
        server, started = uvicorn.Server(config), threading.Event()
        startup = server.startup

        async def start(sockets=None):
            await startup(sockets)
            started.set()

        server.startup = start
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        assert started.wait(300)
        try:
            yield listening.getsockname()
        finally:
            server.should_exit = True
            thread.join(300)


@pytest.fixture
def store(tmp_path):
    store = Store.open(tmp_path / "store")
    store.save(ranked("good"))
    return store


@pytest.fixture
def many_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = HALF_OPEN + 200
    if hard != resource.RLIM_INFINITY and hard < needed:
        pytest.skip(f"this process may open {hard} files, the test needs {needed}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.slow
def test_a_request_is_answered_beside_1100_half_open_connections(store, many_files):
    command = [sys.executable, "-c", _SERVE, "serve", "--port", "0", "--store", store.where]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with (
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        ) as served,
        ExitStack() as opened,
    ):
        try:
            port = int(re.findall(r":(\d+)/", served.stdout.readline() + served.stdout.readline())[0])
            for number in range(HALF_OPEN):
                connection = opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=300))
                if number % 2:
                    connection.sendall(b"GET /api/about HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
            answer = httpx.get(f"http://127.0.0.1:{port}/api/about", timeout=300, trust_env=False)
            assert (answer.status_code, answer.json()["runs"]) == (200, 1)
        finally:
            served.terminate()


@pytest.mark.parametrize("sent", [b"", b"GET /api/about HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "])
def test_a_connection_without_a_complete_request_is_closed_in_time(store, sent):
    with limited(store, seconds=0.2) as address, socket.create_connection(address, timeout=300) as slow:
        slow.sendall(sent)
        with suppress(ConnectionResetError):
            assert slow.recv(1) == b""


def is_answered_and_then_closed(store, seconds):
    """Return whether a connection got its answer in time; it then has to be closed although bytes keep coming."""
    with limited(store, seconds=seconds) as address, socket.create_connection(address, timeout=300) as slow:
        slow.sendall(b"GET /api/about HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        answered = b""
        while b"kinds" not in answered:
            if not (received := slow.recv(65_536)):
                return False
            answered += received
        closed = False
        while not closed:
            try:
                slow.sendall(b"G")
                slow.settimeout(0.02)
                closed = slow.recv(65_536) == b""
            except TimeoutError:
                continue
            except OSError:
                closed = True
        return True


def test_a_request_that_trickles_in_after_an_answer_is_closed_in_time(store):
    # A machine that is too busy to answer within the limit gets a longer one.
    assert any(is_answered_and_then_closed(store, seconds) for seconds in (0.5, 5, 50))


def test_the_connection_that_has_waited_longest_is_closed_where_there_are_too_many(store):
    with limited(store, limit=3, seconds=600) as address, ExitStack() as opened:
        waiting = [opened.enter_context(socket.create_connection(address, timeout=300)) for _ in range(3)]
        with httpx.Client(base_url="http://{}:{}".format(*address), timeout=300, trust_env=False) as http_client:
            assert http_client.get("/api/about").status_code == 200
            with suppress(ConnectionResetError):
                assert waiting[0].recv(1) == b""
            # The other connections and the one that was answered stay open.
            waiting[1].sendall(b"GET /api/about HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert waiting[1].recv(12) == b"HTTP/1.1 200"
            assert http_client.get("/api/about").status_code == 200


def test_fewer_connections_are_allowed_where_few_files_are(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))
    assert most_connections() == 64
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1_000_000, 1_000_000))
    assert most_connections() == 512
