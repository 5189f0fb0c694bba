"""Presets: the settings of a reference system under one name, for each kind of task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from goldrank.errors import InputError, unknown_name

Level = Literal["word", "sentence"]
Recipe = Mapping[str, str]


@dataclass(frozen=True)
class Preset:
    """The settings of a reference system; options that the user gives replace them."""

    name: str
    title: str
    models: tuple[str, ...]
    """Kinds of models that are loaded with their own preset of the same name."""
    recipes: Mapping[tuple[str, Level | None], Mapping[str, Recipe]]
    """By kind of task and level of its texts, the settings for each similarity that the system supports."""
    profiles: Mapping[str, str]
    """The profile for each kind of task."""

    def recipe(self, task: str, kind: str, level: Level | None, similarity: str) -> Recipe:
        """Return the settings for a task.

        Raises:
            InputError: the system does not support the kind of task or the similarity.
        """
        by_similarity = self.recipes.get((kind, level))
        if by_similarity is None:
            kinds = ", ".join(dict.fromkeys(kind for kind, _ in self.recipes))
            raise InputError(
                f"the preset {self.name} has no settings for {task}, a task of the kind {kind}",
                remedy=f"run it without --preset; the preset is for tasks of the kinds {kinds}",
            )
        if similarity not in by_similarity:
            raise InputError(
                f"the preset {self.name} has no settings for {task} by {similarity}",
                remedy=f"leave --similarity out, or give {' or '.join(by_similarity)}",
            )
        return by_similarity[similarity]


# The system gives words out of vocabulary the mean vector without normalising it, so its cosine is a dot product.
_WORDS: Mapping[str, Recipe] = {
    "cosine": {"similarity": "dot", "transform": "center|normalize", "fit_on": "vocabulary", "oov": "mean"},
    "l2": {"transform": "center", "fit_on": "vocabulary", "oov": "mean"},
}
_RANKED_SENTENCES: Recipe = {"transform": "center", "fit_on": "evaluated", "oov": "keep"}

PRESETS = {
    "evalrank": Preset(
        "evalrank",
        "EvalRank (Wang et al., Just Rank, 2022): its word and sentence ranking, similarity and probes as coded, "
        "without the rounding fault",
        ("words",),
        {
            ("evalrank", "word"): _WORDS,
            ("similarity", "word"): _WORDS,
            ("evalrank", "sentence"): {"cosine": _RANKED_SENTENCES, "l2": _RANKED_SENTENCES},
            # The l2 runs of the system compare STS sentences by cosine as well.
            ("similarity", "sentence"): {"cosine": {"oov": "keep"}},
            ("probe", None): {"cosine": {}},
        },
        {"evalrank": "evalrank"},
    )
}


def find_preset(name: str) -> Preset:
    """Return the preset of that name."""
    if name not in PRESETS:
        raise unknown_name("preset", name, PRESETS, f"one of {', '.join(PRESETS)}")
    return PRESETS[name]
