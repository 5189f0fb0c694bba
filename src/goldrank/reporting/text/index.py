"""The content and origin of an index as a table and as data."""

from __future__ import annotations

from goldrank.index.faiss_file import FaissFile
from goldrank.index.folder import IndexFolder
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.views import View
from goldrank.units import format_bytes


def view(index: IndexFolder | FaissFile) -> View:
    """Return what is known of an open index in all its forms."""
    return index_view(index, str(index.path))


def index_view(index: IndexFolder | FaissFile, name: str, *, verified: bool = False) -> View:
    """Return what is known of an open index in all its forms.

    Args:
        index: The index.
        name: The path as the user wrote it.
        verified: Whether the SHA-256 of all files was compared.
    """
    return View(
        index.describe,
        lambda: [["field", "value"], *_rows(index, verified)],
        lambda: [
            Grid(["index", name], [[Cell(text) for text in row] for row in _rows(index, verified)], text_columns=2)
        ],
        schema="index-info",
    )


def _rows(index: IndexFolder | FaissFile, verified: bool) -> list[list[str]]:
    held = index.describe()
    if isinstance(index, FaissFile):
        held["size"] = format_bytes(index.size)
        checked = "nothing: a faiss file has no checksums"
    else:
        checked = "CRC-32 of all files, of 1 GiB each at most (all with --verify)"
    files = held.pop("files", {})
    return [
        *([name, _plain(value)] for name, value in held.items()),
        *([name, format_bytes(entry["size"])] for name, entry in files.items()),
        ["checked", "SHA-256 of all files" if verified else checked],
    ]


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {text!r}" for name, text in value.items()) or "–"
    return "–" if value is None else str(value)
