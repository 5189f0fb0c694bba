"""Read collections of the ir_datasets package by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from goldrank.data.collections.collection import Collection, Document, Documents
from goldrank.data.collections.splits import choose_split, in_order
from goldrank.errors import GoldrankError, InputError, MissingExtraError, counts, reason_of, unknown_name
from goldrank.io.columns import Columns
from goldrank.io.files import PathLike
from goldrank.io.mappings import from_pairs


def matches(path: Path) -> bool:
    """Return False: a data set is given by its name, as ``irds:NAME``, and is never a path."""
    return False


def read(path: PathLike, split: str | None = None) -> Collection:
    """Read a data set of ir_datasets by its name, such as ``beir/scifact/test``; documents are streamed.

    A split is a part of the name: ``beir/scifact`` with the split ``test`` is ``beir/scifact/test``. The text of a
    document or query is what the package calls its default text, with a title kept apart where there is one.
    """
    package = _load_package()
    name = str(path).removeprefix("irds:").strip("/")
    name, splits = _with_split(package, name, split)
    dataset = package.load(name)
    for kind in ("docs", "queries", "qrels"):
        if not getattr(dataset, f"has_{kind}")():
            raise InputError(
                f"the data set has no {kind}", where=f"irds:{name}", remedy="choose one that has: ir_datasets list"
            )
    remarks: list[str] = []
    gold = _gold(dataset, name, remarks)
    return Collection(
        name=name.replace("/", "-"),
        items=Documents(_rows(dataset.docs_iter, "doc_id", name), f"irds:{name}"),
        queries=Documents(list(_rows(dataset.queries_iter, "query_id", name)()), f"irds:{name}"),
        gold=gold,
        split=name.rpartition("/")[2] if splits else "test",
        splits=splits or ("test",),
        source=f"irds:{name}",
        format="ir_datasets",
        remarks=remarks,
    )


def _load_package() -> Any:
    try:
        return import_module("ir_datasets")
    except ImportError:
        raise MissingExtraError("a name that starts with irds:", "ir_datasets", "irds") from None


def _with_split(package: Any, name: str, split: str | None) -> tuple[str, tuple[str, ...]]:
    """Return the full name, and all splits of the data set; empty if the name has no splits."""
    known = list(package.registry)
    try:
        package.load(name)
    except KeyError:
        raise unknown_name("data set of ir_datasets", name, known, "ir_datasets list") from None

    def judged_below(parent: str) -> tuple[str, ...]:
        below = {other.removeprefix(f"{parent}/") for other in known if other.startswith(f"{parent}/")}
        return in_order(part for part in below if "/" not in part and package.load(f"{parent}/{part}").has_qrels())

    if not package.load(name).has_qrels() and (splits := judged_below(name)):
        return f"{name}/{choose_split(split, splits, f'irds:{name}')}", splits
    parent, _, last = name.rpartition("/")
    splits = judged_below(parent) if parent else ()
    if split is not None and split != last:
        return f"{parent or name}/{choose_split(split, splits or (last,), f'irds:{name}')}", splits
    return name, splits


def _rows(iterate: Callable[[], Any], id_field: str, name: str) -> Callable[[], Iterator[Document]]:
    """Return a function that reads all documents or queries from the beginning."""

    def rows() -> Iterator[Document]:
        for row in _guarded(iterate, name):
            title, text = getattr(row, "title", None), getattr(row, "text", None)
            if isinstance(title, str) and isinstance(text, str):
                yield Document.plain(str(getattr(row, id_field)), text, title)
            else:
                yield Document.plain(str(getattr(row, id_field)), _default_text(row))

    return rows


def _default_text(row: Any) -> str:
    if hasattr(row, "default_text"):
        return str(row.default_text())
    # Versions before 0.5.6 have no default text.
    return " ".join(value for value in row[1:] if isinstance(value, str))


def _gold(dataset: Any, name: str, remarks: list[str]) -> Columns:
    grades: dict[str, dict[str, float]] = {}
    repeated = 0
    for judged in _guarded(dataset.qrels_iter, name):
        of_query = grades.setdefault(str(judged.query_id), {})
        item, grade = str(judged.doc_id), float(judged.relevance)
        repeated += item in of_query
        of_query[item] = max(grade, of_query.get(item, grade))
    if not grades:
        raise InputError("the data set has no judgments", where=f"irds:{name}", remedy="choose another one")
    if repeated:
        remarks.append(f"{counts(repeated, 'pair')} judged more than once: the highest grade is kept.")
    return from_pairs(grades.items(), "gold", f"irds:{name}", integers=False)


def _guarded(iterate: Callable[[], Any], name: str) -> Iterator[Any]:
    """Yield the rows of the package; its errors (no network, a broken file, a licence to sign) are of many types."""
    try:
        yield from iterate()
    except GoldrankError:
        raise
    except Exception as error:
        raise InputError(
            f"ir_datasets cannot read it ({reason_of(error)})",
            where=f"irds:{name}",
            remedy="if a download failed, get the files by hand: goldrank reads BEIR and TREC folders by their path",
        ) from None
