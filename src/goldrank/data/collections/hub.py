"""Read data sets of the Hugging Face hub, by name or from a local copy: MTEB's layout, or articles with labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

from goldrank import io
from goldrank.data.collections import articles
from goldrank.data.collections.collection import Collection, Documents
from goldrank.data.collections.records import (
    DocumentReader,
    describe_file,
    describe_records,
    parse_document,
    placed_rows,
    read_documents,
    read_records,
)
from goldrank.data.collections.splits import choose_split, files_in, in_order, split_of_name, stem_and_suffix
from goldrank.errors import GoldrankError, InputError, MissingExtraError, reason_of
from goldrank.io.column_names import describe_found, find_columns, listing
from goldrank.io.columns import Columns, columns_of_cells
from goldrank.io.files import PathLike
from goldrank.io.tables import columns_from

_QRELS = ("qrels", "default", "data")
_RECORDS = (".jsonl", ".json", ".parquet")
_LOCAL = "every loader takes a local path too: give the folder of a copy, or a BEIR folder"


def matches(path: Path) -> bool:
    """Return True if the folder holds the parts of a data set in the layout of MTEB."""
    return all(_part(path, name) for name in ("corpus", "queries")) and any(_part(path, name) for name in _QRELS)


def read(path: PathLike, split: str | None = None) -> Collection:
    """Read a data set by its name on the hub, or from a local folder in the same layout.

    The layout of MTEB is three configurations: ``corpus`` and ``queries`` with an id and a text, and ``default`` or
    ``qrels`` with query-id, corpus-id and score, whose splits are those of the collection. Anything else has to be
    articles with an id, a text and labels.
    """
    name = str(path).removeprefix("hf:")
    if matches(Path(name)):
        return _read_folder(Path(name), split)
    if articles.matches(Path(name)):
        return articles.read(name, split)
    package = _load_package()
    configurations = _asked(lambda: package.get_dataset_config_names(name), name)
    if {"corpus", "queries"} <= set(configurations):
        return _read_retrieval(package, name, configurations, split)
    if len(configurations) > 1 and "default" not in configurations:
        raise InputError(
            f"the data set has the configurations {listing(configurations)}, of which none is known",
            where=f"hf:{name}",
            remedy="known are corpus, queries and qrels, or one with id, text and labels",
        )
    chosen = "default" if "default" in configurations else configurations[0]
    splits = dict(_asked(lambda: package.load_dataset(name, chosen), name))
    part = choose_split(split, splits, f"hf:{name}")
    return articles.from_records(placed_rows(splits[part], f"hf:{name} ({part})"), name, part, splits)


def _read_retrieval(package: Any, name: str, configurations: Sequence[str], split: str | None) -> Collection:
    judged = next((known for known in ("default", "qrels", "data") if known in configurations), None)
    if judged is None:
        raise InputError(
            f"the data set has no judgments (configurations: {listing(configurations)})",
            where=f"hf:{name}",
            remedy="they are the configuration default or qrels",
        )
    qrels = dict(_asked(lambda: package.load_dataset(name, judged), name))
    chosen = choose_split(split, qrels, f"hf:{name}")
    gold = columns_from(qrels[chosen], "gold")

    readings: list[str] = []

    def documents(configuration: str) -> Documents:
        parts = dict(_asked(lambda: package.load_dataset(name, configuration), name))
        # A corpus that all splits share usually has one split called corpus, and the queries one called queries.
        rows = parts[next((part for part in (chosen, configuration) if part in parts), next(iter(parts)))]
        source = f"hf:{name} ({configuration})"
        readings.append(describe_records(source, list(rows.column_names)))
        # The package maps its file into memory, so the documents can be iterated over without loading them.
        return Documents(lambda: (parse_document(record, place) for place, record in placed_rows(rows, source)), source)

    queries = documents("queries")
    return _collection(
        name, documents("corpus"), Documents(list(queries), queries.source), gold, chosen, qrels, readings
    )


def _read_folder(folder: Path, split: str | None) -> Collection:
    qrels = next(filter(None, (_part(folder, name) for name in _QRELS)))
    chosen = choose_split(split, qrels, str(folder))

    readings: list[str] = []

    def documents(part: str) -> Documents:
        by_split = _part(folder, part)
        files = by_split.get(chosen) or by_split.get(part) or next(iter(by_split.values()))
        readings.append(f"{part}/{describe_file(files[0], queries=part == 'queries')}")
        if len(files) == 1:
            return read_documents(files[0], may_stream=part == "corpus", queries=part == "queries")
        placed = DocumentReader(
            lambda: ((place, parse_document(record, place)) for file in files for place, record in read_records(file))
        )
        return Documents(placed, str(folder / part), files)

    gold = _gold(qrels[chosen], str(folder))
    return _collection(str(folder), documents("corpus"), documents("queries"), gold, chosen, qrels, readings)


def _collection(
    name: str,
    items: Documents,
    queries: Documents,
    gold: Columns,
    split: str,
    splits: Mapping[str, object],
    readings: Sequence[str],
) -> Collection:
    return Collection(
        name=Path(name).name,
        items=items,
        queries=queries,
        gold=gold,
        split=split,
        splits=in_order(splits),
        source=f"hf:{name}",
        format="hub",
        readings=(*readings, *filter(None, [gold.reading])),
    )


def _part(folder: Path, name: str) -> dict[str, list[Path]]:
    """Return the files of one configuration by split; files without a split in their name are under its own name."""
    by_split: dict[str, list[Path]] = {}
    for file in files_in(folder / name):
        stem, suffix = stem_and_suffix(file)
        if suffix in (*_RECORDS, ".tsv"):
            by_split.setdefault(split_of_name(stem) or ("test" if name in _QRELS else name), []).append(file)
    return by_split


def _gold(files: Sequence[Path], source: str) -> Columns:
    if len(files) == 1:
        return io.read(files[0], "gold")
    placed = list(chain.from_iterable(map(read_records, files)))
    if not placed:
        raise InputError("there are no judgments", where=source, remedy="check that the files are complete")
    names = list(placed[0][1])
    positions = find_columns(names, "gold", where=placed[0][0])[:3]
    cells = [[record.get(names[position]) for _, record in placed] for position in positions]
    gold = columns_of_cells(cells, "gold", source=source, place=lambda row: placed[row][0])
    return replace(gold, reading=describe_found(str(files[0]), names, "gold", positions))


def _load_package() -> Any:
    try:
        return import_module("datasets")
    except ImportError:
        raise MissingExtraError("a data set of the Hugging Face hub", "datasets", "hub") from None


def _asked(ask: Callable[[], Any], name: str) -> Any:
    """Call the package; its errors (no network, no such name, no access, a broken file) are of many types."""
    try:
        return ask()
    except GoldrankError:
        raise
    except Exception as error:
        # The cause says more than "An error occurred while generating the dataset".
        reason = reason_of(error.__cause__ or error)
        raise InputError(f"the data set cannot be loaded ({reason})", where=f"hf:{name}", remedy=_LOCAL) from None
