"""Settings: everything besides model and task that decides a result, checked before any work starts."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from goldrank.data.chunking import Chunking
from goldrank.data.text_rule import TextRule
from goldrank.errors import InputError, unknown_name
from goldrank.index.base import find_index_kind
from goldrank.index.exact.index import RANKABLE
from goldrank.index.multivector import SCORERS
from goldrank.io.fingerprints import file_digest
from goldrank.redaction import redact
from goldrank.tasks.presets import Level, find_preset
from goldrank.vectors.transforms import FIT_ON, Pipeline

SCORINGS = {
    "single": "one vector for each document",
    "max_sim": "one vector for each section; the best match of each section of the query, averaged",
    "sum_max_sim": "one vector for each section; the best match of each section of the query, added up",
    "sdr": "one vector for each sentence; SDR's hierarchical score of sentences in sections",
}
assert set(SCORINGS) == {"single", *SCORERS}

OOV = {
    "keep": "texts without a known word have the vector that the model gives, mostly zero, and are ranked by it",
    "miss": "gold is missed where it or its query has no known word; other such items rank behind all known ones",
    "skip": "gold is left out where it or its query has no known word; other such items rank behind all known ones",
    "mean": "texts without a known word have the mean of what the transform learnt from, or else of the known items",
}
"""The treatments of texts without a word that the model knows, where it can tell (``covers``)."""


@dataclass(frozen=True)
class Settings:
    """The settings of an evaluation: everything that decides a result besides model and task.

    >>> Settings(similarity="cosin")
    Traceback (most recent call last):
    goldrank.errors.UnknownNameError: there is no similarity 'cosin'; did you mean 'cosine'? (one of cosine, dot, l2)
    """

    similarity: str = "cosine"
    index: str = "exact"
    """``exact`` or ``faiss:FACTORY``."""
    scoring: str = "single"
    transform: str = "none"
    fit_on: str = "corpus"
    """What a transform is fitted on: ``corpus``, ``evaluated``, the model's ``vocabulary``, or a file of texts."""
    oov: str | None = None
    """The treatment of texts of which the model knows no word, one of ``OOV``; None for that of the task."""
    depth: int | str | None = None
    """The number of items stored of each ranking; ``all``, or None for that of the task."""
    rerank: str | None = None
    """A pair scorer that reranks the top of each ranking."""
    rerank_depth: int = 100
    chunk: str = "none"
    """How documents are cut into chunks, one of ``CHUNKINGS``; a document has the score of its best chunk."""
    text: TextRule | None = None
    """How items become texts; None is the task's rule."""
    query_text: TextRule | None = None
    split: str | None = None
    limit: int | None = None
    """Evaluate only this number of queries, sampled with the seed."""
    seed: int = 0
    preset: str | None = None
    """A reference system whose settings replace the defaults, one of ``PRESETS``."""
    given: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """The settings that a preset does not replace; those that differ from their defaults are added."""

    def __post_init__(self) -> None:
        for name, kinds in _KINDS.items():
            if not isinstance(value := getattr(self, name), kinds) or isinstance(value, bool):
                wanted = " or ".join("nothing" if kind is type(None) else kind.__name__ for kind in kinds)
                raise InputError(f"{name} is {value!r}", remedy=f"{name} is given as {wanted}")
        if self.similarity not in RANKABLE:
            raise unknown_name("similarity", self.similarity, RANKABLE, f"one of {', '.join(RANKABLE)}")
        if self.scoring not in SCORINGS:
            raise unknown_name("scoring", self.scoring, SCORINGS, f"one of {', '.join(SCORINGS)}")
        self._check_index()
        if self.oov is not None and self.oov not in OOV:
            raise unknown_name("treatment of unknown words", self.oov, OOV, f"one of {', '.join(OOV)}")
        Pipeline.parse(self.transform)
        object.__setattr__(self, "chunk", str(Chunking.parse(self.chunk)))
        if self.fit_on not in FIT_ON and not Path(self.fit_on).is_file():
            raise InputError(
                f"there is no file {self.fit_on!r} to fit on",
                remedy="give corpus, evaluated, vocabulary, or a file of texts",
            )
        if isinstance(self.depth, str) and self.depth != "all":
            raise InputError(f"the depth {self.depth!r} is not a number", remedy="give a number of items, or all")
        for name in ("depth", "rerank_depth", "limit"):
            value = getattr(self, name)
            if isinstance(value, int) and value < 1:
                raise InputError(f"{name} is {value}", remedy="give a whole number from 1 up")
        if self.seed < 0:
            raise InputError(f"the seed {self.seed} is negative", remedy="give a whole number from 0 up")
        if self.preset is not None:
            find_preset(self.preset)
        changed = {entry.name for entry in fields(self) if getattr(self, entry.name) != entry.default}
        object.__setattr__(self, "given", self.given | (changed - {"given"}))

    def under_preset(self, task: str, kind: str, level: Level | None) -> Settings:
        """Return the settings for a task: those of the preset, except where the user gave others.

        >>> chosen = Settings(preset="evalrank", oov="skip").under_preset("ws353", "similarity", "word")
        >>> chosen.similarity, chosen.transform, chosen.fit_on, chosen.oov
        ('dot', 'center|normalize', 'vocabulary', 'skip')
        """
        if self.preset is None:
            return self
        recipe = find_preset(self.preset).recipe(task, kind, level, self.similarity)
        # The similarity that the user gave has chosen the recipe, which may name another one.
        changes: dict[str, Any] = {name: recipe[name] for name in recipe if name not in self.given - {"similarity"}}
        return replace(self, **changes)

    def _check_index(self) -> None:
        find_index_kind(self.index)
        if redact(self.index) != self.index:
            # Settings are stored with every result, and must not contain passwords.
            raise InputError(
                "the address of the index holds a password",
                where=redact(self.index),
                remedy="leave it out and give it in the environment (PGPASSWORD)",
            )
        if self.index != "exact" and self.scoring != "single":
            raise InputError(
                f"the index {self.index} holds one vector for each document, {self.scoring} compares many",
                remedy="leave the index at exact",
            )

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as they are stored with a result."""
        # A preset stands for other settings, which are stored instead.
        names = [entry.name for entry in fields(self) if entry.name not in ("preset", "given")]
        shown: dict[str, Any] = {name: getattr(self, name) for name in names}
        for name in ("text", "query_text"):
            shown[name] = None if shown[name] is None else shown[name].as_dict()
        if self.chunk == "none":
            shown.pop("chunk")
        if self.fit_on not in FIT_ON:
            # The content of a file of texts decides the result, not only its name.
            shown["fit_on"] = f"{self.fit_on} {file_digest(self.fit_on)[:16]}"
        return shown


_KINDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("similarity", "index", "scoring", "transform", "fit_on", "chunk"), (str,)),
    **dict.fromkeys(("rerank", "split", "oov", "preset"), (str, type(None))),
    **dict.fromkeys(("rerank_depth", "seed"), (int,)),
    **dict.fromkeys(("text", "query_text"), (TextRule, type(None))),
    "depth": (int, str, type(None)),
    "limit": (int, type(None)),
}
