"""Who may ask what: hosts, tokens, origins and sizes are checked before anything else sees a request."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from goldrank.web.responses import error

_LOG = logging.getLogger(__name__)
COOKIE = "goldrank_token"
LONGEST_PATH = 1_000
LONGEST_QUERY = 16_000
LARGEST_BODY = 64_000
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "font-src 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "form-action 'self'",
    ]
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True)
class Access:
    """What the server lets in."""

    token: str | None = field(default=None, repr=False)
    hosts: frozenset[str] | None = LOOPBACK
    """The names under which it may be asked for; None for any, which only a token makes safe."""

    @classmethod
    def on(cls, host: str, token: str | None) -> Access:
        """What fits a server bound to *host*."""
        if is_loopback(host):
            return cls(token, LOOPBACK | {host.lower()})
        # Which names lead to an address is not known here; the token keeps strangers out whatever the name.
        return cls(token, None)

    def allows_host(self, header: str) -> bool:
        """Whether the request was meant for this server, and not for a name that was bent to its address."""
        return self.hosts is None or _host_name(header) in self.hosts

    def accepts(self, headers: Headers) -> bool:
        """Whether the request bears the token, in its own header or as the cookie that a first visit left."""
        if self.token is None:
            return True
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and same(given.strip(), self.token):
            return True
        return same(_cookie(headers.get("cookie", "")), self.cookie)

    @property
    def cookie(self) -> str:
        """What the cookie holds: proof of the token, not the token."""
        return hmac.new((self.token or "").encode(), b"goldrank explorer", hashlib.sha256).hexdigest()


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach that address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def same(given: str, wanted: str) -> bool:
    """Whether two texts are equal, in a time that does not tell how much of them is."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode("utf-8", "replace"))


def _host_name(header: str) -> str:
    try:
        return (urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return ""


def _cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


class Guard:
    """The middleware that refuses what may not pass, and puts the protective headers on every answer."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send, is_api=scope["path"].startswith("/api"))
        refusal = self._refusal(scope)
        try:
            await (self._app if refusal is None else refusal)(scope, receive, answer.send)
        except Exception:
            _LOG.exception("a fault of the explorer, at %s", scope["path"])
            if answer.started:
                raise
            await error(500, "the server failed at this; its log says more", None, "report it")(
                scope, receive, answer.send
            )

    def _refusal(self, scope: Scope) -> Response | None:
        headers, path = Headers(scope=scope), scope["path"]
        if (excess := _excess(scope, headers)) is not None:
            return excess
        if not self._access.allows_host(headers.get("host", "")):
            return error(421, "this server does not answer to that name", "the Host header", "ask for 127.0.0.1")
        if not self._access.accepts(headers):
            return self._first_visit(scope) or error(
                401, "the token is missing or wrong", None, "add ?token=… to the address once, or send it as Bearer"
            )
        if any(part == ".." for part in path.replace("\\", "/").split("/")) or not path.isprintable():
            return error(404, "there is nothing at this address")
        changes = scope["method"] not in ("GET", "HEAD", "OPTIONS")
        if _is_of_a_strange_page(headers, changes) and (changes or path.startswith("/api/")):
            return error(403, "only pages of this server may ask this", "the headers Origin and Sec-Fetch-Site")
        return None

    def _first_visit(self, scope: Scope) -> Response | None:
        """With the token in the address: the same address without it, and a cookie in its place."""
        pairs = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        token = self._access.token
        given = next((value for name, value in pairs if name == "token"), None)
        if scope["method"] != "GET" or token is None or given is None or not same(given, token):
            return None
        rest = urlencode([(name, value) for name, value in pairs if name != "token"])
        # One slash: an address that began with two would lead to another host.
        path = "/" + scope["path"].lstrip("/\\")
        answer = RedirectResponse(path + (f"?{rest}" if rest else ""), status_code=303)
        answer.set_cookie(COOKIE, self._access.cookie, httponly=True, samesite="strict", path="/")
        return answer


def _excess(scope: Scope, headers: Headers) -> Response | None:
    """The refusal of what is larger than any honest request."""
    if len(scope["path"]) > LONGEST_PATH or len(scope.get("query_string", b"")) > LONGEST_QUERY:
        return error(414, "the address is too long", None, "ask for fewer things at a time")
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:12]) > LARGEST_BODY or "transfer-encoding" in headers:
        return error(413, "no body of that kind is read here", "the request's body", "send none")
    return None


def _is_of_a_strange_page(headers: Headers, changes: bool) -> bool:
    """Whether another site's page asks: it could not read the answer, but would have it worked out, or runs removed.

    Programs send neither header, and no stranger's page can steer them. Following a link is no question of a page.
    """
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return changes or headers.get("sec-fetch-mode") != "navigate"
    origin = headers.get("origin")
    return changes and origin is not None and origin.partition("://")[2].lower() != headers.get("host", "").lower()


class _Answer:
    """What goes back to the reader, with the protective headers on it."""

    def __init__(self, send: Send, *, is_api: bool) -> None:
        self._send, self._is_api = send, is_api
        self.started = False

    async def send(self, message: Message) -> None:
        """Send a part of the answer."""
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            # A browser asks whether a file of the page has changed, and keeps nothing of the store.
            headers["Cache-Control"] = "no-store" if self._is_api else "no-cache"
        await self._send(message)
