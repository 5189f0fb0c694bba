"""Large plain files are mapped instead of read: the same answers, and no surprise when the file changes."""

import gzip
import os

import pytest

import goldrank as gr
from goldrank.io import files

GOLD = {"q1": {"d1": 1}, "q2": {"dé": 1}}
RUN = "q1 Q0 d2 1 3 t\nq1 Q0 d1 2 2 t\nq2 Q0 dé 1 1 t\n".encode()


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


def test_a_plain_trec_file_is_really_mapped(path):
    assert isinstance(read(path, RUN)._trec[0], files.MappedFile)
    assert isinstance(read(path, gzip.compress(RUN))._trec[0], bytes)


def test_other_formats_are_read_as_ever(path):
    assert read(path, b'{"q1": {"d1": 2}}').to_dict() == {"q1": {"d1": 2.0}}
    assert read(path, b"query,item,score\nq1,d1,2\n").to_dict() == {"q1": {"d1": 2.0}}


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
