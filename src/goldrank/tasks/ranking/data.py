"""RankingData: ids, texts and gold of a ranking task, built once and shared by all models."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from goldrank.data.collections import Collection, Document
from goldrank.data.text_rule import TextRule
from goldrank.errors import InputError
from goldrank.hits import Gold
from goldrank.store import Store
from goldrank.store.texts import MOST_ITEMS, Text
from goldrank.tasks.presets import find_preset
from goldrank.tasks.ranking.data_quality import DataQuality, inspect_data
from goldrank.tasks.ranking.evaluation import RankingEvaluation
from goldrank.tasks.ranking.sharding import Sharding
from goldrank.tasks.settings import Settings

if TYPE_CHECKING:
    from goldrank.tasks.ranking.models import Model
    from goldrank.tasks.ranking.task import RankingTask

_BATCH = 1 << 16
# These have no effect on a model that ranks without vectors of its own.
_VECTOR_SETTINGS = ("similarity", "index", "scoring", "transform", "fit_on", "oov")


class Corpus(Set[str]):
    """The ids of all items as a set without a hash table of them: the *expected* ids are looked up once, in one pass.

    >>> corpus = Corpus(["a", "b", "c"], expected=["b", "x"])
    >>> [name in corpus for name in ("b", "x", "c", "y")], len(corpus)
    ([True, False, True, False], 3)
    """

    def __init__(self, ids: list[str], expected: Iterable[str]) -> None:
        self._ids = ids
        self._expected = frozenset(expected)
        self._present = self._expected.intersection(ids)

    def __contains__(self, name: object) -> bool:
        return name in self._present if name in self._expected else name in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


@dataclass(frozen=True)
class RankingData:
    """The items of a collection, and the queries that they are ranked for.

    Only queries that have both gold and a text are ranked for; gold queries without a text count as missing.
    """

    task: RankingTask
    collection: Collection
    gold: Gold
    settings: Settings
    sharding: Sharding | None = None
    """The engine that encodes and searches instead of this process; it has no effect on the result."""

    @classmethod
    def load(cls, task: RankingTask, settings: Settings, sharding: Sharding | None = None) -> RankingData:
        """Read the task's split, and sample the queries if *settings* limit them."""
        collection = task.read(settings.split)
        if not len(collection.gold.queries):
            raise InputError("there is no gold", where=collection.source, remedy="give judgments for some queries")
        gold = Gold.from_columns(collection.gold)
        if settings.limit is not None and settings.limit < len(gold):
            rng = np.random.default_rng(settings.seed)
            sample = sorted(rng.choice(len(gold), settings.limit, replace=False).tolist())
            rows = gold.to_dict()
            gold = Gold({name: rows[name] for name in (gold.queries[number] for number in sample)})
        data = cls(task, collection, gold, settings, sharding)
        return data if settings.preset is None else replace(data, settings=data._under_preset())

    def _under_preset(self) -> Settings:
        words = self.task.kind == "evalrank" and not any(" " in query.text.strip() for query in self.query_documents)
        return self.settings.under_preset(self.task.name, self.task.kind, "word" if words else "sentence")

    def __len__(self) -> int:
        return len(self.item_ids)

    @property
    def checksum(self) -> str:
        """A digest of the collection."""
        return self.collection.checksum

    @property
    def remarks(self) -> Sequence[str]:
        """What was left out or repaired while reading."""
        return self.collection.remarks

    @property
    def split(self) -> str | None:
        """The split that was read."""
        return self.collection.split

    @property
    def has_fitting_texts(self) -> bool:
        """Whether a transform can be fitted on texts that are not evaluated; `check` looks closer."""
        return True

    def uses(self, setting: str, model: Model) -> bool:
        """Return whether a setting can change the result of *model*."""
        if setting == "oov":
            return model.uses_vectors and self.settings.scoring == "single" and model.may_know_words
        if setting in ("text", "query_text"):
            return self.settings.rerank is not None or not model.reads_ids
        return model.uses_vectors or setting not in _VECTOR_SETTINGS

    def check(self, model: Model) -> None:
        """Raise InputError if *model* cannot be evaluated, as far as can be told before any work."""
        # Queries without a text are reported here, not after an hour of encoding.
        self.query_documents  # noqa: B018
        model.check(self)

    def inspect(self) -> DataQuality:
        """Look for leaks, near-duplicates, empty texts and gold outside the corpus."""
        return inspect_data(self)

    def evaluate(self, model: Model) -> RankingEvaluation:
        """Rank the items for every query with a loaded model."""
        started = time.perf_counter()
        ranked = model.rank(self)
        return RankingEvaluation(self, model, ranked, time.perf_counter() - started)

    def save_texts(self, store: Store) -> None:
        """Store the texts of queries and items beside the results, once for each data set."""
        texts = store.texts(self.checksum)
        if texts is None or texts.is_saved or len(self.item_ids) > MOST_ITEMS:
            return
        texts.save(*(map(_stored_text, part) for part in (self.collection.queries, self.collection.items)))

    @property
    def preset_profile(self) -> str | None:
        """The profile of the preset for this kind of task, if there is one."""
        preset = self.settings.preset
        return None if preset is None else find_preset(preset).profiles.get(self.task.kind)

    @property
    def item_ids(self) -> list[str]:
        """The ids of all items, in order."""
        return self.collection.items.ids

    @cached_property
    def corpus(self) -> Corpus:
        """The ids of all items as a set, made for looking up the gold."""
        return Corpus(self.item_ids, self.gold.columns.items)

    @property
    def text_rule(self) -> TextRule:
        """How items become texts."""
        return self.settings.text or self.task.text

    @property
    def query_rule(self) -> TextRule:
        """How queries become texts: like items if they are items, unless the settings say otherwise."""
        if self.settings.query_text is not None:
            return self.settings.query_text
        return self.text_rule if self.collection.related else self.task.query_text

    @property
    def queries_are_items(self) -> bool:
        """Whether a query has the same text as the item with its id, so that one vector serves both."""
        return self.collection.related and self.query_rule == self.text_rule

    @cached_property
    def query_documents(self) -> list[Document]:
        """The queries with a text, in the order of the gold."""
        judged = set(self.gold.queries)
        documents = {document.id: document for document in self.collection.queries if document.id in judged}
        if not documents:
            raise InputError(
                f"no query of the gold has a text (the gold has {self.gold.queries[0]!r})",
                where=self.collection.queries.source,
                remedy="check that queries and gold use the same ids",
            )
        return [documents[query] for query in self.gold.queries if query in documents]

    @cached_property
    def query_ids(self) -> list[str]:
        """The ids of the queries with a text."""
        return [document.id for document in self.query_documents]

    @cached_property
    def query_texts(self) -> list[str]:
        """The texts of the queries."""
        return [self.query_rule.text(document) for document in self.query_documents]

    @cached_property
    def item_texts(self) -> list[str]:
        """The texts of all items in memory, for models that have to see the whole corpus."""
        return [self.text_rule.text(document) for document in self.collection.items]

    def item_batches(self) -> Iterator[list[str]]:
        """Yield the texts of the items in batches."""
        if "item_texts" in self.__dict__ or not self.collection.items.streamed:
            for start in range(0, len(self.item_texts), _BATCH):
                yield self.item_texts[start : start + _BATCH]
            return
        for batch in self.collection.items.batches(_BATCH):
            yield [self.text_rule.text(document) for document in batch]

    def texts_of(self, ids: list[str]) -> list[str]:
        """Return the texts of some items."""
        return [self._text_by_id[item] for item in ids]

    @cached_property
    def _text_by_id(self) -> dict[str, str]:
        return dict(zip(self.item_ids, self.item_texts, strict=True))

    @property
    def depth(self) -> int:
        """How many items of each ranking are kept."""
        depth = self.settings.depth if self.settings.depth is not None else self.task.depth
        items = len(self.item_ids)
        return items if depth is None or isinstance(depth, str) else min(depth, items)

    @property
    def oov(self) -> str:
        """The treatment of texts without a known word."""
        return self.settings.oov or self.task.oov

    @cached_property
    def empty_texts(self) -> tuple[int, int]:
        """The numbers of items and of queries with an empty text."""
        # One at a time: a batch of long texts would take more memory than all ids.
        held = self.__dict__.get("item_texts")
        texts = held if held is not None else map(self.text_rule.text, self.collection.items)
        return sum(not text.strip() for text in texts), sum(not text.strip() for text in self.query_texts)

    def inputs(self, model: Model) -> dict[str, Any]:
        """Return everything that decides the result of *model*."""
        inputs = {**self.data_inputs(), "model": model.spec, "model_identity": model.identity}
        if not model.uses_vectors:
            inputs = {name: value for name, value in inputs.items() if name not in _VECTOR_SETTINGS}
        return inputs

    def data_inputs(self) -> dict[str, Any]:
        """Return what decides a result, but for the model."""
        settings = self.settings.as_dict()
        settings |= {
            "text": self.text_rule.as_dict(),
            "query_text": self.query_rule.as_dict(),
            "depth": self.depth,
            "oov": self.oov,
        }
        if len(self.gold) == len(self.collection.gold.queries):
            # No queries were sampled, so the seed had no effect.
            settings.pop("seed")
            settings["limit"] = None
        if self.settings.rerank is None:
            settings.pop("rerank_depth")
        return {
            "task": self.task.name,
            "task_version": self.task.version,
            "kind": self.task.kind,
            "data": self.collection.checksum,
            **settings,
            "split": self.collection.split,
        }


def _stored_text(document: Document) -> Text:
    return Text(document.id, document.title, document.text)
