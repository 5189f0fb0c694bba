"""A Python function as a searcher: from a query and a number of items to a ranking."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from goldrank.encoders.function import import_function, report_failure, takes_argument
from goldrank.encoders.rankings import ExternalSearcher, as_ranking
from goldrank.encoders.source_files import source_stamp
from goldrank.errors import shorten
from goldrank.specs import Spec


class SearchFunction(ExternalSearcher):
    """``search:module:function``: calls ``function(query, k)``, or ``function(query, k, query_id)`` if it takes that.

    It returns item ids, best first, or (id, score) pairs in any order, or a dict of scores by id.
    """

    def __init__(self, spec: Spec, function: Callable[..., Any] | None = None) -> None:
        super().__init__(spec)
        self._function = function or import_function(spec)
        self._takes_id = takes_argument(self._function, 2, "query_id")
        self._version = source_stamp(self._function, by_name=function is None)

    @property
    def version(self) -> str:
        """A stamp of the function's file and of the files that it imports from its project."""
        return self._version

    def rank(self, ids: Sequence[str], texts: Sequence[str], k: int) -> Iterator[dict[str, float]]:
        """Call the function for one query after the other."""
        for query, text in zip(ids, texts, strict=True):
            where = f"{self.spec}: query {shorten(query)}"
            with report_failure(f"{where}: the function"):
                results = self._function(text, k, query) if self._takes_id else self._function(text, k)
                # Inside the block, because a generator runs only now.
                ranking = as_ranking(results, k, where)
            yield ranking
