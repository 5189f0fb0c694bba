"""Read Wikipedia articles as published with SDR: a CSV of Title,Sections with expert gold beside it."""

from __future__ import annotations

import ast
import html
import re
import warnings
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from pathlib import Path

from goldrank.data.collections.collection import Collection, Document, Documents, Section
from goldrank.data.collections.splits import choose_split, files_in, stem_and_suffix
from goldrank.data.collections.streams import head
from goldrank.data.titles import match_titles
from goldrank.errors import InputError, counts, shorten
from goldrank.io.column_names import describe_table, first_of, listing, normal
from goldrank.io.columns import Columns
from goldrank.io.files import PathLike, display_name, read_bytes
from goldrank.io.formats.delimited import split_rows
from goldrank.io.formats.json_files import decode, refuse_surrogates
from goldrank.io.formats.pickles import read_restricted
from goldrank.io.mappings import from_pairs

# In SDR the articles are called raw_data and the gold gt, in one folder per data set.
_ARTICLES = (".csv", ".txt", "")
_PICKLES = (".pkl", ".pickle")
_GOLD_NAME = re.compile(r"(?P<articles>.*?)[_\-. ]*(?:gold|ground_?truth|(?<![a-z0-9])gt(?![a-z0-9]))")


def matches(path: Path) -> bool:
    """Return True if the path is a table of Title,Sections, or a folder that holds one."""
    return any(_is_table(file) for file in (files_in(path) if path.is_dir() else [path]))


def read(path: PathLike, split: str | None = None) -> Collection:
    """Read the articles, each of which is an item and a query, and the gold beside them.

    The id of an article is its title without HTML entities (``Ratchet & Clank``, not ``Ratchet &amp; Clank``); gold
    titles are matched to it in any spelling. Gold titles without an article stay in the gold, outside the corpus.
    """
    articles = _articles_file(Path(path))
    name, gold_file = _name(articles), _gold_file(articles)
    remarks: list[str] = []
    readings: list[str] = []
    documents, titles = _documents(articles, remarks, readings)
    gold = _matched(read_gold(gold_file), [document.id for document in documents], titles, remarks)
    return Collection(
        name=name,
        items=(items := Documents(documents, str(articles))),
        queries=items,
        gold=gold,
        split=choose_split(split, ["test"], str(path)),
        source=str(path),
        format="wiki",
        remarks=remarks,
        readings=tuple(readings),
    )


def find_gold_alone(path: Path) -> Path | None:
    """Return the gold of a folder without articles, or a file of gold itself; None if there are articles."""
    with suppress(OSError, ValueError):  # a text that cannot be a path
        if path.is_dir():
            files = files_in(path)
            named = [file for file in files if _named_gold(file) is not None]
            return named[0] if len(named) == 1 and not any(map(_is_table, files)) else None
        if _named_gold(path) is not None and path.is_file() and not _is_table(path):
            return path
    return None


def _is_table(file: Path) -> bool:
    if stem_and_suffix(file)[1] not in _ARTICLES:
        return False
    first = head(file, 64).removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0].decode("utf-8", "replace")
    return [normal(cell.strip('"\r ')) for cell in first.split(",")[:2]] == ["title", "sections"]


def _named_gold(file: Path) -> str | None:
    """Return the articles that the name of a gold file mentions, or ""; None for a file that is not gold."""
    stem, suffix = stem_and_suffix(file)
    named = _GOLD_NAME.match(stem.lower()) if suffix in (".json", *_PICKLES, "") else None
    return named["articles"] if named else None


def _name(articles: Path) -> str:
    stem = stem_and_suffix(articles)[0]
    return articles.resolve().parent.name if stem == "raw_data" else stem


def _articles_file(path: Path) -> Path:
    if find_gold_alone(path) is not None:
        folder = path if path.is_dir() else path.parent
        raise InputError(
            "this is gold without its articles",
            where=str(path),
            remedy=f"put the table of Title,Sections beside it, as {folder / 'raw_data'} (Zenodo records 4812960 for "
            "wines, 4812962 for video games), or only check the gold: goldrank data check",
        )
    if not path.is_dir():
        return path
    tables = [file for file in files_in(path) if _is_table(file)]
    if len(tables) != 1:
        listed = listing([file.name for file in tables]) if tables else "none"
        raise InputError(
            f"the folder should hold one table of Title,Sections (found: {listed})",
            where=str(path),
            remedy="name the file of the articles",
        )
    return tables[0]


def _gold_file(articles: Path) -> Path:
    """Return the gold beside the articles: the file named after them, else after their folder, else the only one."""
    stem = _name(articles).lower()
    beside, below = (
        [(file, part) for file in files_in(folder) if file != articles and (part := _named_gold(file)) is not None]
        for folder in (articles.parent, articles.parent / stem_and_suffix(articles)[0])
    )
    for named_so in (
        [file for file, part in beside if part == stem],
        # The gold of video_games.txt is games_gold.json.
        [file for file, part in beside if part and part in stem],
        [file for file, _ in below],
        [file for file, _ in beside if stem_and_suffix(file)[0].lower() in ("gold", "gt")],
        [file for file, _ in beside],
    ):
        # JSON is preferred if the same gold exists as a pickle.
        chosen = [file for file in named_so if stem_and_suffix(file)[1] == ".json"] or named_so
        if len(chosen) == 1:
            return chosen[0]
        if chosen:
            raise InputError(
                f"several files could be the gold: {listing([file.name for file in chosen])}",
                where=str(articles.parent),
                remedy=f"call the right one {stem}_gold.json",
            )
    raise InputError(
        "there is no gold beside the articles",
        where=str(articles),
        remedy=f"put {stem}_gold, gold, {stem}_gt, gt, {stem}_ground_truth or {stem}/gt there, each as .json "
        '({"article": {"similar article": 1}}), as a pickle (.pkl, .pickle) or, as SDR has it, without a suffix',
    )


def _documents(path: Path, remarks: list[str], readings: list[str]) -> tuple[list[Document], set[str]]:
    """Return the articles, and their titles as they are in the file; add how the columns were read to *readings*."""
    name = display_name(path)
    articles: dict[str, Document] = {}
    titles: set[str] = set()
    escaped = repeated = 0
    for where, title, sections in _rows(read_bytes(path), name, readings):
        plain = html.unescape(title)
        if not plain.strip():
            raise InputError("the article has no title", where=where, remedy="give it one: it is the article's id")
        titles.add(title)
        escaped += plain != title
        repeated += plain in articles
        articles.setdefault(plain, Document(plain, plain, _sections(sections, where)))
    if not articles:
        raise InputError("the file holds no articles", where=name, remedy="check that it was written completely")
    if escaped:
        remarks.append(f"{counts(escaped, 'title')} written with HTML entities: the ids are without them.")
    if repeated:
        remarks.append(f"{counts(repeated, 'article')} under a title that was there already: the first one is kept.")
    return list(articles.values()), titles


def _rows(data: bytes, name: str, readings: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield place, title and sections of each article."""
    rows = split_rows(data, name, "csv", skip_blanks=False)
    _, header = next(rows, (1, []))
    title_at, sections_at = (first_of(header, [column]) for column in ("title", "sections"))
    if title_at is None or sections_at is None:
        raise InputError(
            f"the table has no Title and Sections (columns: {listing(header)})",
            where=f"{name}:1",
            remedy="start the file with the line Title,Sections",
        )
    readings.append(describe_table(name, header, {"title": title_at, "sections": sections_at}))
    for line, row in rows:
        yield f"{name}:{line}", row[title_at], row[sections_at]


def _sections(cell: str, where: str) -> tuple[Section, ...]:
    """Return the sections in a cell, which is a Python list literal."""
    try:
        with warnings.catch_warnings():
            # Articles contain invalid escape sequences, of which Python warns.
            warnings.simplefilter("ignore")
            # literal_eval evaluates constants and containers only.
            content = ast.literal_eval(cell.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
        raise InputError(
            f"the sections are not a Python list ({reason.partition(chr(10))[0][:80]})", where=where, remedy=_SHAPE
        ) from None
    refuse_surrogates(content, cell, where)
    if not isinstance(content, (list, tuple)):
        raise InputError(f"the sections are {shorten(content)}, not a list", where=where, remedy=_SHAPE)
    for number, entry in enumerate(content, 1):
        if not (isinstance(entry, (list, tuple)) and len(entry) == 2 and all(isinstance(part, str) for part in entry)):
            raise InputError(
                f"section {number} is {shorten(entry)}, not a heading and a text", where=where, remedy=_SHAPE
            )
    return tuple((heading, text) for heading, text in content)


_SHAPE = 'write [["", "lead"], ["Heading.", "text"]]'


def read_gold(path: Path) -> Columns:
    """Read lists of similar articles from JSON or, without executing anything, from the pickle of SDR."""
    name = display_name(path)
    suffix = stem_and_suffix(path)[1]
    if suffix in _PICKLES or (not suffix and head(path, 64).lstrip()[:1] not in (b"{", b"[")):
        content = read_restricted(path)
    else:
        content = decode(read_bytes(path).decode(), name, first_line=1)
    if not isinstance(content, Mapping) or not content:
        raise InputError(
            f"the gold is {shorten(content)}, not articles with those like them",
            where=name,
            remedy='write {"article": {"similar article": 1}}',
        )
    return from_pairs(content.items(), "gold", name, integers=False)


def _matched(gold: Columns, ids: list[str], titles: Set[str], remarks: list[str]) -> Columns:
    """Return the gold in the spelling of the articles."""
    matches, missing = match_titles([*gold.queries, *gold.items], ids)
    outside = set(missing)
    merged: dict[str, dict[str, float]] = {}
    repeated = own = joined_sources = joined_pairs = 0
    for query, rows in gold.rows_by_query():
        source = matches.get(query) or html.unescape(query)
        grades = merged.setdefault(source, {})
        joined_sources += query in titles
        for title, grade in zip(gold.items[rows], gold.values[rows].tolist(), strict=True):
            item = matches.get(title) or html.unescape(title)
            repeated += item in grades
            own += item == source
            joined_pairs += query in titles and title in titles
            grades[item] = max(grade, grades.get(item, grade))
    respelt = sum(title != spelling for title, spelling in matches.items())
    sources, pairs = len(outside & set(gold.queries)), sum(item in outside for item in gold.items)
    for number, noun, what in (
        (
            respelt,
            "gold title",
            "spelt otherwise than the article (entities, encoding, Unicode form or case): matched.",
        ),
        (repeated, "pair", "listed twice in two spellings: the higher grade is kept."),
        (sources, "source", "of the gold without an article: kept, but they cannot be queries."),
        (pairs, "gold pair", "whose similar article is not among the articles: kept, as gold outside the corpus."),
        (own, "source", "listed as similar to itself: kept, and treated as the profile says."),
    ):
        if number:
            remarks.append(f"{counts(number, noun)} {what}")
    if (joined_sources, joined_pairs) != (len(gold.queries), len(gold.items)):
        remarks.append(
            f"joined by the very same spelling of titles, as transformer_document_embedding does, {joined_sources} of "
            f"{len(gold.queries)} sources and {joined_pairs} of {len(gold.items)} pairs would be left."
        )
    return from_pairs(merged.items(), "gold", gold.source, integers=False)
