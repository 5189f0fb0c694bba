"""goldrank: where did the right answer land?"""

from goldrank.errors import GoldrankError, InputError, MissingExtraError
from goldrank.hits import Gold, Hits, Run
from goldrank.metrics import PROFILES, Conventions, Metric, Profile
from goldrank.scoring import (
    Bootstrap,
    Comparison,
    Score,
    Scores,
    compare,
    compare_hits,
    score,
    score_hits,
)

__version__ = "0.1.0"

__all__ = [
    "PROFILES",
    "Bootstrap",
    "Comparison",
    "Conventions",
    "Gold",
    "GoldrankError",
    "Hits",
    "InputError",
    "Metric",
    "MissingExtraError",
    "Profile",
    "Run",
    "Score",
    "Scores",
    "compare",
    "compare_hits",
    "score",
    "score_hits",
]
