"""What the API says: JSON that every browser reads, and errors of one shape for whatever went wrong."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from goldrank.errors import GoldrankError, InputError, shorten

_PHRASES = {404: "there is nothing at this address", 405: "this address does not take that method"}
ERRORS: dict[int | str, dict[str, Any]] = {
    code: {
        "description": text,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
    }
    for code, text in {
        400: "The store or the data cannot answer this.",
        401: "The token is missing or wrong.",
        403: "This is not allowed here.",
        404: "There is no such run, query or page.",
        422: "A parameter is missing or wrong.",
    }.items()
}
ERROR_SCHEMA = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {"type": "string", "description": "What was wrong."},
        "where": {"type": ["string", "null"], "description": "The parameter, file or place."},
        "remedy": {"type": ["string", "null"], "description": "What to do."},
    },
}


class NotFoundError(InputError):
    """What was asked for is not in the store: 404."""


class NotAllowedError(InputError):
    """What was asked for is not allowed here: 403."""


class Json(Response):
    """JSON of plain values; undefined numbers are null."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes of the answer."""
        return render(content)


def render(content: Any) -> bytes:
    """Return plain values as JSON."""
    value = plain(content)
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        # Half a surrogate pair, which an id may hold, has no UTF-8; escaped it is still JSON.
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


class Made(Response):
    """JSON that was rendered before."""

    media_type = "application/json"


def plain(value: Any) -> Any:
    """A value as JSON can hold it: dataclasses as objects, arrays as lists, undefined numbers as null."""
    kind = type(value)
    if kind is str or kind is int or value is None or kind is bool:
        return value
    if kind is dict or isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return _single(value)


def _single(value: Any) -> str | int | float | None:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    return value.isoformat() if isinstance(value, datetime) else str(value)


def error(status: int, what: str, where: str | None = None, remedy: str | None = None) -> Json:
    """An error in the one shape that all have."""
    return Json({"error": what, "where": where, "remedy": remedy}, status_code=status)


def add_error_handlers(app: FastAPI) -> None:
    """Whatever is raised becomes an answer, never a traceback."""

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
        said = str(first["msg"])
        return error(422, f"{said[:1].lower()}{said[1:]}{got}", name, "see /api/docs")

    @app.exception_handler(HTTPException)
    async def refused(_request: Request, raised: HTTPException) -> Response:
        what = _PHRASES.get(raised.status_code, str(raised.detail))
        made = error(raised.status_code, what, None, "see /api/docs")
        made.headers.update(raised.headers or {})
        return made
