"""Score masked predictions: the rules, and the ranks of the right name per mask, example and page.

Each level is a Hits whose queries are the pages, so that every rank metric applies and every interval is clustered by
page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError, unknown_name
from goldrank.hits import Floats, Hits, Ints
from goldrank.masked.names.matching import MATCHERS
from goldrank.masked.names.patterns import Tier
from goldrank.masked.scoring.profiles import READINGS, SOURCE, Pool, find_profile
from goldrank.stats import Sample

if TYPE_CHECKING:
    import pyarrow

    from goldrank.tasks.ranking.sharding import Sharding

Bools = NDArray[np.bool_]

LEVELS = ("mask", "example", "page")
"""From a single mask to a whole page."""
POOLS = ("alias", "gold")


@dataclass(frozen=True)
class Rules:
    """The rules by which guesses are right and are pooled into answers; by default those of the profile ``source``.

    >>> Rules().profile, Rules.of("strict").matcher, Rules(matcher="seed").profile
    ('source', 'names', 'custom')
    """

    matcher: str = SOURCE.matcher
    """One of ``MATCHERS``: ``tokens`` is any name of the person, ``names`` the same person, ``surname`` the surname;
    ``original`` and ``seed`` are rules of earlier work."""
    tier: Tier = SOURCE.tier
    """The lowest tier that is right."""
    pool: Pool = SOURCE.pool
    """``gold``, the original definition, pools all right guesses, and every other guess by its case-folded string;
    ``alias`` pools all guesses that name the same person, right or wrong."""
    k: int | None = None
    """Number of guesses of each mask that count; None for all."""

    def __post_init__(self) -> None:
        if self.matcher not in MATCHERS:
            raise unknown_name("matcher", self.matcher, MATCHERS, ", ".join(MATCHERS))
        if self.pool not in POOLS:
            raise unknown_name("pool", self.pool, POOLS, ", ".join(POOLS))
        if self.k is not None and self.k < 1:
            raise InputError(f"k={self.k} is not a whole number >= 1", remedy="keep at least one guess per mask")
        if self.tier not in TIERS.get(self.matcher, tuple(Tier)):
            raise InputError(
                f"the matcher {self.matcher} does not distinguish the tier {self.tier.name.lower()}",
                remedy="use the matcher names (--profile strict), which has every tier, or omit the tier",
            )

    @classmethod
    def of(
        cls,
        profile: str | None = None,
        k: int | None = None,
        *,
        pool: str | None = None,
        matcher: str | None = None,
        tier: str | None = None,
    ) -> Rules:
        """Return the rules of a profile, ``source`` (the default) or ``strict``, with individual changes.

        Raises:
            InputError: A change has no effect, or the changes turn the given profile into the other.
        """
        of = find_profile(profile or SOURCE.name)
        least = of.tier if tier is None else Tier[tier.upper()]
        rules = cls(matcher or of.matcher, least, pool or of.pool, k)  # type: ignore[arg-type]
        if profile is not None and rules.profile not in (profile, "custom"):
            given = {"pool": pool, "matcher": matcher, "tier": tier}
            changes = " and ".join(f"{name} {value}" for name, value in given.items() if value is not None)
            raise InputError(
                f"{changes} turn the profile {profile} into {rules.profile}",
                remedy=f"use the profile {rules.profile} alone",
            )
        return rules

    @property
    def profile(self) -> str:
        """The profile that has these rules, or ``custom``."""
        own = self.matcher, self.tier, self.pool
        return next((name for name, of in READINGS.items() if own == (of.matcher, of.tier, of.pool)), "custom")

    @property
    def beside(self) -> Rules:
        """The other reading, shown beside this one: ``strict``, or ``source`` if this is ``strict``."""
        return Rules.of("source" if self.profile == "strict" else "strict", self.k)


TIERS = {
    "tokens": (Tier.GIVEN, Tier.SURNAME),
    "surname": (Tier.GIVEN,),
    "original": (Tier.GIVEN,),
    "seed": (Tier.GIVEN,),
}
"""The tiers that a matcher distinguishes, if not all."""


@dataclass(frozen=True, eq=False)
class Level:
    """One level of scoring: one row per mask, example or page, sorted by page, sequence number and mask."""

    name: str
    """``mask``, ``example`` or ``page``."""
    hits: Hits
    """One query per page; the gold items are its masks ("SEQUENCE:MASK"), its examples ("SEQUENCE") or the title."""
    right: Bools
    """Whether the first answer is right; of equal scores the first in input order."""
    margin: Floats
    """Score of the best right answer minus that of the best wrong one, over the sum of all; NaN without an answer."""
    confidence: Floats
    """Score of the first answer (masks), or its share of the sum of all; NaN without an answer."""
    example: Ints
    """The row of ``MaskedScores.examples`` that each row belongs to; -1 for pages."""

    def sample(self, values: Floats | Bools) -> Sample:
        """Return the mean of *values*, one per row, for each page, weighted by the number of rows."""
        defined = ~np.isnan(values)
        pages, page = len(self.hits.queries), self.hits.query_index
        counts = np.bincount(page[defined], minlength=pages).astype(np.float64)
        sums = np.bincount(page[defined], values[defined].astype(np.float64), minlength=pages)
        means = np.divide(sums, counts, out=np.full(pages, np.nan), where=counts > 0)
        return Sample(means, counts)


@dataclass(frozen=True)
class MaskedCounts:
    """The size of what was scored, shown with every result."""

    pages: int
    examples: int
    masks: int
    unanswered: int
    """Masks without a guess, which count as wrong."""
    absent: int
    """Masks of the examples that are missing from the predictions; they are not counted."""
    led_by_no_name: int = 0
    """Examples whose largest sum belongs to a word that names nobody; the largest sum of a name is the answer."""


@dataclass(frozen=True, eq=False)
class Legacy:
    """The name-matching scores of the original project: one value per page, weighted by its masks."""

    coded: dict[str, Sample]
    """``pnms``, ``nld``, ``lnms`` and ``w-pnms`` as coded there, including faults."""
    right: dict[str, Sample]
    """The same four, corrected."""
    distances: Ints
    """Histogram of the normalised distances of first guesses, in equal bins from 0 to 1."""


@dataclass(frozen=True, eq=False)
class MaskedScores:
    """All levels of one set of predictions, and the columns that results can be split by."""

    rules: Rules
    levels: dict[str, Level]
    """By name: ``mask``, ``example``, ``page``."""
    examples: dict[str, NDArray[Any]]
    """One row per example: ``page`` and ``type`` (str), ``sequence``, ``masks`` and ``length`` (int64; -1 if unknown),
    then further columns of the data (float64 with NaN, or str with None, for missing values)."""
    counts: MaskedCounts
    legacy: Legacy
    frequent: Counter[str] = field(default_factory=Counter)
    """The most frequent first answers to masks, at most ``FREQUENT``."""
    beside: MaskedScores | None = None
    """The same predictions under the other reading (`Rules.beside`); only ``rules`` and ``levels`` differ."""

    @property
    def readings(self) -> tuple[MaskedScores, ...]:
        """These scores, then those under the other reading."""
        return (self,) if self.beside is None else (self, self.beside)


FREQUENT = 1000
"""Number of most frequent first answers that are kept."""


def score_predictions(
    predictions: str | PathLike[str] | pyarrow.Table | Iterable[pyarrow.RecordBatch],
    rules: Rules = Rules(),
    *,
    aliases: Mapping[str, Sequence[str]] | None = None,
    workers: int | None = None,
    sharding: Sharding | None = None,
) -> MaskedScores:
    """Score predictions under *rules* and under the other reading; the order of the rows has no influence.

    Args:
        predictions: A file, a table or record batches (see `goldrank.masked.predictions.files`), read once as a stream.
        rules: What counts as right and how guesses are pooled; ``Rules.of("strict")`` for the profile ``strict``.
        aliases: Other names of the persons, by title.
        workers: Number of processes, which has no influence on the result; by default one per core if there is enough
            to do.
        sharding: Let a cluster score the parts instead, with the same result.
    """
    from goldrank.masked.scoring.streaming import score_stream

    return score_stream(predictions, rules, aliases or {}, workers, sharding)
