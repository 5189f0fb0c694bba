"""What all database indexes share: specs, markers of complete loads, and results as a Run.

A database is treated as the team runs it: its own order and its own scores are what is measured. Vectors are loaded as
they are, beside a marker with their checksum; only a load whose marker says so is used again.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from goldrank.errors import InputError, shorten, unknown_name
from goldrank.hits import Floats, Gold, Hits, Run
from goldrank.index.base import Dense, Similarity, blocks, checked_ids, checked_vectors
from goldrank.io.columns import Columns
from goldrank.progress import Progress
from goldrank.redaction import redact
from goldrank.specs import parse_options

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
        match = re.fullmatch(r"(?P<kind>\w+):(?P<address>.+?)(?:\((?P<set>[^()]*)\))?", spec.strip(), flags=re.DOTALL)
        if match is None:
            raise InputError(f"{shorten(redact(spec))} names no database", remedy="write KIND:ADDRESS(option=value,…)")
        return cls(match["kind"], match["address"], parse_options(match["set"] or "", spec))


def chosen_options(
    place: DatabaseSpec, kinds: Kinds, common: Mapping[str, Value], kind_by_default: str
) -> dict[str, Value]:
    """The options of a place with the database's defaults filled in; what the kind of index does not know is refused.

    *kinds* has the options of each kind of index, *common* those that all have. A default that is a number wants one.

    >>> chosen_options(DatabaseSpec("x", "y", {"m": "8"}), {"exact": {}, "hnsw": {"m": 16, "ef": 40}}, {}, "hnsw")
    {'index': 'hnsw', 'm': 8, 'ef': 40}
    """
    kind = place.options.get("index", kind_by_default)
    if kind not in kinds:
        raise unknown_name(f"{place.kind} index", kind, kinds, "it has " + ", ".join(kinds))
    known = {**kinds[kind], **common}
    options: dict[str, Value] = {"index": kind, **known}
    for name, text in place.options.items():
        if name == "index":
            continue
        if name not in known:
            raise unknown_name(f"option of the {place.kind} index {kind}", name, known, _listing(known))
        options[name] = text if isinstance(known[name], str) else _number(name, text)
    return options


def _listing(known: Mapping[str, Value]) -> str:
    return "it has " + ", ".join(known) if known else "it has none"


def _number(name: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise InputError(f"the option {name} is {shorten(text)}", remedy="write a whole number of at least 1")
    return int(text)


def written(options: Mapping[str, Value], without: Iterable[str] = ()) -> str:
    """Options as a spec has them; those that are left to the database are not written.

    >>> written({"index": "hnsw", "m": 16, "refine_factor": None})
    '(index=hnsw,m=16)'
    """
    left = set(without)
    kept = [f"{name}={value}" for name, value in options.items() if value not in (None, "") and name not in left]
    return f"({','.join(kept)})" if kept else ""


def refuse_password(address: str, remedy: str) -> None:
    """Raise for an address with a password in it: specs are stored with results, and passwords never are."""
    if redact(address) != address:
        raise InputError("the address holds a password", where=redact(address), remedy=remedy)


def numbered(name: str, build: Mapping[str, Value], similarity: str) -> str:
    """A name of its own for what *build* and the similarity make out of the data called *name*."""
    told = repr((FORMAT, similarity, sorted(build.items(), key=lambda item: item[0])))
    return f"{name}-{hashlib.sha256(told.encode()).hexdigest()[:10]}"


@dataclass(frozen=True)
class TableData:
    """Item vectors and ids that were checked, with the checksum that names them."""

    vectors: Dense
    ids: list[str]
    checksum: str

    @classmethod
    def of(cls, vectors: Any, ids: Sequence[str] | None) -> TableData:
        """Check vectors and ids as every index does, and that the ids are text that a database can hold."""
        matrix = checked_vectors(vectors, "item")
        if not len(matrix):
            raise InputError("there are no items to index", remedy="check that the data was read completely")
        names = checked_ids(ids, len(matrix), "item")
        digest = hashlib.sha256(repr((FORMAT, matrix.shape)).encode())
        digest.update(_encoded(names))

        def digest_of(rows: slice) -> bytes:
            return hashlib.sha256(np.ascontiguousarray(matrix[rows], "<f4").data).digest()

        # Hashing lets go of the interpreter: the blocks are hashed on all cores, and their digests in order.
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
    """All ids with a zero byte between them; one that holds such a byte, or is no text, is refused."""
    joined = "\0".join(names)
    try:
        encoded: bytes | None = joined.encode()
    except UnicodeEncodeError:
        encoded = None
    if encoded is None or encoded.count(b"\0") != len(names) - 1:
        wrong = next(name for name in names if "\0" in name or re.search("[\ud800-\udfff]", name))
        raise InputError(f"the item id {shorten(wrong)} is no text that a database can hold", remedy="change the id")
    return encoded


@dataclass(frozen=True)
class Marker:
    """The record that a load is complete, with its data's checksum."""

    checksum: str
    count: int
    dimension: int

    @classmethod
    def of(cls, data: TableData) -> Marker:
        """The marker that a whole load of *data* has."""
        return cls(data.checksum, len(data.ids), data.dimension)

    def refuse_other(self, data: TableData, where: str) -> None:
        """Raise unless this is the marker of *data*."""
        if self != Marker.of(data):
            raise InputError(
                f"{self.count} other items of {self.dimension} dimensions are loaded there",
                where=where,
                remedy="choose another name, or drop what is there with: goldrank index drop",
            )

    def refuse_changed(self, count: int, where: str) -> None:
        """Raise if the number of items is not the number that was loaded."""
        if count != self.count:
            raise InputError(
                f"{self.count} items were loaded and {count} are there now: something else has changed them",
                where=where,
                remedy="drop it with: goldrank index drop, and load it again",
            )


class DatabaseIndex(ABC):
    """The part of a database index that is the same for all databases."""

    similarity: Similarity
    options: dict[str, Value]
    _marker: Marker
    _without_zero: str | None = None
    """The name of the database, where it has no cosine for a vector of zeros."""

    @property
    @abstractmethod
    def spec(self) -> str:
        """What builds an index like this one; never with a password or token."""

    @property
    @abstractmethod
    def size(self) -> int | None:
        """Bytes that the database takes for the items and their index; None where it does not say."""

    @abstractmethod
    def _search(self, queries: Dense, k: int) -> Iterator[SearchResult]:
        """For each query the ids of the best k and their scores, higher being better."""

    @property
    def dimension(self) -> int:
        """The dimension of the vectors."""
        return self._marker.dimension

    @property
    def count(self) -> int:
        """The number of items."""
        return self._marker.count

    def top_k(self, queries: Any, k: int, *, query_ids: Sequence[str] | None = None, exclude_self: bool = False) -> Run:
        """The k best items of each query as the database gives them; equal scores by descending id.

        Args:
            queries: one row per query.
            k: how many; an approximate index may find fewer.
            query_ids: their ids, by default "0", "1", ….
            exclude_self: leave out the item whose id is the query's; one more is then asked for.
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
            f"the index {self.spec} finds only its top k and has no call for the rank of an item",
            remedy="use top_k, or the index exact",
        )


def scores_of(distances: Any, similarity: Similarity, *, squared: bool, one_minus_dot: bool) -> Floats:
    """Distances as a database gives them as scores of which a higher one is better, as the exact index has them.

    Cosine distance becomes the cosine, a distance its negative. Databases differ in whether l2 is *squared*, and
    whether the distance for dot is *one minus* the product or minus the product.
    """
    values = np.asarray(distances, np.float64)
    if similarity == "l2":
        return -np.sqrt(np.maximum(values, 0)) if squared else -values
    if similarity == "dot":
        return 1 - values if one_minus_dot else -values
    return 1 - values
