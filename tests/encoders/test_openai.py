"""The client of embedding servers, against a real server on loopback that misbehaves on purpose."""

import base64

import numpy as np
import pytest

from goldrank.encoders import load
from goldrank.errors import GoldrankError, InputError
from http_servers import RESET, STALL, HttpServer, Reply, json_reply


class EmbeddingServer(HttpServer):
    """A server of vectors [length, number of e's, 1] in reverse order; each of ``changes`` is applied to one answer."""

    def __init__(self):
        super().__init__(self._embed)
        self.changes = []
        self.url += "/v1"

    def _embed(self, request):
        body = request.json()
        rows = [[float(len(text)), float(text.count("e")), 1.0] for text in body["input"]]
        if self.changes:
            rows = self.changes.pop(0)(rows)
        entries = [{"index": i, "embedding": encoded(row, body)} for i, row in enumerate(rows)]
        return json_reply({"data": entries[::-1]})


def encoded(row, body):
    if body["encoding_format"] == "base64":
        return base64.b64encode(np.array(row, "<f4").tobytes()).decode()
    return row


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    with EmbeddingServer() as server:
        yield server


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
    for request in server.requests:
        body = request.json()
        assert request.path == "/v1/embeddings"
        assert body["model"] == "tiny"
        assert body["dimensions"] == 3
        assert len(body["input"]) <= 2
        assert request.headers["Authorization"] == "Bearer sk-very-secret"


def test_another_variable_can_hold_the_key_and_no_key_is_fine(server, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-mine")
    encoder(server, key="MY_KEY").encode_items(["a"])
    assert server.requests[-1].headers["Authorization"] == "Bearer sk-mine"
    monkeypatch.delenv("OPENAI_API_KEY")
    encoder(server).encode_items(["a"])
    assert server.requests[-1].headers["Authorization"] is None
    with pytest.raises(InputError, match="variable that is not set") as caught:
        encoder(server, key="sk-pasted-by-mistake")
    assert "pasted" not in str(caught.value)


def test_the_key_is_in_no_identity_and_in_no_message(server):
    model = encoder(server)
    assert "secret" not in model.identity + repr(model.__dict__)
    server.faults = [json_reply({"error": {"message": "bad key sk-very-secret"}}, 401)]
    with pytest.raises(InputError, match=r"HTTP 401: bad key \*\*\*; check the key in \$OPENAI_API_KEY"):
        model.encode_items(["a"])


@pytest.mark.parametrize("fault", [Reply(status=500), Reply(status=503), Reply(status=429), RESET])
def test_passing_trouble_is_tried_again(server, fault):
    server.faults = [fault]
    np.testing.assert_allclose(encoder(server).encode_items(TEXTS), EXPECTED)
    assert len(server.requests) == 2


def test_a_stalled_answer_times_out_and_is_tried_again(server):
    server.faults = [STALL]
    np.testing.assert_allclose(encoder(server, timeout=1).encode_items(TEXTS), EXPECTED)
    assert len(server.requests) > 1


def test_the_wait_is_the_one_the_server_asks_for(server):
    server.faults = [Reply(status=429, headers={"Retry-After": "1"})]
    encoder(server).encode_items(["a"])
    first, second = server.requests
    assert second.time - first.time >= 0.95


def test_trouble_that_stays_is_an_error_after_the_last_attempt(server):
    server.faults = [Reply(status=500, headers={"Retry-After": "0"})] * 9
    with pytest.raises(GoldrankError, match=r"no answer in 3 attempts \(HTTP 500\)"):
        encoder(server, retries=2).encode_items(["a"])
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("code", "remedy"), [(400, "length of the texts"), (401, "key"), (403, "key"), (404, "address and the model")]
)
def test_a_refusal_is_an_error_at_once(server, code, remedy):
    server.faults = [json_reply({}, code)]
    with pytest.raises(InputError, match=rf"HTTP {code}.*{remedy}"):
        encoder(server).encode_items(["a"])
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: [rows[0][:2], *rows[1:]], "different dimensions"),
        (lambda rows: rows[:-1], "returned 4 vectors for 5 texts"),
        (lambda rows: [], "returned 0 vectors"),
    ],
)
def test_wrong_vectors_are_refused(server, change, message):
    server.changes = [change]
    with pytest.raises(GoldrankError, match=message):
        encoder(server).encode_items(TEXTS)


@pytest.mark.parametrize(
    ("body", "message"), [(b"<html>", "not JSON"), (b'{"data": [{"vector": 1}]}', "not that of an embeddings server")]
)
def test_an_answer_that_holds_no_vectors_is_refused(server, body, message):
    server.faults = [Reply(body)]
    with pytest.raises(GoldrankError, match=message):
        encoder(server).encode_items(TEXTS)


def test_the_dimension_may_not_change_between_batches(server):
    server.changes = [lambda rows: rows, lambda rows: [row[:2] for row in rows]]
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
    model = encoder(server, query_prompt="query: ")
    model.encode_queries(["a"])
    model.encode_items(["a"])
    assert [request.json()["input"] for request in server.requests] == [["query: a"], ["a"]]
