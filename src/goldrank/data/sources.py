"""Sources of the data of named tasks: built in, in a folder of the user, or a verified download."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from http.client import HTTPException
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np

from goldrank.data.collections import Collection, Document, Documents, read_collection
from goldrank.data.collections.splits import choose_split
from goldrank.errors import GoldrankError, InputError, MissingExtraError
from goldrank.io.columns import Columns, group
from goldrank.io.downloads import EndlessAnswerError, fetch, read_answer
from goldrank.io.files import cache_folder
from goldrank.io.formats.json_files import decode
from goldrank.io.private_files import make_private_folder


@dataclass(frozen=True)
class DatasetDescription:
    """Source, licence, size and peculiarities of a data set, shown with results."""

    source: str
    licence: str
    counts: str
    original: str = ""
    """The profile that reproduces the numbers of the authors."""
    notes: str = ""
    data: str = "by path, or downloaded"
    """How the data is obtained."""


Read = Callable[[str | None], Collection]

DATA_VARIABLE = "GOLDRANK_DATA"
_BEIR = "https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets/{name}.zip"
BEIR_CHECKSUMS = {
    "arguana": "8ad3e3c2a5867cdced806d6503f29b99",
    "climate-fever": "8b66f0a9126c521bae2bde127b4dc99d",
    "dbpedia-entity": "c2a39eb420a3164af735795df012ac2c",
    "fever": "5a818580227bfb4b35bb6fa46d9b6c03",
    "fiqa": "17918ed23cd04fb15047f73e6c3bd9d9",
    "hotpotqa": "f412724f78b0d91183a0e86805e16114",
    "msmarco": "444067daf65d982533ea17ebd59501e4",
    "nfcorpus": "a89dba18a62ef92f7d323ec890a0d38d",
    "nq": "d4d3d2e48787a744b6f6e691ff534307",
    "quora": "18fb154900ba42a600f84b839c173167",
    "scidocs": "38121350fc3a4d2f48850f6aff52e4a9",
    "scifact": "5f7d1de60b170fc8027bb7898e2efca1",
    "trec-covid": "ce62140cb23feb9becf6270d0d1fe6d1",
    "webis-touche2020": "46f650ba5a527fc69e0a6521c5a23563",
}
"""MD5 of the archives, as the BEIR project publishes them."""


def built_in(name: str) -> Read:
    """Return the reader of a small collection that is part of goldrank: ``wines``, ``games`` or ``questions``."""

    def read(split: str | None) -> Collection:
        choose_split(split, ("test",), name)
        with as_file(files("goldrank") / "demo") as folder:
            data = _questions(folder) if name == "questions" else read_collection(folder / name / "articles.jsonl")
        return replace(data, name=name, source="built in", readings=())

    return read


def _questions(folder: Path) -> Collection:
    """Return the questions on wines and on games, over the articles of both."""
    articles = [
        document for name in ("wines", "games") for document in read_collection(folder / name / "articles.jsonl").items
    ]
    questions: list[Any] = []
    for name in ("wines", "games"):
        path = folder / name / "questions.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines()
        questions += [decode(line, str(path), first_line=number) for number, line in enumerate(lines, 1)]
    rows = [(entry["id"], item, float(grade)) for entry in questions for item, grade in entry["answers"].items()]
    return Collection(
        "questions",
        Documents(articles, "built in"),
        Documents([Document.plain(entry["id"], entry["text"]) for entry in questions], "built in"),
        _columns(rows),
        format="built in",
    )


def local(*names: str, format: str | None = None) -> Read:
    """Return the reader of a collection that users keep in a folder of one of these *names* under $GOLDRANK_DATA."""

    def read(split: str | None) -> Collection:
        return read_collection(require_local(names[0], names), format=format, split=split)

    return read


def require_local(task: str, names: Sequence[str]) -> Path:
    """Return the data of a task, a folder or file of one of these *names* under $GOLDRANK_DATA."""
    if (path := find_local(*names)) is None:
        raise InputError(
            f"the data of {task} is not here",
            remedy=f"write {task}:PATH, or set {DATA_VARIABLE} to the folder that holds {names[0]}",
        )
    return path


def find_local(*names: str) -> Path | None:
    """Return the first of the folders or files *names* under $GOLDRANK_DATA, two levels deep."""
    root = os.environ.get(DATA_VARIABLE)
    return find_below(Path(root).expanduser(), names) if root else None


def find_below(folder: Path, names: Sequence[str]) -> Path | None:
    """Return the first of the folders or files *names* in a folder or in one of its folders."""
    candidates = [folder / name for name in names]
    candidates += [path for name in names for path in sorted(folder.glob(f"*/{name}"))]
    return next((path for path in candidates if path.exists()), None)


def beir(name: str) -> Read:
    """Return the reader of a BEIR data set: from $GOLDRANK_DATA if it is there, else downloaded once."""

    def read(split: str | None) -> Collection:
        folder = find_local(name, f"beir/{name}") or _unpacked(name)
        return replace(read_collection(folder, format="beir", split=split), name=name)

    return read


def _unpacked(name: str) -> Path:
    folder = cache_folder() / "collections" / "beir" / name
    if folder.is_dir():
        return folder
    archive = fetch(_BEIR.format(name=name), md5=BEIR_CHECKSUMS[name], name=f"beir-{name}.zip")
    return unpack(archive, folder)


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack a verified archive of one folder, completely or not at all; paths that lead outside are refused."""
    partial = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(archive) as packed:
            for entry in packed.namelist():
                if Path(entry).is_absolute() or ".." in Path(entry).parts:
                    raise InputError(f"the archive holds a file outside its folder ({entry})", where=str(archive))
            packed.extractall(partial)
        inside = [path for path in partial.iterdir() if not path.name.startswith((".", "__"))]
        make_private_folder(folder.parent)
        with suppress(FileExistsError):  # another process was faster
            (inside[0] if len(inside) == 1 and inside[0].is_dir() else partial).rename(folder)
    except (OSError, zipfile.BadZipFile) as error:
        raise GoldrankError(f"{archive}: the archive could not be unpacked ({error})") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


_ZENODO = "https://zenodo.org/api/records/{record}"
_GOLD = (
    "https://raw.githubusercontent.com/microsoft/SDR/008f40d87bf3ecb33d71cd99fed0bef19f83b590/data/datasets/{name}/gt"
)


def wikipedia(name: str, *, record: int, article_file: str, gold_folder: str, gold_checksum: str) -> Read:
    """Return the reader of Wikipedia articles with lists of similar ones: from $GOLDRANK_DATA, else downloaded.

    The articles are verified by the checksum of their record, the lists by one of their content.
    """

    def read(split: str | None) -> Collection:
        choose_split(split, ("test",), name)
        path = find_local(name, article_file) or _download()
        return replace(read_collection(path, format="wiki", split=None), name=name)

    def _download() -> Path:
        from goldrank.io.formats.pickles import load_restricted

        folder = cache_folder() / "collections" / name
        if (folder / "gold.json").is_file():
            return folder
        url, checksum = _zenodo_file(record, article_file)
        articles = fetch(url, md5=checksum, name=f"{name}-{article_file}")
        where = _GOLD.format(name=gold_folder)
        gold: Any = load_restricted(_read_url(where), where)
        if content_checksum(gold) != gold_checksum:
            raise InputError("the lists of similar articles are not those that were published", where=where)
        make_private_folder(folder)
        shutil.copyfile(articles, folder / article_file)
        (folder / "gold.json").write_text(json.dumps(gold, ensure_ascii=False), encoding="utf-8")
        return folder

    return read


def content_checksum(gold: Any) -> str:
    """Return a digest of lists of similar articles that does not depend on their file format."""
    plain = {source: {title: float(weight) for title, weight in similar.items()} for source, similar in gold.items()}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def _zenodo_file(record: int, name: str) -> tuple[str, str]:
    """Return the address of a file of a Zenodo record, and the MD5 that the record states."""
    where = _ZENODO.format(record=record)
    content: Any = decode(_read_url(where).decode(errors="replace"), where, first_line=1)
    try:
        entry = next(entry for entry in content["files"] if entry["key"] == name)
        return entry["links"]["self"], entry["checksum"].removeprefix("md5:")
    except (KeyError, TypeError, StopIteration):
        raise InputError(f"the record does not list {name}", where=where, remedy="download it by hand") from None


def _read_url(url: str) -> bytes:
    try:
        with urlopen(url, timeout=30) as answer:
            return read_answer(answer, seconds=600)
    except (URLError, OSError, HTTPException, EndlessAnswerError) as error:
        raise InputError(
            f"it could not be downloaded ({getattr(error, 'reason', error)})",
            where=url,
            remedy=f"download the data by hand and give its path (TASK:PATH, or set {DATA_VARIABLE})",
        ) from None


LEE_RELATED = 0.5
"""Two documents count as related from this mean similarity on, as judged by eight to twelve persons."""


def lee(split: str | None) -> Collection:
    """Return the Lee corpus of 50 news texts with human similarities, which is part of the gensim package."""
    choose_split(split, ("test",), "lee")
    try:
        from importlib.util import find_spec

        package = find_spec("gensim")
        folder = Path(str(package.origin)).parent / "test" / "test_data" if package is not None else None
    except ImportError:
        folder = None
    if folder is None or not (folder / "lee.cor").is_file():
        raise MissingExtraError("the task 'lee'", "gensim", "doc2vec")
    texts = (folder / "lee.cor").read_text(encoding="latin-1").splitlines()
    judged = np.loadtxt(folder / "similarities0-1.txt")
    # Only one triangle is given.
    judged = np.maximum(judged, judged.T)
    np.fill_diagonal(judged, 0.0)
    pairs = np.argwhere(judged >= LEE_RELATED).tolist()
    rows = [(str(first), str(second), float(judged[first, second])) for first, second in pairs]
    articles = Documents([Document.plain(str(number), text) for number, text in enumerate(texts)], "gensim")
    remark = f"pairs that people rated {LEE_RELATED:g} or more of 1 are gold, graded by that rating"
    return Collection("lee", articles, articles, _columns(rows), source="gensim", format="lee", remarks=[remark])


def _columns(rows: list[tuple[str, str, float]]) -> Columns:
    queries, items, grades = zip(*rows, strict=True)
    return group(
        list(queries),
        list(items),
        np.array(grades),
        "gold",
        source="built in",
        place=lambda row: f"row {row + 1}",
    )
