"""The profiles of masked evaluation: `source` and `strict`, two readings of what a right answer is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from goldrank.errors import unknown_name
from goldrank.masked.names.patterns import Tier

Pool = Literal["alias", "gold"]
Masking = Literal["parts", "person"]
ProfileName = Literal["source", "strict"]


@dataclass(frozen=True)
class MaskedProfile:
    """The settings of a profile for scoring and for making examples."""

    name: ProfileName
    matcher: str
    """Key of `goldrank.masked.names.matching.MATCHERS` that decides which guesses are right."""
    pool: Pool
    """``gold``: all right guesses are one group, every other guess is grouped by its case-folded string; ``alias``: all
    names of a person are one group, right or wrong."""
    tier: Tier
    """The lowest tier that is right."""
    masking: Masking
    """``parts``: every part of the title's name is masked as written; ``person``: mentions of the person are masked."""


SOURCE = MaskedProfile("source", matcher="tokens", pool="gold", tier=Tier.GIVEN, masking="parts")
"""The definition of the project that published the data: a guess is right if it shares a name part with the title.

A part of a name is a whole word, regardless of case. The matcher is ``tokens``, because for ``seed`` the qualifier of a
title (*photographer*), a particle (*von*), a numeral and an initial are parts of a name as well.
"""
STRICT = MaskedProfile("strict", matcher="names", pool="alias", tier=Tier.GIVEN, masking="person")
"""The same person by the full name: a name that contradicts the title makes a guess wrong."""
READINGS: dict[str, MaskedProfile] = {profile.name: profile for profile in (SOURCE, STRICT)}
"""Profiles by name, the default first."""


def find_profile(profile: str) -> MaskedProfile:
    """Return a profile by name.

    >>> find_profile("strict").matcher
    'names'
    """
    if profile not in READINGS:
        raise unknown_name("profile", profile, READINGS, ", ".join(READINGS))
    return READINGS[profile]
