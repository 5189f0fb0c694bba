"""Check masked examples for errors, leaks and inconsistencies before a model is evaluated on them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from goldrank.data.checks import EXAMPLES, Finding, Severity
from goldrank.errors import InputError, shorten
from goldrank.io.column_names import FieldRoles
from goldrank.io.files import PathLike
from goldrank.masked.examples.chunks import MASK, Chunk, describe_place
from goldrank.masked.examples.files import read_chunks
from goldrank.masked.examples.mentions import bare, find_mentions
from goldrank.masked.names.folding import fold
from goldrank.masked.names.matching import Person
from goldrank.masked.names.tokens import words

# The severity of each finding, and its sentence after the count.
_FINDINGS: dict[str, tuple[Severity, str]] = {
    "unreadable lines": ("error", "lines are not a chunk"),
    "mask counts": ("error", "chunks have more or fewer masks in the text than in 'masks'"),
    "duplicated keys": ("error", "chunks have the page and sequence number of an earlier one; split the file by type"),
    "titles without letters": ("error", "chunks have a title that names nobody"),
    "several titles": ("error", "chunks have another title than the first one of their page"),
    "leaked surnames": ("warning", "chunks still contain the surname, as a capitalised word outside the masks"),
    "unmasked mentions": ("warning", "chunks still name the person outside the masks"),
    "gold outside the title": ("warning", "masks hide text that does not match the title"),
    "namesakes": ("warning", "pages are about a person with the same name as that of an earlier page"),
    "adjacent masks": ("warning", "masks follow another mask after at most one blank or line break"),
    "chunks without masks": ("warning", "chunks have no mask"),
    "empty texts": ("warning", "chunks consist of masks and white space only"),
    "surnames inside words": ("note", "chunks contain the letters of the surname in any case, even inside words"),
}
_ADJACENT = re.compile(r"\s?")
_QUALIFIER = re.compile(r"\s*\([^)]*\)\s*$")


@dataclass(frozen=True)
class ExampleReport:
    """The size of a set of chunks and the findings in it, errors first."""

    pages: int
    chunks: int
    masks: int
    findings: tuple[Finding, ...]
    reading: str = ""
    """What the fields of the file were read as."""

    def of(self, severity: Severity) -> list[Finding]:
        """Return the findings of one severity."""
        return [finding for finding in self.findings if finding.severity == severity]


def check_file(path: PathLike, *, aliases: Mapping[str, Iterable[str]] | None = None) -> ExampleReport:
    """Check a file of chunks; unreadable lines are counted too."""
    survey, fields = _ExampleSurvey(aliases or {}), FieldRoles()

    def note(fault: InputError) -> None:
        survey.note("unreadable lines", str(fault))

    for chunk in read_chunks(path, strict=False, on_fault=note, fields=fields):
        survey.add(chunk)
    return replace(survey.report(), reading=fields.reading)


def check_chunks(chunks: Iterable[Chunk], *, aliases: Mapping[str, Iterable[str]] | None = None) -> ExampleReport:
    """Check chunks in one pass; *aliases* are other names by title.

    >>> report = check_chunks([Chunk("7", 0, "Lise Meitner", "<mask> <mask> met Meitner.", ("Lise", "Otto"))])
    >>> [finding.name for finding in report.findings]
    ['leaked surnames', 'unmasked mentions', 'gold outside the title', 'adjacent masks', 'surnames inside words']
    """
    survey = _ExampleSurvey(aliases or {})
    for chunk in chunks:
        survey.add(chunk)
    return survey.report()


@dataclass
class _ExampleSurvey:
    """State of one pass over chunks: keys, titles, counts and the first examples of each finding."""

    aliases: Mapping[str, Iterable[str]]
    chunks: int = 0
    masks: int = 0
    keys: set[tuple[str, int]] = field(default_factory=set)
    titles: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def note(self, name: str, example: str) -> None:
        """Count a finding."""
        self.counts[name] = self.counts.get(name, 0) + 1
        shown = self.examples.setdefault(name, [])
        if len(shown) < EXAMPLES:
            shown.append(example)

    def add(self, chunk: Chunk) -> None:
        """Check one chunk."""
        self.chunks += 1
        self.masks += len(chunk.masks)
        self._check_form(chunk)
        self._check_page(chunk)
        if any(map(str.isalpha, chunk.title)):
            self._check_names(chunk)
        else:
            self.note("titles without letters", f"{_place(chunk)}: {shorten(chunk.title)}")

    def _check_form(self, chunk: Chunk) -> None:
        in_text = chunk.text.count(MASK)
        if in_text != len(chunk.masks):
            self.note("mask counts", f"{_place(chunk)}: {in_text} in the text, {len(chunk.masks)} in 'masks'")
        if not in_text and not chunk.masks:
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
                    self.note("namesakes", f"{describe_place(page)}: {shorten(title)}, {shorten(self.titles[earlier])}")

    def report(self) -> ExampleReport:
        """Return all findings."""
        self._find_namesakes()
        findings = [
            Finding(severity, name, self.counts[name], f"{self.counts[name]} {sentence}", tuple(self.examples[name]))
            for name, (severity, sentence) in _FINDINGS.items()
            if name in self.counts
        ]
        return ExampleReport(len(self.titles), self.chunks, self.masks, tuple(findings))


@lru_cache(maxsize=1024)
def _person(title: str, names: tuple[str, ...]) -> Person:
    return Person(title, names)


def _own_names(chunk: Chunk) -> list[str]:
    """Return the other names that `masking` stored with the chunk and masked as well."""
    names = chunk.extra.get("names")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _place(chunk: Chunk, mask: int | None = None) -> str:
    return describe_place(chunk.page, chunk.sequence, mask)


def leaked_surname(text: str, person: Person) -> str | None:
    """Return the surname if a masked text still has it as a capitalised word, ignoring accents.

    Another person with the surname leaks it too, so this covers more than mentions of the person.

    >>> leaked_surname("<mask> and Wilhelm von Humboldt", Person("Alexander von Humboldt"))
    'Humboldt'
    """
    sought = {fold(name) for name in person.surname.split()}
    for word in words(text):
        if not word.text.islower() and any(fold(form) in sought for form in (word.text, *word.parts)):
            return word.text
    return None


def last_word(title: str) -> str:
    """Return the last word of a title before a comma and parentheses: a simple definition of the surname.

    >>> last_word("Thomas Howard, 1st Earl of Suffolk"), last_word("Thomas Young (scientist)")
    ('Howard', 'Young')
    """
    return (_QUALIFIER.sub("", title).partition(",")[0].split() or title.split())[-1]
