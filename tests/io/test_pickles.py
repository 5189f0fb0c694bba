"""Pickles from outside: plain data comes through unchanged, and whatever else they hold is refused unexecuted."""

import collections
import os
import pickle
import pickletools
import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.errors import InputError
from goldrank.io import pickles
from goldrank.io.pickles import load_restricted, read_restricted

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
KEYS = st.one_of(st.text(max_size=8), st.integers(), st.booleans(), st.tuples(st.text(max_size=3), st.integers()))
PLAIN = st.recursive(
    st.one_of(st.none(), KEYS, st.floats(allow_nan=False), st.frozensets(st.integers(), max_size=3)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(KEYS, inner, max_size=4),
        st.tuples(inner, inner),
        st.sets(KEYS, max_size=3),
    ),
    max_leaves=20,
)


@given(PLAIN, st.sampled_from(PROTOCOLS))
def test_plain_data_comes_back_equal_from_every_protocol(value, protocol):
    assert load_restricted(pickle.dumps(value, protocol), "x.pkl") == value


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_gold_of_the_original_data_is_read(protocol):
    gold = collections.defaultdict(dict)
    gold["Château d'Yquem"]["Château Suduiraut"] = 1
    gold["R&amp;D"] = {"A": 1.0}
    loaded = load_restricted(pickle.dumps(gold, protocol), "gold.pkl")
    assert loaded == gold
    assert isinstance(loaded, collections.defaultdict)
    assert loaded["new"] == {}
    ordered = collections.OrderedDict(b=1, a=[True, None])
    assert load_restricted(pickle.dumps(ordered, protocol), "gold.pkl") == ordered


class Calls:
    """Pickles as a call of anything."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def hand_made(*operations: bytes) -> bytes:
    return b"\x80\x04" + b"".join(operations) + b"."


def text(value: str) -> bytes:
    return b"\x8c" + bytes([len(value.encode())]) + value.encode()


def attacks(marker):
    import copyreg
    import functools
    import operator
    import subprocess

    command = f"touch {marker}"
    touch = f"open({str(marker)!r}, 'w')"
    yield "os.system", pickle.dumps(Calls(os.system, command))
    yield "subprocess", pickle.dumps(Calls(subprocess.check_output, ["touch", str(marker)]))
    yield "builtins.eval", pickle.dumps(Calls(eval, touch))
    yield "__builtin__.eval", pickle.dumps(Calls(eval, touch), 2)
    yield "builtins.exec", pickle.dumps(Calls(exec, touch), 0)
    yield "builtins.getattr", pickle.dumps(Calls(getattr, "x", "upper"))
    yield "builtins.open", pickle.dumps(Calls(open, str(marker), "w"))
    yield "operator.attrgetter", pickle.dumps(operator.attrgetter("system"))
    yield "BUILD", pickle.dumps(functools.partial(os.system, command))
    yield "copyreg._reconstructor", pickle.dumps(Calls(copyreg._reconstructor, list, object, None))
    # A dotted name walks through attributes in protocol 4.
    dotted = text("builtins"), text("dict.__class__.__subclasses__"), b"\x93", b")", b"R"
    yield "dict.__class__", hand_made(*dotted)
    # The name is put together on the stack, so no look at the text of the file would find it.
    yield "posix.system", hand_made(text("posix"), text("system"), b"\x93", text(command), b"\x85", b"R")
    yield "INST", b"(S'" + command.encode() + b"'\nios\nsystem\n."
    yield "os.system", b"(cos\nsystem\nS'" + command.encode() + b"'\no."
    yield "NEWOBJ", hand_made(b"cbuiltins\ndict\n", b")", b"\x81")
    yield "hand-made BUILD", hand_made(b"}", b"}", b"b")
    yield "PERSID", b"Psomething\n."
    yield "EXT1", hand_made(b"\x82\x01")


@pytest.mark.parametrize("number", range(18))
def test_a_pickle_that_tries_to_execute_code_is_refused_and_executes_nothing(tmp_path, number):
    marker = tmp_path / "marker"
    name, data = list(attacks(marker))[number]
    with pytest.raises(InputError, match=r"which is no plain data|which plain data has no need of") as refused:
        load_restricted(data, "gold.pkl")
    assert str(refused.value).startswith("gold.pkl: ")
    assert name.split(".")[-1].split()[-1] in str(refused.value)
    assert not marker.exists()


def test_there_are_no_more_attacks_than_are_tried(tmp_path):
    assert len(list(attacks(tmp_path / "marker"))) == 18


def test_the_attacks_would_work_if_they_were_loaded_unrestricted(tmp_path):
    marker = tmp_path / "marker"
    pickle.loads(dict(attacks(marker))["posix.system"])
    assert marker.exists()


@pytest.mark.parametrize("cut", [1, 7, 20, -1])
def test_a_truncated_pickle_is_said_to_be_truncated(cut):
    data = pickle.dumps({"source": {"gold": 1, "other": 2}})
    with pytest.raises(InputError, match="truncated or damaged"):
        load_restricted(data[:cut], "gold.pkl")


@given(st.binary(max_size=60))
def test_noise_is_refused_as_bad_input_or_is_plain_data(noise):
    with suppress(InputError):
        assert not isinstance(load_restricted(noise, "noise.pkl"), type)


@given(st.data())
def test_a_flipped_byte_is_refused_as_bad_input_or_leaves_plain_data(data):
    pickled = bytearray(pickle.dumps(collections.defaultdict(dict, a={"b": 1, "c": [1.5, (2, "x")]})))
    at = data.draw(st.integers(0, len(pickled) - 1))
    pickled[at] = data.draw(st.integers(0, 255))
    with suppress(InputError):
        assert not isinstance(load_restricted(bytes(pickled), "flipped.pkl"), type)


def nested_tuple(levels):
    value = ("x",)
    for _ in range(levels):
        value = (value, value)
    return value


BOMBS = {
    "a tuple as key whose hash takes for ever": b"}" + pickle.dumps(nested_tuple(60), 2)[2:-1] + b"K\x01s",
    "lists of lists of lists": b"".join([b"]q\x00", *(b"]q%c(h%ch%ce" % (i, i - 1, i - 1) for i in range(1, 60))]),
    "depth": b"]" * 100_000 + b"a" * 99_999,
    "a tuple in a tuple": b")" + b"\x85" * 100_000,
    "a list that holds itself": b"]q\x00h\x00a",
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_grows_without_bound_is_refused(name):
    with pytest.raises(InputError, match="grows without bound"):
        load_restricted(b"\x80\x02" + BOMBS[name] + b".", "bomb.pkl")


@pytest.mark.parametrize(
    "operations",
    [
        b"cbuiltins\nbytes\n" + b"\x8a\x06" + (10**13).to_bytes(6, "little") + b"\x85R",
        b"]r" + struct.pack("<I", 0xFFFFFFF0),
        b"\x8e" + struct.pack("<Q", 1 << 50),
        b"ccollections\ndefaultdict\ncbuiltins\nstr\n\x85R",
        b"ccollections\ndefaultdict\nX\x01\x00\x00\x00a\x85R",
        b"a",
        b"u",
        b"h\x07",
    ],
    ids=["huge bytes", "huge memo", "huge length", "factory", "no factory", "no list", "no mark", "no memo"],
)
def test_what_would_fill_the_memory_or_is_malformed_is_refused(operations):
    with pytest.raises(InputError, match="truncated or damaged"):
        load_restricted(b"\x80\x04" + operations + b".", "bad.pkl")


def test_one_value_in_many_places_is_no_bomb():
    shared = {f"title {i}": 1 for i in range(100)}
    value = {str(i): shared for i in range(1000)}
    assert load_restricted(pickle.dumps(value), "x.pkl") == value
    assert load_restricted(pickletools.optimize(pickle.dumps(value)), "x.pkl") == value


def test_strings_of_python_2_are_read_as_utf_8():
    pickled = b"(dp0\nU\x08Ch\xc3\xa2teauU\x01xs."
    assert load_restricted(pickled, "old.pkl") == {"Château": "x"}


def test_a_file_that_is_too_large_is_not_even_read(tmp_path, monkeypatch):
    path = tmp_path / "gold.pkl"
    path.write_bytes(pickle.dumps({"a": {"b": 1}}))
    assert read_restricted(path) == {"a": {"b": 1}}
    monkeypatch.setattr(pickles, "SIZE_LIMIT", 4)
    with pytest.raises(InputError, match="larger than 0 MB"):
        read_restricted(path)
    with pytest.raises(InputError, match="larger than 0 MB"):
        load_restricted(path.read_bytes(), "gold.pkl")
    with pytest.raises(InputError, match="No such file"):
        read_restricted(tmp_path / "none.pkl")
