"""Limits on connections, so that clients who open many and send nothing cannot keep others out.

uvicorn has a timeout for connections that wait between two requests, but none for a request that never becomes
complete, and it stops to accept connections when the process has no file descriptors left.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any, cast

from uvicorn.protocols.http.auto import AutoHTTPProtocol

REQUEST_SECONDS = 10.0
"""Within this time a client must have sent the complete head of a request."""
MOST_CONNECTIONS = 512
BACKLOG = 64
"""Connections that are accepted at a time, before those that are too many are closed."""
_FILES_FOR_THE_REST = 128


def most_connections() -> int:
    """Return how many connections may be open at once: fewer where the process may not open many files."""
    try:
        import resource
    except ImportError:
        return MOST_CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = MOST_CONNECTIONS if files < 0 else files - BACKLOG - _FILES_FOR_THE_REST
    return max(8, min(MOST_CONNECTIONS, allowed))


class LimitedProtocol(asyncio.Protocol):
    """Closes connections that send no complete request in time, and the longest idle one where there are too many."""

    open: OrderedDict[LimitedProtocol, None]
    """All connections of the server, those that have waited longest for a request first."""
    limit: int
    seconds: float
    _transport: asyncio.Transport
    _deadline: asyncio.TimerHandle | None = None
    cycle: Any
    """The request that is being answered, as both protocols of uvicorn call it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the time for the first request, and make room for this connection."""
        self._transport = cast(asyncio.Transport, transport)
        self.open[self] = None
        self._wait_for_request()
        super().connection_made(transport)
        while len(self.open) > self.limit:
            self._close_one()

    def data_received(self, data: bytes) -> None:
        """Stop the time when the head of a request is complete."""
        super().data_received(data)
        if self._is_answering() and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def on_response_complete(self) -> None:
        """Start the time for the next request."""
        super().on_response_complete()  # type: ignore[misc]
        if self in self.open and not self._is_answering():
            self.open.move_to_end(self)
            self._wait_for_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._forget()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait_for_request(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = asyncio.get_running_loop().call_later(self.seconds, self._close)

    def _close_one(self) -> None:
        idle = (one for one in self.open if one is not self and not one._is_answering())
        next(idle, next(iter(self.open)))._close()

    def _close(self) -> None:
        self._forget()
        self._transport.abort()

    def _forget(self) -> None:
        self.open.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def limited_protocol(*, limit: int | None = None, seconds: float = REQUEST_SECONDS) -> type[asyncio.Protocol]:
    """Return uvicorn's HTTP protocol with limits, for ``uvicorn.Config(http=…)``; one for each server.

    Args:
        limit: connections that may be open at once; by default as many as the process may have.
        seconds: the time for the head of a request.
    """
    settings = {"open": OrderedDict(), "limit": limit or most_connections(), "seconds": seconds}
    return type("LimitedHTTPProtocol", (LimitedProtocol, AutoHTTPProtocol), settings)
