"""The guidelines for judges: the definitions of the grades, and rules for all passages."""

from __future__ import annotations

from goldrank.judging.labels import GradeScale

GUIDELINES = (
    "Judge each passage by the query alone, as if it were the only result that you see.",
    "Judge what the passage says. Its length, its style, and whether it shares words with the query do not matter.",
    "Give the same grade to passages that say the same.",
    "If you cannot tell, because the text is broken or needs knowledge that you lack, say that you cannot judge it.",
)
_DEFINITIONS = (
    "the passage has nothing to do with the query",
    "the passage is on the topic of the query, but does not answer it",
    "the passage has some answer to the query, but it is unclear or hidden among other information",
    "the passage is dedicated to the query and has the exact answer",
)


def definitions(scale: GradeScale) -> tuple[str, ...]:
    """Return the definition of each grade; empty texts unless the scale is the default one.

    >>> definitions(GradeScale(("no", "yes")))
    ('', '')
    """
    return _DEFINITIONS if scale == GradeScale() else ("",) * len(scale.names)
