"""A cache bounded by bytes, in which several readers who want the same thing at once wait for one to make it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Made = TypeVar("Made")


class Cache:
    """The things used last, as many as fit.

    >>> cache = Cache(100)
    >>> cache.get("a", lambda: ("made", 60)), cache.get("a", lambda: ("made again", 60))
    ('made', 'made')
    >>> cache.get("b", lambda: ("other", 60)), cache.get("a", lambda: ("made again", 60))
    ('other', 'made again')
    """

    def __init__(self, limit: int, *, makers: int = 2) -> None:
        self._limit = limit
        self._held = 0
        self._things: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()
        # Making takes memory that the bound cannot see, so few do it at a time, in the order in which they came:
        # a semaphore would let newcomers pass those who wait, and some would wait very long.
        self._makers = ThreadPoolExecutor(makers, thread_name_prefix="goldrank-maker")
        self._here = threading.local()

    def get(self, key: Hashable, make: Callable[[], tuple[Made, int]], *, small: bool = False) -> Made:
        """The thing of that key; *make* gives it and its size in bytes where it is not there.

        What is *small* to make does not wait for its turn.
        """
        found = self._find(key)
        if found is not None:
            return found[0]  # type: ignore[no-any-return]
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            found = self._find(key)
            if found is not None:
                return found[0]  # type: ignore[no-any-return]
            try:
                made, size = make() if small else self._in_turn(make)
                self._keep(key, made, size)
            finally:
                with self._lock:
                    self._making.pop(key, None)
        return made

    def _in_turn(self, make: Callable[[], tuple[Made, int]]) -> tuple[Made, int]:
        """Make something when its turn comes; whoever has a turn keeps it for what that is made of."""
        if getattr(self._here, "making", False):
            return make()

        def work() -> tuple[Made, int]:
            self._here.making = True
            return make()

        return self._makers.submit(work).result()

    def _find(self, key: Hashable) -> tuple[Any, int] | None:
        with self._lock:
            found = self._things.get(key)
            if found is not None:
                self._things.move_to_end(key)
            return found

    def _keep(self, key: Hashable, made: Any, size: int) -> None:
        if size > self._limit:
            return
        with self._lock:
            _, before = self._things.pop(key, (None, 0))
            self._things[key] = (made, size)
            self._held += size - before
            while self._held > self._limit:
                _, (_, gone) = self._things.popitem(last=False)
                self._held -= gone
