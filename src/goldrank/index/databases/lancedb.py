"""LanceDB as the index under test: a table in a folder, searched exactly or by one of its own indexes.

A table is created with all its rows and with its marker in the schema, so that an interrupted load leaves no table.
Each index has a table of its own, named after the requested one, because a search cannot choose between indexes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np

from goldrank.errors import GoldrankError, InputError, MissingExtraError, shorten
from goldrank.index.base import Dense, Similarity, blocks
from goldrank.index.databases.base import (
    DatabaseIndex,
    DatabaseSpec,
    Kinds,
    Marker,
    SearchResult,
    TableData,
    Value,
    fill_options,
    format_options,
    name_variant,
    refuse_password,
    scores_of,
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
    """A folder, or a URL that LanceDB can open, and the name under which tables are created.

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
                f"{shorten(address, 160)} is not the name of a table of LanceDB",
                remedy="write lancedb:folder/table, the table in letters, digits, dots, - and _",
            )
        return cls(folder, name)

    @property
    def address(self) -> str:
        """Folder and name, as a spec has them."""
        return f"{self.folder}/{self.name}"

    def connect(self) -> Any:
        """Open the database in the folder."""
        try:
            import lancedb
        except ImportError:
            raise MissingExtraError("the index lancedb", "lancedb", "lancedb") from None
        with clear_errors(f"lancedb:{self.address}"):
            return lancedb.connect(self.folder)


def read_spec(spec: str) -> tuple[LanceTarget, dict[str, Value]]:
    """Return the target and the options of a spec, checked before opening anything."""
    parsed = DatabaseSpec.parse(spec)
    return LanceTarget.parse(parsed.address), fill_options(parsed, KINDS, {}, "exact")


class LancedbIndex(DatabaseIndex):
    """Items in a table of LanceDB.

    The scores of compressed indexes (sq, pq) are estimates, for the cosine on a scale of their own; with refine_factor
    they are exact.
    """

    _without_zero = "LanceDB"
    _read_spec = staticmethod(read_spec)

    def __init__(
        self, table: Any, target: LanceTarget, marker: Marker, similarity: Similarity, options: Mapping[str, Value]
    ) -> None:
        self.table, self.target, self.similarity, self.options = table, target, similarity, dict(options)
        self._marker = marker

    @classmethod
    def _load(
        cls, target: LanceTarget, data: TableData, similarity: Similarity, options: dict[str, Value]
    ) -> LancedbIndex:
        database = target.connect()
        exact = options["index"] == "exact"
        build_options = {name: value for name, value in options.items() if name not in _SEARCH_OPTIONS}
        name = target.name if exact else name_variant(target.name, build_options, similarity)
        where = f"lancedb:{target.address} ({name})"
        with clear_errors(where):
            table = _find_load(database, name, data, where)
            if table is None:
                table = _create_table(database, name, target.name, data)
            if not exact and not table.list_indices():
                table.create_index("vector", config=_configuration(options, similarity), replace=False)
        return cls(table, target, Marker.of(data), similarity, options)

    def drop(self) -> None:
        """Remove the table."""
        database = self.target.connect()
        with clear_errors(self.spec):
            database.drop_table(self.table.name)

    @property
    def spec(self) -> str:
        """The spec that builds an index like this one."""
        return f"lancedb:{self.target.address}{format_options(self.options)}"

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


def drop(spec: str) -> list[str]:
    """Remove every table that goldrank created under the name of a spec, and return their names."""
    target, _ = read_spec(spec)
    database = target.connect()
    dropped = []
    with clear_errors(f"lancedb:{target.address}"):
        for name in sorted(_names(database)):
            table = _open(database, name) if name.startswith(target.name) else None
            if table is not None and _metadata(table).get("goldrank_name") == target.name:
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
    """Return a listed table, or None: a failed load leaves a folder that is listed but is not a table."""
    try:
        return database.open_table(name)
    except (ValueError, FileNotFoundError):
        return None


def _metadata(table: Any) -> dict[str, str]:
    return {key.decode(): value.decode(errors="replace") for key, value in (table.schema.metadata or {}).items()}


def _find_load(database: Any, name: str, data: TableData, where: str) -> Any:
    """Return the table with a complete load of the same data, or None."""
    table = _open(database, name) if name in _names(database) else None
    if table is None:
        return None
    metadata = _metadata(table)
    if any(key not in metadata for key in _KEYS):
        raise InputError("the table exists, and goldrank did not load it", where=where, remedy="choose another table")
    _, checksum, count, dimension = (metadata[key] for key in _KEYS)
    marker = Marker(checksum, int(count), int(dimension))
    marker.refuse_other(data, where)
    marker.refuse_changed(table.count_rows(), where)
    return table


def _create_table(database: Any, name: str, given_name: str, data: TableData) -> Any:
    import pyarrow as pa

    marker = Marker.of(data)
    schema = pa.schema(
        [pa.field("id", pa.string(), nullable=False), pa.field("vector", pa.list_(pa.float32(), marker.dimension))],
        metadata=dict(zip(_KEYS, map(str, (given_name, *astuple(marker))), strict=True)),
    )
    with Progress("loading (lancedb)", total=marker.count) as progress:

        def batches() -> Iterator[Any]:
            for rows in blocks(marker.count, _BATCH):
                values = pa.array(np.ascontiguousarray(data.vectors[rows]).ravel())
                vectors = pa.FixedSizeListArray.from_arrays(values, marker.dimension)
                yield pa.RecordBatch.from_arrays([pa.array(data.ids[rows], pa.string()), vectors], schema=schema)
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
    """Raise errors of LanceDB as one sentence; it raises all kinds of built-in exceptions."""
    try:
        yield
    except (OSError, RuntimeError, ValueError, TypeError) as error:
        message = redact(str(error).strip().partition("\n")[0])
        if re.search(r"(?i)no space left|storage ?full|disk quota", str(error)):
            raise GoldrankError(f"{where}: there is no space left; make space and run it again") from None
        raise GoldrankError(f"{where}: LanceDB failed ({shorten(message, 200)})") from None
