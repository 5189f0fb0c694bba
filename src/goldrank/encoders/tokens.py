"""Tokenizers of the lexical models."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import parse_choice
from goldrank.native import number_words
from goldrank.native.fallback.word_numbers import number_tokens

Tokenizer = Callable[[str], list[str]]
_WORD = re.compile(r"\w\w+")
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
LEAST_CHARACTERS = {"words": 2, "runs": 1}
"""The tokenizers whose words are runs of letters and digits, with the least length of a run."""


def tokenizer(name: str) -> Tokenizer:
    """Return the tokenizer called *name*."""
    return TOKENIZERS[parse_choice("tokens", name, list(TOKENIZERS))]


class Vocabulary:
    """The numbers of words, in the order in which they first occur.

    Args:
        tokens: The name of a tokenizer.
        refine: Replaces different words by others, for example by their stems, or by None to ignore them.

    >>> vocabulary = Vocabulary("words")
    >>> [numbers.tolist() for numbers in vocabulary.number(["red wine", "", "white wine"])]
    [[0, 1, 2, 1], [2, 0, 2]]
    >>> [numbers.tolist() for numbers in vocabulary.number(["rosé wine"], known=True)]
    [[1], [1]]
    """

    def __init__(self, tokens: str, refine: Callable[[list[str]], Iterable[str | None]] = list) -> None:
        self._tokens, self._refine = tokenizer(tokens), refine
        self._least = LEAST_CHARACTERS.get(tokens)
        self._numbers: dict[str | None, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, texts: list[str], *, known: bool = False) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the numbers of the words of all texts, and how many words each text has.

        Args:
            texts: The texts.
            known: Ignore words without a number; by default they get the next one.
        """
        least = self._least
        split = number_tokens(map(self._tokens, texts)) if least is None else number_words(texts, least)
        numbers, lengths = np.frombuffer(split[0], np.int32), np.frombuffer(split[1], np.int64)
        own = np.fromiter(map(self._number_of, self._refine(split[2]), repeat(known)), np.int32, len(split[2]))
        numbers = own[numbers]
        counted = numbers >= 0
        if not counted.all():
            before = np.concatenate([[0], np.cumsum(counted)])
            lengths = np.diff(before[np.concatenate([[0], np.cumsum(lengths)])])
            numbers = numbers[counted]
        return numbers, lengths

    def _number_of(self, word: str | None, known: bool) -> int:
        """Return the number of a word; -1 if it is to be ignored."""
        if word is None or known:
            return self._numbers.get(word, -1)
        return self._numbers.setdefault(word, len(self._numbers))
