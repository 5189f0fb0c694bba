"""What scoring masked predictions gives: where the right name landed, per mask, per example and per page.

Each level is a Hits whose queries are the pages, so every rank metric applies and every interval is clustered by
page, whatever is counted within it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError, unknown_name
from goldrank.hits import Floats, Hits, Ints
from goldrank.masked.names.matching import MATCHERS
from goldrank.masked.names.patterns import Tier
from goldrank.masked.scoring.profiles import READINGS, SOURCE, Pool, Reading, reading
from goldrank.stats import Sample

if TYPE_CHECKING:
    import pyarrow

    from goldrank.tasks.ranking.sharding import Sharding

Average = Literal["micro", "macro"]
Bools = NDArray[np.bool_]

LEVELS = ("mask", "example", "page")
"""From the single guess to all that was said of a person."""
POOLS = ("alias", "gold")


@dataclass(frozen=True)
class Rules:
    """What counts as right, and how guesses are pooled into one answer; by default those of the profile ``source``.

    >>> Rules().profile, Rules.of("strict").matcher, Rules(matcher="seed").profile
    ('source', 'names', 'custom')
    """

    matcher: str = SOURCE.matcher
    """One of ``MATCHERS``: ``tokens`` is any name of the person, ``names`` the same person, ``surname`` the surname;
    ``original`` and ``seed`` are rules of earlier work."""
    tier: Tier = SOURCE.tier
    """The least agreement that is right."""
    pool: Pool = SOURCE.pool
    """``gold`` is the original definition: all right guesses together, every other by its case-folded string;
    ``alias`` pools all guesses that name the same person, right or wrong."""
    k: int | None = None
    """Only the first so many guesses of each mask count; None for all."""

    def __post_init__(self) -> None:
        if self.matcher not in MATCHERS:
            raise unknown_name("matcher", self.matcher, MATCHERS, ", ".join(MATCHERS))
        if self.pool not in POOLS:
            raise unknown_name("pool", self.pool, POOLS, ", ".join(POOLS))
        if self.k is not None and self.k < 1:
            raise InputError(f"k is {self.k}", remedy="keep at least one guess of each mask")
        if self.tier not in TIERS.get(self.matcher, tuple(Tier)):
            raise InputError(
                f"the matcher {self.matcher} does not tell the tier {self.tier.name.lower()} from others",
                remedy="use the matcher names (--profile strict), which knows every tier, or leave the tier out",
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
        """Return the rules of a profile, ``source`` (the default) or ``strict``, with single ones changed.

        Raises:
            InputError: a change has no effect, or the changes turn the profile that was asked for into the other.
        """
        of = reading(profile or SOURCE.name)
        least = of.tier if tier is None else Tier[tier.upper()]
        made = cls(matcher or of.matcher, least, pool or of.pool, k)  # type: ignore[arg-type]
        if profile is not None and made.profile not in (profile, "custom"):
            given = {"pool": pool, "matcher": matcher, "tier": tier}
            changes = " and ".join(f"{name} {value}" for name, value in given.items() if value is not None)
            raise InputError(
                f"{changes} turn the profile {profile} into {made.profile}",
                remedy=f"ask for the profile {made.profile} alone",
            )
        return made

    @property
    def profile(self) -> str:
        """The profile that has these rules, or ``custom``."""
        return next((name for name, of in READINGS.items() if self._follows(of)), "custom")

    def _follows(self, of: Reading) -> bool:
        return (self.matcher, self.tier, self.pool) == (of.matcher, of.tier, of.pool)

    @property
    def beside(self) -> Rules:
        """The other reading, to be shown beside this one: ``strict``, or ``source`` beside ``strict``."""
        return Rules.of("source" if self.profile == "strict" else "strict", self.k)


TIERS = {
    "tokens": (Tier.GIVEN, Tier.SURNAME),
    "surname": (Tier.GIVEN,),
    "original": (Tier.GIVEN,),
    "seed": (Tier.GIVEN,),
}
"""The tiers that change what is right under a matcher, where these are not all; the default is always one."""


@dataclass(frozen=True)
class Group:
    """Guesses taken as one answer."""

    name: str
    """The member that decides whether the group is right."""
    total: float
    """The sum of its members' scores, exactly rounded, so that no order of the guesses changes it."""
    right: bool
    members: tuple[str, ...]
    """The spellings in the group, in the order of their first appearance."""
    named: bool = True
    """Whether it can be the answer; pronouns and other words that name nobody cannot with ``pool=alias``."""


@dataclass(frozen=True, eq=False)
class Level:
    """One level of scoring: one row per mask, example or page, sorted by page, sequence number and mask."""

    name: str
    """``mask``, ``example`` or ``page``."""
    hits: Hits
    """One query per page; its gold items are the masks ("SEQUENCE:MASK"), the examples ("SEQUENCE") or the title."""
    right: Bools
    """Whether the first answer is right; of equal scores the one that was said first."""
    margin: Floats
    """The best right answer's score less the best wrong one's, over the sum of all; NaN where there is no answer."""
    confidence: Floats
    """The first answer's score (masks), or its share of the sum of all; NaN where there is no answer."""
    example: Ints
    """The row of ``MaskedScores.examples`` that each row belongs to; -1 for pages."""

    def sample(self, values: Floats | Bools, average: Average = "micro") -> Sample:
        """*values*, one per row, as a value per page: ``micro`` weighs pages by their rows, ``macro`` alike."""
        defined = ~np.isnan(values)
        pages, page = len(self.hits.queries), self.hits.query_index
        counts = np.bincount(page[defined], minlength=pages).astype(np.float64)
        sums = np.bincount(page[defined], values[defined].astype(np.float64), minlength=pages)
        means = np.divide(sums, counts, out=np.full(pages, np.nan), where=counts > 0)
        return Sample(means, counts if average == "micro" else None)


@dataclass(frozen=True)
class MaskedCounts:
    """What was scored; shown with every result."""

    pages: int
    examples: int
    masks: int
    unanswered: int
    """Masks without any guess: they count as wrong."""
    absent: int
    """Masks that the examples are said to have and the predictions do not hold: they are not counted at all."""
    led_by_no_name: int = 0
    """Examples whose largest sum is that of a word that names nobody, so that the largest sum of a name answers."""


@dataclass(frozen=True, eq=False)
class Legacy:
    """The name-matching scores of the original project, each as a value per page weighted by its masks."""

    coded: dict[str, Sample]
    """``pnms``, ``nld``, ``lnms`` and ``w-pnms`` as coded there, faults included."""
    right: dict[str, Sample]
    """The same four done right."""
    distances: Ints
    """How many first guesses lie at which normalised distance from the title: equal bins from 0 to 1."""


@dataclass(frozen=True, eq=False)
class MaskedScores:
    """All levels of one set of predictions, and what results can be split by."""

    rules: Rules
    levels: dict[str, Level]
    """By name: ``mask``, ``example``, ``page``."""
    examples: dict[str, NDArray[Any]]
    """One row per example: ``page`` and ``type`` (str), ``sequence``, ``masks`` and ``length`` (int64; -1 where a
    length is not known), then further columns of the data (float64 with NaN, or str with None, for no value)."""
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
"""How many of the most frequent first answers are kept."""


def score_predictions(
    predictions: str | PathLike[str] | pyarrow.Table | Iterable[pyarrow.RecordBatch],
    rules: Rules = Rules(),  # noqa: B008 - frozen
    *,
    aliases: Mapping[str, Sequence[str]] | None = None,
    workers: int | None = None,
    sharding: Sharding | None = None,
) -> MaskedScores:
    """Score predictions in canonical columns, in whatever order the rows come, under *rules* and the other reading.

    Args:
        predictions: a file of predictions, or their table or record batches (see `goldrank.masked.predictions.files`);
            read once, never held as a whole.
        rules: what counts as right and how guesses are pooled; ``Rules.of("strict")`` for the profile ``strict``.
        aliases: other names of the persons, by title.
        workers: how many processes score; by default one per core where there is enough to do. The result is the
            same to the bit for any number.
        sharding: let a cluster score the parts instead; the result is the same again.
    """
    from goldrank.masked.scoring.streaming import score_stream

    return score_stream(predictions, rules, aliases or {}, workers, sharding)
