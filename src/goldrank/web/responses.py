"""Responses of the API: JSON, and errors of one form."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from goldrank.errors import GoldrankError, InputError, shorten
from goldrank.reporting.text.results import plain

_PHRASES = {404: "there is nothing at this address", 405: "this address does not support that method"}
ERRORS: dict[int | str, dict[str, Any]] = {
    code: {
        "description": text,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
    for code, text in {
        400: "The request cannot be answered from the store.",
        401: "The token is missing or wrong.",
        403: "The request is not allowed on this server.",
        404: "There is no such run, query or page.",
        422: "A parameter is missing or wrong.",
    }.items()
}
ERROR_SCHEMA = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {"type": "string", "description": "What is wrong."},
        "where": {"type": ["string", "null"], "description": "The parameter or file."},
        "remedy": {"type": ["string", "null"], "description": "What to do."},
    },
}


class NotFoundError(InputError):
    """The run, query or page is not in the store (status 404)."""


class NotAllowedError(InputError):
    """The request is not allowed on this server (status 403)."""


class Json(Response):
    """A JSON response; undefined numbers are null."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the content as JSON."""
        return render(content)


def render(content: Any) -> bytes:
    """Return any value that `plain` accepts as JSON."""
    value = plain(content)
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        # An id may contain an unpaired surrogate, which has no UTF-8 but can be escaped in JSON.
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


class RenderedJson(Response):
    """A response of JSON that `render` has returned."""

    media_type = "application/json"


def error(status: int, what: str, where: str | None = None, remedy: str | None = None) -> Json:
    """Return an error response in the form that all errors have."""
    return Json({"error": what, "where": where, "remedy": remedy}, status_code=status)


def add_error_handlers(app: FastAPI) -> None:
    """Answer exceptions with an error response."""

    @app.exception_handler(InputError)
    async def bad_input(_request: Request, raised: InputError) -> Response:
        status = 404 if isinstance(raised, NotFoundError) else 403 if isinstance(raised, NotAllowedError) else 400
        return error(status, raised.what, raised.where, raised.remedy)

    @app.exception_handler(GoldrankError)
    async def failed(_request: Request, raised: GoldrankError) -> Response:
        return error(503, str(raised), None, "try again")

    @app.exception_handler(RequestValidationError)
    async def bad_parameter(_request: Request, raised: RequestValidationError) -> Response:
        first = raised.errors()[0]
        name = ".".join(str(part) for part in first["loc"][1:]) or "the request"
        given = first.get("input")
        got = "" if given is None else f" (got {shorten(given)})"
        message = str(first["msg"])
        return error(422, f"{message[:1].lower()}{message[1:]}{got}", name, "see /api/docs")

    @app.exception_handler(HTTPException)
    async def refused(_request: Request, raised: HTTPException) -> Response:
        what = _PHRASES.get(raised.status_code, str(raised.detail))
        response = error(raised.status_code, what, None, "see /api/docs")
        response.headers.update(raised.headers or {})
        return response
