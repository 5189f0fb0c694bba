"""Models that score pairs of a query and an item: the registry, the base class, and the built-in kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from goldrank.encoders import ModelKind, built_in_kind
from goldrank.encoders.base import LIVE, UNKNOWN, Options, PairScorer, check_texts, identity_of
from goldrank.encoders.function import (
    import_function,
    report_failure,
    spec_of_function,
    stamp_of_function,
    takes_argument,
)
from goldrank.encoders.tokens import tokenizer
from goldrank.errors import GoldrankError, InputError, unknown_name
from goldrank.hits import Floats
from goldrank.progress import Progress
from goldrank.specs import Spec

_kind = partial(built_in_kind, "encoders")
PAIR_KINDS: dict[str, ModelKind] = {
    "cross": _kind(
        "cross_encoder",
        "CrossEncoder",
        "any cross-encoder of sentence-transformers",
        "st",
        "cross:cross-encoder/ms-marco-MiniLM-L6-v2",
        "hub",
    ),
    "overlap": _kind("pair_scorers", "WordOverlap", "share of words in common (Jaccard); built in", "", "overlap"),
    "pairs": _kind(
        "pair_scorers", "CallablePairs", "your own function, pairs to scores", "", "pairs:mymodel:score", "code"
    ),
}


def load_pair_scorer(spec: str | Spec | PairScorer | Callable[..., Any], **options: object) -> PairScorer:
    """Return the pair scorer of a spec, or of a function; *options* are added to those of the spec.

    >>> load_pair_scorer("overlap").score_pairs(["red wine", "red wine"], ["white wine", "wine, red"]).round(2).tolist()
    [0.33, 1.0]
    """
    if isinstance(spec, PairScorer):
        if options:
            raise InputError(
                "options cannot be given to a pair scorer that is already loaded",
                remedy="give them where it is loaded",
            )
        return spec
    if isinstance(spec, (str, Spec)):
        parsed = (Spec.parse(spec) if isinstance(spec, str) else spec).updated(options)
        kind = PAIR_KINDS.get(parsed.kind)
        if kind is None:
            raise unknown_name("kind of pair scorer", parsed.kind, PAIR_KINDS, f"there are: {', '.join(PAIR_KINDS)}")
        scorer: PairScorer = kind.load(parsed)
        return scorer
    if not callable(spec):
        raise InputError(
            f"a {type(spec).__name__} is not a pair scorer", remedy="give a spec string or a function of pairs"
        )
    return CallablePairs(spec_of_function(spec, "pairs").updated(options), spec)


class BatchPairScorer(ABC):
    """A pair scorer that scores one batch at a time; this class does the batching, ordering and checks."""

    def __init__(self, spec: Spec, options: Options) -> None:
        self.spec, self.options = spec, options

    @property
    @abstractmethod
    def version(self) -> str:
        """Version of the package and of the weights, as part of the identity."""

    @property
    def live(self) -> bool:
        """Whether the scores may change while the identity stays the same: the commit of its weights is unknown."""
        return UNKNOWN in self.version.split()

    @abstractmethod
    def score_batch(self, queries: list[str], items: list[str]) -> Any:
        """Return the scores of one batch of pairs."""

    @property
    def identity(self) -> str:
        """Everything that can change a score."""
        return identity_of(self.spec, self.version)

    def score_pairs(self, queries: Sequence[str], items: Sequence[str]) -> Floats:
        """Return one score per pair, in the order given; pairs of similar length share a batch, to pad little."""
        queries, items = check_texts(queries), check_texts(items)
        if len(queries) != len(items):
            raise InputError(
                f"there are {len(queries)} queries for {len(items)} items", remedy="give one item per query"
            )
        order = sorted(range(len(items)), key=lambda i: len(queries[i]) + len(items[i]), reverse=True)
        scores = np.empty(len(items))
        with Progress(f"scoring with {self.spec}", total=len(items), unit="pair") as progress:
            for start in range(0, len(order), self.options.batch_size):
                chosen = order[start : start + self.options.batch_size]
                batch = self.score_batch([queries[i] for i in chosen], [items[i] for i in chosen])
                scores[chosen] = self._checked(batch, len(chosen))
                progress.advance(len(chosen))
        return scores

    def _checked(self, batch: Any, count: int) -> Floats:
        try:
            scores = np.asarray(batch, np.float64)
        except (TypeError, ValueError) as error:
            raise GoldrankError(f"{self.spec} returned something that is not a list of numbers ({error})") from None
        if scores.shape not in ((count,), (count, 1)):
            raise GoldrankError(
                f"{self.spec} returned scores of shape {scores.shape} for {count} pairs; one each is needed"
            )
        if not np.isfinite(scores).all():
            raise GoldrankError(f"{self.spec} returned a score that is not finite; check the model and its dtype")
        return scores.reshape(count)


class WordOverlap(BatchPairScorer):
    """``overlap(tokens=words)``: the Jaccard index of the words of both texts; a baseline for real models."""

    def __init__(self, spec: Spec) -> None:
        unused = ("query_prompt", "item_prompt", "device", "dtype", "max_length", "dim")
        options, own = Options.split(spec, "tokens", without=unused)
        super().__init__(spec, options)
        if spec.argument:
            raise InputError(
                f"overlap takes no argument, but got {spec.argument!r}", remedy="write overlap(tokens=runs)"
            )
        self._tokens = tokenizer(own.get("tokens", "words"))

    @property
    def version(self) -> str:
        """Version of the formula."""
        return "1"

    def score_batch(self, queries: list[str], items: list[str]) -> Any:
        """Return the Jaccard index of the words; 0 if neither text has any."""
        pairs = [(set(self._tokens(q)), set(self._tokens(i))) for q, i in zip(queries, items, strict=True)]
        return [len(query & item) / max(1, len(query | item)) for query, item in pairs]


class CallablePairs(BatchPairScorer):
    """``pairs:module:function``: calls it with a list of (query, item) pairs, or with two lists if it takes two.

    It gets ``batch_size`` pairs at a time and returns one number for each. ``live=true`` says that it reads data or
    asks a server, so that its code alone does not determine its scores.
    """

    def __init__(self, spec: Spec, function: Callable[..., Any] | None = None) -> None:
        unused = ("query_prompt", "item_prompt", "device", "dtype", "max_length", "dim")
        options, own = Options.split(spec, "live", without=unused)
        super().__init__(spec, options)
        self._function = function or import_function(spec)
        self._takes_two = takes_argument(self._function, 1, "items")
        self._version = stamp_of_function(spec, function, own).version

    @property
    def live(self) -> bool:
        """Whether the scores may change while the code stays the same, or the code cannot be known."""
        return self._version is None

    @property
    def version(self) -> str:
        """A stamp of the function's file and of the files that it imports from its project."""
        return self._version or LIVE

    def score_batch(self, queries: list[str], items: list[str]) -> Any:
        """Return what the function returns."""
        with report_failure(str(self.spec)):
            if self._takes_two:
                return self._function(queries, items)
            return self._function(list(zip(queries, items, strict=True)))
