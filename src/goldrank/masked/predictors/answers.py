"""Names out of the answer of a chat model: a JSON list where it kept to the form, listed lines where it did not."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from itertools import islice

from goldrank.masked.examples.chunks import Guesses
from goldrank.masked.predictors.base import ranked, scored

_THOUGHTS = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL)
_ITEM = re.compile(r"\s*(?:\d{1,3}\s*[.):]|[-*•–])\s+(.+)")
_PROBABILITY = re.compile(r"(?P<share>\d*\.\d+|[01])|(?P<percent>\d{1,3}(?:\.\d+)?)\s*%")
# What begins an explanation; a hyphen inside of a name has no blanks around it.
_AFTER_NAME = re.compile(r"\s+[-–—]\s|[:;(\[]|,\s+(?=[a-z\d])")
# Where a list may begin: every try costs time, and some models repeat themselves without end.
_OPENINGS = 200
_NAME_KEYS = ("name", "person", "answer", "guess")
_SCORE_KEYS = ("probability", "score", "confidence", "p", "prob")

Entry = tuple[str, float | None]


def read_answer(answer: str, k: int) -> Guesses:
    """The k best names of an answer, none where it lists none; 1/rank where not every name has a probability.

    >>> read_answer('Sure: [{"name": "Lise Meitner", "probability": 0.7}, {"name": "Hahn", "probability": 0.2}]', 5)
    Guesses(names=('Lise Meitner', 'Hahn'), scores=(0.7, 0.2))
    >>> read_answer("1. **Lise Meitner** - a physicist\\n2. Otto Hahn", 5)
    Guesses(names=('Lise Meitner', 'Otto Hahn'), scores=(1.0, 0.5))
    """
    said = _THOUGHTS.sub("", answer)
    first: dict[str, float | None] = {}
    for name, score in _from_json(said) or _from_lines(said):
        first.setdefault(name, score)
    names = list(first)
    given = [score for score in first.values() if score is not None]
    if len(given) < len(names) or not any(given):
        return ranked(names, k)
    # Some models write percents whatever they are asked for.
    whole = 100.0 if max(given) > 1.0 else 1.0
    return scored(names, [score / whole for score in given], k)


def _from_json(text: str) -> list[Entry]:
    """The entries of the first list in the text that holds names."""
    decoder = json.JSONDecoder()
    for at in (found.start() for found in islice(re.finditer(r"[\[{]", text), _OPENINGS)):
        try:
            content, _ = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        for listed in _lists(content):
            entries = [entry for entry in map(_entry, listed) if entry is not None]
            if entries:
                return entries
    return []


def _lists(content: object) -> Iterator[list[object]]:
    if isinstance(content, list):
        yield content
    elif isinstance(content, dict):
        yield from (value for value in content.values() if isinstance(value, list))
        yield [content]


def _entry(element: object) -> Entry | None:
    """A name as a string, an object or a pair."""
    name: object = element
    score: object = None
    if isinstance(element, dict):
        by_key = {str(key).casefold(): value for key, value in element.items()}
        name = next((by_key[key] for key in _NAME_KEYS if key in by_key), None)
        score = next((by_key[key] for key in _SCORE_KEYS if key in by_key), None)
    elif isinstance(element, list) and len(element) == 2 and not isinstance(element[1], str):
        name, score = element
    if not isinstance(name, str) or not _has_letter(name):
        return None
    return name.strip(), _score(score)


def _score(written: object) -> float | None:
    if isinstance(written, str):
        found = _PROBABILITY.fullmatch(written.strip())
        return _probability(found) if found else None
    if isinstance(written, bool) or not isinstance(written, (int, float)):
        return None
    return float(written) if math.isfinite(written) and written >= 0 else None


def _from_lines(text: str) -> list[Entry]:
    """The entries of a numbered or bulleted list."""
    entries: list[Entry] = []
    for line in text.splitlines():
        item = _ITEM.match(line)
        if item is None:
            continue
        written = item[1].replace("*", "").replace("_", " ")
        name, rest = _split(written)
        found = _PROBABILITY.search(rest)
        if _has_letter(name):
            entries.append((name, _probability(found) if found else None))
    return entries


def _split(written: str) -> tuple[str, str]:
    cut = _AFTER_NAME.search(written)
    name, rest = (written[: cut.start()], written[cut.start() :]) if cut else (written, "")
    return name.strip(" \t\"'“”`.,"), rest


def _probability(found: re.Match[str]) -> float:
    return float(found["share"]) if found["share"] else float(found["percent"]) / 100


def _has_letter(text: str) -> bool:
    return any(character.isalpha() for character in text)
