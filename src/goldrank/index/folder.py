"""An index as a folder: vectors, ids, texts and a manifest that says what made them; whole, or not there at all."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from goldrank.encoders.base import Encoder
from goldrank.errors import GoldrankError, InputError, shorten
from goldrank.hits import Run
from goldrank.index.base import Index, build, checked_similarity, checked_vectors
from goldrank.index.faiss_index import Factory, FaissIndex, load_faiss
from goldrank.io.files import PathLike, read_bytes, write_atomically
from goldrank.vectors.transforms import Pipeline

FORMAT = 1
MANIFEST, VECTORS, FAISS = "manifest.json", "vectors.npy", "index.faiss"
IDS, TEXTS, TRANSFORM = "ids.json", "texts.json.zst", "transform.npz"
_MAP_FROM = 1 << 26
_CHUNK = 1 << 22


@dataclass(frozen=True)
class Manifest:
    """What is in an index folder and what made it."""

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
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Size and SHA-256 of every other file."""
    format: int = FORMAT

    def dump(self) -> bytes:
        """The manifest as JSON, with a checksum of itself."""
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
                "there is no index here" if folder.is_dir() else "there is no such folder",
                where=str(folder),
                remedy="build one with: goldrank index build",
            ) from None
        except NotADirectoryError:
            raise InputError(
                "this is a file, not an index folder", where=str(folder), remedy="check the path"
            ) from None
        except OSError as error:
            raise InputError(f"the manifest cannot be read ({error.strerror})", where=where) from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InputError("this is no manifest of goldrank", where=where, remedy=_REBUILD) from None
        if isinstance(version, int) and version > FORMAT:
            raise InputError(
                f"the index has format {version}, this goldrank reads up to {FORMAT}",
                where=where,
                remedy="upgrade goldrank, or build the index again",
            )
        if checksum != _digest(content):
            raise InputError("the manifest is damaged (its checksum is wrong)", where=where, remedy=_REBUILD)
        try:
            return cls(**content)
        except TypeError:
            raise InputError("this is no manifest of goldrank", where=where, remedy=_REBUILD) from None


_REBUILD = "copy the folder again, or build the index again"


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class IndexFolder:
    """An open index: searched with vectors, or with texts and the model that made it."""

    path: Path
    manifest: Manifest
    index: Index
    ids: list[str]
    transform: Pipeline | None

    @cached_property
    def texts(self) -> dict[str, str] | None:
        """The texts by id, read when first asked for; None where the index was built without them."""
        if TEXTS not in self.manifest.files:
            return None
        texts = _read_json(self.path, TEXTS, self.manifest)
        return dict(zip(self.ids, texts, strict=True))

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
        """The k best items for query vectors as the model gives them; the index's transform is applied to them."""
        vectors = queries if self.transform is None else self.transform.apply(queries)
        return self.index.top_k(vectors, k, query_ids=query_ids, exclude_self=exclude_self)


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
        path: the folder; an index that is there already is replaced only with *overwrite*.
        spec: ``exact`` or ``faiss:FACTORY``.
        vectors: one row per item, as the model gives them; *transform*, fitted, is applied to them.
        ids: their ids.
        similarity: ``cosine``, ``dot`` or ``l2``.
        texts: to show with the results.
        model: the spec that loads the encoder again for queries.
        encoder: what made the vectors; its identity is kept.
        transform: kept with the index, for queries too.
        overwrite: replace an index that is there.
    """
    from goldrank import __version__

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
        model=model,
        identity=None if encoder is None else encoder.identity,
        prompts={} if prompt is None else {side: prompt(side) for side in ("query", "item")},
        transform=None if transform is None else transform.identity,
        goldrank=__version__,
        faiss=load_faiss().__version__ if isinstance(index, FaissIndex) else None,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
    )
    temporary = target.with_name(f".{target.name[:80]}.{os.urandom(6).hex()}.tmp")
    try:
        temporary.mkdir(parents=True)
        for name, write in fill.items():
            write_atomically(temporary / name, write)
            manifest.files[name] = _stamp(temporary / name)
        if transform is not None:
            transform.save(temporary / TRANSFORM)
            manifest.files[TRANSFORM] = _stamp(temporary / TRANSFORM)
        write_atomically(temporary / MANIFEST, lambda out: out.write(manifest.dump()))
        _move_into_place(temporary, target)
    except OSError as error:
        raise GoldrankError(f"{path}: the index cannot be written ({error.strerror}); nothing was kept") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return manifest


def refuse_existing(path: PathLike, overwrite: bool) -> Path:
    """The folder to write; asked before long work whether something is in the way."""
    target = Path(path).resolve()
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return target
    if not (target / MANIFEST).is_file():
        raise InputError("something that is no index is there", where=str(path), remedy="choose another folder")
    if not overwrite:
        raise InputError("there is an index already", where=str(path), remedy="add --overwrite to replace it")
    return target


def _move_into_place(temporary: Path, target: Path) -> None:
    # A folder cannot be renamed onto a full one: the old one steps aside first, and back if that was in vain.
    aside = temporary.with_suffix(".old")
    if target.exists():
        target.rename(aside)
    try:
        temporary.rename(target)
    except OSError:
        if aside.exists():
            aside.rename(target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _write_faiss(index: FaissIndex, out: BinaryIO) -> None:
    faiss = load_faiss()
    faiss.write_index(index.faiss_index, faiss.PyCallbackIOWriter(out.write, _CHUNK))


def _stamp(path: Path) -> dict[str, Any]:
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return {"size": path.stat().st_size, "sha256": digest.hexdigest()}


def open_index(path: PathLike, *, verify: bool = False) -> IndexFolder:
    """Open an index folder; large vectors are mapped, not read.

    Sizes are always compared with the manifest, and checksums of what is read whole; *verify* reads the vectors too.
    """
    folder = Path(path)
    manifest = Manifest.load(folder)
    for name, stamp in manifest.files.items():
        _refuse_damaged(folder / name, stamp, verify)
    ids = _read_json(folder, IDS, manifest)
    transform = None
    if TRANSFORM in manifest.files:
        _refuse_damaged(folder / TRANSFORM, manifest.files[TRANSFORM], verify=True)
        transform = Pipeline.load(folder / TRANSFORM)
    index = _read_index(folder, manifest, ids)
    found = (index.count, index.dimension, len(ids))
    if found != (manifest.count, manifest.dimension, manifest.count):
        raise InputError(
            f"the files hold {index.count} vectors of {index.dimension} dimensions and {len(ids)} ids, "
            f"the manifest says {manifest.count} of {manifest.dimension}",
            where=str(folder),
            remedy=_REBUILD,
        )
    return IndexFolder(folder, manifest, index, ids, transform)


def _refuse_damaged(path: Path, stamp: dict[str, Any], verify: bool) -> None:
    if not path.is_file():
        raise InputError("the file is missing from the index", where=str(path), remedy=_REBUILD)
    if (size := path.stat().st_size) != stamp["size"]:
        raise InputError(f"the file has {size} bytes instead of {stamp['size']}", where=str(path), remedy=_REBUILD)
    if verify and _stamp(path)["sha256"] != stamp["sha256"]:
        raise InputError("the file is damaged (its checksum is wrong)", where=str(path), remedy=_REBUILD)


def _read_json(folder: Path, name: str, manifest: Manifest) -> list[str]:
    _refuse_damaged(folder / name, manifest.files[name], verify=True)
    content: list[str] = json.loads(read_bytes(folder / name))
    return content


def _read_index(folder: Path, manifest: Manifest, ids: list[str]) -> Index:
    similarity = checked_similarity(manifest.similarity)
    if manifest.index == "exact":
        with suppress(ValueError, OSError, EOFError):
            return build("exact", np.load(folder / VECTORS, mmap_mode="r", allow_pickle=False), ids, similarity)
        raise InputError("the file holds no vectors", where=str(folder / VECTORS), remedy=_REBUILD)
    faiss = load_faiss()
    factory = Factory.parse(manifest.index)
    # Flat indexes can be used where they lie; others are read, because not all of their parts can be mapped.
    mapped = factory.name == "Flat" and manifest.files[FAISS]["size"] >= _MAP_FROM
    try:
        read = faiss.read_index(str(folder / FAISS), faiss.IO_FLAG_MMAP_IFC if mapped else 0)
    except (RuntimeError, MemoryError):
        raise InputError("faiss cannot read the file", where=str(folder / FAISS), remedy=_REBUILD) from None
    return FaissIndex(read, ids, similarity, factory)
