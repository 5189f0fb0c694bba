"""Texts of a store: what queries and items say, kept once for each data set, so that results can be read later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from goldrank.errors import InputError
from goldrank.io.files import write_atomically
from goldrank.io.formats.parquet import load_pyarrow
from goldrank.io.private_files import make_private_folder, restrict

Side = Literal["query", "item"]
LONGEST = 10_000
"""Characters kept of a text; who reads results looks at its beginning."""
MOST_ITEMS = 300_000
"""A larger corpus is not copied: its items are shown by their ids."""
_ROWS_IN_A_GROUP = 512


@dataclass(frozen=True)
class Text:
    """What a query or an item says."""

    id: str
    title: str
    text: str


@contextmanager
def open_texts(path: Path) -> Iterator[Any]:
    """Open a file that `Texts.keep` wrote; damage, which is found where it is read, is one sentence."""
    pyarrow, parquet = load_pyarrow()
    try:
        with parquet.ParquetFile(path, memory_map=True, page_checksum_verification=True) as file:
            yield file
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError, MemoryError) as error:
        raise InputError(
            f"the stored texts are damaged ({str(error).partition(chr(10))[0][:120].rstrip('.')})",
            where=str(path),
            remedy="remove the file; the next run on the data writes it again",
        ) from None


class Texts:
    """The texts of one data set in a file, sorted by id, so that a few are found without reading the rest."""

    def __init__(self, folder: Path, data: str) -> None:
        self.path = folder / f"texts-{data[:40]}.parquet"

    @property
    def there(self) -> bool:
        """Whether the texts were kept."""
        return self.path.is_file()

    def keep(self, queries: Iterable[Text], items: Iterable[Text]) -> None:
        """Write all texts, unless they are there; two processes that do so at once write the same."""
        if self.there:
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
        """The texts of some ids; those that are not there are left out."""
        if not self.there:
            return {}
        wanted, found = set(ids), {}
        with open_texts(self.path) as file:
            for group in range(file.num_row_groups):
                if not any(_may_hold(file.metadata.row_group(group), side, name) for name in wanted):
                    continue
                for row in file.read_row_group(group).to_pylist():
                    if row["side"] == side and row["id"] in wanted:
                        found[row["id"]] = Text(row["id"], row["title"], row["text"])
        return found

    def search(self, words: str, side: Side, limit: int) -> list[Text]:
        """The first texts that hold all the words, whatever their case, in id or text."""
        if not self.there:
            return []
        parts = words.casefold().split()
        found: list[Text] = []
        with open_texts(self.path) as file:
            for group in range(file.num_row_groups):
                for row in file.read_row_group(group).to_pylist():
                    said = f"{row['id']} {row['title']} {row['text']}".casefold()
                    if row["side"] == side and all(part in said for part in parts):
                        found.append(Text(row["id"], row["title"], row["text"]))
                        if len(found) >= limit:
                            return found
        return found


def _may_hold(group: Any, side: Side, name: str) -> bool:
    sides, ids = (group.column(at).statistics for at in (0, 1))
    if sides is None or ids is None or not (sides.has_min_max and ids.has_min_max):
        return True
    # Long texts have shortened statistics, so bytes are compared as far as those go.
    return bool(sides.min <= side <= sides.max) and (sides.min != sides.max or bool(ids.min <= name <= ids.max))


def _valid(text: str) -> str:
    """The text as Parquet can hold it: half a surrogate pair becomes U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
