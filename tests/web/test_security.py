"""Access control of the explorer: hosts, tokens, origins, paths, sizes, and fuzzed requests."""

import socket

import hypothesis
import pytest

pytest.importorskip("fastapi", reason="the explorer needs the extra web")

from goldrank.store import Store
from goldrank.web.security import COOKIE, LONGEST_QUERY, Access, is_loopback
from web.stores import client, judging_client, judging_project, key_of, ranked, served

TOKEN = "correct-horse-battery"


@pytest.fixture(scope="module")
def server(store):
    with served(store) as url:
        yield url


def test_every_answer_bears_the_protective_headers(store):
    http_client = client(store)
    for address in ("/", "/api/about", "/api/runs/nothing", "/static/nothing", "/api/docs", "/" + "x" * 2_000):
        headers = http_client.get(address).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    assert http_client.get("/api/about").headers["cache-control"] == "no-store"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8321", "", "[", "10.0.0.1"])
def test_a_name_bent_to_this_address_gets_no_answer(store, host):
    for address in ("/", "/api/about", "/static/app.js"):
        answer = client(store).get(address, headers={"host": host})
        assert answer.status_code == 421
        assert answer.json()["error"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:8321", "LOCALHOST", "[::1]:80"])
def test_this_machine_may_be_asked_by_all_its_names(store, host):
    assert client(store).get("/api/about", headers={"host": host}).status_code == 200


def test_without_the_token_nothing_is_told(store):
    http_client = client(store, access=Access(TOKEN))
    for address in ("/", "/api/about", "/api/openapi.json", "/static/plotly.min.js", "/?token=wrong"):
        answer = http_client.get(address)
        assert answer.status_code == 401
        assert TOKEN not in answer.text
        assert "set-cookie" not in answer.headers


def test_the_token_opens_as_bearer(store):
    http_client = client(store, access=Access(TOKEN))
    assert http_client.get("/api/about", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    for wrong in (f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer", TOKEN, f"Basic {TOKEN}", "Bearer é"):
        headers = {"authorization": wrong.encode("utf-8")}
        assert http_client.get("/api/about", headers=headers).status_code == 401


def test_the_token_in_the_address_becomes_a_cookie_once(store):
    http_client = client(store, access=Access(TOKEN))
    answer = http_client.get(f"/compare?key=a&token={TOKEN}&q=b%20c", follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/compare?key=a&q=b+c"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert TOKEN not in cookie
    assert http_client.get("/api/about").status_code == 200
    stranger = client(store, access=Access(TOKEN))
    stranger.cookies.set(COOKIE, TOKEN)
    assert stranger.get("/api/about").status_code == 401


def raw(url: str, target: str) -> tuple[int, str]:
    """Return the status and the raw response to a request target that HTTP clients would normalise."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=300) as connection:
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode("latin-1"))
        response = b"".join(iter(lambda: connection.recv(65_536), b"")).decode()
    return int(response.split(" ", 2)[1]), response


def test_the_way_back_never_leads_to_another_host(store):
    with served(store, access=Access(TOKEN)) as url:
        for path in (
            "//evil.example/",
            "/\\evil.example",
            "///evil.example",
            "/%5Cevil.example",
            "//evil.example/%2f..",
        ):
            status, response = raw(url, f"{path}?token={TOKEN}")
            assert status == 303
            (location,) = [line for line in response.splitlines() if line.lower().startswith("location:")]
            assert location.split(" ", 1)[1].startswith("/evil.example")


def test_any_other_address_than_loopback_answers_to_any_name_but_only_with_the_token(store):
    http_client = client(store, access=Access.on("0.0.0.0", TOKEN))
    assert http_client.get("/api/about", headers={"host": "my-server"}).status_code == 401
    headers = {"host": "my-server", "authorization": f"Bearer {TOKEN}"}
    assert http_client.get("/api/about", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("host", "local"),
    [
        *((host, True) for host in ("127.0.0.1", "127.8.9.1", "::1", "localhost", "LOCALHOST")),
        *((host, False) for host in ("0.0.0.0", "::", "192.168.1.2", "example.org", "localhost.example.org", "")),
    ],
)
def test_which_addresses_only_this_machine_reaches(host, local):
    assert is_loopback(host) is local


def test_nothing_is_deleted_unless_that_was_allowed(store):
    key = key_of(store, "wines", "good")
    answer = client(store).delete(f"/api/runs/{key}")
    assert answer.status_code == 403
    assert "--allow-delete" in answer.json()["remedy"]
    assert client(store).get(f"/api/runs/{key}").status_code == 200


def test_only_pages_of_this_server_may_delete(tmp_path):
    store = Store.open(tmp_path)
    key = store.save(ranked("good")).key
    http_client = client(store, allow_delete=True)
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ):
        assert http_client.delete(f"/api/runs/{key}", headers=headers).status_code == 403
    assert http_client.delete(f"/api/runs/{key[:-1]}").status_code == 404
    own = {"origin": "http://127.0.0.1:8321", "sec-fetch-site": "same-origin"}
    assert http_client.delete(f"/api/runs/{key}", headers=own).json() == {"deleted": [key]}
    assert store.list() == []
    assert http_client.delete(f"/api/runs/{key}", headers=own).status_code == 404


def test_pages_of_other_sites_cannot_make_it_work(store):
    http_client = client(store)
    for site in ("cross-site", "same-site"):
        headers = {"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}
        assert http_client.get("/api/about", headers=headers).status_code == 403
        assert http_client.get("/api/about", headers={**headers, "sec-fetch-mode": "navigate"}).status_code == 200
    for site in ("same-origin", "none"):
        assert http_client.get("/api/about", headers={"sec-fetch-site": site}).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2f..%2f..%2fetc/passwd",
        "/static/%2e%2e/%2e%2e/app.py",
        "/static//etc/passwd",
        "/static/..%5capp.py",
        "/static/app.py",
        "/static/%00",
        "/static/",
        "/..%2f..%2fetc/passwd",
        "/api/runs/..%2f..%2fetc%2fpasswd",
        "/api/masked/../../etc/passwd/page?id=x",
        "/a%0d%0aSet-Cookie:x",
    ],
)
def test_no_path_reaches_the_file_system(server, path):
    status, response = raw(server, path)
    assert status == 404
    assert '{"error":"there is nothing at this address"' in response or "no stored run" in response


def test_huge_addresses_and_bodies_are_refused(store):
    http_client = client(store)
    assert http_client.get("/api/runs?q=" + "x" * (LONGEST_QUERY + 1)).status_code == 414
    assert http_client.get("/api/runs/" + "x" * 5_000).status_code == 414
    assert http_client.get("/api/runs", params={"q": "x" * 301}).status_code == 422
    assert http_client.request("GET", "/api/about", content=b"x" * 100_000).status_code == 413
    assert http_client.get("/api/score", params={"key": ["a"] * 21}).status_code == 422


def test_other_methods_are_refused_in_the_same_shape(store):
    for method in ("POST", "PUT", "PATCH"):
        answer = client(store).request(method, "/api/runs")
        assert answer.status_code == 405
        assert answer.json()["error"]


def test_a_fault_of_the_server_tells_nothing_of_its_inside(store, monkeypatch):
    def fail(*_arguments: object) -> None:
        raise RuntimeError("a secret of the inside")

    monkeypatch.setattr("goldrank.web.store_reader.StoreReader.run", fail)
    answer = client(store).get("/api/runs/some-key")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert set(answer.json()) == {"error", "where", "remedy"}
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_every_view_has_the_one_page_and_files_are_not_sent_twice(store):
    http_client = client(store)
    page = http_client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    for address in ("/compare?key=a&key=b", "/runs/some-key", "/query/x/y", "/masked"):
        assert http_client.get(address).content == page.content
    again = http_client.get("/", headers={"if-none-match": page.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for name, kind in (("app.js", "text/javascript"), ("style.css", "text/css"), ("icon.svg", "image/svg+xml")):
        file = http_client.get(f"/static/{name}", headers={"accept-encoding": "gzip"})
        assert file.headers["content-type"].startswith(kind)
        assert (file.headers.get("content-encoding") == "gzip") == (len(file.content) >= 500)
        assert file.headers["cache-control"] == "no-cache"
        again = http_client.get(f"/static/{name}", headers={"if-none-match": file.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


@pytest.mark.slow
def test_a_fuzzer_finds_no_failure_of_the_server(store):
    app = client(store, access=Access(hosts=None)).app
    fuzz(app, [run.key for run in store.list()])


@pytest.mark.slow
def test_a_fuzzer_finds_no_failure_of_the_judging_page(tmp_path):
    project = judging_project(tmp_path / "judging")
    fuzz(judging_client(project, access=Access(hosts=None)).app, [])
    assert {(label.query, label.item) for label in project.labels()} <= project.pairs


def fuzz(app, keys):
    """Send requests of every kind that the schema describes, most of them with one of the *keys*."""
    schemathesis = pytest.importorskip("schemathesis", reason="fuzzing needs the package schemathesis")
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", app)
    statuses = set()
    for result in schema.get_all_operations():
        operation = result.ok()
        settings = hypothesis.settings(
            max_examples=12, deadline=None, database=None, suppress_health_check=list(hypothesis.HealthCheck)
        )

        @settings
        @hypothesis.seed(7)
        @hypothesis.given(case=operation.as_strategy(), known=hypothesis.strategies.sampled_from([*keys, None]))
        def send(case, known):
            # An unknown key ends most requests early, so most requests are sent with a stored key.
            if known is not None and "key" in (case.query or {}):
                case.query["key"] = [known]
            if known is not None and "key" in (case.path_parameters or {}):
                case.path_parameters["key"] = known
            if case.query and "resamples" in case.query:
                case.query["resamples"] = 100
            answer = case.call()
            statuses.add(answer.status_code)
            assert answer.status_code < 500, (case.formatted_path, case.query, answer.text)
            if answer.status_code >= 400:
                assert set(answer.json()) == {"error", "where", "remedy"}

        send()
    assert 200 in statuses


def test_no_secret_of_a_model_or_command_line_is_stored_or_answered(tmp_path):
    store = Store.open(tmp_path / "secrets")
    record = ranked(
        "http:https://ann:hunter2@host/search?api_key=hunter2",
        inputs={"task": "wines", "model": "http:https://ann:hunter2@host/search?api_key=hunter2", "data": "ab" * 20},
        environment={"command": "run --store postgresql://ann:hunter2@host/runs", "remarks": []},
    )
    run = store.save(record)
    api = client(store)
    for address in ("runs", f"runs/{run.key}", f"score?key={run.key}", f"queries?key={run.key}"):
        answer = api.get(f"/api/{address}")
        assert "hunter2" not in answer.text, address
    assert "host/search?api_key=***" in api.get(f"/api/runs/{run.key}").text
    for file in (tmp_path / "secrets").rglob("*"):
        assert file.is_dir() or b"hunter2" not in file.read_bytes(), file
