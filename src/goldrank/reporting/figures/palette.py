"""Give every run a look of its own, the same in all figures, tasks and pages that show its model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from goldrank.reporting.render.themes import THEMES

_COLOURS = len(THEMES["light"].series)


def number_runs(groups: Sequence[Mapping[str, str]], models: Sequence[str] = ()) -> list[dict[str, int]]:
    """Return the numbers of the looks of runs, for each group by the name of the run.

    The number of a model is its position among all *models* of a store, so that reports and the explorer agree on it.
    Two models that would have the same colour although others are free differ: the later one has the next free colour.
    With more models than colours, numbers go on, and their colours repeat with other marks, dashes and patterns.

    Args:
        groups: the runs of each section, their models by name. Runs of one model in a group have different looks.
        models: all models of the store, in the order in which they came into it.

    >>> number_runs([{"bm25": "bm25", "tfidf": "tfidf"}, {"tfidf": "tfidf"}], ["random", "tfidf", "bm25"])
    [{'bm25': 2, 'tfidf': 1}, {'tfidf': 1}]
    """
    places = {model: place for place, model in enumerate(dict.fromkeys(models))}
    looks: dict[tuple[str, int], None] = {}
    by_name: list[dict[str, tuple[str, int]]] = []
    for group in groups:
        repeated: dict[str, int] = {}
        by_name.append({})
        for name, model in group.items():
            places.setdefault(model, len(places))
            by_name[-1][name] = look = (model, repeated.get(model, 0))
            repeated[model] = look[1] + 1
            looks[look] = None
    numbers: dict[tuple[str, int], int] = {}
    # The second run of a model must not take the colour of another model.
    for look in sorted(looks, key=lambda look: (look[1], places[look[0]])):
        numbers[look] = _free_number(places[look[0]], set(numbers.values()))
    return [{name: numbers[look] for name, look in names.items()} for names in by_name]


def _free_number(place: int, used: set[int]) -> int:
    """Return the number with the colour of a place, or else the next one whose colour, or number, is free."""
    numbers = [(place + step) % _COLOURS for step in range(_COLOURS)]
    numbers += range(_COLOURS, _COLOURS + len(used) + 1)
    return next(number for number in numbers if number not in used)
