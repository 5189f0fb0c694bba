"""Read a folder of files of prose as a corpus, with the questions of a table.

Every file with a suffix of `document_files.SUFFIXES` is a document, whose id is its path in the folder.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from goldrank.data.collections.collection import Collection, Document, Documents
from goldrank.data.collections.document_files import SUFFIXES, UnreadableFileError, read_document
from goldrank.data.collections.questions import QuestionTable, read_questions
from goldrank.data.collections.records import is_large
from goldrank.data.collections.splits import choose_split, files_in, stem_and_suffix
from goldrank.data.collections.tables import TABLE_SUFFIXES
from goldrank.errors import InputError, counts, list_first, shorten
from goldrank.io.files import PathLike
from goldrank.io.fingerprints import FileState, file_state
from goldrank.progress import Progress

_MOST_VISITED = 10_000
_MOST_NAMED = 3
_QUESTION_WORDS = ("question", "queries", "query", "gold", "eval", "test")


def matches(path: Path) -> bool:
    """Return True if the folder, or one inside it, holds a file of prose; a large folder is not visited completely."""
    if not path.is_dir():
        return False
    visited = 0
    for _, _, files in _walk(path, []):
        if any(_suffix(name) in SUFFIXES for name in files):
            return True
        visited += 1 + len(files)
        if visited > _MOST_VISITED:
            break
    return False


def read(path: PathLike, split: str | None = None, questions: object = None) -> Collection:
    """Read the documents of a folder and the questions of a table.

    Args:
        path: The folder.
        split: Only ``test`` exists.
        questions: A table of questions with the files that answer them, as in `read_questions`.
    """
    folder = Path(path).expanduser()
    if not folder.is_dir():
        what = "this is not a folder of documents" if folder.exists() else "there is no such folder"
        raise InputError(what, where=str(path), remedy="give the folder that holds the documents")
    choose_split(split, ["test"], str(path))
    files = _find_files(folder)
    if questions is None:
        raise _without_questions(folder, files)
    # A fault in the columns of the table is reported before thousands of files are read.
    table = QuestionTable.open(questions)
    documents = _read_files(files, folder, str(path), table.written)
    judged = read_questions(table, folder, documents.ids, files.left_out)
    return Collection(
        name=folder.resolve().name,
        items=documents,
        queries=judged.queries,
        gold=judged.gold,
        source=str(path),
        format="folder",
        remarks=[*files.remarks(), *judged.remarks],
        readings=(judged.reading,),
    )


def read_documents(path: PathLike, without: PathLike = "") -> tuple[Documents, list[str]]:
    """Return the documents of a folder, and what was left out or repaired.

    Args:
        path: The folder.
        without: A file that is no document, although it may be in the folder.
    """
    folder = Path(path).expanduser()
    files = _find_files(folder)
    return _read_files(files, folder, str(path), str(without)), files.remarks()


def _read_files(files: _Files, folder: Path, source: str, without: str) -> Documents:
    files.other = [name for name in files.other if not _is_same(folder / name, without)]
    files.paths = {name: place for name, place in files.paths.items() if not _is_same(place, without)}
    documents = _documents(files, source)
    if not len(documents):
        raise InputError(
            f"the folder holds no readable document ({'; '.join(files.remarks()) or 'it is empty'})",
            where=source,
            remedy=f"put files into it whose names end in {', '.join(SUFFIXES)}",
        )
    return documents


@dataclass
class _Files:
    """The files of a folder by their ids, and what was not read."""

    paths: dict[str, Path] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    """The reason for each file of prose that cannot be read, by id."""
    other: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    """Links to folders, which are not followed: they may lead in circles."""
    closed: list[str] = field(default_factory=list)
    """Folders that may not be read."""
    latin: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)

    def remarks(self) -> list[str]:
        """Return what was left out or repaired, one sentence each."""
        unreadable = [f"{name} ({reason})" for name, reason in self.left_out.items()]
        return [
            f"{counts(len(names), noun, plural)} {what}: {list_first(names, _MOST_NAMED)}"
            for names, noun, plural, what in (
                (unreadable, "unreadable document", None, "left out"),
                (self.closed, "folder that may not be read", "folders that may not be read", "left out"),
                (self.links, "link to a folder", "links to folders", "not followed"),
                (self.empty, "document", None, "without text"),
                (self.latin, "document", None, "not valid UTF-8, read as latin-1"),
                (self.other, "file of another kind", "files of other kinds", "left out"),
                (self.hidden, "hidden file or folder", "hidden files or folders", "left out"),
            )
            if names
        ]


def _suffix(name: str) -> str:
    return PurePath(name).suffix.lower()


def _walk(folder: Path, closed: list[str]) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each folder with its folders and files, sorted by name; hidden folders are not entered."""

    def note(error: OSError) -> None:
        closed.append(str(error.filename))

    for place, folders, files in os.walk(folder, onerror=note):
        yield place, sorted(folders), sorted(files)
        folders[:] = sorted(name for name in folders if not name.startswith("."))


def _find_files(folder: Path) -> _Files:
    result = _Files()
    closed: list[str] = []
    for place, folders, names in _walk(folder, closed):
        inside = Path(place).relative_to(folder)
        for name in folders:
            if name.startswith("."):
                result.hidden.append((inside / name).as_posix() + "/")
            elif Path(place, name).is_symlink():
                result.links.append((inside / name).as_posix())
        for name in names:
            item = (inside / name).as_posix()
            if name.startswith("."):
                result.hidden.append(item)
            elif _suffix(name) not in SUFFIXES:
                result.other.append(item)
            elif (reason := _unfit(Path(place, name))) is not None:
                result.left_out[item.encode("utf-8", "replace").decode()] = reason
            else:
                result.paths[item] = Path(place, name)
    result.closed = [Path(path).relative_to(folder).as_posix() for path in closed]
    return result


def _unfit(file: Path) -> str | None:
    """Return why a file is not even opened, or None."""
    try:
        str(file).encode()
    except UnicodeEncodeError:
        return "its name is not valid UTF-8"
    try:
        return None if file.is_file() else "it is not a regular file"
    except OSError:  # a link to itself
        return "it is a link that leads nowhere"


def _documents(files: _Files, source: str) -> Documents:
    """Return the documents; those of a large folder are read again at each iteration."""
    states: dict[str, FileState] = {}

    def read_all() -> Iterator[Document]:
        with Progress(f"reading {source}", total=len(files.paths), unit="file") as progress:
            for name, path in list(files.paths.items()):
                try:
                    result = read_document(path, name)
                except UnreadableFileError as error:
                    files.left_out[name] = str(error)
                    continue
                finally:
                    progress.advance()
                if result.encoding == "latin-1":
                    files.latin.append(name)
                if not result.document.sections:
                    files.empty.append(name)
                yield result.document

    def read_again() -> Iterator[Document]:
        for name, path in files.paths.items():
            try:
                unchanged = file_state(path) == states[name]
                document = read_document(path, name).document if unchanged else None
            except (OSError, UnreadableFileError):
                document = None
            if document is None:
                raise InputError("the file was changed since it was first read", where=str(path), remedy="start again")
            yield document

    if not is_large(files.paths.values()):
        return Documents(list(read_all()), source)
    for name, path in files.paths.items():
        states[name] = file_state(path)
    # Each file is read once now, to know which ones are readable.
    readable = {document.id for document in read_all()}
    files.paths = {name: path for name, path in files.paths.items() if name in readable}
    return Documents(read_again, source)


def _without_questions(folder: Path, files: _Files) -> InputError:
    """Return the error for documents without questions; it names the table if there is exactly one."""
    kinds = Counter(_suffix(name) for name in files.paths)
    shown = ", ".join(f"{number} {suffix}" for suffix, number in kinds.most_common(4))
    tables = [
        table
        for place in (folder, folder.resolve().parent)
        for table in files_in(place)
        if stem_and_suffix(table)[1] in TABLE_SUFFIXES
        and any(word in stem_and_suffix(table)[0].lower() for word in _QUESTION_WORDS)
    ]
    name = "FILE" if len(tables) != 1 else _quoted(_shown(tables[0]))
    return InputError(
        f"the folder holds documents ({shown}) but no questions",
        where=str(folder),
        remedy=f"add --questions {name}, a table of questions with the files that answer them "
        "(in Python questions=…); its columns may be called question and expected_file; if each folder in it is a "
        f"class, write -t classes:{_quoted(_shown(folder))}",
    )


def _is_same(file: Path, other: str) -> bool:
    with suppress(OSError, ValueError):
        return file.samefile(other)
    return False


def _shown(path: Path) -> str:
    with suppress(ValueError, OSError):
        return str(path.resolve().relative_to(Path.cwd()))
    return str(path)


def _quoted(text: str) -> str:
    return shorten(text, 200) if " " in text else text
