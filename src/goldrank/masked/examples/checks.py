"""What is wrong or doubtful about masked chunks, found before any model is asked to fill them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

from goldrank.data.checks import EXAMPLES, Finding, Severity
from goldrank.errors import InputError, shorten
from goldrank.io.files import PathLike
from goldrank.masked.examples.chunks import MASK, Chunk, place_name
from goldrank.masked.examples.files import read_chunks
from goldrank.masked.examples.mentions import bare, find_mentions
from goldrank.masked.names.folding import fold
from goldrank.masked.names.matching import Person
from goldrank.masked.names.tokens import words

# The name of a finding, its gravity and what it says after the number.
_FINDINGS: dict[str, tuple[Severity, str]] = {
    "unreadable lines": ("error", "lines hold no chunk"),
    "mask counts": ("error", "chunks have other masks in the text than in 'masks'"),
    "duplicated keys": ("error", "chunks have the page and sequence number of an earlier one; split the file by type"),
    "titles without letters": ("error", "chunks have a title that names nobody"),
    "several titles": ("error", "chunks have another title than the first one of their page"),
    "leaked surnames": ("warning", "chunks still hold the surname, as a word with a capital outside of the masks"),
    "unmasked mentions": ("warning", "chunks still name the person outside of the masks"),
    "gold outside the title": ("warning", "masks hid what the title's name does not match"),
    "namesakes": ("warning", "pages are about a person with the name of an earlier page's"),
    "adjacent masks": ("warning", "masks follow another one with at most one blank or line break between"),
    "chunks without masks": ("warning", "chunks ask for nothing"),
    "empty texts": ("warning", "chunks hold nothing but masks and white space"),
    "surnames inside words": ("note", "chunks hold the letters of the surname in any case, inside of words too"),
}
_ADJACENT = re.compile(r"\s?")
_QUALIFIER = re.compile(r"\s*\([^)]*\)\s*$")


@dataclass(frozen=True)
class Report:
    """A file of chunks in numbers, and what was found in it, the gravest first."""

    pages: int
    chunks: int
    masks: int
    findings: tuple[Finding, ...]

    def of(self, severity: Severity) -> list[Finding]:
        """The findings of one severity."""
        return [finding for finding in self.findings if finding.severity == severity]

    def count(self, name: str) -> int:
        """How often something was found; the names of findings are known."""
        if name not in _FINDINGS:
            raise KeyError(name)
        return next((finding.count for finding in self.findings if finding.name == name), 0)

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain data."""
        return asdict(self)


def check_file(path: PathLike, *, aliases: Mapping[str, Iterable[str]] | None = None) -> Report:
    """Check a file of chunks; lines that hold none are counted too."""
    survey = _Survey(aliases or {})
    for chunk in read_chunks(path, strict=False, on_fault=survey.add_fault):
        survey.add(chunk)
    return survey.report()


def check_chunks(chunks: Iterable[Chunk], *, aliases: Mapping[str, Iterable[str]] | None = None) -> Report:
    """Go through chunks once and report what they hold; *aliases* are other names by title.

    >>> report = check_chunks([Chunk("7", 0, "Lise Meitner", "<mask> <mask> met Meitner.", ("Lise", "Otto"))])
    >>> [finding.name for finding in report.findings]
    ['leaked surnames', 'unmasked mentions', 'gold outside the title', 'adjacent masks', 'surnames inside words']
    """
    survey = _Survey(aliases or {})
    for chunk in chunks:
        survey.add(chunk)
    return survey.report()


@dataclass
class _Survey:
    """What one pass over chunks keeps of them: keys, titles, counts and the first examples."""

    aliases: Mapping[str, Iterable[str]]
    chunks: int = 0
    masks: int = 0
    keys: set[tuple[str, int]] = field(default_factory=set)
    titles: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def note(self, name: str, example: str) -> None:
        """Count one finding."""
        self.counts[name] = self.counts.get(name, 0) + 1
        shown = self.examples.setdefault(name, [])
        if len(shown) < EXAMPLES:
            shown.append(example)

    def add_fault(self, fault: InputError) -> None:
        """Count a line that holds no chunk."""
        self.note("unreadable lines", str(fault))

    def add(self, chunk: Chunk) -> None:
        """Take in one chunk."""
        self.chunks += 1
        self.masks += len(chunk.masks)
        self._check_form(chunk)
        self._check_page(chunk)
        if any(map(str.isalpha, chunk.title)):
            self._check_names(chunk)
        else:
            self.note("titles without letters", f"{_place(chunk)}: {shorten(chunk.title)}")

    def _check_form(self, chunk: Chunk) -> None:
        found = chunk.text.count(MASK)
        if found != len(chunk.masks):
            self.note("mask counts", f"{_place(chunk)}: {found} in the text, {len(chunk.masks)} in 'masks'")
        if not found and not chunk.masks:
            self.note("chunks without masks", _place(chunk))
        if not "".join(chunk.pieces).strip():
            self.note("empty texts", _place(chunk))
        for number, piece in enumerate(chunk.pieces[1:-1], 1):
            if _ADJACENT.fullmatch(piece):
                self.note("adjacent masks", f"{_place(chunk)}, mask {number}")

    def _check_page(self, chunk: Chunk) -> None:
        key = chunk.page, chunk.sequence
        if key in self.keys:
            self.note("duplicated keys", _place(chunk))
        self.keys.add(key)
        first = self.titles.setdefault(chunk.page, chunk.title)
        if first != chunk.title:
            self.note("several titles", f"{_place(chunk)}: {shorten(chunk.title)} after {shorten(first)}")

    def _check_names(self, chunk: Chunk) -> None:
        names = (*self.aliases.get(chunk.title, ()), *_own_names(chunk))
        person = _person(chunk.title, names)
        for number, hidden in enumerate(chunk.masks):
            listed = bool(chunk.answers) and bool(chunk.answers[number])
            if not listed and person.match(hidden) is None:
                self.note(
                    "gold outside the title", f"{_place(chunk, number)}: {shorten(hidden)}, {shorten(chunk.title)}"
                )
        if surname := leaked_surname(chunk.text, person):
            self.note("leaked surnames", f"{_place(chunk)}: {shorten(surname)}")
        if spans := find_mentions(chunk.text, chunk.title, names):
            self.note("unmasked mentions", f"{_place(chunk)}: {shorten(chunk.text[slice(*spans[0])])}")
        if last_word(chunk.title).lower() in "\n".join(chunk.pieces).lower():
            self.note("surnames inside words", f"{_place(chunk)}: {shorten(last_word(chunk.title))}")

    def _find_namesakes(self) -> None:
        first: dict[str, str] = {}
        for page, title in self.titles.items():
            if any(map(str.isalpha, title)):
                earlier = first.setdefault(bare(_person(title, ()).display), page)
                if earlier != page:
                    self.note("namesakes", f"{place_name(page)}: {shorten(title)}, {shorten(self.titles[earlier])}")

    def report(self) -> Report:
        """What was found."""
        self._find_namesakes()
        findings = [
            Finding(severity, name, self.counts[name], f"{self.counts[name]} {sentence}", tuple(self.examples[name]))
            for name, (severity, sentence) in _FINDINGS.items()
            if name in self.counts
        ]
        return Report(len(self.titles), self.chunks, self.masks, tuple(findings))


@lru_cache(maxsize=1024)
def _person(title: str, names: tuple[str, ...]) -> Person:
    return Person(title, names)


def _own_names(chunk: Chunk) -> list[str]:
    """The other names that were masked as well, which `making` keeps with a chunk."""
    names = chunk.extra.get("names")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _place(chunk: Chunk, mask: int | None = None) -> str:
    return place_name(chunk.page, chunk.sequence, mask)


def leaked_surname(text: str, person: Person) -> str | None:
    """The surname where a masked text still has it: in whole words with a capital, accents aside, of whomever.

    Another bearer of the surname gives it away as well, so this counts more than mentions of the person.

    >>> leaked_surname("<mask> and Wilhelm von Humboldt", Person("Alexander von Humboldt"))
    'Humboldt'
    """
    sought = {fold(name) for name in person.surname.split()}
    for word in words(text):
        if not word.text.islower() and any(fold(form) in sought for form in (word.text, *word.parts)):
            return word.text
    return None


def last_word(title: str) -> str:
    """The last word of a title before a comma, without what stands in parentheses: a surname, as it was counted first.

    >>> last_word("Thomas Howard, 1st Earl of Suffolk"), last_word("Thomas Young (scientist)")
    ('Howard', 'Young')
    """
    return (_QUALIFIER.sub("", title).partition(",")[0].split() or title.split())[-1]
