"""Replacing an index: a kill at any step leaves the old or the new index, and leftover files are removed later."""

import multiprocessing
import os
import time

import numpy as np
import pytest

from goldrank.errors import InputError
from goldrank.index.folder import Manifest, open_index, write_index

IDS = [f"d{i}" for i in range(20)]
STEPS = ("mkdir", "open", "fsync", "rename", "replace", "unlink", "rmdir")
_FORK = multiprocessing.get_context("fork")


def vectors(version):
    return np.random.default_rng(version).normal(size=(20, 4)).astype(np.float32)


def build(path, version, **options):
    write_index(path, "exact", vectors(version), IDS, texts=[f"text {version}"] * 20, overwrite=True, **options)


def version_of(path):
    """Return the version of the index, and check that all of its files have that version."""
    opened = open_index(path, verify=True)
    (text,) = set(opened.texts.values())
    version = int(text.split()[1])
    assert list(opened.search(vectors(version)[:3], 1, query_ids=IDS[:3])["d2"]) == ["d2"]
    return version


def killed_at(path, number):
    """Build version 2 in a process that exits at its n-th file system change; return True if it made so many."""

    def work():
        left = [number]

        def dying(function):
            def call(*args, **options):
                left[0] -= 1
                if left[0] == 0:
                    os._exit(9)
                return function(*args, **options)

            return call

        for name in STEPS:
            setattr(os, name, dying(getattr(os, name)))
        build(path, 2)
        os._exit(0)

    child = _FORK.Process(target=work)
    child.start()
    child.join(300)
    return child.exitcode == 9


@pytest.mark.slow
@pytest.mark.parametrize("there", [True, False])
def test_a_kill_at_any_step_leaves_the_old_index_or_the_new_one(tmp_path, there):
    versions, number = [], 1
    while True:
        path = tmp_path / f"ix{number}"
        if there:
            build(path, 1)
        if not killed_at(path, number):
            break
        if there or (path / "manifest.json").exists():
            versions.append(version_of(path))
        else:
            with pytest.raises(InputError, match=r"there is no index here|there is no such folder"):
                open_index(path)
            versions.append(0)
        build(path, 3)
        assert version_of(path) == 3
        number += 1
    assert version_of(path) == 2
    assert len(versions) > 8
    # Indexes switch to the new version in one step and never switch back; a new index has no files to remove after it.
    assert versions == sorted(versions)
    assert set(versions) == ({1, 2} if there else {0})


def test_what_a_killed_build_left_is_swept_when_it_is_old(tmp_path):
    path = tmp_path / "ix"
    build(path, 1)
    number = 4
    assert killed_at(path, number)
    left = {entry.name for entry in path.iterdir()} - {"manifest.json", Manifest.load(path).folder}
    assert left
    build(path, 3)
    # A running process could still write these files.
    assert left <= {entry.name for entry in path.iterdir()}
    for entry in [path / name for name in left]:
        for file in (entry, *entry.glob("*")):
            os.utime(file, (time.time() - 7200,) * 2)
    build(path, 4)
    assert {entry.name for entry in path.iterdir()} == {"manifest.json", Manifest.load(path).folder}


def test_an_index_that_is_open_is_searched_as_it_was_after_it_was_replaced(tmp_path):
    build(tmp_path / "ix", 1)
    opened = open_index(tmp_path / "ix")
    build(tmp_path / "ix", 2)
    assert list(opened.search(vectors(1)[:3], 1, query_ids=IDS[:3])["d2"]) == ["d2"]
    with pytest.raises(InputError, match="replaced after it was opened; open it again"):
        _ = opened.texts


def test_an_index_replaced_between_its_manifest_and_its_files_is_read_anew(tmp_path, monkeypatch):
    build(tmp_path / "ix", 1)
    load, calls = Manifest.load, []

    def load_and_replace(folder):
        manifest = load(folder)
        if not calls:
            calls.append(1)
            build(tmp_path / "ix", 2)
        return manifest

    monkeypatch.setattr(Manifest, "load", load_and_replace)
    assert version_of(tmp_path / "ix") == 2


def test_a_folder_with_other_files_beside_leftovers_is_never_taken(tmp_path):
    (tmp_path / "ix" / "files-0123456789ab").mkdir(parents=True)
    (tmp_path / "ix" / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="there is something else than an index"):
        build(tmp_path / "ix", 1)
