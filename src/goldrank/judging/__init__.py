"""Judging: pool the results of several systems, collect relevance labels, and estimate scores from them.

The names below are public, as ``goldrank.judging.start`` and so on; they are loaded when first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from goldrank.judging.chat_requests import Limits
    from goldrank.judging.estimates import JudgedLeaderboard, leaderboard
    from goldrank.judging.exports import export
    from goldrank.judging.grading import Grading, grade
    from goldrank.judging.imports import Import, import_labels
    from goldrank.judging.judge_agreement import AgreementReport, JudgeQuality, agreement, judge_quality
    from goldrank.judging.labels import GradeScale, Label, ModelGrade
    from goldrank.judging.making_queries import MadeQueries, make_queries
    from goldrank.judging.next_labels import NextLabels, plan_next
    from goldrank.judging.plans import Plan, Unit
    from goldrank.judging.pools import Pool, PooledItem
    from goldrank.judging.progress import JudgingStatus, status
    from goldrank.judging.project import JudgingProject, open_project
    from goldrank.judging.starting import start

_HOMES = {
    "judge_agreement": ("AgreementReport", "JudgeQuality", "agreement", "judge_quality"),
    "chat_requests": ("Limits",),
    "grading": ("Grading", "grade"),
    "estimates": ("JudgedLeaderboard", "leaderboard"),
    "exports": ("export",),
    "imports": ("Import", "import_labels"),
    "labels": ("GradeScale", "Label", "ModelGrade"),
    "making_queries": ("MadeQueries", "make_queries"),
    "next_labels": ("NextLabels", "plan_next"),
    "plans": ("Plan", "Unit"),
    "progress": ("JudgingStatus", "status"),
    "pools": ("Pool", "PooledItem"),
    "project": ("JudgingProject", "open_project"),
    "starting": ("start",),
}

__all__ = [
    "AgreementReport",
    "GradeScale",
    "Grading",
    "Import",
    "JudgeQuality",
    "JudgedLeaderboard",
    "JudgingProject",
    "JudgingStatus",
    "Label",
    "Limits",
    "MadeQueries",
    "ModelGrade",
    "NextLabels",
    "Plan",
    "Pool",
    "PooledItem",
    "Unit",
    "agreement",
    "export",
    "grade",
    "import_labels",
    "judge_quality",
    "leaderboard",
    "make_queries",
    "open_project",
    "plan_next",
    "start",
    "status",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"goldrank.judging.{home}"), name)
    raise AttributeError(f"module 'goldrank.judging' has no attribute {name!r}")
