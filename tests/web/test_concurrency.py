"""Concurrent readers get no errors, locks or incomplete runs while a writer stores runs."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("fastapi", reason="the explorer needs the extra web")
pytest.importorskip("httpx", reason="readers need the package httpx")

import httpx

from goldrank.store import Store
from goldrank.web.cache import Cache
from web.stores import DATA, ITEMS, QUERIES, ranked, served

READERS, WRITTEN = 50, 8


@pytest.mark.slow
def test_fifty_readers_and_a_writer_do_not_disturb_each_other(where):
    store = Store.open(where)
    first = store.save(ranked("good")).key
    store.texts(DATA).save(QUERIES, ITEMS)
    finished = threading.Event()

    def write() -> None:
        own = Store.open(where)
        try:
            for number in range(1, WRITTEN + 1):
                own.save(ranked("bad", number=number))
        finally:
            finished.set()

    def read(reader: int) -> list[tuple[int, str]]:
        responses = []
        with httpx.Client(base_url=url, timeout=300, trust_env=False) as http_client:
            while True:
                last_round = finished.is_set()
                listed = http_client.get("/api/runs", params={"size": 200})
                newest = listed.json()["runs"][0]["key"]
                answers = [
                    listed,
                    http_client.get("/api/about"),
                    http_client.get("/api/query", params={"key": [first, newest], "query": "q1"}),
                    http_client.get("/api/score", params={"key": newest, "resamples": 100 + reader}),
                    http_client.get("/api/queries", params={"key": [newest, first]}),
                ]
                responses += [(answer.status_code, answer.text[:200]) for answer in answers]
                if last_round:
                    return responses

    with served(store) as url, ThreadPoolExecutor(READERS + 1) as pool:
        writing = pool.submit(write)
        reading = [pool.submit(read, reader) for reader in range(READERS)]
        writing.result(200)
        responses = [answer for future in reading for answer in future.result(200)]
        total = httpx.get(f"{url}/api/about", trust_env=False).json()["runs"]
    assert [answer for answer in responses if answer[0] != 200] == []
    assert len(responses) >= 5 * READERS
    assert total == WRITTEN + 1


def test_what_several_want_at_once_is_made_once():
    cache, computed = Cache(1_000), []
    together = threading.Barrier(8)

    def compute() -> str:
        computed.append(threading.get_ident())
        return "thing"

    def want(_: int) -> str:
        together.wait(300)
        return cache.get("key", compute, len)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(want, range(8))) == {"thing"}
    assert len(computed) == 1


def test_a_cache_keeps_what_was_used_last_and_nothing_that_is_too_large():
    cache = Cache(100)
    computed = []

    def want(name: str, size: int) -> None:
        cache.get(name, lambda: computed.append(name), lambda _: size)

    for name, size in (("a", 40), ("b", 40), ("a", 40), ("c", 40), ("a", 40), ("b", 40), ("huge", 101), ("huge", 101)):
        want(name, size)
    assert computed == ["a", "b", "c", "b", "huge", "huge"]


def test_what_failed_is_tried_again():
    cache = Cache(100)

    def fail() -> str:
        raise ValueError("not today")

    with pytest.raises(ValueError, match="not today"):
        cache.get("key", fail, len)
    assert cache.get("key", lambda: "value", len) == "value"


def test_things_made_of_other_things_never_wait_for_each_other():
    cache, together = Cache(1_000, workers=2), threading.Barrier(2)

    def want(number: int) -> str:
        def compute() -> str:
            together.wait(300)
            return cache.get(("part", number), lambda: "part", len) + "s"

        return cache.get(("whole", number), compute, len)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(want, range(2), timeout=300)) == ["parts", "parts"]
