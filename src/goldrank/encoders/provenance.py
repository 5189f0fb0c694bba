"""The provenance of a model: import of its package, version numbers, and stamps (digests) of its files."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import logging
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from goldrank.encoders.base import UNKNOWN
from goldrank.errors import InputError, MissingExtraError, reason_of
from goldrank.io.fingerprints import add_text, file_digest


def import_package(module: str, kind: str, extra: str, package: str | None = None) -> Any:
    """Import *module* for the encoder *kind*, or raise an error with the extra that installs *package*."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing = (error.name or module).partition(".")[0]
        needed = package or module.partition(".")[0]
        if missing != module.partition(".")[0]:
            needed = f"{needed} with {missing}"
        raise MissingExtraError(f"the encoder '{kind}'", needed, extra) from error
    finally:
        # Some packages reconfigure the root logger while they are imported.
        root.setLevel(level)
        root.handlers[:] = handlers


def check_installed(module: str, kind: str, extra: str) -> None:
    """Raise as `import_package` does if *module* is not installed; stored results do not need it imported."""
    if importlib.util.find_spec(module) is None:
        raise MissingExtraError(f"the encoder '{kind}'", module, extra)


def version_of(*distributions: str) -> str:
    """Return the names and versions of packages.

    >>> version_of("no-such-package")
    'no-such-package ?'
    """

    def version(name: str) -> str:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return "?"

    return " ".join(f"{name} {version(name)}" for name in distributions)


def stamp(path: Path) -> str:
    """Return a digest of the content of a file, or of all files in a folder with their names.

    Modification times and the location are not part of it: a copy of a model is the same model.
    """
    digest = hashlib.sha256()
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    for file in files:
        digest.update(f"{file.relative_to(path).as_posix()}\0{file_digest(file)}\n".encode())
    return digest.hexdigest()[:16]


def texts_stamp(texts: Iterable[str]) -> str:
    """Return a digest of texts in their order, for the identity of a fitted model."""
    digest = hashlib.sha256()
    for text in texts:
        add_text(digest, text)
    return digest.hexdigest()[:16]


def fitted_on(texts: Sequence[str]) -> str:
    """Return the part of a fitted model's version that identifies the texts it was fitted on."""
    return f" fitted on {len(texts)} texts {texts_stamp(texts)}"


def local_path(name: str) -> str:
    """Return the path of a model that is a local folder or file, or else its hub name unchanged."""
    path = Path(name).expanduser()
    return str(path) if path.exists() else name


def local_stamp(name: str) -> str | None:
    """Return the stamp of a model that is a local folder or file, None for a model of a hub."""
    path = Path(name).expanduser()
    return stamp(path) if path.exists() else None


def model_stamp(name: str, config: Any) -> str:
    """Return the stamp of a local model, or the hub commit in the configuration that transformers loaded."""
    return local_stamp(name) or str(getattr(config, "_commit_hash", None) or UNKNOWN)


def hub_commit(name: str, *files: str) -> str:
    """Return the commit of a model in the cache of the hub's client, found by one of its *files*, or "unknown".

    The name of a model does not identify its weights, because its owner may replace them.
    """
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return UNKNOWN
    for file in files:
        try:
            cached = try_to_load_from_cache(name, file)
        except ValueError:  # not the name of a repository
            continue
        if isinstance(cached, str):
            return Path(cached).parent.name
    return UNKNOWN


def load_error(kind: str, name: str, error: Exception) -> InputError:
    """Return the error for a model that could not be loaded, from a local folder or from a hub."""
    return InputError(
        f"{kind}: the model {name!r} could not be loaded ({reason_of(error)})",
        remedy="check the name; if the hub cannot be reached, give the path of a local folder with the model",
    )
