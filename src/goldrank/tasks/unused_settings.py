"""Refuse settings that have no effect on any model and task of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from goldrank.errors import InputError
from goldrank.tasks.ranking.models import Model
from goldrank.tasks.settings import Settings
from goldrank.tasks.task import TaskData

_REASONS = {
    "similarity": "it compares vectors, in rankings and correlations only",
    "index": "it searches vectors, for tasks that rank",
    "scoring": "it compares vectors, for tasks that rank",
    "transform": "it changes vectors, and no model here has any",
    "oov": "it is for models of word vectors (words:FILE), one vector for each text, in rankings and correlations",
    "depth": "it is for tasks that rank",
    "rerank": "it is for tasks that rank",
    "chunk": "it is for tasks that rank, and for models that read the texts of the items",
    "text": "no text is made of parts here",
    "query_text": "no text is made of parts here",
    "seed": "nothing is sampled here",
}


def command_line_name(setting: str) -> str:
    """Return the command-line option of a setting; the setting ``text`` stands for four options."""
    if setting == "text":
        return "--text, with --separator, --sections and --words,"
    return f"--{setting.replace('_', '-')}"


def refuse_unused(
    settings: Settings, models: Sequence[Model], data: Sequence[TaskData], written: Callable[[str], str]
) -> None:
    """Raise InputError for a setting that is given and changes no result of any model on any task.

    Args:
        settings: the settings as they were given, before a preset.
        models: all models of the run.
        data: the data of all its tasks.
        written: returns the name of a setting as the user wrote it.
    """
    if "rerank_depth" in settings.given and settings.rerank is None:
        rerank = written("rerank")
        raise InputError(
            f"{written('rerank_depth')} has no effect without {rerank}",
            remedy=f"name a scorer with {rerank}, or leave it out",
        )
    for name, reason in _REASONS.items():
        if name in settings.given and not any(each.uses(name, model) for model in models for each in data):
            tasks = ", ".join(dict.fromkeys(each.task.name for each in data))
            specs = ", ".join(model.spec for model in models)
            raise InputError(f"{written(name)} has no effect on {specs} with {tasks}: {reason}", remedy="leave it out")
    for each in data:
        if settings.split is not None and each.split not in (None, settings.split):
            raise InputError(
                f"there is no split {settings.split!r} of {each.task.name}, which has {each.split}",
                remedy=f"leave {written('split')} out",
            )
