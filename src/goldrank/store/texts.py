"""The texts of queries and items in a store, once for each data set, so that results can be shown with texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from goldrank.errors import InputError, reason_of
from goldrank.io.files import write_atomically
from goldrank.io.formats.parquet import load_pyarrow
from goldrank.io.private_files import make_private_folder, restrict

Side = Literal["query", "item"]
LONGEST = 10_000
"""Characters that are stored of a text."""
MOST_ITEMS = 300_000
"""The texts of a larger corpus are not stored: its items are shown by their ids."""
_ROWS_IN_A_GROUP = 512


@dataclass(frozen=True)
class Text:
    """The text of a query or an item."""

    id: str
    title: str
    text: str


@contextmanager
def open_texts(path: Path) -> Iterator[Any]:
    """Open a file that `Texts.save` wrote; raise an `InputError` if it turns out to be damaged while it is read."""
    pyarrow, parquet = load_pyarrow()
    try:
        with parquet.ParquetFile(path, memory_map=True, page_checksum_verification=True) as file:
            yield file
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError, MemoryError) as error:
        raise InputError(
            f"the stored texts are damaged ({reason_of(error)})",
            where=str(path),
            remedy="remove the file; the next run on the data writes it again",
        ) from None


class Texts:
    """The texts of one data set in a file, sorted by id, so that some of them are found without reading the rest."""

    def __init__(self, folder: Path, data: str) -> None:
        self.path = folder / f"texts-{data[:40]}.parquet"

    @property
    def is_saved(self) -> bool:
        """Whether the texts were saved."""
        return self.path.is_file()

    def save(self, queries: Iterable[Text], items: Iterable[Text]) -> None:
        """Write all texts, unless they exist; two processes that do so at the same time write the same file."""
        if self.is_saved:
            return
        pyarrow, parquet = load_pyarrow()
        rows = sorted(
            (side, _valid(text.id), _valid(text.title[:LONGEST]), _valid(text.text[:LONGEST]))
            for side, texts in (("query", queries), ("item", items))
            for text in texts
        )
        columns = zip(*rows, strict=True) if rows else ((), (), (), ())
        table = pyarrow.table(
            {
                name: pyarrow.array(list(column), pyarrow.large_string())
                for name, column in zip(("side", "id", "title", "text"), columns, strict=True)
            }
        )
        make_private_folder(self.path.parent)
        write_atomically(
            self.path,
            lambda out: parquet.write_table(
                table, out, compression="zstd", row_group_size=_ROWS_IN_A_GROUP, write_page_checksum=True
            ),
        )
        restrict(self.path)

    def find(self, ids: Sequence[str], side: Side) -> dict[str, Text]:
        """Return the texts of some ids; missing ones are left out."""
        if not self.is_saved:
            return {}
        wanted, texts = set(ids), {}
        with open_texts(self.path) as file:
            for group in range(file.num_row_groups):
                if not any(_may_hold(file.metadata.row_group(group), side, name) for name in wanted):
                    continue
                for row in file.read_row_group(group).to_pylist():
                    if row["side"] == side and row["id"] in wanted:
                        texts[row["id"]] = Text(row["id"], row["title"], row["text"])
        return texts

    def search(self, words: str, side: Side, limit: int) -> list[Text]:
        """Return the first texts whose id, title or text contains all the words, ignoring case."""
        if not self.is_saved:
            return []
        parts = words.casefold().split()
        texts: list[Text] = []
        with open_texts(self.path) as file:
            for group in range(file.num_row_groups):
                for row in file.read_row_group(group).to_pylist():
                    content = f"{row['id']} {row['title']} {row['text']}".casefold()
                    if row["side"] == side and all(part in content for part in parts):
                        texts.append(Text(row["id"], row["title"], row["text"]))
                        if len(texts) >= limit:
                            return texts
        return texts


def _may_hold(group: Any, side: Side, name: str) -> bool:
    sides, ids = (group.column(at).statistics for at in (0, 1))
    if sides is None or ids is None or not (sides.has_min_max and ids.has_min_max):
        return True
    # The statistics of long ids are truncated, but still bounds.
    return bool(sides.min <= side <= sides.max) and (sides.min != sides.max or bool(ids.min <= name <= ids.max))


def _valid(text: str) -> str:
    """Return a text that Parquet can hold: half a surrogate pair becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
