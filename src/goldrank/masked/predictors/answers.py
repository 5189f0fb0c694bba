"""Parse the names in the answer of a chat model: a JSON list, or else a numbered or bulleted list."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from itertools import islice

from goldrank.masked.examples.chunks import Guesses
from goldrank.masked.predictors.base import guesses_by_rank, guesses_by_score

_THOUGHTS = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL)
_ITEM = re.compile(r"\s*(?:\d{1,3}\s*[.):]|[-*•–])\s+(.+)")
_PROBABILITY = re.compile(r"(?P<share>\d*\.\d+|[01])|(?P<percent>\d{1,3}(?:\.\d+)?)\s*%")
# The start of an explanation after a name; a hyphen inside a name has no blanks around it.
_AFTER_NAME = re.compile(r"\s+[-–—]\s|[:;(\[]|,\s+(?=[a-z\d])")
# Maximum number of attempts to decode a list, because some models repeat themselves endlessly.
_OPENINGS = 200
_NAME_KEYS = ("name", "person", "answer", "guess")
_SCORE_KEYS = ("probability", "score", "confidence", "p", "prob")

Entry = tuple[str, float | None]


def read_answer(answer: str, k: int) -> Guesses:
    """Return the k best names of an answer, scored 1/rank unless every name has a probability.

    >>> read_answer('Sure: [{"name": "Lise Meitner", "probability": 0.7}, {"name": "Hahn", "probability": 0.2}]', 5)
    Guesses(names=('Lise Meitner', 'Hahn'), scores=(0.7, 0.2))
    >>> read_answer("1. **Lise Meitner** - a physicist\\n2. Otto Hahn", 5)
    Guesses(names=('Lise Meitner', 'Otto Hahn'), scores=(1.0, 0.5))
    """
    text = _THOUGHTS.sub("", answer)
    entries: dict[str, float | None] = {}
    for name, score in _from_json(text) or _from_lines(text):
        entries.setdefault(name, score)
    names = list(entries)
    scores = [score for score in entries.values() if score is not None]
    if len(scores) < len(names) or not any(scores):
        return guesses_by_rank(names, k)
    # Some models write percentages although the prompt requests probabilities.
    whole = 100.0 if max(scores) > 1.0 else 1.0
    return guesses_by_score(names, [score / whole for score in scores], k)


def _from_json(text: str) -> list[Entry]:
    """Return the entries of the first JSON list in the text that has names."""
    decoder = json.JSONDecoder()
    for opening in islice(re.finditer(r"[\[{]", text), _OPENINGS):
        try:
            content, _ = decoder.raw_decode(text, opening.start())
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
    """Parse a name given as a string, an object or a pair."""
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
        match = _PROBABILITY.fullmatch(written.strip())
        return _probability(match) if match else None
    if isinstance(written, bool) or not isinstance(written, (int, float)):
        return None
    return float(written) if math.isfinite(written) and written >= 0 else None


def _from_lines(text: str) -> list[Entry]:
    """Return the entries of a numbered or bulleted list."""
    entries: list[Entry] = []
    for line in text.splitlines():
        item = _ITEM.match(line)
        if item is None:
            continue
        written = item[1].replace("*", "").replace("_", " ")
        cut = _AFTER_NAME.search(written)
        name, rest = (written[: cut.start()], written[cut.start() :]) if cut else (written, "")
        name = name.strip(" \t\"'“”`.,")
        if _has_letter(name):
            match = _PROBABILITY.search(rest)
            entries.append((name, _probability(match) if match else None))
    return entries


def _probability(match: re.Match[str]) -> float:
    return float(match["share"]) if match["share"] else float(match["percent"]) / 100


def _has_letter(text: str) -> bool:
    return any(character.isalpha() for character in text)
