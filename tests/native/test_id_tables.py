"""Test that no file can contain ids that all collide in the hash table, because each process seeds the hash anew."""

import subprocess
import sys
import time

import numpy as np
import pytest

from goldrank import native

FIRST, SECOND = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93
WORD = (1 << 64) - 1

pytestmark = pytest.mark.skipif(not native.COMPILED, reason="the hash table is part of the compiled readers")


def colliding_ids(count: int) -> list[bytes]:
    """Return printable ids of eight bytes with equal hashes under fixed multipliers, computed by inverting the hash."""
    ids: list[bytes] = []
    invert_first, invert_second = np.uint64(pow(FIRST, -1, 1 << 64)), np.uint64(pow(SECOND, -1, 1 << 64))
    step = 1 << 22
    with np.errstate(over="ignore"):
        for start in range(0, 1 << 32, step):
            words = np.arange(start, start + step, dtype=np.uint64) * invert_second
            words ^= words >> np.uint64(32)
            words = (words * invert_first) ^ np.uint64(8 * SECOND & WORD)
            letters = words.view(np.uint8).reshape(-1, 8)
            ids += [row.tobytes() for row in letters[((letters > 35) & (letters < 127)).all(axis=1)]]
            if len(ids) >= count:
                return ids[:count]
    raise AssertionError("too few ids")


def old_hash(text: bytes) -> int:
    value = (8 * SECOND ^ int.from_bytes(text, "little")) * FIRST & WORD
    return ((value ^ value >> 32) * SECOND & WORD) >> 32


@pytest.fixture(scope="module")
def crafted() -> list[bytes]:
    ids = colliding_ids(12_000)
    assert len(set(ids)) == 12_000
    assert {old_hash(id_) for id_ in ids[:50]} == {old_hash(ids[0])}
    return ids


def random_ids(count: int) -> list[bytes]:
    letters = np.random.default_rng(1).integers(36, 127, (count, 8)).astype(np.uint8)
    return list(dict.fromkeys(row.tobytes() for row in letters))


def run_of(ids: list[bytes], role: str) -> bytes:
    if role == "items":
        return b"".join(b"q Q0 %s 1 %d t\n" % (id_, number) for number, id_ in enumerate(ids))
    return b"".join(b"%s Q0 d 1 1 t\n" % id_ for id_ in ids)


def work(data: bytes) -> float:
    def once() -> float:
        start = time.process_time()
        native.parse_trec(data, 6, 4)
        return time.process_time() - start

    return min(once() for _ in range(3))


@pytest.mark.slow
@pytest.mark.parametrize("role", ["items", "queries"])
def test_ids_made_to_collide_take_the_time_of_random_ones(crafted, role):
    # With a known hash, 12,000 colliding ids need 72 million comparisons instead of some thousands.
    assert work(run_of(crafted, role)) < 20 * work(run_of(random_ids(12_000), role))


def test_the_order_of_all_results_is_the_same_under_every_seed():
    code = (
        "import hashlib; from goldrank import native\n"
        "data = b''.join(b'q%d Q0 d%d 1 %d t\\n' % (n % 97, n * 7919 % 10007, n) for n in range(9000))\n"
        "queries, starts, items, values, *_ = native.parse_trec(data, 6, 4)\n"
        "print(hashlib.sha256(repr((queries, bytes(starts), items, bytes(values))).encode()).hexdigest())"
    )
    answers = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(3)
    }
    assert len(answers) == 1
