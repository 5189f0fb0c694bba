"""Real text for the benchmarks: the paragraphs of the documentation and docstrings that are installed here.

The first sentence of a paragraph is a question, and the rest of it is the answer. None of this text is in the
repository, so the collection differs from machine to machine; every ratio compares work on the same files.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

LENGTHS = range(120, 1501)
SPACES = 15
_SYSTEM = (Path("/usr/share/doc"), Path("/usr/share/man/man1"), Path("/usr/share/man/man3"), Path("/usr/share/perl"))
_PROSE = (".md", ".rst", ".txt", ".html", ".pod", ".gz")
_LARGEST = 4_000_000
_DOCSTRING = re.compile(r'"""(.*?)"""', re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)")
_MARKUP = re.compile(r"<[^<>]{1,200}>|^\.\S+|\\f[BIRP]|\\")


def write_paragraphs(folder: Path, documents: int = 162_000, questions: int = 2_000) -> Path:
    """Write a BEIR collection of up to *documents* paragraphs and *questions* of their first sentences.

    Args:
        folder: Where collections are kept; one that is there already is taken.
        documents: How many paragraphs. A machine with little text has fewer, and the collection says how many.
        questions: How many of them also give a question, evenly spread over the collection.

    Returns:
        The folder of the collection, with ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/test.tsv``.
    """
    collection = folder / f"paragraphs-{documents}-{questions}"
    if (collection / "qrels" / "test.tsv").exists():
        return collection
    pairs: dict[str, str] = {}
    for paragraph in _paragraphs():
        question, _, answer = _SENTENCE.sub("\n", paragraph, count=1).partition("\n")
        if len(question) >= 20 and len(answer) >= 40:
            pairs.setdefault(answer, question)
            if len(pairs) == documents:
                break
    rows = list(pairs.items())
    step = max(1, len(rows) // questions)
    chosen = range(0, len(rows), step)[:questions]
    (collection / "qrels").mkdir(parents=True, exist_ok=True)
    with (collection / "corpus.jsonl").open("w") as file:
        file.writelines(json.dumps({"_id": f"d{row}", "text": answer}) + "\n" for row, (answer, _) in enumerate(rows))
    with (collection / "queries.jsonl").open("w") as file:
        file.writelines(json.dumps({"_id": f"q{row}", "text": rows[row][1]}) + "\n" for row in chosen)
    with (collection / "qrels" / "test.tsv").open("w") as file:
        file.write("query-id\tcorpus-id\tscore\n")
        file.writelines(f"q{row}\td{row}\t1\n" for row in chosen)
    return collection


def _paragraphs() -> Iterator[str]:
    """Every paragraph once, of the length asked for, with its white space made single."""
    seen: set[str] = set()
    for text in _texts():
        for block in re.split(r"\n[ \t]*\n|\n\.[PT]P\n|\n\.Sp\n", text):
            paragraph = " ".join(_MARKUP.sub(" ", block).split())
            if len(paragraph) in LENGTHS and paragraph.count(" ") >= SPACES and paragraph not in seen:
                seen.add(paragraph)
                yield paragraph


def _texts() -> Iterator[str]:
    """The docstrings of installed Python code, then the documentation files, in the order of their paths."""
    packages = [Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("stdlib")), Path("/usr/lib/python3")]
    for root in packages:
        for path in sorted(root.rglob("*.py")):
            yield from _DOCSTRING.findall(_text(path))
    for root in (*_SYSTEM, *packages):
        for path in sorted(root.rglob("*")):
            if path.suffix in _PROSE and path.is_file() and path.stat().st_size < _LARGEST:
                yield _text(path)


def _text(path: Path) -> str:
    try:
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError):
        return ""
    return content.decode(errors="ignore")


if __name__ == "__main__":
    print(write_paragraphs(Path(sys.argv[1]), *map(int, sys.argv[2:])))
