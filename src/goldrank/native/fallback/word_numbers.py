"""Number the words or the pieces of texts in the order in which they first occur."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Token = TypeVar("Token", str, bytes)


def number_words(texts: list[str], least: int, /) -> tuple[bytearray, bytearray, list[str]]:
    """Lower-case the texts, find their runs of letters and digits (``\\w``), and number these words.

    Args:
        texts: The texts.
        least: The number of characters from which on a run is a word.

    Returns:
        The int32 numbers of the words of all texts, the int64 number of words of each text, and the words.

    >>> numbers, lengths, words = number_words(["Red wine", "", "white wine"], 2)
    >>> list(memoryview(numbers).cast("i")), list(memoryview(lengths).cast("q")), words
    ([0, 1, 2, 1], [2, 0, 2], ['red', 'wine', 'white'])
    """
    find_words = re.compile(rf"\w{{{least},}}").findall
    return number_tokens(find_words(str.lower(text)) for text in texts)


def number_pieces(texts: list[str], joined: bytes, /) -> tuple[bytearray, bytearray, list[str]]:
    """Cut the texts between bytes of UTF-8 that are not joined, and number these pieces.

    Args:
        texts: The texts.
        joined: For each pair of bytes a and b, at 256 * a + b, whether a text is never cut between them. Every pair
            with a byte above 127 must be joined, so that no character is cut.

    Returns:
        The int32 numbers of the pieces of all texts, the int64 number of pieces of each text, and the pieces.

    >>> joined = bytes(a > 127 or b > 127 or chr(b).isalpha() for a in range(256) for b in range(256))
    >>> numbers, lengths, pieces = number_pieces([" red, red", "red"], joined)
    >>> list(memoryview(numbers).cast("i")), list(memoryview(lengths).cast("q")), pieces
    ([0, 1, 0, 2], [3, 1], [' red', ',', 'red'])
    """
    table = np.frombuffer(joined, bool).reshape(256, 256)
    numbers, lengths, pieces = number_tokens(
        _pieces(str.encode(text, "utf-8", "surrogatepass"), table) for text in texts
    )
    return numbers, lengths, [piece.decode("utf-8", "surrogatepass") for piece in pieces]


def _pieces(text: bytes, joined: NDArray[np.bool_]) -> list[bytes]:
    values = np.frombuffer(text, np.uint8)
    cuts = np.flatnonzero(~joined[values[:-1], values[1:]]) + 1
    return [text[start:end] for start, end in pairwise([0, *cuts.tolist(), len(text)])] if text else []


def number_tokens(texts: Iterable[list[Token]]) -> tuple[bytearray, bytearray, list[Token]]:
    """Number words as `number_words` does, in texts that are already split."""
    number_of: defaultdict[Token, int] = defaultdict()
    number_of.default_factory = number_of.__len__
    numbers, lengths = array("i"), array("q")
    for tokens in texts:
        numbers.extend(map(number_of.__getitem__, tokens))
        lengths.append(len(tokens))
    return bytearray(numbers), bytearray(lengths), list(number_of)
