"""Load arrays from NumPy files, with an `InputError` for any fault, and from torch tensors."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError, reason_of
from goldrank.io.compression import over_limit, size_limit
from goldrank.io.files import PathLike


def load_array(path: PathLike) -> NDArray[Any]:
    """Map the array of a ``.npy`` file, which may be larger than memory.

    If the file is truncated while the array is in use, the command ends with an error message, and a program that uses
    goldrank ends with SIGBUS.
    """
    with _faults(path):
        if _holds_objects(path):
            raise InputError(
                "the array holds Python objects, which are a pickle and never loaded",
                where=os.fspath(path),
                remedy="save numbers: np.save(FILE, np.array(rows, dtype=np.float32)), with rows of one length",
            )
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(array, np.ndarray):
            array.close()
            raise ValueError("it is a .npz archive")
        return array


def _holds_objects(path: PathLike) -> bool:
    """Return True if the header of a ``.npy`` file names the type of Python objects."""
    with Path(path).open("rb") as file:
        start = file.read(4096)
    return start.startswith(b"\x93NUMPY") and re.search(rb"'descr': '\|O[0-9]*'", start) is not None


def load_arrays(path: PathLike) -> dict[str, NDArray[Any]]:
    """Return all arrays of a ``.npz`` file by name; a file larger than `size_limit` when unpacked is refused."""
    with _faults(path):
        with zipfile.ZipFile(path) as archive:
            size, limit = sum(member.file_size for member in archive.infolist()), size_limit(Path(path).stat().st_size)
        if size > limit:
            raise over_limit(limit, os.fspath(path), packed=True)
        with np.load(path, allow_pickle=False) as arrays:
            content = {name: arrays[name] for name in arrays.files}
        for name, array in content.items():
            # Members that are not .npy files are returned as bytes.
            if not isinstance(array, np.ndarray):
                raise ValueError(f"{name[:60]!r} is not an array")
        return content


def as_array(obj: Any) -> Any:
    """Return a torch tensor of any device as a numpy array, and everything else as it is."""
    if type(obj).__module__.partition(".")[0] != "torch" or not hasattr(obj, "detach"):
        return obj
    tensor = obj.detach().cpu()
    return tensor.float().numpy() if "bfloat16" in str(tensor.dtype) else tensor.numpy()


@contextmanager
def _faults(path: PathLike) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except MemoryError:
        raise InputError("the arrays do not fit in memory", where=os.fspath(path), remedy="write fewer rows") from None
    except Exception as error:
        # numpy and zipfile raise nearly anything for a damaged header: TokenError, BadZipFile, KeyError, zlib.error …
        raise InputError(
            f"the file cannot be read ({reason_of(error)})",
            where=os.fspath(path),
            remedy="copy or write it again",
        ) from None
