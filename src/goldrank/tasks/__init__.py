"""Tasks: data with a recipe, and the evaluation of any model on them."""

from goldrank.tasks.catalogue import TASKS, find_task
from goldrank.tasks.evaluation import Evaluation, evaluate, measure
from goldrank.tasks.measurement import Figure, MeasuredTask, Measurement
from goldrank.tasks.settings import SCORINGS, Settings
from goldrank.tasks.task import About, Task, task_of
from goldrank.tasks.text_rule import PARTS, TextRule

__all__ = [
    "PARTS",
    "SCORINGS",
    "TASKS",
    "About",
    "Evaluation",
    "Figure",
    "MeasuredTask",
    "Measurement",
    "Settings",
    "Task",
    "TextRule",
    "evaluate",
    "find_task",
    "measure",
    "task_of",
]
