"""Memory-mapped files give the same results as files that are read, and changes during reading are detected."""

import gzip
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import goldrank as gr
from goldrank.io import RowsFile, files, open_rows
from goldrank.io import memory_mapping as mapped

GOLD = {"q1": {"d1": 1}, "q2": {"dé": 1}}
RUN = "q1 Q0 d2 1 3 t\nq1 Q0 d1 2 2 t\nq2 Q0 dé 1 1 t\n".encode()

needs_guard = pytest.mark.skipif(
    mapped.truncation_guard is None or sys.platform == "win32",
    reason="needs the extension modules and a system on which mapped files can be truncated",
)


@pytest.fixture(autouse=True)
def map_every_file(monkeypatch):
    monkeypatch.setattr(files, "_MAP_FROM", 1)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "large.run"


def read(path, content, **options):
    path.write_bytes(content)
    return gr.Run.read(path, **options)


@pytest.mark.parametrize(
    "content",
    [RUN, b"\xef\xbb\xbf" + RUN, gzip.compress(RUN), RUN.replace(b"\n", b"\r\n")],
    ids=["plain", "with a mark", "compressed", "of windows"],
)
def test_mapped_and_read_files_score_the_same(path, content):
    run = read(path, content)
    assert gr.score(GOLD, run, "mrr")["mrr"].per_query == {"q1": 0.5, "q2": 1.0}
    assert run.to_dict() == {"q1": {"d2": 3.0, "d1": 2.0}, "q2": {"dé": 1.0}}


@needs_guard
def test_a_plain_trec_file_is_really_mapped(path):
    assert isinstance(read(path, RUN)._trec.data, files.MappedFile)
    assert isinstance(read(path, gzip.compress(RUN))._trec.data, bytes)


def test_other_formats_are_read_as_ever(path):
    assert read(path, b'{"q1": {"d1": 2}}').to_dict() == {"q1": {"d1": 2.0}}
    assert read(path, b"query,item,score\nq1,d1,2\n").to_dict() == {"q1": {"d1": 2.0}}


def test_a_parquet_file_scores_the_same_and_is_no_text(path):
    pytest.importorskip("pyarrow")
    packed = path.with_suffix(".parquet")
    read(path, RUN).write(packed)
    run = gr.Run.read(packed)
    assert gr.score(GOLD, run, "mrr")["mrr"].per_query == {"q1": 0.5, "q2": 1.0}
    assert run.to_dict() == {"q1": {"d2": 3.0, "d1": 2.0}, "q2": {"dé": 1.0}}
    for format in ("trec", "csv", "json"):
        with pytest.raises(gr.InputError, match="this is a Parquet file"):
            gr.Run.read(packed, format=format)
    with pytest.raises(gr.InputError, match="truncated or corrupt"):
        gr.Run.read(path, format="parquet")


@needs_guard
def test_a_parquet_file_truncated_after_opening_is_refused(path):
    pytest.importorskip("pyarrow")
    packed = path.with_suffix(".parquet")
    read(path, RUN).write(packed)
    for parse in (RowsFile.pack, RowsFile.parse):
        file = open_rows(packed, "run")
        assert isinstance(file.data, files.MappedFile)
        content = packed.read_bytes()
        os.truncate(packed, 10)
        with pytest.raises(gr.InputError, match="changed after it was opened"):
            parse(file)
        packed.write_bytes(content)


@needs_guard
def test_a_file_written_into_after_opening_is_refused(path):
    run = read(path, RUN)
    os.utime(path, ns=(1, 1))
    with pytest.raises(gr.InputError, match="changed after it was opened"):
        gr.score(GOLD, run, "mrr")
    with pytest.raises(gr.InputError, match="changed after it was opened"):
        _ = run.columns


def test_a_file_replaced_or_removed_after_opening_is_still_the_old_one(path, tmp_path):
    run = read(path, RUN)
    (tmp_path / "new").write_bytes(b"q1 Q0 d1 1 9 t\n")
    (tmp_path / "new").replace(path)
    assert gr.score(GOLD, run, "mrr")["mrr"].per_query["q1"] == 0.5
    path.unlink()
    assert gr.score(GOLD, run, "mrr")["mrr"].per_query["q1"] == 0.5


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"q1 Q0 d\x00 1 1 t\n", "NUL"), (b"q1 Q0 d\xff 1 1 t\n", "UTF-8"), (RUN.decode().encode("utf-16"), "UTF-16")],
)
def test_what_is_no_text_is_refused_when_opened(path, content, message):
    with pytest.raises(gr.InputError, match=message):
        read(path, content)


@pytest.mark.parametrize("threads", [1, 3])
def test_any_number_of_threads_reports_the_first_fault(path, monkeypatch, threads):
    monkeypatch.setattr(files, "_CHUNK", 8)
    assert read(path, RUN, threads=threads).to_dict() == {"q1": {"d2": 3.0, "d1": 2.0}, "q2": {"dé": 1.0}}
    lines = b"q1 Q0 d1 1 9 t\n" * 50
    with pytest.raises(gr.InputError, match=f"NUL byte at offset {len(lines) + 3}"):
        read(path, lines + b"q2 \x00 d\xff 1 1 t\n" + lines.replace(b"9", b"\x00"), threads=threads)


@needs_guard
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"q2 \x00 d1 1 1 t\n", "NUL byte at offset"),
        (b"q2 Q0 d\xff 1 1 t\n", "not valid UTF-8 .byte 0xff at offset"),
        # The index of white space cannot split a line longer than one part of it, nor a line with two blanks.
        (b"q2 Q0 " + b"d" * 5000 + b"\xff 1 1 t\n", "not valid UTF-8"),
        (b"q2  Q0 d\xff 1 1 t\n", "not valid UTF-8"),
        # A line with a NUL byte and another fault, which is not reported.
        (b"q2 \x00 d1 1 t\n", "NUL byte at offset"),
        ("q2 Q0 dé 1 x t\n".encode(), "large.run:10001: the score 'x' is not a number"),
    ],
    ids=["NUL", "not UTF-8", "long line", "two blanks", "NUL and a fault", "fault in text"],
)
@pytest.mark.parametrize("last", [b"", b"q3 Q0 d1 1 9 t\n" * 1000], ids=["at the end", "inside"])
def test_text_behind_the_first_lines_is_checked_while_it_is_counted(path, monkeypatch, threads, line, message, last):
    monkeypatch.setattr("goldrank.hits._BYTES_PER_THREAD", 1 << 14)
    first = b"".join(b"q%d Q0 d1 1 9 t\n" % (100 + number) for number in range(10_000))
    run = read(path, first + line + last, threads=threads)
    with pytest.raises(gr.InputError, match=message):
        gr.score(GOLD, run, "mrr")
    with pytest.raises(gr.InputError, match=message):
        _ = run.columns


TRUNCATING = """
import os, sys
import goldrank as gr
from goldrank.io import RowsFile, files, open_rows
from goldrank.io import memory_mapping as mapped

path = sys.argv[1]
run = gr.Run.read(path)
assert isinstance(run._trec.data, files.MappedFile)
gold = gr.Gold({"q1": {"d1": 1}})
columns = gold.columns
truncate = os.truncate

# The file is cut between the check of its stamp and the reading, the worst moment there is.
from goldrank import native

def cut_first(data, *rest):
    os.truncate(path, 4096)
    return cut_first.inner(data, *rest)

if sys.argv[2] == "hits":
    cut_first.inner, native.count_trec_hits = native.count_trec_hits, cut_first
    act = lambda: run.hits(gold)
else:
    from goldrank.io.formats import trec
    cut_first.inner, trec.parse_trec = trec.parse_trec, cut_first
    act = lambda: run.columns
try:
    act()
except gr.InputError as error:
    print(error)
"""


@needs_guard
@pytest.mark.parametrize("reading", ["hits", "columns"])
def test_a_file_truncated_while_it_is_read_is_refused_and_kills_nobody(tmp_path, reading):
    path = tmp_path / "large.run"
    path.write_bytes(b"".join(b"q1 Q0 d%d 1 %d t\n" % (row, -row) for row in range(1_200_000)))
    assert path.stat().st_size > files._MAP_FROM
    process = subprocess.run(
        [sys.executable, "-c", TRUNCATING, path, reading], capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process
    assert process.stdout == f"{path}: the file was changed after it was opened; read it again\n"


@needs_guard
@pytest.mark.parametrize("said", [False, True])
def test_a_truncated_map_that_nothing_watches_ends_the_process_with_a_sentence(tmp_path, said):
    path = tmp_path / "vectors.npy"
    np.save(path, np.zeros((1000, 100), np.float32))
    code = (
        "import os, sys, numpy as np; from goldrank.native import truncation_guard as guard\n"
        + ("guard.set_message('goldrank: a file was truncated\\n')\n" if said else "")
        + "rows = np.load(sys.argv[1], mmap_mode='r'); os.truncate(sys.argv[1], 4096); print(rows.sum())"
    )
    process = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
    assert process.stdout == ""
    if said:
        assert (process.returncode, process.stderr) == (1, "goldrank: a file was truncated\n")
    else:
        assert process.returncode == -signal.SIGBUS


@needs_guard
def test_the_ranges_are_given_back(path):
    path.write_bytes(RUN)
    for _ in range(200):
        assert files.MappedFile.open(path) is not None


def test_without_the_guard_no_file_is_mapped(path, monkeypatch):
    monkeypatch.setattr(mapped, "truncation_guard", None)
    assert isinstance(read(path, RUN)._trec.data, bytes)
