"""RankingData: ids, texts and gold of a ranking task, built once and shared by all models."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from goldrank.data.chunking import Chunking
from goldrank.data.collections import Collection, Document
from goldrank.data.collections.collection import further_fields
from goldrank.data.text_rule import TextRule
from goldrank.errors import InputError
from goldrank.hits import Gold
from goldrank.index.base import find_index_kind
from goldrank.store import Store
from goldrank.store.texts import MOST_ITEMS
from goldrank.tasks.presets import find_preset
from goldrank.tasks.ranking.chunks import Chunks, refuse_unfit_for_chunks
from goldrank.tasks.ranking.data_quality import DataQuality, inspect_data
from goldrank.tasks.ranking.evaluation import RankingEvaluation
from goldrank.tasks.ranking.sharding import Sharding
from goldrank.tasks.settings import Settings
from goldrank.vectors.cache import measure_seconds

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
    chunks: Chunks | None = None
    """The items are chunks of the documents of the task, which are ranked by their best chunk."""
    related: bool = False
    """Whether the documents of the task are also the queries."""

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
        data = cls(task, collection, gold, settings, sharding, related=collection.related)
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
        """What the columns were read as, and what was left out or repaired."""
        return self.collection.notes

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
        if setting == "chunk":
            return model.reads_items
        if setting in ("text", "query_text"):
            return self.settings.rerank is not None or not model.reads_ids
        return model.uses_vectors or setting not in _VECTOR_SETTINGS

    def check(self, model: Model) -> None:
        """Raise InputError if *model* cannot be evaluated and this is known before any work."""
        if not self.collection.has_texts and model.needs_texts:
            holds = "judgements"
            remedy = (
                "give a folder that holds the texts too (corpus.jsonl, queries.jsonl and qrels/test.tsv, or another "
                'layout of goldrank list collections; in Python {"corpus": …, "queries": …, "qrels": …}), or evaluate '
                "run files with -m run:FILE or vectors with -m vectors:FILE"
            )
            if self.collection.has_corpus:
                holds = "class labels"
                remedy = "name its column of texts with -t 'classes:FILE(text=NAME)', or evaluate vectors: vectors:FILE"
            raise InputError(
                f"{model.spec} needs the texts of queries and items, and there are {holds} only",
                where=self.collection.source,
                remedy=remedy,
            )
        # Queries without a text are reported here, not after an hour of encoding.
        self.query_documents  # noqa: B018
        if self.settings.chunk != "none":
            refuse_unfit_for_chunks(self)
        model.check(self)

    def inspect(self) -> DataQuality:
        """Look for leaks, near-duplicates, empty texts and gold outside the corpus."""
        return inspect_data(self)

    def evaluate(self, model: Model) -> RankingEvaluation:
        """Rank the items for every query with a loaded model."""
        with measure_seconds() as elapsed:
            ranked = model.rank(self)
        return RankingEvaluation(self, model, ranked, elapsed.seconds)

    def save_texts(self, store: Store) -> None:
        """Store texts and attributes beside the results: texts once for each data set, attributes if they changed."""
        texts = store.texts(self.checksum) if self.collection.has_texts else None
        if texts is None:
            return
        if attributes := further_fields(self.collection.queries):
            texts.save_attributes(attributes)
        if not texts.is_saved and len(self.item_ids) <= MOST_ITEMS:
            texts.save(self.collection.queries, self.collection.items)

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
    def corpus(self) -> Corpus | None:
        """The ids of all items as a set, made for looking up the gold; None if the corpus is not known."""
        return Corpus(self.item_ids, self.gold.columns.items) if self.collection.has_corpus else None

    @property
    def text_rule(self) -> TextRule:
        """How items become texts."""
        return self.settings.text or self.task.text

    @property
    def query_rule(self) -> TextRule:
        """How queries become texts: like items if they are items, unless the settings say otherwise."""
        if self.settings.query_text is not None:
            return self.settings.query_text
        return self.text_rule if self.related else self.task.query_text

    @property
    def queries_are_items(self) -> bool:
        """Whether a query has the same text as the item with its id, so that one vector serves both."""
        return self.related and self.chunks is None and self.query_rule == self.text_rule

    @property
    def in_chunks(self) -> RankingData:
        """The same data with the chunks of the settings as its items; itself if documents are ranked whole."""
        return self if self.settings.chunk == "none" else self._in_chunks

    @cached_property
    def _in_chunks(self) -> RankingData:
        chunks = Chunks.of(self.collection.items, Chunking.parse(self.settings.chunk))
        collection = replace(self.collection, items=chunks.items)
        return replace(self, collection=collection, settings=replace(self.settings, chunk="none"), chunks=chunks)

    def document_of(self, item: str) -> str:
        """Return the document of an item: itself, or what it is a chunk of."""
        return item if self.chunks is None else self.chunks.document(item)

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
        """How many items of each ranking are kept; of run files on gold alone all, unless the settings limit them."""
        known = self.collection.has_corpus
        depth = self.task.depth if self.settings.depth is None and known else self.settings.depth
        items = len(self.item_ids) if known else sys.maxsize
        return items if depth is None or isinstance(depth, str) else min(depth, items)

    @property
    def counted_depth(self) -> int:
        """How many items are stored of each ranking if the ranks of the gold were counted over all items."""
        return self.depth if self.settings.depth is not None else min(self.task.shown, self.depth)

    @property
    def oov(self) -> str:
        """The treatment of texts without a known word."""
        return self.settings.oov or self.task.oov

    @cached_property
    def empty_texts(self) -> tuple[int, int]:
        """The numbers of items and of queries with an empty text."""
        # Of streamed items one at a time: a batch of long texts would take more memory than all ids.
        streamed = self.collection.items.streamed and "item_texts" not in self.__dict__
        texts = map(self.text_rule.text, self.collection.items) if streamed else self.item_texts
        return _count_empty(texts), _count_empty(self.query_texts)

    def inputs(self, model: Model) -> dict[str, Any]:
        """Return everything that decides the result of *model*."""
        inputs = {**self.data_inputs(), "model": model.spec, "model_identity": model.identity}
        if not model.reads_items:
            inputs.pop("chunk", None)
        if model.encoder is not None and self.counted_depth < self.depth:
            inputs["counted_depth"] = self.counted_depth
        if not model.uses_vectors:
            inputs = {name: value for name, value in inputs.items() if name not in _VECTOR_SETTINGS}
        return inputs

    def is_live(self, model: Model) -> bool:
        """Return whether the result of *model* may change while its inputs stay the same: a server, a database …"""
        return model.live or (model.uses_vectors and find_index_kind(self.settings.index).live)

    def part_inputs(self, part: Model) -> dict[str, Any]:
        """Return what decides the result of a part of a composed model on its own, where nothing is reranked."""
        return replace(self, settings=replace(self.settings, rerank=None)).inputs(part)

    def data_inputs(self) -> dict[str, Any]:
        """Return what decides a result, but for the model."""
        settings = self.settings.as_dict()
        settings |= {
            "text": self.text_rule.as_dict(),
            "query_text": self.query_rule.as_dict(),
            "depth": "all" if self.depth == sys.maxsize else self.depth,
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


def _count_empty(texts: Iterable[str]) -> int:
    return sum(not text or text.isspace() for text in texts)
