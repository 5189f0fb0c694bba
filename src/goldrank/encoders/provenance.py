"""Where a model comes from: its package, the version of it, and a stamp of its files."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import logging
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from goldrank.errors import InputError, MissingExtraError
from goldrank.io.fingerprints import file_digest


def require(module: str, kind: str, extra: str, package: str | None = None) -> Any:
    """Import *module*, or say how to install it."""
    root = logging.getLogger()
    before = root.level, list(root.handlers)
    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing = (error.name or module).partition(".")[0]
        named = package or module.partition(".")[0]
        if missing != module.partition(".")[0]:
            named = f"{named} with {missing}"
        raise MissingExtraError(f"the encoder '{kind}'", named, extra) from error
    finally:
        # Some packages turn logging of everything on while they are imported.
        root.setLevel(before[0])
        root.handlers[:] = before[1]


def require_later(module: str, kind: str, extra: str, package: str | None = None) -> None:
    """Say now how to install what is missing, but leave the import for when it is used: a stored result needs none."""
    if importlib.util.find_spec(module) is None:
        raise MissingExtraError(f"the encoder '{kind}'", package or module, extra)


def version_of(*distributions: str) -> str:
    """Names and versions of installed packages.

    >>> version_of("no-such-package")
    'no-such-package ?'
    """
    return " ".join(f"{name} {_version(name)}" for name in distributions)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "?"


def stamp(path: Path) -> str:
    """Return a digest of the content of a file, or of all files in a folder with their names.

    Never of times or places: a copy of a model is the same model, and a file that was replaced is another one.
    """
    digest = hashlib.sha256()
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    for file in files:
        digest.update(f"{file.relative_to(path).as_posix()}\0{file_digest(file)}\n".encode())
    return digest.hexdigest()[:16]


def texts_stamp(texts: Iterable[str]) -> str:
    """A digest of texts and their order: what a fitted model learned from."""
    digest = hashlib.sha256()
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.hexdigest()[:16]


def local_stamp(name: str) -> str | None:
    """The stamp of a model that is a folder or file here, None for one from a hub."""
    path = Path(name).expanduser()
    return stamp(path) if path.exists() else None


def hub_commit(name: str, *files: str) -> str:
    """Return the commit of a model in the cache of the hub's client, by one of its *files*; "unknown" if none is there.

    The name of a model says nothing of its weights, which its owner may replace.
    """
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return "unknown"
    for file in files:
        try:
            found = try_to_load_from_cache(name, file)
        except ValueError:  # not the name of a repository
            continue
        if isinstance(found, str):
            return Path(found).parent.name
    return "unknown"


def no_model(kind: str, name: str, error: Exception) -> InputError:
    """The error for a model that could not be loaded, whether from here or from a hub."""
    reason = next(iter(str(error).strip().splitlines()), type(error).__name__).rstrip(".")[:160]
    return InputError(
        f"{kind}: the model {name!r} could not be loaded ({reason})",
        remedy="check the name; where the hub cannot be reached, the path of a local folder with the model works too",
    )
