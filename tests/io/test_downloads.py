"""Downloads from a local server that stalls, breaks off, sends wrong bytes, ignores ranges or is busy."""

import hashlib
import json
import multiprocessing

import pytest

from goldrank.errors import GoldrankError, InputError
from goldrank.io.downloads import fetch
from http_servers import HttpServer, Reply

CONTENT = bytes(range(256)) * 2000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
MD5 = hashlib.md5(CONTENT, usedforsecurity=False).hexdigest()


class FileServer(HttpServer):
    """A server of one file with ranges; each of ``answers`` changes the answer to one request."""

    def __init__(self):
        super().__init__(self._send)
        self.body, self.answers = CONTENT, []
        self.url += "/wines.txt"

    def _send(self, request):
        answer = self.answers.pop(0) if self.answers else {}
        if status := answer.get("status"):
            return Reply(status=status)
        body, tag = answer.get("body", self.body), answer.get("tag", '"one"')
        start = 0
        if (wanted := request.headers["Range"]) and answer.get("ranges", True) and request.headers["If-Range"] == tag:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
        headers = {
            "Content-Length": str(len(body) - start) if answer.get("length", True) else None,
            "Content-Range": f"bytes {start}-{len(body) - 1}/{len(body)}" if start else None,
            "ETag": tag,
        }
        sent = body[start : answer.get("until", len(body))]
        return Reply(sent, 206 if start else 200, headers, answer.get("hold", False))

    @property
    def asked(self):
        """The requested ranges; None is the whole file."""
        return [request.headers["Range"] for request in self.requests]


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    with FileServer() as server:
        yield server


def get(server, **options):
    arguments = {"name": "wines.txt", "sha256": SHA256, "pause": 0.01, "timeout": 5, **options}
    return fetch(server.url, **arguments)


def left_behind(path):
    return sorted(entry.name for entry in path.parent.iterdir())


@pytest.mark.parametrize("checksum", [{}, {"sha256": None, "md5": MD5}, {"sha256": SHA256.upper(), "md5": "0" * 32}])
def test_a_file_is_downloaded_once_and_kept(server, tmp_path, checksum):
    path = get(server, size=len(CONTENT), **checksum)
    assert path == tmp_path / "cache" / "downloads" / "wines.txt"
    assert path.read_bytes() == CONTENT
    assert get(server, **checksum) == path
    assert server.asked == [None]
    assert left_behind(path) == ["wines.txt", "wines.txt.lock"]


def test_a_connection_that_breaks_is_taken_up_where_it_ended(server):
    server.answers = [{"until": 100_000}, {"until": 300_000}, {}]
    assert get(server).read_bytes() == CONTENT
    assert server.asked == [None, "bytes=99999-", "bytes=299999-"]


def test_a_server_that_cuts_again_and_again_is_asked_as_long_as_it_gets_further(server):
    server.answers = [{"until": end} for end in range(20_000, len(CONTENT), 20_000)]
    assert get(server, attempts=2).read_bytes() == CONTENT
    assert len(server.asked) == len(range(20_000, len(CONTENT), 20_000)) + 1


def test_a_server_that_ignores_ranges_makes_it_start_over(server):
    server.answers = [{"until": 100_000}, {"ranges": False}]
    assert get(server).read_bytes() == CONTENT


def test_a_server_that_ignores_ranges_and_always_cuts_is_given_up(server):
    server.answers = [{"until": 100_000, "ranges": False}] * 50
    with pytest.raises(InputError, match="the transfer ended after 100000 of 512000 bytes"):
        get(server, attempts=3)
    assert len(server.asked) <= 5


def test_a_file_that_changed_meanwhile_is_not_patched_together(server):
    server.answers = [{"body": b"x" * len(CONTENT), "until": 100_000, "tag": '"old"'}, {}]
    assert get(server).read_bytes() == CONTENT


def test_without_a_strong_mark_it_starts_over(server):
    server.answers = [{"until": 100_000, "tag": 'W/"weak"'}, {}]
    assert get(server).read_bytes() == CONTENT
    assert server.asked == [None, None]


def test_the_next_call_takes_up_what_the_last_one_left(server, tmp_path):
    server.answers = [{"until": 200_000}, {"status": 503}]
    with pytest.raises(InputError, match="the transfer ended after 200000 of 512000 bytes"):
        get(server, attempts=1)
    with pytest.raises(InputError, match="HTTP 503"):
        get(server, attempts=1)
    part = tmp_path / "cache" / "downloads" / "wines.txt.part"
    assert part.stat().st_size == 200_000
    assert get(server).read_bytes() == CONTENT
    assert server.asked[-1] == "bytes=199999-"


def test_a_part_that_is_whole_already_is_only_checked(server, tmp_path):
    folder = tmp_path / "cache" / "downloads"
    folder.mkdir(parents=True)
    (folder / "wines.txt.part").write_bytes(CONTENT)
    metadata = {"url": server.url, "checksum": SHA256, "mark": '"one"'}
    (folder / "wines.txt.part.json").write_text(json.dumps(metadata))
    assert get(server).read_bytes() == CONTENT
    assert server.asked == [f"bytes={len(CONTENT) - 1}-"]


@pytest.mark.parametrize("about", ["", "{}", "[]", '{"url": "other", "checksum": "x", "mark": "y"}'])
def test_a_part_of_unknown_origin_is_not_used(server, tmp_path, about):
    folder = tmp_path / "cache" / "downloads"
    folder.mkdir(parents=True)
    (folder / "wines.txt.part").write_bytes(b"other" * 1000)
    (folder / "wines.txt.part.json").write_text(about)
    assert get(server).read_bytes() == CONTENT
    assert server.asked == [None]


def test_a_server_that_stalls_counts_as_broken(server):
    server.answers = [{"until": 100_000, "hold": True}, {}]
    assert get(server, timeout=1).read_bytes() == CONTENT
    assert server.asked[1] == "bytes=99999-"


def test_a_busy_server_is_asked_again(server):
    server.answers = [{"status": 503}, {"status": 429}, {}]
    assert get(server).read_bytes() == CONTENT


@pytest.mark.parametrize("status", [404, 403, 410])
def test_what_is_not_there_is_told_at_once_with_what_to_do(server, tmp_path, status):
    server.answers = [{"status": status}] * 9
    with pytest.raises(InputError, match=f"HTTP {status}.*download it by hand and give its path") as error:
        get(server)
    assert str(error.value).startswith(server.url)
    assert str(tmp_path / "cache" / "downloads" / "wines.txt") in str(error.value)
    assert len(server.asked) == 1


@pytest.mark.parametrize("length", [True, False])
def test_wrong_content_is_refused_and_removed(server, tmp_path, length):
    server.answers = [{"body": b"<html>log in</html>", "length": length}]
    with pytest.raises(InputError, match=r"received \(19 bytes, sha256 .*\) is not the one wanted"):
        get(server)
    assert left_behind(tmp_path / "cache" / "downloads" / "x") == ["wines.txt.lock"]
    assert get(server).read_bytes() == CONTENT


def test_more_than_the_known_size_is_not_taken_in(server, tmp_path):
    server.body = CONTENT * 20
    with pytest.raises(InputError, match="sends more than the 512000 bytes"):
        get(server, size=len(CONTENT))
    assert left_behind(tmp_path / "cache" / "downloads" / "x") == ["wines.txt.lock"]


def test_a_damaged_file_in_the_cache_is_downloaded_again(server):
    path = get(server)
    path.write_bytes(CONTENT[:-1] + b"x")
    assert get(server).read_bytes() == CONTENT
    assert len(server.asked) == 2


def test_no_server_is_told_with_what_to_do(server):
    server.close()
    with pytest.raises(InputError, match=r"cannot be downloaded \(Connection refused\); download it by hand"):
        get(server, attempts=2)


def test_no_name_server_is_told_without_waiting(tmp_path, monkeypatch):
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path))
    monkeypatch.setenv("no_proxy", "*")
    with pytest.raises(InputError, match="cannot be downloaded"):
        fetch("http://no-such-host.invalid/x", name="x", sha256=SHA256, pause=3600)


def test_a_file_put_there_by_hand_is_taken_without_the_network(server, tmp_path):
    folder = tmp_path / "cache" / "downloads"
    folder.mkdir(parents=True)
    (folder / "wines.txt").write_bytes(CONTENT)
    assert get(server).read_bytes() == CONTENT
    assert server.asked == []


def fetch_in_process(url, results):
    results.put(fetch(url, name="wines.txt", sha256=SHA256, pause=0.01).read_bytes() == CONTENT)


def test_two_processes_download_it_once(server):
    server.answers = [{"sleep": 0.5}]
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    processes = [context.Process(target=fetch_in_process, args=(server.url, results)) for _ in range(3)]
    for process in processes:
        process.start()
    assert [results.get(timeout=300) for _ in processes] == [True] * 3
    for process in processes:
        process.join()
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sha256": None}, "without a checksum"),
        ({"sha256": "abc"}, "is not a sha256 checksum"),
        ({"name": "../x"}, "is not the name of a file"),
        ({"name": ""}, "is not the name of a file"),
    ],
)
def test_what_a_caller_gets_wrong_is_said(server, options, message):
    with pytest.raises(InputError, match=message):
        get(server, **options)


def test_only_the_web_is_fetched(tmp_path):
    with pytest.raises(InputError, match="only http and https"):
        fetch(f"file://{tmp_path}/x", name="x", sha256=SHA256)


def test_a_cache_that_cannot_be_written_is_told(server, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path / "file"))
    with pytest.raises(GoldrankError, match=r"cannot be kept .*GOLDRANK_CACHE"):
        get(server)


def test_a_download_of_unknown_size_ends_at_the_limit(server, tmp_path, monkeypatch):
    monkeypatch.setenv("GOLDRANK_MAX_BYTES", "100000")
    server.answers = [{"length": False}]
    with pytest.raises(InputError, match=r"more than 100000 bytes came; .* set GOLDRANK_MAX_BYTES"):
        get(server)
    assert left_behind(tmp_path / "cache" / "downloads" / "wines.txt") == ["wines.txt.lock"]
