"""Convert between Arrow arrays and Python strings or numpy arrays by their buffers.

The functions of pyarrow for this import pandas, if it is installed, and take longer.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.io.formats.parquet import load_pyarrow


def strings_to_arrow(texts: list[str], *, surrogates: bool = False) -> Any:
    """Return strings as an Arrow array of ``large_string``.

    Args:
        texts: the strings.
        surrogates: whether to return ``large_binary`` instead, in which strings that are not valid Unicode have a form.

    Raises:
        UnicodeEncodeError: a string is not valid Unicode, and *surrogates* is not set.
    """
    pyarrow, _ = load_pyarrow()
    joined = "".join(texts)
    if joined.isascii():
        parts: list[Any] = texts
        content = joined.encode()
    else:
        parts = [text.encode("utf-8", "surrogatepass" if surrogates else "strict") for text in texts]
        content = b"".join(parts)
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)), out=offsets[1:])
    kind = pyarrow.large_binary() if surrogates else pyarrow.large_string()
    return pyarrow.Array.from_buffers(kind, len(texts), [None, pyarrow.py_buffer(offsets), pyarrow.py_buffer(content)])


def strings_from_arrow(array: Any) -> list[str]:
    """Return the strings of an array of strings, or of bytes as `strings_to_arrow` writes them, without nulls.

    >>> strings_from_arrow(strings_to_arrow(["a", "", "né"]))
    ['a', '', 'né']
    """
    bounds, data = _text_buffers(array)
    pairs = pairwise(bounds.tolist())
    if data.isascii():
        text = data.decode("ascii")
        return [text[start:end] for start, end in pairs]
    return [data[start:end].decode("utf-8", "surrogatepass") for start, end in pairs]


def find_string(array: Any, text: str) -> int:
    """Return the first position of a string in an array as `strings_from_arrow` reads it; -1 if it is not there.

    >>> find_string(strings_to_arrow(["abc", "c", "bc"]), "bc"), find_string(strings_to_arrow(["abc", "c"]), "bc")
    (2, -1)
    """
    bounds, data = _text_buffers(array)
    key = text.encode("utf-8", "surrogatepass")
    if not key:
        return next(iter(np.flatnonzero(bounds[1:] == bounds[:-1]).tolist()), -1)
    start = data.find(key)
    while start >= 0:
        position = int(np.searchsorted(bounds, start, side="right")) - 1
        if bounds[position] == start and bounds[position + 1] == start + len(key):
            return position
        start = data.find(key, start + 1)
    return -1


def _text_buffers(array: Any) -> tuple[NDArray[np.int64], bytes]:
    """Return where each string begins and the last one ends, and the bytes of all."""
    pyarrow, _ = load_pyarrow()
    _, offset_buffer, content = array.buffers()
    large = pyarrow.types.is_large_string(array.type) or pyarrow.types.is_large_binary(array.type)
    offsets = np.frombuffer(offset_buffer or bytes(8), np.int64 if large else np.int32)
    bounds = offsets[array.offset : array.offset + len(array) + 1].astype(np.int64)
    first, last = int(bounds[0]), int(bounds[-1])
    return bounds - first, memoryview(content or b"")[first:last].tobytes()


def numbers_to_arrow(values: NDArray[Any]) -> Any:
    """Return an array of numbers or truth values as an Arrow array of the same type."""
    pyarrow, _ = load_pyarrow()
    is_bits = values.dtype == bool
    content = np.packbits(values, bitorder="little") if is_bits else np.ascontiguousarray(values)
    kind = pyarrow.bool_() if is_bits else pyarrow.from_numpy_dtype(values.dtype)
    return pyarrow.Array.from_buffers(kind, len(values), [None, pyarrow.py_buffer(content)])


def numbers_from_arrow(array: Any) -> NDArray[Any]:
    """Return the numbers or truth values of an Arrow array.

    >>> numbers_from_arrow(numbers_to_arrow(np.array([True, False, True]))).tolist()
    [True, False, True]
    """
    pyarrow, _ = load_pyarrow()
    kind = array.type
    is_bits = pyarrow.types.is_boolean(kind)
    if array.null_count or not (is_bits or pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind)):
        return array.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    # `kind.to_pandas_dtype()` imports pandas in pyarrow up to 25.
    letter = "f" if pyarrow.types.is_floating(kind) else "i" if pyarrow.types.is_signed_integer(kind) else "u"
    content = np.frombuffer(array.buffers()[1] or b"", np.uint8 if is_bits else f"{letter}{kind.bit_width // 8}")
    if is_bits:
        content = np.unpackbits(content, bitorder="little").view(bool)
    return content[array.offset : array.offset + len(array)]
