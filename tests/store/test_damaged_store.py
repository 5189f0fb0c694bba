"""Test damaged stores: each command gives the right output, or a one-line error and exit code 2."""

import re
import shutil
import sqlite3
from contextlib import suppress

import pytest

from goldrank.cli.main import main
from goldrank.store import Store
from goldrank.store.texts import Text
from mutations import mutations
from store.cases import a_record, inputs_of

DATA = "ab" * 20


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A store with one run of everything and its texts, in a single database file without a log beside it."""
    folder = tmp_path_factory.mktemp("damaged") / "store"
    store = Store.open(folder)
    record = a_record(
        inputs={**inputs_of(0), "data": DATA},
        environment={"seconds": 1.5, "machine": {"cpu": "some"}},
        summary={"mrr": {"value": 0.25, "low": 0.1, "high": 0.4}},
        predictions={"a": [1.0, 2.0]},
    )
    key = store.save(record).key
    store.texts(DATA).save([Text("q0", "", "a query")], [Text(f"d{n}", "title", f"item {n}") for n in range(9)])
    with sqlite3.connect(folder / "goldrank.db") as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    return folder, key


def outcomes(capsys, damage, stored, tmp_path):
    """Return the result of each command after *damage*: its output if it succeeded, otherwise its error message.

    The damaged copy always lies at the same path, which the outputs show.
    """
    folder, key = stored
    copy, out = tmp_path / "store", tmp_path / "report.md"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    damage(copy)
    results = []
    for command in (["runs", "list"], ["runs", "show", key], ["score", key], ["report", key, "-o", str(out)]):
        code = main([*command, "--store", str(copy)])
        printed, message = capsys.readouterr()
        text = out.read_text() if code == 0 and command[0] == "report" else printed
        # A report contains its date.
        results.append((code, re.sub(r"\d{4}-\d\d-\d\d\D\d\d:\d\d\S*", "DATE", text) if code == 0 else message))
    return results


def refusals_only(results, right):
    for (code, message), (_, expected) in zip(results, right, strict=True):
        if code == 0 and message == expected:
            continue
        assert code == 2, message
        assert message.count("\n") == 1, message
        assert "internal error" not in message
    return True


@pytest.mark.slow
def test_no_damage_to_a_file_of_a_store_gives_another_answer_or_an_internal_error(stored, tmp_path, capsys):
    right = outcomes(capsys, lambda _: None, stored, tmp_path)
    assert [code for code, _ in right] == [0, 0, 0, 0]
    for mutation in mutations(stored[0], seed=14, flips=6):
        results = outcomes(capsys, mutation.apply, stored, tmp_path)
        is_empty = mutation.name in ("goldrank.db deleted", "goldrank.db cut to 0 bytes")
        other = [at for at, result in enumerate(results) if result[0] == 0 and result != right[at]]
        # A list marks runs whose tables are missing; a report leaves out missing texts.
        assert is_empty or other in ([], [0]) or ("texts-" in mutation.name and other == [3]), (mutation.name, results)
        for code, message in results:
            assert code in (0, 2), (mutation.name, message)
            assert "internal error" not in message, (mutation.name, message)
            assert code == 0 or message.count("\n") == 1, (mutation.name, message)


COLUMNS = ("key", "inputs", "folder", "checksum")
OTHER_COLUMNS = (
    "task", "environment", "metrics", "conventions", "created", "queries", "seconds", "measured", "summary",
    "hits_checksum",
)  # fmt: skip
VALUES = (None, "", "{", "[1]", "{}", b"\xff\xfe", 7, 1e300, "../..", "\udcff".encode("utf-8", "surrogatepass"))


def update(table, column, value):
    """Return a function that sets a column to a value, or has no effect if the database rejects the value."""

    def damage(folder):
        with suppress(sqlite3.IntegrityError), sqlite3.connect(folder / "goldrank.db") as connection:
            connection.execute(f"UPDATE {table} SET {column} = ?", (value,))
        connection.close()

    return damage


@pytest.mark.parametrize(
    "column", [*COLUMNS, *(pytest.param(column, marks=pytest.mark.slow) for column in OTHER_COLUMNS)]
)
def test_a_changed_value_in_a_row_is_refused_and_the_run_can_be_removed(stored, tmp_path, capsys, column):
    right = outcomes(capsys, lambda _: None, stored, tmp_path)
    noticed = 0
    for value in VALUES:
        results = outcomes(capsys, update("goldrank_runs", column, value), stored, tmp_path)
        assert refusals_only(results, right)
        noticed += results != right
        if results != right and column != "key":
            store = ["--store", str(tmp_path / "store")]
            assert main(["runs", "delete", stored[1], "--yes", *store]) == 0
            assert main(["runs", "list", *store]) == 0
            capsys.readouterr()
    assert noticed >= len(VALUES) - 2


@pytest.mark.parametrize("column", ["version", "identity"])
@pytest.mark.parametrize("value", [None, "", "x", -1, 0, 1.5, 1e300, b"\xff"])
def test_a_damaged_description_of_the_store_is_refused(stored, tmp_path, capsys, column, value):
    right = outcomes(capsys, lambda _: None, stored, tmp_path)
    assert refusals_only(outcomes(capsys, update("goldrank_store", column, value), stored, tmp_path), right)


def test_a_damaged_row_is_mended_by_running_again(stored, tmp_path):
    folder, key = stored
    shutil.copytree(folder, tmp_path / "store")
    with sqlite3.connect(tmp_path / "store" / "goldrank.db") as connection:
        connection.execute("UPDATE goldrank_runs SET summary = '{}'")
    connection.close()
    store = Store.open(tmp_path / "store")
    inputs = {**inputs_of(0), "data": DATA}
    assert store.find(inputs) is None
    assert store.save(a_record(inputs=inputs)).key == key
    assert store.find(inputs).key == key
