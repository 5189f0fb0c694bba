"""A cache with a limit in bytes; several readers of the same missing entry wait until one of them has computed it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Value = TypeVar("Value")


class Cache:
    """The most recently used values, as many as fit.

    >>> cache = Cache(5)
    >>> cache.get("a", lambda: "old", len), cache.get("a", lambda: "new", len)
    ('old', 'old')
    >>> cache.get("b", lambda: "other", len), cache.get("a", lambda: "new", len)
    ('other', 'new')
    """

    def __init__(self, limit: int, *, workers: int = 2) -> None:
        self._limit = limit
        self._size = 0
        self._entries: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._computing: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()
        # Computing takes memory that the limit does not count, so few threads do it at a time. A pool serves them in
        # the order of their arrival; a semaphore would let others overtake those that wait.
        self._workers = ThreadPoolExecutor(workers, thread_name_prefix="goldrank-worker")
        self._thread = threading.local()

    def get(
        self, key: Hashable, compute: Callable[[], Value], size: Callable[[Value], int], *, small: bool = False
    ) -> Value:
        """Return the value of a key, computing it if it is not cached.

        Args:
            key: identifies the value.
            compute: computes the value.
            size: returns the bytes that a value takes.
            small: whether computing needs so little that it need not wait for a worker.
        """
        entry = self._find(key)
        if entry is not None:
            return entry[0]  # type: ignore[no-any-return]
        with self._lock:
            computing = self._computing.setdefault(key, threading.Lock())
        with computing:
            entry = self._find(key)
            if entry is not None:
                return entry[0]  # type: ignore[no-any-return]
            try:
                value = compute() if small else self._compute_in_turn(compute)
                self._add(key, value, size(value))
            finally:
                with self._lock:
                    self._computing.pop(key, None)
        return value

    def _compute_in_turn(self, compute: Callable[[], Value]) -> Value:
        """Compute a value by a worker; a worker computes what its value depends on itself, so that none waits."""
        if getattr(self._thread, "is_worker", False):
            return compute()

        def work() -> Value:
            self._thread.is_worker = True
            return compute()

        return self._workers.submit(work).result()

    def _find(self, key: Hashable) -> tuple[Any, int] | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
            return entry

    def _add(self, key: Hashable, value: Any, size: int) -> None:
        if size > self._limit:
            return
        with self._lock:
            _, before = self._entries.pop(key, (None, 0))
            self._entries[key] = (value, size)
            self._size += size - before
            while self._size > self._limit:
                _, (_, removed) = self._entries.popitem(last=False)
                self._size -= removed
