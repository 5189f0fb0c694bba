"""Damage a valid file: by bytes, by lines and words, and by the structure of JSON, TOML, NumPy and ZIP files."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from random import Random
from typing import Any

NUMBERS = [
    "nan", "inf", "-inf", "-1", "0", "1e999", "-0.0", "1" * 400, "9223372036854775808", "007", "1_0", "0x1p3", "٣",
    "1e-400", "999999999999", "", "18446744073709551616",
]  # fmt: skip
WORDS = [
    "",
    "\u202e",
    "é",
    "e\u0301",
    "\ufeff",
    "\x1b[31m",
    "a" * 70_000,
    "null",
    "'",
    '"',
    "\t",
    "\\",
    "#",
    "=",
    "%s",
    "../x",
]
BYTES = [b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\x1b", b"\x85", b"\xf8\x88"]
JSON_VALUES: list[Any] = [
    None, True, False, 0, -1, 10**400, 1.5, 1e308, "", "x", "\ud800", [], {}, [[]], [None], {"a": 1}, "nan", 2**63,
    [1, "a"], "1", [["a", "b"], ["c"]],
]  # fmt: skip
TOML_VALUES = [
    "0", "-1", "1.5", "nan", "inf", "true", '""', '"x"', "[]", "{}", "[1]", '["a", 1]', "[[]]", "1979-05-27",
    "07:32:00",    '{a = 1}', "[" * 2000 + "]" * 2000, "9" * 400, '"\\ud800"', "'''", '["\\u0000"]', "99999999999",
]  # fmt: skip


def mutate(data: bytes, other: bytes, rng: Random) -> bytes:
    """Damage *data* once to three times; *other* is a file to splice in."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice(_fitting(data))(data, other, rng)
    return data


Mutator = Callable[[bytes, bytes, Random], bytes]


def _fitting(data: bytes) -> list[Mutator]:
    """Return the mutators that apply to a file with this start and end."""
    mutators: list[Mutator] = list(_RAW)
    if data[:2] == b"PK":
        mutators += [_zip_member] * 12
    elif data[:6] == b"\x93NUMPY":
        mutators += [_npy_header] * 12
    elif b"\0" not in data[:4096]:
        mutators += list(_TEXT) * 2
        if data.lstrip()[:1] in (b"{", b"["):
            mutators += [_json_value] * 14
        if re.search(rb"(?m)^\w+ = ", data):
            mutators += [_toml_value] * 14
    return mutators


def _place(data: bytes, rng: Random) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((1, 1, 2, 4, 16, 64, 1024)))


def _flip(data: bytes, other: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + bytes(byte ^ (1 << rng.randrange(8)) for byte in data[at : at + 1]) + data[at + 1 :]


def _truncate(data: bytes, other: bytes, rng: Random) -> bytes:
    return data[: rng.choice((0, 1, len(data) // 2, max(0, len(data) - 1), rng.randrange(len(data) + 1)))]


def _delete(data: bytes, other: bytes, rng: Random) -> bytes:
    start, end = _place(data, rng)
    return data[:start] + data[end:]


def _insert(data: bytes, other: bytes, rng: Random) -> bytes:
    at, _ = _place(data, rng)
    return data[:at] + rng.choice((rng.choice(BYTES), rng.randbytes(rng.choice((1, 4, 30))))) + data[at:]


def _overwrite(data: bytes, other: bytes, rng: Random) -> bytes:
    start, end = _place(data, rng)
    return (
        data[:start]
        + rng.choice((bytes(end - start), rng.randbytes(end - start), b"\xff" * (end - start)))
        + data[end:]
    )


def _repeat(data: bytes, other: bytes, rng: Random) -> bytes:
    start, end = _place(data, rng)
    return data[:end] + data[start:end] * rng.choice((1, 2, 200)) + data[end:]


def _splice(data: bytes, other: bytes, rng: Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


def _append(data: bytes, other: bytes, rng: Random) -> bytes:
    return data + rng.choice((data, other, b"trailing", b"\0" * 4))


_RAW: tuple[Mutator, ...] = (_flip, _truncate, _delete, _insert, _overwrite, _repeat, _splice, _append)


def _word(data: bytes, other: bytes, rng: Random) -> bytes:
    """Replace a word by another one, or by a word from elsewhere in the file."""
    words = list(re.finditer(rb"[^\s,\"\[\]{}:=|<>()]+", data))
    if not words:
        return data
    word = rng.choice(words)
    new = rng.choice((rng.choice(WORDS).encode(), rng.choice(NUMBERS).encode(), rng.choice(words)[0]))
    return data[: word.start()] + new + data[word.end() :]


def _number(data: bytes, other: bytes, rng: Random) -> bytes:
    numbers = list(re.finditer(rb"-?\d+(?:\.\d+)?", data))
    if not numbers:
        return _word(data, other, rng)
    number = rng.choice(numbers)
    return data[: number.start()] + rng.choice(NUMBERS).encode() + data[number.end() :]


def _lines(data: bytes, other: bytes, rng: Random) -> bytes:
    """Drop, double, swap, cut or join lines."""
    lines = data.split(b"\n")
    at, to = rng.randrange(len(lines)), rng.randrange(len(lines))
    action = rng.randrange(6)
    if action == 0:
        del lines[at]
    elif action == 1:
        lines.insert(to, lines[at])
    elif action == 2:
        lines[at], lines[to] = lines[to], lines[at]
    elif action == 3:
        lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)]
    elif action == 4:
        lines[at : at + 2] = [b" ".join(lines[at : at + 2])]
    else:
        lines[at:at] = other.split(b"\n")[:2]
    return b"\n".join(lines)


def _nest(data: bytes, other: bytes, rng: Random) -> bytes:
    at, _ = _place(data, rng)
    opening, closing = rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b"(", b")"), (b"<top>", b"</top>"), (b'"', b'"')))
    depth = rng.choice((3, 200, 5000))
    return data[:at] + opening * depth + closing * rng.choice((0, depth)) + data[at:]


def _encode(data: bytes, other: bytes, rng: Random) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(rng.choice(("utf-16", "utf-8-sig", "latin-1", "utf-32")), "replace")


def _crlf(data: bytes, other: bytes, rng: Random) -> bytes:
    return data.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\x85", b"\n\n")))


_TEXT: tuple[Mutator, ...] = (_word, _word, _number, _number, _lines, _lines, _nest, _encode, _crlf)


def _json_value(data: bytes, other: bytes, rng: Random) -> bytes:
    """Change the type of a value, or remove or rename a key, in the document or in one of its lines."""
    try:
        return _dumped(_changed(json.loads(data), rng))
    except (ValueError, RecursionError):
        pass
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    try:
        lines[at] = _dumped(_changed(json.loads(lines[at]), rng))
    except (ValueError, RecursionError):
        return _word(data, other, rng)
    return b"\n".join(lines)


def _dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode()


def _changed(value: Any, rng: Random) -> Any:
    if rng.random() < 0.25 or not isinstance(value, (dict, list)) or not value:
        return rng.choice(JSON_VALUES)
    if isinstance(value, dict):
        key = rng.choice(list(value))
        action = rng.random()
        changed = dict(value)
        if action < 0.12:
            del changed[key]
        elif action < 0.2:
            changed[rng.choice(WORDS)] = changed.pop(key)
        else:
            changed[key] = _changed(value[key], rng)
        return changed
    at = rng.randrange(len(value))
    action = rng.random()
    if action < 0.1:
        return value[:at] + value[at + 1 :]
    if action < 0.2:
        return [*value, value[at]]
    return [*value[:at], _changed(value[at], rng), *value[at + 1 :]]


def _toml_value(data: bytes, other: bytes, rng: Random) -> bytes:
    entries = list(re.finditer(rb"(?m)^(\w+) = (.*)$", data))
    if not entries:
        return _word(data, other, rng)
    entry = rng.choice(entries)
    value = rng.choice((rng.choice(TOML_VALUES).encode(), rng.choice(entries)[2]))
    return data[: entry.start(2)] + value + data[entry.end(2) :]


def _npy_header(data: bytes, other: bytes, rng: Random) -> bytes:
    """Change the dtype, order or shape in a header of the same length."""
    size = int.from_bytes(data[8:10], "little")
    header = data[10 : 10 + size].decode("latin-1")
    changes = [
        (r"'descr': '[^']*'", rng.choice(["'descr': '|O'", "'descr': '<f8'", "'descr': '<U4'", "'descr': '<c8'",
                                          "'descr': [('a', '<f4')]", "'descr': '|V4'", "'descr': 7"])),
        (r"'shape': \([^)]*\)", "'shape': " + rng.choice(["(99999999999, 4)", "(-1, 4)", "()", "(4,)", "(0, 4)", "'x'",
                                                         "(1, 1, 1)", "(2, 2.5)", "(4294967296, 4294967296)"])),
        (r"'fortran_order': \w+", rng.choice(["'fortran_order': True", "'fortran_order': 3"])),
        (r"\{", rng.choice(["{{", "[", "", "{'more': 1, ", "(" * 300])),
    ]  # fmt: skip
    pattern, new = rng.choice(changes)
    changed = re.sub(pattern, lambda _: new, header, count=1)
    return data[:10] + changed.ljust(size)[:size].encode("latin-1") + data[10 + size :]


def _zip_member(data: bytes, other: bytes, rng: Random) -> bytes:
    """Damage, rename, duplicate or remove a member of a valid archive."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(name, archive.read(name)) for name in archive.namelist()]
    except Exception:
        return _flip(data, other, rng)
    if not members:
        return data
    at, action = rng.randrange(len(members)), rng.random()
    name, content = members[at]
    if action < 0.6:
        members[at] = name, mutate(content, other, rng)
    elif action < 0.75:
        members[at] = rng.choice(["x.npy", "ids", "vectors", "../ids.npy", "a/b.npy", "texts.npy"]), content
    elif action < 0.85:
        members.append((rng.choice(["texts.npy", name]), content))
    else:
        del members[at]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()
