"""The built-in pages about persons, and the examples made of them: something to try everything on."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import as_file, files
from pathlib import Path

from goldrank.io.files import PathLike
from goldrank.masked.examples.chunks import Chunk
from goldrank.masked.examples.files import read_chunks
from goldrank.masked.examples.masking import Made, make_all
from goldrank.masked.examples.pages import Page, read_pages

NAME = "persons"
"""Stands for the built-in pages where a file is expected, unless there is a file of that name."""
_SIZE = 256


def is_built_in(path: PathLike) -> bool:
    """Whether *path* names the built-in pages."""
    return str(path) == NAME and not Path(path).exists()


def pages_at(path: PathLike) -> Iterator[Page]:
    """The pages of a file or folder, or the built-in ones."""
    if not is_built_in(path):
        yield from read_pages(path)
        return
    with as_file(files("goldrank") / "demo" / "persons.jsonl") as file:
        yield from read_pages(file)


def examples_at(path: PathLike) -> Iterator[Chunk]:
    """The examples of a file, or those of the built-in pages in parts of 256 characters."""
    return make_all(pages_at(path), Made(), size=_SIZE) if is_built_in(path) else read_chunks(path)
