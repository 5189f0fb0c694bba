"""Where the attributes of queries and the texts that they are derived from come from: files, or the store."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from goldrank.hits import Gold
from goldrank.runs.file_runs import TextSource, chosen_texts, read_text_sources
from goldrank.slices.attributes import Attributes
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


def file_source(gold: Gold, texts: Sequence[TextSource] = (), given: Attributes | None = None) -> SliceSource:
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
