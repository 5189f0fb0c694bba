"""Parse TREC files, count hits, compare scores, resample, number words and search by them: compiled or in Python.

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
INTEGER_KERNELS: list[tuple[str, int]] = []
"""Instructions for products of 16-bit integers, the fastest first, and the queries that each packs together.

Empty if they are not built, not supported by the processor, or disabled by GOLDRANK_NO_INTEGERS.
"""

if not TYPE_CHECKING and not os.environ.get("GOLDRANK_NO_NATIVE"):
    try:
        from goldrank.native import _amx_tiles, _integer_products
        from goldrank.native import _truncation_guard as truncation_guard
        from goldrank.native._hit_counting import (
            count_column_hits,
            count_mapping_hits,
            count_packed_hits,
            count_trec_hits,
        )
        from goldrank.native._pair_scoring import score_divided_rows, score_pairs, score_rows
        from goldrank.native._posting_lists import search_postings
        from goldrank.native._resampling import (
            add_draws,
            add_signed_sums,
            add_weighted_sums,
            certified_sum,
            draw_bit_counts,
            draw_counts,
            sum_columns,
        )
        from goldrank.native._score_counting import count_beyond, find_between
        from goldrank.native._table_parser import has_repeated_items, pack_delimited, pack_json
        from goldrank.native._trec_parser import parse_trec
        from goldrank.native._word_numbers import number_pieces, number_words

        COMPILED = True
        HAS_TILES = not os.environ.get("GOLDRANK_NO_TILES") and _amx_tiles.available()
        INTEGER_KERNELS = [] if os.environ.get("GOLDRANK_NO_INTEGERS") else _integer_products.kernels()
    except ImportError:
        truncation_guard = None
if TYPE_CHECKING or not COMPILED:
    from goldrank.native.fallback.hit_counting import (
        count_column_hits,
        count_mapping_hits,
        count_packed_hits,
        count_trec_hits,
    )
    from goldrank.native.fallback.pair_scoring import score_divided_rows, score_pairs, score_rows
    from goldrank.native.fallback.posting_lists import search_postings
    from goldrank.native.fallback.resampling import (
        add_draws,
        add_signed_sums,
        add_weighted_sums,
        certified_sum,
        draw_bit_counts,
        draw_counts,
        sum_columns,
    )
    from goldrank.native.fallback.score_counting import count_beyond, find_between
    from goldrank.native.fallback.table_parser import has_repeated_items, pack_delimited, pack_json
    from goldrank.native.fallback.trec_parser import parse_trec
    from goldrank.native.fallback.word_numbers import number_pieces, number_words

__all__ = [
    "COMPILED",
    "HAS_TILES",
    "INTEGER_KERNELS",
    "RowFault",
    "RunTotals",
    "add_draws",
    "add_signed_sums",
    "add_weighted_sums",
    "certified_sum",
    "count_beyond",
    "count_column_hits",
    "count_mapping_hits",
    "count_packed_hits",
    "count_trec_hits",
    "draw_bit_counts",
    "draw_counts",
    "find_between",
    "has_repeated_items",
    "number_pieces",
    "number_words",
    "pack_delimited",
    "pack_json",
    "parse_trec",
    "score_divided_rows",
    "score_pairs",
    "score_rows",
    "search_postings",
    "sum_columns",
    "truncation_guard",
]
