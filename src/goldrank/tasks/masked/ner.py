"""Mentions found by a model that recognises persons in running text, as another way than the capitals of words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from goldrank.errors import InputError, MissingExtraError
from goldrank.tasks.masked.cutting import Span
from goldrank.tasks.masked.mentions import Finder
from goldrank.tasks.masked.names import Person
from goldrank.tasks.masked.part_mentions import holds_part
from goldrank.tasks.masked.profiles import Masking

MODEL = "en_core_web_sm"
_PERSONS = ("PERSON", "PER")
_POSSESSIVE = re.compile(r"['’ʼ][sS]?$")


def ner_finder(model: str = MODEL, masking: Masking = "person") -> Finder:
    """A finder that asks a spaCy model for persons and takes those whom the name matcher knows.

    With the masking ``parts`` it takes all that hold a part of the title, as the project that made the data did.
    """
    pipeline = _load(model)

    def find(text: str, title: str, names: Sequence[str] = ()) -> list[Span]:
        person = Person(title, names)
        found = []
        for entity in pipeline(text).ents:
            if entity.label_ in _PERSONS:
                name = _POSSESSIVE.sub("", text[entity.start_char : entity.end_char].rstrip())
                if holds_part(name, title) if masking == "parts" else person.match(name) is not None:
                    found.append((entity.start_char, entity.start_char + len(name)))
        return found

    return find


def _load(model: str) -> Any:
    try:
        spacy: Any = import_module("spacy")
    except ImportError:
        raise MissingExtraError("finding persons with a model", "spacy", "ner") from None
    try:
        return spacy.load(model)
    except OSError:
        raise InputError(
            f"there is no spaCy model '{model}' here", remedy=f"run: python -m spacy download {model}"
        ) from None
