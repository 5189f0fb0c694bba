"""An extension of Griffe that shows the doctests of docstrings as code blocks in the API reference."""

from __future__ import annotations

import re
from typing import Any

import griffe

# A prompt, and every line after it up to an empty one.
_DOCTEST = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)


class DoctestBlocks(griffe.Extension):
    """Put every doctest between fences, because Markdown would take its prompt for a quotation."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = _DOCTEST.sub(lambda block: f"```pycon\n{block[0]}\n```", obj.docstring.value)
