"""Types of the compiled comparisons; `counting_fallback.py` is the same in numpy and says what each function does."""

import numpy as np
from numpy.typing import NDArray

def count_beyond(
    scores: NDArray[np.floating],
    low: NDArray[np.floating],
    high: NDArray[np.floating],
    above: NDArray[np.int64],
    reached: NDArray[np.int64],
    /,
) -> None: ...
def row_scores(
    items: NDArray[np.floating],
    numbers: NDArray[np.int64],
    query: NDArray[np.float64],
    squared: bool,
    scores: NDArray[np.float64],
    /,
) -> None: ...
def pair_scores(
    items: NDArray[np.floating],
    numbers: NDArray[np.int64],
    queries: NDArray[np.float64],
    columns: NDArray[np.int64],
    scores: NDArray[np.float64],
    /,
) -> None: ...
def places_between(
    scores: NDArray[np.floating], low: NDArray[np.floating], high: NDArray[np.floating], /
) -> bytearray: ...
