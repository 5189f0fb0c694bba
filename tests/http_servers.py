"""A real HTTP server on loopback that records every request and answers as the test decides."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    """One request as it arrived; the names of headers are case-insensitive."""

    method: str
    path: str
    headers: Message
    body: bytes
    time: float

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """A response: bytes, or chunks that are sent one by one.

    Args:
        body: The bytes or chunks to send.
        status: The HTTP status.
        headers: Added to Content-Length, which is the length of the body unless it is given here; None leaves it out.
        hold: Keep the connection open after the body until the server is closed.
    """

    body: bytes | Iterable[bytes] = b""
    status: int = 200
    headers: Mapping[str, str | None] = field(default_factory=dict)
    hold: bool = False


#: The server sends no response until it is closed, or closes the connection without a response.
STALL, RESET = Reply(), Reply()


def json_reply(content: object, status: int = 200, **headers: str) -> Reply:
    return Reply(json.dumps(content).encode(), status, headers)


class HttpServer:
    """A server in a thread; it sends ``faults`` one per request, and then the results of ``answer``.

    A fault that is None stands for a request that is answered as usual.
    """

    def __init__(self, answer: Callable[[Request], Reply]) -> None:
        self.answer = answer
        self.faults: list[Reply | None] = []
        self.requests: list[Request] = []
        self._lock = threading.Lock()
        self._closed = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def handle_one(self) -> None:
                with suppress(OSError):  # the client may have gone
                    server._serve(self)

            do_GET = do_POST = handle_one  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        request = Request(handler.command, handler.path, handler.headers, body, time.monotonic())
        with self._lock:
            self.requests.append(request)
            fault = self.faults.pop(0) if self.faults else None
        if fault is STALL:
            self._closed.wait()
        if fault is STALL or fault is RESET:
            handler.connection.close()
            return
        reply = self.answer(request) if fault is None else fault
        length = {"Content-Length": str(len(reply.body))} if isinstance(reply.body, bytes) else {}
        handler.send_response(reply.status)
        for name, value in {**length, **reply.headers}.items():
            if value is not None:
                handler.send_header(name, value)
        handler.end_headers()
        for piece in [reply.body] if isinstance(reply.body, bytes) else reply.body:
            handler.wfile.write(piece)
        handler.wfile.flush()
        if reply.hold:
            self._closed.wait()
        handler.close_connection = True

    def __enter__(self) -> HttpServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening and release every held connection; a second call has no effect."""
        if not self._closed.is_set():
            self._closed.set()
            self._http.shutdown()
            self._http.server_close()
            self._thread.join()
