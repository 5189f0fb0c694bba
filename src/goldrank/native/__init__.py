"""The inner loops: where judged items landed in a run, and in a block of scores; compiled where it can be."""

import os

from goldrank.native.faults import RowFault

COMPILED = not os.environ.get("GOLDRANK_NO_NATIVE")
if COMPILED:
    try:
        from goldrank.native._counting import count_beyond, pair_scores, places_between, row_scores
        from goldrank.native._native import mapping_hits, trec_columns, trec_hits
    except ImportError:
        COMPILED = False
if not COMPILED:
    from goldrank.native.counting_fallback import count_beyond, pair_scores, places_between, row_scores
    from goldrank.native.fallback import mapping_hits, trec_columns, trec_hits

__all__ = [
    "COMPILED",
    "RowFault",
    "count_beyond",
    "mapping_hits",
    "pair_scores",
    "places_between",
    "row_scores",
    "trec_columns",
    "trec_hits",
]
