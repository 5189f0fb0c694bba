"""The inner loops: where judged items landed in a run, and in a block of scores; compiled where it can be."""

import os
from types import ModuleType

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
guard: ModuleType | None = None
"""The guard of mapped files that are truncated while they are read, where it was built."""
if COMPILED:
    try:
        from goldrank.native import _guard

        guard = _guard
    except ImportError:
        guard = None
TILES = COMPILED and not os.environ.get("GOLDRANK_NO_TILES")
"""Whether products can be taken with the tiles of AMX: built, there on this processor, and allowed by the system."""
if TILES:
    try:
        from goldrank.native import _tiles

        TILES = _tiles.available()
    except ImportError:
        TILES = False

__all__ = [
    "COMPILED",
    "TILES",
    "RowFault",
    "count_beyond",
    "guard",
    "mapping_hits",
    "pair_scores",
    "places_between",
    "row_scores",
    "trec_columns",
    "trec_hits",
]
