"""Read the attributes of queries, and the texts that they are derived from, from files or the store."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from goldrank.errors import InputError, unknown_name
from goldrank.hits import Gold
from goldrank.runs.file_runs import TextPath, chosen_texts, read_text_sources
from goldrank.slices.attributes import Attributes, Slice, make_slices
from goldrank.slices.derived import PlainTexts, SliceSource
from goldrank.store import Store, StoredRun
from goldrank.store.texts import Text, Texts


@dataclass(frozen=True)
class StoredTexts:
    """Texts of queries and items in a store."""

    texts: Texts

    def queries(self, ids: Collection[str]) -> Mapping[str, str]:
        """Return the texts of some queries."""
        return {name: _joined(text) for name, text in self.texts.find(ids, "query").items()}

    def items(self, ids: Collection[str] | None = None) -> Iterable[tuple[str, str]]:
        """Yield the ids and texts of some items, or of all."""
        if ids is not None:
            return ((name, _joined(text)) for name, text in self.texts.find(ids, "item").items())
        return ((text.id, _joined(text)) for text in self.texts.iterate("item"))


def _joined(text: Text) -> str:
    return " ".join(filter(None, (text.title, text.text)))


def stored_source(
    run: StoredRun, store: Store, gold: Gold | None = None, given: Attributes | None = None
) -> SliceSource:
    """Return what slices of a stored run can be made from.

    Args:
        run: The run.
        store: Where the texts and attributes of its data are.
        gold: Its gold, if it is known already.
        given: Further attributes, which replace stored ones of the same name.
    """
    texts = store.texts(str(run.inputs.get("data", "")))
    held = Attributes({} if texts is None else texts.attributes(), f"the data of {run.key}")
    # A file of the store may describe queries of other splits as well.
    gold = run.gold() if gold is None else gold
    return SliceSource(
        gold, held if given is None else held | given, PlainTexts() if texts is None else StoredTexts(texts)
    )


@dataclass(frozen=True)
class SliceChoice:
    """The slices that a report or a page shows, and the one to which it is restricted."""

    names: tuple[str, ...] | None = None
    """Attributes to show results by; None for those of *given*."""
    given: Attributes | None = None
    """The attributes of a file."""
    only: str = ""
    """The slice to restrict everything to, such as ``language=de``; empty for all queries."""

    def shown(self, run: StoredRun, store: Store) -> tuple[Slice, ...]:
        """Return the slices to show."""
        if self.names is None and self.given is None:
            return ()
        gold = run.gold()
        if self.given is not None:
            self.given.refuse_unknown(gold.queries)
            if self.names is None:
                return make_slices(self.given, gold.queries)
        return stored_source(run, store, gold, self.given).slices(self.names)

    def only_queries(self, run: StoredRun, store: Store) -> frozenset[str] | None:
        """Return the queries to restrict everything to; None for all."""
        if not self.only:
            return None
        return frozenset(find_slice(usual_slices(run, store), self.only).queries)


_SLOW = ("rare_words",)
"""Derived attributes that read the whole corpus, which takes too long for a page."""


def usual_slices(run: StoredRun, store: Store) -> tuple[Slice, ...]:
    """Return the slices of all attributes of a stored run that a page offers: those of its data, and derived ones."""
    source = stored_source(run, store)
    names = [name for name in source.attribute_names() if name in source.attributes.values or name not in _SLOW]
    slices: list[Slice] = []
    for name in names:
        with suppress(InputError):  # an attribute that does not divide the queries
            slices += source.slices([name])
    return tuple(slices)


def find_slice(slices: Sequence[Slice], name: str) -> Slice:
    """Return the slice with a name such as ``language=de``."""
    for part in slices:
        if str(part) == name:
            return part
    known = [str(part) for part in slices]
    raise unknown_name("slice", name, known, f"there are {', '.join(known[:20]) or 'none'}")


def file_source(gold: Gold, texts: Sequence[TextPath] = (), given: Attributes | None = None) -> SliceSource:
    """Return what slices of run files can be made from.

    Args:
        gold: The gold.
        texts: Collections or tables with the texts of queries and items, and further fields of queries.
        given: Further attributes, which replace those of *texts* of the same name.
    """
    documents = read_text_sources(texts, gold)
    chosen = chosen_texts(documents, gold.queries, None) if documents else None
    if chosen is None:
        return SliceSource(gold, given or Attributes({}))
    held = Attributes(chosen.attributes, "the texts")
    query_texts, item_texts = (
        {name: _joined(text) for name, text in side.items()} for side in (chosen.queries, chosen.items)
    )
    return SliceSource(gold, held if given is None else held | given, PlainTexts(query_texts, item_texts))
