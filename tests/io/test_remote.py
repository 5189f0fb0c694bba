"""Local and remote files are read and written alike, completely or not at all, and errors name place and machine."""

import os
import socket
import sys

import pytest

from goldrank.errors import InputError
from goldrank.io.remote import (
    exists,
    file_system,
    join,
    list_files,
    open_input,
    read_bytes,
    remove_tree,
    shown,
    stamp,
    write_whole,
)


@pytest.fixture(params=["path", "file", "memory"])
def folder(request, tmp_path):
    if request.param == "memory":
        memory = pytest.importorskip("fsspec").filesystem("memory")
        yield "memory://goldrank-tests/some folder"
        if memory.exists("/goldrank-tests"):
            memory.rm("/goldrank-tests", recursive=True)
    else:
        place = tmp_path / "somefolder"
        yield str(place) if request.param == "path" else place.as_uri()


def put(url, content):
    write_whole(url, lambda stream: stream.write(content))


def test_what_is_written_is_read_back_with_folders_made_on_the_way(folder):
    url = join(folder, "a", "b", "numbers.bin")
    assert not exists(url)
    put(url, b"0123456789")
    assert exists(url)
    assert read_bytes(url) == b"0123456789"
    with open_input(url) as stream:
        stream.seek(4)
        assert stream.read(3) == b"456"
    before = stamp(url)
    put(url, b"shorter")
    assert read_bytes(url) == b"shorter"
    assert stamp(url) != before


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(folder):
    url = join(folder, "kept.bin")
    put(url, b"old")

    def fail(stream):
        stream.write(b"half of the n")
        raise RuntimeError("the power went")

    with pytest.raises(RuntimeError, match="the power went"):
        write_whole(url, fail)
    assert read_bytes(url) == b"old"
    system, path = file_system(folder)
    from pyarrow.fs import FileSelector

    assert [file.base_name for file in system.get_file_info(FileSelector(path, recursive=True))] == ["kept.bin"]


def test_files_are_listed_in_order_by_their_endings_without_hidden_and_nested_ones(folder):
    for name in ("b.parquet", "a.parquet", "c.npz", ".d.parquet"):
        put(join(folder, name), b"x")
    put(join(folder, "inner", "e.parquet"), b"x")
    assert list_files(folder, [".parquet"]) == [join(folder, "a.parquet"), join(folder, "b.parquet")]
    assert list_files(folder, [".npz", ".txt"]) == [join(folder, "c.npz")]
    assert read_bytes(list_files(folder, [".npz"])[0]) == b"x"


def test_a_tree_is_removed_and_removing_it_again_is_fine(folder):
    put(join(folder, "inner", "e.bin"), b"x")
    remove_tree(folder)
    assert not exists(join(folder, "inner", "e.bin"))
    remove_tree(folder)


@pytest.mark.parametrize("look", [read_bytes, open_input, stamp, lambda url: list_files(url, [""])])
def test_what_is_missing_is_named_with_the_machine_and_the_remedy(look, folder):
    with pytest.raises(InputError) as raised:
        look(join(folder, "missing"))
    assert raised.value.where == shown(join(folder, "missing"))
    assert socket.gethostname() in raised.value.what
    assert raised.value.remedy == "check its name, and on a cluster that all nodes reach it"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(tmp_path):
    path = tmp_path / "secret.bin"
    path.write_bytes(b"x")
    path.chmod(0)
    with pytest.raises(InputError, match="cannot be read on"):
        read_bytes(str(path))


def test_a_file_where_a_folder_is_needed_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(InputError, match=r"file/inner.bin: this cannot be written on .*check its permissions"):
        put(str(tmp_path / "file" / "inner.bin"), b"y")
    with pytest.raises(InputError, match=r"this cannot be read on"):
        read_bytes(str(tmp_path))


def test_relative_paths_are_those_of_the_moment(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        put("here.bin", name.encode())
        assert read_bytes("here.bin") == name.encode()
    assert (tmp_path / "one" / "here.bin").read_bytes() == b"one"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nosuch://bucket/a", r"nosuch://bucket/a: no file system takes this address"),
        ("file://relative", r"this is not an address .*write file:///"),
        ("nosuch://user:secret@bucket/a?key=secret", r"^nosuch://bucket/a: "),
    ],
)
def test_an_address_of_no_file_system_is_refused_without_its_secrets(url, message):
    with pytest.raises(InputError, match=message) as raised:
        read_bytes(url)
    assert "secret" not in str(raised.value.where)


def test_without_fsspec_an_unknown_address_is_refused_all_the_same(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(InputError, match=r"no file system takes this address .*install the fsspec package"):
        read_bytes("memory2://a/b")


@pytest.mark.parametrize(
    ("folder", "joined"),
    [
        ("some/folder", "some/folder/a/b"),
        ("s3://bucket", "s3://bucket/a/b"),
        ("s3://key:secret@bucket/x/?region=y", "s3://key:secret@bucket/x/a/b?region=y"),
    ],
)
def test_names_are_put_behind_the_path_of_an_address(folder, joined):
    assert join(folder, "a", "b") == joined.replace("/", os.sep) if "://" not in folder else joined
