"""An index as a folder: vectors, ids, texts and a manifest that says what made them; whole, or not there at all.

The files of one build lie in a folder of their own (``files-…``), and the manifest names that folder. An index is
replaced by replacing the manifest, which is one step: a kill at any time leaves the old index or the new one.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from goldrank.data.collections import Collection
from goldrank.data.texts import TextList, read_texts, texts_of
from goldrank.encoders.base import Encoder
from goldrank.encoders.consent import describe_effects, effects_of
from goldrank.encoders.truncation import count_truncated, warnings_of
from goldrank.errors import DataWarning, GoldrankError, InputError, shorten
from goldrank.hits import Run
from goldrank.index.base import Index, build, checked_similarity, checked_vectors
from goldrank.index.encoding import OpenIndex, encode_texts, load_encoder
from goldrank.index.faiss_file import MAP_FROM, FaissFile, open_faiss_file
from goldrank.index.faiss_index import Factory, FaissIndex, load_faiss
from goldrank.index.folder_checks import (
    FAISS,
    IDS,
    REBUILD,
    TEXTS,
    TRANSFORM,
    VECTORS,
    is_manifest,
    refuse_damaged,
    stamp,
)
from goldrank.io.files import PathLike, read_bytes, write_atomically
from goldrank.redaction import redact
from goldrank.vectors.cache import live_vectors
from goldrank.vectors.transforms import Pipeline

FORMAT = 2
MANIFEST = "manifest.json"
_CHUNK = 1 << 22
# A file under the folder of an index that is this old and belongs to no index is what a killed build left.
_ABANDONED_SECONDS = 3600.0
_LEFTOVER = re.compile(r"files-[0-9a-f]{12}|\.manifest\.json\.[0-9a-f]{12}\.tmp")


@dataclass(frozen=True)
class Manifest:
    """The content of an index folder, and the settings that it was built with."""

    index: str
    """The spec of the index: ``exact`` or ``faiss:FACTORY``."""
    similarity: str
    dimension: int
    count: int
    model: str | None = None
    identity: str | None = None
    """Everything about the model that can change a vector; queries have to come from the same."""
    prompts: dict[str, str] = field(default_factory=dict)
    transform: str | None = None
    goldrank: str = ""
    faiss: str | None = None
    created: str = ""
    folder: str = ""
    """The folder beside the manifest that holds all other files."""
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Size, SHA-256 and the CRC-32 of each block of every other file."""
    format: int = FORMAT

    def dump(self) -> bytes:
        """Return the manifest as JSON, with a checksum of itself."""
        content = asdict(self)
        return json.dumps({**content, "checksum": _digest(content)}, indent=2, ensure_ascii=False).encode() + b"\n"

    @classmethod
    def load(cls, folder: Path) -> Manifest:
        """Read the manifest of *folder*; one that is foreign, newer or changed is refused."""
        where = str(folder / MANIFEST)
        try:
            content = json.loads((folder / MANIFEST).read_bytes())
            checksum, version = content.pop("checksum"), content["format"]
        except FileNotFoundError:
            raise InputError(
                "there is no index here" if folder.is_dir() else "there is no such folder or file",
                where=str(folder),
                remedy="build one with: goldrank index build",
            ) from None
        except OSError as error:
            raise InputError(f"the manifest cannot be read ({error.strerror})", where=where) from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InputError("this is not a manifest of goldrank", where=where, remedy=REBUILD) from None
        if isinstance(version, int) and version != FORMAT:
            raise InputError(
                f"the index has format {shorten(version)}, this goldrank reads {FORMAT}",
                where=where,
                remedy="upgrade goldrank, or build the index again",
            )
        if checksum != _digest(content):
            raise InputError("the manifest is damaged (its checksum is wrong)", where=where, remedy=REBUILD)
        if not is_manifest(content):
            raise InputError("this is not a manifest of goldrank", where=where, remedy=REBUILD)
        return cls(**content)


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, eq=False, repr=False)
class IndexFolder(OpenIndex):
    """An open index: searched with vectors, or with texts and the model that made it."""

    path: Path
    manifest: Manifest
    index: Index
    ids: list[str]
    transform: Pipeline | None
    warnings: tuple[DataWarning, ...] = ()
    """What was found while it was built, such as truncated texts; empty if it was opened."""
    empty_texts: int = 0
    """How many texts were empty when it was built; 0 if it was opened."""

    def describe(self) -> dict[str, Any]:
        """Return what the manifest says."""
        return asdict(self.manifest)

    @cached_property
    def texts(self) -> dict[str, str] | None:
        """The texts by id, read on first use; None if the index was built without them."""
        if TEXTS not in self.manifest.files:
            return None
        file = self.path / self.manifest.folder / TEXTS
        if not file.is_file():
            raise InputError("the index was replaced after it was opened", where=str(file), remedy="open it again")
        return dict(zip(self.ids, _read_json(file, len(self.ids)), strict=True))

    def model(self, given: str | None = None) -> str:
        """Return the model to load for queries: *given* by the user, or else the manifest's if that is harmless.

        A manifest is data and may come from anyone, so a model that runs code or opens a connection is loaded only
        where the user names it.
        """
        if given is not None:
            return given
        named: object = self.manifest.model
        if not isinstance(named, str):
            raise InputError(
                "the index does not say which model made it", where=str(self.path), remedy="name it with -m"
            )
        if effects_of(named):
            raise InputError(
                f"the manifest names the model {describe_effects(named)}",
                where=str(self.path),
                remedy="name it yourself with -m if you trust it; a manifest is data, and anyone may have written it",
            )
        return named

    def refuse_other(self, encoder: Encoder) -> None:
        """Raise unless *encoder* is the one that made the items: vectors of two models cannot be compared."""
        if self.manifest.identity is not None and encoder.identity != self.manifest.identity:
            raise InputError(
                f"the items were encoded by {shorten(self.manifest.identity, 160)}, "
                f"the queries would be by {shorten(encoder.identity, 160)}",
                where=str(self.path),
                remedy="search with the model of the index, or build it again",
            )

    def search(
        self, queries: Any, k: int, *, query_ids: Sequence[str] | None = None, exclude_self: bool = False
    ) -> Run:
        """Return the k best items for query vectors of the model; the transform of the index is applied to them."""
        vectors = queries if self.transform is None else self.transform.apply(queries)
        return self.index.top_k(vectors, k, query_ids=query_ids, exclude_self=exclude_self)


def build_index(
    data: PathLike | TextList | Collection | Mapping[str, str],
    model: str | Encoder,
    output: PathLike,
    *,
    factory: str = "Flat",
    transform: str | None = None,
    similarity: str = "cosine",
    keep_texts: bool = True,
    overwrite: bool = False,
) -> IndexFolder:
    """Encode texts and write an index of them as a folder, which appears when it is complete.

    Args:
        data: Texts with ids: a file (JSON(L), CSV, TSV, Parquet, lines), a BEIR folder, a dict of texts by id, or a
            Collection, whose items are indexed.
        model: What encodes the texts: a spec, or an encoder.
        output: The folder to write.
        factory: ``exact``, or a faiss factory such as ``HNSW32``.
        transform: Such as ``center|whiten:256``, fitted on the texts.
        similarity: ``cosine``, ``dot`` or ``l2``.
        keep_texts: Keep the texts beside the vectors, to show them with results.
        overwrite: Replace an index that is there.

    >>> import tempfile
    >>> index = build_index({"a": "red wine", "b": "chess"}, "wordllama", f"{tempfile.mkdtemp()}/index")
    >>> list(index.search_texts("wine", k=1)["1"])
    ['a']
    """
    refuse_existing(output, overwrite)
    pipeline = Pipeline.parse(transform) if transform else None
    if isinstance(data, Collection):
        texts = texts_of(data.items)
    elif isinstance(data, Mapping):
        texts = TextList(list(data), list(data.values()), "the texts")
    else:
        texts = data if isinstance(data, TextList) else read_texts(data)
    encoder = load_encoder(model, texts.texts)
    name = model if isinstance(model, str) else encoder.identity
    with live_vectors([encoder]):
        vectors = encode_texts(encoder, texts.texts, "item")
    write_index(
        output,
        factory if factory == "exact" else f"faiss:{factory}",
        vectors,
        texts.ids,
        similarity=similarity,
        texts=texts.texts if keep_texts else None,
        model=name if isinstance(model, str) else None,
        encoder=encoder,
        transform=None if pipeline is None else pipeline.fit(vectors),
        overwrite=overwrite,
    )
    warnings = warnings_of({"texts": count_truncated(encoder, texts.texts, "item")}, name)
    opened = _open(Path(output), Manifest.load(Path(output)), verify=False)
    return replace(opened, warnings=tuple(warnings), empty_texts=texts.empty)


def write_index(
    path: PathLike,
    spec: str,
    vectors: Any,
    ids: Sequence[str],
    *,
    similarity: str = "cosine",
    texts: Sequence[str] | None = None,
    model: str | None = None,
    encoder: Encoder | None = None,
    transform: Pipeline | None = None,
    overwrite: bool = False,
) -> Manifest:
    """Build an index and write it as a folder, which appears when it is complete.

    Args:
        path: the folder; an existing index is replaced only with *overwrite*.
        spec: ``exact`` or ``faiss:FACTORY``.
        vectors: one row per item, as the model gives them; *transform*, fitted, is applied to them.
        ids: their ids.
        similarity: ``cosine``, ``dot`` or ``l2``.
        texts: to show with the results.
        model: the spec that loads the encoder again for queries.
        encoder: what made the vectors; its identity is kept.
        transform: kept with the index, for queries too.
        overwrite: replace an existing index.
    """
    from goldrank import __version__

    if spec != "exact" and not spec.startswith("faiss:"):
        raise InputError(
            f"an index folder cannot hold {shorten(redact(spec))}", remedy="use exact, or faiss: and a factory"
        )
    target = refuse_existing(path, overwrite)
    rows = checked_vectors(vectors if transform is None else transform.apply(vectors), "item")
    index = build(spec, rows, ids, checked_similarity(similarity))
    fill: dict[str, Callable[[BinaryIO], object]] = {IDS: lambda out: out.write(json.dumps(list(ids)).encode())}
    if isinstance(index, FaissIndex):
        fill[FAISS] = lambda out: _write_faiss(index, out)
    else:
        fill[VECTORS] = lambda out: np.save(out, rows)
    if texts is not None:
        fill[TEXTS] = lambda out: out.write(json.dumps(list(texts)).encode())
    prompt = getattr(encoder, "prompt", None)
    manifest = Manifest(
        index=index.spec,
        similarity=similarity,
        dimension=index.dimension,
        count=index.count,
        model=None if model is None else redact(model),
        identity=None if encoder is None else encoder.identity,
        prompts={} if prompt is None else {side: prompt(side) for side in ("query", "item")},
        transform=None if transform is None else transform.identity,
        goldrank=__version__,
        faiss=load_faiss().__version__ if isinstance(index, FaissIndex) else None,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        folder=f"files-{os.urandom(6).hex()}",
    )
    is_new, data = not target.exists(), target / manifest.folder
    try:
        data.mkdir(parents=True)
        for name, write in fill.items():
            write_atomically(data / name, write)
            manifest.files[name] = stamp(data / name)
        if transform is not None:
            transform.save(data / TRANSFORM)
            manifest.files[TRANSFORM] = stamp(data / TRANSFORM)
        before = _folder_in_use(target)
        write_atomically(target / MANIFEST, lambda out: out.write(manifest.dump()))
    except BaseException as error:
        if _folder_in_use(target) != manifest.folder:
            shutil.rmtree(data, ignore_errors=True)
            with suppress(OSError):
                target.rmdir() if is_new else None
        if isinstance(error, OSError):
            raise GoldrankError(f"{path}: the index cannot be written ({error.strerror}); nothing was kept") from None
        raise
    # Processes that opened the old files keep them; those that only read the old manifest read the new one.
    for entry in [target / before] if before else []:
        shutil.rmtree(entry, ignore_errors=True)
    _sweep(target)
    return manifest


def refuse_existing(path: PathLike, overwrite: bool) -> Path:
    """Return the folder to write; raise if it holds something else, before long work starts."""
    target = Path(path).resolve()
    if not target.exists() or (target.is_dir() and all(_LEFTOVER.fullmatch(entry.name) for entry in target.iterdir())):
        return target
    if not (target / MANIFEST).is_file():
        raise InputError("there is something else than an index", where=str(path), remedy="choose another folder")
    if not overwrite:
        raise InputError("there is an index already", where=str(path), remedy="add --overwrite to replace it")
    return target


def _folder_in_use(target: Path) -> str | None:
    """Return the folder that the manifest names; None where there is no manifest that can be read."""
    try:
        return Manifest.load(target).folder
    except InputError:
        return None


def _sweep(target: Path) -> None:
    """Remove files of killed builds from the folder of an index; recent ones may belong to a build in progress."""
    used = _folder_in_use(target)
    for entry in target.iterdir():
        with suppress(OSError):
            last = max(path.stat().st_mtime for path in (entry, *entry.glob("*")))
            is_old = time.time() - last > _ABANDONED_SECONDS
            if used is not None and entry.name != used and _LEFTOVER.fullmatch(entry.name) and is_old:
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def _write_faiss(index: FaissIndex, out: BinaryIO) -> None:
    faiss = load_faiss()
    faiss.write_index(index.faiss_index, faiss.PyCallbackIOWriter(out.write, _CHUNK))


def open_index(
    path: PathLike, *, verify: bool = False, ids: Sequence[object] | PathLike | None = None
) -> IndexFolder | FaissFile:
    """Open an index folder, or a bare file of faiss.write_index; large vectors are mapped, not read.

    Of a folder the size of every file and the CRC-32 of its blocks are compared with the manifest: of all blocks up to
    1 GiB, of as many spread over the file where it is larger.

    Args:
        path: the folder that goldrank wrote, or a file that faiss wrote.
        verify: compare the SHA-256 of every file of a folder.
        ids: of a bare file, one id for each vector, or a file with one per line; by default the ids that the index
            holds itself, else "0", "1", ….

    Raises:
        InputError: if there is no index, or it is damaged or replaced, or an argument does not apply to it.

    >>> import tempfile
    >>> path = build_index({"a": "red wine", "b": "chess"}, "wordllama", f"{tempfile.mkdtemp()}/index").path
    >>> open_index(path).ids
    ['a', 'b']
    """
    if Path(path).is_file():
        if verify:
            raise InputError("a faiss file has no checksums to verify", where=str(path), remedy="leave verify out")
        return open_faiss_file(path, ids)
    if ids is not None:
        raise InputError("an index folder holds its ids", where=str(path), remedy="leave the given ids out")
    folder = Path(path)
    manifest = Manifest.load(folder)
    try:
        return _open(folder, manifest, verify)
    except InputError:
        # Somebody may have replaced the index after its manifest was read.
        if (now := Manifest.load(folder)).folder == manifest.folder:
            raise
        return _open(folder, now, verify)


def _open(path: Path, manifest: Manifest, verify: bool) -> IndexFolder:
    folder = path / manifest.folder
    for name, expected in manifest.files.items():
        refuse_damaged(folder / name, expected, verify)
    ids = _read_json(folder / IDS, manifest.count)
    transform = Pipeline.load(folder / TRANSFORM) if TRANSFORM in manifest.files else None
    index = _read_index(folder, manifest, ids)
    if (index.count, index.dimension) != (manifest.count, manifest.dimension):
        raise InputError(
            f"the file holds {index.count} vectors of {index.dimension} dimensions, "
            f"the manifest says {manifest.count} of {manifest.dimension}",
            where=str(folder),
            remedy=REBUILD,
        )
    return IndexFolder(path, manifest, index, ids, transform)


def _read_json(path: Path, count: int) -> list[str]:
    try:
        content = json.loads(read_bytes(path))
    except (ValueError, RecursionError):
        raise InputError("the file is no JSON", where=str(path), remedy=REBUILD) from None
    if not isinstance(content, list) or not all(isinstance(text, str) for text in content):
        raise InputError("the file is not a list of texts", where=str(path), remedy=REBUILD)
    if len(content) != count:
        raise InputError(
            f"the file holds {len(content)} texts, the manifest says {count}", where=str(path), remedy=REBUILD
        )
    return content


def _read_index(folder: Path, manifest: Manifest, ids: list[str]) -> Index:
    similarity = checked_similarity(manifest.similarity)
    if manifest.index == "exact":
        with suppress(ValueError, OSError, EOFError, SyntaxError):
            vectors = np.load(folder / VECTORS, mmap_mode="r", allow_pickle=False)
            if isinstance(vectors, np.ndarray) and vectors.ndim == 2 and vectors.dtype.kind == "f":
                return build("exact", vectors, ids, similarity)
        raise InputError("the file holds no vectors", where=str(folder / VECTORS), remedy=REBUILD)
    faiss = load_faiss()
    factory = Factory.parse(manifest.index)
    # Flat indexes can be used where they lie; others are read, because not all of their parts can be mapped.
    mapped = factory.name == "Flat" and manifest.files[FAISS]["size"] >= MAP_FROM
    try:
        read = faiss.read_index(str(folder / FAISS), faiss.IO_FLAG_MMAP_IFC if mapped else 0)
        return FaissIndex(read, ids, similarity, factory)
    except (RuntimeError, MemoryError, AttributeError, TypeError, ValueError):
        raise InputError("faiss cannot read the file", where=str(folder / FAISS), remedy=REBUILD) from None
