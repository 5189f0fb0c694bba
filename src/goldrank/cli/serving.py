"""Serve a web page: options of the address, the listening socket, the token, and the server itself."""

from __future__ import annotations

import argparse
import errno
import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from goldrank.cli import printing
from goldrank.errors import GoldrankError, InputError, MissingExtraError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from goldrank.web.security import Access

PORT = 8321
_SHORTEST_TOKEN = 12


@dataclass(frozen=True)
class Address:
    """The address on which a server listens, and the clients that it admits."""

    socket: socket.socket
    url: str
    access: Access
    opens: bool
    """Whether the page is opened in the browser."""


def check_installed(command: str) -> None:
    """Raise MissingExtraError if the packages of web pages are not installed."""
    try:
        import fastapi  # noqa: F401
        import jinja2  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtraError(command, "fastapi, jinja2 and uvicorn", "web") from None


def add_address(parser: argparse._ActionsContainer, page: str) -> None:
    """Add the options that `listening` reads."""
    parser.add_argument(
        "--port", type=int, default=PORT, metavar="N", help=f"port to listen on (default {PORT}; 0 for any free port)"
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="HOST",
        help="address to listen on (default 127.0.0.1); other than loopback needs a token",
    )
    parser.add_argument("--token", metavar="TOKEN", help="token that visitors must give (default: $GOLDRANK_TOKEN)")
    parser.add_argument("--open", action="store_true", help=f"open {page} in the browser")


@contextmanager
def listening(args: argparse.Namespace, risk: str) -> Iterator[Address]:
    """Listen at the address of the options, so that a wrong one is reported before any work.

    Args:
        args: the options of `add_address`.
        risk: what anyone who reaches the server without a token could do.
    """
    from goldrank.web.security import Access

    token = _token(args, risk)
    with _listen(args.host, args.port) as opened:
        yield Address(opened, _url(opened, args.host), Access.on(args.host, token), args.open)


def serve(app: FastAPI, address: Address, introduction: str) -> None:
    """Print where the page is, and serve it until interrupted.

    Args:
        app: the page.
        address: from `listening`.
        introduction: what is printed before the URL.
    """
    import uvicorn

    from goldrank.web.connections import BACKLOG, limited_protocol

    url, token = address.url, address.access.token
    printing.show(f"goldrank: {introduction} {url} (Ctrl-C to stop)")
    if token is not None:
        printing.show(f"goldrank: the first visit needs the token: {url}?token=…")
    if address.opens:
        import webbrowser

        webbrowser.open(url if token is None else f"{url}?token={quote(token, safe='')}")
    settings = uvicorn.Config(
        app,
        http=limited_protocol(),
        ws="none",
        backlog=BACKLOG,
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        proxy_headers=False,
    )
    try:
        uvicorn.Server(settings).run(sockets=[address.socket])
    except KeyboardInterrupt:
        # Ctrl-C is the usual way to stop the server, not a failure.
        printing.remark("stopped")


def _token(args: argparse.Namespace, risk: str) -> str | None:
    """Return the token, which is required unless the host is a loopback address."""
    from goldrank.web.security import is_loopback

    token: str | None = args.token if args.token is not None else os.environ.get("GOLDRANK_TOKEN") or None
    if token is None and not is_loopback(args.host):
        raise InputError(
            f"without a token, anyone who reaches {args.host} {risk}",
            where="--host",
            remedy=f"set a token with --token or GOLDRANK_TOKEN, for example {secrets.token_urlsafe(18)}",
        )
    if token is not None and (len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        raise InputError(
            f"the token does not have at least {_SHORTEST_TOKEN} printable ASCII characters",
            where="--token" if args.token is not None else "GOLDRANK_TOKEN",
            remedy=f"use another, for example {secrets.token_urlsafe(18)}",
        )
    return token


def _listen(host: str, port: int) -> socket.socket:
    """Open a listening socket, so that a wrong address is reported before the server starts."""
    if not 0 <= port <= 65_535:
        raise InputError(f"{port} is not a port", where="--port", remedy="give one from 1024 to 65535, or 0 for any")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError):
        raise InputError(
            f"{host!r} is not an address of this machine", where="--host", remedy="try 127.0.0.1"
        ) from None
    listening = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            # Reuses a port of closed connections only; a port in use is still refused.
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise _listening_error(error, host, port) from None
    return listening


def _listening_error(error: OSError, host: str, port: int) -> GoldrankError:
    if error.errno == errno.EADDRINUSE:
        return InputError(
            f"port {port} is in use",
            where=host,
            remedy="stop the program that uses it, or choose another with --port (0 for any)",
        )
    if error.errno == errno.EACCES:
        return InputError(f"port {port} needs administrator rights", where=host, remedy="choose one from 1024 up")
    if error.errno == errno.EADDRNOTAVAIL:
        return InputError(f"{host!r} is not an address of this machine", where="--host", remedy="try 127.0.0.1")
    return GoldrankError(f"cannot listen on {host} port {port} ({error.strerror})")


def _url(listening: socket.socket, host: str) -> str:
    port = listening.getsockname()[1]
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/"
