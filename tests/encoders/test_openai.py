"""The client of embedding servers, against a real server on loopback that misbehaves on purpose."""

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from goldrank.encoders import load
from goldrank.errors import GoldrankError, InputError


class Server:
    """Answers with [length, number of e's, 1] per text; ``faults`` are played one per request, then all is well."""

    def __init__(self):
        self.requests, self.faults, self.times = [], [], []
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with outer.lock:
                    outer.requests.append((self.path, body, self.headers.get("Authorization")))
                    outer.times.append(time.monotonic())
                    fault = outer.faults.pop(0) if outer.faults else None
                outer.reply(self, body, fault)

            def log_message(self, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"

    def reply(self, handler, body, fault):
        code, headers, data = 200, {}, None
        rows = [[float(len(t)), float(t.count("e")), 1.0] for t in body["input"]]
        if fault == "stall":
            time.sleep(1.5)
        elif fault == "reset":
            handler.connection.close()
            return
        elif isinstance(fault, tuple):
            code, headers, data = fault
        elif fault == "wrong dimension":
            rows[0] = rows[0][:2]
        elif fault == "other dimension":
            rows = [row[:2] for row in rows]
        elif fault == "too few":
            rows = rows[:-1]
        elif fault == "not json":
            data = b"<html>"
        if data is None:
            entries = [{"index": i, "embedding": encoded(row, body)} for i, row in enumerate(rows)]
            data = json.dumps({"data": entries[::-1]}).encode()
        try:
            handler.send_response(code)
            for name, value in headers.items():
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(data)))
            handler.end_headers()
            handler.wfile.write(data)
        except OSError:
            pass


def encoded(row, body):
    if body["encoding_format"] == "base64":
        return base64.b64encode(np.array(row, "<f4").tobytes()).decode()
    return row


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    made = Server()
    yield made
    made.http.shutdown()
    made.http.server_close()


TEXTS = ["one", "the tree", "eee", "", "a longer text here"]
EXPECTED = np.array([[len(t or " "), t.count("e"), 1.0] for t in TEXTS])


def encoder(server, **options):
    return load(f"openai:tiny@{server.url}", normalize=False, **options)


@pytest.mark.parametrize(
    "options", [{}, {"batch_size": 2}, {"batch_size": 1, "concurrency": 3}, {"encoding": "base64"}]
)
def test_vectors_come_in_the_order_of_the_texts_though_the_server_shuffles(server, options):
    np.testing.assert_allclose(encoder(server, **options).encode_items(TEXTS), EXPECTED)


def test_batches_the_address_the_model_and_the_key_are_right(server):
    encoder(server, batch_size=2, server_dim=3).encode_items(TEXTS)
    assert len(server.requests) == 3
    for path, body, key in server.requests:
        assert path == "/v1/embeddings"
        assert body["model"] == "tiny"
        assert body["dimensions"] == 3
        assert len(body["input"]) <= 2
        assert key == "Bearer sk-very-secret"


def test_another_variable_can_hold_the_key_and_no_key_is_fine(server, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-mine")
    encoder(server, key="MY_KEY").encode_items(["a"])
    assert server.requests[-1][2] == "Bearer sk-mine"
    monkeypatch.delenv("OPENAI_API_KEY")
    encoder(server).encode_items(["a"])
    assert server.requests[-1][2] is None
    with pytest.raises(InputError, match="variable that is not set") as caught:
        encoder(server, key="sk-pasted-by-mistake")
    assert "pasted" not in str(caught.value)


def test_the_key_is_in_no_identity_and_in_no_message(server):
    made = encoder(server)
    assert "secret" not in made.identity + repr(made.__dict__)
    server.faults = [(401, {}, b'{"error": {"message": "bad key sk-very-secret"}}')]
    with pytest.raises(InputError, match=r"HTTP 401: bad key \*\*\*; check the key in \$OPENAI_API_KEY"):
        made.encode_items(["a"])


@pytest.mark.parametrize("fault", [(500, {}, b""), (503, {}, b""), (429, {}, b""), "reset"])
def test_passing_trouble_is_tried_again(server, fault):
    server.faults = [fault]
    np.testing.assert_allclose(encoder(server).encode_items(TEXTS), EXPECTED)
    assert len(server.requests) == 2


def test_a_stalled_answer_times_out_and_is_tried_again(server):
    server.faults = ["stall"]
    np.testing.assert_allclose(encoder(server, timeout=0.3).encode_items(TEXTS), EXPECTED)
    assert len(server.requests) == 2


def test_the_wait_is_the_one_the_server_asks_for(server):
    server.faults = [(429, {"Retry-After": "1"}, b"")]
    encoder(server).encode_items(["a"])
    assert 0.95 <= server.times[1] - server.times[0] < 1.5


def test_trouble_that_stays_is_an_error_after_the_last_attempt(server):
    server.faults = [(500, {"Retry-After": "0"}, b"")] * 9
    with pytest.raises(GoldrankError, match=r"no answer in 3 attempts \(HTTP 500\)"):
        encoder(server, retries=2).encode_items(["a"])
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("code", "remedy"), [(400, "length of the texts"), (401, "key"), (403, "key"), (404, "address and the model")]
)
def test_a_refusal_is_an_error_at_once(server, code, remedy):
    server.faults = [(code, {}, b"{}")]
    with pytest.raises(InputError, match=rf"HTTP {code}.*{remedy}"):
        encoder(server).encode_items(["a"])
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("wrong dimension", "different dimensions"),
        ("too few", "gave 4 vectors for 5 texts"),
        ("not json", "not JSON"),
        ((200, {}, b'{"data": [{"vector": 1}]}'), "another form"),
        ((200, {}, b'{"data": []}'), "gave 0 vectors"),
    ],
)
def test_a_wrong_answer_is_never_taken_for_vectors(server, fault, message):
    server.faults = [fault]
    with pytest.raises(GoldrankError, match=message):
        encoder(server).encode_items(TEXTS)


def test_the_dimension_may_not_change_between_batches(server):
    server.faults = [None, "other dimension"]
    with pytest.raises(GoldrankError, match="different dimensions"):
        encoder(server, batch_size=3).encode_items(TEXTS)


def test_a_server_that_is_not_there_is_named(server):
    with pytest.raises(GoldrankError, match=r"127\.0\.0\.1:9/v1/embeddings gave no answer in 1 attempts"):
        load("openai:tiny@http://127.0.0.1:9/v1", retries=0).encode_items(["a"])


def test_identity_knows_model_address_and_options_but_not_the_manner_of_asking(server):
    plain = encoder(server).identity
    assert encoder(server, batch_size=2, concurrency=4, timeout=3, retries=1).identity == plain
    assert encoder(server, server_dim=2).identity != plain
    assert load(f"openai:other@{server.url}", normalize=False).identity != plain


def test_truncated_vectors_have_unit_length_again(server):
    rows = load(f"openai:tiny@{server.url}", dim=2).encode_items(["three", "tree"])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, rtol=1e-6)


def test_prompts_go_to_their_own_side(server):
    made = encoder(server, query_prompt="query: ")
    made.encode_queries(["a"])
    made.encode_items(["a"])
    assert [body["input"] for _, body, _ in server.requests] == [["query: a"], ["a"]]
