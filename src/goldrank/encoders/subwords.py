"""Token ids of texts by a tokenizer of the package tokenizers, asked for each word once where that is exact."""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.hits import Ints

_BLANK = "▁"
"""What SentencePiece models write for a space, and put before each text."""
# Spaces at which a text is split: the first of a run, unless it is at an end of the text.
_BETWEEN_WORDS = re.compile(f"(?<=[^ {_BLANK}]) (?=.)", re.DOTALL)
_NORMALIZERS = [
    {"type": "Prepend", "prepend": _BLANK},
    {"type": "Replace", "pattern": {"String": " "}, "content": _BLANK},
]
_BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
# The words that are remembered have so many characters in all.
_MOST_CHARACTERS = 2**23
_ID_BYTES = array("i").itemsize


class SubwordIds:
    """The ids of the tokens of texts, without special tokens, padding and truncation.

    Most words of a text are repeated elsewhere, and a tokenizer that never joins the end of a word with the next space
    gives a word the same tokens in every text. With such a tokenizer each word is tokenised once and looked up after
    that; any other one, or a text with a special token in it, is given whole texts.

    Args:
        tokenizer: the tokenizer, which must neither pad nor truncate.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        settings = json.loads(tokenizer.to_str())
        self._added = [token["content"] for token in settings["added_tokens"]]
        self._known = _IdsOfWords(tokenizer.model.tokenize) if _keeps_words_apart(settings) else None

    def encode(self, texts: list[str]) -> tuple[NDArray[np.int32], Ints]:
        """Return the ids of all texts in one array, and how many of them each text has."""
        if self._known is None:
            ids = self._ids_of_texts(texts)
        else:
            special = [at for at, text in enumerate(texts) if any(token in text for token in self._added)]
            ids = [b"".join(map(self._known.__getitem__, _words(text))) for text in texts]
            for at, whole in zip(special, self._ids_of_texts([texts[at] for at in special]), strict=True):
                ids[at] = whole
            self._known.forget()
        counts = np.fromiter(map(len, ids), np.int64, len(ids)) // _ID_BYTES
        return np.frombuffer(b"".join(ids), np.int32), counts

    def _ids_of_texts(self, texts: list[str]) -> list[bytes]:
        encoded = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        return [array("i", entry.ids).tobytes() for entry in encoded]


class _IdsOfWords(dict[str, bytes]):
    """The ids of each word with the space before it, tokenised when they are first looked up."""

    def __init__(self, tokenize: Callable[[str], list[Any]]) -> None:
        super().__init__()
        self._tokenize = tokenize
        self._characters = 0

    def __missing__(self, word: str) -> bytes:
        tokens = self._tokenize(_BLANK + word.replace(" ", _BLANK))
        self[word] = ids = array("i", [token.id for token in tokens]).tobytes()
        self._characters += len(word)
        return ids

    def forget(self) -> None:
        """Remove all words if they take much memory."""
        if self._characters > _MOST_CHARACTERS:
            self.clear()
            self._characters = 0


def _words(text: str) -> list[str]:
    """Split a text at the first space of each run that is not at an end, after which the rest of the run stays."""
    if "  " in text or _BLANK in text or text[:1] == " " or text[-1:] == " ":
        return _BETWEEN_WORDS.split(text)
    return text.split(" ") if text else []


def _keeps_words_apart(settings: dict[str, Any]) -> bool:
    """Return True if the tokens of a text are those of its words, each with the space before it.

    This is true of byte-pair encoding where spaces become "▁", another "▁" is put before the text, and "▁" stands in no
    token but at its beginning: a pair is never merged across the end of a word. Characters outside the vocabulary have
    to fall back to bytes, because unknown tokens would be fused over several words.
    """
    model = settings["model"]
    normalizer = settings["normalizer"] or {}
    return (
        model["type"] == "BPE"
        and not any(model.get(name) for name in ("dropout", "ignore_merges"))
        and not any(model.get(name) for name in ("continuing_subword_prefix", "end_of_word_suffix"))
        and bool(model.get("byte_fallback"))
        and all(byte in model["vocab"] for byte in _BYTES)
        and not any(_BLANK in token.lstrip(_BLANK) for token in model["vocab"])
        and normalizer.get("normalizers") == _NORMALIZERS
        and settings["pre_tokenizer"] is None
        and not any(token["normalized"] for token in settings["added_tokens"])
    )
