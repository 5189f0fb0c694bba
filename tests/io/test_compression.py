"""All streams of an archive are decompressed completely; no archive, pipe or device fills the memory."""

import bz2
import gzip
import lzma
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import zstandard

import goldrank as gr
from goldrank.data.collections import streams
from goldrank.errors import InputError
from goldrank.io import files, read
from goldrank.io.compression import decompressed, size_limit
from goldrank.io.files import read_bytes
from goldrank.io.formats.word_vectors import read_word_vectors

PACK = {"gzip": gzip.compress, "Zstandard": zstandard.compress, "xz": lzma.compress, "bzip2": bz2.compress}
FIRST = b"".join(b"q1 Q0 d%d 1 %d t\n" % (row, -row) for row in range(3000))
SECOND = b"".join(b"q2 Q0 d%d 1 %d t\n" % (row, -row) for row in range(3000))


def flipped(data: bytes, position: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 0x55]) + data[position + 1 :]


def ways(path):
    """Yield functions that read the content of an archive, one for each implementation."""
    yield lambda: read_bytes(path)
    yield lambda: b"".join(streams.pieces(path))


@pytest.mark.parametrize("compression", PACK)
@pytest.mark.parametrize("size", [1, 2, 7, 1 << 20])
def test_several_streams_are_one_file_however_they_are_cut(compression, size):
    packed = PACK[compression](FIRST) + PACK[compression](SECOND) + PACK[compression](b"")
    pieces = (packed[start : start + size] for start in range(0, len(packed), size))
    content = b"".join(decompressed(pieces, compression, "x", packed=len(packed)))
    assert content == FIRST + SECOND


@pytest.mark.parametrize("compression", PACK)
@pytest.mark.parametrize(
    "damage",
    [
        lambda pack: pack(FIRST) + pack(SECOND)[:-3],
        lambda pack: pack(FIRST) + pack(SECOND)[: len(pack(SECOND)) // 2],
        lambda pack: pack(FIRST) + pack(SECOND)[:3],
        lambda pack: pack(FIRST) + flipped(pack(SECOND), 0),
        lambda pack: pack(FIRST) + flipped(pack(SECOND), len(pack(SECOND)) // 2),
        lambda pack: pack(FIRST) + flipped(pack(SECOND), len(pack(SECOND)) - 3),
        lambda pack: pack(FIRST) + b"the end",
        lambda pack: pack(FIRST) + b"\0\0\0\0" + b"the end",
        lambda pack: pack(FIRST)[:-1],
    ],
    ids=["cut", "half", "head", "magic", "middle", "checksum", "rest", "padding and rest", "last byte"],
)
def test_what_is_damaged_behind_the_first_stream_is_refused(tmp_path, compression, damage):
    # Zstandard frames have no checksum unless it is requested.
    zstd = zstandard.ZstdCompressor(write_checksum=True).compress
    path = tmp_path / "run"
    path.write_bytes(damage(zstd if compression == "Zstandard" else PACK[compression]))
    for way in ways(path):
        with pytest.raises(InputError, match=f"the {compression} file is truncated or corrupt"):
            way()


@pytest.mark.parametrize(
    ("compression", "zeros", "allowed"),
    [("gzip", 5, True), ("xz", 4, True), ("xz", 8, True), ("xz", 3, False), ("bzip2", 4, False)],
)
def test_padding_is_what_each_format_allows(tmp_path, compression, zeros, allowed):
    for end in (b"", PACK[compression](SECOND)):
        path = tmp_path / "run"
        path.write_bytes(PACK[compression](FIRST) + b"\0" * zeros + end)
        for way in ways(path):
            if allowed:
                assert way() == FIRST + (SECOND if end else b"")
            else:
                with pytest.raises(InputError, match="truncated or corrupt"):
                    way()


def bomb(compression: str) -> bytes:
    zeros = b"q1 Q0 d1 1 1 t\n" * (1 << 17)
    return PACK[compression](zeros) * 16


@pytest.mark.parametrize("compression", PACK)
def test_an_archive_is_unpacked_up_to_the_limit_which_is_said(tmp_path, monkeypatch, compression):
    path = tmp_path / "bomb"
    path.write_bytes(bomb(compression))
    monkeypatch.setenv("GOLDRANK_MAX_BYTES", str(1 << 20))
    for way in (*ways(path), lambda: read_word_vectors(path, cache=False), lambda: read(path, "run")):
        with pytest.raises(InputError, match=r"unpacks to more than 1 MiB; if .* set GOLDRANK_MAX_BYTES") as refused:
            way()
        assert refused.value.exit_code == 2
    monkeypatch.setenv("GOLDRANK_MAX_BYTES", str(1 << 30))
    assert len(read_bytes(path)) == 15 << 21


def test_the_limit_grows_with_the_archive_and_can_be_set(monkeypatch):
    monkeypatch.delenv("GOLDRANK_MAX_BYTES", raising=False)
    assert size_limit(1000) == 1 << 30
    assert size_limit(1 << 30) == 20 << 30
    monkeypatch.setenv("GOLDRANK_MAX_BYTES", "a lot")
    with pytest.raises(InputError, match="GOLDRANK_MAX_BYTES='a lot' is not a number of bytes"):
        size_limit()


def test_a_bomb_takes_no_more_memory_than_the_limit(tmp_path):
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"q1 Q0 d1 1 1 t\n" * (1 << 21), 9) * 100)
    code = (
        "import resource, sys; from goldrank.io.files import read_bytes; from goldrank.errors import InputError\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: read_bytes(sys.argv[1])\n"
        "except InputError as error: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    environment = {**os.environ, "GOLDRANK_MAX_BYTES": str(64 << 20)}
    process = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, env=environment, check=True
    )
    assert int(process.stdout) < (64 << 20 >> 10) * 2


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_that_does_not_end_is_read_up_to_the_limit(tmp_path, monkeypatch):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    monkeypatch.setenv("GOLDRANK_MAX_BYTES", str(8 << 20))

    def write() -> None:
        try:
            with path.open("wb", buffering=0) as stream:
                while True:
                    stream.write(FIRST)
        except BrokenPipeError:
            pass

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(InputError, match=r"more than 8 MiB came; if .* write it to a file first"):
        gr.Run.read(path)
    writer.join()


def test_a_pipe_that_gives_little_at_a_time_is_read_to_its_end():
    code = "import goldrank as gr; print(len(gr.Run.read('-').to_dict()['q1']))"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for start in range(0, len(FIRST), 1000):
            process.stdin.write(FIRST[start : start + 1000])
            process.stdin.flush()
        answer, _ = process.communicate()
    assert answer == b"3000\n"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there are no devices here")
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full", "/dev/urandom"])
def test_a_device_is_refused(device):
    for way in ways(Path(device)):
        with pytest.raises(InputError, match=f"{device}: this is a device, not a file; give a file or a pipe"):
            way()


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there are no devices here")
def test_endless_zeros_from_a_pipe_are_refused_at_once():
    with pytest.raises(InputError, match="NUL byte at offset 0"), Path("/dev/zero").open("rb") as zeros:
        files._read_whole(zeros, "standard input")


def test_a_large_file_of_zeros_is_refused_by_its_beginning(tmp_path):
    path = tmp_path / "sparse"
    with path.open("wb") as stream:
        stream.truncate(1 << 42)
    with pytest.raises(InputError, match="NUL"):
        gr.Run.read(path)


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "_LONGEST_LINE", 1 << 20)
    path = tmp_path / "long"
    path.write_bytes(b"x" * (3 << 20))
    with pytest.raises(InputError, match="a line has more than 1 MiB"):
        list(streams.lines(path))
