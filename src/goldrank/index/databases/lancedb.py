"""LanceDB as the index under test: a table in a folder, searched exactly or by one of its own indexes.

A table appears with its last row, and its marker is part of its schema: what was interrupted is no table. Each index
has a table of its own, named after the one that was asked for, because a search cannot say which index to use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from goldrank.errors import GoldrankError, InputError, MissingExtraError, shorten
from goldrank.index.base import Dense, Similarity, blocks, checked_similarity
from goldrank.index.databases.base import (
    DatabaseIndex,
    DatabaseSpec,
    Kinds,
    Marker,
    SearchResult,
    TableData,
    Value,
    chosen_options,
    numbered,
    refuse_password,
    refuse_zero,
    scores_of,
    written,
)
from goldrank.progress import Progress
from goldrank.redaction import redact

_IVF: dict[str, Value] = {"num_partitions": None, "nprobes": None, "refine_factor": None}
_GRAPH: dict[str, Value] = {**_IVF, "m": 20, "ef_construction": 300, "ef": None}
_PQ: dict[str, Value] = {"num_sub_vectors": None}
KINDS: Kinds = {
    "exact": {},
    "ivf_flat": _IVF,
    "ivf_sq": _IVF,
    "ivf_pq": {**_IVF, **_PQ},
    "hnsw_flat": _GRAPH,
    "hnsw_sq": _GRAPH,
    "hnsw_pq": {**_GRAPH, **_PQ},
}
_CONFIGURATIONS = {
    "ivf_flat": "IvfFlat",
    "ivf_sq": "IvfSq",
    "ivf_pq": "IvfPq",
    "hnsw_flat": "HnswFlat",
    "hnsw_sq": "HnswSq",
    "hnsw_pq": "HnswPq",
}
_SEARCH_OPTIONS = ("nprobes", "refine_factor", "ef")
_BATCH = 1 << 13
_LISTED_AT_ONCE = 100
_KEYS = ("goldrank_name", "goldrank_checksum", "goldrank_count", "goldrank_dimension")


@dataclass(frozen=True)
class LanceTarget:
    """A folder, or a URL of one that LanceDB can open, and the name that tables are made under.

    >>> LanceTarget.parse("data/lance/wines")
    LanceTarget(folder='data/lance', name='wines')
    """

    folder: str
    name: str

    @classmethod
    def parse(cls, address: str) -> LanceTarget:
        """Read the address of a spec."""
        refuse_password(address, "leave it out, and set it in the environment")
        folder, _, name = address.rstrip("/").rpartition("/")
        if not folder or not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", name):
            raise InputError(
                f"{shorten(address, 160)} is no table of LanceDB",
                remedy="write lancedb:folder/table, the table in letters, digits, dots, - and _",
            )
        return cls(folder, name)

    @property
    def address(self) -> str:
        """Folder and name, as a spec has them."""
        return f"{self.folder}/{self.name}"

    def connect(self) -> Any:
        """The database in the folder."""
        try:
            import lancedb
        except ImportError:
            raise MissingExtraError("the index lancedb", "lancedb", "lancedb") from None
        with clear_errors(f"lancedb:{self.address}"):
            return lancedb.connect(self.folder)


class LancedbIndex(DatabaseIndex):
    """Items in a table of LanceDB.

    Scores are LanceDB's distances turned round: 1 minus the cosine distance, the inner product, minus the distance. Its
    indexes that compress (sq, pq) give estimates, for the cosine on a scale of their own; refine_factor makes them
    exact.
    """

    _without_zero = "LanceDB"

    def __init__(
        self, table: Any, target: LanceTarget, marker: Marker, similarity: Similarity, options: Mapping[str, Value]
    ) -> None:
        self.table, self.target, self.similarity, self.options = table, target, similarity, dict(options)
        self._marker = marker

    @classmethod
    def build(
        cls, spec: str, vectors: Any, ids: Sequence[str] | None = None, similarity: Similarity = "cosine"
    ) -> LancedbIndex:
        """Load the vectors unless an identical load is there, and make the index unless it is there.

        Args:
            spec: ``lancedb:folder/table(index=ivf_pq,nprobes=20,…)``.
            vectors: one row per item.
            ids: their ids, by default "0", "1", ….
            similarity: ``cosine``, ``dot`` or ``l2``.
        """
        target, options = read_spec(spec)
        checked = checked_similarity(similarity)
        data = TableData.of(vectors, ids)
        if checked == "cosine":
            refuse_zero(data.vectors, data.ids, "item", "LanceDB")
        database = target.connect()
        exact = options["index"] == "exact"
        built = {name: value for name, value in options.items() if name not in _SEARCH_OPTIONS}
        name = target.name if exact else numbered(target.name, built, checked)
        where = f"lancedb:{target.address} ({name})"
        with clear_errors(where):
            table = _found(database, name, data, where) or _load(database, name, target.name, data)
            if not exact and not table.list_indices():
                table.create_index("vector", config=_configuration(options, checked), replace=False)
        return cls(table, target, Marker.of(data), checked, options)

    def drop(self) -> None:
        """Remove the table."""
        database = self.target.connect()
        with clear_errors(self.spec):
            database.drop_table(self.table.name)

    @property
    def spec(self) -> str:
        """The spec that builds an index like this one."""
        return f"lancedb:{self.target.address}{written(self.options)}"

    @property
    def size(self) -> int:
        """Bytes of the rows and the index as files."""
        with clear_errors(self.spec):
            indexes = sum(index.size_bytes or 0 for index in self.table.list_indices())
            return int(self.table.stats()["total_bytes"]) + indexes

    def _search(self, queries: Dense, k: int) -> Iterator[SearchResult]:
        for query in queries:
            with clear_errors(self.spec):
                request = self.table.search(query, vector_column_name="vector").distance_type(self.similarity).limit(k)
                if self.options["index"] == "exact":
                    request = request.bypass_vector_index()
                for name in _SEARCH_OPTIONS:
                    if self.options.get(name) is not None:
                        request = getattr(request, name)(self.options[name])
                table = request.select(["id", "_distance"]).to_arrow()
            distances = table["_distance"].to_numpy()
            yield table["id"].to_pylist(), scores_of(distances, self.similarity, squared=True, one_minus_dot=True)


def read_spec(spec: str) -> tuple[LanceTarget, dict[str, Value]]:
    """Return the target and the options of a spec, checked before opening anything."""
    place = DatabaseSpec.parse(spec)
    return LanceTarget.parse(place.address), chosen_options(place, KINDS, {}, "exact")


def drop(spec: str) -> list[str]:
    """Remove every table that goldrank made under the name of a spec, whatever its index."""
    target, _ = read_spec(spec)
    database = target.connect()
    dropped = []
    with clear_errors(f"lancedb:{target.address}"):
        for name in sorted(_names(database)):
            table = _open(database, name) if name.startswith(target.name) else None
            if table is not None and _told(table).get("goldrank_name") == target.name:
                database.drop_table(name)
                dropped.append(name)
    return dropped


def _names(database: Any) -> Iterator[str]:
    page = database.list_tables(limit=_LISTED_AT_ONCE)
    while page.tables:
        yield from page.tables
        if not page.page_token:
            return
        page = database.list_tables(page_token=page.page_token, limit=_LISTED_AT_ONCE)


def _open(database: Any, name: str) -> Any:
    """Return a listed table, or None: a load that failed leaves a folder that is listed and is no table."""
    try:
        return database.open_table(name)
    except (ValueError, FileNotFoundError):
        return None


def _told(table: Any) -> dict[str, str]:
    return {key.decode(): value.decode(errors="replace") for key, value in (table.schema.metadata or {}).items()}


def _found(database: Any, name: str, data: TableData, where: str) -> Any:
    """The table, if a whole load of the same data is there."""
    table = _open(database, name) if name in _names(database) else None
    if table is None:
        return None
    told = _told(table)
    if any(key not in told for key in _KEYS):
        raise InputError("a table is there that goldrank did not load", where=where, remedy="choose another table")
    marker = Marker(told["goldrank_checksum"], int(told["goldrank_count"]), int(told["goldrank_dimension"]))
    marker.refuse_other(data, where)
    marker.refuse_changed(table.count_rows(), where)
    return table


def _load(database: Any, name: str, given_name: str, data: TableData) -> Any:
    import pyarrow as pa

    whole = Marker.of(data)
    told = dict(zip(_KEYS, (given_name, whole.checksum, str(whole.count), str(whole.dimension)), strict=True))
    schema = pa.schema(
        [pa.field("id", pa.string(), nullable=False), pa.field("vector", pa.list_(pa.float32(), whole.dimension))],
        metadata=told,
    )
    with Progress("loading (lancedb)", total=whole.count) as progress:

        def batches() -> Iterator[Any]:
            for rows in blocks(whole.count, _BATCH):
                values = pa.array(np.ascontiguousarray(data.vectors[rows]).ravel())
                listed = pa.FixedSizeListArray.from_arrays(values, whole.dimension)
                yield pa.RecordBatch.from_arrays([pa.array(data.ids[rows], pa.string()), listed], schema=schema)
                progress.advance(rows.stop - rows.start)

        return database.create_table(name, pa.RecordBatchReader.from_batches(schema, batches()), mode="create")


def _configuration(options: Mapping[str, Value], similarity: str) -> Any:
    import lancedb.index

    kind = str(options["index"])
    names = ("num_partitions", "num_sub_vectors", "m", "ef_construction")
    given = {name: options[name] for name in names if options.get(name) is not None}
    return getattr(lancedb.index, _CONFIGURATIONS[kind])(distance_type=similarity, **given)


@contextmanager
def clear_errors(where: str) -> Iterator[None]:
    """Errors of LanceDB as one sentence; it raises all kinds of Python's own."""
    try:
        yield
    except (OSError, RuntimeError, ValueError, TypeError) as error:
        said = redact(str(error).strip().partition("\n")[0])
        if re.search(r"(?i)no space left|storage ?full|disk quota", str(error)):
            raise GoldrankError(f"{where}: there is no space left; make space and run it again") from None
        raise GoldrankError(f"{where}: LanceDB failed ({shorten(said, 200)})") from None
