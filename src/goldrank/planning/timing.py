"""Timing some work, and fitting a sum of parts to the times."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

_clock: ContextVar[Callable[[], float]] = ContextVar("clock", default=time.perf_counter)


@contextmanager
def timed_by(clock: Callable[[], float]) -> Iterator[None]:
    """Time by another clock, such as that of the processor's time, which other work disturbs less."""
    token = _clock.set(clock)
    try:
        yield
    finally:
        _clock.reset(token)


def best(work: Callable[[], object], repeats: int, *, before: Callable[[], object] = lambda: None) -> float:
    """The least seconds that *work* took; *before* is done each time and not counted."""
    taken, clock = [], _clock.get()
    for _ in range(repeats):
        before()
        start = clock()
        work()
        taken.append(clock() - start)
    return min(taken)


def fitted(rows: Sequence[Sequence[float]], seconds: Sequence[float]) -> list[float]:
    """The cost of each feature, none below 0, for which the sums come nearest to the times, relatively.

    >>> [round(cost, 6) for cost in fitted([[1, 10, 0], [1, 50, 0], [1, 70, 9]], [0.3, 1.1, 1.5])]
    [0.1, 0.02, 0.0]
    """
    from scipy.optimize import nnls

    features, times = np.asarray(rows, np.float64), np.asarray(seconds, np.float64)
    relative = features / times[:, None]
    # Features differ by ten powers of ten; a solver wants them of a size.
    sizes = np.abs(relative).max(axis=0)
    sizes[sizes == 0] = 1
    costs, _ = nnls(relative / sizes, np.ones(len(times)))
    return [float(cost) for cost in costs / sizes]
