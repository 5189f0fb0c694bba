"""`goldrank serve`: serve the explorer of stored runs or run files, by default to this machine only."""

from __future__ import annotations

import argparse
import errno
import os
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from goldrank.cli import options, printing, stored_runs
from goldrank.errors import GoldrankError, InputError, MissingExtraError, counts, shorten
from goldrank.metrics import CHOICES

if TYPE_CHECKING:
    from goldrank.store import Store

PORT = 8321
_SHORTEST_TOKEN = 12
_EXAMPLES = """\
  goldrank serve
  goldrank serve --store ./my-runs --port 9000 --open
  goldrank serve qrels.txt bm25.run dense.run --open
  goldrank serve qrels.txt *.run --texts ./my-folder
  goldrank serve --host 0.0.0.0 --token "$(openssl rand -hex 16)"
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("serve", "Explore all stored runs, or some run files, in a browser.", _EXAMPLES)
    parser.intermixed = True
    parser.add_argument(
        "gold", metavar="GOLD", nargs="?", help="relevance judgements (qrels) of run files (default: show stored runs)"
    )
    parser.add_argument("runs", metavar="RUN", nargs="*", help="run files, which are not stored")
    options.add_file_options(parser)
    options.add_texts(parser)
    parser.add_argument("--scores", choices=tuple(CHOICES["scores"]), help=options.CONVENTION_HELP["scores"])
    options.add_metric(parser, "metric of run files (default: those of the profile); repeatable")
    options.add_profile(parser)
    stored_runs.add_store(parser)
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
    parser.add_argument("--allow-delete", action="store_true", help="let visitors delete runs")
    parser.add_argument("--open", action="store_true", help="open the explorer in the browser")
    options.add_general(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    try:
        import fastapi  # noqa: F401
        import jinja2  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError:
        raise MissingExtraError("goldrank serve", "fastapi, jinja2 and uvicorn", "web") from None
    token = _token(args)
    with _listen(args.host, args.port) as listening, _shown_store(args) as (store, shown):
        _serve(store, shown, listening, token, args)
    return 0


@contextmanager
def _shown_store(args: argparse.Namespace) -> Iterator[tuple[Store, str]]:
    """Return the store to show and what it holds: the user's, or a temporary one of the given files."""
    from goldrank.store import Store

    of_files = ["corpus", "gold_format", "run_format", "texts", "scores", "metric", "profile"]
    if args.gold is None:
        options.refuse_unused(args, of_files, "on stored runs", "leave it out, or give GOLD and run files")
        store = Store.open(args.store)
        yield store, f"{len(store.list())} stored runs in {store.where}"
        return
    from goldrank.runs.file_runs import file_runs

    if not Path(args.gold).exists() and args.gold != "-":
        raise InputError(
            f"there is no gold file {shorten(args.gold)}",
            remedy="give GOLD and run files; the stored runs are all shown without any arguments",
        )
    stored_runs.refuse_no_runs(args)
    options.refuse_unused(args, ["store"], "on files, which are not stored")
    options.refuse_unused(args, ["allow_delete"], "on files, which are not stored")
    keywords = options.file_keywords(args)
    gold = keywords.pop("gold")
    how = {"scores": args.scores, "metrics": args.metric, "profile": args.profile or "standard"}
    with file_runs(gold, args.runs, **keywords, **how, keep_rankings=True) as files:
        for warning in files.warnings:
            printing.say(f"warning: {warning}")
        stored_runs.print_notes(list(files.notes))
        stay = "nothing is stored for later (goldrank run -m run:FILE -t GOLD does that)"
        yield files.store, f"{counts(len(files.runs), 'run file')}; {stay}"


def _serve(store: Store, shown: str, listening: socket.socket, token: str | None, args: argparse.Namespace) -> None:
    import uvicorn

    from goldrank.web.app import create_app
    from goldrank.web.connections import BACKLOG, limited_protocol
    from goldrank.web.security import Access

    app = create_app(store, access=Access.on(args.host, token), allow_delete=args.allow_delete)
    url = _url(listening, args.host)
    printing.show(f"goldrank: {shown}\ngoldrank: explore them at {url} (Ctrl-C to stop)")
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
    try:
        uvicorn.Server(settings).run(sockets=[listening])
    except KeyboardInterrupt:
        # Ctrl-C is the usual way to stop the server, not a failure.
        printing.remark("stopped")


def _load_packages() -> None:
    """Import the packages that the pages of runs need, while the visitor looks at the list of runs."""
    from goldrank.io.formats.parquet import load_pyarrow

    load_pyarrow()
    import scipy.special  # noqa: F401


def _token(args: argparse.Namespace) -> str | None:
    """Return the token, which is required unless the host is a loopback address."""
    from goldrank.web.security import is_loopback

    token: str | None = args.token if args.token is not None else os.environ.get("GOLDRANK_TOKEN") or None
    if token is None and not is_loopback(args.host):
        raise InputError(
            f"without a token, anyone who reaches {args.host} could read the store",
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
