"""The page at /api/docs: every address of the API with its parameters, from its OpenAPI description, no scripts."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light dark; --rule: color-mix(in srgb, currentColor 18%, transparent); }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 56rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0; } p { margin: .4rem 0; }
section.call { border-top: 1px solid var(--rule); padding: 1rem 0; }
code { font: .92em/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
.method { font-weight: 600; margin-right: .5rem; } .delete { color: #c0392b; }
table { border-collapse: collapse; width: 100%; margin-top: .5rem; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0; border-top: 1px solid var(--rule); }
th { font-weight: 600; } a { color: inherit; } .quiet { opacity: .7; }
"""


def render(description: Mapping[str, Any]) -> bytes:
    """The page as HTML."""
    about = description["info"]
    calls: dict[str, list[str]] = {}
    for path, methods in description["paths"].items():
        for method, call in methods.items():
            calls.setdefault(call.get("tags", ["other"])[0], []).append(_call(method, path, call))
    parts = "".join(f"<h2>{escape(tag)}</h2>{''.join(listed)}" for tag, listed in calls.items())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(about['title'])}: API</title><style>{_STYLE}</style></head><body><main>"
        f'<p><a href="/">← explorer</a></p><h1>{escape(about["title"])}: the API</h1>'
        f"<p>{escape(about.get('description', ''))}</p>"
        '<p>For programs: <a href="/api/openapi.json">/api/openapi.json</a> (OpenAPI). '
        "With a token: <code>Authorization: Bearer …</code>.</p>"
        f"{parts}</main></body></html>"
    ).encode()


def _call(method: str, path: str, call: Mapping[str, Any]) -> str:
    rows = "".join(_parameter(one) for one in call.get("parameters", []))
    table = f"<table><thead><tr><th>parameter</th><th>meaning</th></tr></thead><tbody>{rows}</tbody></table>"
    shown = escape(path)
    linked = f'<a href="{shown}">{shown}</a>' if method == "get" and "{" not in path else shown
    said = "".join(f"<p>{escape(part)}</p>" for part in call.get("description", "").split("\n\n") if part)
    return (
        f'<section class="call"><h3><span class="method {escape(method)}">{escape(method.upper())}</span>'
        f"<code>{linked}</code></h3><p>{escape(call.get('summary', ''))}.</p>{said}{table if rows else ''}</section>"
    )


def _parameter(one: Mapping[str, Any]) -> str:
    schema = one.get("schema", {})
    facts = ["required"] if one.get("required") else []
    if schema.get("default") is not None:
        facts.append(f"default {schema['default']}")
    for kind in (schema, *schema.get("anyOf", ())):
        if "enum" in kind:
            facts.append(" | ".join(map(str, kind["enum"])))
        bounds = [f"{kind[name]:g}" for name in ("minimum", "maximum") if name in kind]
        facts += [f"from {' to '.join(bounds)}"] if bounds else []
    note = f' <span class="quiet">({escape("; ".join(facts))})</span>' if facts else ""
    return f"<tr><td><code>{escape(one['name'])}</code></td><td>{escape(one.get('description', ''))}{note}</td></tr>"
