"""Pickles from outside, read without trusting them: plain data comes out, and nothing in them is ever executed.

The operations are carried out here and not by the standard library's unpickler, so that each of them is on a list of
harmless ones and is counted: a pickle of a few hundred bytes can ask for work without end.
"""

from __future__ import annotations

import codecs
import pickletools
import struct
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldrank.errors import InputError, shorten
from goldrank.io.files import PathLike, display_name

SIZE_LIMIT = 256 << 20
WORK_LIMIT = 5_000_000
"""Operations in one pickle. A mark or a new dictionary counts as 4, a new set as 8, a key as the values in it."""
DEPTH_LIMIT = 64
# A value that is written once can be met many times: so often more than there are operations, and so often in a key.
_SHARED_LIMIT = 2_000_000
_KEY_LIMIT = 10_000
# Equal hashes make a dictionary slow. Keys of real data hardly ever share one, apart from -1 and -2.
_EQUAL_HASHES = 64
_INTEGER_BYTES = 1024
_NUMBER_DIGITS = 4300

_REMEDY = 'save the data as JSON instead: {"query": {"item": grade}}'


def read_restricted(path: PathLike) -> object:
    """The plain data in the pickle at *path*, read as `load_restricted` does."""
    name = display_name(path)
    try:
        if not Path(path).is_file() and Path(path).exists():
            raise InputError("this is not a plain file", where=name, remedy="copy the pickle into a file first")
        if Path(path).stat().st_size > SIZE_LIMIT:
            raise _too_large(name)
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(
            f"the pickle cannot be read ({error.strerror})", where=name, remedy="check the path and its permissions"
        ) from None
    return load_restricted(data, name)


def load_restricted(data: bytes, where: str) -> object:
    """The value in a pickle, if it is made of plain data alone; anything else is refused unexecuted.

    Plain are None, bool, int, float, str, bytes, list, tuple, set, frozenset, dict, OrderedDict, and defaultdict whose
    factory is dict, list, int, set or float. *where* names the file in messages.

    >>> import pickle
    >>> load_restricted(pickle.dumps({"wine": {"grape": 1}}), "gold.pkl")
    {'wine': {'grape': 1}}
    >>> load_restricted(pickle.dumps(print), "gold.pkl")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    goldrank.errors.InputError: gold.pkl: the pickle asks for 'builtins.print', which is no plain data...
    """
    if len(data) > SIZE_LIMIT:
        raise _too_large(where)
    reader = _Reader(data, where)
    try:
        loaded = reader.load()
    except InputError:
        raise
    except MemoryError:
        raise InputError("the pickle does not fit in memory", where=where, remedy=_REMEDY) from None
    except Exception as error:
        # What a damaged pickle makes an operation raise; no code of the pickle has run.
        reason = str(error).partition("\n")[0][:120] or type(error).__name__
        raise _damaged(f"{reason} at byte {reader.at}", where) from None
    _refuse_expanding(loaded, _SHARED_LIMIT + reader.work, where)
    return loaded


@dataclass(frozen=True, eq=False)
class _Type:
    """A type that a pickle names; it never leaves the reader."""

    name: str


_NAMES = ("dict", "list", "set", "tuple", "str", "int", "float", "bool", "frozenset", "bytes")
_TYPES = {
    **{("builtins", name): _Type(name) for name in _NAMES},
    ("collections", "defaultdict"): _Type("defaultdict"),
    ("collections", "OrderedDict"): _Type("OrderedDict"),
}
_FACTORIES: dict[str, Callable[[], Any]] = {"dict": dict, "list": list, "int": int, "set": set, "float": float}


class _Reader:
    """Carries out the operations of one pickle and counts them."""

    def __init__(self, data: bytes, where: str) -> None:
        self.at = 0
        """The byte of the operation that is being carried out."""
        self.work = 0
        self._data, self._where = data, where
        self._stack: list[Any] = []
        self._outer: list[list[Any]] = []
        self._memo: dict[int, Any] = {}
        # The hashes of keys that may have been chosen to be equal, by container.
        self._hashes: dict[int, tuple[object, Counter[int]]] = {}

    def load(self) -> object:
        """The value that the pickle leaves on its stack."""
        data = self._data
        while True:
            if self.at >= len(data):
                raise EOFError("the last operation is missing")
            code = data[self.at]
            if code == _STOP:
                return self._stack.pop()
            operation = _OPERATIONS.get(code)
            if operation is None:
                raise self._unknown(code)
            self.work += 1
            if self.work > WORK_LIMIT:
                raise self._too_much()
            self.at = operation(self, self.at + 1)

    def _charge(self, amount: int) -> None:
        self.work += amount
        if self.work > WORK_LIMIT:
            raise self._too_much()

    def _too_much(self) -> InputError:
        return InputError(f"the pickle asks for more than {WORK_LIMIT} operations", where=self._where, remedy=_REMEDY)

    def _unknown(self, code: int) -> InputError:
        known = next((operation for operation in pickletools.opcodes if operation.code == chr(code)), None)
        if known is None:
            return _damaged(f"no operation has the code 0x{code:02x} at byte {self.at}", self._where)
        return InputError(
            f"the pickle holds the operation {known.name} at byte {self.at}, which plain data has no need of",
            where=self._where,
            remedy=_REMEDY,
        )

    # Reading arguments

    def _part(self, at: int, size: int) -> tuple[bytes, int]:
        if at + size > len(self._data):
            raise EOFError(f"{size} bytes are announced and {max(0, len(self._data) - at)} left")
        return self._data[at : at + size], at + size

    def _unsigned(self, at: int, size: int) -> tuple[int, int]:
        part, at = self._part(at, size)
        return int.from_bytes(part, "little"), at

    def _sized(self, at: int, size: int) -> tuple[bytes, int]:
        length, at = self._unsigned(at, size)
        return self._part(at, length)

    def _line(self, at: int) -> tuple[bytes, int]:
        end = self._data.find(b"\n", at)
        if end < 0:
            raise EOFError("a line has no end")
        return self._data[at:end], end + 1

    def _marked(self) -> list[Any]:
        """The values since the last mark."""
        values, self._stack = self._stack, self._outer.pop()
        return values

    # Operations; each takes the place after its code and returns the place after its arguments

    def protocol(self, at: int) -> int:
        version, at = self._unsigned(at, 1)
        if version > 5:
            raise ValueError(f"protocol {version} is not known")
        return at

    def frame(self, at: int) -> int:
        return self._part(at, 8)[1]

    def mark(self, at: int) -> int:
        self._charge(3)
        self._outer.append(self._stack)
        self._stack = []
        return at

    def integer(self, at: int) -> int:
        line, at = self._line(at)
        self._stack.append({b"00": False, b"01": True}[line] if line in (b"00", b"01") else _decimal(line))
        return at

    def long(self, at: int) -> int:
        line, at = self._line(at)
        self._stack.append(_decimal(line.removesuffix(b"L")))
        return at

    def text_float(self, at: int) -> int:
        line, at = self._line(at)
        if len(line) > _NUMBER_DIGITS:
            raise ValueError(f"a number of {len(line)} digits")
        self._stack.append(float(line))
        return at

    def binary_float(self, at: int) -> int:
        part, at = self._part(at, 8)
        self._stack.append(struct.unpack(">d", part)[0])
        return at

    def quoted(self, at: int) -> int:
        line, at = self._line(at)
        if len(line) < 2 or line[:1] != line[-1:] or line[:1] not in (b"'", b'"'):
            raise ValueError("a text without quotes")
        # The strings of Python 2 are bytes, mostly UTF-8.
        self._stack.append(codecs.escape_decode(line[1:-1])[0].decode())
        return at

    def escaped(self, at: int) -> int:
        line, at = self._line(at)
        self._stack.append(line.decode("raw-unicode-escape"))
        return at

    def append(self, at: int) -> int:
        value = self._stack.pop()
        _exactly(self._stack[-1], list).append(value)
        return at

    def appends(self, at: int) -> int:
        values = self._marked()
        _exactly(self._stack[-1], list).extend(values)
        return at

    def make_list(self, at: int) -> int:
        values = self._marked()
        self._stack.append(values)
        return at

    def make_tuple(self, at: int) -> int:
        values = self._marked()
        self._stack.append(tuple(values))
        return at

    def set_item(self, at: int) -> int:
        value, key = self._stack.pop(), self._stack.pop()
        self._fill(self._stack[-1], [key, value])
        return at

    def set_items(self, at: int) -> int:
        values = self._marked()
        self._fill(self._stack[-1], values)
        return at

    def dictionary(self, at: int) -> int:
        values = self._marked()
        made: dict[Any, Any] = {}
        self._charge(3)
        self._fill(made, values)
        self._stack.append(made)
        return at

    def add_items(self, at: int) -> int:
        values = self._marked()
        self._add(_exactly(self._stack[-1], set), values)
        return at

    def frozen_set(self, at: int) -> int:
        values = self._marked()
        self._stack.append(frozenset(self._new_set(values)))
        return at

    def global_line(self, at: int) -> int:
        module, at = self._line(at)
        name, at = self._line(at)
        self._stack.append(_find(module.decode(), name.decode(), where=self._where))
        return at

    def global_stacked(self, at: int) -> int:
        name, module = self._stack.pop(), self._stack.pop()
        self._stack.append(_find(_exactly(module, str), _exactly(name, str), where=self._where))
        return at

    def call(self, at: int) -> int:
        arguments, called = self._stack.pop(), self._stack.pop()
        self._stack.append(self._call(_exactly(called, _Type).name, _exactly(arguments, tuple)))
        return at

    def _call(self, name: str, arguments: Any) -> Any:
        """The container that a pickle makes by a call; all other types only stand for a factory."""
        if name in ("set", "frozenset") and len(arguments) <= 1:
            made = self._new_set(_exactly(arguments[0], list) if arguments else [])
            return made if name == "set" else frozenset(made)
        self._charge(8)
        if name == "defaultdict" and len(arguments) <= 1:
            factory = arguments[0] if arguments else None
            if factory is None:
                return defaultdict(None)
            if not isinstance(factory, _Type) or factory.name not in _FACTORIES:
                raise ValueError("a defaultdict of a factory that is not dict, list, int, set or float")
            return defaultdict(_FACTORIES[factory.name])
        if name == "OrderedDict" and len(arguments) <= 1:
            ordered: OrderedDict[Any, Any] = OrderedDict()
            for pair in _exactly(arguments[0], list) if arguments else []:
                key, value = pair
                self._fill(ordered, [key, value])
            return ordered
        if name == "bytes" and not arguments:
            return b""
        raise ValueError(f"a call of {name} with {len(arguments)} arguments")

    def _fill(self, made: Any, values: list[Any]) -> None:
        if type(made) not in (dict, OrderedDict, defaultdict):
            raise TypeError(f"items for a {type(made).__name__}")
        if len(values) % 2:
            raise ValueError("a key without a value")
        for key, value in zip(values[::2], values[1::2], strict=True):
            self._check_key(made, key)
            made[key] = value

    def _new_set(self, values: list[Any]) -> set[Any]:
        made: set[Any] = set()
        self._charge(7)
        self._add(made, values)
        return made

    def _add(self, made: set[Any], values: list[Any]) -> None:
        for value in values:
            self._check_key(made, value)
            made.add(value)

    def _check_key(self, container: object, key: Any) -> None:
        """Charge for the hash of *key*, and refuse keys that were chosen to make the container slow.

        Texts and bytes have seeded hashes, and small integers hashes of their own.
        """
        kind = type(key)
        if kind is str or kind is bytes or (kind is int and -_OWN_HASH < key < _OWN_HASH):
            return
        if kind in (tuple, frozenset):
            self._charge(_key_size(key, self._where))
        _, hashes = self._hashes.setdefault(id(container), (container, Counter()))
        hashed = hash(key)
        hashes[hashed] += 1
        if hashes[hashed] > _EQUAL_HASHES:
            raise InputError(
                f"more than {_EQUAL_HASHES} keys of one dictionary or set have the same hash, "
                "which makes it take for ever",
                where=self._where,
                remedy=_REMEDY,
            )


_OWN_HASH = (1 << 61) - 1


def _pushing(constant: Callable[[], Any], work: int = 0) -> Callable[[_Reader, int], int]:
    def push(reader: _Reader, at: int) -> int:
        if work:
            reader._charge(work)
        reader._stack.append(constant())
        return at

    return push


def _integer(size: int, signed: bool = False) -> Callable[[_Reader, int], int]:
    def push(reader: _Reader, at: int) -> int:
        part, at = reader._part(at, size)
        reader._stack.append(int.from_bytes(part, "little", signed=signed))
        return at

    return push


def _long_integer(size: int) -> Callable[[_Reader, int], int]:
    def push(reader: _Reader, at: int) -> int:
        part, at = reader._sized(at, size)
        if len(part) > _INTEGER_BYTES:
            raise ValueError(f"an integer of {len(part)} bytes")
        reader._stack.append(int.from_bytes(part, "little", signed=True))
        return at

    return push


def _text(size: int, errors: str = "strict") -> Callable[[_Reader, int], int]:
    def push(reader: _Reader, at: int) -> int:
        part, at = reader._sized(at, size)
        reader._stack.append(part.decode("utf-8", errors))
        return at

    return push


def _raw(size: int) -> Callable[[_Reader, int], int]:
    def push(reader: _Reader, at: int) -> int:
        part, at = reader._sized(at, size)
        reader._stack.append(part)
        return at

    return push


def _short_tuple(size: int) -> Callable[[_Reader, int], int]:
    def push(reader: _Reader, at: int) -> int:
        stack = reader._stack
        if len(stack) < size:
            raise IndexError("too few values")
        stack[-size:] = [tuple(stack[-size:])]
        return at

    return push


def _put(size: int | None) -> Callable[[_Reader, int], int]:
    """Keep the last value under a number that follows in *size* bytes, as a line (0), or is the next (None)."""

    def keep(reader: _Reader, at: int) -> int:
        index, at = _index(reader, at, size) if size is not None else (len(reader._memo), at)
        # An unpickler makes room for all numbers below the highest; an honest pickle counts up.
        if not 0 <= index <= reader.work:
            raise ValueError(f"a value kept under {index}")
        reader._memo[index] = reader._stack[-1]
        return at

    return keep


def _get(size: int) -> Callable[[_Reader, int], int]:
    def push(reader: _Reader, at: int) -> int:
        index, at = _index(reader, at, size)
        if index not in reader._memo:
            raise ValueError(f"no value was kept under {index}")
        reader._stack.append(reader._memo[index])
        return at

    return push


def _index(reader: _Reader, at: int, size: int) -> tuple[int, int]:
    if size:
        return reader._unsigned(at, size)
    line, at = reader._line(at)
    return _decimal(line), at


# All that builds instances, calls methods or reaches outside (BUILD, INST, OBJ, NEWOBJ, PERSID, EXT …) is left out, and
# so is what only a hand-made pickle holds (DUP, POP).
_STOP = ord(".")
_OPERATIONS: dict[int, Callable[[_Reader, int], int]] = {
    ord(pickletools_code): operation
    for pickletools_code, operation in {
        "\x80": _Reader.protocol, "\x95": _Reader.frame, "(": _Reader.mark,
        "N": _pushing(lambda: None), "\x88": _pushing(lambda: True), "\x89": _pushing(lambda: False),
        "I": _Reader.integer, "J": _integer(4, signed=True), "K": _integer(1), "M": _integer(2),
        "L": _Reader.long, "\x8a": _long_integer(1), "\x8b": _long_integer(4),
        "F": _Reader.text_float, "G": _Reader.binary_float,
        "S": _Reader.quoted, "T": _text(4), "U": _text(1),
        "V": _Reader.escaped, "X": _text(4, "surrogatepass"), "\x8c": _text(1, "surrogatepass"),
        "\x8d": _text(8, "surrogatepass"), "B": _raw(4), "C": _raw(1), "\x8e": _raw(8),
        "}": _pushing(dict, 3), "d": _Reader.dictionary, "s": _Reader.set_item, "u": _Reader.set_items,
        "]": _pushing(list), "l": _Reader.make_list, "a": _Reader.append, "e": _Reader.appends,
        ")": _pushing(tuple), "t": _Reader.make_tuple,
        "\x85": _short_tuple(1), "\x86": _short_tuple(2), "\x87": _short_tuple(3),
        "\x8f": _pushing(set, 7), "\x91": _Reader.frozen_set, "\x90": _Reader.add_items,
        "p": _put(0), "q": _put(1), "r": _put(4), "\x94": _put(None), "g": _get(0), "h": _get(1), "j": _get(4),
        "c": _Reader.global_line, "\x93": _Reader.global_stacked, "R": _Reader.call,
    }.items()
}  # fmt: skip


def _decimal(line: bytes) -> int:
    if len(line) > _NUMBER_DIGITS:
        raise ValueError(f"a number of {len(line)} digits")
    return int(line)


def _exactly(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError(f"a {type(value).__name__.strip('_')} in the place of a {kind.__name__.strip('_')}")
    return value


def _find(module: str, name: str, *, where: str) -> _Type:
    # Pickles of protocol 2 and below call the module as Python 2 did.
    found = _TYPES.get(("builtins" if module == "__builtin__" else module, name))
    if found is None:
        raise InputError(
            f"the pickle asks for {shorten(f'{module}.{name}')}, which is no plain data and may execute code",
            where=where,
            remedy=_REMEDY,
        )
    return found


def _key_size(key: Any, where: str) -> int:
    """How many values the hash of a key visits: a tuple that holds another one twice, sixty times over, 2 ** 60."""
    size = 0
    for _, inner in _walk(key, where):
        size += 1
        if size > _KEY_LIMIT:
            raise _expands(where)
        if isinstance(inner, (list, dict, set)):
            raise TypeError(f"a {type(inner).__name__} in a key")
    return size


def _refuse_expanding(loaded: object, limit: int, where: str) -> None:
    """Raise for lists and dictionaries that hold themselves, or each other so often that none could go through them."""
    for number, (_, value) in enumerate(_walk(loaded, where)):
        if number > limit:
            raise _expands(where)
        if isinstance(value, _Type):
            raise InputError(f"the pickle holds the type {value.name} as a value", where=where, remedy=_REMEDY)


def _walk(value: object, where: str) -> Iterator[tuple[int, object]]:
    """Every value inside *value* as often as it is met, with its depth; too deep ones are refused."""
    yield 1, value
    waiting: list[Iterator[object]] = [_inside(value)]
    while waiting:
        inner = next(waiting[-1], _END)
        if inner is _END:
            waiting.pop()
            continue
        yield len(waiting) + 1, inner
        if isinstance(inner, (dict, list, tuple, set, frozenset)):
            if len(waiting) >= DEPTH_LIMIT:
                raise _expands(where)
            waiting.append(_inside(inner))


_END = object()


def _inside(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        pairs: Iterable[tuple[object, object]] = value.items()
        return (part for pair in pairs for part in pair)
    return iter(value) if isinstance(value, (list, tuple, set, frozenset)) else iter(())


def _expands(where: str) -> InputError:
    return InputError(
        "the pickle is nested too deeply or grows without bound when it is read", where=where, remedy=_REMEDY
    )


def _too_large(where: str) -> InputError:
    return InputError(f"the pickle is larger than {SIZE_LIMIT >> 20} MB", where=where, remedy=_REMEDY)


def _damaged(reason: str, where: str) -> InputError:
    return InputError(f"the pickle is truncated or damaged ({reason})", where=where, remedy="copy or download it again")
