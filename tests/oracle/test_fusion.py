"""Fused scores against ranx."""

import numpy as np
import pytest

from goldrank.fusion import fuse
from goldrank.hits import Run


@pytest.mark.oracle
@pytest.mark.parametrize(("method", "peer"), [("rrf", "rrf"), ("combsum", "sum"), ("combmnz", "mnz")])
def test_fused_rankings_are_those_of_ranx(method, peer):
    ranx = pytest.importorskip("ranx")
    rng = np.random.default_rng(5)
    runs = [
        {f"q{q}": {f"d{d}": float(rng.random()) for d in rng.choice(60, 40, replace=False)} for q in range(5)}
        for _ in range(3)
    ]
    theirs = ranx.fuse([ranx.Run(run) for run in runs], norm="min-max", method=peer).to_dict()
    ours = fuse([Run(run) for run in runs], method).to_dict()
    if method == "rrf":
        theirs = ranx.fuse([ranx.Run(run) for run in runs], norm=None, method="rrf", params={"k": 60}).to_dict()
    for query, ranking in ours.items():
        assert ranking == pytest.approx(dict(theirs[query]), abs=1e-9)
