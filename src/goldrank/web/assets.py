"""The files of the page, read once at the start: no path of a request ever reaches the file system."""

from __future__ import annotations

import gzip
import hashlib
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

INDEX = "index.html"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
_NO_PAGE = b"<!doctype html><title>goldrank</title><p>The page is not part of this installation; see /api/docs.</p>"
_PACKED = ("text/", "image/svg")


@dataclass(frozen=True, eq=False)
class Asset:
    """One file."""

    content: bytes
    media_type: str

    @cached_property
    def tag(self) -> str:
        """What changes with the content."""
        return f'"{hashlib.sha256(self.content).hexdigest()[:20]}"'

    @cached_property
    def packed(self) -> bytes | None:
        """The content compressed, where that helps."""
        return gzip.compress(self.content, 6, mtime=0) if self.media_type.startswith(_PACKED) else None

    def answer(self, request: Request) -> Response:
        """The file, or that the reader has it already."""
        headers = {"ETag": self.tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        if request.headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=headers)
        content = self.content
        if "gzip" in request.headers.get("accept-encoding", "") and self.packed is not None:
            content, headers["Content-Encoding"] = self.packed, "gzip"
        return Response(content, media_type=self.media_type, headers=headers)


def read_assets() -> dict[str, Asset]:
    """All files of the page by name, with plotly's script from its package where that is installed."""
    found = {INDEX: Asset(_NO_PAGE, "text/html")}
    static = resources.files("goldrank.web").joinpath("static")
    if static.is_dir():
        for entry in static.iterdir():
            if entry.is_file() and not entry.name.startswith("."):
                found[entry.name] = Asset(entry.read_bytes(), _media_type(entry.name))
    plotly = _plotly_script()
    if plotly is not None:
        found["plotly.min.js"] = Asset(plotly.read_bytes(), "text/javascript")
    return found


def _media_type(name: str) -> str:
    suffix = Path(name).suffix.lower()
    return _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"


def _plotly_script() -> Path | None:
    # Found without importing plotly, which takes a second that nobody who reads tables should wait.
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "package_data" / "plotly.min.js"
    return path if path.is_file() else None


def page(assets: Mapping[str, Asset], request: Request) -> Response:
    """The single page that shows every view."""
    return assets[INDEX].answer(request)
