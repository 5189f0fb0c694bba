"""Sums of the vectors of tokens, for models that know each token by one vector."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.hits import Ints

STATIC_BATCH_SIZE = 1024
"""Texts per batch of models that know each token by one vector: nothing is padded, so only memory limits it."""


def sum_rows(table: NDArray[Any], rows: NDArray[Any], counts: Ints) -> NDArray[Any]:
    """Return a sum of rows of *table* for each text; nothing is padded.

    Rows are added one after the other in the precision of the table, as by ``table[rows].sum(axis=0)`` for each text,
    so that a sum does not depend on the other texts.

    Args:
        table: one vector per row.
        rows: the numbers of the rows of all texts, text after text.
        counts: how many rows each text has; a text without any has the sum 0.

    >>> sum_rows(np.eye(2, dtype=np.float32), np.array([0, 1, 1]), np.array([1, 0, 2])).tolist()
    [[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]]
    """
    from scipy.sparse import csr_matrix

    starts = np.concatenate([[0], np.cumsum(counts)])
    # Multiplying by 1 is exact, and the product adds the rows of a text in order.
    chosen = csr_matrix((np.ones(len(rows), table.dtype), rows, starts), shape=(len(counts), len(table)))
    return np.asarray(chosen @ np.asarray(table))
