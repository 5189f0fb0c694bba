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

# What a conversion leaves in a folder, besides a file per split, and therefore may replace there.
_WRITTEN = (
    "corpus.jsonl", "queries.jsonl", "qrels", "documents.trec", "topics.trec", "qrels.txt",
    "background_sent.txt", "basic_vocab.txt",
)  # fmt: skip
_EVALRANK_PAIRS = re.compile(r"pos_pair(_\d+)?\.txt")
# EvalRank's files are read in Python's text mode, which ends a line at a carriage return too.
_LINE_BREAKS = re.compile(r"[\t\n\r]")
_SPLITS = ("test", "dev", "validation", "train")
_SINGLE = {"articles": (".jsonl",), "pairs": (".csv", ".tsv")}


def convert(collection: Collection, path: PathLike, format: str, *, overwrite: bool = False) -> list[str]:
    """Write a collection to *path* in one of `WRITERS`; what the format cannot hold, a sentence each.

    The result is a folder; where *path* ends in .jsonl (articles) or .csv or .tsv (pairs), one file. It is written
    under another name, read back and compared, and then put in place; what is there already is replaced only with
    *overwrite*, and only if it is a collection that goldrank may have written.
    """
    if format not in WRITERS:
        raise unknown_name("format to convert to", format, WRITERS, f"one of {', '.join(WRITERS)}")
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


def _difference(one: Collection, other: Collection) -> str:
    if one.related != other.related:
        return "the articles are not both queries and items any more"
    for what in ("items", "queries"):
        if getattr(one, what).checksum != getattr(other, what).checksum:
            return f"ids, titles, sections or white space of the {what} differ"
    return "the order or the rows of the gold differ"


def _write_beir(collection: Collection, folder: Path, _: str | None) -> list[str]:
    gold, remarks = _with_items(collection.gold)
    judged = set(gold.queries)
    _write_lines(folder / "corpus.jsonl", (_record("_id", document) for document in collection.items))
    # Of articles that are all queries, only those with gold are questions to a search engine.
    queries = (query for query in collection.queries if not collection.related or query.id in judged)
    _write_lines(folder / "queries.jsonl", (_record("_id", query) for query in queries))
    (folder / "qrels").mkdir()
    (folder / "qrels" / f"{_file_name(collection.split)}.tsv").write_bytes(delimited.dump(gold, "gold", "beir"))
    return remarks


def _write_articles(collection: Collection, folder: Path, name: str | None) -> list[str]:
    if not collection.related:
        raise InputError(
            "the queries are other texts than the items, which articles with labels cannot hold",
            where=collection.source,
            remedy="convert to beir",
        )
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
    judged = set(gold.queries)
    queries = (query for query in collection.queries if not collection.related or query.id in judged)
    _write_lines(folder / "documents.trec", map(_trec_document, collection.items))
    _write_lines(folder / "topics.trec", map(_topic, queries))
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
    # The readers of topics take such a label away, and would take the first word of a text for one.
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
    """Write pairs and background under the names that the reference's loaders open: one line feed ends every line."""
    if not collection.related:
        raise InputError(
            "the queries are other texts than the items, which EvalRank's files cannot hold",
            where=collection.source,
            remedy="convert to beir",
        )
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
"""What can be written, by the name of the reader that reads it."""


def _record(id_key: str, document: Document, **more: object) -> str:
    record: dict[str, object] = {id_key: document.id}
    if document.title:
        record["title"] = document.title
    record["text"] = document.text
    if document != Document.plain(document.id, document.text, document.title):
        record["sections"] = document.sections
    text = json.dumps({**record, **more}, ensure_ascii=False)
    # Half of a surrogate pair can stand in JSON only as an escape.
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
    """Return the gold without queries that list no item, which a file of one row per pair cannot hold."""
    sizes = np.diff(gold.starts)
    if sizes.all():
        return gold, []
    queries = [query for query, size in zip(gold.queries, sizes.tolist(), strict=True) if size]
    starts = np.concatenate([[0], np.cumsum(sizes[sizes > 0])]).astype(np.int64)
    left_out = f"{counts(len(sizes) - len(queries), 'gold list')} without any item left out."
    return Columns(queries, starts, gold.items, gold.values, gold.source), [left_out]


def _file_name(split: str) -> str:
    return re.sub(r"[^\w-]", "-", split) or "test"
