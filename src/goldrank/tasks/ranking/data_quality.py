"""Find what makes all scores of a task misleading: leaks, near-duplicates, empty texts, gold outside the corpus."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from goldrank.data.collections import Document
from goldrank.data.leaks import Leaks, RelevantPair, find_leaks
from goldrank.data.near_duplicates import METHOD, group_near_duplicates
from goldrank.errors import DataWarning, GoldrankError, counts
from goldrank.io.files import cache_folder, write_atomically
from goldrank.io.private_files import make_private_folder

if TYPE_CHECKING:
    from goldrank.tasks.ranking.data import RankingData

FOLDER = "near-duplicates"
# With more items the search for near-duplicates takes longer than users wait for a table.
MOST_ITEMS = 50_000


@dataclass(frozen=True)
class DataQuality:
    """The problems in the data of a task that do not depend on a model."""

    leaks: Leaks = field(default_factory=Leaks)
    groups: tuple[tuple[str, ...], ...] = ()
    """Items that are near-duplicates of each other."""
    torn: frozenset[str] = frozenset()
    """Queries with a relevant item that has a near-duplicate which is not relevant."""
    searched: bool = True
    """Whether near-duplicates were searched for."""
    warnings: tuple[DataWarning, ...] = ()


def inspect_data(data: RankingData) -> DataQuality:
    """Look for leaks, near-duplicates, empty texts and gold outside the corpus, where there are texts."""
    if data.corpus is None or not data.collection.has_texts:
        return DataQuality(searched=False)
    # The members of a class have many pairs, and similar texts in it are what is looked for.
    leaks = Leaks() if data.collection.format == "classes" else find_leaks(_relevant_pairs(data))
    if data.task.kind == "evalrank":
        # Positive pairs are paraphrases by construction: only identical words are a leak.
        leaks = Leaks(same=leaks.same)
    searched = data.task.kind != "evalrank" and len(data.item_ids) <= MOST_ITEMS
    groups = _groups(data) if searched else ()
    quality = DataQuality(leaks, groups, _torn(data, groups), searched)
    warnings = (*_leak_warnings(leaks, data), *_duplicate_warnings(quality, data), *_text_warnings(data))
    return replace(quality, warnings=warnings)


def _relevant_pairs(data: RankingData) -> Iterator[RelevantPair]:
    relevant = [(query, item) for query, item, grade in data.gold.columns.rows() if grade > 0 and query != item]
    wanted = {item for _, item in relevant}
    query_texts = dict(zip(data.query_ids, data.query_texts, strict=True))
    documents = {document.id: document for document in data.collection.items if document.id in wanted}
    texts = {name: data.text_rule.text(document) for name, document in documents.items()}
    for query, item in relevant:
        if query in query_texts and item in documents:
            yield RelevantPair(query, item, query_texts[query], texts[item], *_parts(documents[item], data))


def _parts(document: Document, data: RankingData) -> tuple[str, str]:
    if "title" not in data.text_rule.parts or not document.title or data.collection.related:
        return "", ""
    return document.title, document.text


def _groups(data: RankingData) -> tuple[tuple[str, ...], ...]:
    """Return the ids of near-duplicates, from the cache if possible: the search takes seconds for a large corpus."""
    ids = data.item_ids
    identity = [ids, data.collection.checksum, data.text_rule.as_dict(), METHOD]
    file = cache_folder() / FOLDER / hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32]
    groups = _read_cached(file, len(ids))
    if groups is None:
        groups = group_near_duplicates(lambda: chain.from_iterable(data.item_batches()))
        # An unwritable cache is not an error.
        with suppress(OSError, GoldrankError):
            make_private_folder(file.parent)
            content = json.dumps(groups).encode()
            write_atomically(file, lambda out: out.write(content))
    return tuple(tuple(ids[row] for row in group) for group in groups)


def _read_cached(file: Path, count: int) -> list[list[int]] | None:
    """Return the groups in a file of the cache; None if it is missing or invalid."""
    try:
        groups = json.loads(file.read_bytes())
        valid = all(isinstance(row, int) and 0 <= row < count for group in groups for row in group)
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    return groups if valid else None


def _torn(data: RankingData, groups: tuple[tuple[str, ...], ...]) -> frozenset[str]:
    group_of = {item: group for group in groups for item in group}
    torn = set()
    for query, judged in data.gold.to_dict().items():
        right = {item for item, grade in judged.items() if grade > 0}
        if any(other not in right and other != query for item in right for other in group_of.get(item, ())):
            torn.add(query)
    return frozenset(torn)


def _leak_warnings(leaks: Leaks, data: RankingData) -> Iterator[DataWarning]:
    total, subject = len(data.query_ids), data.task.name
    same, near = len(leaks.same), len(leaks.near)
    if number := same + near:
        close = f", {near} of them nearly" if near else ""
        yield DataWarning(
            "query-is-its-answer",
            f"{number} of {counts(total, 'query', 'queries')} {'has' if number == 1 else 'have'} the text of a "
            f"relevant item, but for case and punctuation{close}: a model finds it by comparing texts.",
            subject,
            f"Leave {'it' if number == 1 else 'them'} out, or the copy of the query out of the corpus "
            f"({_some(leaks.same | leaks.near)}).",
        )
    phrases = {
        "query-is-a-title": ("is", "are", "the title of a relevant item"),
        "query-inside-its-answer": ("stands", "stand", "word for word in a relevant item"),
        "answer-inside-query": ("holds", "hold", "the whole text of a relevant item"),
    }
    for code, (singular, plural, rest) in phrases.items():
        if pairs := leaks.by_code()[code]:
            yield DataWarning(
                code,
                f"{len(pairs)} of {counts(total, 'query', 'queries')} {singular if len(pairs) == 1 else plural} {rest}"
                ", so that matching words finds it.",
                subject,
                f"Check how the queries were made ({_some(pairs)}).",
            )


def _duplicate_warnings(quality: DataQuality, data: RankingData) -> Iterator[DataWarning]:
    subject, items = data.task.name, len(data.item_ids)
    if not quality.searched and data.task.kind != "evalrank":
        yield DataWarning(
            "near-duplicates-unknown",
            f"Near-duplicates were not looked for among {items} items, more than {MOST_ITEMS}.",
            subject,
            "Look for them with goldrank data check.",
        )
    if quality.groups:
        copies = sum(map(len, quality.groups)) - len(quality.groups)
        yield DataWarning(
            "near-duplicate-items",
            f"{counts(copies, 'item')} of {items} {'is' if copies == 1 else 'are'} a near-duplicate of another one, "
            f"and {counts(len(quality.torn), 'query', 'queries')} of {len(data.query_ids)} "
            f"{'has' if len(quality.torn) == 1 else 'have'} a relevant item with a near-duplicate that is not judged "
            "relevant.",
            subject,
            f"Keep one of each group, or judge all of it ({'; '.join(' = '.join(g[:3]) for g in quality.groups[:3])}).",
        )


def _text_warnings(data: RankingData) -> Iterator[DataWarning]:
    subject = data.task.name
    gold = data.gold.columns
    outside = 0 if data.corpus is None else sum(item not in data.corpus for item in gold.items)
    if outside:
        yield DataWarning(
            "gold-outside-corpus",
            f"{outside} of {counts(len(gold.items), 'gold pair')} {'names' if outside == 1 else 'name'} an item that "
            "is not in the corpus: no model can find it.",
            subject,
            "Check the ids with goldrank data check.",
        )
    unasked = len(data.gold) - len(data.query_ids)
    if unasked:
        yield DataWarning(
            "gold-without-query",
            f"{unasked} of {counts(len(data.gold), 'query', 'queries')} in the gold have no text to ask with.",
            subject,
            "Check the ids with goldrank data check.",
        )
    empty = dict(zip(("item", "query"), data.empty_texts, strict=True))
    sizes = {"item": len(data.item_ids), "query": len(data.query_ids)}
    for noun, plural in (("item", "items"), ("query", "queries")):
        if empty[noun]:
            yield DataWarning(
                f"empty-{plural}",
                f"{empty[noun]} of {counts(sizes[noun], noun, plural)} {'has' if empty[noun] == 1 else 'have'} an "
                "empty text.",
                subject,
                f"Leave {'it' if empty[noun] == 1 else 'them'} out, or check which parts make the text (--text).",
            )


def _some(pairs: Mapping[str, str]) -> str:
    listed = [f"{query} is {item}" for query, item in list(pairs.items())[:3]]
    return ", ".join(listed) + (" …" if len(pairs) > 3 else "")
