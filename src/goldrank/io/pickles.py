"""Pickles from outside, read without trusting them: plain data comes out, and nothing in them is ever executed."""

from __future__ import annotations

import io
import pickle
import pickletools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from goldrank.errors import InputError, shorten
from goldrank.io.files import PathLike, display_name

SIZE_LIMIT = 256 << 20
DEPTH_LIMIT = 64
# What is shared is written once and met many times: so often in all, and so often in one tuple.
_SHARED_LIMIT = 2_000_000
_TUPLE_LIMIT = 10_000

# What builds plain data. All that can build instances, call methods or reach outside (BUILD, INST, OBJ, NEWOBJ,
# PERSID, EXT …) is left out, and so is what only a hand-made pickle holds (DUP, POP).
_OPCODES = frozenset({
    "PROTO", "FRAME", "STOP", "MARK", "NONE", "NEWTRUE", "NEWFALSE", "INT", "BININT", "BININT1", "BININT2",
    "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE",
    "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "EMPTY_DICT", "DICT", "SETITEM",
    "SETITEMS", "EMPTY_LIST", "LIST", "APPEND", "APPENDS", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3",
    "EMPTY_SET", "FROZENSET", "ADDITEMS", "PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE", "GET", "BINGET", "LONG_BINGET",
    "GLOBAL", "STACK_GLOBAL", "REDUCE",
})  # fmt: skip
_PUTS = frozenset({"PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"})
_GETS = frozenset({"GET", "BINGET", "LONG_BINGET"})
_REMEDY = 'save the data as JSON instead: {"query": {"item": grade}}'


def read_restricted(path: PathLike) -> object:
    """The plain data in the pickle at *path*, read as `load_restricted` does."""
    name = display_name(path)
    try:
        if Path(path).stat().st_size > SIZE_LIMIT:
            raise _too_large(name)
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(
            f"the pickle cannot be read ({error.strerror})", where=name, remedy="check the path and its permissions"
        ) from None
    return load_restricted(data, name)


def load_restricted(data: bytes, where: str) -> object:
    """The value in a pickle, if it is made of plain data alone; anything else is refused before it is loaded.

    Plain are None, bool, int, float, str, bytes, list, tuple, set, frozenset, dict, OrderedDict, and defaultdict whose
    factory is dict, list, int, set or float. *where* names the file in messages.

    >>> load_restricted(pickle.dumps({"wine": {"grape": 1}}), "gold.pkl")
    {'wine': {'grape': 1}}
    >>> load_restricted(pickle.dumps(print), "gold.pkl")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    goldrank.errors.InputError: gold.pkl: the pickle asks for 'builtins.print', which is no plain data...
    """
    if len(data) > SIZE_LIMIT:
        raise _too_large(where)
    try:
        _check(data, where)
        loaded = _Unpickler(data, where).load()
    except InputError:
        raise
    except MemoryError:
        raise InputError("the pickle does not fit in memory", where=where, remedy=_REMEDY) from None
    except Exception as error:
        # A damaged pickle can make the unpickler raise nearly anything; none of it comes from code in the pickle.
        raise _damaged(str(error).partition("\n")[0][:120] or type(error).__name__, where) from None
    _refuse_expanding(loaded, _SHARED_LIMIT + len(data), where)
    return loaded


def _check(data: bytes, where: str) -> None:
    """Go through the operations without doing any of them.

    Every value on the stack is followed by its depth and, for tuples, the values in it: a tuple that holds another
    one twice, and so on sixty times, is a short pickle, but to hash it takes for ever.
    """
    stack: list[tuple[int, int] | None] = []
    memo: dict[int, tuple[int, int]] = {}
    for number, (opcode, found, at) in enumerate(pickletools.genops(data), 1):
        argument, position = str(found), at or 0
        if opcode.name not in _OPCODES:
            raise InputError(
                f"the pickle holds the operation {opcode.name} at byte {position}, which plain data has no need of",
                where=where,
                remedy=_REMEDY,
            )
        if opcode.name == "GLOBAL":
            _find(*argument.split(" ", 1), where=where)
        if opcode.name in _PUTS:
            index = len(memo) if found is None else int(argument)
            # The unpickler makes room for all indexes below the highest.
            if not 0 <= index <= number or not stack or stack[-1] is None:
                raise _damaged(f"a value kept under {index} at byte {position}", where)
            memo[index] = stack[-1]
        elif opcode.name in _GETS:
            if int(argument) not in memo:
                raise _damaged(f"no value was kept under {argument} at byte {position}", where)
            stack.append(memo[int(argument)])
        else:
            size, depth = _step(stack, opcode, position, where)
            if size > _TUPLE_LIMIT or depth > DEPTH_LIMIT:
                raise _expands(where)


def _step(
    stack: list[tuple[int, int] | None], opcode: pickletools.OpcodeInfo, position: int, where: str
) -> tuple[int, int]:
    """Take from the stack what the operation takes and put back what it makes; the size and depth of that."""
    if opcode.name == "MARK":
        stack.append(None)
        return 0, 0
    before = opcode.stack_before
    taken: list[tuple[int, int]] = []
    wanted = len(before)
    if pickletools.markobject in before:
        wanted = before.index(pickletools.markobject)
        while stack and (value := stack[-1]) is not None:
            taken.append(value)
            stack.pop()
        if not stack:
            raise _damaged(f"no mark before byte {position}", where)
        stack.pop()
    for _ in range(wanted):
        value = stack.pop() if stack else None
        if value is None:
            raise _damaged(f"too few values before byte {position}", where)
        taken.append(value)
    # Only tuples are hashed anew each time with all that they hold.
    size = 1 + sum(size for size, _ in taken) if opcode.name.startswith("TUPLE") else 1
    if opcode.name in ("SETITEM", "SETITEMS", "APPEND", "APPENDS", "ADDITEMS"):
        # The list, dictionary or set was taken last; what is added to it is one deeper.
        made = size, max(taken[-1][1], 1 + max((depth for _, depth in taken[:-1]), default=0))
    else:
        made = size, 1 + max((depth for _, depth in taken), default=0)
    stack.extend([made] * len(opcode.stack_after))
    return made


class _Unpickler(pickle.Unpickler):
    """The unpickler of the standard library, which finds nothing but the types of plain data."""

    def __init__(self, data: bytes, where: str) -> None:
        # No mapping of old names: `_find` knows the one that plain data needs.
        # The strings of Python 2 are bytes, mostly UTF-8.
        super().__init__(io.BytesIO(data), fix_imports=False, encoding="utf-8")
        self._where = where

    def find_class(self, module: str, name: str) -> Any:
        """The type of plain data that is asked for."""
        return _find(module, name, where=self._where)

    def persistent_load(self, pid: Any) -> Any:
        """Refuse what lies outside of the pickle."""
        raise InputError(f"the pickle asks for the object {shorten(pid)} outside of it", where=self._where)


def _bytes(*content: Any) -> bytes:
    # bytes(10**12) would fill the memory with zeros.
    if content and not isinstance(content[0], (bytes, list)):
        raise ValueError("bytes of a number")
    return bytes(*content)


def _default_dictionary(factory: Any = None, *content: Any) -> defaultdict[Any, Any]:
    if factory not in (None, dict, list, int, set, float):
        raise ValueError("a defaultdict of a factory that is not dict, list, int, set or float")
    return defaultdict(factory, *content)


_TYPES: Mapping[tuple[str, str], Callable[..., Any]] = {
    **{("builtins", kind.__name__): kind for kind in (dict, list, set, tuple, str, int, float, bool, frozenset)},
    ("builtins", "bytes"): _bytes,
    ("collections", "defaultdict"): _default_dictionary,
    ("collections", "OrderedDict"): OrderedDict,
}


def _find(module: str, name: str, *, where: str) -> Callable[..., Any]:
    # Pickles of protocol 2 and below call the module as Python 2 did.
    found = _TYPES.get(("builtins" if module == "__builtin__" else module, name))
    if found is None:
        raise InputError(
            f"the pickle asks for {shorten(f'{module}.{name}')}, which is no plain data and may execute code",
            where=where,
            remedy=_REMEDY,
        )
    return found


def _refuse_expanding(loaded: object, limit: int, where: str) -> None:
    """Raise for lists and dictionaries that hold themselves, or each other so often that none could go through them."""
    left = limit
    open_values: list[tuple[object, int]] = [(loaded, 1)]
    while open_values:
        value, depth = open_values.pop()
        left -= 1
        if left < 0 or depth > DEPTH_LIMIT:
            raise _expands(where)
        if isinstance(value, dict):
            open_values += [(inner, depth + 1) for pair in value.items() for inner in pair]
        elif isinstance(value, (list, tuple, set, frozenset)):
            open_values += [(inner, depth + 1) for inner in value]


def _expands(where: str) -> InputError:
    return InputError(
        "the pickle is nested too deeply or grows without bound when it is read", where=where, remedy=_REMEDY
    )


def _too_large(where: str) -> InputError:
    return InputError(f"the pickle is larger than {SIZE_LIMIT >> 20} MB", where=where, remedy=_REMEDY)


def _damaged(reason: str, where: str) -> InputError:
    return InputError(f"the pickle is truncated or damaged ({reason})", where=where, remedy="copy or download it again")
