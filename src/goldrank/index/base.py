"""The index protocol, the construction of an index from its spec, and checks of vectors and ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError, shorten, unknown_name
from goldrank.hits import Gold, Hits, Run
from goldrank.index.exact.index import ExactIndex
from goldrank.io.checks import find_duplicate
from goldrank.redaction import redact
from goldrank.registry import Registry

Similarity = Literal["cosine", "dot", "l2"]
Dense = NDArray[np.float32]

_BLOCK = 1 << 16
_WITHOUT_ARGUMENT = ("exact", "cuda")


@runtime_checkable
class Index(Protocol):
    """Item vectors that can be searched."""

    @property
    def spec(self) -> str:
        """The spec that builds an index like this one: ``exact`` or ``faiss:FACTORY``."""

    @property
    def similarity(self) -> str:
        """How a query and an item are compared; a higher score is always better."""

    @property
    def dimension(self) -> int:
        """The dimension of the vectors."""

    @property
    def count(self) -> int:
        """The number of items."""

    def top_k(self, queries: Any, k: int, *, query_ids: Sequence[str] | None = None, exclude_self: bool = False) -> Run:
        """Return the k best items of each query; *exclude_self* leaves out the item with the query's id."""

    def exact_hits(
        self, queries: Any, gold: Gold, *, query_ids: Sequence[str] | None = None, exclude_self: bool = False
    ) -> Hits:
        """Return the exact ranks of the gold; raise if the index only supports top-k search."""


Builder = Callable[[str, Any, Sequence[str] | None, Similarity], Index]


@dataclass(frozen=True)
class IndexKind:
    """A kind of index: how it is built from a spec, and what a user has to know to choose it."""

    build: Builder
    """The function from a whole spec, item vectors, their ids or None, and a similarity to an Index."""
    summary: str
    example: str
    install: str = ""
    """The command that installs its packages; empty if goldrank itself does."""
    drop: Callable[[str], list[str]] | None = None
    """The function that removes what was loaded for a spec and returns the names, for a database."""
    live: bool = False
    """Whether what it finds may change while spec and vectors stay the same, as in a database that others change."""


def _build_exact(spec: str, vectors: Any, ids: Sequence[str] | None, similarity: Similarity) -> Index:
    # The exact index checks vectors when it first reads them, so that a mapped file opens at once.
    refuse_sparse(vectors, "item")
    return ExactIndex(vectors, ids, similarity)


def _build_cuda(spec: str, vectors: Any, ids: Sequence[str] | None, similarity: Similarity) -> Index:
    from goldrank.index.cuda.index import CudaIndex

    refuse_sparse(vectors, "item")
    return CudaIndex(vectors, ids, similarity)


def _build_faiss(spec: str, vectors: Any, ids: Sequence[str] | None, similarity: Similarity) -> Index:
    from goldrank.index.faiss_index import FaissIndex

    return FaissIndex.build(spec.partition(":")[2], vectors, ids, similarity)


def _database(name: str, index: str, summary: str, example: str) -> IndexKind:
    """Return the kind of an index in a database, whose module is imported on demand."""

    def module() -> Any:
        return import_module(f"goldrank.index.databases.{name}")

    return IndexKind(
        lambda *arguments: getattr(module(), index).build(*arguments),
        summary,
        example,
        f"pip install 'goldrank[{name}]'",
        lambda spec: module().drop(spec),
        live=True,
    )


_BUILT_IN = {
    "exact": IndexKind(_build_exact, "exact ranks over all items, on the processor", "exact"),
    "cuda": IndexKind(_build_cuda, "exact ranks over all items, on a GPU", "cuda", "pip install 'goldrank[cuda]'"),
    "faiss": IndexKind(
        _build_faiss, "any index of a faiss factory string", "faiss:HNSW32", "pip install 'goldrank[models]'"
    ),
    "pgvector": _database("pgvector", "PgvectorIndex", "a table of PostgreSQL", "pgvector:postgresql://host/name"),
    "chroma": _database("chroma", "ChromaIndex", "a collection of Chroma", "chroma:http://localhost:8000"),
    "lancedb": _database("lancedb", "LancedbIndex", "a table of LanceDB", "lancedb:FOLDER/TABLE"),
}
INDEXES: Registry[IndexKind] = Registry("goldrank.indexes", IndexKind, _BUILT_IN)


def build(spec: str, vectors: Any, ids: Sequence[str] | None = None, similarity: Similarity = "cosine") -> Index:
    """Build the index that *spec* names: ``exact``, ``faiss:`` and a factory string, or a database.

    A database is ``pgvector:URL``, ``chroma:URL`` or ``lancedb:FOLDER/TABLE``, with options in brackets.

    >>> index = build("exact", [[1.0, 0.0], [0.0, 1.0]], ["east", "north"])
    >>> list(index.top_k([[0.2, 0.9]], k=1)["0"])
    ['north']
    """
    return find_index_kind(spec).build(spec.strip(), vectors, ids, checked_similarity(similarity))


def find_index_kind(spec: str) -> IndexKind:
    """Return the kind of the index *spec*; raise if there is none, or if what follows the kind is wrong."""
    kind, _, argument = spec.strip().partition(":")
    if kind not in INDEXES:
        raise unknown_name(
            "kind of index", kind, INDEXES, "goldrank list indexes; a factory of faiss is written faiss:HNSW32"
        )
    if (kind in _WITHOUT_ARGUMENT and argument) or (kind == "faiss" and not argument):
        raise InputError(
            f"there is no index {shorten(redact(spec))}", remedy="write exact, cuda, or faiss: and a factory"
        )
    return INDEXES[kind]


def drop(spec: str) -> list[str]:
    """Remove the tables that goldrank loaded into the database of *spec*, and return their names."""
    kind, _, address = spec.strip().partition(":")
    if not address or kind not in INDEXES or (remove := INDEXES[kind].drop) is None:
        databases = ", ".join(name for name, known in INDEXES.items() if known.drop)
        raise InputError(
            "only what was loaded into a database can be dropped",
            remedy=f"write a spec of {databases}; a folder is simply deleted",
        )
    return remove(spec)


def blocks(count: int, size: int = _BLOCK) -> Iterator[slice]:
    """Yield slices of *size* rows that cover 0 to *count*.

    >>> list(blocks(5, 3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    return (slice(start, min(start + size, count)) for start in range(0, count, size))


def checked_vectors(vectors: Any, role: str, dimension: int | None = None) -> Dense:
    """Return *vectors* as a finite float32 matrix, without a copy if possible; raise if they are not one.

    *role* is the word for messages, "item" or "query"; *dimension* is the required dimension, if any.
    """
    refuse_sparse(vectors, role)
    try:
        matrix = np.asarray(vectors, np.float32)
    except (TypeError, ValueError):
        raise InputError(
            f"the {role} vectors are not a matrix of numbers", remedy="give every vector the same number of numbers"
        ) from None
    if matrix.ndim != 2 or not matrix.shape[1]:
        raise InputError(
            f"the {role} vectors have the shape {matrix.shape}", remedy=f"give a matrix with one row per {role}"
        )
    if dimension is not None and matrix.shape[1] != dimension:
        raise InputError(
            f"the {role} vectors have {matrix.shape[1]} dimensions, the index has {dimension}",
            remedy="encode both with the same model and transform",
        )
    for rows in blocks(len(matrix)):
        finite = np.isfinite(matrix[rows]).all(axis=1)
        if not finite.all():
            raise InputError(
                f"the vector of {role} {rows.start + int(finite.argmin())} (counted from 0) is not finite",
                remedy="check the model and the transform",
            )
    return matrix


def refuse_sparse(vectors: Any, role: str) -> None:
    """Raise for a scipy matrix."""
    if hasattr(vectors, "tocsr"):
        raise InputError(
            f"the {role} vectors are sparse, which this index cannot hold",
            remedy="use a model with dense vectors (lsa instead of tfidf)",
        )


def checked_ids(ids: Sequence[str] | None, count: int, role: str) -> list[str]:
    """Return the ids of *count* vectors, by default "0", "1", …; raise if an id is repeated."""
    if ids is None:
        return [str(number) for number in range(count)]
    listed = list(ids)
    if len(listed) != count:
        raise InputError(f"there are {len(listed)} ids for {count} {role} vectors", remedy="give one id per vector")
    if duplicate := find_duplicate(listed):
        what = f"the {role} id {shorten(listed[duplicate[0]])} is given twice"
        raise InputError(what, remedy=f"give every {role} its own id")
    return listed


def checked_similarity(similarity: str) -> Similarity:
    """Return *similarity* if it is known, else raise."""
    if similarity not in get_args(Similarity):
        raise InputError(
            f"there is no similarity {shorten(similarity)}", remedy=f"use one of {', '.join(get_args(Similarity))}"
        )
    return similarity  # type: ignore[return-value]
