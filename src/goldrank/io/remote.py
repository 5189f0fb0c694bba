"""Access files by a local path or by a URL of any file system that pyarrow or fsspec supports.

Other machines of a cluster can read a local path only if all of them mount it, so errors name the machine on which they
occurred. Addresses are shown without their secrets.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

from goldrank.errors import GoldrankError, InputError, reason_of
from goldrank.io.files import write_atomically
from goldrank.io.fingerprints import file_digest
from goldrank.io.formats.parquet import load_pyarrow

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# The file system and, after user and password, the path in it, without parameters.
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)(?:[^/@?#]*@)?([^?#]*)")


def shown(url: str) -> str:
    """Return the address as messages may show it: without user, password and parameters.

    >>> shown("s3://key:secret@bucket/items.parquet?region=eu-central-1")
    's3://bucket/items.parquet'
    """
    address = _ADDRESS.match(url)
    return f"{address[1]}{address[2]}" if address else url


def absolute(place: str) -> str:
    """Return an absolute path, which means the same in every process; an address stays as it is."""
    return place if _SCHEME.match(place) else str(Path(place).expanduser().absolute())


def join(folder: str, *names: str) -> str:
    """Return the address of something inside a folder; the parameters of a URL stay at its end.

    >>> join("s3://bucket/job?region=eu-central-1", "a.npz")
    's3://bucket/job/a.npz?region=eu-central-1'
    """
    if not _SCHEME.match(folder):
        return str(Path(folder, *names))
    place, mark, parameters = folder.partition("?")
    return "/".join((place.rstrip("/"), *names)) + mark + parameters


def file_system(url: str) -> tuple[Any, str]:
    """Return the pyarrow file system of an address, and the path in it."""
    load_pyarrow()
    from pyarrow import fs

    return _opened(url) if _SCHEME.match(url) else (fs.LocalFileSystem(), str(Path(url).absolute()))


# Opening a file system may require a request to a server, so it is done once per address.
@lru_cache(maxsize=1024)
def _opened(url: str) -> tuple[Any, str]:
    pyarrow, _ = load_pyarrow()
    from pyarrow import fs

    try:
        system, path = fs.FileSystem.from_uri(url)
        return system, str(path)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        if url.startswith("file:"):
            remedy = "write file:/// and an absolute path"
            raise InputError(f"this is not an address ({reason_of(error)})", where=shown(url), remedy=remedy) from None
        refusal = error
    try:
        system, path = import_module("fsspec.core").url_to_fs(url)
    except (ImportError, OSError, ValueError) as error:
        reason = error if not isinstance(error, ModuleNotFoundError) or error.name != "fsspec" else refusal
        raise InputError(
            f"no file system takes this address ({reason_of(reason)})",
            where=shown(url),
            remedy="give a path, or install the fsspec package for such addresses",
        ) from None
    return fs.PyFileSystem(fs.FSSpecHandler(system)), str(path)


def write_whole(url: str, fill: Callable[[Any], object]) -> None:
    """Let *fill* write a new file beside the address and move it into place; missing parents are created."""
    system, path = file_system(url)
    with _faults(url, "written"):
        if system.type_name == "local":
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, fill)
            return
        folder, _, name = path.rpartition("/")
        if folder:
            system.create_dir(folder, recursive=True)
        temporary = f"{folder}/.{name[:80]}.{os.urandom(6).hex()}.tmp"
        try:
            with system.open_output_stream(temporary) as stream:
                fill(stream)
            system.move(temporary, path)
        except BaseException:
            # The first error is the one to report.
            with suppress(Exception):
                system.delete_file(temporary)
            raise


def open_input(url: str) -> Any:
    """Open a file for random access."""
    system, path = file_system(url)
    with _faults(url, "read"):
        return system.open_input_file(path)


def read_bytes(url: str) -> bytes:
    """Return all bytes of a file."""
    with open_input(url) as stream, _faults(url, "read"):
        content: bytes = stream.read()
    return content


def exists(url: str) -> bool:
    """Return True if there is a file or folder at this address."""
    return str(_information(url).type.name) != "NotFound"


def is_folder(url: str) -> bool:
    """Return True if there is a folder at this address."""
    return str(_information(url).type.name) == "Directory"


def stamp(url: str) -> str:
    """Return what shows whether a file has changed: a digest of a local file, size and time of a remote one.

    Remote file systems offer no more, and reading a remote file twice would cost as much as the work on it.
    """
    information = _information(url)
    if information.type.name != "File":
        raise _missing(url)
    system, path = file_system(url)
    if system.type_name == "local":
        return file_digest(path)
    return f"{information.size} {information.mtime_ns}"


def list_files(folder: str, endings: Sequence[str]) -> list[str]:
    """Return the sorted addresses of the files in a folder with these *endings*, without hidden ones."""
    system, path = file_system(folder)
    from pyarrow import fs

    with _faults(folder, "read"):
        entries = system.get_file_info(fs.FileSelector(path))
    names = [each.base_name for each in entries if each.type.name == "File" and not each.base_name.startswith(".")]
    return [join(folder, name) for name in sorted(names) if name.endswith(tuple(endings))]


def remove_tree(folder: str) -> None:
    """Remove a folder with its content; a missing folder is not an error."""
    system, path = file_system(folder)
    with _faults(folder, "removed"), suppress(FileNotFoundError):
        system.delete_dir(path)


@contextmanager
def _faults(url: str, done: str) -> Iterator[None]:
    """Turn errors of file systems into InputErrors with the machine, the address and a remedy."""
    pyarrow, _ = load_pyarrow()
    try:
        yield
    except GoldrankError:
        raise
    except FileNotFoundError:
        raise _missing(url) from None
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(
            f"this cannot be {done} on {socket.gethostname()} ({reason_of(error)})",
            where=shown(url),
            remedy="check its permissions and the disk, or give a folder that all nodes reach",
        ) from None


def _missing(url: str) -> InputError:
    what = f"this cannot be read on {socket.gethostname()}: there is no such file or folder"
    return InputError(what, where=shown(url), remedy="check its name, and on a cluster that all nodes reach it")


def _information(url: str) -> Any:
    system, path = file_system(url)
    with _faults(url, "read"):
        return system.get_file_info(path)
