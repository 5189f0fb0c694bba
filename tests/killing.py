"""Kill a process by SIGKILL at a chosen step, so that tests of kills do not depend on time."""

import os
import signal
import sys

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.utime", "os.chmod", "os.truncate"}


def die_at_step(number: int) -> None:
    """Kill this process at its *number*-th change to files or statement to a database; it cannot be undone.

    A step is a file opened for writing, one flushed to the disk (before and after), a folder made, a file moved or
    removed, an SQL statement or a commit.
    """
    left = number

    def step() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def audit(event: str, arguments: tuple[object, ...]) -> None:
        if event in _CHANGES or (event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING):
            step()

    flush = os.fsync

    def flush_in_steps(descriptor: int) -> None:
        step()
        flush(descriptor)
        step()

    sys.addaudithook(audit)
    os.fsync = flush_in_steps
    from sqlalchemy import event
    from sqlalchemy.engine import Engine

    for name in ("before_cursor_execute", "after_cursor_execute", "commit"):
        event.listen(Engine, name, lambda *_: step())
