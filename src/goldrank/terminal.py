"""Width and colours of a terminal, and text wrapped to a width in columns."""

from __future__ import annotations

import os
import re
import unicodedata
from typing import TextIO

NARROWEST = 20
"""Columns: output is never laid out for a narrower terminal."""
_USUAL = 80
PROSE = 120
"""Columns: paragraphs are wrapped at this width where the terminal is wider or where there is none."""
_STYLE = re.compile("\x1b\\[[0-9;]*m")
# A word that is longer than a line is broken after one of these.
_BREAKS = frozenset("/,|()[]{}=:;+&?_-@.\\")
# The blanks of "p = 0.042", which stays on one line.
_RELATION = re.compile(r"(?<=\S) ([=<>≤≥]) (?=\S)")


def output_width(stream: TextIO) -> int | None:
    """Return the columns of *stream*: ``$COLUMNS``, else the width of the terminal, else None for a file or a pipe.

    A terminal that reports no size counts as 80 columns wide.
    """
    if width := _columns_variable():
        return width
    try:
        if not stream.isatty():
            return None
        width = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        # Closed, or not a real file.
        return None
    return max(width or _USUAL, NARROWEST)


def _columns_variable() -> int:
    """Return ``$COLUMNS`` as a usable width, or 0 if it is not set to a number above 0."""
    given = os.environ.get("COLUMNS", "")
    return max(int(given), NARROWEST) if given.isdecimal() and len(given) < 10 and int(given) > 0 else 0


def has_colours(stream: TextIO) -> bool:
    """Return True if styles may be written to *stream*.

    ``$NO_COLOR`` turns them off, ``$FORCE_COLOR`` turns them on; otherwise only a terminal that is not dumb has them.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    try:
        return stream.isatty() and os.environ.get("TERM") != "dumb"
    except ValueError:
        return False


# Replacements for the symbols in tables and messages on terminals with ASCII or Latin-1 only.
_PLAIN = {
    "─": "-", "│": "|", "–": "-", "—": "-", "−": "-", "↑": "^", "↓": "v", "→": ">", "←": "<", "≤": "<=", "≥": ">=",
    "≈": "~", "×": "x", "·": ".", "•": "*", "…": "...", "█": "#", "‘": "'", "’": "'", "“": '"', "”": '"', "α": "alpha",
}  # fmt: skip


def similar_ascii(text: str) -> str:
    """Return *text* with similar characters of ASCII, or else with escapes such as ``\\u65e5``.

    >>> similar_ascii("ndcg↑ ᵃ… 日")
    'ndcg^ a... \\\\u65e5'
    """
    plain = "".join(_PLAIN.get(character, character) for character in text)
    # NFKD maps superscripts and ligatures to plain letters.
    letters = (_compatible(character) for character in plain)
    return "".join(letters).encode("ascii", "backslashreplace").decode()


def _compatible(character: str) -> str:
    mapped = unicodedata.normalize("NFKD", character)
    return mapped if mapped.isascii() else character


def encodable(text: str, encoding: str | None) -> str:
    """Return *text* with the characters that *encoding* lacks replaced by `similar_ascii`, as it will be printed."""
    if text.isascii() or (encoding or "utf-8").lower().replace("-", "") == "utf8":
        return text
    return "".join(character if _has(encoding, character) else similar_ascii(character) for character in text)


def _has(encoding: str | None, character: str) -> bool:
    try:
        character.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def display_width(text: str) -> int:
    """Return the columns that *text* takes: wide characters take two, combining marks and styles none.

    >>> display_width("ndcg"), display_width("日本"), display_width("e\\u0301"), display_width("\\x1b[1mbold\\x1b[0m")
    (4, 4, 1, 4)
    """
    if text.isascii() and "\x1b" not in text:
        return len(text)
    return sum(map(_columns_of, _STYLE.sub("", text)))


def _columns_of(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def wrap(text: str, width: int | None, *, hanging: str = "", break_words: bool = True) -> list[str]:
    """Return *text* as lines of at most *width* columns, broken between words, but not within "p = 0.042".

    A word that is wider than a line is broken after punctuation where it has some, so that no line is too long. Lines
    of *text* stay apart, and each keeps its indentation on the lines that follow it.

    Args:
        text: One paragraph, or several lines.
        width: The columns; None stands for `PROSE`.
        hanging: The further indentation of continued lines.
        break_words: False leaves a word that is wider than a line whole, so that a path can be copied.

    >>> wrap("bm25 beats wordllama on ndcg@10", 14)
    ['bm25 beats', 'wordllama on', 'ndcg@10']
    >>> wrap("  model: st:BAAI/bge-small-en-v1.5", 20, hanging="  ")
    ['  model:', '    st:BAAI/bge-', '    small-en-v1.5']
    >>> wrap("better than tfidf (p < 0.001)", 23)
    ['better than tfidf', '(p < 0.001)']
    """
    room = max(PROSE if width is None else width, 1)
    return [part for line in text.split("\n") for part in _wrap_line(line, room, hanging, break_words)]


def _wrap_line(line: str, width: int, hanging: str, break_words: bool) -> list[str]:
    if display_width(line) <= width:
        return [line.rstrip()]
    margin = line[: len(line) - len(line.lstrip())]
    # On a line that is narrower than its indentation there would be no room for words.
    first = margin if len(margin) < width // 2 else ""
    later = first + hanging if len(first + hanging) < width // 2 else ""
    lines, current, is_empty = [], first, True
    for word in _words(line, width):
        if not is_empty and display_width(current) + 1 + display_width(word) <= width:
            current += f" {word}"
            continue
        if not is_empty:
            lines.append(current)
            current = later
        rest = word
        while break_words and (end := _break_at(rest, width - display_width(current))) < len(rest):
            lines.append(current + rest[:end])
            current, rest = later, rest[end:]
        current, is_empty = current + rest, False
    return [*lines, current]


def _words(line: str, width: int) -> list[str]:
    """Return the words of a line; a relation with its two sides is one word where it fits a line."""
    joined = (word.replace("\0", " ") for word in _RELATION.sub("\0\\1\0", line).split())
    return [part for word in joined for part in ([word] if display_width(word) <= width else word.split())]


def _break_at(word: str, width: int) -> int:
    """Return how many characters of *word* are put on a line of *width* columns: all, or some up to punctuation.

    >>> _break_at("st:BAAI/bge-small", 10), _break_at("abcdef", 4), _break_at("abc", 4)
    (8, 4, 3)
    """
    end = max(_fitting(word, width), 1)
    if end == len(word):
        return end
    return next((at for at in range(end, end // 3, -1) if word[at - 1] in _BREAKS), end)


def shorten_name(name: str, width: int, ellipsis: str = "…") -> str:
    """Return *name* in at most *width* columns, with its middle left out if it is longer.

    >>> shorten_name("fuse:rrf(bm25,st:BAAI/bge-small-en-v1.5)", 20)
    'fuse:rrf(bm2…n-v1.5)'
    """
    if display_width(name) <= width:
        return name
    room = max(width - len(ellipsis), 0)
    tail = room * 2 // 5
    head = room - tail
    start, end = _fitting(name, head), _fitting(name[::-1], tail)
    return name[:start] + ellipsis + name[len(name) - end :]


def _fitting(text: str, width: int) -> int:
    """Return how many characters of *text* fit into *width* columns."""
    columns = 0
    for at, character in enumerate(text):
        columns += _columns_of(character)
        if columns > width:
            return at
    return len(text)
