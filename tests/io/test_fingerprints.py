"""The identity of a result changes with every input that can change the result, and with nothing else."""

import importlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from goldrank.encoders import load
from goldrank.encoders.pair_scorers import load_pair_scorer
from goldrank.encoders.provenance import stamp
from goldrank.encoders.source_files import imported_files, source_stamp
from goldrank.io import fingerprints
from goldrank.io.fingerprints import file_digest
from goldrank.io.formats.word_vectors import read_word_vectors
from goldrank.io.remote import stamp as remote_stamp
from goldrank.masked.predictors import load_predictor
from goldrank.tasks.settings import Settings


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def replace_unseen(file, content):
    """Change a file under the same name, size and modification time."""
    before = file.stat()
    assert len(content) == before.st_size
    file.write_bytes(content)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def test_a_word_file_replaced_under_the_same_size_and_time_is_read_anew(tmp_path):
    file = tmp_path / "words.txt"
    file.write_bytes(b"one 1 0\ntwo 0 1\n")
    before = load(f"words:{file}")
    vectors = before.encode_items(["one"])
    replace_unseen(file, b"one 0 1\ntwo 1 0\n")
    after = load(f"words:{file}")
    assert after.identity != before.identity
    assert after.encode_items(["one"]).tolist() == [[0.0, 1.0]] != vectors.tolist()


def test_a_word_file_that_was_moved_is_found_in_the_cache(tmp_path, cache):
    file = tmp_path / "words.txt"
    file.write_bytes(b"one 1 0\ntwo 0 1\n")
    read_word_vectors(file)
    file.rename(tmp_path / "moved.txt")
    read_word_vectors(tmp_path / "moved.txt")
    assert len(list((cache / "words").iterdir())) == 1


def test_the_matrix_beside_a_parquet_file_of_words_counts(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = importlib.import_module("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"word": ["one", "two"]}), tmp_path / "words.parquet")
    np.save(tmp_path / "matrix.npy", np.eye(2, dtype=np.float32))
    before = load(f"words:{tmp_path / 'words.parquet'}")
    np.save(tmp_path / "matrix.npy", np.eye(2, dtype=np.float32)[::-1].copy())
    after = load(f"words:{tmp_path / 'words.parquet'}")
    assert before.identity != after.identity
    assert after.encode_items(["one"]).tolist() == [[0.0, 1.0]]


@pytest.fixture
def large(tmp_path, monkeypatch):
    """A file large enough and old enough that its digest is cached."""
    monkeypatch.setattr(fingerprints, "_ALWAYS_READ", 10)
    monkeypatch.setattr(fingerprints, "_SETTLED_SECONDS", 0.0)
    file = tmp_path / "large.bin"
    file.write_bytes(b"a" * 100)
    time.sleep(0.05)
    return file


def test_a_large_file_replaced_under_the_same_size_and_time_has_another_digest(large, cache):
    before = file_digest(large)
    assert len(list((cache / "fingerprints").iterdir())) == 1
    replace_unseen(large, b"b" * 100)
    assert file_digest(large) != before
    time.sleep(0.05)
    other = large.with_name("other.bin")
    other.write_bytes(b"c" * 100)
    status = large.stat()
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    second = file_digest(large)
    other.replace(large)
    assert file_digest(large) not in (before, second)


def test_the_digest_of_a_large_file_is_remembered_and_a_damaged_note_is_not_believed(large, cache, monkeypatch):
    digest = file_digest(large)
    [note] = (cache / "fingerprints").iterdir()
    note.write_text("0" * 64)
    assert file_digest(large) == "0" * 64
    note.write_text("no digest")
    assert file_digest(large) == digest


def test_a_file_that_changed_a_moment_ago_is_not_remembered(large, cache, monkeypatch):
    monkeypatch.setattr(fingerprints, "_SETTLED_SECONDS", 3600.0)
    file_digest(large)
    assert not (cache / "fingerprints").exists()


def test_a_digest_is_known_without_a_cache_that_can_be_written(large, monkeypatch):
    monkeypatch.setenv("GOLDRANK_CACHE", "/dev/null/none")
    assert len(file_digest(large)) == 64


def test_a_stamp_knows_content_and_names_and_neither_place_nor_time(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights.bin").write_bytes(b"abc")
    before = stamp(folder)
    shutil.copytree(folder, tmp_path / "copy")
    os.utime(tmp_path / "copy" / "weights.bin", (1, 1))
    assert stamp(tmp_path / "copy") == before
    replace_unseen(folder / "weights.bin", b"xyz")
    assert stamp(folder) != before
    (tmp_path / "copy" / "weights.bin").rename(tmp_path / "copy" / "other.bin")
    assert stamp(tmp_path / "copy") != before


def test_a_local_shard_of_texts_replaced_under_the_same_size_and_time_has_another_stamp(tmp_path):
    file = tmp_path / "texts.jsonl"
    file.write_bytes(b'{"id": 1}')
    before = remote_stamp(str(file))
    replace_unseen(file, b'{"id": 2}')
    assert remote_stamp(str(file)) != before


def test_the_ids_beside_a_matrix_of_vectors_count(tmp_path):
    np.save(tmp_path / "v.npy", np.eye(2, dtype=np.float32))
    (tmp_path / "v.ids").write_text("a\nb\n")
    before = load(f"vectors:{tmp_path / 'v.npy'}")
    (tmp_path / "v.ids").write_text("b\na\n")
    after = load(f"vectors:{tmp_path / 'v.npy'}")
    assert before.identity != after.identity
    assert before.encode_items(["a"]).tolist() != after.encode_items(["a"]).tolist()


def test_the_texts_that_a_transform_is_fitted_on_count(tmp_path):
    file = tmp_path / "texts.txt"
    file.write_bytes(b"one\ntwo\n")
    before = Settings(transform="center", fit_on=str(file)).as_dict()
    replace_unseen(file, b"two\none\n")
    assert Settings(transform="center", fit_on=str(file)).as_dict() != before
    assert Settings(fit_on="corpus").as_dict()["fit_on"] == "corpus"


PROJECT = {
    "entry.py": """
        import json, numpy
        import helper
        from package import part
        def encode(texts):
            from package.lazy import scale
            return [[scale() * len(text), 1.0] for text in texts]
        def search(query, k):
            return [helper.NAME]
        def score(pairs):
            return [0.0 for _ in pairs]
        def guess(before, after, k):
            return [helper.NAME]
        class Model:
            def __init__(self, weight):
                self.weight = weight
            def encode(self, texts):
                return [[self.weight, 1.0] for _ in texts]
        model = Model(2.0)
    """,
    "helper.py": "from second import NAME\n",
    "second.py": "import importlib\nthird = importlib.import_module('third')\nNAME = 'a'\n",
    "third.py": "X = 1\n",
    "package/__init__.py": "Y = 1\n",
    "package/part.py": "from . import sibling\nfrom .sibling import Z\n",
    "package/sibling.py": "Z = 1\n",
    "package/lazy.py": "from .. import nothing\ndef scale():\n    return 1.0\n",
    "namespace/inner.py": "W = 1\n",
    "unrelated.py": "V = 1\n",
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    import textwrap

    folder = tmp_path / "project"
    for name, content in PROJECT.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(textwrap.dedent(content))
    monkeypatch.chdir(folder)
    for name in ("entry", "helper", "second", "third", "package", "package.part", "package.sibling", "package.lazy"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] in ("entry", "helper", "second", "third")]:
        del sys.modules[name]
    for name in [name for name in sys.modules if name.partition(".")[0] == "package"]:
        del sys.modules[name]


KINDS = {
    "encoder": lambda: load("python:entry:encode").identity,
    "pairs": lambda: load_pair_scorer("pairs:entry:score").identity,
    "predictor": lambda: load_predictor("python:entry:guess").identity,
    "method": lambda: load("python:entry:model.encode").identity,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "changed",
    ["entry.py", "helper.py", "second.py", "third.py", "package/__init__.py", "package/part.py", "package/sibling.py",
     "package/lazy.py"],
)  # fmt: skip
def test_a_function_is_another_one_when_a_module_that_it_imports_changed(project, kind, changed):
    before = KINDS[kind]()
    assert KINDS[kind]() == before
    with (project / changed).open("a") as file:
        file.write("# changed\n")
    assert KINDS[kind]() != before


def test_what_is_not_imported_and_where_the_project_lies_is_no_part_of_it(project, monkeypatch, tmp_path):
    before = load("python:entry:encode").identity
    (project / "unrelated.py").write_text("V = 2\n")
    assert load("python:entry:encode").identity == before
    assert set(imported_files(project / "entry.py")) == {
        "entry", "helper", "second", "third", "package", "package.part", "package.sibling", "package.lazy",
    }  # fmt: skip
    shutil.copytree(project, tmp_path / "elsewhere")
    code = "from goldrank.encoders import load; print(load('python:entry:encode').identity)"
    process = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "elsewhere", capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == before


def test_a_module_of_a_namespace_package_is_seen(project):
    (project / "entry.py").write_text("import namespace.inner\ndef encode(texts):\n    return texts\n")
    assert set(imported_files(project / "entry.py")) == {"entry", "namespace.inner"}


def test_files_that_import_each_other_or_do_not_parse_end(project):
    (project / "helper.py").write_text("import entry\nimport broken\n")
    (project / "broken.py").write_text("def (:\n")
    assert {"entry", "helper", "broken"} <= set(imported_files(project / "entry.py"))


def test_installed_packages_the_standard_library_and_goldrank_are_not_followed(project):
    (project / "entry.py").write_text("import json, numpy, goldrank, pytest\ndef encode(texts):\n    return texts\n")
    assert set(imported_files(project / "entry.py")) == {"entry"}


def test_a_function_of_an_installed_package_knows_the_files_of_that_package(tmp_path):
    folder = tmp_path / "site-packages" / "installed"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "models.py").write_text("from installed import weights\nimport numpy\n")
    (folder / "weights.py").write_text("W = 1\n")
    assert set(imported_files(folder / "models.py")) == {"installed", "installed.models", "installed.weights"}


def test_functions_and_methods_that_are_given_are_live(project):
    sys.path.insert(0, str(project))
    try:
        entry = importlib.import_module("entry")
    finally:
        sys.path.remove(str(project))
    assert all(load(function).live for function in (entry.encode, entry.Model(1.0).encode, lambda texts: texts))
    assert source_stamp(entry.encode, "entry") is not None
    assert source_stamp(entry.encode, "sys") is None


@pytest.mark.slow
def test_a_changed_helper_changes_the_numbers_of_a_run(project, tmp_path):
    (project / "helper.py").write_text("NAME = 'd1'\n")
    (project / "qrels.tsv").write_text("q1\td1\t1\n")
    folder = project / "data"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"_id": n, "text": n}) + "\n" for n in ("d1", "d2")))
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q1", "text": "which"}) + "\n")
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    command = [sys.executable, "-m", "goldrank", "run", "-m", "search:entry:search", "-t", "data", "--metric", "mrr"]
    command += ["--store", str(tmp_path / "store"), "--format", "json"]

    def mrr():
        process = subprocess.run(command, capture_output=True, text=True, check=True)
        return json.loads(process.stdout)["tasks"][0]["runs"][0]["scores"]["mrr"]["mean"]

    assert mrr() == 1.0
    # The size changes as well, because Python reuses compiled code of a source with the same second and size.
    (project / "helper.py").write_text("NAME = 'd2'  # changed\n")
    assert mrr() == 0.0
    assert Path(tmp_path / "store").is_dir()
