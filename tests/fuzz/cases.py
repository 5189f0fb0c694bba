"""Run a fuzz case: damage one or two valid files, and check that the command ends with a one-line error."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import signal
import sqlite3
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from fuzz.mutating import JSON_VALUES, mutate
from goldrank.cli.main import main

SECONDS = 120
"""How long a case may take; all files are tiny."""
MESSAGE_LIMIT = 4000


@dataclass(frozen=True)
class Seed:
    """Valid files by their path, the commands that read them, and the files that stay undamaged."""

    files: dict[str, bytes]
    commands: list[list[str]]
    undamaged: frozenset[str] = frozenset()
    words: list[str] = field(default_factory=list)
    """Arguments that are damaged instead of files; ``{}`` in a command stands for one."""

    def write(self, folder: Path) -> None:
        """Write the files."""
        for path, content in self.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)


@dataclass(frozen=True)
class Target:
    """A kind of input and its seeds, which are created once."""

    name: str
    seeds: Callable[[], list[Seed]]


class CaseTimeoutError(BaseException):
    """The case exceeded its time limit; no handler of the program catches this error."""


@dataclass(frozen=True)
class Outcome:
    """The exit code and output of a command."""

    arguments: list[str]
    code: int
    printed: str
    trace: str = ""

    @property
    def fault(self) -> str | None:
        """Return why this outcome is a failure of goldrank, or None."""
        if self.trace:
            return self.trace
        if self.code not in ((0, 1, 2, 3) if self.arguments[:1] == ["gate"] else (0, 1, 2)):
            return f"exit code {self.code}"
        if "internal error" in self.printed or "Traceback (most recent" in self.printed:
            return "an internal error"
        complaints = [line for line in self.printed.splitlines() if line.startswith("goldrank: ")]
        if self.code == 2 and not complaints:
            return "no sentence with exit code 2"
        if self.code == 2 and len(complaints[-1]) > MESSAGE_LIMIT:
            return "a sentence that nobody can read"
        return None


def run_case(seeds: list[Seed], rng: Random, save: Path | None = None) -> Outcome:
    """Damage one seed and run one of its commands in a folder of its own, which is copied to *save* if that fails."""
    seed = rng.choice(seeds)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seed.write(folder)
        arguments = list(rng.choice(seed.commands))
        if seed.words:
            word = rng.choice(seed.words).encode()
            damaged = mutate(word, rng.choice(seed.words).encode(), rng).decode("utf-8", "surrogateescape")
            arguments = [damaged.replace("\0", "") if part == "{}" else part for part in arguments]
        else:
            for _ in range(rng.choice((1, 1, 1, 2))):
                _damage(folder, [path for path in sorted(seed.files) if path not in seed.undamaged], rng)
        outcome = run_command(folder, arguments)
        if outcome.fault is not None and save is not None:
            shutil.copytree(folder, save)
        return outcome


def _damage(folder: Path, paths: list[str], rng: Random) -> None:
    path = folder / rng.choice(paths)
    action = rng.random()
    if not path.is_file():
        return
    if path.suffix == ".db" and action < 0.85:
        _damage_row(path, rng)
    elif action < 0.9 or len(paths) == 1:
        other = folder / rng.choice(paths)
        path.write_bytes(mutate(path.read_bytes(), other.read_bytes() if other.is_file() else b"", rng))
    elif action < 0.94:
        path.unlink()
    elif action < 0.97:
        other = folder / rng.choice(paths)
        path.write_bytes(other.read_bytes() if other.is_file() else b"")
    else:
        path.unlink()
        path.mkdir()


def _damage_row(path: Path, rng: Random) -> None:
    """Change the value of one cell of a database."""
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        filled = [name for name in tables if database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]]
        if not filled:
            return
        table = rng.choice(filled)
        column = rng.choice([row[1] for row in database.execute(f'PRAGMA table_info("{table}")')])
        rows = [row for (row,) in database.execute(f'SELECT rowid FROM "{table}"')]
        row = rng.choice(rows)
        (old,) = database.execute(f'SELECT "{column}" FROM "{table}" WHERE rowid = ?', (row,)).fetchone()
        if isinstance(old, str) and rng.random() < 0.7:
            new: object = mutate(old.encode(), b"", rng).decode("utf-8", "replace")
        elif isinstance(old, bytes) and rng.random() < 0.7:
            new = mutate(old, b"", rng)
        else:
            new = rng.choice(
                [None, -1, 2**62, 1.5, "", "x", b"\xff\xfe", *(v for v in JSON_VALUES if type(v) is float)]
            )
        with contextlib.suppress(sqlite3.IntegrityError):
            database.execute(f'UPDATE "{table}" SET "{column}" = ? WHERE rowid = ?', (new, row))


def run_command(folder: Path, arguments: list[str]) -> Outcome:
    """Run ``goldrank`` with these arguments inside *folder*, with its own cache and store there."""
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    code, trace = -1, ""
    with _environment(folder), contextlib.redirect_stdout(output), contextlib.redirect_stderr(output), _limit():
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = int(stop.code or 0)
        except BaseException:
            trace = traceback.format_exc()
    output.seek(0)
    return Outcome(arguments, code, output.buffer.getvalue().decode("utf-8", "replace"), trace)  # type: ignore[attr-defined]


@contextlib.contextmanager
def _environment(folder: Path) -> Iterator[None]:
    before, place = dict(os.environ), Path.cwd()
    os.environ |= {
        "GOLDRANK_CACHE": str(folder / "cache"),
        "GOLDRANK_STORE": str(folder / "store"),
        "GOLDRANK_PROGRESS": "0",
    }
    os.environ.pop("GOLDRANK_DATA", None)
    os.chdir(folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        os.chdir(place)
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def _limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise CaseTimeoutError(f"the case took more than {SECONDS} s")

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
