"""Fused scores compared with ranx."""

import numpy as np
import pytest

from goldrank.fusion import fuse
from goldrank.hits import Run

pytestmark = pytest.mark.slow


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("method", "peer"),
    [
        ("rrf", "rrf"), ("combsum", "sum"), ("combmnz", "mnz"), ("gmnz", "gmnz"), ("min", "min"), ("max", "max"),
        ("med", "med"), ("anz", "anz"), ("isr", "isr"), ("rbc", "rbc"),
    ],
)  # fmt: skip
def test_fused_rankings_are_those_of_ranx(method, peer):
    ranx = pytest.importorskip("ranx")
    rng = np.random.default_rng(5)
    runs = [
        {f"q{q}": {f"d{d}": float(rng.random()) for d in rng.choice(60, 40, replace=False)} for q in range(5)}
        for _ in range(3)
    ]
    parameters = {"rrf": {"k": 60}, "gmnz": {"gamma": 2.0}, "rbc": {"phi": 0.9}}.get(method)
    scale = None if method in ("rrf", "isr", "rbc") else "min-max"
    theirs = ranx.fuse([ranx.Run(run) for run in runs], norm=scale, method=peer, params=parameters).to_dict()
    ours = fuse([Run(run) for run in runs], method).to_dict()
    for query, ranking in ours.items():
        assert ranking == pytest.approx(dict(theirs[query]), abs=1e-9)
