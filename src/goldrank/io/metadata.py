"""Further fields of records as texts: what describes a query beside its id and text."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from goldrank.io.checks import is_missing


def metadata_fields(record: Mapping[str, object], without: Collection[str | None] = ()) -> dict[str, str]:
    """Return the values of a record as texts; the fields of an object inside it are named ``object.field``.

    Missing values, blank texts and lists are left out.

    Args:
        record: The record.
        without: Fields that have another role.

    >>> metadata_fields({"_id": 1, "metadata": {"lang": "de", "tags": ["x"]}, "views": 3.0, "new": True}, ["_id"])
    {'metadata.lang': 'de', 'views': '3', 'new': 'true'}
    """
    fields: dict[str, str] = {}
    for name, value in record.items():
        if name in without:
            continue
        inner = value.items() if isinstance(value, Mapping) else [("", value)]
        for key, part in inner:
            text = _text(part)
            if text:
                fields[f"{name}.{key}" if key else str(name)] = text
    return fields


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if is_missing(value) or isinstance(value, (list, tuple, Mapping, bytes)):
        return ""
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    return str(value).strip()
