"""Types of the compiled part; `fallback.py` is the same in Python and says what each function does."""

from collections.abc import Mapping, Sequence
from mmap import mmap

import numpy as np
from numpy.typing import NDArray

def trec_columns(
    data: bytes | bytearray | memoryview | mmap, width: int, value_column: int
) -> tuple[list[str], bytearray, list[str], bytearray, bytearray, int]: ...
def trec_hits(
    data: bytes | bytearray | memoryview | mmap,
    gold_queries: Sequence[str],
    gold_starts: NDArray[np.int64],
    gold_items: Sequence[str],
    float32: bool,
    drop_self: bool,
    counts: NDArray[np.int64],
    depth: NDArray[np.int64],
) -> tuple[int, int, int, int, int, int, int, int, int]: ...
def mapping_hits(
    run: Mapping[str, Mapping[str, float]],
    gold_queries: Sequence[str],
    gold_starts: NDArray[np.int64],
    gold_items: Sequence[str],
    float32: bool,
    drop_self: bool,
    counts: NDArray[np.int64],
    depth: NDArray[np.int64],
) -> tuple[int, int, int, int, int, int, int, int, int]: ...
