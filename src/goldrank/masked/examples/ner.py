"""Find mentions with a named-entity recognition model of spaCy or transformers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any

from goldrank.encoders.provenance import load_error
from goldrank.errors import InputError, MissingExtraError
from goldrank.masked.examples.cutting import Span
from goldrank.masked.examples.mentions import Finder
from goldrank.masked.examples.part_mentions import holds_part
from goldrank.masked.names.matching import Person
from goldrank.masked.scoring.profiles import Masking

MODEL = "en_core_web_sm"
_HUB = "hf:"
_PERSONS = ("PERSON", "PER")
_POSSESSIVE = re.compile(r"['’ʼ][sS]?$")
_OVERLAP = 64
"""Number of tokens that two windows of a long text share."""


def ner_finder(model: str = MODEL, masking: Masking = "person") -> Finder:
    """Return a finder that keeps those persons recognised by a model that the name matcher accepts.

    Args:
        model: The name of a spaCy pipeline, or ``hf:NAME_OR_PATH`` for a token-classification model of transformers.
        masking: ``person`` for the name matcher; ``parts`` accepts every name that contains a part of the title, as the
            project that published the data does.
    """
    persons = _transformers_persons(model.removeprefix(_HUB)) if model.startswith(_HUB) else _spacy_persons(model)

    def find(text: str, title: str, names: Sequence[str] = ()) -> list[Span]:
        person = Person(title, names)
        spans = []
        for start, end in persons(text):
            name = _POSSESSIVE.sub("", text[start:end].rstrip())
            if name and (holds_part(name, title) if masking == "parts" else person.match(name) is not None):
                spans.append((start, start + len(name)))
        return spans

    return find


def _spacy_persons(model: str) -> Callable[[str], Iterable[Span]]:
    try:
        spacy: Any = import_module("spacy")
    except ImportError:
        raise MissingExtraError("finding persons with a model", "spacy", "ner") from None
    try:
        pipeline = spacy.load(model)
    except OSError:
        raise InputError(
            f"there is no spaCy model '{model}' here",
            remedy=f"run: python -m spacy download {model}; for a model of transformers, write {_HUB}NAME",
        ) from None
    return lambda text: [
        (entity.start_char, entity.end_char) for entity in pipeline(text).ents if entity.label_ in _PERSONS
    ]


def _transformers_persons(name: str) -> Callable[[str], Iterable[Span]]:
    """Return a function that finds the persons of a text, joining tokens with equal labels."""
    try:
        transformers: Any = import_module("transformers")
        import_module("torch")
    except ImportError:
        raise MissingExtraError("finding persons with a model of transformers", "transformers", "fill-mask") from None
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, use_fast=True)
        network = transformers.AutoModelForTokenClassification.from_pretrained(name)
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise load_error("hf", name, error) from error
    tokenizer.model_max_length = min(tokenizer.model_max_length, network.config.max_position_embeddings)
    pipeline = transformers.pipeline(
        "token-classification",
        model=network,
        tokenizer=tokenizer,
        aggregation_strategy="simple",
        stride=min(_OVERLAP, tokenizer.model_max_length // 4),
    )
    return lambda text: [
        (entity["start"], entity["end"]) for entity in pipeline(text) if entity["entity_group"] in _PERSONS
    ]
