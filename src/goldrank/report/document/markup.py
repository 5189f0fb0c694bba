"""HTML that cannot be broken by what it shows: every text is escaped, and its direction of writing kept to itself."""

from __future__ import annotations

import html
import json
import re
from typing import Any

# What no HTML document may hold: controls other than tab and line ends, and halves of surrogate pairs.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def escape(text: str) -> str:
    """Text for any place in a document, attributes in quotes included.

    >>> escape("a < b & 'c'"), escape("bell" + chr(7))
    ('a &lt; b &amp; &#x27;c&#x27;', 'bell\ufffd')
    """
    return html.escape(_UNFIT.sub("\ufffd", text), quote=True)


def isolated(text: str) -> str:
    """Text of others, whose direction is found by itself and cannot turn round what stands beside it.

    >>> isolated("<b>")
    '<bdi dir="auto">&lt;b&gt;</bdi>'
    """
    return f'<bdi dir="auto">{escape(text)}</bdi>'


def folded(text: str, limit: int) -> str:
    """A text of any length: its beginning, and the rest behind "more".

    >>> folded("one two", 100)
    '<bdi dir="auto">one two</bdi>'
    >>> folded("one two three", 8)
    '<bdi dir="auto">one two</bdi> <details><summary>more</summary> <bdi dir="auto">three</bdi></details>'
    """
    if len(text) <= limit:
        return isolated(text)
    space = text.rfind(" ", limit // 2, limit)
    at = limit if space < 0 else space
    rest = f"<details><summary>more</summary> {isolated(text[at:].lstrip())}</details>"
    return f"{isolated(text[:at])} {rest}"


def embedded(content: Any, name: str) -> str:
    """Data for a script, as an element that no text inside it can close."""
    written = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        written = written.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json" id="{escape(name)}">{_UNFIT.sub(" ", written)}</script>'
