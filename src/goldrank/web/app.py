"""The application: every address of the API, the files of the page, and the single page for all else."""

from __future__ import annotations

import mimetypes
from importlib.util import find_spec
from typing import Any

from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

import goldrank
from goldrank.reporting.render.themes import tokens_css
from goldrank.store import Store
from goldrank.web.dependencies import Server
from goldrank.web.responses import ERROR_SCHEMA, Json, add_error_handlers
from goldrank.web.routes import comparison, data_quality, docs, masked, meta, queries, runs, scores
from goldrank.web.security import Access, Guard
from goldrank.web.store_reader import CACHE_BYTES, Reader

THREADS = 16
"""Requests that are answered at a time."""
# A registry on the machine may say otherwise, and a browser refuses a script that is sent as plain text.
_MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_DESCRIPTION = (
    "Everything that the explorer shows, as JSON. Numbers are those of `goldrank score` and `goldrank compare`. "
    'Errors have one shape: {"error": what, "where": place, "remedy": what to do}.'
)
_ROUTES = (runs, queries, comparison, scores, data_quality, meta, masked)


def create_app(
    store: Store,
    *,
    access: Access = Access(),  # noqa: B008 - frozen
    allow_delete: bool = False,
    cache_bytes: int = CACHE_BYTES,
) -> FastAPI:
    """The explorer of *store* as an ASGI application.

    Args:
        store: the only thing it reads.
        access: which hosts and tokens it lets in.
        allow_delete: whether runs may be removed.
        cache_bytes: how much of what was read is kept in memory.
    """
    app = FastAPI(
        title="goldrank explorer",
        version=goldrank.__version__,
        description=_DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        default_response_class=Json,
    )
    app.state.server = Server(Reader(store, cache_bytes=cache_bytes), allow_delete)
    add_error_handlers(app)
    for module in _ROUTES:
        app.include_router(module.routes, prefix="/api")
    _add_documents(app)
    _add_page(app)
    app.add_middleware(Guard, access=access)
    app.add_middleware(_FewThreads)
    return app


class _FewThreads:
    """Answers requests in few threads: more of them only take turns at the interpreter, and some wait very long."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._is_set = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._is_set:
            # The number belongs to the running event loop, which there is only now.
            current_default_thread_limiter().total_tokens = THREADS
            self._is_set = True
        await self._app(scope, receive, send)


def _add_documents(app: FastAPI) -> None:
    description = _openapi(app)

    @app.get("/api/openapi.json", include_in_schema=False)
    def openapi() -> Json:
        return Json(description)

    document = docs.render(description)

    @app.get("/api/docs", include_in_schema=False)
    def document_page() -> Response:
        return Response(document, media_type="text/html")

    @app.get("/api/{rest:path}", include_in_schema=False)
    def nothing(rest: str) -> Response:
        raise HTTPException(404)


def _openapi(app: FastAPI) -> dict[str, Any]:
    description = app.openapi()
    description.setdefault("components", {}).setdefault("schemas", {})["Error"] = ERROR_SCHEMA
    return description


def _add_page(app: FastAPI) -> None:
    """Serve the files of the page and plotly's script under /static, and the page at every other address."""
    for ending, kind in _MEDIA_TYPES.items():
        mimetypes.add_type(kind, ending)
    packages: list[str | tuple[str, str]] = [("goldrank.web", "static")]
    if find_spec("plotly") is not None:
        packages.append(("plotly", "package_data"))
    files = StaticFiles(packages=packages)
    tokens = tokens_css()

    @app.get("/static/tokens.css", include_in_schema=False)
    def tokens_file() -> Response:
        return Response(tokens, media_type="text/css")

    app.mount("/static", GZipMiddleware(files, compresslevel=6))

    @app.api_route("/{path:path}", methods=["GET", "HEAD"], include_in_schema=False)
    async def single_page(path: str, request: Request) -> Response:
        return await files.get_response("index.html", request.scope)
