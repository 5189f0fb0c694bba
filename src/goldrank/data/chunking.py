"""Chunking: cut documents into chunks of words, sentences or sections, whose ids say where they stand."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from goldrank.data.collections import Document
from goldrank.errors import InputError, shorten, unknown_name
from goldrank.specs import Spec

CHUNKINGS = {
    "none": "documents are ranked whole",
    "words:N": "chunks of N words; words:200/40 repeats the last 40 words of each chunk in the next",
    "sentences:N": "chunks of N sentences; sentences:5/1 repeats the last sentence of each chunk in the next",
    "heading": "a chunk for each section, which begins at a heading",
}
_KINDS = ("none", "words", "sentences", "heading")
_WORD = re.compile(r"\S+")
# A full stop, question or exclamation mark with closing quotes or brackets and white space, or a blank line.
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+|\s*\n\s*\n\s*")
_SIZE = re.compile(r"(?P<size>[0-9]{1,9})(?:/(?P<overlap>[0-9]{1,9}))?")


@dataclass(frozen=True)
class _Unit:
    """A word or a sentence: its section, and where it stands in the text of that section."""

    section: int
    start: int
    end: int


@dataclass(frozen=True)
class Chunking:
    """The rule by which documents are cut into chunks.

    A chunk is a document with the title of the whole, and with the headings of the sections that it is cut from, so
    that a text rule such as ``title+heading+text`` applies to it. Its id is that of the document with the place of the
    chunk: lines if the document has them, else words, sentences or the heading.

    >>> wine = Document("wine", "Wine", (("", "Red or white."), ("Red", "From red grapes, with the skin.")))
    >>> for chunk in Chunking.parse("words:5/2").cut(wine):
    ...     print(chunk.id, chunk.text)
    wine#w1-5 Red or white. From red
    wine#w4-8 From red grapes, with the
    wine#w7-9 with the skin.
    >>> [chunk.id for chunk in Chunking.parse("heading").cut(wine)]
    ['wine#1', 'wine#Red']
    """

    kind: str = "none"
    size: int = 0
    overlap: int = 0

    @classmethod
    def parse(cls, text: str) -> Chunking:
        """Parse ``none``, ``words:200/40``, ``sentences:5`` or ``heading``."""
        spec = Spec.parse(text)
        if spec.kind not in _KINDS:
            raise unknown_name("chunking", spec.kind, _KINDS, "write none, words:200/40, sentences:5 or heading")
        if spec.options:
            raise InputError(f"the chunking {shorten(text)} has options", remedy=f"write {_example(spec.kind)}")
        if spec.kind in ("none", "heading"):
            if spec.argument:
                raise InputError(
                    f"the chunking {spec.kind} takes no number ({shorten(text)})", remedy=f"write {spec.kind}"
                )
            return cls(spec.kind)
        match = _SIZE.fullmatch(spec.argument)
        size, overlap = (int(match[name] or 0) for name in ("size", "overlap")) if match else (0, 0)
        if not size or overlap >= size:
            raise InputError(
                f"the chunking {shorten(text)} has no size" if not size else f"the chunks of {shorten(text)} never end",
                remedy=f"write {_example(spec.kind)}: a size, and maybe a smaller number that is repeated",
            )
        return cls(spec.kind, size, overlap)

    def __str__(self) -> str:
        size = f":{self.size}" if self.size else ""
        return self.kind + size + (f"/{self.overlap}" if self.overlap else "")

    def cut(self, document: Document) -> list[Document]:
        """Return the chunks of a document in order, at least one."""
        if self.kind == "none":
            return [document]
        lines = _Lines(document)
        cuts = list(self._section_cuts(document) if self.kind == "heading" else self._window_cuts(document))
        chunks, used = [], Counter[str]()
        # A document without text is one chunk.
        for place, pieces in cuts or [("1", [_Unit(number, 0, 0) for number in range(len(document.sections))])]:
            place = lines.place(pieces) or place  # noqa: PLW2901
            used[place] += 1
            # Several chunks may stand in one long line, or under headings of the same name.
            name = place if used[place] == 1 else f"{place}({used[place]})"
            sections = tuple((document.sections[unit.section][0], _text(document, unit)) for unit in pieces)
            chunks.append(Document(f"{document.id}#{name}", document.title, sections))
        return chunks

    def _section_cuts(self, document: Document) -> Iterator[tuple[str, list[_Unit]]]:
        for number, (heading, text) in enumerate(document.sections):
            yield heading.strip() or str(number + 1), [_Unit(number, 0, len(text))]

    def _window_cuts(self, document: Document) -> Iterator[tuple[str, list[_Unit]]]:
        units = list(self._units(document))
        for start in range(0, len(units), self.size - self.overlap):
            window = units[start : start + self.size]
            yield f"{self.kind[0]}{start + 1}-{start + len(window)}", _joined(window)
            if start + self.size >= len(units):
                return

    def _units(self, document: Document) -> Iterator[_Unit]:
        for number, (_, text) in enumerate(document.sections):
            if self.kind == "words":
                yield from (_Unit(number, match.start(), match.end()) for match in _WORD.finditer(text))
                continue
            start = 0
            for end in [*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]:
                sentence = text[start:end]
                if sentence.strip():
                    yield _Unit(number, end - len(sentence.lstrip()), start + len(sentence.rstrip()))
                start = end


def _example(kind: str) -> str:
    return {"words": "words:200/40", "sentences": "sentences:5"}.get(kind, kind)


def _joined(window: Sequence[_Unit]) -> list[_Unit]:
    """Return one unit for each section that a window touches."""
    pieces: list[_Unit] = []
    for unit in window:
        if pieces and pieces[-1].section == unit.section:
            pieces[-1] = _Unit(unit.section, pieces[-1].start, unit.end)
        else:
            pieces.append(unit)
    return pieces


def _text(document: Document, unit: _Unit) -> str:
    return document.sections[unit.section][1][unit.start : unit.end]


class _Lines:
    """The lines of a document's file; the line breaks of a section are looked up once."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._breaks: dict[int, list[int]] = {}

    def place(self, pieces: Sequence[_Unit]) -> str:
        """Return the lines of a chunk as ``L12-40``; empty if the document has no lines."""
        if not self._document.lines or not pieces:
            return ""
        first, last = pieces[0], pieces[-1]
        return f"L{self._line(first.section, first.start)}-{self._line(last.section, last.end)}"

    def _line(self, section: int, at: int) -> int:
        breaks = self._breaks.get(section)
        if breaks is None:
            text = self._document.sections[section][1]
            breaks = self._breaks[section] = [match.start() for match in re.finditer("\n", text)]
        return self._document.lines[section] + bisect_left(breaks, at)
