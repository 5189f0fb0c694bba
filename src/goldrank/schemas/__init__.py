"""JSON Schemas (draft 2020-12) of what commands print as JSON, one file for each output.

The file ``NAME.json`` describes the output whose field ``schema`` is ``goldrank/NAME/VERSION``. The version is in the
file only. A new optional field leaves it; a field that is renamed, removed or read otherwise raises it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from goldrank.errors import unknown_name

_FOLDER = Path(__file__).parent
_SHARED = "definitions"
_REFERENCE = f"{_SHARED}.json#/$defs/"


def schema_names() -> list[str]:
    """Return the names of all schemas."""
    return sorted(path.stem for path in _FOLDER.glob("*.json") if path.stem != _SHARED)


def load_schema(name: str) -> dict[str, Any]:
    """Return a schema that is complete in itself: with the shared definitions that it uses.

    >>> load_schema("score")["properties"]["schema"]
    {'const': 'goldrank/score/1'}

    Raises:
        UnknownNameError: There is no schema of this name.
    """
    if name not in schema_names():
        raise unknown_name("schema", name, schema_names(), "goldrank schema")
    schema = _read(name)
    shared = _read(_SHARED)["$defs"]
    # The definitions of the file itself come first: a shared one of the same name is not meant.
    definitions = dict(schema.pop("$defs", {}))
    for own in list(definitions):
        definitions[own] = _resolve(definitions[own], shared, definitions)
    resolved: dict[str, Any] = _resolve(schema, shared, definitions)
    return resolved | ({"$defs": dict(sorted(definitions.items()))} if definitions else {})


def identify(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of an output with the name and the version of its schema first."""
    return {"schema": _read(name)["properties"]["schema"]["const"], **content}


def _read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((_FOLDER / f"{name}.json").read_bytes())
    return content


def _resolve(part: Any, shared: Mapping[str, Any], used: dict[str, Any]) -> Any:
    """Return a part of a schema with references into itself; add the definitions that it refers to to *used*."""
    if isinstance(part, list):
        return [_resolve(entry, shared, used) for entry in part]
    if not isinstance(part, dict):
        return part
    reference = part.get("$ref", "")
    if reference.startswith(_REFERENCE):
        reference = "#/$defs/" + reference.removeprefix(_REFERENCE)
    if reference.endswith(".json"):
        reference = f"#/$defs/{_embed(reference.removesuffix('.json'), shared, used)}"
    target = reference.removeprefix("#/$defs/")
    if target in shared and target not in used:
        used[target] = {}
        used[target] = _resolve(shared[target], shared, used)
    resolved = {key: _resolve(entry, shared, used) for key, entry in part.items() if key != "$ref"}
    return {"$ref": reference, **resolved} if reference else resolved


def _embed(name: str, shared: Mapping[str, Any], used: dict[str, Any]) -> str:
    """Add another output's schema and its own definitions to *used*, and return its name."""
    content = _read(name)
    del content["$schema"]
    for own, definition in content.pop("$defs", {}).items():
        used[own] = _resolve(definition, shared, used)
    used[name] = _resolve(content, shared, used)
    return name
