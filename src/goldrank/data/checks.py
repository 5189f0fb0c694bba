"""Check a collection for errors and doubtful data before any model is run."""

from __future__ import annotations

import hashlib
import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from goldrank.data.article_statistics import ArticleStatistics, describe, published_counts
from goldrank.data.collections.collection import Collection, Document, Documents
from goldrank.data.leaks import RelevantPair, find_leaks
from goldrank.data.near_duplicates import fold, group_near_duplicates
from goldrank.data.titles import match_titles, repair_encoding
from goldrank.errors import counts, shorten
from goldrank.io.columns import Columns

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
EXAMPLES = 5
SHOWN = 3
"""The number of judged items of the first query that are shown."""
QUANTILES = {"least": 0.0, "5%": 5.0, "25%": 25.0, "median": 50.0, "75%": 75.0, "95%": 95.0, "most": 100.0}

# Control characters other than tabs and line breaks.
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")
_REPLACED = "\ufffd"
# Each form removes one more difference in spelling than the form before it.
_FORMS: dict[str, Callable[[str], str]] = {
    "HTML entities": html.unescape,
    "Unicode forms": lambda text: unicodedata.normalize("NFC", html.unescape(text)),
    "UTF-8 read as Windows-1252": lambda text: repair_encoding(unicodedata.normalize("NFC", html.unescape(text))),
    "case": lambda text: repair_encoding(unicodedata.normalize("NFC", html.unescape(text))).casefold(),
}


@dataclass(frozen=True)
class Finding:
    """A property of a collection: its severity, how often it occurs, a sentence, and up to five examples."""

    severity: Severity
    name: str
    count: int
    sentence: str
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class JudgedItem:
    """A judged item with its grade and its text, which is None if it is not in the corpus."""

    id: str
    grade: float
    text: str | None


@dataclass(frozen=True)
class FirstQuery:
    """The first query of the gold as it was read, with the first of its judged items, relevant ones first."""

    id: str
    text: str | None
    items: tuple[JudgedItem, ...]
    judged: int
    """How many judged items it has."""


@dataclass(frozen=True, kw_only=True)
class CollectionReport:
    """The counts of a collection, and the findings of its check."""

    name: str
    source: str
    format: str
    split: str = "test"
    splits: tuple[str, ...] = ("test",)
    related: bool = True
    checksum: str = ""
    items: int = 0
    queries: int = 0
    judged_queries: int
    judged_pairs: int
    relevant_pairs: int
    words: dict[str, dict[str, int]] = field(default_factory=dict)
    """Words of a text, by quantile, for items and for queries."""
    statistics: ArticleStatistics | None = None
    """For articles with lists of similar ones: the statistics that papers on such data print."""
    published: tuple[str, ...] = ()
    """Counts that papers print for the same gold, and why they differ."""
    findings: tuple[Finding, ...] = ()
    readings: tuple[str, ...] = ()
    """What the columns of each table were read as."""
    first_query: FirstQuery | None = None

    def of(self, severity: Severity) -> list[Finding]:
        """Return the findings of one severity."""
        return [finding for finding in self.findings if finding.severity == severity]

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return asdict(self)


def check(collection: Collection) -> CollectionReport:
    """Check a collection and report what it holds.

    An *error* leaves nothing to evaluate, a *warning* is probably unintended, a *note* is good to know.

    >>> from goldrank.io.mappings import from_pairs
    >>> texts = Documents([Document.plain("a", "one"), Document.plain("b", " ")], "example")
    >>> gold = from_pairs([("a", {"b": 1, "c": 1})], "gold", "example", integers=False)
    >>> report = check(Collection("example", texts, texts, gold))
    >>> [(finding.severity, finding.name) for finding in report.findings]
    [('warning', 'gold outside the corpus'), ('warning', 'empty items'), ('note', 'queries without gold')]
    """
    if not collection.has_corpus:
        return _check_judgements(collection)
    items = _DocumentSurvey.of(collection.items)
    queries = items if collection.related else _DocumentSurvey.of(collection.queries)
    gold = collection.gold
    of_articles = collection.related and collection.format not in ("evalrank", "classes")
    findings = [
        *_about_gold(gold, items, queries, related=collection.related),
        *(_about_all_texts(collection, items, queries) if collection.has_texts else ()),
        *(Finding("note", "remark of the reader", 1, _sentence(remark)) for remark in collection.remarks),
    ]
    return _report(
        gold,
        findings,
        **_origin(collection),
        split=collection.split,
        splits=collection.splits,
        related=collection.related,
        items=len(items.ids),
        queries=len(queries.ids),
        words=_words(collection, items, queries),
        statistics=describe(gold, collection) if of_articles else None,
        published=published_counts(gold) if of_articles else (),
    )


def _about_all_texts(collection: Collection, items: _DocumentSurvey, queries: _DocumentSurvey) -> Iterator[Finding]:
    """Yield the findings on the texts of items and queries."""
    yield from _about_texts(items, "item")
    if not collection.related:
        yield from _about_texts(queries, "query")
        yield from _about_queries_among_items(items, queries)
    if collection.format != "classes":
        yield from _about_leaks(collection)
    yield from _about_near_duplicates(collection, items)
    yield from _about_spelling(items, "item")
    if not collection.related:
        yield from _about_spelling(queries, "query")


def _words(collection: Collection, items: _DocumentSurvey, queries: _DocumentSurvey) -> dict[str, dict[str, int]]:
    if not collection.has_texts:
        return {}
    return {"items": items.quantiles()} | ({} if collection.related else {"queries": queries.quantiles()})


def _check_judgements(collection: Collection) -> CollectionReport:
    """Check gold without texts: what is judged is all that is known of queries and items."""
    gold = collection.gold
    queries, items = (
        _DocumentSurvey(ids=dict.fromkeys(ids), titles={name: name for name in ids})
        for ids in (gold.queries, gold.items)
    )
    findings = [
        *_about_gold(gold, items, queries, related=False),
        *_about_spelling(items, "item"),
        *_about_spelling(queries, "query"),
    ]
    return _report(gold, findings, **_origin(collection), related=False, queries=len(gold.queries))


def _report(gold: Columns, findings: Iterable[Finding], **fields: Any) -> CollectionReport:
    """Return a report with the counts of the gold, and the findings that occur, the gravest first."""
    occurring = (finding for finding in findings if finding.count)
    return CollectionReport(
        judged_queries=len(gold.queries),
        judged_pairs=len(gold.items),
        relevant_pairs=int((gold.values > 0).sum()),
        findings=tuple(sorted(occurring, key=lambda finding: SEVERITIES.index(finding.severity))),
        **fields,
    )


def _origin(collection: Collection) -> dict[str, Any]:
    """Return the fields of a report that say what the collection is."""
    names = ("name", "source", "format", "checksum", "readings")
    return {name: getattr(collection, name) for name in names} | {"first_query": _first_query(collection)}


def _first_query(collection: Collection) -> FirstQuery | None:
    """Return the first query of the gold that has a relevant item, with texts."""
    gold = collection.gold
    by_query = ((query, rows) for query, rows in gold.rows_by_query() if (gold.values[rows] > 0).any())
    query, rows = next(by_query, ("", None))
    if rows is None:
        return None
    judged = list(zip(gold.items[rows], gold.values[rows].tolist(), strict=True))
    shown = sorted(judged, key=lambda entry: -entry[1])[:SHOWN]
    if not collection.has_texts:
        return FirstQuery(query, "", tuple(JudgedItem(item, grade, "") for item, grade in shown), len(judged))
    texts = _texts_of(collection.items, {item for item, _ in shown} | ({query} if collection.related else set()))
    query_texts = texts if collection.related else _texts_of(collection.queries, {query})
    items = tuple(JudgedItem(item, grade, texts.get(item)) for item, grade in shown)
    return FirstQuery(query, query_texts.get(query), items, len(judged))


def _texts_of(documents: Documents, wanted: Set[str]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for document in documents:
        if document.id in wanted:
            texts[document.id] = " ".join(content_of(document).split())
            if len(texts) == len(wanted):
                break
    return texts


def check_gold(gold: Columns) -> CollectionReport:
    """Check lists of similar articles without the articles: titles, each with the titles of similar articles."""
    titles = dict.fromkeys([*gold.queries, *gold.items])
    own = [query for query, item, _ in gold.rows() if query == item]
    findings = [
        _finding("warning", "self gold", own, "{n} whose list holds the source itself", noun="source"),
        _finding(
            "warning",
            "wrongly decoded titles",
            [(title, repaired) for title in titles if (repaired := repair_encoding(title)) != title],
            "{n} whose UTF-8 was read as Windows-1252: an article is found by the repaired title only",
            noun="title",
        ),
        _finding(
            "note",
            "titles with HTML entities",
            [title for title in titles if html.unescape(title) != title],
            "{n} with HTML entities, which not every copy of the articles has",
            noun="title",
        ),
        *_about_spelling(_DocumentSurvey(titles={title: title for title in titles}), "gold"),
    ]
    return _report(
        gold,
        findings,
        name=gold.source,
        source=gold.source,
        format="gold alone",
        statistics=describe(gold),
        published=published_counts(gold),
    )


def content_of(document: Document) -> str:
    """Return title, headings and texts of a document, joined by blanks."""
    return " ".join([document.title, *(part for section in document.sections for part in section)])


@dataclass
class _DocumentSurvey:
    """The ids, texts and titles that one pass over documents collects."""

    ids: dict[str, None] = field(default_factory=dict)
    repeated: list[str] = field(default_factory=list)
    titles: dict[str, str] = field(default_factory=dict)
    """The first document of each title."""
    bodies: dict[bytes, str] = field(default_factory=dict)
    """The first document of each text, by its digest, without title, headings, case and punctuation."""
    contents: dict[bytes, str] = field(default_factory=dict)
    same: list[tuple[str, str]] = field(default_factory=list)
    """Documents, each with an earlier one that has the same content."""
    same_title: list[tuple[str, str]] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    control: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, documents: Documents) -> _DocumentSurvey:
        """Survey all documents."""
        survey = cls()
        for document in documents:
            survey.add(document)
        return survey

    def add(self, document: Document) -> None:
        """Survey one more document."""
        if document.id in self.ids:
            self.repeated.append(document.id)
        self.ids[document.id] = None
        content = content_of(document)
        words = content.split()
        self.lengths.append(len(words))
        if document.title and self.titles.setdefault(document.title, document.id) != document.id:
            self.same_title.append((document.id, self.titles[document.title]))
        if not words:
            self.empty.append(document.id)
        else:
            first = self.contents.setdefault(_digest(words), document.id)
            if first != document.id:
                self.same.append((document.id, first))
            self.bodies.setdefault(_digest(fold(document.text).split() or fold(content).split() or words), document.id)
        if _CONTROL.search(content):
            self.control.append(document.id)
        if _REPLACED in content:
            self.replaced.append(document.id)

    def quantiles(self) -> dict[str, int]:
        """Return quantiles of the lengths of the texts, in words."""
        if not self.lengths:
            return {}
        values = np.percentile(self.lengths, list(QUANTILES.values()), method="nearest")
        return dict(zip(QUANTILES, map(int, values.tolist()), strict=True))


def _digest(words: Sequence[str]) -> bytes:
    return hashlib.blake2b(" ".join(words).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _about_gold(gold: Columns, items: _DocumentSurvey, queries: _DocumentSurvey, *, related: bool) -> Iterator[Finding]:
    judged, rows = dict.fromkeys(gold.queries), list(gold.rows())
    unknown = [query for query in judged if query not in queries.ids]
    outside = [(item, query) for query, item, _ in rows if item not in items.ids]
    lost = list(dict.fromkeys(item for item, _ in outside))
    relevant = {query for query, _, grade in rows if grade > 0}
    yield _finding(
        "error", "nothing relevant", [] if relevant else list(judged) or ["no query"], "{n} judged and no pair relevant"
    )
    all_unknown, all_outside = len(unknown) == len(judged), len(outside) == len(rows)
    yield _finding(
        "error" if all_unknown else "warning",
        "gold without a query",
        unknown,
        "{n} of the gold without a text to ask with",
    )
    yield _finding(
        "error" if all_outside else "warning",
        "gold outside the corpus",
        outside,
        "{n} whose item is not in the corpus: no model can find it",
        noun="gold pair",
        joint="for",
    )
    for what, wanted, there in (("items", lost, items.ids), ("queries", unknown, queries.ids)):
        yield from _misspelt(what, wanted, there)
    # Queries and items may both be numbered from 1: an equal id means the same document only if the texts are equal.
    same = queries.ids if related else {i for text, i in queries.bodies.items() if items.bodies.get(text) == i}
    own = [query for query, item, _ in rows if query == item and query in same]
    yield _finding(
        "warning",
        "self gold",
        own,
        "{n} whose gold holds the query itself: excluded or a sure hit, as the profile says",
    )
    without_relevant = [query for query in judged if query not in relevant] if relevant else []
    yield _finding("note", "queries with nothing relevant", without_relevant, "{n} judged, but with nothing relevant")
    yield _finding(
        "note",
        "queries without gold",
        [query for query in queries.ids if query not in judged],
        "{n} without gold: not scored",
    )
    negative = [(item, query) for query, item, grade in rows if grade < 0]
    yield _finding(
        "note", "negative grades", negative, "{n} with a grade below 0: not relevant", noun="gold pair", joint="for"
    )


def _misspelt(what: str, wanted: Sequence[str], there: Iterable[str]) -> Iterator[Finding]:
    """Yield findings on gold that would match if both sides were spelt alike."""
    matches, _ = match_titles(wanted, there) if wanted else ({}, [])
    by_reason: dict[str, list[tuple[str, str]]] = {}
    for title, spelling in matches.items():
        reason = next((name for name, form in _FORMS.items() if form(title) == form(spelling)), "white space")
        by_reason.setdefault(reason, []).append((title, spelling))
    for reason, examples in by_reason.items():
        yield _finding(
            "warning",
            f"gold {what} spelt otherwise ({reason})",
            examples,
            f"{{n}} of the gold not among the {what} only because of {reason}",
            noun="id",
        )


def _about_texts(survey: _DocumentSurvey, noun: str) -> Iterator[Finding]:
    plural = _plural(noun)
    yield _finding("error", f"repeated ids of {plural}", survey.repeated, "{n} given more than once", noun=f"{noun} id")
    yield _finding("warning", f"empty {plural}", survey.empty, "{n} without any text", noun=noun)
    yield _finding(
        "warning" if noun == "item" else "note",
        f"identical {plural}",
        survey.same,
        "{n} with the very text of another one" + (": a model can only tie them" if noun == "item" else ""),
        noun=noun,
    )
    yield _finding(
        "note",
        f"{plural} of one title",
        survey.same_title,
        "{n} with the title of another one",
        noun=noun,
        joint="and",
    )
    yield _finding(
        "warning", f"control characters in {plural}", survey.control, "{n} with control characters", noun=noun
    )
    yield _finding(
        "warning",
        f"replacement characters in {plural}",
        survey.replaced,
        "{n} with U+FFFD, which stands for what was lost in a wrong decoding",
        noun=noun,
    )


def _about_queries_among_items(items: _DocumentSurvey, queries: _DocumentSurvey) -> Iterator[Finding]:
    equal = [(query, items.bodies[digest]) for digest, query in queries.bodies.items() if digest in items.bodies]
    yield _finding(
        "note", "queries that are items", equal, "{n} whose text is that of an item, but for case and punctuation"
    )


_LEAKS = {
    "query-is-its-answer": ("queries that are their answer", "whose text is that of a relevant item, or nearly"),
    "query-is-a-title": ("queries that are a title", "whose text is the title of a relevant item"),
    "query-inside-its-answer": ("queries inside their answer", "that a relevant item holds word for word"),
    "answer-inside-query": ("answers inside their query", "that hold the whole text of a relevant item"),
}


def _about_leaks(collection: Collection) -> Iterator[Finding]:
    """Yield findings on queries that can be answered by comparing texts."""
    if collection.format == "evalrank":
        # Its positive pairs are paraphrases by construction.
        return
    leaks = find_leaks(_relevant_pairs(collection))
    for code, leaking in leaks.by_code().items():
        name, sentence = _LEAKS[code]
        cases = list(leaking.items())
        yield _finding("warning", name, cases, f"{{n}} {sentence}: comparing texts finds it", joint="by")


def _relevant_pairs(collection: Collection) -> Iterator[RelevantPair]:
    relevant = [(query, item) for query, item, grade in collection.gold.rows() if grade > 0 and query != item]
    item_ids, query_ids = {item for _, item in relevant}, {query for query, _ in relevant}
    items = {document.id: document for document in collection.items if document.id in item_ids}
    queries = {document.id: content_of(document) for document in collection.queries if document.id in query_ids}
    for query, item in relevant:
        if query in queries and item in items:
            document = items[item]
            parts = ("", "") if collection.related else (document.title, document.text)
            yield RelevantPair(query, item, queries[query], content_of(document), *parts)


def _about_near_duplicates(collection: Collection, items: _DocumentSurvey) -> Iterator[Finding]:
    """Yield findings on near-duplicate items, and on queries for which only some of them are relevant."""
    if collection.format == "evalrank":
        return
    ids = [document.id for document in collection.items]
    groups = group_near_duplicates(lambda: map(content_of, collection.items))
    exact_copies = {copy for copy, _ in items.same}
    near = [(ids[place], ids[group[0]]) for group in groups for place in group[1:] if ids[place] not in exact_copies]
    yield _finding(
        "warning",
        "near-duplicate items",
        near,
        "{n} with at least half of their three-word sequences in common with another one",
        noun="item",
        joint="is nearly",
    )
    group_of = {ids[place]: group for group in groups for place in group}
    relevant: dict[str, set[str]] = {}
    for query, item, grade in collection.gold.rows():
        if grade > 0:
            relevant.setdefault(query, set()).add(item)
    inconsistent = [
        query
        for query, right in relevant.items()
        if any(ids[place] not in right | {query} for item in right for place in group_of.get(item, ()))
    ]
    yield _finding(
        "warning",
        "gold with duplicates that are not gold",
        inconsistent,
        "{n} with a relevant item whose copy or near-duplicate is not judged relevant: the copy may stand above it",
    )


def _about_spelling(survey: _DocumentSurvey, noun: str) -> Iterator[Finding]:
    """Yield findings on ids and titles that differ only in spelling."""
    for what, names in (("ids", survey.ids), ("titles", survey.titles)):
        for reason, pairs in _alike(names).items():
            yield _finding(
                "note" if reason == "case" else "warning",
                f"{what} of {_plural(noun)} alike but for {reason}",
                pairs,
                f"{{n}} that differ from another one only in {reason}",
                noun=f"{noun} {what[:-1]}",
                joint="and",
            )


def _alike(names: Mapping[str, object]) -> dict[str, list[tuple[str, str]]]:
    """Return, for each kind of difference, the names that differ from another one only in it, with that other one."""
    pairs: dict[str, list[tuple[str, str]]] = {}
    paired: set[str] = set()
    for reason, form in _FORMS.items():
        first: dict[str, str] = {}
        for name in names:
            other = first.setdefault(form(name), name)
            if other != name and name not in paired:
                paired.add(name)
                pairs.setdefault(reason, []).append((name, other))
    return pairs


def _finding(
    severity: Severity,
    name: str,
    cases: Sequence[str | tuple[str, str]],
    sentence: str,
    *,
    noun: str = "query",
    joint: str = "is",
) -> Finding:
    """Return a finding; *joint* stands between the two names of a case that is a pair."""
    examples = ((case,) if isinstance(case, str) else case for case in cases[:EXAMPLES])
    shown = tuple(f" {joint} ".join(map(shorten, names)) for names in examples)
    number = counts(len(cases), noun, _plural(noun))
    return Finding(severity, name, len(cases), sentence.format(n=number) + ".", shown)


def _sentence(remark: str) -> str:
    return remark[:1].upper() + remark[1:] + ("" if remark.endswith((".", "!", "?")) else ".")


def _plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
