"""Parse TREC files, count hits and compare scores: compiled code with a Python fallback.

Each subject is an extension module built from one ``.cpp`` file. The module of the same name in `fallback` documents
its functions, and replaces it if the extension modules are not built.
"""

import os
from types import ModuleType
from typing import TYPE_CHECKING

from goldrank.native.fallback.hit_counting import RunTotals
from goldrank.native.faults import RowFault

COMPILED = False
"""Whether the extension modules are used; setting the environment variable GOLDRANK_NO_NATIVE prevents it."""
truncation_guard: ModuleType | None = None
"""Keeps the process alive if a memory-mapped file is truncated; None without extension modules."""
HAS_TILES = False
"""Whether AMX tiles can be used: built, supported by processor and system, and not disabled by GOLDRANK_NO_TILES."""

if not TYPE_CHECKING and not os.environ.get("GOLDRANK_NO_NATIVE"):
    try:
        from goldrank.native import _amx_tiles
        from goldrank.native import _truncation_guard as truncation_guard
        from goldrank.native._hit_counting import count_column_hits, count_mapping_hits, count_trec_hits
        from goldrank.native._pair_scoring import score_pairs, score_rows
        from goldrank.native._score_counting import count_beyond, find_between
        from goldrank.native._trec_parser import parse_trec

        COMPILED = True
        HAS_TILES = not os.environ.get("GOLDRANK_NO_TILES") and _amx_tiles.available()
    except ImportError:
        truncation_guard = None
if TYPE_CHECKING or not COMPILED:
    from goldrank.native.fallback.hit_counting import count_column_hits, count_mapping_hits, count_trec_hits
    from goldrank.native.fallback.pair_scoring import score_pairs, score_rows
    from goldrank.native.fallback.score_counting import count_beyond, find_between
    from goldrank.native.fallback.trec_parser import parse_trec

__all__ = [
    "COMPILED",
    "HAS_TILES",
    "RowFault",
    "RunTotals",
    "count_beyond",
    "count_column_hits",
    "count_mapping_hits",
    "count_trec_hits",
    "find_between",
    "parse_trec",
    "score_pairs",
    "score_rows",
    "truncation_guard",
]
