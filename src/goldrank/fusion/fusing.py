"""Fuse runs query by query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from goldrank.errors import InputError, shorten, unknown_name
from goldrank.fusion.methods import GAMMA, METHODS, PHI, Ballots, FusionMethod, FusionOptions
from goldrank.fusion.normalising import NORMALISATIONS
from goldrank.hits import Floats, Run


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
    """Fuse several runs into one.

    A fused ranking holds every item that any of the runs ranks for the query, or the *depth* best of them. A query that
    some runs do not rank is fused from the others. Ranks are by score, equal scores by descending id as in trec_eval.
    The order of the runs has no effect. A run of weight 0 is ignored.

    Args:
        runs: the runs, at least one.
        method: one of `METHODS`.
        weights: the weight of each run, 0 or more; 1 each by default.
        normalise: one of `NORMALISATIONS`, for the methods that add scores; ``minmax`` by default.
        k: for ``rrf``: the higher, the less the first ranks stand out.
        gamma: for ``gmnz``: the exponent of the number of runs that rank an item, above 0; 1 is ``mnz``.
        phi: for ``rbc``: the persistence of the user, between 0 and 1; the higher, the more the lower ranks count.
        depth: how many items of each fused ranking to keep; all by default.

    >>> first, second = Run({"q": {"a": 9.0, "b": 8.0}}), Run({"q": {"b": 0.5, "c": 0.4}})
    >>> list(fuse([first, second])["q"])
    ['b', 'a', 'c']
    >>> fuse([first, second], "borda", depth=2)["q"]
    {'b': 5.0, 'a': 4.0}
    """
    options = FusionOptions(normalise, k, gamma, phi, depth)
    chosen = check_method(method, options)
    if not runs:
        raise InputError("there is no run to fuse", remedy="give at least one")
    weighted = zip(runs, check_weights(weights, len(runs)).tolist(), strict=True)
    used = [(run if isinstance(run, Run) else Run(run), weight) for run, weight in weighted if weight > 0]
    queries = list(dict.fromkeys(query for run, _ in used for query in run))

    def fused() -> Iterator[tuple[list[str], Floats]]:
        for query in queries:
            rankings = [(ranking, weight) for run, weight in used if (ranking := run.get(query))]
            if not rankings:
                yield [], np.zeros(0)
                continue
            items, ballots = _ballots(rankings)
            with np.errstate(over="ignore", invalid="ignore"):  # reported below, with the query
                scores = chosen.apply(ballots, options)
            if not np.isfinite(scores).all():
                raise InputError(
                    f"the scores of query {shorten(query)} are too large to be added", remedy="choose a normalisation"
                )
            best = np.argsort(-scores, kind="stable")[:depth]
            yield [items[column] for column in best.tolist()], scores[best]

    return Run.from_rankings(queries, fused(), f"the fusion by {method}")


def _ballots(rankings: Sequence[tuple[Mapping[str, float], float]]) -> tuple[list[str], Ballots]:
    """Return the items that any of the weighted rankings holds, and the matrices over them."""
    # Code points order as UTF-8 bytes do, so this is the order of trec_eval.
    items = sorted(set().union(*(ranking for ranking, _ in rankings)), reverse=True)
    column_of = {item: column for column, item in enumerate(items)}
    scores, ranks = np.zeros((len(rankings), len(items))), np.zeros((len(rankings), len(items)), np.int64)
    for row, (ranking, _) in enumerate(rankings):
        columns = np.sort(np.fromiter((column_of[item] for item in ranking), np.int64, len(ranking)))
        scores[row, columns] = [ranking[items[column]] for column in columns.tolist()]
        ranks[row, columns[np.argsort(-scores[row, columns], kind="stable")]] = np.arange(1, len(columns) + 1)
    return items, Ballots(scores, ranks, np.array([weight for _, weight in rankings]))


def check_method(name: str, options: FusionOptions) -> FusionMethod:
    """Return the method called *name*, after checking that it takes these options."""
    method = METHODS.get(name)
    if method is None:
        raise unknown_name("fusion method", name, METHODS, f"there are: {', '.join(METHODS)}")
    if (normalise := options.normalise) is not None:
        if normalise not in NORMALISATIONS:
            raise unknown_name("normalisation", normalise, NORMALISATIONS, f"there are: {', '.join(NORMALISATIONS)}")
        if "normalise" not in method.options:
            raise InputError(
                f"{name} fuses ranks, so there are no scores to normalise", remedy="leave normalise out, or choose sum"
            )
    _refuse_below("k", options.k, 0)
    _refuse_outside("gamma", options.gamma, 0.0, 100.0)
    _refuse_outside("phi", options.phi, 0.0, 1.0)
    if options.depth is not None:
        _refuse_below("depth", options.depth, 1)
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


def check_weights(weights: Sequence[float] | None, runs: int) -> Floats:
    """Return one weight per run, after checking that each is finite and at least 0, and that one is above 0."""
    if weights is None:
        return np.ones(runs)
    if len(weights) != runs:
        raise InputError(f"there are {len(weights)} weights for {runs} runs", remedy="give one weight per run")
    try:
        numbers = np.array(weights, np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"the weights {shorten(weights)} are not all numbers", remedy="give numbers from 0 up"
        ) from None
    for weight, usable in zip(weights, np.isfinite(numbers) & (numbers >= 0), strict=True):
        if not usable:
            raise InputError(f"the weight {weight!r} is not a number from 0 up", remedy="give each run 0 or more")
    if not numbers.any():
        raise InputError("all weights are 0", remedy="give at least one run a weight above 0")
    return numbers
