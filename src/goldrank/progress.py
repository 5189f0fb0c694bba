"""A progress bar with rate and time left for anything that takes longer than two seconds, on standard error."""

from __future__ import annotations

import os
import sys
from types import TracebackType

from goldrank.escaping import visible_line
from goldrank.redaction import redact

_DELAY = 2.0


class Progress:
    """Counts work done; silent when quick, when standard error is no terminal, or with GOLDRANK_PROGRESS=0.

    >>> with Progress("encoding", total=2, unit="text") as progress:
    ...     progress.advance(2)
    """

    def __init__(self, what: str, *, total: int | None = None, unit: str = "item") -> None:
        wanted = os.environ.get("GOLDRANK_PROGRESS")
        shown = wanted == "1" or (wanted is None and sys.stderr.isatty())
        self._bar = None
        if shown:
            from tqdm import tqdm

            desc = visible_line(redact(what))
            self._bar = tqdm(total=total, desc=desc, unit=f" {unit}s", delay=_DELAY, unit_scale=True, leave=False)

    def advance(self, count: int = 1) -> None:
        """Say that *count* more are done."""
        if self._bar is not None:
            self._bar.update(count)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()
