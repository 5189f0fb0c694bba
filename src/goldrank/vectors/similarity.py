"""Similarity measures of token sets and vectors, each declared once with its range and direction."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError, shorten, unknown_name
from goldrank.io.arrays import as_array

Matrix = NDArray[Any]
# A dense numpy matrix or a scipy.sparse CSR matrix; scipy is imported only where it is needed.
Vectors = Any

_BLOCK_ELEMENTS = 2**20
"""The most elements of a temporary array."""
_NORMALISED_ELEMENTS = 2**17
"""So many are normalised at once, because their float64 copies fit into the cache of a core."""


@dataclass(frozen=True)
class Similarity:
    """The declaration of a similarity measure."""

    name: str
    formula: str
    low: float
    high: float
    direction: Literal["higher", "lower"]
    """Whether higher or lower values mean more similar."""
    zero: str
    """The value for an empty set or a zero vector."""
    citation: str = ""
    of: Literal["vectors", "tokens"] = "vectors"
    sparse: bool = False
    """Whether scipy.sparse matrices are supported."""


SIMILARITIES: dict[str, Similarity] = {
    measure.name: measure
    for measure in (
        Similarity(
            "jaccard",
            "|A ∩ B| / |A ∪ B|",
            0,
            1,
            "higher",
            "two empty sets are equal: 1; an empty set shares nothing with another: 0",
            "Jaccard, The distribution of the flora in the alpine zone, New Phytologist 11, 1912",
            of="tokens",
        ),
        Similarity("dot", "Σ aᵢbᵢ", -math.inf, math.inf, "higher", "0 with every vector", sparse=True),
        Similarity(
            "cosine",
            "Σ aᵢbᵢ / (‖a‖‖b‖), clipped to [-1, 1]",
            -1,
            1,
            "higher",
            "0 with every vector, itself included",
            "Salton, Wong and Yang, A vector space model for automatic indexing, CACM 18, 1975",
            sparse=True,
        ),
        Similarity("euclidean", "√Σ (aᵢ - bᵢ)²", 0, math.inf, "lower", "the length of the other vector", sparse=True),
        Similarity(
            "euclidean_similarity",
            "1 / (1 + √Σ (aᵢ - bᵢ)²)",
            0,
            1,
            "higher",
            "1 / (1 + the length of the other vector)",
            "Wang, Kuo and Li, Just Rank: rethinking evaluation with word and sentence similarities, ACL 2022",
            sparse=True,
        ),
        Similarity("manhattan", "Σ |aᵢ - bᵢ|", 0, math.inf, "lower", "the sum of the other vector's absolute values"),
    )
}


OTHER_NAMES = {"l2": "euclidean", "l1": "manhattan", "inner_product": "dot", "ip": "dot"}
"""Aliases of measures that `similarity` accepts."""


def similarity(a: Any, b: Any, kind: str = "cosine", *, paired: bool = False) -> float | Matrix:
    """Return how alike two vectors, the rows of two matrices, or two sets of tokens are.

    Args:
        a: a vector, a matrix with one vector per row (numpy, lists, torch on any device, scipy.sparse), or for
            ``jaccard`` a set or list of tokens or a text, which is split at white space.
        b: the same.
        kind: ``cosine`` (clipped to [-1, 1]), ``dot`` (also ``inner_product`` or ``ip``), ``euclidean`` (or ``l2``: the
            distance itself, not its square or its negative), ``manhattan`` (``l1``), ``euclidean_similarity`` or
            ``jaccard``; ``goldrank list similarities`` has the formulas.
        paired: compare row i of *a* with row i of *b* only, instead of every row with every row.

    Returns:
        A float for two vectors or two sets of tokens. For a vector and a matrix one value per row; for two matrices a
        matrix with a row for each row of *a* and a column for each row of *b*, or with *paired* one value per row.

    Raises:
        InputError: for unknown kinds, ragged or non-finite vectors, and vectors of different dimensions.

    >>> similarity("Hawaii is a wonderful place for holiday", "Anna enjoys baking during her holiday", "jaccard")
    0.08333333333333333
    >>> similarity({"a", "b"}, ["b", "c"], "jaccard")
    0.3333333333333333
    >>> a, b = [5, 2, 2, 6], [4, 6, 6, 4]
    >>> similarity(a, b, "dot"), round(similarity(a, b), 7), round(similarity(a, b, "l2"), 7)
    (68.0, 0.8027267, 6.0827625)
    >>> round(similarity(np.array(a, np.float32), np.array(b, np.float32), "l2"), 7)  # in single precision
    6.0827627
    >>> similarity([a, b], [a, b], "dot").tolist()
    [[69.0, 68.0], [68.0, 104.0]]
    >>> similarity([a, b], [b, b], "dot", paired=True).tolist()
    [68.0, 104.0]
    """
    name = OTHER_NAMES.get(kind, kind)
    if name == "jaccard":
        if paired:
            raise InputError(
                "jaccard compares two sets of tokens, which have no rows to pair", remedy="leave paired out"
            )
        return jaccard(a, b)
    sides = [_as_rows(as_array(side), name, what) for side, what in ((a, "the first set"), (b, "the second set"))]
    (left, left_single), (right, right_single) = sides
    if paired:
        if left_single or right_single:
            raise InputError("row pairs need two matrices, and one vector was given", remedy="leave paired out")
        return rowwise(left, right, name)
    values = pairwise(left, right, name)
    if left_single and right_single:
        return float(values[0, 0])
    return values.reshape(-1) if left_single or right_single else values


def _as_rows(vectors: Any, name: str, what: str) -> tuple[Any, bool]:
    """Return a matrix with one vector per row, and whether a single vector was given."""
    if isinstance(vectors, (str, bytes)):
        raise InputError(
            f"{name} compares vectors, and a text was given", remedy="encode the texts first, or use jaccard"
        )
    if hasattr(vectors, "tocsr"):
        return vectors, False
    try:
        array = np.asanyarray(vectors)
    except ValueError:
        raise _ragged(what) from None
    is_single = array.ndim == 1 and array.dtype != object
    return (array[None], True) if is_single else (array, False)


def jaccard(a: str | Iterable[Hashable], b: str | Iterable[Hashable]) -> float:
    """Return the Jaccard index of the words of two texts, or of two collections of tokens; two empty ones are equal.

    >>> jaccard("a b", "b c")
    0.3333333333333333
    """
    left, right = (_token_set(side.split() if isinstance(side, str) else side) for side in (a, b))
    return len(left & right) / len(left | right) if left or right else 1.0


def _token_set(tokens: Any) -> set[Hashable]:
    tokens = as_array(tokens)
    try:
        return set(tokens.tolist() if isinstance(tokens, np.ndarray) else tokens)
    except TypeError:
        raise InputError(
            f"jaccard compares sets of tokens, and {shorten(tokens)} was given",
            remedy="give a text, or a set or list of tokens",
        ) from None


def pairwise(a: Vectors, b: Vectors, name: str = "cosine") -> Matrix:
    """Return the measure *name* of every row of *a* with every row of *b*, as a dense matrix.

    float32 stays float32 and float64 stays float64 (other numbers are converted to one of them). Temporary
    arrays have a bounded size.

    >>> pairwise([[5, 2, 2, 6]], [[4, 6, 6, 4], [0, 0, 0, 0]], "cosine").round(7).tolist()
    [[0.8027267, 0.0]]
    """
    a, b = _checked(a, b, name)
    result = np.empty((a.shape[0], b.shape[0]), a.dtype)
    step = max(1, _BLOCK_ELEMENTS // max(1, a.shape[1], b.shape[0]))
    if name == "cosine":
        b = normalised(b)
    for start in range(0, a.shape[0], step):
        rows = slice(start, start + step)
        result[rows] = _block(a[rows], b, name)
    return result


def rowwise(a: Vectors, b: Vectors, name: str = "cosine") -> Matrix:
    """Return the measure *name* of row i of *a* with row i of *b*.

    >>> float(rowwise([[5, 2, 2, 6]], [[4, 6, 6, 4]], "dot")[0])
    68.0
    """
    a, b = _checked(a, b, name)
    if a.shape[0] != b.shape[0]:
        raise InputError(
            f"the first set has {a.shape[0]} rows and the second {b.shape[0]}",
            remedy="give as many of one as of the other, or use pairwise for every combination",
        )
    result = np.empty(a.shape[0], a.dtype)
    step = max(1, _BLOCK_ELEMENTS // max(1, a.shape[1]))
    for start in range(0, a.shape[0], step):
        rows = slice(start, start + step)
        result[rows] = _rows(a[rows], b[rows], name)
    return result


def normalised(rows: Vectors) -> Vectors:
    """Return the rows scaled to length 1, in their own precision; a zero row stays zero.

    Lengths are computed in float64, so no float32 row overflows or underflows, and a row's result does not depend on
    the other rows.

    >>> normalised(np.array([[3.0, 4.0], [0.0, 0.0]], np.float32)).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    if not isinstance(rows, np.ndarray):
        return _normalised_sparse(rows)
    units = np.empty(rows.shape, rows.dtype)
    step = max(1, _NORMALISED_ELEMENTS // max(1, rows.shape[1]))
    for start in range(0, len(rows), step):
        wide = _scaled(rows[start : start + step])
        wide /= _divisors(wide)[:, None]
        units[start : start + step] = wide
    return units


def normalising_divisors(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return what `normalised` divides float32 rows by: their lengths, or 1 for zero rows."""
    return _divisors(_scaled(rows))


def _divisors(wide: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths: NDArray[np.float64] = np.sqrt(np.add.reduce(wide * wide, axis=1))
    lengths[lengths == 0] = 1
    return lengths


def _scaled(rows: Matrix) -> NDArray[np.float64]:
    """Return a float64 copy, scaled by powers of two so that squares neither overflow nor underflow."""
    wide = np.array(rows, np.float64, order="C")
    if rows.dtype == np.float64:
        _, exponents = np.frexp(np.abs(wide).max(axis=1, initial=0))
        np.ldexp(wide, -exponents[:, None], out=wide)
    return wide


def _normalised_sparse(rows: Vectors) -> Vectors:
    # Divided by the largest value of the row first, so that squares neither overflow nor underflow.
    counts = np.diff(rows.indptr)
    row_of_value = np.repeat(np.arange(rows.shape[0]), counts)
    peaks = np.zeros(rows.shape[0])
    np.maximum.at(peaks, row_of_value, np.abs(rows.data).astype(np.float64))
    values = rows.data / np.where(peaks > 0, peaks, 1)[row_of_value]
    lengths = np.sqrt(np.bincount(row_of_value, values * values, minlength=rows.shape[0]))
    values /= np.where(lengths > 0, lengths, 1)[row_of_value]
    return type(rows)((values.astype(rows.dtype), rows.indices, rows.indptr), shape=rows.shape)


def _block(a: Vectors, b: Vectors, name: str) -> Matrix:
    """Return the measure of all pairs of two blocks; for cosine, *b* is already normalised."""
    if name == "dot":
        return _dense(a @ b.T)
    if name == "cosine":
        return np.clip(_dense(normalised(a) @ b.T), -1, 1)
    return _finish(_distances(a, b, name), name).astype(a.dtype)


def _distances(a: Vectors, b: Vectors, name: str) -> NDArray[np.float64]:
    if not isinstance(a, np.ndarray):
        a, b = a.astype(np.float64), b.astype(np.float64)
        squares = _squares(a)[:, None] + _squares(b) - 2 * _dense(a @ b.T)
        roots: NDArray[np.float64] = np.sqrt(np.maximum(squares, 0))
        return roots
    from scipy.spatial.distance import cdist

    kind: Literal["cityblock", "euclidean"] = "cityblock" if name == "manhattan" else "euclidean"
    distances = np.empty((len(a), len(b)))
    step = max(1, _BLOCK_ELEMENTS // max(1, a.shape[1]))
    for start in range(0, len(b), step):
        distances[:, start : start + step] = cdist(a, b[start : start + step], kind)
    return distances


def _rows(a: Vectors, b: Vectors, name: str) -> Matrix:
    if name == "cosine":
        a, b = normalised(a), normalised(b)
    if name in ("dot", "cosine"):
        products = a.multiply(b).sum(axis=1) if not isinstance(a, np.ndarray) else np.add.reduce(a * b, axis=1)
        values = np.asarray(products).reshape(-1)
        return np.clip(values, -1, 1) if name == "cosine" else values
    difference = a.astype(np.float64) - b.astype(np.float64)
    if name == "manhattan":
        sums: Matrix = np.abs(difference).sum(axis=1).astype(a.dtype)
        return sums
    return _finish(np.sqrt(_squares(difference)), name).astype(a.dtype)


def _finish(distances: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    return 1 / (1 + distances) if name == "euclidean_similarity" else distances


def _squares(rows: Vectors) -> NDArray[np.float64]:
    squared = rows.multiply(rows) if not isinstance(rows, np.ndarray) else rows * rows
    return np.asarray(squared.sum(axis=1), np.float64).reshape(-1)


def _dense(product: Vectors) -> Matrix:
    return product if isinstance(product, np.ndarray) else np.asarray(product.toarray())


def _checked(a: Vectors, b: Vectors, name: str) -> tuple[Vectors, Vectors]:
    """Return both sides as float matrices of one precision that the measure *name* supports."""
    if name not in SIMILARITIES:
        raise unknown_name("similarity", name, SIMILARITIES, "goldrank list similarities")
    declared = SIMILARITIES[name]
    if declared.of != "vectors":
        raise InputError(f"{name} compares token sets, not vectors", remedy="call jaccard with two texts")
    a, b = as_matrix(a, "the first set"), as_matrix(b, "the second set")
    dense = [isinstance(side, np.ndarray) for side in (a, b)]
    if not (all(dense) or declared.sparse):
        raise InputError(f"{name} does not take sparse vectors", remedy="call .toarray() on them first")
    if dense[0] != dense[1]:
        raise InputError(
            "one set of vectors is dense and the other sparse", remedy="give both dense or both as scipy CSR matrices"
        )
    if a.shape[1] != b.shape[1]:
        raise InputError(
            f"the first set has vectors of {a.shape[1]} dimensions and the second of {b.shape[1]}",
            remedy="encode both with the same model",
        )
    precision = np.result_type(a, b)
    return a.astype(precision, copy=False), b.astype(precision, copy=False)


def as_matrix(vectors: Vectors, what: str) -> Vectors:
    """Return *vectors* as a finite float32 or float64 matrix; errors name *what* and the row."""
    if hasattr(vectors, "tocsr"):
        matrix = vectors.tocsr()
        values = matrix.data
    else:
        matrix = values = numeric_matrix(vectors, what)
    if matrix.dtype not in (np.float32, np.float64):
        matrix = values = matrix.astype(np.float32 if matrix.dtype == np.float16 else np.float64)
        values = values if isinstance(values, np.ndarray) else values.data
    if not np.isfinite(values).all():
        bad = np.flatnonzero(~np.isfinite(values))[0]
        sparse = not isinstance(matrix, np.ndarray)
        row = np.searchsorted(matrix.indptr, bad, "right") - 1 if sparse else bad // matrix.shape[1]
        raise not_finite(what, int(row))
    return matrix


def numeric_matrix(vectors: object, what: str) -> Matrix:
    """Return *vectors* as a numeric matrix without copying; raise if they are not one."""
    try:
        matrix = np.asanyarray(vectors)
    except ValueError:
        raise _ragged(what) from None
    if matrix.dtype == object and matrix.ndim == 1:
        raise _ragged(what)
    if matrix.dtype.kind not in "fiub" or matrix.dtype.itemsize > 8:
        raise InputError(
            f"the vectors hold {matrix.dtype} values, not real numbers",
            where=what,
            remedy="give a float32 or float64 array",
        )
    if matrix.ndim != 2:
        raise InputError(
            f"the vectors have {matrix.ndim} axes instead of 2",
            where=what,
            remedy="give one row per vector, as vector[None, :] does for a single one",
        )
    return matrix


def not_finite(what: str, row: int, name: str | None = None) -> InputError:
    """Return the error for a vector with NaN or infinite values; *name* is its id if it has one."""
    known = f" (id {name!r})" if name is not None else ""
    return InputError(
        f"the vector of row {row}{known} holds NaN or infinite values",
        where=what,
        remedy="remove or re-encode that row",
    )


def _ragged(what: str) -> InputError:
    return InputError("the rows differ in length", where=what, remedy="give vectors of one dimension")
