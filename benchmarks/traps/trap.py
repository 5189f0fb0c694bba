"""What a trap is, and how goldrank's answer to one is classified."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Outcome = Literal["caught", "warned", "right", "SILENT", "–"]
"""caught: refused with an error. warned: a number with a warning. right: the number that was meant. SILENT: another
number without a word. –: the tool does not take such input."""

Judgments = dict[str, dict[str, int]]
Rankings = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Peers:
    """What the peers are given, and the number that an honest tool would print."""

    load: Callable[[Path], tuple[object, list[object]]] | None = None
    """Gold and runs as Python objects; by default the peers read `qrels.txt` and `a.run` with their own readers."""
    truth: float | None = None
    """nDCG@10 of the data as meant. None: every number is misleading unless a warning comes with it."""
    without: frozenset[str] = frozenset()
    """Peers that do not take such input."""
    runs: tuple[str, ...] = ("a.run",)
    metric: str = "ndcg@10"
    texts: bool = False
    """Given the texts themselves, with the built-in static vectors as the model; only evaluators take that."""
    vectors: bool = False
    """Given the vectors in `items.npy` and `queries.npy`; only evaluators take that."""


@dataclass(frozen=True)
class Trap:
    """One planted error: the files that hold it, the command of a user who does not know, and what goldrank must do."""

    name: str
    error: str
    """What is wrong, in a few words."""
    files: Mapping[str, str | bytes]
    command: str
    """Arguments of `goldrank`; the working folder is that of the files."""
    outcome: str
    """What goldrank must do: an `Outcome`, or two of them with a bar between."""
    says: str
    """A regular expression that the output must match."""
    report: str = ""
    """A public report of this error, as owner/repository#number, or a paper."""
    peers: Peers | None = field(default=None, repr=False)
    """None where no peer reads such data."""


@dataclass(frozen=True)
class Answer:
    """What goldrank printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """Everything printed, folded into one line, less the list of conventions, which stands under every table."""
        folded = " ".join((self.out + "\n" + self.err).split())
        return re.sub(r"Profile \S+:(?: \S*=\S*)+", "", folded)


@contextlib.contextmanager
def working_folder(trap: Trap) -> Iterator[Path]:
    """A folder with the files of the trap as the working directory, and a store and cache of its own."""
    before, environment = Path.cwd(), dict(os.environ)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "work"
        folder.mkdir()
        for path, content in trap.files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)
        os.environ |= {"GOLDRANK_STORE": f"{name}/store", "GOLDRANK_CACHE": f"{name}/cache", "COLUMNS": "200"}
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)
            os.environ.clear()
            os.environ.update(environment)


def ask_goldrank(trap: Trap) -> Answer:
    """Run the command of the trap in its folder, in this process."""
    from goldrank.cli.main import main

    out, err = io.StringIO(), io.StringIO()
    with working_folder(trap), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = 0
        for line in trap.command.splitlines():
            code = code or main(shlex.split(line))
    return Answer(code, out.getvalue(), err.getvalue())


def classify(trap: Trap, answer: Answer) -> Outcome:
    """What goldrank did about the planted error."""
    if re.search(trap.says, answer.text) is None or "internal error" in answer.err:
        return "SILENT"
    if answer.code:
        return "caught"
    return "right" if trap.outcome == "right" else "warned"
