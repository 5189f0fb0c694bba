"""Restricted pickles: plain data loads unchanged, and all other content is refused without running it."""

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
from goldrank.io.formats import pickles
from goldrank.io.formats.pickles import load_restricted, read_restricted

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
    """An object that is pickled as the call of a function."""

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
    yield "functools.partial", pickle.dumps(functools.partial(os.system, command))
    yield "copyreg._reconstructor", pickle.dumps(Calls(copyreg._reconstructor, list, object, None))
    # In protocol 4 a dotted name is resolved through attributes.
    dotted = text("builtins"), text("dict.__class__.__subclasses__"), b"\x93", b")", b"R"
    yield "dict.__class__", hand_made(*dotted)
    # The name is assembled on the stack, so a search in the text of the file would not find it.
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
    with pytest.raises(InputError, match=r"which is not plain data|which plain data has no need of") as refused:
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
    position = data.draw(st.integers(0, len(pickled) - 1))
    pickled[position] = data.draw(st.integers(0, 255))
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


@pytest.mark.slow
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


def integer(value: int) -> bytes:
    size = value.bit_length() // 8 + 1
    return b"\x8a" + bytes([size]) + value.to_bytes(size, "little", signed=True)


def colliding_tuples(count: int) -> list[bytes]:
    # Equal inner hashes make equal hashes of the tuples that hold them.
    return [integer(number * ((1 << 61) - 1)) + b"\x85" for number in range(count)]


EQUAL = [integer(number * ((1 << 61) - 1)) for number in range(200)]
CALLED_TUPLES = b"".join(
    [b"cbuiltins\ntuple\nq\x00)q\x01", *(b"h\x00(h%ch%cl\x85Rq%c" % (i, i, i + 1) for i in range(1, 60))]
)
SLOW = {
    "integers with equal hashes as keys": (b"}(" + b"K\x01".join(EQUAL) + b"K\x01u", "same hash"),
    "integers with equal hashes in a set": (b"\x8f(" + b"".join(EQUAL) + b"\x90", "same hash"),
    "integers with equal hashes in a called set": (
        b"cbuiltins\nset\n(" + b"".join(EQUAL) + b"l\x85R",
        "same hash",
    ),
    "integers with equal hashes one by one": (b"}" + b"".join(key + b"K\x01s" for key in EQUAL), "same hash"),
    "tuples with equal hashes": (b"\x8f(" + b"".join(colliding_tuples(200)) + b"\x90", "same hash"),
    "a tuple made by calls, as key": (b"}" + CALLED_TUPLES + b"K\x01s", "a call of tuple"),
    "a codec that takes quadratic time": (
        b"cbuiltins\nstr\nC\x03abcX\x08\x00\x00\x00punycode\x86R",
        "a call of str",
    ),
    "a number of a million digits": (b"I" + b"9" * 1_000_000 + b"\n", "digits"),
    "an integer of a million bytes": (b"\x8b" + struct.pack("<i", 1_000_000) + b"\x01" * 1_000_000, "bytes"),
    "a type as a value": (b"]cbuiltins\ndict\na", "type dict as a value"),
}


@pytest.mark.parametrize("name", SLOW)
def test_what_would_take_more_than_linear_time_is_refused(name):
    operations, message = SLOW[name]
    with pytest.raises(InputError, match=message):
        load_restricted(b"\x80\x04" + operations + b".", "slow.pkl")


@pytest.mark.parametrize(
    ("operations", "count"),
    [(b"N", 1000), (b"}", 250), (b"\x8f", 125), (b"(l", 200), (b"()\x91", 80)],
    ids=["constants", "dictionaries", "sets", "lists", "frozen sets"],
)
def test_operations_are_counted_and_the_limit_is_said(operations, count, monkeypatch):
    monkeypatch.setattr(pickles, "WORK_LIMIT", 1000)
    pickled = b"\x80\x04(" + operations * (count // 2) + b"l."
    load_restricted(pickled, "small.pkl")
    with pytest.raises(InputError, match=r"more than 1000 operations; save the data as JSON"):
        load_restricted(b"\x80\x04(" + operations * count + b"l.", "large.pkl")


def test_the_hash_of_a_large_key_counts_as_often_as_it_is_taken(monkeypatch):
    monkeypatch.setattr(pickles, "WORK_LIMIT", 20_000)
    pickled = b"}(" + b"N" * 5000 + b"tq\x00" + b"K\x01s" + b"h\x00K\x01s" * 10
    with pytest.raises(InputError, match="more than 20000 operations"):
        load_restricted(b"\x80\x02" + pickled + b".", "large.pkl")


def test_the_limit_leaves_room_for_a_gold_of_a_million_judgements():
    gold = {f"query {q}": {f"item {q * 1000 + i}": 1 for i in range(1000)} for q in range(100)}
    reader = pickles._Reader(pickle.dumps(gold), "gold.pkl")
    assert reader.load() == gold
    assert reader.work * 10 < pickles.WORK_LIMIT


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
