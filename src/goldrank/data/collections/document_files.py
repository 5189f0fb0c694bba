"""Read one file of prose as a document with sections: Markdown, plain text, HTML, reStructuredText, PDF or Word."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree

from goldrank.data.collections.collection import Document
from goldrank.errors import MissingExtraError, reason_of
from goldrank.io.compression import size_text

LARGEST = 1 << 28
"""Files of more bytes, and archives that unpack to more, are not read: they would fill the memory."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*$")
_RST_RULE = re.compile(r"([=\-`:.'\"~^_*+#!$%&,/;<>?@\\|])\1{2,}[ \t]*$")
_FRONT_TITLE = re.compile(r"""title\s*[:=]\s*(["']?)(.+?)\1\s*$""", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


class UnreadableFileError(Exception):
    """A file that cannot be read as a document; the message is the reason as a part of a sentence."""


@dataclass(frozen=True)
class _Block:
    """A heading with the text under it, and the line at which the text starts (0 if the file has no lines)."""

    heading: str
    text: str
    line: int = 0


@dataclass(frozen=True)
class DocumentFile:
    """A document, and what was unusual about its file."""

    document: Document
    encoding: str = "utf-8"
    """``latin-1`` if the text was not valid UTF-8."""


def read_document(file: Path, name: str) -> DocumentFile:
    """Read a file whose suffix is one of `SUFFIXES` as the document *name*.

    Raises:
        UnreadableFileError: The file is damaged, too large, encrypted or not text.
        MissingExtraError: The package that reads this kind of file is not installed.
    """
    try:
        if (size := file.stat().st_size) > LARGEST:
            raise UnreadableFileError(f"it has {size_text(size)}, more than {size_text(LARGEST)}")
        content = file.read_bytes()
    except OSError as error:
        raise UnreadableFileError(reason_of(error)) from None
    parse = SUFFIXES[file.suffix.lower()]
    if parse in (_docx, _pdf):
        title, blocks = parse(content)
        encoding = "utf-8"
    else:
        text, encoding = _decoded(content)
        title, blocks = parse(text)
    return DocumentFile(_document(name, title.strip(), blocks), encoding)


def _document(name: str, title: str, blocks: list[_Block]) -> Document:
    if blocks and not title:
        # The first heading is the title; it is not repeated as the heading of its section.
        first = next((at for at, block in enumerate(blocks) if block.heading), None)
        if first is not None:
            title = blocks[first].heading
            blocks = [*blocks[:first], _Block("", blocks[first].text, blocks[first].line), *blocks[first + 1 :]]
    elif blocks and blocks[0].heading == title:
        blocks = [_Block("", blocks[0].text, blocks[0].line), *blocks[1:]]
    blocks = [block for block in blocks if block.heading or block.text]
    return Document(
        name,
        title or re.sub(r"[-_\s]+", " ", Path(name).stem).strip(),
        tuple((block.heading, block.text) for block in blocks),
        tuple(block.line for block in blocks) if all(block.line for block in blocks) else (),
    )


def _decoded(content: bytes) -> tuple[str, str]:
    """Return the text with ``\\n`` as line ends, and its encoding; a byte order mark decides, then valid UTF-8."""
    encoding = "utf-8"
    try:
        if content[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff"):
            text = content.decode("utf-32")
        elif content[:2] in (b"\xff\xfe", b"\xfe\xff"):
            text = content.decode("utf-16")
        elif b"\0" in content:
            raise UnreadableFileError("it is not a text file")
        else:
            text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.encoding != "utf-8":
            raise UnreadableFileError(f"its text is not valid {error.encoding}") from None
        text, encoding = content.decode("latin-1"), "latin-1"
        start = text[:4096]
        # Text has hardly any control characters; the bytes of a picture or an archive are full of them.
        if len(_CONTROL.findall(start)) > len(start) / 20:
            raise UnreadableFileError("it is not a text file") from None
    return text.replace("\r\n", "\n").replace("\r", "\n"), encoding


class _Blocks:
    """Collects lines under headings."""

    def __init__(self) -> None:
        self.blocks: list[_Block] = []
        self._heading = ""
        self._lines: list[str] = []
        self._start = 1

    def add(self, line: str) -> None:
        self._lines.append(line)

    def start(self, heading: str, next_line: int) -> None:
        """Begin a section whose text starts at *next_line*."""
        self.end()
        self._heading, self._start = heading, next_line

    def end(self) -> list[_Block]:
        blank = 0
        while blank < len(self._lines) and not self._lines[blank].strip():
            blank += 1
        text = "\n".join(self._lines[blank:]).rstrip()
        if self._heading or text:
            self.blocks.append(_Block(self._heading, text, self._start + (blank if text else 0)))
        self._heading, self._lines = "", []
        return self.blocks


def _plain(text: str) -> tuple[str, list[_Block]]:
    blocks = _Blocks()
    for line in text.split("\n"):
        blocks.add(line)
    return "", blocks.end()


def _markdown(text: str) -> tuple[str, list[_Block]]:
    lines = text.split("\n")
    title, first = _front_matter(lines)
    blocks, fence = _Blocks(), ""
    blocks.start("", first + 1)
    at = first
    while at < len(lines):
        line = lines[at]
        mark = _FENCE.match(line)
        if fence:
            # A fence is closed by at least as many of the same characters.
            if mark and mark[1].startswith(fence) and not line.strip(f" \t{fence[0]}"):
                fence = ""
        elif mark:
            fence = mark[1]
        elif heading := _HEADING.match(line):
            blocks.start((heading[2] or "").strip(), at + 2)
            at += 1
            continue
        elif _is_underlined(lines, at):
            blocks.start(line.strip(), at + 3)
            at += 2
            continue
        blocks.add(line)
        at += 1
    return title, blocks.end()


def _is_underlined(lines: list[str], at: int) -> bool:
    """Return whether the line is a heading of one line with === or --- under it."""
    line = lines[at].strip()
    alone = at == 0 or not lines[at - 1].strip()
    return (
        alone
        and at + 1 < len(lines)
        and _UNDERLINE.match(lines[at + 1]) is not None
        and re.match(r"[-*+>|]\s|\d+[.)]\s|\|", line) is None
        and bool(line.strip("-=*_ "))
    )


def _front_matter(lines: list[str]) -> tuple[str, int]:
    """Return the title in the front matter between --- or +++ lines, and the number of its lines."""
    mark = lines[0].rstrip()
    if mark not in ("---", "+++"):
        return "", 0
    ends = ("---", "...") if mark == "---" else ("+++",)
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() in ends), None)
    # Between two thematic breaks there may also be prose.
    if end is None or (end > 1 and not re.match(r"[\w\"'#-]+\s*[:=]|#|\s*$", lines[1])):
        return "", 0
    titles = (match[2] for line in lines[1:end] if (match := _FRONT_TITLE.match(line)))
    return next(titles, ""), end + 1


def _rst(text: str) -> tuple[str, list[_Block]]:
    lines = text.split("\n")
    blocks, at = _Blocks(), 0
    while at < len(lines):
        over = _RST_RULE.match(lines[at]) is not None
        name = at + 1 if over else at
        if _is_rst_title(lines, name, over=over):
            blocks.start(lines[name].strip(), name + 3)
            at = name + 2
        else:
            blocks.add(lines[at])
            at += 1
    return "", blocks.end()


def _is_rst_title(lines: list[str], at: int, *, over: bool) -> bool:
    if at + 1 >= len(lines) or not lines[at].strip() or _RST_RULE.match(lines[at]):
        return False
    rule = lines[at + 1].rstrip()
    if over:
        return rule == lines[at - 1].rstrip()
    alone = at == 0 or not lines[at - 1].strip()
    fits = len(rule) >= len(lines[at].rstrip()) and not lines[at][0].isspace()
    return alone and fits and _RST_RULE.match(rule) is not None


class _HtmlText(HTMLParser):
    """Collects the visible text of a page, with a section for each heading."""

    _HIDDEN = frozenset(("script", "style", "template", "noscript", "head", "svg", "iframe"))
    _HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
    _BLOCKS = frozenset(
        (
            *("address", "article", "aside", "blockquote", "body", "br", "caption", "dd", "details", "div", "dl", "dt"),
            *("fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "li", "main", "nav", "ol", "p"),
            *("pre", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "title", "tr", "ul"),
        )
    )

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.blocks: list[_Block] = []
        self._hidden = 0
        self._in_title = False
        self._heading: list[str] | None = None
        self._current = ""
        self._text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = True
        elif tag in self._HIDDEN:
            self._hidden += 1
        elif tag == "body":
            # A page may leave out </head>.
            self._hidden = 0
        elif tag in self._HEADINGS and not self._hidden:
            self._end()
            self._heading = []
        if tag in self._BLOCKS:
            self._text.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif tag in self._HIDDEN:
            self._hidden = max(0, self._hidden - 1)
        elif tag in self._HEADINGS and self._heading is not None:
            self._current, self._heading = " ".join("".join(self._heading).split()), None
        if tag in self._BLOCKS:
            self._text.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif self._hidden:
            return
        elif self._heading is not None:
            self._heading.append(data)
        else:
            self._text.append(data)

    def _end(self) -> None:
        if self._heading is not None:  # a heading that was not closed
            self._current, self._heading = " ".join("".join(self._heading).split()), None
        joined = re.sub(r"[^\S\n]+", " ", "".join(self._text))
        text = "\n".join(line.strip() for line in joined.split("\n") if line.strip())
        if self._current or text:
            self.blocks.append(_Block(self._current, text))
        self._current, self._text = "", []

    def finish(self) -> tuple[str, list[_Block]]:
        self.close()
        self._end()
        return " ".join(self.title.split()), self.blocks


def _html(text: str) -> tuple[str, list[_Block]]:
    parser = _HtmlText()
    try:
        parser.feed(text)
        return parser.finish()
    except (AssertionError, ValueError, RecursionError) as error:  # the parser raises these for some damaged markup
        raise UnreadableFileError(f"its HTML cannot be parsed ({reason_of(error)})") from None


def _docx(content: bytes) -> tuple[str, list[_Block]]:
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            entry = archive.getinfo("word/document.xml")
            if entry.file_size > LARGEST:
                raise UnreadableFileError(f"it unpacks to {size_text(entry.file_size)}, more than {size_text(LARGEST)}")
            data = archive.read(entry)
    except (zipfile.BadZipFile, KeyError, OSError, RuntimeError, NotImplementedError, EOFError, ValueError) as error:
        raise UnreadableFileError(f"it is not a readable Word document ({reason_of(error)})") from None
    if b"<!DOCTYPE" in data[:4096] or b"<!ENTITY" in data:
        # Word writes no entities; nested ones could expand without end.
        raise UnreadableFileError("its XML declares entities, as no Word document does")
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError) as error:
        raise UnreadableFileError(f"it is not a readable Word document ({reason_of(error)})") from None
    title, heading, lines = "", "", list[str]()
    blocks: list[_Block] = []

    def end() -> None:
        if heading or lines:
            blocks.append(_Block(heading, "\n".join(lines)))

    for paragraph in root.iter(f"{_WORD}p"):
        style = paragraph.find(f"{_WORD}pPr/{_WORD}pStyle")
        kind = "" if style is None else style.get(f"{_WORD}val", "").lower()
        text = _paragraph_text(paragraph)
        if not text:
            continue
        if kind == "title" and not title:
            title = text
        elif kind.startswith("heading"):
            end()
            heading, lines = text, []
        else:
            lines.append(text)
    end()
    return title, blocks


def _paragraph_text(paragraph: ElementTree.Element) -> str:
    white = {f"{_WORD}tab": "\t", f"{_WORD}br": "\n", f"{_WORD}cr": "\n"}
    parts = (node.text or "" if node.tag == f"{_WORD}t" else white.get(node.tag, "") for node in paragraph.iter())
    return "".join(parts).strip()


def _pdf(content: bytes) -> tuple[str, list[_Block]]:
    try:
        import pypdf
    except ImportError:
        raise MissingExtraError("reading .pdf files", "pypdf", "documents") from None
    import logging

    # It logs every irregularity of a file, which would fill the terminal.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = pypdf.PdfReader(BytesIO(content))
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadableFileError("it is encrypted")
        title = str((reader.metadata.title if reader.metadata else None) or "")
        pages = [page.extract_text() for page in reader.pages]
    except (UnreadableFileError, MemoryError):
        raise
    except Exception as error:
        # pypdf raises errors of many types for damaged files.
        raise UnreadableFileError(f"it is not a readable PDF ({reason_of(error)})") from None
    return title, [_Block("", text) for page in pages if (text := page.strip())]


SUFFIXES: dict[str, Callable[..., tuple[str, list[_Block]]]] = {
    ".md": _markdown,
    ".markdown": _markdown,
    ".mdx": _markdown,
    ".txt": _plain,
    ".text": _plain,
    ".html": _html,
    ".htm": _html,
    ".xhtml": _html,
    ".rst": _rst,
    ".pdf": _pdf,
    ".docx": _docx,
}
"""The suffixes of files that are read as documents, in lower case, with their parsers."""
