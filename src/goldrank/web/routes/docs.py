"""The page at /api/docs: the routes of the API with their parameters, rendered from OpenAPI without scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from goldrank.reporting.document.templating import environment


def render(description: Mapping[str, Any]) -> str:
    """Return the page as HTML."""
    tags: dict[str, list[tuple[str, str, Mapping[str, Any]]]] = {}
    for path, methods in description["paths"].items():
        for method, call in methods.items():
            tags.setdefault(call.get("tags", ["other"])[0], []).append((method, path, call))
    template = environment("goldrank.web").get_template("api.html")
    return template.render(info=description["info"], tags=tags, facts=_facts)


def _facts(parameter: Mapping[str, Any]) -> str:
    """Return whether a parameter is required, its default, choices and bounds."""
    schema = parameter.get("schema", {})
    facts = ["required"] if parameter.get("required") else []
    if schema.get("default") not in (None, ""):
        facts.append(f"default {schema['default']}")
    for kind in (schema, *schema.get("anyOf", ())):
        if "enum" in kind:
            facts.append(" | ".join(map(str, kind["enum"])))
        bounds = [f"{kind[name]:g}" for name in ("minimum", "maximum") if name in kind]
        facts += [f"from {' to '.join(bounds)}"] if bounds else []
    return "; ".join(facts)
