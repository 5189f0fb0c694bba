"""The base of the database indexes: specs, markers of complete loads, and search results as a Run.

The database is measured as it is: with its own order and its own scores. Vectors are loaded unchanged, beside a marker
with their checksum; a load is reused only if its marker says that it is complete.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from goldrank.errors import InputError, shorten, unknown_name
from goldrank.hits import Floats, Gold, Hits, Run
from goldrank.index.base import Dense, Similarity, blocks, checked_ids, checked_similarity, checked_vectors
from goldrank.io.columns import Columns
from goldrank.progress import Progress
from goldrank.redaction import redact
from goldrank.specs import parse_options, split_options

if TYPE_CHECKING:
    from typing_extensions import Self

Value = int | str | None
Kinds = Mapping[str, Mapping[str, Value]]
SearchResult = tuple[list[str], Floats]
FORMAT = 1
_HASH_BLOCK = 1 << 14


@dataclass(frozen=True)
class DatabaseSpec:
    """The spec of an index in a database: its kind, address and options.

    >>> DatabaseSpec.parse("chroma:http://localhost:8000/wines(ef_search=50)")
    DatabaseSpec(kind='chroma', address='http://localhost:8000/wines', options={'ef_search': '50'})
    """

    kind: str
    address: str
    options: dict[str, str]

    @classmethod
    def parse(cls, spec: str) -> DatabaseSpec:
        """Parse a spec; only trailing brackets hold options."""
        name, options = split_options(spec)
        kind, _, address = name.partition(":")
        if not kind.isidentifier() or not address:
            raise InputError(f"{shorten(redact(spec))} names no database", remedy="write KIND:ADDRESS(option=value,…)")
        return cls(kind, address, parse_options(options, spec))


def fill_options(spec: DatabaseSpec, kinds: Kinds, common: Mapping[str, Value], default_kind: str) -> dict[str, Value]:
    """Return the options of a spec with the defaults filled in; refuse options that the kind of index does not have.

    Args:
        spec: the spec.
        kinds: the options of each kind of index with their defaults.
        common: the options that all kinds have; an option whose default is not a string must be a number.
        default_kind: the kind of index if the spec has no option ``index``.

    >>> fill_options(DatabaseSpec("x", "y", {"m": "8"}), {"exact": {}, "hnsw": {"m": 16, "ef": 40}}, {}, "hnsw")
    {'index': 'hnsw', 'm': 8, 'ef': 40}
    """
    kind = spec.options.get("index", default_kind)
    if kind not in kinds:
        raise unknown_name(f"{spec.kind} index", kind, kinds, "it has " + ", ".join(kinds))
    known = {**kinds[kind], **common}
    options: dict[str, Value] = {"index": kind, **known}
    for name, text in spec.options.items():
        if name == "index":
            continue
        if name not in known:
            listing = "it has " + (", ".join(known) or "none")
            raise unknown_name(f"option of the {spec.kind} index {kind}", name, known, listing)
        options[name] = text if isinstance(known[name], str) else _number(name, text)
    return options


def _number(name: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise InputError(f"the option {name} is {shorten(text)}", remedy="write a whole number of at least 1")
    return int(text)


def format_options(options: Mapping[str, Value], without: Collection[str] = ()) -> str:
    """Format options as a spec has them, except those that are left to the database.

    >>> format_options({"index": "hnsw", "m": 16, "refine_factor": None})
    '(index=hnsw,m=16)'
    """
    parts = [f"{name}={value}" for name, value in options.items() if value not in (None, "") and name not in without]
    return f"({','.join(parts)})" if parts else ""


def refuse_password(address: str, remedy: str) -> None:
    """Raise for an address with a password: specs are stored with results, and passwords must not be."""
    if redact(address) != address:
        raise InputError("the address holds a password", where=redact(address), remedy=remedy)


def name_variant(name: str, options: Mapping[str, Value], similarity: str) -> str:
    """Return a name for the data *name* indexed with these build options and this similarity."""
    identity = repr((FORMAT, similarity, sorted(options.items(), key=lambda item: item[0])))
    return f"{name}-{hashlib.sha256(identity.encode()).hexdigest()[:10]}"


@dataclass(frozen=True)
class TableData:
    """Validated item vectors and ids, with their checksum."""

    vectors: Dense
    ids: list[str]
    checksum: str

    @classmethod
    def of(cls, vectors: Any, ids: Sequence[str] | None) -> TableData:
        """Check vectors and ids as every index does, and that a database can store the ids as text."""
        matrix = checked_vectors(vectors, "item")
        if not len(matrix):
            raise InputError("there are no items to index", remedy="check that the data was read completely")
        names = checked_ids(ids, len(matrix), "item")
        digest = hashlib.sha256(repr((FORMAT, matrix.shape)).encode())
        digest.update(_encoded(names))

        def digest_of(rows: slice) -> bytes:
            return hashlib.sha256(np.ascontiguousarray(matrix[rows], "<f4").data).digest()

        # Hashing releases the GIL, so that the blocks are hashed on all cores; their digests are combined in order.
        with ThreadPoolExecutor() as pool:
            for block in pool.map(digest_of, blocks(len(matrix), _HASH_BLOCK)):
                digest.update(block)
        return cls(matrix, names, digest.hexdigest())

    @property
    def dimension(self) -> int:
        """The dimension of the vectors."""
        return int(self.vectors.shape[1])


def refuse_zero(vectors: Dense, names: Sequence[str], role: str, database: str) -> None:
    """Raise for a vector of zeros, whose cosine the *database* does not define; *role* is "item" or "query"."""
    for rows in blocks(len(vectors)):
        nonzero = vectors[rows].any(axis=1)
        if not nonzero.all():
            raise InputError(
                f"the vector of the {role} {shorten(names[rows.start + int(nonzero.argmin())])} is all zeros, "
                f"and {database} has no cosine for it",
                remedy=f"leave the {role} out, or use the similarity dot",
            )


def _encoded(names: list[str]) -> bytes:
    """Return all ids, separated by zero bytes; refuse ids that contain such a byte or are not valid Unicode."""
    joined = "\0".join(names)
    try:
        encoded: bytes | None = joined.encode()
    except UnicodeEncodeError:
        encoded = None
    if encoded is None or encoded.count(b"\0") != len(names) - 1:
        wrong = next(name for name in names if "\0" in name or re.search("[\ud800-\udfff]", name))
        raise InputError(f"a database cannot store the item id {shorten(wrong)} as text", remedy="change the id")
    return encoded


@dataclass(frozen=True)
class Marker:
    """The record of a complete load, with the checksum of its data."""

    checksum: str
    count: int
    dimension: int

    @classmethod
    def of(cls, data: TableData) -> Marker:
        """Return the marker of a complete load of *data*."""
        return cls(data.checksum, len(data.ids), data.dimension)

    def refuse_other(self, data: TableData, where: str) -> None:
        """Raise unless this is the marker of *data*."""
        if self != Marker.of(data):
            raise InputError(
                f"{self.count} other items of {self.dimension} dimensions are loaded there",
                where=where,
                remedy="choose another name, or remove them with: goldrank index drop",
            )

    def refuse_changed(self, count: int, where: str) -> None:
        """Raise if the number of items is not the number that was loaded."""
        if count != self.count:
            raise InputError(
                f"{self.count} items were loaded and {count} are there now: another program has changed them",
                where=where,
                remedy="remove them with: goldrank index drop, and load them again",
            )


class DatabaseIndex(ABC):
    """The base class of the database indexes.

    Scores are the distances of the database converted to similarities: 1 minus the cosine distance, the inner product,
    or minus the distance.
    """

    similarity: Similarity
    options: dict[str, Value]
    _marker: Marker
    _without_zero: str | None = None
    """The name of the database if it does not define the cosine of a zero vector."""

    @staticmethod
    @abstractmethod
    def _read_spec(spec: str) -> tuple[Any, dict[str, Value]]:
        """Return the target and the options of a spec, checked before connecting."""

    @classmethod
    def build(
        cls, spec: str, vectors: Any, ids: Sequence[str] | None = None, similarity: Similarity = "cosine"
    ) -> Self:
        """Load the vectors unless an identical load exists, and build the index unless it exists.

        Args:
            spec: the kind of database, its address and options, as in ``lancedb:folder/table(index=ivf_pq)``.
            vectors: one row per item.
            ids: the ids of the items, by default "0", "1", ….
            similarity: ``cosine``, ``dot`` or ``l2``.
        """
        target, options = cls._read_spec(spec)
        checked = checked_similarity(similarity)
        data = TableData.of(vectors, ids)
        if checked == "cosine" and cls._without_zero is not None:
            refuse_zero(data.vectors, data.ids, "item", cls._without_zero)
        return cls._load(target, data, checked, options)

    @classmethod
    @abstractmethod
    def _load(cls, target: Any, data: TableData, similarity: Similarity, options: dict[str, Value]) -> Self:
        """Load the data and build the index, each unless it exists."""

    @property
    @abstractmethod
    def spec(self) -> str:
        """The spec that builds an index like this one; without passwords and tokens."""

    @property
    @abstractmethod
    def size(self) -> int | None:
        """The bytes of the items and their index in the database; None if the database does not report them."""

    @abstractmethod
    def _search(self, queries: Dense, k: int) -> Iterator[SearchResult]:
        """Yield the ids of the best k items of each query and their scores, higher being better."""

    @property
    def dimension(self) -> int:
        """The dimension of the vectors."""
        return self._marker.dimension

    @property
    def count(self) -> int:
        """The number of items."""
        return self._marker.count

    def top_k(self, queries: Any, k: int, *, query_ids: Sequence[str] | None = None, exclude_self: bool = False) -> Run:
        """Return the k best items of each query as the database returns them; equal scores by descending id.

        Args:
            queries: one row per query.
            k: the number of items; an approximate index may find fewer.
            query_ids: the ids of the queries, by default "0", "1", ….
            exclude_self: leave out the item whose id is the query's; the search is for one item more.
        """
        if k < 1:
            raise InputError(f"k is {k}", remedy="ask for one item or more")
        matrix = checked_vectors(queries, "query", self.dimension)
        names = checked_ids(query_ids, len(matrix), "query")
        if self._without_zero is not None and self.similarity == "cosine":
            refuse_zero(matrix, names, "query", self._without_zero)
        items: list[str] = []
        values: list[float] = []
        starts = np.zeros(len(names) + 1, np.int64)
        depth = min(k + exclude_self, self.count)
        with Progress(f"searching ({self.options['index']})", total=len(names), unit="query vector") as progress:
            for row, (ids, scores) in enumerate(self._search(matrix, depth)):
                pairs = [p for p in zip(scores.tolist(), ids, strict=True) if not exclude_self or p[1] != names[row]]
                ordered = sorted(pairs, reverse=True)[:k]
                items += [item for _, item in ordered]
                values += [score for score, _ in ordered]
                starts[row + 1] = len(items)
                progress.advance()
        return Run.from_columns(Columns(names, starts, items, np.array(values, np.float64), self.spec))

    def exact_hits(
        self, queries: Any, gold: Gold, *, query_ids: Sequence[str] | None = None, exclude_self: bool = False
    ) -> Hits:
        """Raise: databases only support top-k search."""
        raise InputError(
            f"the index {self.spec} only supports top-k search and cannot return the rank of an item",
            remedy="use top_k, or the index exact",
        )


def scores_of(distances: Any, similarity: Similarity, *, squared: bool, one_minus_dot: bool) -> Floats:
    """Convert the distances of a database to the scores of the exact index, higher being better.

    Args:
        distances: cosine distances, negated inner products or l2 distances.
        similarity: the similarity.
        squared: whether l2 distances are squared.
        one_minus_dot: whether the distance for dot is 1 minus the product, rather than minus the product.
    """
    values = np.asarray(distances, np.float64)
    if similarity == "l2":
        return -np.sqrt(np.maximum(values, 0)) if squared else -values
    if similarity == "dot":
        return 1 - values if one_minus_dot else -values
    return 1 - values
