"""Cut windows of tokens around a mask that fit the maximum length of a masked language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from goldrank.encoders.base import check_texts
from goldrank.errors import GoldrankError, InputError
from goldrank.masked.examples.chunks import MASK, Blank


@dataclass(frozen=True)
class Window:
    """The tokens before and after the mask to fill, including special tokens."""

    left: tuple[int, ...]
    right: tuple[int, ...]

    def filled(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Return the whole input with *ids* in place of the mask."""
        return (*self.left, *ids, *self.right)


class Windows:
    """Cuts windows of at most *length* tokens with room for a name of *pieces* tokens.

    All masks of a text become mask tokens, and the mask to fill is found by its number. Tokenising the text before and
    after it separately would give different tokens, because many tokenisers absorb the blank before a mask.
    """

    def __init__(self, tokenizer: Any, length: int, pieces: int) -> None:
        self._tokenizer = tokenizer
        self._mask_id = int(tokenizer.mask_token_id)
        frame = [int(token) for token in tokenizer(tokenizer.mask_token)["input_ids"]]
        at = frame.index(self._mask_id)
        self._head, self._tail = tuple(frame[:at]), tuple(frame[at + 1 :])
        self._room = length - len(frame) + 1 - (pieces - 1)
        if self._room < 1:
            raise InputError(
                f"max_length={length} leaves no room for the mask",
                remedy=f"give at least {length + 1 - self._room} tokens",
            )

    def of(self, blanks: Sequence[Blank]) -> list[Window]:
        """Return one window for each mask."""
        token = self._tokenizer.mask_token
        befores = check_texts([blank.before.replace(MASK, token) for blank in blanks])
        afters = check_texts([blank.after.replace(MASK, token) for blank in blanks])
        texts = [before + token + after for before, after in zip(befores, afters, strict=True)]
        distinct = list(dict.fromkeys(texts))
        encoded = self._tokenizer(distinct, add_special_tokens=False, truncation=False, verbose=False)["input_ids"]
        ids_of = dict(zip(distinct, encoded, strict=True))
        windows = []
        for blank, before, text in zip(blanks, befores, texts, strict=True):
            ids = ids_of[text]
            masks = [position for position, token_id in enumerate(ids) if token_id == self._mask_id]
            if len(masks) != text.count(token):
                raise GoldrankError(
                    f"{blank.key.place}: the tokeniser makes {len(masks)} mask tokens of {text.count(token)} masks"
                )
            at = masks[before.count(token)]
            start = max(0, min(at - self._room // 2, len(ids) - self._room))
            end = start + self._room
            windows.append(Window((*self._head, *ids[start:at]), (*ids[at + 1 : end], *self._tail)))
        return windows


def longest_input(tokenizer: Any, model: Any) -> int | None:
    """Return the maximum number of input tokens, including special tokens, or None if it is unknown."""
    limits = [int(tokenizer.model_max_length)] if tokenizer.model_max_length < 1 << 30 else []
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and hasattr(module, "num_embeddings"):
            # RoBERTa and similar models number positions after that of the padding.
            unused = 0 if module.padding_idx is None else int(module.padding_idx) + 1
            limits.append(int(module.num_embeddings) - unused)
    positions = getattr(model.config, "max_position_embeddings", None)
    if not limits and positions:
        limits.append(int(positions))
    return min(limits) if limits else None
