"""Which models are kin: sizes and versions of one name count as one model seen several times."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SIZES = {
    "nano", "micro", "tiny", "mini", "small", "sm", "base", "medium", "md", "large", "lg", "xl", "xxl", "huge", "giant",
    "txt", "vec", "bin",
}  # fmt: skip
# 300d, 6B, 110m, v2, 1.5 (cut in two), L6, H384, 64
_NUMBER = re.compile(r"[vlh]?\d+[a-z]{0,2}")


def families_by_name(models: Sequence[str]) -> dict[str, str]:
    """A family for each model, from its name without sizes, numbers and versions.

    Names that differ in nothing else ("model-1", "model-2" …) say nothing of kinship: each is then its own family.

    >>> families_by_name(["glove.6B.50d.txt", "glove.6B.300d.txt", "bge-base-en-v1.5", "bge-small-en-v1.5", "bm25"])
    ... # doctest: +NORMALIZE_WHITESPACE
    {'glove.6B.50d.txt': 'glove', 'glove.6B.300d.txt': 'glove', 'bge-base-en-v1.5': 'bge en',
     'bge-small-en-v1.5': 'bge en', 'bm25': 'bm25'}
    """
    stems = {model: stem(model) for model in models}
    if len(set(stems.values())) == 1:
        return {model: model for model in models}
    return stems


def stem(model: str) -> str:
    """The words of a name that are neither a size nor a number; the name itself where none is left.

    >>> stem("sentence-transformers/all-MiniLM-L6-v2")
    'sentence transformers all minilm'
    """
    words = [word for word in re.split(r"[^0-9a-z]+", model.lower()) if word]
    kept = [word for word in words if word not in _SIZES and not _NUMBER.fullmatch(word)]
    return " ".join(kept) or model
