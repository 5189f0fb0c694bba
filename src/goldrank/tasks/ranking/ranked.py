"""What a model made of a task: rankings, hits, and what a reader has to know of how they were made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from goldrank.errors import DataWarning
from goldrank.hits import Hits, Run


class Removable(Protocol):
    """Something that was kept on the way."""

    def remove(self) -> None:
        """Remove it."""


@dataclass(frozen=True)
class Ranked:
    """What a model made of a task."""

    run: Run
    hits: Hits | None = None
    """Where gold was counted over all items and the run holds only the top of them."""
    remarks: tuple[str, ...] = ()
    warnings: tuple[DataWarning, ...] = ()
    """What makes the scores of this model misleading, such as texts that it truncated."""
    checkpoints: tuple[Removable, ...] = ()
    """What was kept on the way, to be removed once the result is safe."""
