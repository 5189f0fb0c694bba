"""goldrank: where did the right answer land?

The names below are loaded when first used, so that importing the package costs nothing.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goldrank import judging, masked
    from goldrank.analysis.across import AcrossComparison, compare_across
    from goldrank.analysis.audit import Audit, audit
    from goldrank.analysis.explanation import Explanation, explain
    from goldrank.analysis.meta import MetaResult, meta
    from goldrank.analysis.rank_diff import Diff, diff
    from goldrank.analysis.rank_overlap import RankOverlap, rbo
    from goldrank.analysis.sensitivity import Sensitivity, sensitivity
    from goldrank.baselines import Baseline
    from goldrank.comparing import Comparison, compare, compare_hits
    from goldrank.errors import DataWarning, GoldrankError, InputError, MissingExtraError
    from goldrank.gating import GateResult
    from goldrank.hits import Gold, Hits, Run
    from goldrank.index.exact.index import exact_hits
    from goldrank.index.folder import build_index, open_index
    from goldrank.metrics import PROFILES, Conventions, Metric, Profile
    from goldrank.reporting.document.report import report
    from goldrank.reporting.document.sections import Report
    from goldrank.reporting.plots import Plots, plot
    from goldrank.runs.evaluate import evaluate
    from goldrank.runs.gate import gate, save_baseline
    from goldrank.runs.run import Leaderboard, Leaderboards, run
    from goldrank.schemas import load_schema
    from goldrank.scoring import Bootstrap, Score, Scores, score, score_hits
    from goldrank.slices.results import SlicedComparison, SlicedScores, by_slice
    from goldrank.store import Store
    from goldrank.tasks.catalogue import load_data
    from goldrank.tasks.measurement import MeasurementEvaluation, MeasurementTask
    from goldrank.tasks.ranking.evaluation import RankingEvaluation
    from goldrank.tasks.ranking.models import load_model
    from goldrank.tasks.ranking.task import RankingTask
    from goldrank.tasks.task import Evaluation, Task
    from goldrank.vectors.similarity import similarity

__version__ = "0.1.0"

_HOMES = {
    "goldrank.analysis.across": ("AcrossComparison", "compare_across"),
    "goldrank.analysis.audit": ("Audit", "audit"),
    "goldrank.analysis.explanation": ("Explanation", "explain"),
    "goldrank.analysis.sensitivity": ("Sensitivity", "sensitivity"),
    "goldrank.baselines": ("Baseline",),
    "goldrank.comparing": ("Comparison", "compare", "compare_hits"),
    "goldrank.errors": ("DataWarning", "GoldrankError", "InputError", "MissingExtraError"),
    "goldrank.gating": ("GateResult",),
    "goldrank.hits": ("Gold", "Hits", "Run"),
    "goldrank.index.exact.index": ("exact_hits",),
    "goldrank.index.folder": ("build_index", "open_index"),
    "goldrank.metrics": ("PROFILES", "Conventions", "Metric", "Profile"),
    "goldrank.analysis.meta": ("MetaResult", "meta"),
    "goldrank.analysis.rank_diff": ("Diff", "diff"),
    "goldrank.analysis.rank_overlap": ("RankOverlap", "rbo"),
    "goldrank.schemas": ("load_schema",),
    "goldrank.scoring": ("Bootstrap", "Score", "Scores", "score", "score_hits"),
    "goldrank.slices.results": ("SlicedComparison", "SlicedScores", "by_slice"),
    "goldrank.store": ("Store",),
    "goldrank.reporting.document.report": ("report",),
    "goldrank.reporting.document.sections": ("Report",),
    "goldrank.reporting.plots": ("Plots", "plot"),
    "goldrank.runs.evaluate": ("evaluate",),
    "goldrank.runs.gate": ("gate", "save_baseline"),
    "goldrank.runs.run": ("Leaderboard", "Leaderboards", "run"),
    "goldrank.tasks.catalogue": ("load_data",),
    "goldrank.tasks.measurement": ("MeasurementEvaluation", "MeasurementTask"),
    "goldrank.tasks.ranking.evaluation": ("RankingEvaluation",),
    "goldrank.tasks.ranking.models": ("load_model",),
    "goldrank.tasks.ranking.task": ("RankingTask",),
    "goldrank.tasks.task": ("Evaluation", "Task"),
    "goldrank.vectors.similarity": ("similarity",),
}

__all__ = [
    "PROFILES",
    "AcrossComparison",
    "Audit",
    "Baseline",
    "Bootstrap",
    "Comparison",
    "Conventions",
    "DataWarning",
    "Diff",
    "Evaluation",
    "Explanation",
    "GateResult",
    "Gold",
    "GoldrankError",
    "Hits",
    "InputError",
    "Leaderboard",
    "Leaderboards",
    "MeasurementEvaluation",
    "MeasurementTask",
    "MetaResult",
    "Metric",
    "MissingExtraError",
    "Plots",
    "Profile",
    "RankOverlap",
    "RankingEvaluation",
    "RankingTask",
    "Report",
    "Run",
    "Score",
    "Scores",
    "Sensitivity",
    "SlicedComparison",
    "SlicedScores",
    "Store",
    "Task",
    "audit",
    "build_index",
    "by_slice",
    "compare",
    "compare_across",
    "compare_hits",
    "diff",
    "evaluate",
    "exact_hits",
    "explain",
    "gate",
    "judging",
    "load_data",
    "load_model",
    "load_schema",
    "masked",
    "meta",
    "open_index",
    "plot",
    "rbo",
    "report",
    "run",
    "save_baseline",
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
    if name in ("judging", "masked"):
        return import_module(f"goldrank.{name}")
    raise AttributeError(f"module 'goldrank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
