"""Texts and vectors shared by the tests of transforms."""

import numpy as np

KINDS = ["center", "standardize", "normalize", "whiten", "whiten:3", "pca:2", "abtt:2", "truncate:4", "int8", "binary"]
LEARNING = ["center", "standardize", "whiten", "whiten:3", "pca:2", "abtt:2", "int8"]
LONG = "standardize|abtt:1|whiten:4|int8|normalize"


def cloud(count=200, width=8, seed=0, dtype=np.float32):
    """Return correlated vectors of full rank, away from the origin."""
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((count, width)) @ rng.standard_normal((width, width)) + rng.normal(3, 2, width)).astype(
        dtype
    )


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
