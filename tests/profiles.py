"""Profiles of Hypothesis: few examples for a contributor, more and deterministic ones in continuous integration."""

import os

from hypothesis import HealthCheck, settings

# The first example of a test often includes an import, so a deadline would make tests fail.
_ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", _ANY_SPEED, max_examples=20)
settings.register_profile("ci", _ANY_SPEED, max_examples=50, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))


def examples(share: float) -> settings:
    """Return the profile with *share* times as many examples, for tests that need more or are slow."""
    return settings(max_examples=max(1, round(share * settings().max_examples)))
