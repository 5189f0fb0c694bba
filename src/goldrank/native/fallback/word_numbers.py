"""Number the words of texts in the order in which they first occur."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable


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


def number_tokens(texts: Iterable[list[str]]) -> tuple[bytearray, bytearray, list[str]]:
    """Number words as `number_words` does, in texts that are already split."""
    number_of: defaultdict[str, int] = defaultdict()
    number_of.default_factory = number_of.__len__
    numbers, lengths = array("i"), array("q")
    for tokens in texts:
        numbers.extend(map(number_of.__getitem__, tokens))
        lengths.append(len(tokens))
    return bytearray(numbers), bytearray(lengths), list(number_of)
