"""How many examples Hypothesis tries: few for a contributor, more and always the same in continuous integration."""

import os

from hypothesis import HealthCheck, settings

# No test asserts a time, so none may fail on one: the first example of a test often pays for an import.
_ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("dev", _ANY_SPEED, max_examples=20)
settings.register_profile("ci", _ANY_SPEED, max_examples=50, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev"))


def examples(share: float) -> settings:
    """The profile with *share* times as many examples, for tests that need more or are slow."""
    return settings(max_examples=max(1, round(share * settings().max_examples)))
