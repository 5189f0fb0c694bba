"""Tasks: data with a recipe, and the evaluation of any model on them."""

from goldrank.data.sources import DatasetDescription
from goldrank.data.text_rule import PARTS, TextRule
from goldrank.tasks.catalogue import TASKS, find_task
from goldrank.tasks.measurement import MeasuredValue, Measurement, MeasurementTask
from goldrank.tasks.ranking.task import RankingTask, task_of
from goldrank.tasks.settings import SCORINGS, Settings
from goldrank.tasks.task import Task

__all__ = [
    "PARTS",
    "SCORINGS",
    "TASKS",
    "DatasetDescription",
    "MeasuredValue",
    "Measurement",
    "MeasurementTask",
    "RankingTask",
    "Settings",
    "Task",
    "TextRule",
    "find_task",
    "task_of",
]
