"""Results that are documents of another library: find the id of the evaluated item in each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from goldrank.errors import InputError, shorten

DocumentId = str | Callable[[Any], Any]
"""The name of the field that holds the id of an item, or a function from a document to the id."""
_FIELDS = ("id", "_id", "doc_id", "document_id", "docid", "source", "file_path", "file_name", "path", "url", "title")
_TEXT = "text"


class ResultReader:
    """Reads item ids and scores from documents of LangChain, LlamaIndex or Haystack, or from dicts.

    Without *field*, it is the first one that holds ids of the evaluated items: of the metadata (``id``, ``doc_id``,
    ``source`` …), then the id of the document itself, then its text, if that is the text of an item.

    Args:
        field: The name of a field, or a function from a document to the id of the item.
    """

    def __init__(self, field: DocumentId | None = None) -> None:
        self._field = field
        self._ids: frozenset[str] = frozenset()
        self._by_text: dict[str, str] = {}
        self.field: str | None = field if isinstance(field, str) else None
        """The field that ids are read from, as soon as it is known."""
        self.repeated = 0
        """The number of results that belong to an item which is ranked already, such as further chunks of it."""

    def index(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Remember the items, to recognise the field that holds their ids."""
        self._ids = frozenset(ids)
        by_text: dict[str, list[str]] = {}
        for item, text in zip(ids, texts, strict=True):
            by_text.setdefault(text, []).append(item)
        self._by_text = {text: items[0] for text, items in by_text.items() if len(items) == 1}

    def results(self, results: object, where: str) -> object:
        """Return results as ids or (id, score) pairs if they are documents; else unchanged."""
        if isinstance(results, (str, bytes, Mapping)) or not isinstance(results, Sequence):
            return results
        entries = [_parts(entry) for entry in results]
        if not entries or not any(document is not None for document, _ in entries):
            return results
        documents = []
        for at, (document, _) in enumerate(entries, 1):
            if document is None:
                raise InputError(
                    f"{shorten(results[at - 1])} is not a document, and others are", where=f"{where}: result {at}"
                )
            documents.append(document)
        items = [self._id(document, f"{where}: result {at}") for at, document in enumerate(documents, 1)]
        scores = [score for _, score in entries]
        first = list(dict.fromkeys(items))
        self.repeated += len(items) - len(first)
        best = [scores[items.index(item)] for item in first]
        # The order of the results is what counts: some scores are distances, or of another stage.
        return list(zip(first, best, strict=True)) if _fall(best) else first

    def _id(self, document: Any, where: str) -> str:
        if callable(self._field):
            return _checked(self._field(document), "the id function", where)
        fields = _fields(document)
        if self.field is None:
            self.field = self._recognised(fields, where)
        if self.field == _TEXT and self._field is None:
            return self._of_text(fields[_TEXT], where)
        if fields.get(self.field) in (None, ""):
            raise InputError(
                f"the document has no {self.field} ({_shown(fields)})",
                where=where,
                remedy="name the field with the ids: gr.load_model(retriever, id=…)",
            )
        return _checked(fields[self.field], self.field, where)

    def _recognised(self, fields: Mapping[str, Any], where: str) -> str:
        for name in (*(field for field in _FIELDS if field in fields), *fields):
            if name != _TEXT and str(fields[name]) in self._ids:
                return name
        if fields.get(_TEXT) in self._by_text:
            return _TEXT
        item = shorten(min(self._ids, default=""))
        raise InputError(
            f"no field of the document holds the id of an item ({_shown(fields)}; the items have {item})",
            where=where,
            remedy="put the ids into the metadata, or name the field: gr.load_model(retriever, id=…)",
        )

    def _of_text(self, text: Any, where: str) -> str:
        if text not in self._by_text:
            raise InputError(
                f"the text {shorten(text)} is not that of one item, and the documents have no ids",
                where=where,
                remedy="put the ids of the items into the metadata, such as metadata={'id': …}",
            )
        return self._by_text[text]


def _checked(value: Any, name: str, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, np.integer)):
        raise InputError(f"{name} is {shorten(value)}, not an id", where=where, remedy="give a text or a whole number")
    return str(value)


def _parts(entry: Any) -> tuple[Any, float | None]:
    """Return the document of a result and its score; the document is None if it is none."""
    if isinstance(entry, (tuple, list)) and len(entry) == 2 and _is_document(entry[0]):
        return entry[0], _number(entry[1])
    if hasattr(entry, "node") and hasattr(entry, "score"):  # LlamaIndex
        return entry.node, _number(entry.score)
    if isinstance(entry, Mapping):
        return entry, _number(entry.get("score"))
    return (entry, _number(getattr(entry, "score", None))) if _is_document(entry) else (None, None)


def _is_document(entry: Any) -> bool:
    # page_content: LangChain; node_id: LlamaIndex; content with meta: Haystack.
    return (
        hasattr(entry, "page_content")
        or hasattr(entry, "node_id")
        or (hasattr(entry, "content") and hasattr(entry, "meta"))
    )


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None


def _fall(scores: Iterable[float | None]) -> bool:
    """Return True if there is a score for each result, and none is higher than the one before."""
    known: list[float] = []
    for score in scores:
        if score is None or (known and score > known[-1]):
            return False
        known.append(score)
    return True


def _fields(document: Any) -> dict[str, Any]:
    """Return the metadata of a document, and its own id and text where the metadata does not have these."""
    if isinstance(document, Mapping):
        return {str(name): value for name, value in document.items()}
    metadata = getattr(document, "metadata", None) or getattr(document, "meta", None) or {}
    own = {
        "id": getattr(document, "id", None) or getattr(document, "node_id", None),
        "ref_doc_id": getattr(document, "ref_doc_id", None),
        _TEXT: getattr(document, "page_content", None) or getattr(document, "text", None)
        or getattr(document, "content", None),
    }  # fmt: skip
    return {**{name: value for name, value in own.items() if value is not None}, **dict(metadata)}


def _shown(fields: Mapping[str, Any]) -> str:
    listed = ", ".join(f"{name}={shorten(value, 40)}" for name, value in fields.items() if name != _TEXT)
    return f"it has {listed}"[:200] if listed else "it has no metadata"
