"""Parse and write the spec of a fusion of models: ``fuse:METHOD(MODEL*WEIGHT, MODEL, …, option=value)``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from goldrank.errors import InputError, shorten, unknown_name
from goldrank.fusion.fusing import check_method, check_weights, fuse
from goldrank.fusion.methods import FusionOptions
from goldrank.hits import Run
from goldrank.specs import split_at_commas

_OPTIONS = ("normalise", "k", "gamma", "phi", "depth")
_READ_BY = {"k": "rrf", "gamma": "gmnz", "phi": "rbc"}
_HOW = "write fuse:rrf(bm25, wordllama) or fuse:sum(bm25*0.3, st:NAME*0.7, normalise=zscore)"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE)
_OPTION = re.compile(r"(\w+)\s*=\s*(.*)", re.DOTALL)


def is_fusion(spec: str) -> bool:
    """Return True if *spec* is meant as a fusion, even if it cannot be parsed.

    >>> is_fusion("fuse:rrf(bm25,wordllama)"), is_fusion("st:fuse")
    (True, False)
    """
    return re.match(r"\s*fuse\s*(:|\(|$)", spec, re.IGNORECASE) is not None


@dataclass(frozen=True)
class Fusion:
    """The spec of a fusion: the method, the specs of the models, their weights and the options.

    A model's spec that could not be parsed inside the brackets is quoted, and quotes of that kind in it are doubled.

    >>> fusion = Fusion.parse("fuse:sum(bm25(k1=0.9)*0.3, st:BAAI/bge*0.7, normalise=zscore)")
    >>> fusion.parts, fusion.weights
    (('bm25(k1=0.9)', 'st:BAAI/bge'), (0.3, 0.7))
    >>> str(fusion)
    'fuse:sum(bm25(k1=0.9)*0.3,st:BAAI/bge*0.7,normalise=zscore)'
    """

    method: str
    parts: tuple[str, ...]
    """The specs of the models; some may be fusions themselves."""
    weights: tuple[float, ...] | None = None
    """One per model, or None if none was given."""
    normalise: str | None = None
    k: int | None = None
    depth: int | None = None
    gamma: float | None = None
    phi: float | None = None

    def __post_init__(self) -> None:
        method = check_method(self.method, FusionOptions(self.normalise, depth=self.depth, **self._numbers))
        for name in self._numbers:
            if name not in method.options:
                raise InputError(f"{self.method} has no {name}", remedy=f"leave {name} out, or choose {_READ_BY[name]}")
        if not self.parts or not all(part.strip() for part in self.parts):
            raise InputError(f"a model is missing in a fusion by {self.method}", remedy=_HOW)
        check_weights(self.weights, len(self.parts))

    @classmethod
    def parse(cls, text: str) -> Fusion:
        """Parse a spec; commas in brackets or quotes belong to the models' specs."""
        match = re.fullmatch(r"fuse\s*:\s*(\w+)\s*\((.*)\)", text.strip(), re.IGNORECASE | re.DOTALL)
        if match is None:
            raise InputError(f"{shorten(text)} does not read as a fusion", remedy=_HOW)
        parts: list[str] = []
        weights: list[float | None] = []
        options: dict[str, str] = {}
        for piece in split_at_commas(match[2], text):
            if option := _OPTION.fullmatch(piece):
                if option[1] not in _OPTIONS:
                    raise unknown_name("option of fuse", option[1], _OPTIONS, f"it has: {', '.join(_OPTIONS)}")
                options[option[1]] = option[2]
            else:
                part, weight = _weighted(piece)
                parts.append(_unquoted(part))
                weights.append(weight)
        given = tuple(1.0 if weight is None else weight for weight in weights)
        return cls(
            match[1].lower(),
            tuple(parts),
            None if all(weight is None for weight in weights) else given,
            options.get("normalise"),
            _whole("k", options),
            _whole("depth", options),
            _decimal("gamma", options),
            _decimal("phi", options),
        )

    @property
    def _numbers(self) -> dict[str, Any]:
        """The given numeric options except the depth."""
        return {name: value for name in _READ_BY if (value := getattr(self, name)) is not None}

    def fuse(self, runs: Sequence[Run]) -> Run:
        """Fuse the runs of the models, in the order of the spec."""
        if len(runs) != len(self.parts):
            raise InputError(
                f"there are {len(runs)} runs for {len(self.parts)} models", remedy="give one run per model"
            )
        return fuse(
            runs, self.method, weights=self.weights, normalise=self.normalise, depth=self.depth, **self._numbers
        )

    def __str__(self) -> str:
        weights = self.weights or [None] * len(self.parts)
        written = [
            _quoted(part) + ("" if weight is None else f"*{_shortest(weight)}")
            for part, weight in zip(self.parts, weights, strict=True)
        ]
        options = [f"{name}={value}" for name in _OPTIONS if (value := getattr(self, name)) is not None]
        return f"fuse:{self.method}({','.join(written + options)})"


def _weighted(piece: str) -> tuple[str, float | None]:
    """Split a piece into the model and its weight; a star that no number follows belongs to the model's name."""
    part, star, weight = piece.rpartition("*")
    if star and _NUMBER.fullmatch(weight.strip()):
        return part.strip(), float(weight)
    return piece, None


def _unquoted(part: str) -> str:
    for quote in "'\"":
        if re.fullmatch(f"{quote}(?:[^{quote}]|{quote}{quote})*{quote}", part, re.DOTALL):
            return part[1:-1].replace(quote * 2, quote)
    return part


def _quoted(part: str) -> str:
    try:
        plain = split_at_commas(part, part) == [part] and _weighted(part) == (part, None)
    except InputError:
        plain = False
    if plain and not _OPTION.fullmatch(part) and _unquoted(part) == part:
        return part
    quote = '"' if "'" in part and '"' not in part else "'"
    return quote + part.replace(quote, quote * 2) + quote


def _shortest(weight: float) -> str:
    return written if float(written := f"{weight:g}") == weight else repr(weight)


def _whole(name: str, options: dict[str, str]) -> int | None:
    if name not in options:
        return None
    if not re.fullmatch("[0-9]{1,18}", options[name]):
        raise InputError(f"{name}={options[name]!r} is not a whole number", remedy=f"write {name}=60 or the like")
    return int(options[name])


def _decimal(name: str, options: dict[str, str]) -> float | None:
    if name not in options:
        return None
    if not _NUMBER.fullmatch(options[name]):
        raise InputError(f"{name}={options[name]!r} is not a number", remedy=f"write {name}=0.9 or the like")
    return float(options[name])
