"""The client of search servers, against a real server on loopback that misbehaves on purpose."""

import itertools
import time
from urllib.parse import parse_qs, urlsplit

import pytest

from goldrank.encoders import Searcher, http_client, load
from goldrank.errors import GoldrankError, InputError
from goldrank.io import downloads
from http_servers import RESET, STALL, HttpServer, Reply, json_reply

CORPUS = {f"d{number}": f"word{number % 7} common word{number % 3}" for number in range(20)}


class SearchServer(HttpServer):
    """A server that ranks by shared words; ``read`` takes text and k from a request, ``shape`` makes the answer."""

    def __init__(self):
        super().__init__(self._search)
        self.shape = lambda results: {"results": [{"id": item, "score": score} for item, score in results]}
        self.read = lambda query, body: (query["q"][0], int(query["k"][0]))
        self.url += "/search"

    def _search(self, request):
        query = parse_qs(urlsplit(request.path).query, keep_blank_values=True)
        return json_reply(self.shape(rank(*self.read(query, request.json() if request.body else None))))


def rank(text, k):
    shared = {item: float(len(set(text.split()) & set(words.split()))) for item, words in CORPUS.items()}
    return sorted(((i, s) for i, s in shared.items() if s), key=lambda e: (e[1], e[0]), reverse=True)[:k]


@pytest.fixture
def server():
    with SearchServer() as server:
        yield server


IDS = [f"q{number}" for number in range(12)]
TEXTS = [f"word{number % 7} word{number % 3} & ü?=" for number in range(12)]
EXPECTED = {query: dict(rank(text, 5)) for query, text in zip(IDS, TEXTS, strict=True)}


def model(server, **options):
    return load(f"http:{server.url}", **options)


@pytest.mark.parametrize("concurrency", [1, 2, 7, 50])
def test_results_are_the_same_whatever_the_concurrency(server, concurrency):
    searcher = model(server, concurrency=concurrency)
    assert isinstance(searcher, Searcher)
    run = searcher.search(IDS, TEXTS, 5)
    assert run.to_dict() == EXPECTED
    assert run.queries == IDS
    assert len(server.requests) == len(IDS)


def test_a_get_keeps_what_the_address_says_already_and_escapes_the_query(server):
    load(f"http:{server.url}?lang=en&q2=x(size=k)").search(["q"], ["a&b=c d+e %20 é #"], 3)
    request = server.requests[0]
    assert request.method == "GET"
    assert parse_qs(urlsplit(request.path).query) == {
        "lang": ["en"],
        "q2": ["x"],
        "q": ["a&b=c d+e %20 é #"],
        "k": ["3"],
    }


def test_an_address_alone_is_a_spec_too(server):
    assert load(server.url).search(IDS, TEXTS, 5).to_dict() == EXPECTED


def test_elasticsearch_can_be_asked_and_read(server):
    server.read = lambda query, body: (body["query"]["match"]["text"], body["size"])
    server.shape = lambda results: {
        "took": 3,
        "hits": {"total": {"value": 9}, "hits": [{"_id": i, "_score": s, "_source": {}} for i, s in results]},
    }
    spec = (
        f"http:{server.url}/articles/_search(method=post, query=query.match.text, size=size, results=hits.hits, "
        """id=_id, score=_score, body='{"_source": false, "query": {"match": {"boost": 2}}}')"""
    )
    assert load(spec).search(IDS, TEXTS, 5).to_dict() == EXPECTED
    sent = server.requests[0].json()
    assert sent == {"_source": False, "query": {"match": {"boost": 2, "text": TEXTS[0]}}, "size": 5}


def test_typesense_and_vespa_can_be_asked_and_read(server, monkeypatch):
    monkeypatch.setenv("TYPESENSE_KEY", "ts-secret")
    server.read = lambda query, body: (query["q"][0], int(query["per_page"][0]))
    server.shape = lambda results: {"hits": [{"document": {"id": i}, "text_match": s} for i, s in results]}
    spec = f"http:{server.url}?query_by=text(size=per_page,results=hits,id=document.id,score=text_match"
    searcher = load(f"{spec},key_env=TYPESENSE_KEY,key_header=X-TYPESENSE-API-KEY)")
    assert searcher.search(IDS, TEXTS, 5).to_dict() == EXPECTED
    assert server.requests[0].headers["X-TYPESENSE-API-KEY"] == "ts-secret"
    assert "Authorization" not in server.requests[0].headers
    server.read = lambda query, body: (query["query"][0], int(query["hits"][0]))
    server.shape = lambda results: {"root": {"children": [{"fields": {"key": i}, "relevance": s} for i, s in results]}}
    searcher = model(server, query="query", size="hits", results="root.children", id="fields.key", score="relevance")
    assert searcher.search(IDS, TEXTS, 5).to_dict() == EXPECTED


@pytest.mark.parametrize(
    "shape", [lambda results: [item for item, _ in results], lambda results: [{"id": item} for item, _ in results]]
)
def test_results_without_scores_count_in_their_order(server, shape):
    server.shape = shape
    run = model(server, results="").search(IDS, TEXTS, 5)
    for query, ranking in EXPECTED.items():
        assert list(run[query].items()) == [(item, 5.0 - position) for position, item in enumerate(ranking)]


def test_a_server_that_gives_more_than_asked_for_is_cut(server):
    server.read = lambda query, body: (query["q"][0], 20)
    assert model(server).search(IDS, TEXTS, 5).to_dict() == EXPECTED


def test_the_key_is_sent_and_stands_in_no_identity_and_no_message(server, monkeypatch):
    monkeypatch.setenv("SEARCH_KEY", "very-secret")
    searcher = model(server, key_env="SEARCH_KEY")
    searcher.search(["q"], ["word1"], 3)
    assert server.requests[0].headers["Authorization"] == "Bearer very-secret"
    assert "very-secret" not in searcher.identity + repr(searcher.__dict__)
    server.faults = [json_reply({"error": "bad key very-secret"}, 401)]
    with pytest.raises(InputError, match=r"HTTP 401: bad key \*\*\*; check the key.* in \$SEARCH_KEY"):
        searcher.search(["q"], ["word1"], 3)
    with pytest.raises(InputError, match="variable that is not set") as caught:
        model(server, key_env="pasted-by-mistake")
    assert "pasted" not in str(caught.value)


def test_the_key_does_not_follow_where_the_server_sends_us(server, monkeypatch):
    monkeypatch.setenv("SEARCH_KEY", "very-secret")
    with SearchServer() as other:
        server.faults = [Reply(status=302, headers={"Location": f"{other.url}?q=word1&k=3"})]
        model(server, key_env="SEARCH_KEY").search(["q"], ["word1"], 3)
    assert "Authorization" in server.requests[0].headers
    assert "Authorization" not in other.requests[0].headers


@pytest.mark.parametrize("fault", [Reply(status=500), Reply(status=503), Reply(status=429), RESET])
def test_passing_trouble_is_tried_again(server, fault):
    server.faults = [fault]
    assert model(server).search(IDS[:2], TEXTS[:2], 5).to_dict() == {q: EXPECTED[q] for q in IDS[:2]}
    assert len(server.requests) == 3


def test_a_stalled_answer_times_out_and_is_tried_again(server):
    server.faults = [STALL]
    assert model(server, timeout=1).search(IDS[:1], TEXTS[:1], 5)["q0"] == EXPECTED["q0"]
    assert len(server.requests) > 1


def test_the_wait_is_the_one_the_server_asks_for(server):
    server.faults = [Reply(status=429, headers={"Retry-After": "1"})]
    model(server).search(["q"], ["word1"], 3)
    first, second = server.requests
    assert second.time - first.time >= 0.95


def test_a_rate_limited_search_in_parallel_gives_the_same_results(server):
    busy = [Reply(status=429, headers={"Retry-After": "0"}), Reply(status=503, headers={"Retry-After": "nan"})]
    server.faults = [None, *busy, None] * 3
    assert model(server, concurrency=4).search(IDS, TEXTS, 5).to_dict() == EXPECTED


def test_trouble_that_stays_is_an_error_after_the_last_attempt(server):
    server.faults = [Reply(status=500, headers={"Retry-After": "0"})] * 9
    with pytest.raises(GoldrankError, match=r"query 'q' gave no answer in 3 attempts \(HTTP 500\)"):
        model(server, retries=2).search(["q"], ["x"], 3)
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("code", "remedy"), [(400, "query="), (401, "key_env="), (403, "key"), (404, "address"), (405, "method=post")]
)
def test_a_refusal_is_an_error_at_once_and_the_rest_is_not_asked(server, code, remedy):
    server.faults = [json_reply({}, code)] * 1000
    with pytest.raises(InputError, match=rf"query 'q0' refused with HTTP {code}.*{remedy}"):
        model(server, concurrency=2).search([f"q{number}" for number in range(500)], ["x"] * 500, 3)
    assert len(server.requests) < 100


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"<html>", "not JSON"),
        (b"", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"{}", "the answer has no results=results (it has )"),
        (b'{"hits": []}', "the answer has no results=results (it has hits)"),
        (b"[]", "the answer has no results=results (it is [])"),
        (b'{"results": {"a": 1}}', "results=results is dict, not a list"),
        (b'{"results": [{"_id": "a"}]}', "result 1 has no id=id (it has _id)"),
        (b'{"results": [{"id": "a", "score": 1}, {"id": "b"}]}', "result 2 has no score=score"),
        (b'{"results": [{"id": "a", "score": 1}, "b"]}', "result 2 has no id=id (it is 'b')"),
        (b'{"results": [{"id": "a", "score": NaN}]}', "result 1: the score 'nan' is not a finite number"),
        (b'{"results": [{"id": "a", "score": "1"}]}', "result 1: the score '1' is of type str"),
        (b'{"results": [{"id": null, "score": 1}]}', "result 1: the item id is missing"),
        (b'{"results": [{"id": "a", "score": 1}, {"id": "a", "score": 2}]}', "the item 'a' was found twice"),
    ],
)
def test_a_wrong_answer_is_never_taken_for_a_ranking(server, answer, message):
    server.faults = [Reply(answer)]
    with pytest.raises(GoldrankError) as caught:
        model(server).search(["q7"], ["x"], 3)
    assert message in str(caught.value)
    assert "query 'q7'" in str(caught.value)


def test_a_score_that_was_named_has_to_be_there(server):
    server.faults = [json_reply({"results": [{"id": "a"}]})]
    with pytest.raises(GoldrankError, match="result 1 has no score=rank"):
        model(server, score="rank").search(["q"], ["x"], 3)


def test_items_that_are_not_in_the_corpus_are_counted_and_a_foreign_corpus_is_refused(server):
    searcher = model(server)
    searcher.index([item for item in CORPUS if item != "d1"], [""] * 19)
    searcher.search(IDS, TEXTS, 20)
    assert searcher.unknown == {"d1"}
    searcher.index(["x"], [""])
    with pytest.raises(InputError, match="ranked ids is an item"):
        searcher.search(IDS, TEXTS, 5)


def test_a_server_that_is_not_there_is_named():
    with pytest.raises(GoldrankError, match=r"127\.0\.0\.1:9/x: query 'q' gave no answer in 1 attempts"):
        load("http://127.0.0.1:9/x", retries=0).search(["q"], ["a"], 3)


def test_the_identity_knows_the_address_and_the_fields_but_not_the_manner_of_asking(server):
    plain = model(server).identity
    assert model(server, concurrency=4, timeout=3, retries=1).identity == plain
    assert model(server, query="query").identity != plain


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("http", "is not an address"),
        ("http:localhost:8000/search", "is not an address"),
        ("http:ftp://host/search", "is not an address"),
        ("http:http://host:port/search", "is not an address"),
        ("http:http://me:word@host/search", "holds a password"),
        ("http:http://h/s(method=put)", "method=get|post"),
        ("http:http://h/s(query=a..b)", "is not a field"),
        ("http:http://h/s(body='{}')", "add method=post"),
        ("http:http://h/s(method=post,body='[1]')", "not a JSON object"),
        ("http:http://h/s(method=post,body='{')", "not a JSON object"),
        ("http:http://h/s(method=post,query=a.b,body='{\"a\": 1}')", "no room for a.b"),
        ("http:http://h/s(key_header=X)", "has no effect without a key"),
        ("http:http://h/s(concurrency=0)", "from 1 to 1000000000"),
        ("http:http://h/s(result=hits)", "did you mean 'results'"),
    ],
)
def test_a_bad_spec_is_one_clear_sentence(spec, message):
    with pytest.raises(InputError) as caught:
        load(spec)
    assert message in str(caught.value)
    assert "word@" not in str(caught.value)


def trickle():
    while True:
        yield b"["
        time.sleep(0.01)


def test_an_answer_without_end_is_an_error_and_not_asked_for_again(server, monkeypatch):
    server.faults = [Reply(itertools.repeat(b"[" * (1 << 16)))]
    monkeypatch.setattr(downloads, "ANSWER_LIMIT", 1 << 20)
    with pytest.raises(GoldrankError, match="answered with more than 1 MiB; ask for less at a time"):
        model(server).search(["q"], ["text"], 3)


def test_an_answer_that_trickles_for_ever_is_an_error(server, monkeypatch):
    server.faults = [Reply(trickle())]
    # The timeout between two bytes is long, so that a busy machine does not reach it.
    monkeypatch.setattr(http_client, "_ANSWER_TIME", 1 / 60)
    with pytest.raises(GoldrankError, match="answered with a text that was not complete after 1 s"):
        model(server, timeout=60).search(["q"], ["text"], 3)


def test_an_answer_that_breaks_off_is_asked_for_again(server):
    server.faults = [Reply(b'{"results": [', headers={"Content-Length": "1000"})]
    assert model(server).search(IDS[:1], TEXTS[:1], 5).to_dict() == {"q0": EXPECTED["q0"]}
    assert len(server.requests) == 2
