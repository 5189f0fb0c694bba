"""`goldrank serve`: the explorer of all stored runs in a browser, on this machine unless it is told otherwise."""

from __future__ import annotations

import argparse
import errno
import os
import secrets
import socket
import threading
from urllib.parse import quote

import numpy as np

from goldrank.cli import options, printing, stored_runs
from goldrank.errors import GoldrankError, InputError, MissingExtraError

PORT = 8321
_SHORTEST_TOKEN = 12
_EXAMPLES = """\
  goldrank serve
  goldrank serve --store ./my-runs --port 9000 --open
  goldrank serve --host 0.0.0.0 --token "$(openssl rand -hex 16)"
"""


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = options.new_parser("serve", "Explore all stored runs in a browser.", _EXAMPLES)
    stored_runs.add_store(made)
    made.add_argument(
        "--port", type=int, default=PORT, metavar="N", help=f"port to listen at (default {PORT}; 0: any free one)"
    )
    made.add_argument(
        "--host", default="127.0.0.1", metavar="H", help="address to listen at; any but this machine's needs a token"
    )
    made.add_argument("--token", metavar="T", help="what readers must know (default: $GOLDRANK_TOKEN)")
    made.add_argument("--allow-delete", action="store_true", help="let readers remove runs")
    made.add_argument("--open", action="store_true", help="open the browser")
    made.add_argument("--debug", action="store_true", help="show a traceback on errors")
    return made


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    try:
        import fastapi  # noqa: F401
        import jinja2  # noqa: F401
        import uvicorn
    except ImportError:
        raise MissingExtraError("goldrank serve", "fastapi, jinja2 and uvicorn", "web") from None
    from goldrank.store import Store
    from goldrank.web.app import create_app
    from goldrank.web.connections import BACKLOG, limited_protocol
    from goldrank.web.security import Access

    token = _token(args)
    store = Store.open(args.store)
    held = len(store.list())
    app = create_app(store, access=Access.on(args.host, token), allow_delete=args.allow_delete)
    listening = _listen(args.host, args.port)
    url = _url(listening, args.host)
    printing.show(f"goldrank: {held} stored runs of {store.where}\ngoldrank: explore them at {url} (Ctrl-C ends it)")
    if token is not None:
        printing.show(f"goldrank: the first visit needs the token: {url}?token=…")
    if args.open:
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
    threading.Thread(target=_load_packages, daemon=True).start()
    with listening:
        try:
            uvicorn.Server(settings).run(sockets=[listening])
        except KeyboardInterrupt:
            # It is the way to end it, not a failure.
            printing.say("ended")
    return 0


def _load_packages() -> None:
    """Load what the first look at a run needs, while the reader still looks at the list of runs."""
    from goldrank.io.formats.parquet import load_pyarrow

    pyarrow, _ = load_pyarrow()
    from pyarrow import compute

    # The first array made of numbers loads pandas where it is installed.
    compute.index(pyarrow.array(np.zeros(1)), 0.0)


def _token(args: argparse.Namespace) -> str | None:
    """The token asked for, which only this machine may do without."""
    from goldrank.web.security import is_loopback

    token: str | None = args.token if args.token is not None else os.environ.get("GOLDRANK_TOKEN") or None
    if token is None and not is_loopback(args.host):
        raise InputError(
            f"others could read the store at {args.host}",
            where="--host",
            remedy=f"set a token with --token or GOLDRANK_TOKEN, for example {secrets.token_urlsafe(18)}",
        )
    if token is not None and (len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        raise InputError(
            f"the token is not {_SHORTEST_TOKEN} printable ASCII characters or more",
            where="--token" if args.token is not None else "GOLDRANK_TOKEN",
            remedy=f"take a longer one, for example {secrets.token_urlsafe(18)}",
        )
    return token


def _listen(host: str, port: int) -> socket.socket:
    """A socket that accepts connections there; taken now, so that what is wrong is said before anything starts."""
    if not 0 <= port <= 65_535:
        raise InputError(f"there is no port {port}", where="--port", remedy="give one from 1024 to 65535, or 0 for any")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError):
        raise InputError(f"{host!r} is no address of this machine", where="--host", remedy="try 127.0.0.1") from None
    made = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            # Only lets go of connections that have ended; a port in use stays refused.
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(128)
    except OSError as error:
        made.close()
        raise _fault(error, host, port) from None
    return made


def _fault(error: OSError, host: str, port: int) -> GoldrankError:
    if error.errno == errno.EADDRINUSE:
        return InputError(
            f"port {port} is in use", where=host, remedy="end what uses it, or choose another with --port (0: any)"
        )
    if error.errno == errno.EACCES:
        return InputError(f"port {port} needs an administrator", where=host, remedy="choose one from 1024 up")
    if error.errno == errno.EADDRNOTAVAIL:
        return InputError(f"{host!r} is no address of this machine", where="--host", remedy="try 127.0.0.1")
    return GoldrankError(f"cannot listen at {host} port {port} ({error.strerror})")


def _url(listening: socket.socket, host: str) -> str:
    port = listening.getsockname()[1]
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/"
