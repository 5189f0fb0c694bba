"""The kinds of transform: how each is fitted, and how it is applied to a block of vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError, shorten, unknown_name

Matrix = NDArray[np.float64]
Parameters = Mapping[str, Matrix]

SMALLEST_EIGENVALUE = 1e-10
"""A direction counts if its variance is more than this share of the largest one."""
# A standard deviation below this share of the mean is rounding error of constant values.
_ROUNDING = 1e-12
# Products are padded with zeros to this many rows and a multiple of it as columns: a BLAS rounds differently for
# other shapes, and a transformed vector must not depend on the vectors beside it.
_TILE = 64


@dataclass(frozen=True)
class FitRows:
    """Vectors to fit on, read block by block as often as needed."""

    count: int
    width: int
    blocks: Callable[[], Iterator[Matrix]]


@dataclass(frozen=True)
class TransformKind:
    """A kind of transform with its name and functions."""

    name: str
    title: str
    act: Callable[[Matrix, Parameters, int], Matrix]
    learn: Callable[[FitRows, int], dict[str, Matrix]] | None = None
    argument: Literal["none", "optional", "required"] = "none"
    act_sparse: Callable[[Any, int], Any] | None = None
    """The same for a scipy CSR matrix, if the result stays sparse."""


@dataclass(frozen=True)
class Step:
    """A transform with its number, such as ``whiten:256``; 0 means that none was given."""

    kind: TransformKind
    argument: int = 0

    @classmethod
    def parse(cls, text: str) -> Step:
        """Parse one step of a pipeline."""
        name, colon, given = (part.strip() for part in text.strip().partition(":"))
        kind = KINDS.get(name.lower())
        if kind is None:
            raise unknown_name("transform", name, KINDS, f"there are: {', '.join(KINDS)}")
        if not colon and kind.argument != "required":
            return cls(kind)
        if kind.argument == "none":
            raise InputError(f"{kind.name} takes no number, but {shorten(text)} gives one", remedy=f"write {kind.name}")
        if not (given.isascii() and given.isdecimal() and 0 < len(given) < 10 and int(given) > 0):
            raise InputError(
                f"{shorten(text)} needs a whole number from 1 up after {kind.name}", remedy=f"write {kind.name}:2"
            )
        return cls(kind, int(given))

    def __str__(self) -> str:
        return f"{self.kind.name}:{self.argument}" if self.argument else self.kind.name


def mean(rows: FitRows) -> Matrix:
    """Return the mean vector."""
    total = np.zeros(rows.width)
    for block in rows.blocks():
        total += block.sum(axis=0)
    return total / rows.count


def principal(rows: FitRows) -> tuple[Matrix, Matrix, Matrix]:
    """Return the mean, the non-negligible variances in descending order, and their directions as columns.

    The covariance about the mean is summed in float64. The sign of a direction is chosen so that its largest
    component is positive, so that two machines agree.
    """
    centre = mean(rows)
    scatter = np.zeros((rows.width, rows.width))
    for block in rows.blocks():
        centred = block - centre
        scatter += centred.T @ centred
    if not np.isfinite(scatter).all():
        raise InputError("the vectors are too large to compute their covariance", remedy="scale them down")
    variances, directions = np.linalg.eigh(scatter / max(rows.count - 1, 1))
    variances, directions = variances[::-1], directions[:, ::-1]
    noise = (_ROUNDING * np.abs(centre).max(initial=0.0)) ** 2
    rank = int(np.count_nonzero(variances > max(SMALLEST_EIGENVALUE * variances[0], noise)))
    directions = directions[:, :rank]
    largest = directions[np.abs(directions).argmax(axis=0), np.arange(rank)]
    return centre, variances[:rank], directions * np.where(largest < 0, -1.0, 1.0)


def _leading(rows: FitRows, name: str, wanted: int) -> tuple[Matrix, Matrix, Matrix]:
    centre, variances, directions = principal(rows)
    rank = len(variances)
    if max(wanted, 1) > rank:
        raise InputError(
            f"{name}{f':{wanted}' if wanted else ''} asks for more directions than the {rank} in which the "
            f"{rows.count} vectors of {rows.width} dimensions it is fitted on differ",
            remedy=f"ask for {rank} at most, or fit on more vectors" if rank else "fit on more vectors",
        )
    keep = wanted or rank
    return centre, variances[:keep], np.ascontiguousarray(directions[:, :keep])


def multiply(block: Matrix, matrix: Matrix) -> Matrix:
    """Return the product; the bits of each row do not depend on the other rows."""
    (count, width), out_width = block.shape, matrix.shape[1]
    rows = np.zeros((-(-count // _TILE), _TILE, width))
    rows.reshape(-1, width)[:count] = block
    columns = np.zeros((width, -(-out_width // _TILE) * _TILE))
    columns[:, :out_width] = matrix
    product: Matrix = (rows @ columns).reshape(-1, columns.shape[1])[:count, :out_width]
    return product


def _centre(block: Matrix, learnt: Parameters, _: int) -> Matrix:
    return block - learnt["mean"]


def _learn_standard(rows: FitRows, _: int) -> dict[str, Matrix]:
    centre, squares = mean(rows), np.zeros(rows.width)
    for block in rows.blocks():
        squares += np.square(block - centre).sum(axis=0)
    spread = np.sqrt(squares / rows.count)
    return {"mean": centre, "scale": np.where(spread > _ROUNDING * np.abs(centre), spread, 1.0)}


def _standardise(block: Matrix, learnt: Parameters, _: int) -> Matrix:
    return (block - learnt["mean"]) / learnt["scale"]


def _learn_whiten(rows: FitRows, wanted: int) -> dict[str, Matrix]:
    centre, variances, directions = _leading(rows, "whiten", wanted)
    return {"mean": centre, "directions": directions / np.sqrt(variances)}


def _learn_pca(rows: FitRows, wanted: int) -> dict[str, Matrix]:
    centre, _, directions = _leading(rows, "pca", wanted)
    return {"mean": centre, "directions": directions}


def _project(block: Matrix, learnt: Parameters, _: int) -> Matrix:
    return multiply(block - learnt["mean"], learnt["directions"])


def _learn_abtt(rows: FitRows, wanted: int) -> dict[str, Matrix]:
    centre, _, directions = _leading(rows, "abtt", wanted)
    if wanted >= rows.width:
        raise InputError(f"abtt:{wanted} would remove all {rows.width} dimensions", remedy="remove fewer, such as 2")
    return {"mean": centre, "directions": directions}


def _remove_top(block: Matrix, learnt: Parameters, _: int) -> Matrix:
    centred, directions = block - learnt["mean"], learnt["directions"]
    return centred - multiply(multiply(centred, directions), np.ascontiguousarray(directions.T))


def _normalise(block: Matrix, _: Parameters, __: int) -> Matrix:
    # Divided by the largest component first, so that squares neither underflow nor overflow.
    largest = np.abs(block).max(axis=1, initial=0.0, keepdims=True)
    scaled = block / np.where(largest > 0, largest, 1.0)
    lengths = np.sqrt(np.square(scaled).sum(axis=1, keepdims=True))
    return scaled / np.where(lengths > 0, lengths, 1.0)


def _normalise_sparse(vectors: Any, _: int) -> Any:
    lengths = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1), np.float64).ravel())
    normalised = vectors.copy()
    normalised.data /= np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(normalised.indptr))
    return normalised


def _check_truncation(width: int, wanted: int) -> None:
    if wanted > width:
        raise InputError(f"truncate:{wanted} is more than the {width} dimensions there are", remedy="keep fewer")


def _truncate(block: Matrix, _: Parameters, wanted: int) -> Matrix:
    _check_truncation(block.shape[1], wanted)
    return block[:, :wanted]


def _truncate_sparse(vectors: Any, wanted: int) -> Any:
    _check_truncation(vectors.shape[1], wanted)
    return vectors[:, :wanted]


def _learn_int8(rows: FitRows, _: int) -> dict[str, Matrix]:
    largest = np.zeros(rows.width)
    for block in rows.blocks():
        np.maximum(largest, np.abs(block).max(axis=0, initial=0.0), out=largest)
    return {"scale": largest / 127}


def _quantise(block: Matrix, learnt: Parameters, _: int) -> Matrix:
    scale = learnt["scale"]
    return np.clip(np.rint(block / np.where(scale > 0, scale, 1.0)), -127, 127) * scale


def _binarise(block: Matrix, _: Parameters, __: int) -> Matrix:
    return np.where(block > 0, 1.0, -1.0)


KINDS: dict[str, TransformKind] = {
    kind.name: kind
    for kind in (
        TransformKind("center", "the mean is taken away", _centre, lambda rows, _: {"mean": mean(rows)}),
        TransformKind(
            "standardize",
            "each dimension to mean 0 and variance 1; one that is constant to 0",
            _standardise,
            _learn_standard,
        ),
        TransformKind(
            "normalize", "each vector to length 1; a zero vector stays", _normalise, act_sparse=_normalise_sparse
        ),
        TransformKind(
            "whiten",
            "(x−μ)·U·diag(s^-½): uncorrelated, variance 1; the k largest directions, or all of them",
            _project,
            _learn_whiten,
            "optional",
        ),
        TransformKind("pca", "the k principal components", _project, _learn_pca, "required"),
        TransformKind(
            "abtt", "all but the top: centred, without the d principal components", _remove_top, _learn_abtt, "required"
        ),
        TransformKind("truncate", "the first k dimensions (Matryoshka)", _truncate, None, "required", _truncate_sparse),
        TransformKind(
            "int8",
            "what is left after 8 bits: 255 steps per dimension, symmetric, up to the largest value fitted on;"
            " larger ones are cut",
            _quantise,
            _learn_int8,
        ),
        TransformKind("binary", "what is left after 1 bit: +1 above zero, −1 otherwise", _binarise),
    )
}
"""Each kind by name, as `goldrank list` can show them."""
