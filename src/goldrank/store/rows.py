"""Rows of the database: create them from records, and check and read them as stored runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from goldrank.errors import InputError, shorten
from goldrank.redaction import redact
from goldrank.store.keys import canonical_json, digest
from goldrank.store.records import RunRecord, StoredRun

_CHECKSUM = "checksum"


class DamagedRowError(InputError):
    """The values of a row are not those that were written."""


def make_row(record: RunRecord) -> dict[str, Any]:
    """Return the values of a record's row that do not depend on the store."""
    for name, text in (("task", record.task), ("model", record.model), ("profile", record.profile)):
        _refuse_bad_text(name, text)
    seconds = record.environment.get("seconds")
    return {
        "digest": digest(record.inputs),
        "task": redact(record.task),
        "model": redact(record.model),
        "inputs": canonical_json(record.inputs, "inputs"),
        "environment": canonical_json(record.environment, "environment"),
        "profile": record.profile,
        "metrics": json.dumps(record.metrics),
        "conventions": canonical_json(record.conventions, "conventions"),
        "created": datetime.now(timezone.utc).isoformat(timespec="microseconds"),
        "queries": 0 if record.hits is None else len(record.hits.queries),
        "judged": 0 if record.hits is None else len(record.hits.items),
        # Not sorted, because the first value is the headline.
        "measured": json.dumps(record.measured),
        "summary": json.dumps(record.summary),
        "seconds": float(seconds) if isinstance(seconds, (int, float)) else None,
    }


def _refuse_bad_text(name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"the {name} {ascii(text)[:80]} is not valid Unicode", remedy="rename it") from None
    if not text.strip() or "\0" in text:
        raise InputError(f"the {name} {shorten(text)} cannot be stored", remedy="give a name of printable characters")


def with_checksum(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row with the checksum of all its other values."""
    values = {name: value for name, value in row.items() if name != _CHECKSUM}
    text = json.dumps(values, sort_keys=True, default=repr)
    return {**values, _CHECKSUM: hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()}


def read_row(
    row: Mapping[str, Any], tables: Path, where: str, reload: Callable[[str], StoredRun | None] | None = None
) -> StoredRun:
    """Return the stored run of a row.

    Args:
        row: all columns by name.
        tables: the folder that holds the folders of tables.
        where: the store, for messages.
        reload: returns the run with a digest as it is stored now, for readers whose tables were replaced meanwhile.

    Raises:
        DamagedRowError: if a value is not the one that was written.
    """
    if with_checksum(row)[_CHECKSUM] != row[_CHECKSUM] or not is_folder_name(row["folder"]):
        raise DamagedRowError(
            f"the row of the stored run {shorten(row['key'])} is damaged (its checksum is wrong)",
            where=where,
            remedy="run it again with --overwrite always, or remove it with: goldrank runs delete KEY",
        )
    return StoredRun(
        key=row["key"],
        digest=row["digest"],
        task=row["task"],
        model=row["model"],
        inputs=json.loads(row["inputs"]),
        environment=json.loads(row["environment"]),
        profile=row["profile"],
        metrics=tuple(json.loads(row["metrics"])),
        conventions=json.loads(row["conventions"]),
        created=datetime.fromisoformat(row["created"]),
        queries=row["queries"],
        judged=row["judged"],
        seconds=row["seconds"],
        measured=json.loads(row["measured"]),
        summary=json.loads(row["summary"]),
        folder=tables / row["folder"],
        hits_checksum=row["hits_checksum"],
        run_checksum=row["run_checksum"],
        predictions_checksum=row["predictions_checksum"],
        reload=reload,
    )


def is_folder_name(name: Any) -> bool:
    """Return True if *name* is a single path component: a damaged row must not lead out of the folder of the tables."""
    return (
        isinstance(name, str)
        and name not in ("", ".", "..")
        and (PurePosixPath(name).name == name == PureWindowsPath(name).name)
    )
