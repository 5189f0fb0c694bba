"""Read articles with labels: each article may name those that are similar to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from goldrank.data.collections.collection import Collection, Document, Documents
from goldrank.data.collections.records import (
    PlacedRecord,
    Record,
    describe_records,
    parse_document,
    placed_rows,
    read_records,
    unique_documents,
)
from goldrank.data.collections.splits import choose_split, files_by_split, files_in, in_order, stem_and_suffix
from goldrank.data.collections.streams import head
from goldrank.data.titles import match_titles
from goldrank.errors import InputError, MissingExtraError, counts, reason_of, shorten
from goldrank.io.checks import id_strings, is_missing, numeric_values
from goldrank.io.column_names import normal
from goldrank.io.columns import Columns
from goldrank.io.files import PathLike, is_parquet
from goldrank.io.formats.parquet import load_pyarrow
from goldrank.io.mappings import from_pairs

_SUFFIXES = (".jsonl", ".json", ".parquet")
_DATASETS = ("dataset_dict.json", "dataset_info.json")
_TEXTS = ("text", "title", "sections")
_KEY = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:')


def matches(path: Path) -> bool:
    """Return True if this is a file of articles, a folder with one per split, or a data set that was saved to disk."""
    if _is_saved(path):
        return True
    return any(_looks_like_articles(files[0]) for files in _files(path).values())


def read(path: PathLike, split: str | None = None) -> Collection:
    """Read articles, some of which have labels.

    A record has an id, a text or a title with sections, and labels: ids, or records with an id and an optional grade.
    A label without an id is looked up by its text among the titles. All articles of the split are items and queries;
    the labels are the gold, with grade 1 by default. Labels that are not in the split stay in the gold.
    """
    place = Path(path)
    if _is_saved(place):
        saved = _load_saved(place)
        chosen = choose_split(split, saved, str(path))
        return from_records(placed_rows(saved[chosen], f"{place} ({chosen})"), place, chosen, saved)
    files = _files(place)
    if not files:
        raise InputError(
            "there are no articles here",
            where=str(path),
            remedy="give a file test.jsonl or test.parquet with id, text and labels, or a folder with it",
        )
    chosen = choose_split(split, files, str(path))
    records = (placed for file in files[chosen] for placed in read_records(file))
    return from_records(records, place, chosen, files)


def from_records(
    records: Iterable[PlacedRecord], source: PathLike, split: str, splits: Mapping[str, object], name: str | None = None
) -> Collection:
    """Return the collection of articles that are given with their places; its name defaults to that of *source*."""
    placed: list[tuple[str, Document]] = []
    labels: list[_Label] = []
    respelt = False
    names: dict[str, None] = {}
    for place, record in records:
        names |= dict.fromkeys(record)
        article = parse_document(record, place)
        placed.append((place, article))
        labels += [_label(value, article.id, place) for value in _labels_of(record, place)]
        respelt |= "label" in record and "labels" not in record
    articles = {article.id: article for article in unique_documents(placed)}
    if not articles:
        raise InputError("there are no articles", where=str(source), remedy="check that the data is complete")
    if not labels:
        raise InputError(
            f"no article of the split {split!r} has labels",
            where=str(source),
            remedy='give source articles "labels": ["id", …]' + _other_splits(split, splits),
        )
    gold, remarks = _gold(articles, labels, str(source))
    if respelt:
        remarks.insert(0, "the field label was read as labels")
    items = Documents(list(articles.values()), str(source))
    return Collection(
        name=name or stem_and_suffix(Path(source).resolve())[0],
        items=items,
        queries=items,
        gold=gold,
        split=split,
        splits=in_order(splits),
        source=str(source),
        format="articles",
        remarks=remarks,
        readings=(_describe(list(names), str(source)),),
    )


def _describe(names: list[str], source: str) -> str:
    """Return the line that says what the fields of all articles were read as."""
    labels = next((name for name in ("labels", "label") if name in names), None)
    return describe_records(source, names, labels=None if labels is None else names.index(labels))


def _other_splits(split: str, splits: Mapping[str, object]) -> str:
    others = [name for name in in_order(splits) if name != split]
    return f", or choose another split ({', '.join(others)})" if others else ""


def _is_saved(path: Path) -> bool:
    with suppress(OSError):
        return any((path / name).is_file() for name in _DATASETS)
    return False


def _files(path: Path) -> dict[str, list[Path]]:
    """Return the files of each split; a single file, or one called articles, is the split test."""
    with suppress(OSError):
        if path.is_file():
            named = stem_and_suffix(path)[1] in _SUFFIXES or is_parquet(head(path, 8))
            return {"test": [path]} if named else {}
        for folder in (path, path / "data"):
            if files := files_by_split(folder, _SUFFIXES):
                return files
        for file in files_in(path):
            if stem_and_suffix(file) in [("articles", suffix) for suffix in _SUFFIXES]:
                return {"test": [file]}
    return {}


def _looks_like_articles(file: Path) -> bool:
    start = head(file, 1 << 16).removeprefix(b"\xef\xbb\xbf").lstrip()
    if is_parquet(start):
        names = _parquet_names(file)
    elif start[:1] in (b"{", b"["):
        names = [key.decode(errors="replace") for key in _KEY.findall(start)]
    else:
        return False
    keys = {normal(name) for name in names}
    return "labels" in keys or (not keys.isdisjoint(("id", "_id")) and not keys.isdisjoint(_TEXTS))


def _parquet_names(file: Path) -> Sequence[str]:
    """Return the columns of a file; those of articles if it cannot be opened, so that `read` reports why."""
    with suppress(Exception):
        _, parquet = load_pyarrow()
        names: Sequence[str] = parquet.read_schema(file).names
        return names
    return ["labels"]


def _load_saved(folder: Path) -> dict[str, Any]:
    try:
        import datasets
    except ImportError:
        raise MissingExtraError("a data set that was saved to disk", "datasets", "hub") from None
    try:
        loaded = datasets.load_from_disk(str(folder))
    except Exception as error:
        # The type of the error depends on the file that is damaged and the library that notices it.
        raise InputError(
            f"the data set cannot be loaded ({reason_of(error)})",
            where=str(folder),
            remedy="save it again with save_to_disk",
        ) from None
    return dict(loaded) if isinstance(loaded, dict) else {"test": loaded}


@dataclass(frozen=True)
class _Label:
    article: str
    id: str | None
    text: str
    grade: float
    sure: bool
    """Whether the label was given as an id; a plain string may also be a title."""


def _labels_of(record: Record, place: str) -> Sequence[object]:
    """Return the labels of an article, ids or records; the field may be missing or empty, or be called ``label``."""
    value = record.get("labels")
    if value is None:
        value = record.get("label")
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if value is None or is_missing(value):
        return ()
    if isinstance(value, dict) and value and all(isinstance(column, list) for column in value.values()):
        # Older versions of the datasets package return a list of records as one list per field.
        return [dict(zip(value, row, strict=True)) for row in zip(*value.values(), strict=False)]
    if not isinstance(value, (list, tuple)):
        remedy = 'write ["id", …]'
        if isinstance(value, str):
            remedy += (
                ", the ids of similar articles; if it is a class, -t 'classes:FILE(text=text)' ranks by class and "
            )
            remedy += "-t probe:FILE trains a classifier"
        raise InputError(f"the labels are {shorten(value)}, not a list", where=place, remedy=remedy)
    return value


def _label(value: object, article: str, place: str) -> _Label:
    if not isinstance(value, dict):
        (text_id,) = id_strings([value], role="label", integers=True, place=lambda _: place)
        return _Label(article, text_id, text_id, 1.0, sure=False)
    grade = next((value[name] for name in ("grade", "score") if not is_missing(value.get(name))), 1)
    (number,) = numeric_values([grade], value="grade", place=lambda _: place).tolist()
    if not np.isfinite(number):
        raise InputError(f"the grade {number} is not finite", where=place, remedy="write a decimal number")
    text = next((value[name] for name in ("title", "text") if isinstance(value.get(name), str)), "")
    if is_missing(value.get("id")) or value["id"] == "":
        if not text.strip():
            raise InputError("the label has neither an id nor a text", where=place, remedy='write {"id": "…"}')
        return _Label(article, None, text, number, sure=False)
    (text_id,) = id_strings([value["id"]], role="label", integers=True, place=lambda _: place)
    return _Label(article, text_id, text, number, sure=True)


def _gold(articles: Mapping[str, Document], labels: Sequence[_Label], source: str) -> tuple[Columns, list[str]]:
    """Return the labels as gold under the ids of their articles, and remarks on them."""
    open_titles = [label.text for label in labels if not label.sure and label.id not in articles]
    named = _by_title(articles, open_titles, source) if open_titles else {}
    rows: dict[str, dict[str, float]] = {}
    again = outside = themselves = 0
    for label in labels:
        known = label.sure or label.id in articles
        item = label.id if known and label.id is not None else named.get(label.text, label.text)
        row = rows.setdefault(label.article, {})
        if item in row:
            again += 1
            row[item] = max(row[item], label.grade)
            continue
        row[item] = label.grade
        outside += item not in articles
        themselves += item == label.article
    remarks = []
    if named:
        respelt = sum(articles[text_id].title != title for title, text_id in named.items())
        spelling = f", {respelt} of them in another spelling" if respelt else ""
        remarks.append(f"{counts(len(named), 'label')} without an id found by title{spelling}")
    if outside:
        remarks.append(f"{counts(outside, 'label')} pointing to no article of the split, kept in the gold")
    if themselves:
        remarks.append(f"{counts(themselves, 'article')} naming itself among its labels, kept in the gold")
    if again:
        remarks.append(f"{counts(again, 'label')} given again merged, of the highest grade")
    return from_pairs(rows.items(), "gold", source, integers=False), remarks


def _by_title(articles: Mapping[str, Document], wanted: Sequence[str], source: str) -> dict[str, str]:
    """Return the ids of the articles with the wanted titles; articles without a title are matched by their text."""
    ids: dict[str, list[str]] = {}
    for article in articles.values():
        ids.setdefault(article.title or article.text, []).append(article.id)
    matches, _ = match_titles(wanted, ids)
    for title, spelling in matches.items():
        if len(ids[spelling]) > 1:
            raise InputError(
                f"the label {shorten(title)} could be {' or '.join(map(repr, ids[spelling][:3]))}",
                where=source,
                remedy="name the article by its id",
            )
    return {title: ids[spelling][0] for title, spelling in matches.items()}
