"""Folders of documents with a table of questions: items, remarks on skipped files, and errors."""

import os
import sys

import pytest

from goldrank.data.collections import folder as folder_reader
from goldrank.data.collections import read_collection
from goldrank.errors import InputError

QUESTIONS = [{"question": "How?", "file": "a.md"}]


@pytest.fixture
def docs(tmp_path):
    write(tmp_path / "docs", {"a.md": "# Alpha\n\nOne.", "guide/b c.txt": "Two."})
    return tmp_path / "docs"


def write(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def test_the_ids_are_paths_in_the_folder(docs):
    collection = read_collection(docs, questions=QUESTIONS)
    assert collection.items.ids == ["a.md", "guide/b c.txt"]
    assert [document.text for document in collection.items] == ["One.", "Two."]
    assert (collection.format, collection.name, collection.gold.items) == ("folder", "docs", ["a.md"])


def test_what_is_not_a_document_is_counted_and_named(docs):
    write(docs, {"logo.png": "x", "data.csv": "x", ".hidden.md": "x", ".git/config.md": "x", "bad.txt": b"\0" * 9})
    write(docs, {"empty.md": "", "old.txt": "Übung".encode("latin-1")})
    assert read_collection(docs, questions=QUESTIONS).remarks[:5] == [
        "1 unreadable document left out: bad.txt (it is not a text file)",
        "1 document without text: empty.md",
        "1 document not valid UTF-8, read as latin-1: old.txt",
        "2 files of other kinds left out: data.csv, logo.png",
        "2 hidden files or folders left out: .git/, .hidden.md",
    ]


def test_the_table_of_questions_may_lie_in_the_folder(docs):
    write(docs, {"questions.csv": "question,file\nHow?,a.md\n"})
    collection = read_collection(docs, questions=str(docs / "questions.csv"))
    assert not any("questions.csv" in remark for remark in collection.remarks if "left out" in remark)


def test_links_in_circles_end(docs):
    (docs / "loop").symlink_to(docs, target_is_directory=True)
    (docs / "self.md").symlink_to(docs / "self.md")
    (docs / "link.md").symlink_to(docs / "a.md")
    collection = read_collection(docs, questions=QUESTIONS)
    assert collection.items.ids == ["a.md", "link.md", "guide/b c.txt"]
    assert "1 link to a folder not followed: loop" in collection.remarks
    assert any("self.md (" in remark for remark in collection.remarks)


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the file system refuses such names")
def test_a_name_that_is_not_utf8_is_left_out_and_said(docs):
    os.close(os.open(os.fsencode(docs) + b"/\xff.md", os.O_CREAT | os.O_WRONLY))
    os.mkfifo(docs / "pipe.txt")
    remarks = read_collection(docs, questions=QUESTIONS).remarks
    assert "2 unreadable documents left out" in remarks[0]
    assert "its name is not valid UTF-8" in remarks[0]
    assert "pipe.txt (it is not a regular file)" in remarks[0]


def test_a_large_folder_is_streamed_and_a_changed_file_refused(docs, monkeypatch):
    monkeypatch.setattr("goldrank.data.collections.records.STREAM_FROM", 4)
    write(docs, {"bad.txt": b"\0"})
    collection = read_collection(docs, questions=QUESTIONS)
    assert collection.items.streamed
    assert [document.id for document in collection.items] == collection.items.ids == ["a.md", "guide/b c.txt"]
    write(docs, {"a.md": "changed and longer"})
    with pytest.raises(InputError, match="was changed since it was first read"):
        list(collection.items)


def test_documents_without_questions_name_the_option_and_the_only_table(docs):
    with pytest.raises(InputError, match=r"documents \(1 .md, 1 .txt\) but no questions; add --questions FILE"):
        read_collection(docs)
    write(docs.parent, {"my questions.csv": "question,file\n"})
    with pytest.raises(InputError, match=r"add --questions '.*my questions\.csv'"):
        read_collection(docs)


def test_a_folder_without_readable_documents_is_refused(tmp_path):
    write(tmp_path, {"a.txt": b"\0"})
    with pytest.raises(InputError, match=r"no readable document \(1 unreadable document left out: a.txt"):
        read_collection(tmp_path, questions=QUESTIONS)


def test_a_collection_with_queries_of_its_own_takes_no_questions(tmp_path):
    write(tmp_path, {"corpus.jsonl": '{"_id": "d", "text": "x"}', "README.md": "# Data"})
    with pytest.raises(InputError, match="--questions has no effect here: this is a collection in the layout beir"):
        read_collection(tmp_path, questions=QUESTIONS)


@pytest.mark.parametrize("name", ["beir", "irds:x", "hf:x"])
def test_other_formats_take_no_questions(docs, name):
    with pytest.raises(InputError, match="--questions has no effect here"):
        read_collection(
            docs if name == "beir" else name, format="beir" if name == "beir" else None, questions=QUESTIONS
        )


def test_a_file_is_no_folder_of_documents(docs):
    with pytest.raises(InputError, match="this is not a folder"):
        read_collection(docs / "a.md", questions=QUESTIONS)
    with pytest.raises(InputError, match="there is no such folder"):
        read_collection(docs / "none", questions=QUESTIONS)


def test_ten_thousand_files_are_matched_without_visiting_them_all(tmp_path, monkeypatch):
    write(tmp_path, {f"{number}.bin": "" for number in range(30)})
    assert not folder_reader.matches(tmp_path)
    write(tmp_path, {"z/a.md": "x"})
    assert folder_reader.matches(tmp_path)
    monkeypatch.setattr(folder_reader, "_MOST_VISITED", 10)
    assert not folder_reader.matches(tmp_path)
