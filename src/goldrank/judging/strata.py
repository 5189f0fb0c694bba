"""Strata: groups of all queries, from each of which queries are drawn at random."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from goldrank.data.collections.collection import further_fields
from goldrank.errors import InputError, counts, shorten, unknown_name
from goldrank.slices import Attributes, Slice, read_attributes
from goldrank.slices.derived import DERIVED, PlainTexts, SliceSource
from goldrank.tasks.ranking.data import RankingData

ALLOCATIONS = {
    "proportional": "each stratum gets a share of the judged queries like its share of all",
    "equal": "all strata get as many, so that small ones are estimated as well as large ones",
}
LEAST = 2
"""The queries of each stratum that are judged before any third one; a variance needs two."""


@dataclass(frozen=True)
class Strata:
    """The slices of an attribute as strata; each query is in one of them."""

    slices: tuple[Slice, ...]
    allocation: str = "proportional"
    """One of `ALLOCATIONS`."""

    @property
    def attribute(self) -> str:
        """The attribute."""
        return self.slices[0].attribute

    @property
    def sizes(self) -> list[int]:
        """How many queries each stratum has."""
        return [len(part) for part in self.slices]

    @cached_property
    def number(self) -> dict[str, int]:
        """The stratum of each query, from 0."""
        return {query: number for number, part in enumerate(self.slices) for query in part.queries}

    @cached_property
    def order(self) -> list[int]:
        """The stratum of each position in the order of judging, which depends on nothing but sizes and allocation.

        The first positions are `LEAST` of each stratum. Then follows the stratum that is furthest behind its share, by
        the divisors of Sainte-Laguë, so that every beginning of the order has the shares that are wanted.

        >>> strata = Strata(tuple(Slice("kind", value, tuple(value * n for n in range(1, 9))) for value in "ab"))
        >>> strata.order[:6]
        [0, 1, 0, 1, 0, 1]
        """
        sizes = self.sizes
        wanted = sizes if self.allocation == "proportional" else [1] * len(sizes)
        placed = [0] * len(sizes)
        order = []
        for _ in range(sum(sizes)):
            left = [number for number, size in enumerate(sizes) if placed[number] < size]
            least = min(placed[number] for number in left)
            if least < LEAST:
                chosen = next(number for number in left if placed[number] == least)
            else:
                chosen = max(left, key=lambda number: wanted[number] / (2 * placed[number] + 1))
            placed[chosen] += 1
            order.append(chosen)
        return order


def make_strata(
    data: RankingData,
    attribute: str | None,
    slices: object = None,
    allocation: str | None = None,
    *,
    limited: bool = False,
) -> Strata | None:
    """Return the strata into which an attribute cuts the queries; None without *attribute* and *slices*.

    Args:
        data: The queries, whose further fields are attributes.
        attribute: A further field of the queries, an attribute of *slices*, or one that is derived from the texts of
            queries; None for the only attribute of *slices*.
        slices: Attributes, or what `read_attributes` reads.
        allocation: One of `ALLOCATIONS`; None for ``proportional``.
        limited: Whether *data* has a part of the queries only, so that *slices* may describe others.

    Raises:
        InputError: The attribute does not exist or does not divide the queries, or a stratum has one query.
    """
    if attribute is None and slices is None:
        if allocation is not None:
            raise InputError("an allocation needs strata", remedy="name an attribute of the queries as strata")
        return None
    if allocation not in (None, *ALLOCATIONS):
        raise unknown_name("allocation", str(allocation), ALLOCATIONS, f"one of {', '.join(ALLOCATIONS)}")
    attributes = Attributes({})
    if slices is not None:
        attributes = slices if isinstance(slices, Attributes) else read_attributes(slices)
        if not limited:
            attributes.refuse_unknown(data.query_ids, "the project")
    if attribute is None:
        if len(attributes.values) > 1:
            raise InputError(
                f"there are {len(attributes.values)} attributes: {', '.join(attributes.values)}",
                where=attributes.source,
                remedy="choose one as strata",
            )
        [attribute] = attributes.values
    held = Attributes(further_fields(data.collection.queries), "the queries") | attributes
    if attribute in DERIVED and attribute not in held.values and DERIVED[attribute].needs != "queries":
        raise InputError(
            f"{attribute} is derived from judgments or from all documents, and cannot define strata",
            remedy=f"choose {', '.join(name for name, each in DERIVED.items() if each.needs == 'queries')}, or a field",
        )
    texts = PlainTexts(dict(zip(data.query_ids, data.query_texts, strict=True)))
    slices_of_all = SliceSource(data.gold, held, texts).slices([attribute])
    for part in slices_of_all:
        if len(part) < LEAST:
            raise InputError(
                f"the stratum {part} has {counts(len(part), 'query', 'queries')}, and a variance needs {LEAST}",
                where=held.source,
                remedy=f"give query {shorten(part.queries[0])} another value, or choose another attribute",
            )
    # What is too small for a test is not too small for a stratum.
    return Strata(tuple(replace(part, too_small=False) for part in slices_of_all), allocation or "proportional")
