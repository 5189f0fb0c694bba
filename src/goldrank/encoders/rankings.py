"""Rankings of search systems outside goldrank: convert and check their results, and the base class of such models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from goldrank.encoders.base import Options, check_ids, check_texts, identity_of
from goldrank.errors import InputError, shorten
from goldrank.hits import Run
from goldrank.io.checks import find_duplicate, id_strings, numeric_values, refuse_non_finite
from goldrank.progress import Progress
from goldrank.specs import Spec


def check_k(k: int) -> None:
    """Raise unless *k* is at least 1."""
    if k < 1:
        raise InputError(f"k={k} is not a whole number from 1 up", remedy="ask for at least one item")


def top_items(ranking: Mapping[str, float], k: int | None = None) -> dict[str, float]:
    """Return the k best items of a ranking, or all, best first; equal scores by descending id as in trec_eval.

    >>> top_items({"a": 1.0, "c": 2.0, "b": 1.0}, 2)
    {'c': 2.0, 'b': 1.0}
    """
    # Code points order as UTF-8 bytes do.
    order = sorted(ranking.items(), key=lambda entry: (entry[1], entry[0]), reverse=True)
    return dict(order[:k])


def as_ranking(results: object, k: int, where: str) -> dict[str, float]:
    """Return the k best of the results of a search: ids, best first, (id, score) pairs in any order, or a dict.

    Ids without scores get the scores k, k-1 …, and ids after the k-th are ignored.

    >>> as_ranking(["d7", 3], 10, "my search")
    {'d7': 10.0, '3': 9.0}
    >>> as_ranking([("a", 0.5), ("b", 0.75)], 10, "my search")
    {'b': 0.75, 'a': 0.5}
    """
    if isinstance(results, Mapping):
        return _scored(list(results), list(results.values()), k, where)
    if isinstance(results, (str, bytes, set, frozenset)) or not isinstance(results, Iterable):
        raise InputError(
            f"{shorten(results)} is not a ranking", where=where, remedy="give item ids, (id, score) pairs or a dict"
        )
    # A generator of ids may be endless; pairs have to be read to the end before the best are known.
    iterator = iter(results)
    entries: list[Any] = list(islice(iterator, k))
    if not any(_is_pair(entry) for entry in entries):
        return dict(zip(_ids(entries, where), map(float, range(k, 0, -1)), strict=False))
    entries += iterator
    for at, entry in enumerate(entries):
        if not _is_pair(entry):
            raise InputError(
                f"{shorten(entry)} is not an (id, score) pair",
                where=f"{where}: result {at + 1}",
                remedy="give a score with all ids or with none",
            )
    return _scored([entry[0] for entry in entries], [entry[1] for entry in entries], k, where)


def _is_pair(entry: object) -> bool:
    return isinstance(entry, (tuple, list)) and len(entry) == 2


def _scored(items: Sequence[object], scores: Sequence[object], k: int, where: str) -> dict[str, float]:
    ids = _ids(items, where)
    values = numeric_values([_plain(score) for score in scores], value="score", place=_place(where))
    refuse_non_finite(values, value="score", place=_place(where))
    return top_items(dict(zip(ids, values.tolist(), strict=True)), k)


def _plain(score: Any) -> Any:
    """Return the number in an array or tensor of one element."""
    return score.item() if hasattr(score, "item") and getattr(score, "ndim", 0) == 0 else score


def _ids(items: Sequence[object], where: str) -> list[str]:
    ids = id_strings(items, role="item", integers=True, place=_place(where))
    if duplicate := find_duplicate(ids):
        what = f"the item {shorten(ids[duplicate[0]])} was found twice"
        raise InputError(what, where=where, remedy="give each item once")
    return ids


def _place(where: str) -> Any:
    return lambda row: f"{where}: result {row + 1}"


class ExternalSearcher(ABC):
    """A searcher with a corpus of its own, whose ranked ids are compared with those of the evaluated items.

    Args:
        spec: the spec of the model.
        own: the options of its kind.
    """

    def __init__(self, spec: Spec, *own: str) -> None:
        unused = ("query_prompt", "item_prompt", "batch_size", "device", "dtype", "max_length", "dim")
        _, self._own = Options.split(spec, *own, without=unused)
        self.spec = spec
        self._item_ids: frozenset[str] | None = None
        self.unknown: frozenset[str] = frozenset()
        """Ranked ids that are not items of the corpus; they keep their ranks, as in trec_eval."""

    @property
    @abstractmethod
    def version(self) -> str:
        """The part of the identity beside the spec."""

    @abstractmethod
    def rank(self, ids: Sequence[str], texts: Sequence[str], k: int) -> Iterable[dict[str, float]]:
        """Return the k best items of each query."""

    @property
    def identity(self) -> str:
        """Everything that can change a score."""
        return identity_of(self.spec, self.version)

    def index(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Remember the ids of the items, to check the ranked ids."""
        self._item_ids = frozenset(ids)

    def search(self, ids: Sequence[str], texts: Sequence[str], k: int) -> Run:
        """Return the k best items of each query."""
        check_k(k)
        texts = check_texts(texts)
        check_ids(ids, texts)
        rankings: dict[str, dict[str, float]] = {}
        with Progress(f"searching with {self.spec}", total=len(texts), unit="query") as progress:
            for query, ranking in zip(ids, self.rank(ids, texts, k), strict=True):
                rankings[query] = ranking
                progress.advance()
        self._check_ranked({item for ranking in rankings.values() for item in ranking})
        return Run(rankings)

    def _check_ranked(self, ranked: set[str]) -> None:
        """Record the ids that are not items, and raise if none is."""
        if self._item_ids is None or not ranked:
            return
        unknown = ranked - self._item_ids
        if len(unknown) == len(ranked):
            raise InputError(
                f"none of the {len(ranked)} ranked ids is an item (it ranks {shorten(min(unknown))}, "
                f"the items have {shorten(min(self._item_ids, default=''))})",
                where=str(self.spec),
                remedy="check that the ranking was made over these items, with the same ids",
            )
        self.unknown |= unknown
