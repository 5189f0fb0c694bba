"""Damage the files of a folder, reproducibly by a seed, to test that no damage causes an internal error."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Mutation:
    """One way to damage a folder; *apply* damages the folder at a path."""

    name: str
    apply: Callable[[Path], None]


def mutations(folder: Path, seed: int, *, flips: int = 3, cuts: int = 2) -> Iterator[Mutation]:
    """Yield damages to every file in *folder*: flipped bits, truncation, deletion, exchange, changed types in JSON."""
    chance = random.Random(seed)
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    for name in names:
        data = (folder / name).read_bytes()
        for _ in range(flips if data else 0):
            yield _flip(name, chance.randrange(len(data)), chance.randrange(8))
        for size in {0, *(chance.randrange(len(data) or 1) for _ in range(cuts))}:
            yield _write(f"{name} cut to {size} bytes", name, data[:size])
        yield _write(f"{name} with bytes added", name, data + b"\0" * 9)
        yield _write(f"{name} overwritten", name, chance.randbytes(len(data)))
        yield Mutation(f"{name} deleted", lambda at, name=name: (at / name).unlink())
        other = chance.choice(names)
        if other != name:
            yield _write(f"{name} with the content of {other}", name, (folder / other).read_bytes())
        if name.endswith(".json"):
            for path, changed in changed_json(json.loads(data)):
                yield _write(f"{name} with {path} changed", name, json.dumps(changed).encode())


def changed_json(content: Any) -> Iterator[tuple[str, Any]]:
    """Yield *content* with each value in turn replaced by values of other types, and each key removed."""
    strange = (None, True, -1, 10**30, 1e308, "", "x", [], {}, [None], {"a": {}})
    for value in strange:
        if type(value) is not type(content) or value != content:
            yield "", value
    if isinstance(content, dict):
        for key, inner in content.items():
            yield key, {name: value for name, value in content.items() if name != key}
            for path, changed in changed_json(inner):
                yield f"{key}.{path}", {**content, key: changed}
    elif isinstance(content, list) and content:
        for path, changed in changed_json(content[0]):
            yield f"0.{path}", [changed, *content[1:]]


def _flip(name: str, at: int, bit: int) -> Mutation:
    def apply(folder: Path) -> None:
        data = bytearray((folder / name).read_bytes())
        data[at] ^= 1 << bit
        (folder / name).write_bytes(data)

    return Mutation(f"bit {bit} of byte {at} of {name} flipped", apply)


def _write(title: str, name: str, data: bytes) -> Mutation:
    return Mutation(title, lambda folder: (folder / name).write_bytes(data))
