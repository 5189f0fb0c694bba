"""The protocols of models, the options that all kinds share, and the base class of encoders that work in batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import GoldrankError, InputError, reason_of, shorten, unknown_name
from goldrank.escaping import replace_surrogates
from goldrank.io.checks import find_duplicate
from goldrank.progress import Progress
from goldrank.redaction import redact
from goldrank.specs import Spec

if TYPE_CHECKING:
    from goldrank.hits import Run

Side = Literal["query", "item"]
LIVE = "live"
"""The version of a model that may change while its identity stays the same."""
UNKNOWN = "unknown"
"""The part of a version that stands for weights whose commit is not known."""
MOST_DIMENSIONS = 65_536
"""A limit for models of any dimension, above that of all models in use."""
Dense = NDArray[np.float32]
# A dense float32 matrix or a scipy.sparse CSR matrix; scipy is imported only if one is created.
Vectors = Any


@runtime_checkable
class Encoder(Protocol):
    """A model from texts to vectors, which may encode queries and items differently."""

    @property
    def identity(self) -> str:
        """Everything that can change a vector: kind, model, version, options. Equal identities give equal vectors."""

    def encode_queries(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text."""

    def encode_items(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text."""


@runtime_checkable
class Fitted(Protocol):
    """An encoder that has to be fitted on the corpus (TF-IDF, LSA, doc2vec)."""

    def fit(self, texts: Sequence[str]) -> None:
        """Learn from the texts of the corpus."""


@runtime_checkable
class Searcher(Protocol):
    """A model that ranks without vectors (BM25, a run file, a search function, a search server)."""

    @property
    def identity(self) -> str:
        """Everything that can change a score."""

    def index(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Index the corpus."""

    def search(self, ids: Sequence[str], texts: Sequence[str], k: int) -> Run:
        """Return the k best items of each query."""


@runtime_checkable
class PairScorer(Protocol):
    """A model that scores a query and an item together (a cross-encoder)."""

    @property
    def identity(self) -> str:
        """Everything that can change a score."""

    def score_pairs(self, queries: Sequence[str], items: Sequence[str]) -> NDArray[np.float64]:
        """Return one score per pair, higher is better: the first query with the first item, and so on."""


def is_live(model: object) -> bool:
    """Return True if *model* may change while its identity stays the same: a server, a search function, an object.

    Such a model has the attribute ``live``. Its results are never taken from the store or the embedding cache, unless
    the user asks for it.
    """
    return bool(getattr(model, "live", False))


def can_resume(model: object) -> bool:
    """Return True if an interrupted evaluation may continue with earlier answers of *model*.

    A live model has the attribute ``resumable`` if another process reaches the same system by the same spec. Nothing
    else is known of an object in memory than that it may be another one.
    """
    return not is_live(model) or bool(getattr(model, "resumable", False))


@dataclass(frozen=True)
class Options:
    """The options that all kinds of encoders share."""

    query_prompt: str | None = None
    """Prefix of every query; None for the model's own."""
    item_prompt: str | None = None
    """Prefix of every item; None for the model's own."""
    batch_size: int = 64
    device: str | None = None
    dtype: str = "float32"
    """The type that the model computes in; vectors are always float32."""
    max_length: int | None = None
    """Tokens that are read of each text; None for the model's own limit."""
    dim: int | None = None
    """Keep only the first dimensions (Matryoshka), normalised again if the model normalises."""

    @classmethod
    def split(cls, spec: Spec, *own: str, without: Sequence[str] = ()) -> tuple[Options, dict[str, str]]:
        """Split the options of a spec into the common ones and the kind's *own*; raise for unknown ones.

        *without* names common options that have no effect on the kind, which are refused too.
        """
        common: dict[str, Any] = {}
        rest: dict[str, str] = {}
        known = [entry.name for entry in fields(cls) if entry.name not in without]
        for name, value in spec.options.items():
            if name in own:
                rest[name] = value
            elif name in known and name in ("batch_size", "max_length", "dim"):
                common[name] = parse_positive(name, value)
            elif name in known and name == "dtype":
                common[name] = parse_choice(name, value, ("float32", "float16", "bfloat16"))
            elif name in known:
                common[name] = value
            else:
                raise unknown_name(
                    f"option of {spec.kind}", name, [*known, *own], f"it has: {', '.join([*own, *known])}"
                )
        return cls(**common), rest


def take_options(spec: Spec, *own: str) -> dict[str, str]:
    """Return the options of a spec; raise an error for any option that is not in *own*."""
    for name in spec.options:
        if name not in own:
            has = f"it has: {', '.join(own)}" if own else "it has none"
            raise unknown_name(f"option of {spec.kind}", name, own, has)
    return dict(spec.options)


def parse_positive(name: str, value: str, most: int = 1_000_000_000) -> int:
    """Parse a whole number from 1 to *most*."""
    if not value.isdecimal() or len(value) > 12 or not 1 <= int(value) <= most:
        raise InputError(
            f"{name}={shorten(value, 20)} is not a whole number from 1 to {most}", remedy=f"write {name}=64 or the like"
        )
    return int(value)


def parse_number(name: str, value: str, *, low: float = 0.0, most: float = 1e300) -> float:
    """Parse a finite real number from *low* to *most*."""
    try:
        parsed = float(value)
    except ValueError:
        parsed = float("nan")
    if not low <= parsed <= most:
        limit = f"from {low:g} up" if most == 1e300 else f"from {low:g} to {most:g}"
        raise InputError(
            f"{name}={value!r} is not a number {limit}", remedy=f"write {name}={min(1.5, most):g} or the like"
        )
    return parsed


def parse_bool(name: str, value: str) -> bool:
    """Parse ``true`` or ``false``."""
    return parse_choice(name, value.lower(), ("true", "false")) == "true"


def parse_choice(name: str, value: str, choices: Sequence[str]) -> str:
    """Return *value* if it is one of the choices."""
    if value not in choices:
        raise unknown_name(f"{name} called", value, choices, f"write {name}={'|'.join(choices)}")
    return value


def check_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts as a list of valid strings: half a surrogate pair becomes U+FFFD.

    >>> check_texts(["naïve", "half \\ud83d"])
    ['naïve', 'half \ufffd']
    """
    if isinstance(texts, str):
        raise InputError("one string was given for a list of texts", remedy="write [text]")
    for at, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(
                f"text {at} is {shorten(text)}, not a string", remedy="give every item a text, '' if it has none"
            )
    return [replace_surrogates(text) for text in texts]


def check_ids(ids: Sequence[str], texts: Sequence[str]) -> None:
    """Raise unless there is one id per text and all ids differ."""
    if len(ids) != len(texts):
        raise InputError(f"there are {len(ids)} ids for {len(texts)} texts", remedy="give one id per text")
    if duplicate := find_duplicate(ids):
        raise InputError(f"the id {ids[duplicate[0]]!r} is given to two texts", remedy="make the ids unique")


def normalize_rows(vectors: NDArray[Any]) -> Dense:
    """Normalise rows to length 1; a row of zeros stays."""
    rows = np.asarray(vectors, np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows / np.where(lengths > 0, lengths, 1.0), np.float32)


# Options that change neither vectors nor scores, and are not part of an identity.
_UNCHANGING = ("batch_size", "device", "concurrency", "timeout", "retries", "key", "key_env", "key_header")


def identity_of(spec: Spec, version: str) -> str:
    """Return the spec with its options in order of name, without those that change no vector, and the version.

    Secrets are redacted: they are not stored, and a new password does not make a new model.
    """
    changing = {name: spec.options[name] for name in sorted(spec.options) if name not in _UNCHANGING}
    return redact(f"{Spec(spec.kind, spec.argument, changing)} {version}")


class BatchEncoder(ABC):
    """An encoder that encodes one batch at a time; this class adds prompts, batching, ``dim=`` and checks."""

    normalizes = False
    """Whether the model's vectors have unit length, so that truncated vectors are normalised again."""
    default_query_prompt = ""
    default_item_prompt = ""
    uses_torch = False
    """Whether it uses torch, which by default runs on a GPU if there is one."""
    width: int | None = None
    """The number of dimensions of the model, if it is known before a text is encoded."""
    default_batch_size = Options.batch_size
    """Texts per batch unless the spec says otherwise; more for models that pad nothing."""

    def __init__(self, spec: Spec, options: Options, completed: Spec | None = None) -> None:
        self.spec, self.options = spec, options
        self._completed = completed or spec
        """The spec with all defaults and the preset written out, for the identity."""
        self.texts_per_call = options.batch_size if "batch_size" in spec.options else self.default_batch_size

    @property
    def accelerated(self) -> bool:
        """Whether it uses a GPU if there is one."""
        return self.uses_torch and (self.options.device or "cuda").startswith("cuda")

    @property
    @abstractmethod
    def version(self) -> str:
        """Version of the package and of the weights, as part of the identity."""

    @property
    def live(self) -> bool:
        """Whether the vectors may change while the identity stays the same: the commit of its weights is unknown."""
        return UNKNOWN in self.version.split()

    @property
    def resumable(self) -> bool:
        """Whether an interrupted evaluation may continue with the vectors of a live model."""
        return True

    @abstractmethod
    def encode_batch(self, texts: list[str], side: Side) -> NDArray[Any]:
        """Return the vectors of one batch of texts, which already have their prompts."""

    @property
    def identity(self) -> str:
        """Everything that can change a vector."""
        return identity_of(self._completed, self.version)

    def prompt(self, side: Side) -> str:
        """Return the prefix that `encode` adds to a text of that side."""
        given = self.options.query_prompt if side == "query" else self.options.item_prompt
        default = self.default_query_prompt if side == "query" else self.default_item_prompt
        return default if given is None else given

    def prompt_read(self, side: Side) -> str:
        """Return the prefix that the model reads before a text of that side, from `encode` or from the model."""
        return self.prompt(side)

    def check_dimension(self) -> int | None:
        """Return the number of dimensions of the vectors; None if it is not known before a text is encoded."""
        dim = self.options.dim
        if dim is not None and self.width is not None and dim > self.width:
            raise InputError(
                f"dim={dim} is more than the {self.width} dimensions of {self.spec.kind}", remedy="ask for fewer"
            )
        return dim or self.width

    def encode_queries(self, texts: Sequence[str]) -> Dense:
        """Return one row per query."""
        return self.encode(texts, "query")

    def encode_items(self, texts: Sequence[str]) -> Dense:
        """Return one row per item."""
        return self.encode(texts, "item")

    def encode(self, texts: Sequence[str], side: Side) -> Dense:
        """Return one row per text, in the order given; texts of similar length share a batch, to pad little."""
        texts = check_texts(texts)
        prompt = self.prompt(side)
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]), reverse=True)
        rows: Dense | None = None
        size = self.texts_per_call
        with Progress(f"encoding with {self.spec}", total=len(texts), unit="text") as progress:
            for start in range(0, len(order), size):
                chosen = order[start : start + size]
                batch = self._checked(self.encode_batch([prompt + texts[i] for i in chosen], side), len(chosen))
                if rows is None:
                    rows = np.empty((len(texts), batch.shape[1]), np.float32)
                rows[chosen] = batch
                progress.advance(len(chosen))
        return np.empty((0, self.options.dim or self.width or 0), np.float32) if rows is None else rows

    def _checked(self, batch: NDArray[Any], count: int) -> Dense:
        try:
            vectors = np.asarray(batch, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise GoldrankError(
                f"{self.spec} returned no matrix of numbers for {count} texts ({reason_of(error)})"
            ) from error
        if vectors.ndim != 2 or len(vectors) != count:
            raise GoldrankError(f"{self.spec} returned an array of shape {vectors.shape} for {count} texts")
        if not np.isfinite(vectors).all():
            raise GoldrankError(f"{self.spec} returned a vector that is not finite; check the model and its dtype")
        dim = self.options.dim
        if dim is None:
            return vectors
        if dim > vectors.shape[1]:
            raise InputError(
                f"dim={dim} is more than the {vectors.shape[1]} dimensions of {self.spec.kind}", remedy="ask for fewer"
            )
        truncated = vectors[:, :dim]
        return normalize_rows(truncated) if self.normalizes else np.ascontiguousarray(truncated)
