"""Access control: check host, token, origin and size of each request before any other code sees it."""

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
    """The requests that the server accepts."""

    token: str | None = field(default=None, repr=False)
    hosts: frozenset[str] | None = LOOPBACK
    """The host names that requests may address; None for any, which is safe only with a token."""

    @classmethod
    def on(cls, host: str, token: str | None) -> Access:
        """Return the access rules for a server bound to *host*."""
        if is_loopback(host):
            return cls(token, LOOPBACK | {host.lower()})
        # The names that resolve to this address are unknown; the token protects the server under any name.
        return cls(token, None)

    def allows_host(self, header: str) -> bool:
        """Return whether the Host header names this server; DNS rebinding sends another name."""
        return self.hosts is None or _host_name(header) in self.hosts

    def accepts(self, headers: Headers) -> bool:
        """Return whether the request has the token, in the Authorization header or as a cookie of an earlier visit."""
        if self.token is None:
            return True
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and same(given.strip(), self.token):
            return True
        return same(_cookie(headers.get("cookie", "")), self.cookie)

    @property
    def cookie(self) -> str:
        """The value of the cookie: a proof of the token, not the token itself."""
        return hmac.new((self.token or "").encode(), b"goldrank explorer", hashlib.sha256).hexdigest()


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def same(given: str, wanted: str) -> bool:
    """Return whether two texts are equal, in a time that does not depend on how much of them is equal."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode("utf-8", "replace"))


def _host_name(header: str) -> str:
    try:
        return (urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return ""


def _cookie(header: str) -> str:
    try:
        cookie = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return "" if cookie is None else cookie.value


class Guard:
    """The middleware that rejects requests and adds the security headers to every response."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sender = _HeaderSender(send, is_api=scope["path"].startswith("/api"))
        refusal = self._refusal(scope)
        try:
            await (self._app if refusal is None else refusal)(scope, receive, sender.send)
        except Exception:
            _LOG.exception("internal error of the explorer at %s", scope["path"])
            if sender.started:
                raise
            await error(500, "the server failed to answer; its log has the details", None, "report it")(
                scope, receive, sender.send
            )

    def _refusal(self, scope: Scope) -> Response | None:
        headers, path = Headers(scope=scope), scope["path"]
        if (excess := _excess(scope, headers)) is not None:
            return excess
        if not self._access.allows_host(headers.get("host", "")):
            return error(421, "this server is not known by that name", "the Host header", "use the host 127.0.0.1")
        if not self._access.accepts(headers):
            return self._first_visit(scope) or error(
                401, "the token is missing or wrong", None, "add ?token=… to the address once, or send it as Bearer"
            )
        if any(part == ".." for part in path.replace("\\", "/").split("/")) or not path.isprintable():
            return error(404, "there is nothing at this address")
        changes = scope["method"] not in ("GET", "HEAD", "OPTIONS")
        if _is_cross_site(headers, changes) and (changes or path.startswith("/api/")):
            return error(
                403, "only pages of this server may send this request", "the headers Origin and Sec-Fetch-Site"
            )
        return None

    def _first_visit(self, scope: Scope) -> Response | None:
        """Redirect an address with the token to the same address without it, and set the cookie."""
        pairs = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
        token = self._access.token
        given = next((value for name, value in pairs if name == "token"), None)
        if scope["method"] != "GET" or token is None or given is None or not same(given, token):
            return None
        rest = urlencode([(name, value) for name, value in pairs if name != "token"])
        # Exactly one slash, because a location that starts with two names another host.
        path = "/" + scope["path"].lstrip("/\\")
        response = RedirectResponse(path + (f"?{rest}" if rest else ""), status_code=303)
        response.set_cookie(COOKIE, self._access.cookie, httponly=True, samesite="strict", path="/")
        return response


def _excess(scope: Scope, headers: Headers) -> Response | None:
    """Return an error response for a request that is too large, else None."""
    if len(scope["path"]) > LONGEST_PATH or len(scope.get("query_string", b"")) > LONGEST_QUERY:
        return error(414, "the address is too long", None, "ask for fewer things at a time")
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:12]) > LARGEST_BODY or "transfer-encoding" in headers:
        return error(413, "the request body is too large or chunked", "the request body", "send less at a time")
    return None


def _is_cross_site(headers: Headers, changes: bool) -> bool:
    """Return whether a page of another site sends the request.

    Such a page could not read the response, but it could start expensive work or delete runs. Programs other than
    browsers send neither header. Following a link to this server is allowed.
    """
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return changes or headers.get("sec-fetch-mode") != "navigate"
    origin = headers.get("origin")
    return changes and origin is not None and origin.partition("://")[2].lower() != headers.get("host", "").lower()


class _HeaderSender:
    """Sends a response with the security headers."""

    def __init__(self, send: Send, *, is_api: bool) -> None:
        self._send, self._is_api = send, is_api
        self.started = False

    async def send(self, message: Message) -> None:
        """Send a part of the response."""
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            # Browsers check whether static files have changed, and cache nothing of the store.
            headers["Cache-Control"] = "no-store" if self._is_api else "no-cache"
        await self._send(message)
