"""Read a file of gold (qrels) as a collection without texts, on which rankings of other systems are evaluated."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain
from pathlib import Path

from goldrank import io
from goldrank.data.collections.collection import Collection, Document, Documents
from goldrank.data.collections.splits import choose_split, stem_and_suffix
from goldrank.data.collections.streams import head
from goldrank.errors import GoldrankError, InputError
from goldrank.io.column_names import ITEM, QUERY, find_columns, normal
from goldrank.io.columns import Columns
from goldrank.io.files import PathLike, is_parquet
from goldrank.io.formats.delimited import split_rows
from goldrank.io.formats.detection import recognise_first_line
from goldrank.io.formats.parquet import load_pyarrow

_HEAD = 1 << 16
# The cells of other columns, such as query or item, may be ids or texts.
_ID_COLUMNS = frozenset(chain(QUERY[0], *ITEM[:-1]))


def matches(path: Path) -> bool:
    """Return True if this is a file of gold, or a TREC run, for which `read` says that gold is needed."""
    if not path.is_file():
        return False
    start = head(path, _HEAD).removeprefix(b"\xef\xbb\xbf")
    if is_parquet(start):
        return _is_gold_table(path)
    if start.lstrip()[:1] in (b"{", b"["):
        with suppress(GoldrankError):
            return bool(io.read(path, "gold").queries)
        return False
    format = recognise_first_line(start, "gold") or recognise_first_line(start, "run")
    return format in ("trec", "beir") or (format is not None and not _holds_texts(start, format))


def read(path: PathLike, split: str | None = None) -> Collection:
    """Read gold in any format; queries have ids but no texts, and the corpus is not known."""
    path = Path(path).expanduser()
    choose_split(split, ["test"], str(path))
    return from_gold(io.read(path, "gold"), stem_and_suffix(path)[0], str(path))


def from_gold(gold: Columns, name: str = "gold", source: str = "the gold") -> Collection:
    """Return the collection of gold without texts."""
    return Collection(
        name=name,
        items=Documents([], source),
        queries=Documents([Document(query) for query in gold.queries], source),
        gold=gold,
        source=source,
        format="gold",
        readings=tuple(filter(None, [gold.reading])),
    )


def _is_gold_table(path: Path) -> bool:
    """Return True if a Parquet file has the columns of gold, and none of texts."""
    with suppress(Exception):
        _, parquet = load_pyarrow()
        names = parquet.read_schema(path).names
        find_columns(names, "gold", where=str(path))
        return not any("text" in normal(name) for name in names)
    return False


def _holds_texts(start: bytes, format: str) -> bool:
    """Return True if the rows at the start of a file have a blank in a cell of a column that is not one of ids."""
    # The last line may be cut off.
    lines = start[: start.rfind(b"\n") + 1] or start
    with suppress(InputError, UnicodeDecodeError):
        rows = [row for _, row in split_rows(lines, "", format)]
        columns = [at for at, name in enumerate(rows[0]) if normal(name) not in _ID_COLUMNS]
        return any(" " in row[at].strip() for row in rows[1:] or rows for at in columns)
    return False
