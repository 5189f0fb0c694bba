"""Tokenizers of the lexical models."""

from __future__ import annotations

import re
from collections.abc import Callable

from goldrank.encoders.base import parse_choice

Tokenizer = Callable[[str], list[str]]
_WORD = re.compile(r"(?u)\b\w\w+\b")
_RUN = re.compile(r"\w+")


def split(text: str) -> list[str]:
    """Lower-case and split at white space; punctuation stays attached to words.

    >>> split("The cat, the hat.")
    ['the', 'cat,', 'the', 'hat.']
    """
    return text.lower().split()


def words(text: str) -> list[str]:
    """Lower-case and return runs of two or more letters and digits, as scikit-learn does.

    >>> words("The cat, a hat.")
    ['the', 'cat', 'hat']
    """
    return _WORD.findall(text.lower())


def runs(text: str) -> list[str]:
    """Lower-case and return runs of letters and digits of any length.

    >>> runs("The cat, a hat.")
    ['the', 'cat', 'a', 'hat']
    """
    return _RUN.findall(text.lower())


def characters(text: str) -> list[str]:
    """Lower-case and return single characters without white space.

    >>> characters("A hat.")
    ['a', 'h', 'a', 't', '.']
    """
    return [character for character in text.lower() if not character.isspace()]


TOKENIZERS: dict[str, Tokenizer] = {"split": split, "words": words, "runs": runs, "characters": characters}


def tokenizer(name: str) -> Tokenizer:
    """Return the tokenizer called *name*."""
    return TOKENIZERS[parse_choice("tokens", name, list(TOKENIZERS))]
