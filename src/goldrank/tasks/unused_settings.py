"""Refuse settings that bear on no model and no task of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from goldrank.errors import InputError
from goldrank.tasks.material import Material
from goldrank.tasks.measurement import MeasuredTask
from goldrank.tasks.ranking.models import Model
from goldrank.tasks.settings import Settings
from goldrank.tasks.task import Task


class AnyMaterial(Protocol):
    """The data of a task with the settings that count for it."""

    @property
    def task(self) -> Task | MeasuredTask:
        """What the data is for."""
        ...

    @property
    def settings(self) -> Settings:
        """The settings, after a preset."""
        ...


Uses = Callable[[Model, AnyMaterial], bool]


def _ranks(model: Model, material: AnyMaterial) -> bool:
    return isinstance(material, Material)


def _measures(name: str) -> Uses:
    """Whether a task that gives figures reads the setting; one that ranks does if the model has vectors."""

    def uses(model: Model, material: AnyMaterial) -> bool:
        if isinstance(material.task, MeasuredTask):
            return name in material.task.uses
        return model.uses_vectors

    return uses


def _ranks_by_vectors(model: Model, material: AnyMaterial) -> bool:
    return model.uses_vectors and isinstance(material, Material)


def _knows_its_words(model: Model, material: AnyMaterial) -> bool:
    if not _measures("oov")(model, material) or material.settings.scoring != "single":
        return False
    # What a fusion or a reranked model is made of is not known here.
    return model.encoder is None or hasattr(model.encoder, "covers")


def _reads_texts(model: Model, material: AnyMaterial) -> bool:
    if material.settings.rerank is not None:
        return True
    by_id = getattr(model.encoder, "by", None) == "id" or model.spec.startswith("run:")
    return isinstance(material, Material) and not by_id


def _draws(model: Model, material: AnyMaterial) -> bool:
    return not isinstance(material.task, MeasuredTask) or "seed" in material.task.uses


_USES: dict[str, tuple[Uses, str]] = {
    "similarity": (_measures("similarity"), "vectors are compared by it in rankings and correlations only"),
    "index": (_ranks_by_vectors, "it searches vectors, for tasks that rank"),
    "scoring": (_ranks_by_vectors, "it compares vectors, for tasks that rank"),
    "transform": (_measures("transform"), "it changes vectors, and no model here has any"),
    "oov": (
        _knows_its_words,
        "it is for models of word vectors (words:FILE), one vector for each text, in rankings and correlations",
    ),
    "depth": (_ranks, "it is for tasks that rank"),
    "rerank": (_ranks, "it is for tasks that rank"),
    "text": (_reads_texts, "no text is made of parts here"),
    "query_text": (_reads_texts, "no text is made of parts here"),
    "seed": (_draws, "nothing is drawn here"),
}


def command_line_name(setting: str) -> str:
    """Return a setting as it is written on the command line, where four options make the one setting ``text``."""
    if setting == "text":
        return "--text, with --separator, --sections and --words,"
    return f"--{setting.replace('_', '-')}"


def refuse_unused(
    settings: Settings, models: Sequence[Model], materials: Sequence[AnyMaterial], written: Callable[[str], str]
) -> None:
    """Raise InputError for a setting that is given and changes no result of any model on any task.

    Args:
        settings: as they were given, before a preset.
        models: all models of the run.
        materials: all its tasks, with the settings that count for each.
        written: gives the name of a setting as the user wrote it.
    """
    if "rerank_depth" in settings.given and settings.rerank is None:
        rerank = written("rerank")
        raise InputError(
            f"{written('rerank_depth')} has no effect without {rerank}",
            remedy=f"name a scorer with {rerank}, or leave it out",
        )
    for name, (uses, reason) in _USES.items():
        if name in settings.given and not any(uses(model, one) for model in models for one in materials):
            tasks = ", ".join(dict.fromkeys(one.task.name for one in materials))
            named = ", ".join(model.spec for model in models)
            raise InputError(f"{written(name)} has no effect on {named} with {tasks}: {reason}", remedy="leave it out")
    if (split := settings.split) is not None:
        for one in materials:
            if isinstance(one, Material) and one.collection.split != split:
                raise InputError(
                    f"there is no split {split!r} of {one.task.name}, which has {one.collection.split}",
                    remedy=f"leave {written('split')} away",
                )
