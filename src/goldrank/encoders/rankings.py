"""What a foreign search gives back, checked and made into rankings that are cut at k in one way everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from goldrank.errors import InputError, shorten
from goldrank.io.checks import find_duplicate, id_strings, numeric_values, refuse_non_finite


def refuse_k(k: int) -> None:
    """Raise unless *k* asks for something."""
    if k < 1:
        raise InputError(f"k={k} is not a whole number from 1 up", remedy="ask for at least one item")


def best(ranking: Mapping[str, float], k: int) -> dict[str, float]:
    """The k best of a ranking in their order, equal scores by descending id as in trec_eval.

    >>> best({"a": 1.0, "c": 2.0, "b": 1.0}, 2)
    {'c': 2.0, 'b': 1.0}
    """
    # Code points order as UTF-8 bytes do.
    order = sorted(ranking.items(), key=lambda entry: (entry[1], entry[0]), reverse=True)
    return dict(order[:k])


def as_ranking(found: object, k: int, where: str) -> dict[str, float]:
    """The k best of what a search found: item ids in their order, (id, score) pairs in any order, or a dict.

    Ids in their order get the scores k, k-1 … and those after the k-th are left out.

    >>> as_ranking(["d7", 3], 10, "my search")
    {'d7': 10.0, '3': 9.0}
    >>> as_ranking([("a", 0.5), ("b", 0.75)], 10, "my search")
    {'b': 0.75, 'a': 0.5}
    """
    if isinstance(found, Mapping):
        return _scored(list(found), list(found.values()), k, where)
    if isinstance(found, (str, bytes, set, frozenset)) or not isinstance(found, Iterable):
        raise InputError(
            f"{shorten(found)} is not a ranking", where=where, remedy="give item ids, (id, score) pairs or a dict"
        )
    # An endless generator of ids is a fine answer; pairs have to be seen to the end before the best are known.
    taken = iter(found)
    entries: list[Any] = list(islice(taken, k))
    if not any(_is_pair(entry) for entry in entries):
        return dict(zip(_ids(entries, where), map(float, range(k, 0, -1)), strict=False))
    entries += taken
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
    return best(dict(zip(ids, values.tolist(), strict=True)), k)


def _plain(score: Any) -> Any:
    """A number out of an array or tensor of one, as models give them."""
    return score.item() if hasattr(score, "item") and getattr(score, "ndim", 0) == 0 else score


def _ids(items: Sequence[object], where: str) -> list[str]:
    ids = id_strings(items, role="item", integers=True, place=_place(where))
    if duplicate := find_duplicate(ids):
        what = f"the item {shorten(ids[duplicate[0]])} was found twice"
        raise InputError(what, where=where, remedy="give each item once")
    return ids


def _place(where: str) -> Any:
    return lambda row: f"{where}: result {row + 1}"


class KnownItems:
    """The ids of the corpus, to tell rankings of it from rankings of something else."""

    def __init__(self) -> None:
        self._ids: frozenset[str] | None = None
        self.unknown: frozenset[str] = frozenset()
        """Ranked ids that are no items of the corpus; they keep their ranks, as in trec_eval."""

    def set(self, ids: Sequence[str]) -> None:
        """Take in the corpus."""
        self._ids = frozenset(ids)

    def check(self, ranked: Iterable[str], where: str) -> None:
        """Count the ids that are not known, and raise if that is all of them."""
        found = frozenset(ranked)
        if self._ids is None or not found:
            return
        foreign = found - self._ids
        if len(foreign) == len(found):
            raise InputError(
                f"none of the {len(found)} ranked ids is an item (it ranks {shorten(min(foreign))}, "
                f"the items have {shorten(min(self._ids, default=''))})",
                where=where,
                remedy="check that the ranking was made over these items, with the same ids",
            )
        self.unknown |= foreign
