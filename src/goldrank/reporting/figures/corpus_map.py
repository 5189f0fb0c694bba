"""The corpus as a map in two dimensions, with a query, its gold, and what was ranked above the gold."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from importlib import import_module
from typing import Any, Literal, get_args

import numpy as np

from goldrank.errors import InputError, MissingExtraError, counts, unknown_name
from goldrank.hits import Floats
from goldrank.reporting.figures.description import Axis, Figure, Series

Method = Literal["pca", "umap"]
MOST_POINTS = 5_000
_FITTED = 20_000
"""The components are found from so many vectors at most; further ones would hardly turn them."""


def corpus_map(
    vectors: Any,
    ids: Sequence[str],
    titles: Sequence[str] | None,
    query: Any,
    gold: Collection[str],
    above: Collection[str],
    *,
    method: Method = "pca",
    most: int = MOST_POINTS,
    seed: int = 0,
) -> Figure:
    """A map of the corpus: what lies close has similar vectors, as far as two dimensions can tell.

    Args:
        vectors: of the items, one row each.
        ids: of the items.
        titles: what to call the items; their ids where this is None.
        query: the vector of the query.
        gold: the ids of the right items.
        above: the ids of the items that were ranked above the gold.
        method: ``pca``, or ``umap`` where umap-learn is installed.
        most: how many other items are drawn, chosen at random.
        seed: of the choice, and of UMAP.
    """
    if method not in get_args(Method):
        raise unknown_name("map", method, get_args(Method), ", ".join(get_args(Method)))
    points = _checked(vectors, ids, query)
    shown = _chosen(ids, {*gold, *above}, most, seed)
    axes, places = (_components if method == "pca" else _neighbourhoods)(points, seed)
    places = places[[*shown, -1]]
    rows = {ids[at]: row for row, at in enumerate(shown)}
    right, rivals = [one for one in ids if one in set(gold)], [one for one in ids if one in set(above) - set(gold)]
    names = dict(zip(ids, titles if titles is not None else ids, strict=True))
    others = [one for one in rows if one not in {*right, *rivals}]
    groups = [("other items", others), ("gold", right), ("ranked above the gold", rivals)]
    series = [
        Series(
            f"{name} ({len(group)})",
            tuple(places[[rows[one] for one in group], 0]),
            tuple(places[[rows[one] for one in group], 1]),
            mark="points",
            labels=tuple(names[one] for one in group),
            faint=group is others,
        )
        for name, group in groups
        if group
    ]
    series.append(Series("query", (places[-1, 0],), (places[-1, 1],), mark="points"))
    left, unknown = len(ids) - len(shown), len({*gold, *above} - set(ids))
    notes = [f"{len(shown)} of {counts(len(ids), 'item')} are drawn, chosen at random (seed {seed})."] if left else []
    notes += [f"{counts(unknown, 'marked item')} not in the corpus."] if unknown else []
    return Figure(
        "corpus-map",
        "Where does the query lie, and what beat its gold?",
        f"{_CAPTIONS[method]} {counts(len(ids), 'item')}; distances on a map can mislead, since two dimensions do not "
        "hold them all.",
        Axis(axes[0]),
        Axis(axes[1]),
        tuple(series),
        note=" ".join(notes),
    )


_CAPTIONS = {
    "pca": "The two directions along which the vectors differ most (principal components).",
    "umap": "UMAP keeps neighbours together; the axes have no unit.",
}


def _checked(vectors: Any, ids: Sequence[str], query: Any) -> Floats:
    """The items' vectors and, last, the query's."""
    items, asked = np.asarray(vectors, np.float64), np.asarray(query, np.float64).reshape(1, -1)
    if items.ndim != 2 or len(items) != len(ids) or len(ids) < 2:
        raise InputError("a map needs two items or more, each with a vector", remedy="give one row for every id")
    if asked.shape[1] != items.shape[1]:
        raise InputError(
            f"the query has {asked.shape[1]} dimensions, the items have {items.shape[1]}",
            remedy="encode both with the same model",
        )
    points = np.vstack([items, asked])
    if not np.isfinite(points).all():
        raise InputError("a vector is not finite", remedy="encode the corpus again")
    return points


def _chosen(ids: Sequence[str], marked: set[str], most: int, seed: int) -> list[int]:
    """Which items are drawn: all that are marked, and as many others as have room."""
    others = np.array([at for at, one in enumerate(ids) if one not in marked], np.int64)
    if len(others) > most:
        others = np.random.default_rng(seed).choice(others, most, replace=False)
    return sorted([*others.tolist(), *(at for at, one in enumerate(ids) if one in marked)])


def _components(points: Floats, seed: int) -> tuple[tuple[str, str], Floats]:
    fitted = points[:-1]
    if len(fitted) > _FITTED:
        fitted = fitted[np.sort(np.random.default_rng(seed).choice(len(fitted), _FITTED, replace=False))]
    middle = fitted.mean(axis=0)
    spread, directions = np.linalg.eigh((fitted - middle).T @ (fitted - middle))
    first = directions[:, ::-1][:, :2]
    # A direction may point either way; its largest entry decides, so that equal corpora give equal maps.
    first = first * np.sign(first[np.abs(first).argmax(axis=0), range(first.shape[1])])
    places = (points - middle) @ first
    shares = np.maximum(spread[::-1], 0) / max(float(np.maximum(spread, 0).sum()), 1e-300)
    if places.shape[1] == 1:
        places, shares = np.hstack([places, np.zeros_like(places)]), np.append(shares, 0.0)
    names = (
        f"first component ({shares[0]:.0%} of the variance)",
        f"second component ({shares[1]:.0%} of the variance)",
    )
    return names, places


def _neighbourhoods(points: Floats, seed: int) -> tuple[tuple[str, str], Floats]:
    try:
        umap = import_module("umap")
    except ImportError:
        raise MissingExtraError("a UMAP map", "umap-learn", "umap") from None
    places = umap.UMAP(n_components=2, random_state=seed, metric="cosine").fit_transform(points)
    return ("UMAP 1", "UMAP 2"), np.asarray(places, np.float64)
