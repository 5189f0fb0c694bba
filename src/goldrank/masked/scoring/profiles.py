"""The two profiles of masked scoring, each one reading of what a right answer is: `source` and `strict`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from goldrank.errors import unknown_name
from goldrank.masked.names.patterns import Tier

Pool = Literal["alias", "gold"]
Masking = Literal["parts", "person"]
ProfileName = Literal["source", "strict"]


@dataclass(frozen=True)
class Reading:
    """What a profile decides, in scoring and in making examples."""

    name: ProfileName
    matcher: str
    """What makes a guess right: one of `goldrank.masked.names.matching.MATCHERS`."""
    pool: Pool
    """``gold``: all right guesses are one group, every other guess is grouped by its case-folded string; ``alias``: all
    names of a person are one group, whether right or wrong."""
    tier: Tier
    """The least agreement that is right."""
    masking: Masking
    """``parts``: every part of the title's name is masked wherever it stands as written; ``person``: mentions of the
    person are."""


SOURCE = Reading("source", matcher="tokens", pool="gold", tier=Tier.GIVEN, masking="parts")
"""The definition of the project that made the data: a guess is right if it shares a part of the name with the title.

A part of a name is a whole word, whatever its case: ``tokens``, not ``seed``, for which the qualifier of a title
(*photographer*), a particle (*von*), a numeral and an initial would be parts of a name as well.
"""
STRICT = Reading("strict", matcher="names", pool="alias", tier=Tier.GIVEN, masking="person")
"""The same person by the full name: a further name that contradicts the title makes it somebody else."""
READINGS: dict[str, Reading] = {reading.name: reading for reading in (SOURCE, STRICT)}
"""By the name of the profile, the default first."""


def reading(profile: str) -> Reading:
    """Return the reading of a profile.

    >>> reading("strict").matcher
    'names'
    """
    if profile not in READINGS:
        raise unknown_name("profile", profile, READINGS, ", ".join(READINGS))
    return READINGS[profile]
