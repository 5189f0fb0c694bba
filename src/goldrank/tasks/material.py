"""Material: a task's data made ready for a model: ids, texts and gold, built once and shared by all models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from goldrank.data.collections import Collection, Document
from goldrank.data.text_rule import TextRule
from goldrank.errors import InputError
from goldrank.hits import Gold
from goldrank.tasks.presets import find_preset
from goldrank.tasks.ranking.sharding import Sharding
from goldrank.tasks.settings import Settings
from goldrank.tasks.task import Task

_BATCH = 1 << 16


class Corpus(Set[str]):
    """The ids of all items, without a table of them: what will be asked for is looked up once, in one pass.

    >>> corpus = Corpus(["a", "b", "c"], expected=["b", "x"])
    >>> [name in corpus for name in ("b", "x", "c", "y")], len(corpus)
    ([True, False, True, False], 3)
    """

    def __init__(self, ids: list[str], expected: Iterable[str]) -> None:
        self._ids = ids
        self._expected = frozenset(expected)
        self._there = self._expected.intersection(ids)

    def __contains__(self, name: object) -> bool:
        return name in self._there if name in self._expected else name in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)


@dataclass(frozen=True)
class Material:
    """What is ranked and what for.

    Only queries that have gold and a text are asked; gold queries without a text count as missing later on.
    """

    task: Task
    collection: Collection
    gold: Gold
    settings: Settings
    sharding: Sharding | None = None
    """Who encodes and searches where it is not this process; no part of what decides a result."""

    @classmethod
    def of(cls, task: Task, settings: Settings) -> Material:
        """Read the task's split and draw the queries, if only some are asked for."""
        collection = task.read(settings.split)
        if not len(collection.gold.queries):
            raise InputError("there is no gold", where=collection.source, remedy="give judgments for some queries")
        gold = Gold.from_columns(collection.gold)
        if settings.limit is not None and settings.limit < len(gold):
            rng = np.random.default_rng(settings.seed)
            drawn = sorted(rng.choice(len(gold), settings.limit, replace=False).tolist())
            names = [gold.queries[number] for number in drawn]
            rows = gold.to_dict()
            gold = Gold({name: rows[name] for name in names})
        made = cls(task, collection, gold, settings)
        return made if settings.preset is None else replace(made, settings=made._under_preset())

    def _under_preset(self) -> Settings:
        words = self.task.kind == "evalrank" and not any(" " in document.text.strip() for document in self.asked)
        return self.settings.under_preset(self.task.name, self.task.kind, "word" if words else "sentence")

    @property
    def preset_profile(self) -> str | None:
        """The profile of the preset, where there is one and it has one for such tasks."""
        preset = self.settings.preset
        return None if preset is None else find_preset(preset).profiles.get(self.task.kind)

    @property
    def item_ids(self) -> list[str]:
        """The ids of all items, in order."""
        return self.collection.items.ids

    @cached_property
    def corpus(self) -> Corpus:
        """The ids of all items as a set, which mostly the gold is looked up in."""
        return Corpus(self.item_ids, self.gold.columns.items)

    @property
    def text_rule(self) -> TextRule:
        """How items become texts."""
        return self.settings.text or self.task.text

    @property
    def query_rule(self) -> TextRule:
        """How queries become texts: those that are items too like items, unless said otherwise."""
        if self.settings.query_text is not None:
            return self.settings.query_text
        return self.text_rule if self.collection.related else self.task.query_text

    @property
    def asks_with_items(self) -> bool:
        """Whether a query's text is that of the item with its id, so that one vector serves both."""
        return self.collection.related and self.query_rule == self.text_rule

    @cached_property
    def asked(self) -> list[Document]:
        """The queries, in the order of the gold."""
        wanted = set(self.gold.queries)
        found = {document.id: document for document in self.collection.queries if document.id in wanted}
        if not found:
            raise InputError(
                f"no query of the gold has a text (the gold has {self.gold.queries[0]!r})",
                where=self.collection.queries.source,
                remedy="check that queries and gold use the same ids",
            )
        return [found[query] for query in self.gold.queries if query in found]

    @cached_property
    def query_ids(self) -> list[str]:
        """The ids of the queries that are asked."""
        return [document.id for document in self.asked]

    @cached_property
    def query_texts(self) -> list[str]:
        """Their texts."""
        return [self.query_rule.text(document) for document in self.asked]

    @cached_property
    def item_texts(self) -> list[str]:
        """The texts of all items, held together; for models that have to see the whole corpus."""
        return [self.text_rule.text(document) for document in self.collection.items]

    def item_batches(self) -> Iterator[list[str]]:
        """The texts of the items, a part at a time."""
        if "item_texts" in self.__dict__ or not self.collection.items.streamed:
            for start in range(0, len(self.item_texts), _BATCH):
                yield self.item_texts[start : start + _BATCH]
            return
        for batch in self.collection.items.batches(_BATCH):
            yield [self.text_rule.text(document) for document in batch]

    def texts_of(self, ids: list[str]) -> list[str]:
        """The texts of some items."""
        return [self._text_by_id[item] for item in ids]

    @cached_property
    def _text_by_id(self) -> dict[str, str]:
        return dict(zip(self.item_ids, self.item_texts, strict=True))

    @property
    def depth(self) -> int:
        """How many items of each ranking are kept."""
        asked = self.settings.depth if self.settings.depth is not None else self.task.depth
        everything = len(self.item_ids)
        return everything if asked is None or isinstance(asked, str) else min(asked, everything)

    @property
    def oov(self) -> str:
        """What becomes of texts without a known word."""
        return self.settings.oov or self.task.oov

    @cached_property
    def empty_texts(self) -> tuple[int, int]:
        """How many items and how many asked queries have an empty text."""
        # One at a time: a batch of long texts would take more memory than all ids.
        held = self.__dict__.get("item_texts")
        texts = held if held is not None else map(self.text_rule.text, self.collection.items)
        return sum(not text.strip() for text in texts), sum(not text.strip() for text in self.query_texts)

    def inputs(self) -> dict[str, object]:
        """What of the data decides a result."""
        settings = self.settings.as_dict()
        settings |= {
            "text": self.text_rule.as_dict(),
            "query_text": self.query_rule.as_dict(),
            "depth": self.depth,
            "oov": self.oov,
        }
        if len(self.gold) == len(self.collection.gold.queries):
            # Nothing was drawn, so the seed cannot have moved anything.
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
