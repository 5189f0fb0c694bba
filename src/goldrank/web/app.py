"""The ASGI applications of explorer and judging: routes of an API, static files, and one page at every other path."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from anyio.to_thread import current_default_thread_limiter
from fastapi import APIRouter, FastAPI
from markupsafe import Markup, escape
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

import goldrank
from goldrank.judging.labels import check_judge
from goldrank.judging.project import JudgingProject
from goldrank.reporting.document.templating import environment
from goldrank.reporting.render.themes import tokens_css
from goldrank.store import Store
from goldrank.web.dependencies import Server
from goldrank.web.responses import ERROR_SCHEMA, Json, add_error_handlers
from goldrank.web.routes import comparison, data_quality, judging, masked, meta, queries, runs, scores
from goldrank.web.security import Access, Guard
from goldrank.web.store_reader import CACHE_BYTES, StoreReader

THREADS = 16
"""Requests that are answered at the same time."""
# The machine's own registry of types may be wrong, and browsers refuse scripts that are sent as plain text.
_MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_ERRORS = 'All errors have the form {"error": what is wrong, "where": place, "remedy": what to do}.'
_EXPLORER = (
    "Everything that the explorer shows, as JSON. The numbers are those of `goldrank score` and `goldrank compare`. "
    + _ERRORS
)
_JUDGING = f"What the judging page shows and stores, as JSON; bodies of requests are JSON as well. {_ERRORS}"
# `code` and *parameter* in docstrings; a lone asterisk is a wildcard.
_CODE = re.compile(r"([`*])(?=\S)([^`*]+)(?<=\S)\1")
_ROUTES = (runs, queries, comparison, scores, data_quality, meta, masked)


def create_app(
    store: Store,
    *,
    access: Access = Access(),  # noqa: B008 - frozen
    allow_delete: bool = False,
    cache_bytes: int = CACHE_BYTES,
) -> FastAPI:
    """Return the explorer of *store* as an ASGI application.

    Args:
        store: the store to show; nothing else is read.
        access: the hosts and the token that are accepted.
        allow_delete: whether runs may be deleted.
        cache_bytes: the size of the cache in memory.
    """
    server = Server(StoreReader(store, cache_bytes=cache_bytes), allow_delete)
    routes = [module.routes for module in _ROUTES]
    return _create("goldrank explorer", _EXPLORER, server, routes, "index.html", access)


def create_judging_app(
    project: JudgingProject,
    *,
    access: Access = Access(),  # noqa: B008 - frozen
    judge: str | None = None,
) -> FastAPI:
    """Return the judging page of *project* as an ASGI application, which reads and writes nothing else.

    Args:
        project: the project to judge.
        access: the hosts and the token that are accepted.
        judge: the only judge; None asks each visitor for a name.
    """
    server = judging.JudgingServer(project, None if judge is None else check_judge(judge))
    return _create("goldrank judging", _JUDGING, server, [judging.routes], "judge.html", access)


def _create(
    title: str, description: str, server: object, routes: Sequence[APIRouter], page: str, access: Access
) -> FastAPI:
    app = FastAPI(
        title=title,
        version=goldrank.__version__,
        description=description,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        default_response_class=Json,
    )
    app.state.server = server
    add_error_handlers(app)
    for router in routes:
        app.include_router(router, prefix="/api")
    _add_api_docs(app)
    _add_page(app, page)
    app.add_middleware(Guard, access=access)
    app.add_middleware(_LimitThreads)
    return app


class _LimitThreads:
    """Limit the threads that answer requests; with more, they compete for the interpreter and some wait very long."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._is_set = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._is_set:
            # The limit belongs to the event loop, which does not exist before the first request.
            current_default_thread_limiter().total_tokens = THREADS
            self._is_set = True
        await self._app(scope, receive, send)


def _add_api_docs(app: FastAPI) -> None:
    description = app.openapi()
    description.setdefault("components", {}).setdefault("schemas", {})["Error"] = ERROR_SCHEMA

    @app.get("/api/openapi.json", include_in_schema=False)
    def openapi() -> Json:
        return Json(description)

    page = _render_api_docs(description)

    @app.get("/api/docs", include_in_schema=False)
    def api_docs() -> Response:
        return Response(page, media_type="text/html")

    @app.get("/api/{rest:path}", include_in_schema=False)
    def unknown_path(rest: str) -> Response:
        raise HTTPException(404)


def _render_api_docs(description: Mapping[str, Any]) -> str:
    """Render every route with its parameters as an HTML page without scripts."""
    tags: dict[str, list[tuple[str, str, Mapping[str, Any]]]] = {}
    for path, methods in description["paths"].items():
        for method, call in methods.items():
            tags.setdefault(call.get("tags", ["other"])[0], []).append((method, path, call))
    templates = environment("goldrank.web")
    templates.filters["inline"] = _inline
    template = templates.get_template("api.html")
    return template.render(info=description["info"], tags=tags, facts=_facts)


def _inline(text: str) -> Markup:
    """Return a text of a docstring as HTML; what is in backticks or asterisks is code.

    >>> _inline("as `goldrank score`, by *first* < 2")
    Markup('as <code>goldrank score</code>, by <code>first</code> &lt; 2')
    """
    return Markup(_CODE.sub(r"<code>\2</code>", str(escape(text))))


def _facts(parameter: Mapping[str, Any]) -> str:
    """Return whether a parameter is required, its default, choices and bounds."""
    schema = parameter.get("schema", {})
    facts = ["required"] if parameter.get("required") else []
    if schema.get("default") not in (None, ""):
        facts.append(f"default {schema['default']}")
    for kind in (schema, *schema.get("anyOf", ())):
        if "enum" in kind:
            facts.append(" | ".join(map(str, kind["enum"])))
        bounds = [f"{kind[name]:,}" for name in ("minimum", "maximum") if name in kind]
        facts += [f"from {' to '.join(bounds)}"] if bounds else []
    return "; ".join(facts)


def _add_page(app: FastAPI, page: str) -> None:
    """Serve static files and the script of plotly under /static, and *page* at every other path."""
    for ending, kind in _MEDIA_TYPES.items():
        mimetypes.add_type(kind, ending)
    packages: list[str | tuple[str, str]] = [("goldrank.web", "static"), ("goldrank.reporting.document", "shared")]
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
        return await files.get_response(page, request.scope)
