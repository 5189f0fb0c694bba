"""Write a collection in another layout: completely or not at all, and verified by reading it back."""

from __future__ import annotations

import csv
import html
import io
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np

from goldrank.data.collections import READERS
from goldrank.data.collections.collection import Collection, Document
from goldrank.errors import GoldrankError, InputError, counts, shorten, unknown_name
from goldrank.io.columns import Columns, number_text, row_queries
from goldrank.io.files import PathLike
from goldrank.io.formats import delimited, trec

# Files that a conversion writes besides one per split; only these are replaced.
_WRITTEN = (
    "corpus.jsonl", "queries.jsonl", "qrels", "documents.trec", "topics.trec", "qrels.txt",
    "background_sent.txt", "basic_vocab.txt",
)  # fmt: skip
_EVALRANK_PAIRS = re.compile(r"pos_pair(_\d+)?\.txt")
# EvalRank reads its files in Python's text mode, in which a carriage return also ends a line.
_LINE_BREAKS = re.compile(r"[\t\n\r]")
_SPLITS = ("test", "dev", "validation", "train")
_SINGLE = {"articles": (".jsonl",), "pairs": (".csv", ".tsv")}


def convert(collection: Collection, path: PathLike, format: str, *, overwrite: bool = False) -> list[str]:
    """Write a collection to *path* in one of the layouts of `WRITERS`, and return remarks on what was left out.

    The result is a folder, or one file if *path* ends in .jsonl (articles), .csv or .tsv (pairs). It is written under
    another name, read back and compared, and then moved into place. An existing path is replaced only with
    *overwrite*, and only if it is a collection that goldrank may have written.
    """
    if format not in WRITERS:
        raise unknown_name("format to convert to", format, WRITERS, f"one of {', '.join(WRITERS)}")
    if not collection.has_texts:
        raise InputError(
            "the file holds gold without texts, which no layout of collections can hold",
            where=collection.source,
            remedy="give the collection with its texts; in Python, goldrank.Gold.read and write convert gold",
        )
    target = Path(path)
    single = target.suffix.lower() in _SINGLE.get(format, ())
    _refuse_existing(target, collection, overwrite, single=single)
    temporary = target.with_name(f".{target.name[:80]}.{os.urandom(6).hex()}.tmp")
    try:
        temporary.mkdir()
        name = target.name if single else None
        remarks = WRITERS[format](collection, temporary, name)
        written = temporary / name if name else temporary
        remarks += _compared(collection, written, format)
        _put_in_place(written, target)
        return remarks
    except FileNotFoundError:
        raise InputError("the folder does not exist", where=str(target.parent), remedy="create it first") from None
    except OSError as error:
        raise GoldrankError(
            f"{target}: the collection cannot be written ({error.strerror or error}); nothing was kept"
        ) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _refuse_existing(target: Path, collection: Collection, overwrite: bool, *, single: bool) -> None:
    if not target.exists():
        return
    if single != target.is_file():
        kind = "file" if target.is_file() else "folder"
        raise InputError(f"there is a {kind} of this name already", where=str(target), remedy="choose another name")
    if not overwrite:
        raise InputError("this exists already", where=str(target), remedy="add --overwrite, or choose another name")
    if target.resolve() == Path(collection.source).resolve():
        raise InputError("this is the collection itself", where=str(target), remedy="choose another name")
    splits = map(_file_name, (*_SPLITS, *collection.splits))
    ours = {*_WRITTEN, *(f"{split}{suffix}" for split in splits for suffix in (".jsonl", ".csv"))}
    names = [] if single else [entry.name for entry in target.iterdir()]
    foreign = [name for name in names if name not in ours and not _EVALRANK_PAIRS.fullmatch(name)]
    if foreign:
        raise InputError(
            f"the folder holds {shorten(sorted(foreign)[0])}, which no conversion wrote",
            where=str(target),
            remedy="choose another folder",
        )


def _put_in_place(written: Path, target: Path) -> None:
    if written.is_file() or not target.exists():
        written.replace(target)
        return
    before = target.with_name(f".{target.name[:80]}.{os.urandom(6).hex()}.old")
    target.replace(before)
    written.replace(target)
    shutil.rmtree(before, ignore_errors=True)


def _compared(collection: Collection, written: Path, format: str) -> list[str]:
    again = READERS[format].read(written)
    if again.checksum == collection.checksum:
        return []
    return ["The written collection reads back with differences: " + _difference(collection, again) + "."]


def _difference(collection: Collection, other: Collection) -> str:
    if collection.related != other.related:
        return "the articles are not both queries and items any more"
    for what in ("items", "queries"):
        if getattr(collection, what).checksum != getattr(other, what).checksum:
            return f"ids, titles, sections or white space of the {what} differ"
    return "the order or the rows of the gold differ"


def _write_beir(collection: Collection, folder: Path, _: str | None) -> list[str]:
    gold, remarks = _with_items(collection.gold)
    _write_lines(folder / "corpus.jsonl", (_record("_id", document) for document in collection.items))
    _write_lines(folder / "queries.jsonl", (_record("_id", query) for query in _queries(collection, gold)))
    (folder / "qrels").mkdir()
    (folder / "qrels" / f"{_file_name(collection.split)}.tsv").write_bytes(delimited.dump(gold, "gold", "beir"))
    return remarks


def _queries(collection: Collection, gold: Columns) -> Iterator[Document]:
    """Return the queries; of a related collection, in which every article is a query, only those with gold."""
    judged = set(gold.queries)
    return (query for query in collection.queries if not collection.related or query.id in judged)


def _refuse_separate_queries(collection: Collection, holder: str) -> None:
    if not collection.related:
        raise InputError(
            f"the queries are other texts than the items, which {holder} cannot hold",
            where=collection.source,
            remedy="convert to beir",
        )


def _write_articles(collection: Collection, folder: Path, name: str | None) -> list[str]:
    _refuse_separate_queries(collection, "articles with labels")
    gold, remarks = _with_items(collection.gold)
    labels = _labels(gold)

    def lines() -> Iterator[str]:
        for document in collection.items:
            own = labels.pop(document.id, {})
            given = [{"id": item, "grade": int(grade) if grade.is_integer() else grade} for item, grade in own.items()]
            yield _record("id", document, labels=given)

    _write_lines(folder / (name or f"{_file_name(collection.split)}.jsonl"), lines())
    if labels:
        remarks.append(f"{counts(len(labels), 'source')} of the gold without an article left out.")
    return remarks


def _write_trec(collection: Collection, folder: Path, _: str | None) -> list[str]:
    gold, remarks = _with_items(collection.gold)
    _write_lines(folder / "documents.trec", map(_trec_document, collection.items))
    _write_lines(folder / "topics.trec", map(_topic, _queries(collection, gold)))
    (folder / "qrels.txt").write_bytes(trec.dump(gold, "gold"))
    return remarks


def _trec_document(document: Document) -> str:
    title = f"<TITLE>{_escaped(document.title)}</TITLE>\n" if document.title else ""
    text = "\n".join(_escaped(part) for section in document.sections for part in section if part)
    return f"<DOC>\n<DOCNO>{_one_word(document.id)}</DOCNO>\n{title}<TEXT>\n{text}\n</TEXT>\n</DOC>"


def _topic(query: Document) -> str:
    title = query.title or query.text
    known = {"description": "desc", "narrative": "narr"}
    rest = [] if not query.title else [(known.get(heading, "desc"), text) for heading, text in query.sections if text]
    # Readers of topics remove such a label; without one they might remove the first word of the text.
    label = {"desc": "Description", "narr": "Narrative"}
    parts = "".join(f"<{tag}> {label[tag]}: {_escaped(text)}\n" for tag, text in dict(rest).items())
    return f"<top>\n<num> Number: {_escaped(_one_word(query.id))}\n<title> Topic: {_escaped(title)}\n{parts}</top>\n"


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)


def _one_word(text_id: str) -> str:
    if text_id.split() != [text_id] or "<" in text_id or "\0" in text_id:
        raise InputError(
            f"the id {shorten(text_id)} holds white space or '<', which a TREC file cannot hold",
            remedy="convert to beir",
        )
    return text_id


def _write_pairs(collection: Collection, folder: Path, name: str | None) -> list[str]:
    labels = _labels(collection.gold)
    wanted = {item for grades in labels.values() for item in grades}
    texts: dict[str, str] = {}
    unused = 0
    for document in collection.items:
        if document.id in wanted:
            texts[document.id] = _flat(document)
        else:
            unused += 1
    queries = {query.id: _flat(query) for query in collection.queries if query.id in labels}
    out = io.StringIO()
    file = name or f"{_file_name(collection.split)}.csv"
    writer = csv.writer(out, delimiter="\t" if file.lower().endswith(".tsv") else ",", lineterminator="\n")
    writer.writerow(["query_id", "query", "item_id", "item", "grade"])
    left_out = 0
    for query, grades in labels.items():
        for item, grade in grades.items():
            if queries.get(query) and texts.get(item):
                writer.writerow([query, queries[query], item, texts[item], number_text(grade, "gold")])
            else:
                left_out += 1
    if left_out == len(collection.gold.items):
        raise InputError(
            "no pair of the gold has the texts of both query and item",
            where=collection.source,
            remedy="convert to beir",
        )
    (folder / file).write_bytes(out.getvalue().encode())
    remarks = []
    if left_out:
        remarks.append(f"{counts(left_out, 'gold pair')} without the text of query or item left out.")
    if unused:
        remarks.append(f"{counts(unused, 'item')} that no gold names left out: pairs hold no other texts.")
    return remarks


def _flat(document: Document) -> str:
    return " ".join(part for part in (document.title, document.text) if part).strip()


def _write_evalrank(collection: Collection, folder: Path, _: str | None) -> list[str]:
    """Write pairs and background under the file names of the reference implementation, with line feeds only."""
    _refuse_separate_queries(collection, "EvalRank's files")
    remarks: list[str] = []
    flat = {document.id: _flat(document) for document in collection.items}
    texts = {text_id: " ".join(text.split()) if _LINE_BREAKS.search(text) else text for text_id, text in flat.items()}
    gold, queries = collection.gold, row_queries(collection.gold)
    rows = collection.gold_order or range(len(gold.items))
    pairs = [(texts.get(queries[row]), texts.get(gold.items[row])) for row in rows if gold.values[row] > 0]
    written = [f"{text}\t{positive}" for text, positive in pairs if text and positive]
    if not written:
        raise InputError("no pair of the gold has both texts", where=collection.source, remedy="convert to beir")
    background = [text for text in texts.values() if text]
    is_words = not any(character.isspace() for text in background for character in text)
    _write_lines(folder / (f"pos_pair_{len(written)}.txt" if is_words else "pos_pair.txt"), written)
    _write_lines(folder / ("basic_vocab.txt" if is_words else "background_sent.txt"), background)
    if folded := sum(texts[text_id] != text for text_id, text in flat.items()):
        remarks.append(f"{counts(folded, 'text')} with tabs or line breaks, which became blanks.")
    if left_out := len(gold.items) - len(written):
        remarks.append(f"{counts(left_out, 'gold pair')} without both texts or of a grade of 0 or less left out.")
    if empty := len(texts) - len(background):
        remarks.append(f"{counts(empty, 'empty item')} left out.")
    return remarks


WRITERS: dict[str, Callable[[Collection, Path, str | None], list[str]]] = {
    "beir": _write_beir,
    "articles": _write_articles,
    "trec": _write_trec,
    "pairs": _write_pairs,
    "evalrank": _write_evalrank,
}
"""The functions that write a layout, by the name of its reader."""


def _record(id_key: str, document: Document, **more: object) -> str:
    record: dict[str, object] = {id_key: document.id}
    if document.title:
        record["title"] = document.title
    record["text"] = document.text
    if document != Document.plain(document.id, document.text, document.title):
        record["sections"] = document.sections
    text = json.dumps({**record, **more}, ensure_ascii=False)
    # JSON can hold an unpaired surrogate only as an escape.
    return text if _is_utf8(text) else json.dumps({**record, **more})


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in lines)


def _labels(gold: Columns) -> dict[str, dict[str, float]]:
    values = gold.values.tolist()
    return {query: dict(zip(gold.items[rows], values[rows], strict=True)) for query, rows in gold.rows_by_query()}


def _with_items(gold: Columns) -> tuple[Columns, list[str]]:
    """Return the gold without queries that have no items, because a file with one row per pair cannot hold them."""
    sizes = np.diff(gold.starts)
    if sizes.all():
        return gold, []
    queries = [query for query, size in zip(gold.queries, sizes.tolist(), strict=True) if size]
    starts = np.concatenate([[0], np.cumsum(sizes[sizes > 0])]).astype(np.int64)
    left_out = f"{counts(len(sizes) - len(queries), 'gold list')} without any item left out."
    return Columns(queries, starts, gold.items, gold.values, gold.source), [left_out]


def _file_name(split: str) -> str:
    return re.sub(r"[^\w-]", "-", split) or "test"
