"""Vectors made elsewhere: looked up by id, or by text where the file has texts."""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import BatchEncoder, Options, Side, one_of
from goldrank.encoders.provenance import require, stamp
from goldrank.encoders.spec import Spec
from goldrank.errors import InputError, shorten

_NAMES = {
    "id": ("id", "ids", "_id", "key"),
    "vector": ("vector", "vectors", "embedding", "embeddings"),
    "text": ("text", "texts"),
}
Table = dict[str, Any]


class Vectors(BatchEncoder):
    """``vectors:FILE``: what is "encoded" is a key, and its vector is looked up.

    The file is one of

    - ``.npy``, a matrix, with the ids one per line in ``ids=FILE`` (or beside it, with the suffix ``.ids``);
    - ``.npz`` with the arrays ``ids`` and ``vectors``, perhaps ``texts``;
    - Parquet or JSONL with the columns ``id`` and ``vector`` (or ``embedding``), perhaps ``text``.

    Keys are the texts where the file has them, otherwise the ids; ``by=id`` or ``by=text`` says so explicitly. A key
    that is not in the file is an error: a vector is never made up.
    """

    def __init__(self, spec: Spec) -> None:
        own_names, unused = ("ids", "by"), ("query_prompt", "item_prompt", "dtype", "max_length")
        options, own = Options.take(spec, *own_names, without=unused)
        super().__init__(spec, options)
        file = Path(spec.argument).expanduser()
        if not spec.argument or not file.is_file():
            raise InputError("there is no such file", where=str(file), remedy="write vectors:FILE.npz")
        table = _read(file, own.get("ids"))
        by = one_of("by", own.get("by", "text" if "text" in table else "id"), ("id", "text"))
        if by not in table:
            raise InputError(
                f"the file has no {by}s", where=str(file), remedy=f"add a column {by!r}, or use by=id|text"
            )
        self._file, self.by, self._matrix = file, by, _matrix(table["vector"], file)
        # Looking rows up needs no small batches.
        self.texts_per_call = 1 << 16
        self._row = _keys(table[by], by, file, len(self._matrix))
        self.width = int(self._matrix.shape[1])
        lengths = np.linalg.norm(self._matrix, axis=1)
        self.normalizes = bool(np.allclose(lengths[lengths > 0], 1.0, atol=1e-3))
        files = [file] if "ids" not in own else [file, Path(own["ids"]).expanduser()]
        self._stamp = " ".join(stamp(f) for f in files)

    @property
    def version(self) -> str:
        """A stamp of the files."""
        return self._stamp

    def encode_batch(self, texts: list[str], side: Side) -> NDArray[Any]:
        """The rows of the keys."""
        unknown = next((text for text in texts if text not in self._row), None)
        if unknown is not None:
            near = difflib.get_close_matches(unknown[:80], list(self._row)[:10_000], n=1)
            raise InputError(
                f"there is no vector for the {self.by} {shorten(unknown)}",
                where=str(self._file),
                remedy=(f"did you mean {shorten(near[0])}? " if near else "")
                + f"the keys are the {self.by}s of its {len(self._matrix)} rows (by=id|text)",
            )
        return self._matrix[[self._row[text] for text in texts]]


def _read(file: Path, ids: str | None) -> Table:
    suffix = file.suffix.lower()
    try:
        if suffix == ".npy":
            return {"vector": np.load(file, allow_pickle=False), "id": _lines(file, ids)}
        if suffix == ".npz":
            with np.load(file, allow_pickle=False) as arrays:
                return _named({name: arrays[name] for name in arrays.files}, file)
        if suffix in (".parquet", ".pq"):
            parquet = require("pyarrow.parquet", "vectors", "parquet", "pyarrow")
            table = parquet.read_table(file)
            return _named({name: table.column(name).to_pylist() for name in table.column_names}, file)
        if suffix in (".jsonl", ".ndjson", ".json"):
            return _jsonl(file)
    except (ValueError, OSError) as error:
        if isinstance(error, InputError):
            raise
        reason = str(error).partition("\n")[0][:120]
        raise InputError(f"the file cannot be read ({reason})", where=str(file), remedy="write it again") from None
    raise InputError(
        f"vectors in a {suffix or 'nameless'} file are not known",
        where=str(file),
        remedy="use .npy, .npz, .parquet or .jsonl",
    )


def _lines(file: Path, ids: str | None) -> list[str]:
    listed = Path(ids).expanduser() if ids else file.with_suffix(".ids")
    if not listed.is_file():
        raise InputError(
            "there are no ids for the rows", where=str(file), remedy=f"write one per line to {listed}, or ids=FILE"
        )
    return listed.read_text(encoding="utf-8-sig").removesuffix("\n").split("\n")


def _jsonl(file: Path) -> Table:
    rows: list[dict[str, Any]] = []
    with file.open(encoding="utf-8-sig") as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError:
                row = None
            if not isinstance(row, dict) or (rows and row.keys() != rows[0].keys()):
                raise InputError(
                    "the line is no JSON object with the fields of the first",
                    where=f"{file}:{number}",
                    remedy="repair it",
                )
            rows.append(row)
    if not rows:
        raise InputError("the file is empty", where=str(file), remedy="write one object per line")
    return _named({name: [row[name] for row in rows] for name in rows[0]}, file)


def _named(columns: Table, file: Path) -> Table:
    found = {ours: columns[name] for ours, names in _NAMES.items() for name in names if name in columns}
    if "vector" not in found or not {"id", "text"} & found.keys():
        raise InputError(
            f"the columns {', '.join(columns)} hold no ids with vectors",
            where=str(file),
            remedy="call them 'id' and 'vector'",
        )
    return found


def _matrix(values: Any, file: Path) -> NDArray[np.float32]:
    try:
        matrix = np.asarray(values, np.float32)
    except (TypeError, ValueError):
        matrix = np.empty(0, np.float32)
    if matrix.ndim != 2 or not matrix.size:
        raise InputError(
            "the vectors are not rows of numbers of one length", where=str(file), remedy="repair the ragged rows"
        )
    if not np.isfinite(matrix).all():
        row = int(np.flatnonzero(~np.isfinite(matrix).all(axis=1))[0])
        raise InputError(f"the vector of row {row + 1} is not finite", where=str(file), remedy="drop the row")
    return matrix


def _keys(values: Sequence[Any], by: str, file: Path, rows: int) -> dict[str, int]:
    keys = [str(value) for value in values]
    if len(keys) != rows:
        raise InputError(
            f"there are {len(keys)} {by}s for {rows} vectors", where=str(file), remedy=f"give one {by} per row"
        )
    row: dict[str, int] = {}
    for at, key in enumerate(keys):
        # Two items may well have the same text and then share a vector; two ids may not.
        if row.setdefault(key, at) != at and by == "id":
            raise InputError(
                f"the id {shorten(key)} stands in rows {row[key] + 1} and {at + 1}", where=str(file), remedy="keep one"
            )
    return row
