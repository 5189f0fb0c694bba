"""TextRule: turn a document into the text, or the passages or sentences, that a model encodes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from goldrank.data.collections import Document
from goldrank.errors import InputError, unknown_name

PARTS = {
    "title": "the title",
    "heading": "the heading of each section, before its text",
    "text": "the text of each section",
}
# A full stop, question or exclamation mark, closing quotes or brackets, then white space.
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+")


@dataclass(frozen=True)
class TextRule:
    """The rule that makes the text of a document: its parts, their separator, and the length that is used.

    >>> article = Document("w1", "Yquem", (("", "A sweet wine."), ("Vineyard", "Gravel on clay.")))
    >>> TextRule().text(article)
    'Yquem A sweet wine. Vineyard Gravel on clay.'
    >>> TextRule(parts=("text",), words=4).text(article)
    'A sweet wine. Gravel'
    >>> TextRule().sentences(article)
    [['Yquem', 'A sweet wine.'], ['Vineyard', 'Gravel on clay.']]
    """

    parts: tuple[str, ...] = ("title", "heading", "text")
    separator: str = " "
    sections: int | None = None
    """Use only this number of sections from the beginning."""
    words: int | None = None
    """Use only this number of white-space separated words from the beginning."""

    def __post_init__(self) -> None:
        for part in self.parts:
            if part not in PARTS:
                raise unknown_name("part of a document", part, PARTS, f"join some of {', '.join(PARTS)} by +")
        if not self.parts or len(set(self.parts)) != len(self.parts):
            raise InputError("a text is made of parts, each named once", remedy="write title+heading+text")
        for name in ("sections", "words"):
            if (limit := getattr(self, name)) is not None and limit < 1:
                raise InputError(f"{name} is {limit}", remedy="keep at least one, or give no limit")

    @classmethod
    def parse(cls, parts: str, **limits: Any) -> TextRule:
        """Read the parts as ``title+text``."""
        return cls(tuple(part.strip() for part in parts.split("+")), **limits)

    def text(self, document: Document) -> str:
        """Return the whole document as one text."""
        parts = [document.title] if "title" in self.parts and _is_written(document.title) else []
        parts += [
            section[at]
            for section in document.sections[: self.sections]
            for at in self._order
            if _is_written(section[at])
        ]
        return self._cut(parts[0] if len(parts) == 1 else self.separator.join(parts))

    @cached_property
    def _order(self) -> tuple[int, ...]:
        """The positions of the parts in a section, which is a heading and a text."""
        return tuple(("heading", "text").index(part) for part in self.parts if part != "title")

    def passages(self, document: Document) -> list[str]:
        """Return one text for each section; the first one begins with the title."""
        joined = [self._cut(self.separator.join(piece)) for piece in self._pieces(document)]
        return [text for text in joined if text]

    def sentences(self, document: Document) -> list[list[str]]:
        """Return the sentences of each section; the title and headings are separate sentences."""
        sections = []
        for piece in self._pieces(document):
            sentences = [sentence for part in piece for sentence in split_sentences(part)]
            if cut_sentences := [cut for sentence in sentences if (cut := self._cut(sentence))]:
                sections.append(cut_sentences)
        return sections

    def _pieces(self, document: Document) -> list[list[str]]:
        pieces = [
            [section[at] for at in self._order if _is_written(section[at])]
            for section in document.sections[: self.sections]
        ]
        if "title" in self.parts and _is_written(document.title):
            # Beside a first section of its own heading the title is still the start of the document.
            pieces[:1] = [[document.title, *(pieces[0] if pieces else [])]]
        return [piece for piece in pieces if piece]

    def _cut(self, text: str) -> str:
        if self.words is None:
            return text
        ends = [match.end() for match in re.finditer(r"\S+", text)]
        return text if len(ends) <= self.words else text[: ends[self.words - 1]]

    def as_dict(self) -> dict[str, Any]:
        """Return the rule as it is stored with a result."""
        return {
            "parts": "+".join(self.parts),
            "separator": self.separator,
            "sections": self.sections,
            "words": self.words,
        }

    def __str__(self) -> str:
        limits = [f"the first {n} {name}" for name in ("sections", "words") if (n := getattr(self, name)) is not None]
        return ", ".join(["+".join(self.parts), *limits])


def _is_written(text: str) -> bool:
    """Return True if there is more than white space; `isspace` stops at the first other character."""
    return bool(text) and not text.isspace()


def split_sentences(text: str) -> list[str]:
    """Split a text into sentences at their closing punctuation.

    >>> split_sentences("Is it wine? “Yes.” It is.")
    ['Is it wine?', '“Yes.”', 'It is.']
    """
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    return [
        part for start, end in zip([0, *ends], [*ends, len(text)], strict=True) if (part := text[start:end].strip())
    ]
