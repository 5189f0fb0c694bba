"""Test that constants are written and read back, and that damaged or unrelated files are rejected."""

import json
from dataclasses import asdict, replace

import pytest

from goldrank.errors import InputError
from goldrank.planning.constants import (
    REFERENCE,
    Constants,
    RankingCost,
    constants_file,
    ranking_features,
    read_constants,
    write_constants,
)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "constants.json"
    write_constants(REFERENCE, path)
    return path


def changed(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def test_constants_come_back_as_they_were_written(path):
    assert read_constants(path) == REFERENCE


def test_every_reference_constant_can_be_calculated_with():
    assert isinstance(REFERENCE, Constants)
    assert REFERENCE.measured == ""
    assert REFERENCE.cores > 0
    for cost in (REFERENCE.counting, REFERENCE.search, REFERENCE.gpu.counting, REFERENCE.gpu.top_k):
        assert sum(cost.parts(10_000, 128, 100, 10, 1)) > 0
        assert min(asdict(cost).values()) >= 0


def test_the_constants_of_a_machine_lie_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path / "not" / "there"))
    write_constants(REFERENCE, constants_file())
    assert constants_file().parent == tmp_path / "not" / "there"
    assert read_constants(constants_file()) == REFERENCE


def test_another_folder_is_not_made(tmp_path):
    with pytest.raises(InputError, match="folder does not exist"):
        write_constants(REFERENCE, tmp_path / "nowhere" / "constants.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.pop("cores"), "lacks cores"),
        (lambda content: content["ray"].pop("task"), "lacks ray.task"),
        (lambda content: content.update(colour="red"), "unknown entry colour"),
        (lambda content: content["counting"].update(multiply=-1e-12), "counting.multiply is -1e-12"),
        (lambda content: content["search"].update(start=float("nan")), "search.start is nan"),
        (lambda content: content["disk_rate"].update(read=0), "disk_rate.read is 0"),
        (lambda content: content["gpu"].update(stream="fast"), "gpu.stream is 'fast'"),
        (lambda content: content.update(cores=0), "cores is 0"),
        (lambda content: content.update(cores=1.5), "cores is 1.5"),
        (lambda content: content.update(memory=True), "memory is True"),
        (lambda content: content.update(machine=7), "machine is 7"),
        (lambda content: content.update(reading=None), "reading is None"),
        (lambda content: content.update(encoding=[1]), r"encoding is \[1\]"),
        (lambda content: content["encoding"].update(other={"load": 1}), "lacks encoding.other."),
    ],
)
def test_a_file_with_a_wrong_entry_is_refused_and_the_entry_named(path, change, message):
    changed(path, change)
    with pytest.raises(InputError, match=message) as raised:
        read_constants(path)
    assert str(path) in str(raised.value)
    assert "--calibrate" in str(raised.value)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"format": "something else"}', "7"])
def test_a_damaged_file_and_one_of_something_else_are_refused(path, text):
    path.write_text(text)
    with pytest.raises(InputError, match="--calibrate"):
        read_constants(path)


def test_a_file_cut_short_is_refused(path):
    path.write_text(path.read_text()[:-40])
    with pytest.raises(InputError, match="damaged"):
        read_constants(path)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_constants(tmp_path / "none.json")


def test_a_model_that_was_not_measured_is_refused_with_the_command_that_measures_it():
    with pytest.raises(InputError, match="--calibrate -m 'st:other'"):
        REFERENCE.encoding_of("st:other")
    model = next(iter(REFERENCE.encoding))
    assert REFERENCE.encoding_of(model) == REFERENCE.encoding[model]
    with pytest.raises(InputError, match="measured: none"):
        replace(REFERENCE, encoding={}).encoding_of("wordllama")


def test_the_parts_of_a_cost_are_multiplied_by_what_they_are_named_after():
    assert ranking_features(100, 8, 10, 3, 2) == (1, 10, 800, 8000, 2000, 30)
    cost = RankingCost(start=1, query=1, number=1, multiply=1, pair=1, entry=1)
    assert cost.parts(100, 8, 10, 3, 2) == [1, 10, 800, 8000, 2000, 30]
