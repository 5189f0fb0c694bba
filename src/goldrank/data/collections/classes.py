"""Read items with class labels: items of the same class are relevant to each other, and texts are optional."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from types import MappingProxyType

import numpy as np

from goldrank.data.collections.collection import Collection, Document, Documents
from goldrank.data.collections.splits import choose_split, files_in, stem_and_suffix
from goldrank.data.collections.streams import head
from goldrank.errors import InputError, counts, shorten
from goldrank.io.arrays import load_array
from goldrank.io.checks import id_strings, is_missing
from goldrank.io.column_names import ITEM, QUERY, describe_table, find_chosen, first_of, listing, normal
from goldrank.io.columns import Columns
from goldrank.io.files import PathLike, read_bytes
from goldrank.io.formats.delimited import split_rows
from goldrank.specs import Spec

OPTIONS = ("label", "id", "text", "queries", "seed")
"""The options of ``classes:PATH(option=value)``: columns, and how many items are queries."""
MOST_PAIRS = 1_000_000
"""Where the classes have more pairs of items, a sample of the items are queries unless ``queries=all``."""
_NAMES = {
    "label": ("label", "labels", "class", "category", "target", "y"),
    "id": ("id", "_id", "item_id", "doc_id", "docid", "key", "file", "filename", "path"),
    "text": ("text", "sentence", "content", "contents", "body", "question", "document", "passage", "title"),
}
_OTHER_LAYOUTS = frozenset(
    name for groups in (QUERY, ITEM) for names in groups for name in names if name not in _NAMES["id"]
) | {"answer", "positive", "sentence1", "sentence2", "text1", "text2", "split"}
_TEXT_FILES = (".txt", ".md")
_HEAD = 1 << 16


def matches(path: Path) -> bool:
    """Return True if this is a table of labels, an array of labels, or a folder of classes with ``.npy`` files."""
    with suppress(OSError):
        if path.is_dir():
            return any(
                stem_and_suffix(file)[1] == ".npy" for folder in _class_folders(path) for file in files_in(folder)
            )
        suffix = stem_and_suffix(path)[1]
        if suffix == ".npy":
            return True
        if suffix in (".csv", ".tsv", ".txt"):
            return _is_label_table(head(path, _HEAD), suffix)
    return False


def read(path: PathLike, split: str | None = None, options: Mapping[str, str] = MappingProxyType({})) -> Collection:
    """Read items with class labels.

    A path is a table (CSV, TSV, JSON Lines, Parquet …) with the column label and optionally id and text; a file with
    one label per line; a ``.npy`` array of labels; or a folder with one folder per class, of ``.npy`` files with
    vectors or of ``.txt`` and ``.md`` files. Items without ids are numbered from 0, and files have their path in the
    folder as their id.

    *options* name the columns (``label``, ``id``, ``text``). A column of texts is used only if it is named, because a
    table of texts and labels may also be meant for a classifier. ``queries=N`` samples N queries with ``seed``;
    ``queries=all`` uses all items whose class has another member.
    """
    place = Path(path)
    chosen = choose_split(split, ["test"], str(path))
    if place.is_dir():
        items = _read_folder(place, options)
    elif stem_and_suffix(place)[1] == ".npy":
        items = _read_array(place, options)
    else:
        items = _read_table(place, options)
    return items.collection(stem_and_suffix(place.resolve())[0], str(path), chosen, options)


def from_labels(labels: Iterable[object]) -> Collection:
    """Return the collection of labels in memory, one for each row of a matrix of vectors.

    >>> from_labels(["wine", "beer", "wine"])
    Collection(labels/test: 3 items, related, 2 judged)
    """
    place = f"the {type(labels).__name__}"
    return _ClassItems(None, _label_texts(list(labels), place)).collection("labels", place, "test", {})


@dataclass(frozen=True)
class _ClassItems:
    """The ids of the items, None if they are numbered, their labels, and maybe their texts."""

    ids: list[str] | None
    labels: list[str]
    texts: list[str] | None = None
    reading: str = ""

    def collection(self, name: str, source: str, split: str, options: Mapping[str, str]) -> Collection:
        """Return the collection in which each item is a query for the other items of its class."""
        if not self.labels:
            raise InputError("there are no labels", where=source, remedy="check that the file is complete")
        ids = [str(row) for row in range(len(self.labels))] if self.ids is None else self.ids
        texts = [""] * len(ids) if self.texts is None else self.texts
        documents = Documents([Document.plain(*pair) for pair in zip(ids, texts, strict=True)], source)
        documents.ids  # noqa: B018 - refuses repeated ids
        rows_of: dict[str, list[int]] = {}
        for row, label in enumerate(self.labels):
            rows_of.setdefault(label, []).append(row)
        remarks = [f"{counts(len(ids), 'item')} of {counts(len(rows_of), 'class', 'classes')}: same class = relevant"]
        queries = self._queries(rows_of, source, options, remarks)
        gold = _class_gold(queries, ids, self.labels, rows_of, source)
        return Collection(
            name=name,
            items=documents,
            queries=documents,
            gold=gold,
            split=split,
            source=source,
            format="classes",
            remarks=remarks,
            readings=(self.reading,) if self.reading else (),
            ids_only=self.texts is None,
            numbered=self.ids is None,
        )

    def _queries(
        self, rows_of: Mapping[str, list[int]], source: str, options: Mapping[str, str], remarks: list[str]
    ) -> list[int]:
        """Return the rows that are queries: those whose class has another member, or a sample of them."""
        if len(rows_of) == 1:
            raise InputError(
                f"all {len(self.labels)} items have the label {shorten(self.labels[0])}, so that any ranking is right",
                where=source,
                remedy="give labels of two classes or more",
            )
        alone = sum(len(rows) == 1 for rows in rows_of.values())
        rows = [row for row, label in enumerate(self.labels) if len(rows_of[label]) > 1]
        if not rows:
            raise InputError(
                f"each of the {len(self.labels)} items has a label of its own, so that nothing is relevant to any",
                where=source,
                remedy="give labels that several items share",
            )
        if alone:
            remarks.append(
                f"{counts(alone, 'class has a single item, which is', 'classes have a single item, which are')} no "
                "query, because no other item is relevant to it"
            )
        size = _sample_size(rows, self.labels, rows_of, options, source)
        if size < len(rows):
            generator = np.random.default_rng(_whole_number("seed", options.get("seed", "0"), 0, source))
            sample = sorted(generator.choice(len(rows), size, replace=False).tolist())
            remarks.append(
                f"{size} of {len(rows)} items sampled as queries (seed {options.get('seed', '0')})"
                + ("" if "queries" in options else "; queries=all uses all of them")
            )
            rows = [rows[at] for at in sample]
        elif "seed" in options:
            raise InputError("seed has no effect without queries=N", where=source, remedy="leave it out")
        return rows


def _sample_size(
    rows: list[int], labels: list[str], rows_of: Mapping[str, list[int]], options: Mapping[str, str], source: str
) -> int:
    given = options.get("queries")
    if given == "all":
        return len(rows)
    if given is not None:
        return min(_whole_number("queries", given, 1, source), len(rows))
    pairs = sum(len(rows_of[labels[row]]) - 1 for row in rows)
    return len(rows) if pairs <= MOST_PAIRS else max(1, len(rows) * MOST_PAIRS // pairs)


def _whole_number(name: str, text: str, least: int, source: str) -> int:
    if not text.isdecimal() or int(text) < least:
        raise InputError(
            f"{name} is {shorten(text)}", where=source, remedy=f"write {name}=N with a whole number from {least} up"
        )
    return int(text)


def _class_gold(
    queries: list[int], ids: list[str], labels: list[str], rows_of: Mapping[str, list[int]], source: str
) -> Columns:
    items: list[str] = []
    starts = [0]
    members = {label: [ids[row] for row in rows] for label, rows in rows_of.items()}
    place = {row: at for rows in rows_of.values() for at, row in enumerate(rows)}
    for row in queries:
        of_class = members[labels[row]]
        items += of_class[: place[row]]
        items += of_class[place[row] + 1 :]
        starts.append(len(items))
    return Columns([ids[row] for row in queries], np.array(starts, np.int64), items, np.ones(len(items)), source)


def _is_label_table(start: bytes, suffix: str) -> bool:
    """Return True if the first lines are a table with a column of labels, or one repeated label per line."""
    try:
        lines = start[: start.rfind(b"\n") + 1 or None].decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        return False
    filled = [line for line in lines if line.strip()]
    if not filled:
        return False
    names = [normal(cell.strip('" ')) for cell in filled[0].split("\t" if suffix == ".tsv" else ",")]
    if any(name in _NAMES["label"] for name in names):
        return suffix != ".txt" and _OTHER_LAYOUTS.isdisjoint(names)
    alone = all("\t" not in line and "," not in line and len(line) < 80 for line in filled)
    return alone and len(set(filled)) < len(filled)


def _read_table(file: Path, options: Mapping[str, str]) -> _ClassItems:
    rows = _rows(file)
    if not rows:
        raise InputError("there are no labels", where=str(file), remedy="check that the file is complete")
    line, header = rows[0]
    position = {role: _position(role, header, options, f"{file}:{line}") for role in _NAMES}
    label = position["label"]
    if label is None:
        return _read_bare(file, rows, options)
    if position["text"] is not None and "text" not in options:
        raise _two_readings(file, header[position["text"]])
    places = [f"{file}:{number}" for number, _ in rows[1:]]

    def column(role: str) -> list[str] | None:
        at = position[role]
        return None if at is None else [row[at].strip() for _, row in rows[1:]]

    labels = _label_texts(column("label") or [], "", places)
    ids = column("id")
    if ids is not None:
        ids = id_strings(ids, role="item", integers=False, place=places.__getitem__)
    return _ClassItems(ids, labels, column("text"), describe_table(str(file), header, position))


def _rows(file: Path) -> list[tuple[int, list[str]]]:
    """Return the header and the rows of a table, each with its line or number."""
    # Tables may be objects in memory, which may be labels.
    from goldrank.data.collections.tables import TABLE_SUFFIXES, read_table

    suffix = stem_and_suffix(file)[1]
    if suffix not in TABLE_SUFFIXES or suffix in (".csv", ".tsv"):
        return list(split_rows(read_bytes(file), str(file), "tsv" if suffix == ".tsv" else "csv"))
    table = read_table(file)
    cells = ([record.get(name) for name in table.names] for _, record in table.rows)
    rows = [["" if cell is None else str(cell) for cell in row] for row in cells]
    return [(0, table.names), *enumerate(rows, 1)]


def _position(role: str, header: Sequence[str], options: Mapping[str, str], where: str) -> int | None:
    """Return the column of a role: the one that the options name, or the one with a usual name."""
    if role in options:
        return find_chosen(header, role, options[role], where)
    at = first_of(header, _NAMES[role])
    named = [name for name in header if normal(name) in _NAMES[role]]
    if role == "label" and len(named) > 1:
        raise InputError(
            f"several columns could be the label: {listing(named)}",
            where=where,
            remedy=f"choose one: label={named[0]} or label={named[1]}, as in -t 'classes:FILE(label={named[0]})'",
        )
    return at


def _two_readings(file: Path, text: str) -> InputError:
    spec = quote(str(Spec("classes", str(file), {"text": text})))
    return InputError(
        "the table can be read in two ways: texts with labels for a classifier, or items of which those with the same "
        "label are relevant to each other",
        where=str(file),
        remedy=f"-t {quote(f'probe:{file}')} trains and tests a classifier; -t {spec} ranks by class",
    )


def _read_bare(file: Path, rows: list[tuple[int, list[str]]], options: Mapping[str, str]) -> _ClassItems:
    """Read one label per line; a first line that no other line repeats may be a heading, and is refused."""
    line, first = rows[0]
    if len(first) > 1:
        raise InputError(
            f"the first line names no column of labels (columns: {listing(first)})",
            where=f"{file}:{line}",
            remedy=f"start the file with the line id,label; known are {', '.join(_NAMES['label'])}",
        )
    _refuse_columns(options, file)
    labels = [row[0].strip() for _, row in rows]
    if labels[0] not in labels[1:] and len(labels) > 1:
        raise InputError(
            f"the first line, {shorten(labels[0])}, may be a label or the name of the column",
            where=f"{file}:{line}",
            remedy="start the file with the line: label",
        )
    reading = f"{file.name} (no header): label = column 1"
    return _ClassItems(None, _label_texts(labels, "", [f"{file}:{number}" for number, _ in rows]), reading=reading)


def _read_array(file: Path, options: Mapping[str, str]) -> _ClassItems:
    _refuse_columns(options, file)
    labels = load_array(file)
    if labels.ndim != 1 or labels.dtype.kind not in "iubUS":
        raise InputError(
            f"the array has the shape {labels.shape} and the type {labels.dtype}, and labels are one integer or string "
            "per item",
            where=str(file),
            remedy=f"vectors are a model: -m {quote(f'vectors:{file}')} -t LABELS"
            if labels.ndim == 2
            else "write one label per row",
        )
    values = [value.decode("utf-8", "replace") if isinstance(value, bytes) else value for value in labels.tolist()]
    return _ClassItems(None, _label_texts(values, str(file)))


def _refuse_columns(options: Mapping[str, str], file: Path) -> None:
    for role in _NAMES:
        if role in options:
            raise InputError(f"{role} has no effect on {file.name}, which names no columns", remedy="leave it out")


def _class_folders(folder: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    return []


def vector_files(folder: Path) -> list[Path]:
    """Return the ``.npy`` files of the classes in a folder, in order."""
    return [file for inner in _class_folders(folder) for file in files_in(inner) if stem_and_suffix(file)[1] == ".npy"]


def vector_ids(folder: Path, file: Path, rows: int | None) -> list[str]:
    """Return the ids of the vectors in a file of a class: its path, with the row if it is a matrix of *rows*.

    >>> vector_ids(Path("faces"), Path("faces/ann/1.npy"), None), vector_ids(Path("faces"), Path("faces/ann.npy"), 2)
    (['ann/1.npy'], ['ann.npy:0', 'ann.npy:1'])
    """
    name = file.relative_to(folder).as_posix()
    return [name] if rows is None else [f"{name}:{row}" for row in range(rows)]


def _read_folder(folder: Path, options: Mapping[str, str]) -> _ClassItems:
    _refuse_columns(options, folder)
    files = vector_files(folder)
    texts = [file for inner in _class_folders(folder) for file in files_in(inner) if file.suffix.lower() in _TEXT_FILES]
    if bool(files) == bool(texts):
        raise InputError(
            "the folders of the classes hold both .npy and text files" if files else "no folder of a class holds files",
            where=str(folder),
            remedy=f"make one folder per class, with .npy files of vectors or with {' or '.join(_TEXT_FILES)} files",
        )
    remark = f"{folder.name}: label = name of the folder, id = path of the file"
    if texts:
        names = [file.relative_to(folder).as_posix() for file in texts]
        contents = [read_bytes(file).decode().strip() for file in texts]
        return _ClassItems(names, [file.parent.name for file in texts], contents, remark)
    ids: list[str] = []
    labels: list[str] = []
    for file in files:
        array = load_array(file)
        more = vector_ids(folder, file, None if array.ndim == 1 else len(array))
        ids += more
        labels += [file.parent.name] * len(more)
    return _ClassItems(ids, labels, reading=remark)


def _label_texts(values: Sequence[object], source: str, places: Sequence[str] | None = None) -> list[str]:
    """Return labels as texts; raise InputError for one that is missing or no label."""
    labels = []
    for row, value in enumerate(values):
        plain = value.item() if isinstance(value, np.generic) else value
        text = str(plain).strip() if isinstance(plain, (str, int)) else ""
        if not text:
            where = f"{source}: row {row} (counted from 0)" if places is None else places[row]
            missing = plain == "" or is_missing(plain)
            raise InputError(
                "the item has no label" if missing else f"the label {shorten(plain)} is neither a text nor an integer",
                where=where,
                remedy="give every item a label, or leave it out of labels and vectors",
            )
        labels.append(text)
    return labels
