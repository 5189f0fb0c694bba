"""Masked-entity evaluation: can a model name the person behind the mask?

`predict` and `score` are public, as ``goldrank.masked.predict`` and ``goldrank.masked.score``; they are loaded when
first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goldrank.runs.masked_results import MaskedPredictions, MaskedResult, predict, score

__all__ = ["MaskedPredictions", "MaskedResult", "predict", "score"]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in __all__:
        return getattr(import_module("goldrank.runs.masked_results"), name)
    raise AttributeError(f"module 'goldrank.masked' has no attribute {name!r}")
