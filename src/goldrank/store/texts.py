"""The texts of queries and items in a store, once for each data set, so that results can be shown with texts."""

from __future__ import annotations

import bisect
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, Literal, Protocol

from goldrank.errors import InputError, reason_of
from goldrank.escaping import replace_surrogates
from goldrank.io.arrow_arrays import find_string, strings_from_arrow, strings_to_arrow
from goldrank.io.files import write_atomically
from goldrank.io.fingerprints import FileState, file_state
from goldrank.io.formats.parquet import load_pyarrow
from goldrank.io.private_files import make_private_folder, restrict
from goldrank.store.tables import Load

Side = Literal["query", "item"]
LONGEST = 10_000
"""Characters that are stored of a text."""
MOST_ITEMS = 300_000
"""The texts of a larger corpus are not stored: its items are shown by their ids."""
_ROWS_IN_A_GROUP, _ROWS_IN_A_BATCH = 512, 2048


@dataclass(frozen=True)
class Text:
    """The text of a query or an item."""

    id: str
    title: str
    text: str


class TextLike(Protocol):
    """An object with the fields of a text, such as a document."""

    @property
    def id(self) -> str:
        """The id of the query or item."""

    @property
    def title(self) -> str:
        """The title; empty if there is none."""

    @property
    def text(self) -> str:
        """The whole text."""


@contextmanager
def open_texts(path: Path) -> Iterator[Any]:
    """Open a file that `Texts.save` wrote; raise an `InputError` if it turns out to be damaged while it is read."""
    pyarrow, parquet = load_pyarrow()
    try:
        with parquet.ParquetFile(path, memory_map=True, page_checksum_verification=True) as file:
            yield file
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, LookupError, MemoryError) as error:
        raise InputError(
            f"the stored texts are damaged ({reason_of(error)})",
            where=str(path),
            remedy="remove the file; the next run on the data writes it again",
        ) from None


@dataclass(frozen=True, eq=False)
class Texts:
    """The texts of one data set in a Parquet file, sorted by side and id, so that some are found without the rest.

    Args:
        path: the file.
        load: returns a row group, by its name or by reading it; a server passes a cache.
    """

    path: Path
    load: Load = lambda _part, read: read()

    @property
    def is_saved(self) -> bool:
        """Whether the texts were saved."""
        return self.path.is_file()

    def save(self, queries: Iterable[TextLike], items: Iterable[TextLike]) -> None:
        """Write all texts, unless they exist; two processes that do so at the same time write the same file."""
        if self.is_saved:
            return
        pyarrow, parquet = load_pyarrow()
        columns: dict[str, list[str]] = {"side": [], "id": [], "title": [], "text": []}
        for side, texts in (("item", list(items)), ("query", list(queries))):
            ids = _encodable([text.id for text in texts])
            rows = sorted(range(len(ids)), key=ids.__getitem__)
            columns["side"] += [side] * len(ids)
            columns["id"] += [ids[row] for row in rows]
            columns["title"] += [texts[row].title[:LONGEST] for row in rows]
            columns["text"] += [texts[row].text[:LONGEST] for row in rows]
        table = pyarrow.table({name: _arrow_strings(column) for name, column in columns.items()})
        make_private_folder(self.path.parent)
        write_atomically(
            self.path,
            lambda out: parquet.write_table(
                table,
                out,
                compression="zstd",
                row_group_size=_ROWS_IN_A_GROUP,
                write_page_checksum=True,
                # Texts hardly ever repeat, and only the bounds of sides and ids are looked up.
                use_dictionary=["side"],
                write_statistics=["side", "id"],
            ),
        )
        restrict(self.path)

    @property
    def attributes_path(self) -> Path:
        """The file of the attributes of queries."""
        return self.path.with_name(self.path.name.replace("texts-", "attributes-", 1)).with_suffix(".json")

    def save_attributes(self, values: Mapping[str, Mapping[str, str]]) -> None:
        """Write the attributes of queries (attribute -> query -> value), which replace those that are stored."""
        data = json.dumps(values, ensure_ascii=False).encode("utf-8", "replace")
        if self.attributes_path.is_file() and self.attributes_path.read_bytes() == data:
            return
        make_private_folder(self.path.parent)
        write_atomically(self.attributes_path, lambda out: out.write(data))
        restrict(self.attributes_path)

    def attributes(self) -> dict[str, dict[str, str]]:
        """Return the attributes of queries; empty if the data has none.

        Raises:
            InputError: The file is damaged.
        """
        if not self.attributes_path.is_file():
            return {}
        try:
            values = json.loads(self.attributes_path.read_bytes())
            return {str(name): {str(key): str(value) for key, value in of.items()} for name, of in values.items()}
        except (OSError, ValueError, AttributeError, RecursionError) as error:
            raise InputError(
                f"the stored attributes of queries are damaged ({reason_of(error)})",
                where=str(self.attributes_path),
                remedy="remove the file; the next run on the data writes it again",
            ) from None

    def iterate(self, side: Side) -> Iterator[Text]:
        """Yield all texts of a side."""
        for rows in self._batches(side, ["id", "title", "text"]):
            yield from map(Text, *map(strings_from_arrow, rows.columns))

    def contents(self, side: Side) -> Iterator[list[str]]:
        """Yield the titles with the texts of a side, for some rows at a time."""
        for rows in self._batches(side, ["title", "text"]):
            titles, texts = map(strings_from_arrow, rows.columns)
            yield list(map(str.strip, map(" ".join, zip(titles, texts, strict=True))))

    def find(self, ids: Iterable[str], side: Side) -> dict[str, Text]:
        """Return the texts of some ids; missing ones are left out."""
        if not self.is_saved:
            return {}
        state = file_state(self.path)
        starts = [bounds.first for bounds in _row_groups(self.path, state)]
        names_of: dict[int, list[str]] = {}
        for name in dict.fromkeys(ids):
            names_of.setdefault(bisect.bisect_right(starts, (side, name)) - 1, []).append(name)
        names_of.pop(-1, None)
        texts: dict[str, Text] = {}
        with ExitStack() as stack:
            open_once = cache(lambda: stack.enter_context(open_texts(self.path)))

            def read(group: int) -> Any:
                return open_once().read_row_group(group, use_threads=False).combine_chunks()

            for group, names in sorted(names_of.items()):
                table = self.load((self.path, state, group), partial(read, group))
                for rows in _rows_of(table, side).to_batches():
                    for name in names:
                        if (row := find_string(rows["id"], name)) >= 0:
                            texts[name] = Text(name, rows["title"][row].as_py(), rows["text"][row].as_py())
        return texts

    def matching(self, words: str, side: Side) -> set[str]:
        """Return the ids of the texts with all words in id, title or text; upper and lower case are equal."""
        pyarrow, _ = load_pyarrow()
        from pyarrow import compute

        between = pyarrow.scalar("\n", pyarrow.large_string())
        ids: set[str] = set()
        for matching in self._batches(side, ["id", "title", "text"]):
            for word in words.split():
                texts = compute.binary_join_element_wise(*matching.columns, between)
                matching = matching.filter(compute.match_substring(texts, word, ignore_case=True))  # noqa: PLW2901
            ids.update(matching["id"].to_pylist())
        return ids

    def _batches(self, side: Side, columns: list[str]) -> Iterator[Any]:
        """Yield some columns of the rows of a side, for some rows at a time, in the order of their ids."""
        if not self.is_saved:
            return
        groups = _row_groups(self.path, file_state(self.path))
        whole = [at for at, group in enumerate(groups) if group.first[0] == side == group.last[0]]
        # One at most, because the rows are sorted: after those of items, and before those of queries.
        mixed = [at for at, group in enumerate(groups) if group.first[0] < group.last[0]]
        with open_texts(self.path) as file:
            tables = [file.read_row_group(at, columns=["side", *columns], use_threads=False) for at in mixed]
            ends = [batch for table in tables for batch in _rows_of(table, side).select(columns).to_batches()]
            yield from ends if side == "query" else ()
            if whole:  # pyarrow 18 fails without any group
                yield from file.iter_batches(_ROWS_IN_A_BATCH, row_groups=whole, columns=columns, use_threads=False)
            yield from ends if side == "item" else ()


def _rows_of(table: Any, side: Side) -> Any:
    """Return the rows of a side in a table, which is sorted by side."""
    sides = [name for chunk in table["side"].chunks for name in strings_from_arrow(chunk)]
    first = bisect.bisect_left(sides, side)
    return table.slice(first, bisect.bisect_right(sides, side) - first)


def _encodable(texts: list[str]) -> list[str]:
    """Return the texts as UTF-8 can encode them."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return [replace_surrogates(text) for text in texts]
    return texts


def _arrow_strings(texts: list[str]) -> Any:
    """Return the texts as UTF-8 can encode them, as an Arrow array."""
    try:
        return strings_to_arrow(texts)
    except UnicodeEncodeError:
        return strings_to_arrow([replace_surrogates(text) for text in texts])


@dataclass(frozen=True)
class _Bounds:
    """Side and id of the first and of the last row of a row group."""

    first: tuple[str, str]
    last: tuple[str, str]


@lru_cache(maxsize=64)
def _row_groups(path: Path, _state: FileState) -> tuple[_Bounds, ...]:
    with open_texts(path) as file:
        return tuple(_bounds(file, group) for group in range(file.num_row_groups))


def _bounds(file: Any, group: int) -> _Bounds:
    sides, ids = (file.metadata.row_group(group).column(column).statistics for column in (0, 1))
    known = all(statistics is not None and statistics.has_min_max for statistics in (sides, ids))
    if known and sides.min == sides.max:
        return _Bounds((sides.min, ids.min), (sides.max, ids.max))
    ends = file.read_row_group(group, columns=["side", "id"])
    first, last = ((ends["side"][row].as_py(), ends["id"][row].as_py()) for row in (0, ends.num_rows - 1))
    return _Bounds(first, last)
