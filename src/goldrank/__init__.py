"""goldrank: where did the right answer land?

The names below are loaded when first used, so that importing the package costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goldrank.analysis.rank_overlap import RankOverlap, rbo
    from goldrank.analysis.sensitivity import Sensitivity, sensitivity
    from goldrank.comparing import Comparison, compare, compare_hits
    from goldrank.errors import DataWarning, GoldrankError, InputError, MissingExtraError
    from goldrank.hits import Gold, Hits, Run
    from goldrank.index.exact.index import exact_hits
    from goldrank.index.folder import open_index
    from goldrank.metrics import PROFILES, Conventions, Metric, Profile
    from goldrank.runs.evaluate import evaluate
    from goldrank.scoring import Bootstrap, Score, Scores, score, score_hits
    from goldrank.store import Store
    from goldrank.tasks.measurement import MeasurementEvaluation, MeasurementTask
    from goldrank.tasks.ranking.evaluation import RankingEvaluation
    from goldrank.tasks.ranking.task import RankingTask
    from goldrank.tasks.task import Evaluation, Task
    from goldrank.vectors.similarity import similarity

__version__ = "0.1.0"

_HOMES = {
    "goldrank.analysis.sensitivity": ("Sensitivity", "sensitivity"),
    "goldrank.comparing": ("Comparison", "compare", "compare_hits"),
    "goldrank.errors": ("DataWarning", "GoldrankError", "InputError", "MissingExtraError"),
    "goldrank.hits": ("Gold", "Hits", "Run"),
    "goldrank.index.exact.index": ("exact_hits",),
    "goldrank.index.folder": ("open_index",),
    "goldrank.metrics": ("PROFILES", "Conventions", "Metric", "Profile"),
    "goldrank.analysis.rank_overlap": ("RankOverlap", "rbo"),
    "goldrank.scoring": ("Bootstrap", "Score", "Scores", "score", "score_hits"),
    "goldrank.store": ("Store",),
    "goldrank.runs.evaluate": ("evaluate",),
    "goldrank.tasks.measurement": ("MeasurementEvaluation", "MeasurementTask"),
    "goldrank.tasks.ranking.evaluation": ("RankingEvaluation",),
    "goldrank.tasks.ranking.task": ("RankingTask",),
    "goldrank.tasks.task": ("Evaluation", "Task"),
    "goldrank.vectors.similarity": ("similarity",),
}

__all__ = [
    "PROFILES",
    "Bootstrap",
    "Comparison",
    "Conventions",
    "DataWarning",
    "Evaluation",
    "Gold",
    "GoldrankError",
    "Hits",
    "InputError",
    "MeasurementEvaluation",
    "MeasurementTask",
    "Metric",
    "MissingExtraError",
    "Profile",
    "RankOverlap",
    "RankingEvaluation",
    "RankingTask",
    "Run",
    "Score",
    "Scores",
    "Sensitivity",
    "Store",
    "Task",
    "compare",
    "compare_hits",
    "evaluate",
    "exact_hits",
    "open_index",
    "rbo",
    "score",
    "score_hits",
    "sensitivity",
    "similarity",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(home), name)
            return value
    raise AttributeError(f"module 'goldrank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
