"""Open files of faiss.write_index; ids come from the user, from the file or from the order of the vectors."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import Encoder
from goldrank.errors import InputError
from goldrank.hits import Run
from goldrank.index.base import Similarity, checked_ids
from goldrank.index.encoding import OpenIndex
from goldrank.index.faiss_index import Factory, FaissIndex, load_faiss, sentence_of
from goldrank.io.checks import id_strings
from goldrank.io.files import PathLike, display_name, read_bytes

MAP_FROM = 1 << 26
"""The size in bytes from which the vectors of a flat index are memory-mapped."""
_FLAT = (b"IxFI", b"IxF2", b"IxFl")
_limits = Lock()


@dataclass(frozen=True, eq=False, repr=False)
class FaissFile(OpenIndex):
    """An open file of faiss.write_index: searched with vectors, or with texts and a model that the user names."""

    path: Path
    index: FaissIndex
    ids_from: str
    """Where the ids come from."""
    spec: str
    """The factory string of the index, or its class if faiss has no string for it."""
    size: int
    texts: dict[str, str] | None = None

    @property
    def ids(self) -> list[str]:
        """The id of each item."""
        return self.index.ids

    def describe(self) -> dict[str, Any]:
        """Return a summary of the file."""
        return {
            "index": self.spec,
            "similarity": self.index.similarity,
            "dimension": self.index.dimension,
            "count": self.index.count,
            "trained": bool(self.index.faiss_index.is_trained),
            "ids": self.ids_from,
            "size": self.size,
        }

    def model(self, given: str | None = None) -> str:
        """Return the model that the user named; the file names none."""
        if given is None:
            raise InputError(
                "a faiss file does not say which model made its vectors", where=str(self.path), remedy="name it with -m"
            )
        return given

    def refuse_other(self, encoder: Encoder) -> None:
        """Accept any encoder: the file does not say which one made its vectors."""

    def search(
        self, queries: Any, k: int, *, query_ids: Sequence[str] | None = None, exclude_self: bool = False
    ) -> Run:
        """Return the k best items for query vectors, or fewer if the index finds fewer.

        Scores are inner products, or for ``l2`` *minus* the distance, so that a higher one is better.
        """
        if not self.index.count:
            raise InputError("the index holds no vectors", where=str(self.path), remedy="add some, and write it again")
        try:
            run = self.index.top_k(queries, k, query_ids=query_ids, exclude_self=exclude_self)
        except IndexError:
            raise self._damaged("answers with labels that none of its vectors has") from None
        if not np.isfinite(run.columns.values).all():
            raise self._damaged("holds vectors that are not finite")
        return run

    def _damaged(self, what: str) -> InputError:
        return InputError(f"the index {what}", where=str(self.path), remedy="write it again")


def open_faiss_file(path: PathLike, ids: Sequence[object] | PathLike | None = None) -> FaissFile:
    """Open a file of faiss.write_index.

    Args:
        path: the file.
        ids: one id for each vector in the order of their labels, or a file with one per line. By default the ids that
            an IndexIDMap or an IVF index holds, else "0", "1", ….

    Raises:
        InputError: if the file is none of faiss, damaged, binary, or of another metric than inner product and L2.
    """
    file = Path(path)
    faiss = load_faiss()
    with _faults(file):
        size = file.stat().st_size
        with file.open("rb") as stream:
            head = stream.read(4)
        _refuse_foreign(head, file)
        with _limited(faiss, size):
            # If the lists of an IVF index are in another file, that file is opened read-only.
            flags = faiss.IO_FLAG_READ_ONLY | (faiss.IO_FLAG_MMAP_IFC if head in _FLAT and size >= MAP_FROM else 0)
            whole = faiss.read_index(os.fspath(file), flags)
        inner, labels = _without_id_map(faiss, whole)
        held = _labels(faiss, inner) if labels is None else labels
        count = int(inner.ntotal)
        # An index that holds no labels takes a byte or more for each vector.
        if not 0 <= count <= size if held is None else count != len(held):
            raise ValueError(f"its header states {count} vectors, which does not fit its size")
    similarity = _similarity(faiss, inner.metric_type, file)
    items = _ItemIds.of(ids, held, count, file, in_order=labels is not None)
    index = FaissIndex(inner, items.ids, similarity, Factory(_factory(inner)), labels=items.labels)
    return FaissFile(file, index, items.source, f"faiss:{_factory(whole)}", size)


def _refuse_foreign(head: bytes, file: Path) -> None:
    if len(head) < 4 or not head.isalnum() or not head.startswith(b"I"):
        raise InputError(
            "this is neither an index folder nor a file of faiss",
            where=str(file),
            remedy="give what goldrank index build or faiss.write_index wrote",
        )
    if head.startswith(b"IB"):
        raise InputError(
            "the file holds a binary index, which compares bits",
            where=str(file),
            remedy="give an index of float vectors (faiss.write_index, not write_index_binary)",
        )


@contextmanager
def _limited(faiss: Any, size: int) -> Iterator[None]:
    """Let faiss reserve no more for a vector than the file has bytes; a damaged length would else take all memory."""
    if not hasattr(faiss, "set_deserialization_vector_byte_limit"):
        yield
        return
    with _limits:
        before = faiss.get_deserialization_vector_byte_limit()
        faiss.set_deserialization_vector_byte_limit(max(size, 1))
        try:
            yield
        finally:
            faiss.set_deserialization_vector_byte_limit(before)


@contextmanager
def _faults(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"the file cannot be read ({error.strerror})", where=str(file), remedy="check it") from None
    except (RuntimeError, MemoryError, AttributeError, TypeError, ValueError) as error:
        message = sentence_of(error)
        # Some messages of faiss are C++ expressions, which do not help a user.
        reason = f" ({message[:120]})" if message and "::" not in message else ""
        raise InputError(
            f"faiss cannot read the file{reason}",
            where=str(file),
            remedy="copy it again, or write it again with this version of faiss",
        ) from None


def _without_id_map(faiss: Any, index: Any) -> tuple[Any, NDArray[np.int64] | None]:
    """Return the index inside an IndexIDMap with its ids in order; other indexes unchanged, without ids."""
    if not isinstance(index, faiss.IndexIDMap):
        return index, None
    inner = faiss.downcast_index(index.index)
    inner.referenced_objects = [index]
    return inner, faiss.vector_to_array(index.id_map)


def _labels(faiss: Any, index: Any) -> NDArray[np.int64] | None:
    """Return the labels stored in an index, sorted; None if its vectors are numbered from 0."""
    if isinstance(index, faiss.IndexPreTransform):
        return _labels(faiss, faiss.downcast_index(index.index))
    if isinstance(index, faiss.IndexIDMap):
        labels = faiss.vector_to_array(index.id_map)
    elif isinstance(index, faiss.IndexIVF):
        lists = index.invlists
        parts = [np.zeros(0, np.int64)]
        for number in range(lists.nlist):
            if length := lists.list_size(number):
                parts.append(faiss.rev_swig_ptr(lists.get_ids(number), length).copy())
        labels = np.concatenate(parts)
    else:
        return None
    return np.sort(labels)


def _similarity(faiss: Any, metric: int, file: Path) -> Similarity:
    known: dict[int, Similarity] = {faiss.METRIC_INNER_PRODUCT: "dot", faiss.METRIC_L2: "l2"}
    if metric not in known:
        names = (name for name in dir(faiss) if name.startswith("METRIC_") and getattr(faiss, name) == metric)
        raise InputError(
            f"the metric of the index is {next(names, metric)}",
            where=str(file),
            remedy="goldrank searches indexes of METRIC_INNER_PRODUCT and METRIC_L2",
        )
    return known[metric]


@dataclass(frozen=True)
class _ItemIds:
    """The ids of the items of an index."""

    ids: list[str]
    source: str
    """Where they come from."""
    labels: NDArray[np.int64] | None = None
    """The labels of the index in the order of the ids; None if they are 0, 1, …."""

    @classmethod
    def of(
        cls,
        ids: Sequence[object] | PathLike | None,
        labels: NDArray[np.int64] | None,
        count: int,
        file: Path,
        *,
        in_order: bool,
    ) -> _ItemIds:
        """Take the ids from the user, from the labels of the index, or count them.

        Args:
            ids: what the user gave.
            labels: the labels that the index holds, if any.
            count: the number of items.
            file: the file of the index.
            in_order: whether the labels are in the order of the vectors, so that results need not be looked up by them.
        """
        if labels is None or (not in_order and np.array_equal(labels, np.arange(count))):
            if ids is None:
                return cls(checked_ids(None, count, "item"), "counted from 0")
            if isinstance(ids, (str, os.PathLike)):
                return cls(checked_ids(_read_ids(ids, count), count, "item"), display_name(ids))
            cells = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
            names = id_strings(cells, role="item", integers=True, place=lambda row: f"id {row}")
            return cls(checked_ids(names, count, "item"), "given")
        if ids is not None:
            raise InputError(
                f"the index holds ids of its own, such as {labels[0]}",
                where=str(file),
                remedy="leave the given ids out",
            )
        names = checked_ids([str(label) for label in labels.tolist()], count, "item")
        return cls(names, "held by the index", None if in_order else labels)


def _read_ids(path: PathLike, count: int) -> list[str]:
    name = display_name(path)
    lines = read_bytes(path).decode().removesuffix("\n").split("\n")
    if len(lines) != count:
        raise InputError(
            f"the file holds {len(lines)} ids for {count} vectors", where=name, remedy="write one id per line"
        )
    ids = [line.removesuffix("\r") for line in lines]
    return id_strings(ids, role="item", integers=False, place=lambda row: f"{name}:{row + 1}")


def _factory(index: Any) -> str:
    try:
        from faiss.contrib.factory_tools import reverse_index_factory

        return str(reverse_index_factory(index))
    except (ImportError, NotImplementedError, AttributeError, AssertionError, RuntimeError, TypeError, ValueError):
        return type(index).__name__
