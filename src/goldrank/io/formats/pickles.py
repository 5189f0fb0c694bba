"""Read plain data from untrusted pickles without executing anything in them.

This module interprets the operations instead of the standard library's unpickler, so that only harmless ones are
allowed and all are counted: a pickle of a few hundred bytes can cause endless work.
"""

from __future__ import annotations

import codecs
import pickletools
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from goldrank.errors import InputError, reason_of, shorten
from goldrank.io.files import PathLike, display_name

SIZE_LIMIT = 256 << 20
WORK_LIMIT = 5_000_000
"""The most operations in one pickle; a mark or a new dictionary counts as 4, a new set as 8, a key by its size."""
DEPTH_LIMIT = 64
# Values that are written once may be referenced many times: limits on the visits in all, and on those of one key.
_SHARED_LIMIT = 2_000_000
_KEY_LIMIT = 10_000
# Equal hashes make a dictionary slow. Keys of real data rarely have equal hashes, except for -1 and -2.
_EQUAL_HASHES = 64
_INTEGER_BYTES = 1024
_NUMBER_DIGITS = 4300

_REMEDY = 'save the data as JSON instead: {"query": {"item": grade}}'


def read_restricted(path: PathLike) -> object:
    """Return the plain data in the pickle at *path*, read as `load_restricted` does."""
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
    """Return the value in a pickle if it consists of plain data; raise InputError for anything else.

    Plain data are None, bool, int, float, str, bytes, list, tuple, set, frozenset, dict, OrderedDict, and defaultdict
    with the factory dict, list, int, set or float. *where* names the file in messages.

    >>> import pickle
    >>> load_restricted(pickle.dumps({"wine": {"grape": 1}}), "gold.pkl")
    {'wine': {'grape': 1}}
    >>> load_restricted(pickle.dumps(print), "gold.pkl")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    goldrank.errors.InputError: gold.pkl: the pickle asks for 'builtins.print', which is not plain data...
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
        # Errors that operations of a damaged pickle raise; no code of the pickle has run.
        raise InputError(
            f"the pickle is truncated or damaged ({reason_of(error)} at byte {reader.at})",
            where=where,
            remedy="copy or download it again",
        ) from None
    _refuse_expanding(loaded, _SHARED_LIMIT + reader.work, where)
    return loaded


@dataclass(frozen=True, eq=False)
class _Type:
    """A type that a pickle names; it is never returned."""

    name: str


_NAMES = ("dict", "list", "set", "tuple", "str", "int", "float", "bool", "frozenset", "bytes")
_TYPES = {
    **{("builtins", name): _Type(name) for name in _NAMES},
    ("collections", "defaultdict"): _Type("defaultdict"),
    ("collections", "OrderedDict"): _Type("OrderedDict"),
}
_FACTORIES: dict[str, Callable[[], Any]] = {"dict": dict, "list": list, "int": int, "set": set, "float": float}
_OPCODES = {opcode.code.encode("latin-1"): opcode for opcode in pickletools.opcodes}
# Operations whose argument is their value.
_VALUES = (
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
    "STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8",
    "BINBYTES", "SHORT_BINBYTES", "BINBYTES8",
)  # fmt: skip
# Operations whose argument is a line with a number.
_NUMBER_LINES = frozenset(["INT", "LONG", "FLOAT", "PUT", "GET"])
_OWN_HASH = (1 << 61) - 1
"""Smaller integers are equal to their hashes."""


class _Reader:
    """Execute the operations of one pickle and count them; the standard library reads their arguments."""

    def __init__(self, data: bytes, where: str) -> None:
        self.at = 0
        """The byte of the current operation."""
        self.work = 0
        self._data, self._where = data, where
        self._stack: list[Any] = []
        self._outer: list[list[Any]] = []
        self._memo: dict[int, Any] = {}
        # The hashes of keys that may have been chosen to be equal, by container.
        self._hashes: dict[int, tuple[object, Counter[int]]] = {}

    def load(self) -> object:
        """Return the value that the pickle leaves on its stack."""
        stream = BytesIO(self._data)
        while True:
            self.at = stream.tell()
            code = stream.read(1)
            opcode = _OPCODES.get(code)
            if opcode is None:
                raise ValueError(
                    f"no operation has the code 0x{code.hex()}" if code else "the last operation is missing"
                )
            if opcode.name == "STOP":
                return self._stack.pop()
            operation = _OPERATIONS.get(opcode.name)
            if operation is None:
                raise InputError(
                    f"the pickle holds the operation {opcode.name} at byte {self.at}, which plain data has no need of",
                    where=self._where,
                    remedy=_REMEDY,
                )
            self._charge(1)
            operation(self, self._argument(opcode, stream))

    def _argument(self, opcode: pickletools.OpcodeInfo, stream: BytesIO) -> Any:
        if opcode.name == "STRING":
            # The strings of Python 2 are bytes, mostly UTF-8, although pickletools decodes them as ASCII.
            line = stream.readline().removesuffix(b"\n")
            if len(line) < 2 or line[:1] != line[-1:] or line[:1] not in (b"'", b'"'):
                raise ValueError("a text without quotes")
            return codecs.escape_decode(line[1:-1])[0].decode()
        if opcode.name in _NUMBER_LINES and (digits := self._data.find(b"\n", self.at) - self.at - 1) > _NUMBER_DIGITS:
            raise ValueError(f"a number of {digits} digits")
        argument: Any = opcode.arg.reader(stream) if opcode.arg else None
        if opcode.name in ("BINSTRING", "SHORT_BINSTRING"):
            return argument.encode("latin-1").decode()
        if isinstance(argument, int) and argument.bit_length() > 8 * _INTEGER_BYTES:
            raise ValueError(f"an integer of {argument.bit_length() // 8} bytes")
        return argument

    def _charge(self, amount: int) -> None:
        self.work += amount
        if self.work > WORK_LIMIT:
            raise InputError(
                f"the pickle asks for more than {WORK_LIMIT} operations", where=self._where, remedy=_REMEDY
            )

    def _marked(self) -> list[Any]:
        """Return the values since the last mark."""
        values, self._stack = self._stack, self._outer.pop()
        return values

    # Operations, each with the argument of its opcode

    def push(self, argument: object) -> None:
        self._stack.append(argument)

    def ignore(self, _: object) -> None:
        pass

    def protocol(self, version: int) -> None:
        if version > 5:
            raise ValueError(f"protocol {version} is not known")

    def mark(self, _: object) -> None:
        self._charge(3)
        self._outer.append(self._stack)
        self._stack = []

    def append(self, _: object) -> None:
        value = self._stack.pop()
        _exactly(self._stack[-1], list).append(value)

    def appends(self, _: object) -> None:
        values = self._marked()
        _exactly(self._stack[-1], list).extend(values)

    def set_item(self, _: object) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        self._fill(self._stack[-1], [key, value])

    def set_items(self, _: object) -> None:
        values = self._marked()
        self._fill(self._stack[-1], values)

    def dictionary(self, _: object) -> None:
        values = self._marked()
        self._charge(3)
        self._stack.append({})
        self._fill(self._stack[-1], values)

    def add_items(self, _: object) -> None:
        values = self._marked()
        self._add(_exactly(self._stack[-1], set), values)

    def frozen_set(self, _: object) -> None:
        values = self._marked()
        self._stack.append(frozenset(self._new_set(values)))

    def put(self, index: int) -> None:
        # An unpickler allocates memory for all numbers below the highest; a regular pickle counts up.
        if not 0 <= index <= self.work:
            raise ValueError(f"a value kept under {index}")
        self._memo[index] = self._stack[-1]

    def get(self, index: int) -> None:
        if index not in self._memo:
            raise ValueError(f"no value was kept under {index}")
        self._stack.append(self._memo[index])

    def global_name(self, name: str) -> None:
        self._stack.append(_find_type(*name.split(" ", 1), where=self._where))

    def stack_global(self, _: object) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        self._stack.append(_find_type(_exactly(module, str), _exactly(name, str), where=self._where))

    def call(self, _: object) -> None:
        arguments, called = self._stack.pop(), self._stack.pop()
        self._stack.append(self._call(_exactly(called, _Type).name, _exactly(arguments, tuple)))

    def _call(self, name: str, arguments: Any) -> Any:
        """Return the container that a pickle creates by a call; other types may only be factories."""
        if name in ("set", "frozenset") and len(arguments) <= 1:
            values = self._new_set(_exactly(arguments[0], list) if arguments else [])
            return values if name == "set" else frozenset(values)
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

    def _fill(self, target: Any, values: list[Any]) -> None:
        if type(target) not in (dict, OrderedDict, defaultdict):
            raise TypeError(f"items for a {type(target).__name__}")
        if len(values) % 2:
            raise ValueError("a key without a value")
        for key, value in zip(values[::2], values[1::2], strict=True):
            self._check_key(target, key)
            target[key] = value

    def _new_set(self, values: list[Any]) -> set[Any]:
        target: set[Any] = set()
        self._charge(7)
        self._add(target, values)
        return target

    def _add(self, target: set[Any], values: list[Any]) -> None:
        for value in values:
            self._check_key(target, value)
            target.add(value)

    def _check_key(self, container: object, key: Any) -> None:
        """Charge for the hash of *key*, and refuse keys that were chosen to make the container slow.

        Texts and bytes have seeded hashes, and small integers have distinct ones.
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


def _pushing(constant: Callable[[], Any], work: int = 0) -> Callable[[_Reader, Any], None]:
    def push(reader: _Reader, _: object) -> None:
        reader._charge(work)
        reader._stack.append(constant())

    return push


def _tuple_of(size: int) -> Callable[[_Reader, Any], None]:
    def push(reader: _Reader, _: object) -> None:
        stack = reader._stack
        if len(stack) < size:
            raise IndexError("too few values")
        stack[-size:] = [tuple(stack[-size:])]

    return push


# Operations that build instances, call methods or refer to anything outside (BUILD, INST, OBJ, NEWOBJ, PERSID, EXT …)
# are not allowed, nor are those that occur only in hand-made pickles (DUP, POP).
_OPERATIONS: dict[str, Callable[[_Reader, Any], None]] = {
    "PROTO": _Reader.protocol, "FRAME": _Reader.ignore, "MARK": _Reader.mark,
    "NONE": _Reader.push, "NEWTRUE": _pushing(lambda: True), "NEWFALSE": _pushing(lambda: False),
    **dict.fromkeys(_VALUES, _Reader.push),
    "EMPTY_DICT": _pushing(dict, 3), "DICT": _Reader.dictionary,
    "SETITEM": _Reader.set_item, "SETITEMS": _Reader.set_items,
    "EMPTY_LIST": _pushing(list), "LIST": lambda reader, _: reader.push(reader._marked()),
    "APPEND": _Reader.append, "APPENDS": _Reader.appends,
    "EMPTY_TUPLE": _pushing(tuple), "TUPLE": lambda reader, _: reader.push(tuple(reader._marked())),
    "TUPLE1": _tuple_of(1), "TUPLE2": _tuple_of(2), "TUPLE3": _tuple_of(3),
    "EMPTY_SET": _pushing(set, 7), "FROZENSET": _Reader.frozen_set, "ADDITEMS": _Reader.add_items,
    "PUT": _Reader.put, "BINPUT": _Reader.put, "LONG_BINPUT": _Reader.put,
    "MEMOIZE": lambda reader, _: reader.put(len(reader._memo)),
    "GET": _Reader.get, "BINGET": _Reader.get, "LONG_BINGET": _Reader.get,
    "GLOBAL": _Reader.global_name, "STACK_GLOBAL": _Reader.stack_global, "REDUCE": _Reader.call,
}  # fmt: skip


def _exactly(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError(f"a {type(value).__name__.strip('_')} in the place of a {kind.__name__.strip('_')}")
    return value


def _find_type(module: str, name: str, *, where: str) -> _Type:
    # Pickles of protocol 2 and below use the module name of Python 2.
    named = _TYPES.get(("builtins" if module == "__builtin__" else module, name))
    if named is None:
        raise InputError(
            f"the pickle asks for {shorten(f'{module}.{name}')}, which is not plain data and may execute code",
            where=where,
            remedy=_REMEDY,
        )
    return named


def _key_size(key: Any, where: str) -> int:
    """Return how many values the hash of a key visits, which may be 2**60 for a key of sixty nested tuples."""
    size = 0
    for inner in _walk(key, where):
        size += 1
        if size > _KEY_LIMIT:
            raise _expands(where)
        if isinstance(inner, (list, dict, set)):
            raise TypeError(f"a {type(inner).__name__} in a key")
    return size


def _refuse_expanding(loaded: object, limit: int, where: str) -> None:
    """Raise InputError for lists and dictionaries that contain themselves, or each other too often to be traversed."""
    for number, value in enumerate(_walk(loaded, where)):
        if number > limit:
            raise _expands(where)
        if isinstance(value, _Type):
            raise InputError(f"the pickle holds the type {value.name} as a value", where=where, remedy=_REMEDY)


def _walk(value: object, where: str) -> Iterator[object]:
    """Yield each value inside *value* as often as it is referenced; raise InputError if it is nested too deeply."""
    yield value
    waiting: list[Iterator[object]] = [_inside(value)]
    while waiting:
        inner = next(waiting[-1], _END)
        if inner is _END:
            waiting.pop()
            continue
        yield inner
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
