"""A pytest plugin: the fixture ``goldrank``, whose gate fails a test if a run is worse than its baseline."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from goldrank.gating import GateResult


class GateFixture:
    """Gates of a test; relative paths of baselines start from the folder of the test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def gate(
        self, base: Any, new: Any, metrics: Any = None, *, cannot_tell: str = "fail", **keywords: Any
    ) -> GateResult:
        """Fail the test unless *new* is shown to be no worse; the arguments are those of `goldrank.gate`.

        Args:
            base: A baseline or a base run.
            new: The new run.
            metrics: The metrics to check.
            cannot_tell: Whether a test ``pass``es or ``fail``s if nothing can be told.
            keywords: Further arguments of `goldrank.gate`.
        """
        __tracebackhide__ = True
        import goldrank

        beside = self._folder / base if isinstance(base, (str, os.PathLike)) else None
        base = beside if beside is not None and beside.is_file() else base
        result = goldrank.gate(base, new, metrics, cannot_tell=cannot_tell, **keywords)
        if not result.passed:
            pytest.fail(result.sentence, pytrace=False)
        return result


@pytest.fixture(name="goldrank")
def goldrank_fixture(request: pytest.FixtureRequest) -> GateFixture:
    """Return the gates of a test: ``goldrank.gate("baseline.json", run)``."""
    return GateFixture(request.path.parent)
