"""Fuses runs query by query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from goldrank.errors import InputError, shorten, unknown_name
from goldrank.fusion.methods import GAMMA, METHODS, PHI, Ballots, Method, Settings
from goldrank.fusion.normalising import NORMALISATIONS, Floats
from goldrank.hits import Run


def fuse(
    runs: Sequence[Run],
    method: str = "rrf",
    *,
    weights: Sequence[float] | None = None,
    normalise: str | None = None,
    k: int = 60,
    gamma: float = GAMMA,
    phi: float = PHI,
    depth: int | None = None,
) -> Run:
    """One run out of several.

    A ranking holds every item that any of the runs ranks for the query, or the *depth* best of them. A query that a
    run does not rank is taken from the others. Ranks are by score, equal scores by descending id as in trec_eval.
    The order in which the runs are given changes nothing. A run of weight 0 counts as not given.

    Args:
        runs: the runs, at least one.
        method: one of `METHODS`.
        weights: how much each run counts, 0 or more; 1 each if not given.
        normalise: one of `NORMALISATIONS`, for the methods that add scores; ``minmax`` if not given.
        k: for ``rrf``: the higher, the less the first ranks stand out.
        gamma: for ``gmnz``: how much the number of runs that rank an item counts, above 0; 1 is ``mnz``.
        phi: for ``rbc``: the persistence of the user, between 0 and 1; the higher, the more the lower ranks count.
        depth: how many items of each fused ranking to keep; all if not given.

    >>> one, other = Run({"q": {"a": 9.0, "b": 8.0}}), Run({"q": {"b": 0.5, "c": 0.4}})
    >>> list(fuse([one, other])["q"])
    ['b', 'a', 'c']
    >>> fuse([one, other], "borda", depth=2)["q"]
    {'b': 5.0, 'a': 4.0}
    """
    chosen = checked_method(method, normalise=normalise, k=k, gamma=gamma, phi=phi, depth=depth)
    if not runs:
        raise InputError("there is no run to fuse", remedy="give at least one")
    counts = checked_weights(weights, len(runs))
    used = [(rankings_of(run), weight) for run, weight in zip(runs, counts.tolist(), strict=True) if weight > 0]
    settings = Settings(k, normalise or "minmax", gamma, phi)
    fused: dict[str, dict[str, float]] = {}
    for query in dict.fromkeys(query for rankings, _ in used for query in rankings):
        given = [(ranking, weight) for rankings, weight in used if (ranking := rankings.get(query))]
        if not given:
            fused[query] = {}
            continue
        items, ballots = _ballots(given)
        with np.errstate(over="ignore", invalid="ignore"):  # told below, with the query
            scores = chosen.apply(ballots, settings)
        if not np.isfinite(scores).all():
            raise InputError(
                f"the scores of query {shorten(query)} are too large to be added", remedy="choose a normalisation"
            )
        best = np.argsort(-scores, kind="stable")[:depth].tolist()
        fused[query] = dict(zip([items[at] for at in best], scores[best].tolist(), strict=True))
    return Run(fused)


def rankings_of(run: Run) -> dict[str, dict[str, float]]:
    """The rankings of a run by query; anything a run can be made of will do."""
    return (run if isinstance(run, Run) else Run(run)).to_dict()


def _ballots(given: Sequence[tuple[Mapping[str, float], float]]) -> tuple[list[str], Ballots]:
    # Code points order as UTF-8 bytes do, so this is the order of trec_eval.
    items = sorted(set().union(*(ranking for ranking, _ in given)), reverse=True)
    column = {item: at for at, item in enumerate(items)}
    scores, ranks = np.zeros((len(given), len(items))), np.zeros((len(given), len(items)), np.int64)
    for row, (ranking, _) in enumerate(given):
        at = np.sort(np.fromiter((column[item] for item in ranking), np.int64, len(ranking)))
        scores[row, at] = [ranking[items[one]] for one in at.tolist()]
        ranks[row, at[np.argsort(-scores[row, at], kind="stable")]] = np.arange(1, len(at) + 1)
    return items, Ballots(scores, ranks, np.array([weight for _, weight in given]))


def checked_method(
    name: str,
    *,
    normalise: str | None = None,
    k: int = 60,
    gamma: float = GAMMA,
    phi: float = PHI,
    depth: int | None = None,
) -> Method:
    """The method called *name*, once it is known that it can be used with these settings."""
    method = METHODS.get(name)
    if method is None:
        raise unknown_name("fusion method", name, METHODS, f"there are: {', '.join(METHODS)}")
    if normalise is not None:
        if normalise not in NORMALISATIONS:
            raise unknown_name("normalisation", normalise, NORMALISATIONS, f"there are: {', '.join(NORMALISATIONS)}")
        if "normalise" not in method.options:
            raise InputError(
                f"{name} fuses ranks, so there are no scores to normalise", remedy="leave normalise out, or choose sum"
            )
    _refuse_below("k", k, 0)
    _refuse_outside("gamma", gamma, 0.0, 100.0)
    _refuse_outside("phi", phi, 0.0, 1.0)
    if depth is not None:
        _refuse_below("depth", depth, 1)
    return method


def _refuse_below(name: str, value: object, low: int) -> None:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < low:
        raise InputError(f"{name}={value!r} is not a whole number from {low} up", remedy=f"write {name}=60 or the like")


def _refuse_outside(name: str, value: object, low: float, high: float) -> None:
    if not isinstance(value, (int, float, np.number)) or isinstance(value, bool) or not low < value < high:
        raise InputError(
            f"{name}={value!r} is not a number between {low:g} and {high:g}",
            remedy=f"write {name}={'0.9' if high == 1 else '2'} or the like",
        )


def checked_weights(weights: Sequence[float] | None, runs: int) -> Floats:
    """One finite weight of 0 or more per run, at least one of them above 0."""
    if weights is None:
        return np.ones(runs)
    if len(weights) != runs:
        raise InputError(f"there are {len(weights)} weights for {runs} runs", remedy="give one weight per run")
    try:
        made = np.array(weights, np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"the weights {shorten(weights)} are not all numbers", remedy="give numbers from 0 up"
        ) from None
    for weight, usable in zip(weights, np.isfinite(made) & (made >= 0), strict=True):
        if not usable:
            raise InputError(f"the weight {weight!r} is not a number from 0 up", remedy="give each run 0 or more")
    if not made.any():
        raise InputError("all weights are 0", remedy="give at least one run a weight above 0")
    return made
