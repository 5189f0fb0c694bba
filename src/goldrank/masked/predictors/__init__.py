"""Predictors of masked names: one module per kind, selected by a spec string."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from goldrank.encoders import ModelKind, built_in_kind
from goldrank.errors import InputError, shorten, unknown_name
from goldrank.masked.predictors.base import ClosedSet, Predictor, remarks_of
from goldrank.specs import Spec

__all__ = ["PREDICTORS", "ClosedSet", "Predictor", "load_predictor", "parse_predictor", "remarks_of"]


_kind = partial(built_in_kind, "masked.predictors")
PREDICTORS: dict[str, ModelKind] = {
    "names": _kind("name_lists", "make", "the most frequent names, or random ones: the floor", "", "names:majority"),
    "retrieve": _kind(
        "retrieve", "Retrieve", "the persons of the data whose titles and texts are nearest", "", "retrieve:wordllama"
    ),
    "fill-mask": _kind(
        "fill_mask",
        "FillMask",
        "any masked language model of transformers",
        "fill-mask",
        "fill-mask:roberta-base",
        "hub",
    ),
    "llm": _kind(
        "llm",
        "ChatModel",
        "an OpenAI-compatible chat server",
        "",
        "llm:llama-3.1-8b@http://localhost:8000/v1",
        "network",
    ),
    "file": _kind("from_file", "PredictionFile", "predictions made elsewhere", "", "file:predictions.jsonl"),
    "python": _kind(
        "function", "PredictFunction", "your own function(before, after, k)", "", "python:mymodel:guess", "code"
    ),
}


def parse_predictor(text: str) -> Spec:
    """Parse the spec of a predictor, whose kind may contain a hyphen.

    >>> parse_predictor("fill-mask:roberta-base(batch_size=8)")
    Spec(kind='fill-mask', argument='roberta-base', options={'batch_size': '8'})
    """
    kind, colon, rest = text.strip().partition(":")
    spec = Spec.parse(kind.replace("-", "_") + colon + rest)
    return Spec(spec.kind.replace("_", "-"), spec.argument, spec.options)


def load_predictor(spec: str | Spec | Predictor | Callable[..., Any]) -> Predictor:
    """Load the predictor that *spec* names, or wrap a function of (before, after, k).

    >>> load_predictor("names:random(seed=7)").identity
    'names:random(seed=7) 1'
    >>> load_predictor("name:random")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    goldrank.errors.UnknownNameError: there is no kind of predictor 'name'; did you mean 'names'? ...
    """
    if isinstance(spec, Predictor):
        return spec
    if isinstance(spec, (str, Spec)):
        parsed = parse_predictor(spec) if isinstance(spec, str) else spec
        kind = PREDICTORS.get(parsed.kind)
        if kind is None:
            raise unknown_name("kind of predictor", parsed.kind, PREDICTORS, "goldrank list predictors")
        predictor: Predictor = kind.load(parsed)
        return predictor
    if not callable(spec):
        raise InputError(f"{shorten(spec)} is not a predictor", remedy="give a spec string or a function")
    from goldrank.encoders.function import spec_of_function
    from goldrank.masked.predictors.function import PredictFunction

    return PredictFunction(spec_of_function(spec), spec)
