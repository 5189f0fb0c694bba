"""Which figures a section of rankings shows, the most telling first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from goldrank.comparing import Comparison
from goldrank.hits import Hits
from goldrank.reporting.figures.comparison import drawn, figures_or_reasons
from goldrank.reporting.figures.curves import metric_by_cutoff, precision_recall
from goldrank.reporting.figures.description import Figure, LeftOut
from goldrank.reporting.figures.ranks import rank_curve, rank_histogram
from goldrank.scoring import Scores


def figures_of_one(scores: Scores, hits: Hits) -> list[Figure | LeftOut]:
    """The figures of a single run, or why there is none."""
    runs, named, how = {scores.name: scores}, {scores.name: hits}, drawn({scores.name: hits})
    conventions = scores.conventions.as_dict()
    return [
        rank_curve(named, scores.profile, how, **conventions),
        metric_by_cutoff(runs, named, how=how),
        rank_histogram(named, scores.profile, how, **conventions),
        precision_recall(runs, named, how),
    ]


def figures_of_several(
    compared: Comparison, hits: Mapping[str, Hits], seconds: Mapping[str, float]
) -> list[Figure | LeftOut]:
    """The figures of a comparison; of two runs without what takes three."""
    made = figures_or_reasons(compared, hits, seconds=seconds)
    few = len(compared.scores) < 3
    return [one for one in made if not (few and isinstance(one, LeftOut) and one.name == "critical-difference")]


def sort_out(made: Sequence[Figure | LeftOut]) -> tuple[tuple[Figure, ...], tuple[LeftOut, ...]]:
    """The figures, and those that the data cannot give."""
    return (
        tuple(one for one in made if isinstance(one, Figure)),
        tuple(one for one in made if isinstance(one, LeftOut)),
    )
