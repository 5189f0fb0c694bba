"""Pipelines of vector transforms, such as ``center|whiten:256|normalize``: parse, fit, apply, save and load."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import GoldrankError, InputError, shorten
from goldrank.io.files import PathLike, display_name, nearest_path, write_atomically
from goldrank.io.stored_vectors import StoredVectors
from goldrank.vectors.transform_kinds import SMALLEST_EIGENVALUE, FitRows, Matrix, Parameters, Step

FIT_ON = {
    "corpus": "the items that are searched, without the queries",
    "training": "texts set apart for it, such as a training split",
    "vocabulary": "every word that the model's file has a vector for",
    "evaluated": "the very texts that are evaluated (transductive: the score no longer says how new texts would fare)",
}
"""What a pipeline may be fitted on; the evaluated texts only if named."""

_BLOCK = 4096
_FORMAT = 1


class Pipeline:
    """A sequence of transforms; those with parameters are fitted before they are applied.

    Everything is computed in float64 on blocks of rows and returned as float32, so the vectors may be a file
    (np.memmap) larger than memory, and a row's result does not depend on the other rows. Fitting again on the same
    machine gives the same bits; on other machines results agree up to rounding.

    >>> pipeline = Pipeline.parse("center|normalize").fit(np.array([[1.0, 0.0], [3.0, 4.0]]))
    >>> pipeline.apply(np.array([[2.0, 9.0], [5.0, 6.0]]))
    array([[0. , 1. ],
           [0.6, 0.8]], dtype=float32)
    >>> str(pipeline), pipeline.dimension
    ('center|normalize', 2)
    """

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self.steps = steps
        self._learnt: tuple[Parameters, ...] | None = None
        self._widths: tuple[int, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Pipeline:
        """Parse a pipeline; ``none`` and the empty string are the identity."""
        if text.strip().lower() in ("", "none"):
            return cls(())
        return cls(tuple(Step.parse(part) for part in text.split("|")))

    def __str__(self) -> str:
        return "|".join(map(str, self.steps)) or "none"

    def __repr__(self) -> str:
        return f"Pipeline.parse({str(self)!r})"

    @property
    def learns(self) -> bool:
        """Whether any step has to be fitted."""
        return any(step.kind.learn for step in self.steps)

    @property
    def fitted(self) -> bool:
        """Whether the pipeline can be applied."""
        return self._learnt is not None or not self.learns

    @property
    def dimension(self) -> int | None:
        """The output dimension; None before the pipeline is fitted."""
        return self._widths[-1] if self._widths else None

    @property
    def identity(self) -> str:
        """The specification and a hash of the fitted parameters; equal identities give equal vectors."""
        return f"{self}#{_digest(str(self), self._widths, self._parameters())[:16]}" if self.learns else str(self)

    @property
    def notes(self) -> list[str]:
        """Messages for the user about directions that fitting dropped."""
        notes = []
        for step, before, after in zip(self.steps, self._widths, self._widths[1:], strict=False):
            if step.kind.name == "whiten" and not step.argument and after < before:
                notes.append(
                    f"whiten dropped {before - after} of {before} directions, whose variance is at most "
                    f"{SMALLEST_EIGENVALUE:g} of the largest"
                )
        return notes

    def fit(self, vectors: Any) -> Pipeline:
        """Fit all steps on *vectors*, one row each, and return this pipeline."""
        vectors = self._checked(vectors, width=None)
        if vectors.shape[0] == 0:
            raise InputError("there are no vectors to fit on", remedy="give one or more")
        learnt: list[Parameters] = []
        widths = [int(vectors.shape[1])]
        if _is_sparse(vectors):
            self.refuse_sparse()
            learnt = [{} for _ in self.steps]
            widths += [int(self._sparse_up_to(i + 1, vectors[:1]).shape[1]) for i in range(len(self.steps))]
        else:
            from threadpoolctl import threadpool_limits

            # One thread, because the bits of sums and eigenvectors depend on the number of threads, and the fitted
            # parameters are part of the identity.
            with np.errstate(over="ignore", invalid="ignore"), threadpool_limits(1, "blas"):
                for i, step in enumerate(self.steps):
                    rows = FitRows(len(vectors), widths[-1], partial(self._blocks, vectors, learnt, i))
                    learnt.append(step.kind.learn(rows, step.argument) if step.kind.learn else {})
                    if not all(np.isfinite(value).all() for value in learnt[-1].values()):
                        raise InputError(f"the vectors are too large to fit {step} on", remedy="scale them down")
                    widths.append(step.kind.act(np.zeros((1, widths[-1])), learnt[-1], step.argument).shape[1])
        self._learnt, self._widths = tuple(learnt), tuple(widths)
        return self

    def apply(self, vectors: Any, out: NDArray[np.float32] | None = None) -> Any:
        """Return the transformed vectors as float32, written into *out* (an array or np.memmap) if given.

        A scipy CSR matrix stays sparse if every step supports it (normalize, truncate).
        """
        learnt = self._parameters()
        vectors = self._checked(vectors, width=self._widths[0] if self._widths else None)
        if _is_sparse(vectors):
            self.refuse_sparse()
            if out is not None:
                raise InputError("sparse vectors cannot be written into an array", remedy="leave out *out*")
            return self._sparse_up_to(len(self.steps), vectors).astype(np.float32)
        result = _room(out, len(vectors), self._width_for(vectors.shape[1]))
        for number, block in enumerate(self._blocks(vectors, learnt, len(self.steps))):
            start = number * _BLOCK
            with np.errstate(over="ignore"):
                result[start : start + len(block)] = block
            _refuse_infinite(result[start : start + len(block)], start, "is too large for float32 once transformed")
        return result

    def save(self, path: PathLike) -> None:
        """Write the fitted pipeline atomically to one .npz file."""
        from goldrank import __version__

        learnt = self._parameters()
        about = {
            "format": _FORMAT,
            "pipeline": str(self),
            "widths": list(self._widths),
            "goldrank": __version__,
            "numpy": np.__version__,
            "checksum": _digest(str(self), self._widths, learnt),
        }
        arrays: dict[str, Any] = {"goldrank": np.frombuffer(json.dumps(about).encode(), np.uint8)}
        arrays |= {f"{i}.{name}": value for i, step in enumerate(learnt) for name, value in step.items()}
        content = io.BytesIO()
        np.savez(content, **arrays)
        write_atomically(path, lambda stream: stream.write(content.getvalue()))

    @classmethod
    def load(cls, path: PathLike) -> Pipeline:
        """Read a saved pipeline and verify its checksum."""
        where, remedy = display_name(path), "fit and save it again"
        try:
            about, arrays = _read_saved(path)
            version = about["format"]
            if version == _FORMAT:
                pipeline = cls.parse(about["pipeline"])
                pipeline._restore(tuple(about["widths"]), arrays, about["checksum"])
        except FileNotFoundError:
            raise InputError("there is no such file", where=where, remedy=nearest_path(where)) from None
        except Exception as error:
            # numpy, zipfile and json raise many kinds of errors for a foreign or damaged file.
            reason = str(error) if isinstance(error, GoldrankError) else type(error).__name__
            raise InputError(
                f"the file is not a pipeline that goldrank saved ({reason})", where=where, remedy=remedy
            ) from None
        if version != _FORMAT:
            what = f"this pipeline has format {shorten(version)}, this goldrank reads {_FORMAT}"
            raise InputError(what, where=where, remedy=remedy)
        return pipeline

    def _restore(self, widths: tuple[int, ...], arrays: dict[str, NDArray[Any]], checksum: str) -> None:
        learnt: list[dict[str, Matrix]] = [{} for _ in self.steps]
        for name, value in arrays.items():
            number, _, parameter = name.partition(".")
            learnt[int(number)][parameter] = value
        if checksum != _digest(str(self), widths, learnt):
            raise GoldrankError("its checksum is wrong: it was changed or damaged")
        self._learnt, self._widths = tuple(learnt), widths
        # A manipulated file may have a valid checksum; it should fail here and not in the middle of a run.
        if widths and self._width_for(widths[0]) != widths[-1]:
            raise GoldrankError("its parameters do not fit its dimensions")

    def _parameters(self) -> tuple[Parameters, ...]:
        if self._learnt is not None:
            return self._learnt
        if self.learns:
            raise GoldrankError(f"the transform {self} was not fitted; call fit with the vectors to learn from first")
        return tuple({} for _ in self.steps)

    def _blocks(self, vectors: Any, learnt: Any, steps: int) -> Iterator[Matrix]:
        """Yield the vectors after the first *steps* steps, block by block."""
        for start in range(0, len(vectors), _BLOCK):
            block = np.asarray(vectors[start : start + _BLOCK], np.float64)
            _refuse_infinite(block, start, "is not finite")
            with np.errstate(over="ignore", invalid="ignore"):
                for step, parameters in zip(self.steps[:steps], learnt[:steps], strict=True):
                    block = step.kind.act(block, parameters, step.argument)
            yield block

    def _checked(self, vectors: Any, width: int | None) -> Any:
        if not _is_sparse(vectors) and not isinstance(vectors, StoredVectors):
            vectors = np.asanyarray(vectors)
        if vectors.ndim != 2:
            raise InputError(
                f"vectors come as rows of a matrix, not in the shape {vectors.shape}",
                remedy="give one row per vector; vectors[None] makes a matrix of a single one",
            )
        if vectors.dtype.kind not in "fiub":
            raise InputError(f"vectors hold numbers, not {vectors.dtype}", remedy="convert them to float32")
        if vectors.shape[1] == 0:
            raise InputError("the vectors have no dimensions", remedy="give one or more")
        if width is not None and vectors.shape[1] != width:
            raise InputError(
                f"the transform {self} was fitted on {width} dimensions, the vectors have {vectors.shape[1]}",
                remedy="apply it to vectors of the same model, or fit it again",
            )
        if _is_sparse(vectors):
            vectors = vectors.tocsr().astype(np.float64)
            _refuse_infinite_sparse(vectors)
        return vectors

    def check(self, width: int | None, count: int | None = None) -> int | None:
        """Return the output dimension for an input dimension; raise if a step needs more dimensions than there are.

        Args:
            width: the input dimension, None if not known yet.
            count: the number of vectors to fit on; n vectors differ in at most n - 1 directions.
        """
        for step in self.steps:
            fitted_on = count if step.kind.learn else None
            known = [most for most in (width, None if fitted_on is None else fitted_on - 1) if most is not None]
            if known and step.argument > min(known):
                fitted = "" if fitted_on is None else f" and {fitted_on} vectors to fit on"
                dimensions = "" if width is None else f"{width} dimensions"
                raise InputError(
                    f"{step} asks for more than there is with {dimensions or 'its vectors'}{fitted}",
                    remedy=f"ask for {max(1, min(known))} at most",
                )
            if step.kind.name == "abtt" and width is not None and step.argument >= width:
                raise InputError(f"{step} would remove all {width} dimensions", remedy="remove fewer, such as 2")
            if step.kind.name in ("whiten", "pca", "truncate"):
                # Whitening without a number keeps all directions.
                width = step.argument or None
        return width

    def refuse_sparse(self) -> None:
        """Raise if a step would make sparse vectors dense."""
        for step in self.steps:
            if step.kind.act_sparse is None:
                raise InputError(
                    f"{step} would make sparse vectors dense",
                    remedy="use lsa, which gives dense vectors, or only normalize and truncate",
                )

    def _sparse_up_to(self, count: int, vectors: Any) -> Any:
        for step in self.steps[:count]:
            assert step.kind.act_sparse is not None
            vectors = step.kind.act_sparse(vectors, step.argument)
        return vectors

    def _width_for(self, width: int) -> int:
        """Return the output dimension of a fitted pipeline for an input dimension."""
        block = np.zeros((1, width))
        for step, parameters in zip(self.steps, self._parameters(), strict=True):
            block = step.kind.act(block, parameters, step.argument)
        return int(block.shape[1])


def _read_saved(path: PathLike) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    with np.load(Path(path), allow_pickle=False) as content:
        arrays = {name: content[name] for name in content.files}
    about = json.loads(arrays.pop("goldrank").tobytes())
    if any(value.dtype != np.float64 for value in arrays.values()):
        raise GoldrankError("its parameters are not float64")
    return about, arrays


def _room(out: NDArray[np.float32] | None, count: int, width: int) -> NDArray[np.float32]:
    if out is None:
        return np.empty((count, width), np.float32)
    if out.shape != (count, width) or out.dtype != np.float32:
        raise InputError(
            f"the array to write into is {out.dtype} of shape {out.shape}",
            remedy=f"give one of float32 and shape {(count, width)}",
        )
    return out


def _is_sparse(vectors: Any) -> bool:
    # Duck typing, so that scipy is imported only if such a matrix exists.
    return hasattr(vectors, "tocsr")


def _refuse_infinite(block: NDArray[Any], start: int, what: str) -> None:
    finite = np.isfinite(block).all(axis=1)
    if not finite.all():
        raise InputError(
            f"the vector in row {start + int(np.argmin(finite))} {what}", remedy="check the model that made it"
        )


def _refuse_infinite_sparse(vectors: Any) -> None:
    bad = np.flatnonzero(~np.isfinite(vectors.data))
    if len(bad):
        row = int(np.searchsorted(vectors.indptr, bad[0], side="right")) - 1
        raise InputError(f"the vector in row {row} is not finite", remedy="check the model that made it")


def _digest(text: str, widths: tuple[int, ...], learnt: Any) -> str:
    digest = hashlib.blake2b(json.dumps([text, list(widths)]).encode(), digest_size=16)
    for number, parameters in enumerate(learnt):
        for name, value in sorted(parameters.items()):
            digest.update(json.dumps([number, name, list(value.shape)]).encode())
            digest.update(np.ascontiguousarray(value, "<f8").tobytes())
    return digest.hexdigest()
