"""Limit connections, so that clients that open many of them without sending requests cannot block others.

uvicorn has a timeout for idle connections between two requests, but none for a request that is never completed, and it
stops accepting connections when the process has no file descriptors left.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any, cast

from uvicorn.protocols.http.auto import AutoHTTPProtocol

REQUEST_SECONDS = 10.0
"""The time in which a client must send the complete header of a request."""
MOST_CONNECTIONS = 512
BACKLOG = 64
"""Connections that may be accepted before those over the limit are closed."""
_OTHER_FILES = 128


def most_connections() -> int:
    """Return how many connections may be open at once: fewer if the process may open few files."""
    try:
        import resource
    except ImportError:
        return MOST_CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = MOST_CONNECTIONS if files < 0 else files - BACKLOG - _OTHER_FILES
    return max(8, min(MOST_CONNECTIONS, allowed))


class LimitedProtocol(asyncio.Protocol):
    """Close connections without a complete request in time, and the one idle longest if there are too many."""

    open: OrderedDict[LimitedProtocol, None]
    """All connections of the server, ordered by how long they have waited for a request, longest first."""
    limit: int
    seconds: float
    _transport: asyncio.Transport
    _deadline: asyncio.TimerHandle | None = None
    cycle: Any
    """The request that is being answered; both HTTP protocols of uvicorn use this name."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the timeout of the first request, and close another connection if there are too many."""
        self._transport = cast(asyncio.Transport, transport)
        self.open[self] = None
        self._wait_for_request()
        super().connection_made(transport)
        while len(self.open) > self.limit:
            self._close_one()

    def data_received(self, data: bytes) -> None:
        """Stop the timeout when the header of a request is complete."""
        super().data_received(data)
        if self._is_answering() and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def on_response_complete(self) -> None:
        """Start the timeout of the next request."""
        super().on_response_complete()  # type: ignore[misc]
        if self in self.open and not self._is_answering():
            self.open.move_to_end(self)
            self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from those that are open."""
        self._discard()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait_for_request(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = asyncio.get_running_loop().call_later(self.seconds, self._close)

    def _close_one(self) -> None:
        idle = (other for other in self.open if other is not self and not other._is_answering())
        next(idle, next(iter(self.open)))._close()

    def _close(self) -> None:
        self._discard()
        self._transport.abort()

    def _discard(self) -> None:
        self.open.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def limited_protocol(*, limit: int | None = None, seconds: float = REQUEST_SECONDS) -> type[asyncio.Protocol]:
    """Return uvicorn's HTTP protocol with limits, for ``uvicorn.Config(http=…)``; each server needs its own.

    Args:
        limit: connections that may be open at once; by default `most_connections`.
        seconds: the time in which a client must send the header of a request.
    """
    settings = {"open": OrderedDict(), "limit": limit or most_connections(), "seconds": seconds}
    return type("LimitedHTTPProtocol", (LimitedProtocol, AutoHTTPProtocol), settings)
