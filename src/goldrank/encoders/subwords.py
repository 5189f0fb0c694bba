"""Token ids of texts by a tokenizer of the package tokenizers, asked for each piece once where that is exact."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.hits import Ints
from goldrank.native import number_pieces

_BLANK = "▁"
"""What SentencePiece models write for a space, and put before each text."""
_NORMALIZERS = [
    {"type": "Prepend", "prepend": _BLANK},
    {"type": "Replace", "pattern": {"String": " "}, "content": _BLANK},
]
_BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
# The pieces that are remembered have so many characters in all.
_MOST_CHARACTERS = 2**23
_ID_BYTES = array("i").itemsize


class SubwordIds:
    """The ids of the tokens of texts, without special tokens, padding and truncation.

    Two characters that stand side by side in no token are never merged, so the tokens of a text are those of the pieces
    between such characters: mostly words and punctuation marks, which are repeated elsewhere. Each piece is tokenised
    once and looked up after that. A tokenizer for which this is not exact, and a text with a special token in it, are
    given whole texts.

    Args:
        tokenizer: the tokenizer, which must neither pad nor truncate.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        settings = json.loads(tokenizer.to_str())
        self._added = [token["content"] for token in settings["added_tokens"]]
        self._joined = _joined_bytes(settings["model"]["vocab"]) if _merges_within_tokens(settings) else None
        self._known = _IdsOfPieces(tokenizer.model.tokenize)

    def encode(self, texts: list[str]) -> tuple[NDArray[np.int32], Ints]:
        """Return the ids of all texts in one array, and how many of them each text has."""
        if self._joined is None:
            return _flatten(self._ids_of_texts(texts))
        special = sorted({at for token in self._added for at, text in enumerate(texts) if token in text})
        # The tokenizer puts a space before each text, unless it is empty.
        spaced = [f" {text}" if text else text for text in texts]
        for at in special:
            spaced[at] = ""
        numbers, lengths, pieces = number_pieces(spaced, self._joined)
        piece_of, pieces_of = np.frombuffer(numbers, np.int32), np.frombuffer(lengths, np.int64)
        ids = [*map(self._known.__getitem__, pieces), *self._ids_of_texts([texts[at] for at in special])]
        self._known.forget()
        if special:
            # A text with a special token is one piece, numbered after the others.
            piece_of = np.insert(piece_of, np.cumsum(pieces_of)[special], np.arange(len(pieces), len(ids)))
            pieces_of[special] = 1
        return _repeat(*_flatten(ids), piece_of, pieces_of)

    def _ids_of_texts(self, texts: list[str]) -> list[bytes]:
        encoded = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        return [array("i", entry.ids).tobytes() for entry in encoded]


class _IdsOfPieces(dict[str, bytes]):
    """The ids of each piece of text, tokenised when they are first looked up."""

    def __init__(self, tokenize: Callable[[str], list[Any]]) -> None:
        super().__init__()
        self._tokenize = tokenize
        self._characters = 0

    def __missing__(self, piece: str) -> bytes:
        tokens = self._tokenize(piece.replace(" ", _BLANK))
        self[piece] = ids = array("i", [token.id for token in tokens]).tobytes()
        self._characters += len(piece)
        return ids

    def forget(self) -> None:
        """Remove all pieces if they take much memory."""
        if self._characters > _MOST_CHARACTERS:
            self.clear()
            self._characters = 0


def _flatten(ids: list[bytes]) -> tuple[NDArray[np.int32], Ints]:
    """Return all ids in one array, and how many there are in each element."""
    return np.frombuffer(b"".join(ids), np.int32), np.fromiter(map(len, ids), np.int64, len(ids)) // _ID_BYTES


def _repeat(
    ids: NDArray[np.int32], counts: Ints, piece_of: NDArray[np.int32], pieces_of: Ints
) -> tuple[NDArray[np.int32], Ints]:
    """Return the ids of texts and their counts from those of pieces, the pieces of all texts, and their counts."""
    counts_of = counts[piece_of]
    ends = np.concatenate([[0], np.cumsum(counts_of)])
    shifts = (np.cumsum(counts) - counts)[piece_of] - ends[:-1]
    positions = np.repeat(shifts, counts_of)
    positions += np.arange(len(positions))
    return ids[positions], np.diff(ends[np.cumsum(pieces_of)], prepend=0)


def _joined_bytes(vocabulary: Iterable[str]) -> bytes:
    """Return for each two bytes, as `number_pieces` reads it, whether a token may contain them side by side.

    Characters that are no tokens become tokens of their bytes, and remain joined to all others, as do those outside
    of ASCII.
    """
    joined = np.ones((256, 256), bool)
    tokens = [token.replace(_BLANK, " ") for token in vocabulary]
    known = [ord(token) for token in tokens if len(token) == 1 and token.isascii()]
    joined[np.ix_(known, known)] = False
    for first, second in {pair for token in tokens for pair in pairwise(token) if "".join(pair).isascii()}:
        joined[ord(first), ord(second)] = True
    return joined.tobytes()


def _merges_within_tokens(settings: dict[str, Any]) -> bool:
    """Return True if tokens arise only from merges of neighbours, after a space before the text and "▁" for spaces.

    This is true of byte-pair encoding where characters outside the vocabulary fall back to bytes; unknown tokens would
    be fused.
    """
    model = settings["model"]
    normalizer = settings["normalizer"] or {}
    return (
        model["type"] == "BPE"
        and not any(model.get(name) for name in ("dropout", "ignore_merges"))
        and not any(model.get(name) for name in ("continuing_subword_prefix", "end_of_word_suffix"))
        and bool(model.get("byte_fallback"))
        and all(byte in model["vocab"] for byte in _BYTES)
        and normalizer.get("normalizers") == _NORMALIZERS
        and settings["pre_tokenizer"] is None
        and not any(token["normalized"] for token in settings["added_tokens"])
    )
