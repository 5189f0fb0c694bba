"""Escape text from data for display: control characters on terminals and in JSON, formulas in spreadsheets."""

from __future__ import annotations

import re
from typing import Any

# C0 and C1 controls, DEL, direction marks and overrides, and the separators that break a line.
_CONTROLS = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069"
_ANY_CONTROL = re.compile(f"[{_CONTROLS}]")
_CONTROL_IN_TEXT = re.compile(r"(?![\n\t])" + f"[{_CONTROLS}]")
_UNPRINTABLE = re.compile("[\ud800-\udfff]")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def escape_text(text: str) -> str:
    r"""Return *text* with control characters, direction overrides and lone surrogates as visible escapes.

    Line breaks and tabs stay, because the layout of goldrank's own output contains them.

    >>> escape_text("d1\x1b[2J\u202e!"), escape_text("two\nlines"), escape_text("a\rb\x9b")
    ('d1\\x1b[2J\\u202e!', 'two\nlines', 'a\\rb\\x9b')
    """
    return _UNPRINTABLE.sub(_escape, _CONTROL_IN_TEXT.sub(_escape, text))


def escape_line(text: str) -> str:
    r"""Return *text* as `escape_text` does, with line breaks and tabs as escapes too.

    >>> escape_line("one\ntwo\t")
    'one\\ntwo\\t'
    """
    return _UNPRINTABLE.sub(_escape, _ANY_CONTROL.sub(_escape, text))


def escape_json(written: str) -> str:
    r"""Return JSON text with the controls that JSON allows unescaped written as ``\uXXXX``: the same data.

    >>> escape_json('{"id": "a\u202eb"}')
    '{"id": "a\\u202eb"}'
    """
    return _UNPRINTABLE.sub(_json_escape, _CONTROL_IN_TEXT.sub(_json_escape, written))


def escape_cell(value: Any) -> Any:
    """Return a CSV cell that no spreadsheet takes for a formula: such a string gets a leading apostrophe.

    Numbers stay as they are, also negative ones and strings that read as a plain number.

    >>> [escape_cell(value) for value in ("=1+1", "@SUM(A1)", "bm25", -0.5, "-0.5", "+x", "-2+3")]
    ["'=1+1", "'@SUM(A1)", 'bm25', -0.5, '-0.5', "'+x", "'-2+3"]
    """
    if isinstance(value, str) and value.startswith(_FORMULA) and not _is_number(value):
        return f"'{value}"
    return value


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text) is not None


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    short = {9: r"\t", 10: r"\n", 13: r"\r"}.get(code)
    return short or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


def _json_escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def replace_surrogates(text: str) -> str:
    """Return *text* as UTF-8 can encode it: a lone surrogate becomes U+FFFD.

    >>> replace_surrogates("half \\ud83d")
    'half �'
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
