"""A Python function or object as a searcher: from a query and a number of items to a ranking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from goldrank.encoders.base import LIVE
from goldrank.encoders.documents import DocumentId, ResultReader
from goldrank.encoders.function import checked_function, import_object, report_failure, takes_argument
from goldrank.encoders.objects import decides_depth, search_function_of
from goldrank.encoders.rankings import ExternalSearcher, as_ranking
from goldrank.errors import counts, shorten
from goldrank.specs import Spec


class SearchFunction(ExternalSearcher):
    """``search:module:name``: calls ``name(query, k)``, or ``name(query, k, query_id)`` if it takes that.

    It returns item ids, best first, or (id, score) pairs in any order, a dict of scores by id, or documents of
    LangChain, LlamaIndex or Haystack, best first. The name may also be that of an object with a method ``search`` or of
    a retriever of these libraries. ``id=`` names the field of the documents that holds the ids of the items.
    """

    live = True

    def __init__(
        self, spec: Spec, model: Callable[..., Any] | object | None = None, document_id: DocumentId | None = None
    ) -> None:
        super().__init__(spec, "id")
        self.resumable = model is None
        model = import_object(spec) if model is None else model
        self._function: Callable[..., Any] = search_function_of(model) or checked_function(model, spec)
        self._takes_id = takes_argument(self._function, 2, "query_id")
        self._documents = ResultReader(document_id or self._own.get("id"))
        self._decides_depth = decides_depth(model)

    @property
    def version(self) -> str:
        """Unknown: the code does not tell what the system behind it holds."""
        return LIVE

    def index(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Remember the items, to recognise them in the results."""
        super().index(ids, texts)
        self._documents.index(ids, texts)

    def rank(self, ids: Sequence[str], texts: Sequence[str], k: int) -> Iterator[dict[str, float]]:
        """Call the function for one query after the other."""
        for query, text in zip(ids, texts, strict=True):
            where = f"{self.spec}: query {shorten(query)}"
            with report_failure(f"{where}: the function"):
                results = self._function(text, k, query) if self._takes_id else self._function(text, k)
                # Inside the block, because a generator runs only now.
                ranking = as_ranking(self._documents.results(results, where), k, where)
            yield ranking

    def remarks(self, longest: int, k: int) -> list[str]:
        """Return what the user has to know of results that are documents, after a search.

        Args:
            longest: The length of the longest ranking.
            k: The number of results that was wanted.
        """
        remarks = []
        if self._decides_depth and longest < k:
            remarks.append(
                f"the retriever returned at most {counts(longest, 'result')} for a query; items beyond that count as "
                "not found"
            )
        if self._documents.repeated:
            further = counts(self._documents.repeated, "result was", "results were")
            remarks.append(f"{further} further parts of items that are ranked already, and left out")
        if self._documents.field is not None:
            remarks.append(f"the ids of items are read from the field {self._documents.field} of the results")
        return remarks
