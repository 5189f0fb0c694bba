"""Checkpoints: exact numbers, kills at any moment, several processes, damage."""

import json
import os
import signal
import struct
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.errors import InputError
from goldrank.io.checkpoints import Checkpoint
from profiles import examples

IDS = st.text(max_size=6)
SCORES = st.floats(allow_nan=False, allow_infinity=False)
RANKINGS = st.dictionaries(IDS, st.dictionaries(IDS, SCORES, max_size=4), max_size=4)


def bits(rankings):
    return {q: [(item, struct.pack("<d", score)) for item, score in r.items()] for q, r in rankings.items()}


@given(parts=st.lists(RANKINGS, max_size=4))
@examples(0.4)
def test_rankings_come_back_bit_for_bit_and_in_their_order(parts, tmp_path_factory):
    checkpoint = Checkpoint("a", tmp_path_factory.mktemp("partial"))
    expected = {}
    for part in parts:
        checkpoint.add(part)
        expected = {**part, **expected}
    assert bits(checkpoint.done()) == bits(expected)


def test_ids_that_are_no_characters_come_back(tmp_path):
    checkpoint = Checkpoint("a", tmp_path)
    rankings = {"half \ud83d": {"\n\u2028": 1.0, '"': 5e-324}}
    checkpoint.add(rankings)
    assert checkpoint.done() == rankings


def test_another_digest_is_another_checkpoint_and_removing_one_leaves_the_other(tmp_path):
    checkpoint, other = Checkpoint("one", tmp_path), Checkpoint("other", tmp_path)
    checkpoint.add({"q": {"a": 1.0}})
    other.add({"q": {"b": 2.0}})
    checkpoint.remove()
    assert checkpoint.done() == {}
    assert Checkpoint("other", tmp_path).done() == {"q": {"b": 2.0}}
    other.remove()
    other.remove()
    assert list(tmp_path.iterdir()) == []


def test_the_place_is_in_the_cache_folder_unless_told(tmp_path, monkeypatch):
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path))
    checkpoint = Checkpoint("a")
    assert checkpoint.done() == {}
    checkpoint.add({"q": {"a": 1.0}})
    assert [path.name for path in (tmp_path / "partial").iterdir()] == ["a.jsonl"]


def test_every_way_to_tear_the_last_line_loses_that_line_alone(tmp_path):
    checkpoint = Checkpoint("a", tmp_path)
    checkpoint.add({"q1": {"a": 1.0}})
    whole = checkpoint.path.read_bytes()
    checkpoint.add({"q2": {"b": 2.0}})
    both = checkpoint.path.read_bytes()
    for length in range(len(whole), len(both)):
        checkpoint.path.write_bytes(both[:length])
        assert checkpoint.done() == {"q1": {"a": 1.0}}
        checkpoint.add({"q3": {"c": 3.0}})
        assert checkpoint.done() == {"q1": {"a": 1.0}, "q3": {"c": 3.0}}
        assert checkpoint.path.read_bytes().startswith(whole)
        assert checkpoint.path.read_bytes().count(b"\n") == 2


@pytest.mark.parametrize("size", [1, 1 << 16, (1 << 16) + 1, 200_000])
def test_a_long_torn_line_is_cut_off_whole(tmp_path, size):
    checkpoint = Checkpoint("a", tmp_path)
    checkpoint.path.write_bytes(b"x" * size)
    checkpoint.add({"q": {"a": 1.0}})
    assert checkpoint.done() == {"q": {"a": 1.0}}
    assert checkpoint.path.read_bytes().count(b"x") == 0


def test_a_damaged_line_in_the_middle_is_left_out_and_the_others_count(tmp_path):
    checkpoint = Checkpoint("a", tmp_path)
    for query in ("q1", "q2", "q3"):
        checkpoint.add({query: {"a": 1.5}})
    lines = checkpoint.path.read_bytes().split(b"\n")
    lines[1] = lines[1].replace(b"1.5", b"9.5")
    checkpoint.path.write_bytes(b"\n".join(lines))
    assert set(checkpoint.done()) == {"q1", "q3"}


def test_of_two_rankings_of_a_query_the_first_counts(tmp_path):
    checkpoint = Checkpoint("a", tmp_path)
    checkpoint.add({"q": {"a": 1.0}})
    checkpoint.add({"q": {"b": 2.0}, "p": {}})
    assert checkpoint.done() == {"q": {"a": 1.0}, "p": {}}


WORKER = """
import sys
from goldrank.io.checkpoints import Checkpoint
folder, start, step, size = sys.argv[1], *map(int, sys.argv[2:])
checkpoint = Checkpoint("a", folder)
print("ready", flush=True)
at = start
while at < 100_000:
    checkpoint.add({f"q{at}": {f"d{i}": at + i / 7 for i in range(size)}})
    print(at, flush=True)
    at += step
"""


def worker(folder, start, step, size):
    arguments = [sys.executable, "-c", WORKER, str(folder), str(start), str(step), str(size)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_what_was_added_before_a_kill_is_there_whenever_the_kill_comes(tmp_path):
    checkpoint, numbers = Checkpoint("a", tmp_path), []
    for added in (0, 3, 1, 2, 5, 4):
        process = worker(tmp_path, len(checkpoint.done()), 1, 3000)
        assert process.stdout.readline() == "ready\n"
        numbers += [int(process.stdout.readline()) for _ in range(added)]
        process.send_signal(signal.SIGKILL)
        numbers += [int(line) for line in process.stdout.read().split()]
        process.wait()
        process.stdout.close()
        rankings = checkpoint.done()
        assert {f"q{number}" for number in numbers} <= set(rankings)
        for query, ranking in rankings.items():
            assert ranking == {f"d{i}": int(query[1:]) + i / 7 for i in range(3000)}
    assert len(numbers) >= 15


@pytest.mark.slow
def test_two_processes_and_a_third_that_is_killed_do_not_harm_each_other(tmp_path):
    processes = [worker(tmp_path, start, 3, 400) for start in range(3)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    numbers = [int(process.stdout.readline()) for process in processes for _ in range(4)]
    os.kill(processes[2].pid, signal.SIGKILL)
    numbers += [int(process.stdout.readline()) for process in processes[:2] for _ in range(4)]
    for process in processes:
        process.kill()
        numbers += [int(line) for line in process.stdout.read().split()]
        process.wait()
        process.stdout.close()
    rankings = Checkpoint("a", tmp_path).done()
    assert {f"q{number}" for number in numbers} <= set(rankings)
    lines = (tmp_path / "a.jsonl").read_bytes().split(b"\n")[:-1]
    assert all(json.loads(line.partition(b" ")[2]) for line in lines)


def test_a_full_disk_is_said_and_leaves_what_was_there(tmp_path):
    resource = pytest.importorskip("resource")
    checkpoint = Checkpoint("a", tmp_path)
    checkpoint.add({"q1": {"a": 1.0}})
    before = checkpoint.path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 40, limits[1]))
        with pytest.raises(InputError, match=r"a\.jsonl: the checkpoint cannot be kept .*; make room"):
            checkpoint.add({"q2": {f"d{i}": 1.0 for i in range(1000)}})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert checkpoint.path.read_bytes() == before


def test_a_place_that_cannot_be_written_to_is_named(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match=r"file.*cannot be kept"):
        Checkpoint("a", tmp_path / "file").add({"q": {"a": 1.0}})


@pytest.mark.parametrize("digest", ["", "../escape", "a/b", "x" * 129, "a.b"])
def test_a_digest_that_is_no_file_name_is_refused(digest, tmp_path):
    with pytest.raises(InputError, match="cannot name a checkpoint"):
        Checkpoint(digest, tmp_path)


@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_scores_that_are_not_finite_are_refused_and_nothing_is_kept(score, tmp_path):
    checkpoint = Checkpoint("a", tmp_path)
    with pytest.raises(InputError, match="of 'd' for query 'q' is not a finite number"):
        checkpoint.add({"q": {"d": score}})
    assert checkpoint.done() == {}
