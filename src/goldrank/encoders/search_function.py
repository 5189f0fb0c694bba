"""Any Python function that searches, as a model: a query and a number of items to a ranking."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from goldrank.encoders.base import Options, checked_texts, identity_of, refuse_ids
from goldrank.encoders.function import imported, takes_argument
from goldrank.encoders.rankings import KnownItems, as_ranking, refuse_k
from goldrank.encoders.source_files import source_stamp
from goldrank.errors import GoldrankError, shorten
from goldrank.hits import Run
from goldrank.progress import Progress
from goldrank.specs import Spec

_NONE_OF_THEM = ("query_prompt", "item_prompt", "batch_size", "device", "dtype", "max_length", "dim")


class SearchFunction:
    """``search:module:function``: calls ``function(query, k)``, or ``function(query, k, query_id)`` if it takes that.

    It gives back item ids in order, best first, or (id, score) pairs in any order, or a dict of scores by id.
    """

    def __init__(self, spec: Spec, function: Callable[..., Any] | None = None) -> None:
        Options.take(spec, without=_NONE_OF_THEM)
        self.spec = spec
        self._function = function or imported(spec)
        self._takes_id = takes_argument(self._function, 2, "query_id")
        self._version = source_stamp(self._function, by_name=function is None)
        self._known = KnownItems()

    @property
    def identity(self) -> str:
        """The function's name and a stamp of the file it stands in, and of what that imports from its project."""
        return identity_of(self.spec, self._version)

    @property
    def unknown(self) -> frozenset[str]:
        """Found ids that are no items of the corpus."""
        return self._known.unknown

    def index(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Remember the ids of the items, to check what is found; the function has its own corpus."""
        self._known.set(ids)

    def search(self, ids: Sequence[str], texts: Sequence[str], k: int) -> Run:
        """The k best items of each query."""
        refuse_k(k)
        texts = checked_texts(texts)
        refuse_ids(ids, texts)
        rankings: dict[str, dict[str, float]] = {}
        with Progress(f"searching with {self.spec}", total=len(texts), unit="query") as progress:
            for query, text in zip(ids, texts, strict=True):
                rankings[query] = self._ranking(query, text, k)
                progress.advance()
        self._known.check((item for ranking in rankings.values() for item in ranking), str(self.spec))
        return Run(rankings)

    def _ranking(self, query: str, text: str, k: int) -> dict[str, float]:
        where = f"{self.spec}: query {shorten(query)}"
        try:
            found = self._function(text, k, query) if self._takes_id else self._function(text, k)
            # Here, because a generator runs only now.
            return as_ranking(found, k, where)
        except GoldrankError:
            raise
        except Exception as error:
            raise GoldrankError(f"{where}: the function failed: {type(error).__name__}: {error}") from error
