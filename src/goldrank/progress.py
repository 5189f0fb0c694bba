"""Show a progress bar with rate and remaining time on standard error for work that takes more than two seconds."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from goldrank.escaping import escape_line
from goldrank.redaction import redact
from goldrank.terminal import output_width, shorten_name

_DELAY = 2.0
_VARIABLE = "GOLDRANK_PROGRESS"


@contextmanager
def shown(wanted: bool) -> Iterator[None]:
    """Show no progress bars in this context, here and in processes that it starts, unless they are *wanted*."""
    before = os.environ.get(_VARIABLE)
    if not wanted:
        os.environ[_VARIABLE] = "0"
    try:
        yield
    finally:
        if before is not None:
            os.environ[_VARIABLE] = before
        elif not wanted:
            os.environ.pop(_VARIABLE, None)


class Progress:
    """Shows a progress bar, except for short work, if standard error is not a terminal, or with GOLDRANK_PROGRESS=0.

    >>> with Progress("encoding", total=2, unit="text") as progress:
    ...     progress.advance(2)
    """

    def __init__(self, what: str, *, total: int | None = None, unit: str = "item") -> None:
        wanted = os.environ.get(_VARIABLE)
        shown = wanted == "1" or (wanted is None and sys.stderr.isatty())
        self._bar = None
        if shown:
            from tqdm import tqdm

            # On a narrow terminal the numbers matter more than the end of the description.
            width = output_width(sys.stderr)
            desc = escape_line(redact(what)) if width is None else shorten_name(escape_line(redact(what)), width // 3)
            self._bar = tqdm(
                total=total, desc=desc, unit=f" {unit}s", delay=_DELAY, unit_scale=True, leave=False, ncols=width
            )

    def advance(self, count: int = 1) -> None:
        """Add *count* to the number of units that are done."""
        if self._bar is not None:
            self._bar.update(count)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
