"""Reads runs and finds where each judged item landed: compiled where it can be, else in Python."""

import os

from goldrank.native.faults import RowFault

COMPILED = not os.environ.get("GOLDRANK_NO_NATIVE")
if COMPILED:
    try:
        from goldrank.native._native import mapping_hits, trec_columns, trec_hits
    except ImportError:
        COMPILED = False
if not COMPILED:
    from goldrank.native.fallback import mapping_hits, trec_columns, trec_hits

__all__ = ["COMPILED", "RowFault", "mapping_hits", "trec_columns", "trec_hits"]
