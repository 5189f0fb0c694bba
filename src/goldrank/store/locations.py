"""Locate a store: its database and its tables, by a folder, a URL or the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from goldrank.errors import InputError, shorten
from goldrank.io.files import PathLike, data_folder
from goldrank.redaction import redact

_FILE = "goldrank.db"


@dataclass(frozen=True)
class StoreLocation:
    """The URL of the database, the folder of the tables, and the name of the store in messages."""

    url: URL
    tables: Path
    name: str
    shared: bool
    """Whether several stores may use the folder of the tables, so that each has a subfolder."""

    def folder_of(self, identity: str) -> Path:
        """Return the folder of the tables of the store with that identity."""
        return self.tables / identity if self.shared else self.tables


def locate_store(where: PathLike | None) -> StoreLocation:
    """Return the location of a folder or a URL, or with None that of $GOLDRANK_STORE or the user's data folder."""
    given = os.environ.get("GOLDRANK_STORE") or data_folder() if where is None else where
    text = os.fspath(given)
    if "://" in text:
        return _from_url(text)
    folder = Path(os.path.abspath(Path(text).expanduser()))  # noqa: PTH100 - resolve() would follow links
    if folder.is_file():
        raise InputError(
            "this is a file, not the folder of a store",
            where=text,
            remedy=f"name its folder, or write sqlite:///{folder} for a database of that name",
        )
    url = URL.create("sqlite", database=str(folder / _FILE))
    return StoreLocation(url, folder / "tables", str(folder), shared=False)


def _from_url(text: str) -> StoreLocation:
    remedy = "write a folder, sqlite:///path/to/file.db or postgresql://user@host/database"
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise InputError(f"{shorten(redact(text))} is not a URL", remedy=remedy) from None
    given = url.query.get("tables")
    url = url.difference_update_query(["tables"])
    shown = redact(url.render_as_string(hide_password=True))
    kind = url.get_backend_name()
    if kind not in ("sqlite", "postgresql", "postgres"):
        raise InputError(f"a store cannot be in a database of the kind {shorten(kind)}", where=shown, remedy=remedy)
    if not url.database or url.database == ":memory:":
        raise InputError("the URL names no database", where=shown, remedy=remedy)
    if kind == "sqlite":
        file = Path(url.database).expanduser().absolute()
        url, beside = url.set(drivername="sqlite", database=str(file)), file.parent / "tables"
    else:
        beside = Path(os.environ.get("GOLDRANK_TABLES") or data_folder() / "tables")
    chosen = Path(given if isinstance(given, str) else beside).expanduser().absolute()
    return StoreLocation(url, chosen, shown, shared=True)
