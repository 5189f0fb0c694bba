"""Test that products with bfloat16 tiles stay within the bound that the counts rely on, and change no count."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from goldrank.index.exact import counting as exact_counting
from goldrank.index.exact import products as exact_products
from goldrank.index.exact.index import exact_hits
from goldrank.index.exact.products import rounding_error, tile_error
from goldrank.native import HAS_TILES
from native.vector_kinds import EDGES, KINDS, TINY, WORST, WORST_OF_ALL, close_rows, vectors
from profiles import examples

if HAS_TILES:
    from goldrank.index.exact.products import Tiles
    from goldrank.native import _amx_tiles

needs_tiles = pytest.mark.skipif(not HAS_TILES, reason="no AMX tiles: not built, not on this processor, or not allowed")
COUNTS = ("above", "tied", "tied_docid", "tied_input", "depth")
SHAPES = [(1, 1, 1), (15, 17, 31), (16, 16, 32), (33, 65, 300), (64, 32, 64), (31, 97, 513), (3, 5, 1100), (70, 40, 33)]


def product_of(items, queries):
    tiles, out = Tiles(items.shape[1]), np.full((len(items), len(queries)), np.nan, np.float32)
    _amx_tiles.products(tiles.pack(items, queries=False), tiles.pack(queries, queries=True), out)
    return out


def lengths_of(rows):
    return np.sqrt(np.square(rows.astype(np.float64)).sum(axis=1))


@needs_tiles
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", ["normal", "wide", "edges", "same"])
def test_products_err_by_no_more_than_the_bound(shape, kind, other):
    rows, columns, width = shape
    rng = np.random.default_rng(sum(shape))
    items = vectors(kind, rows, width, rng)
    queries = items[rng.integers(0, rows, columns)] if other == "same" else vectors(other, columns, width, rng)
    if kind == "cancelling" and other == "normal":
        queries[:, width // 2 : width // 2 * 2] = queries[:, : width // 2]
    # The error of float64 is a billionth of this; it represents every float32 and every product of two exactly.
    exact = items.astype(np.float64) @ queries.astype(np.float64).T
    error = tile_error(width, _amx_tiles.SUM_LENGTH)
    bound = error.bound(lengths_of(queries), lengths_of(items)[:, None], squared=False)
    assert (np.abs(product_of(items, queries) - exact) <= bound).all()


@needs_tiles
@pytest.mark.parametrize("kind", KINDS)
def test_two_parts_hold_all_but_a_share_of_2_to_the_minus_17_of_a_number(kind):
    rng = np.random.default_rng(4)
    items = vectors(kind, 50, 70, rng)
    rounded = product_of(items, np.eye(70, dtype=np.float32)).astype(np.float64)
    assert (np.abs(rounded - items) <= np.maximum(2.0**-17 * np.abs(items.astype(np.float64)), TINY)).all()
    if kind in ("normal", "wide", "edges"):
        assert (rounded[np.abs(items) > 0] != 0).all()


def parts(rows):
    """Return the two bfloat16 parts of each number, from the definition of rounding to 8 significant bits."""
    wide = rows.astype(np.float64)

    def rounded(values):
        fraction, exponent = np.frexp(values)
        return np.ldexp(np.rint(fraction * 2**8), exponent - 8)

    high = rounded(wide)
    return high, rounded(wide - high)


@given(st.sampled_from([1, 7, 300, 511, 512, 513, 1024, 4096]), st.integers(0, 2**32), st.booleans(), st.booleans())
@example(dimension=300, seed=0, same=True, squared=False)
@examples(1.5)
def test_the_bound_covers_what_is_left_out_and_what_any_order_of_adding_loses(dimension, seed, same, squared):
    rng = np.random.default_rng(seed)
    palette = rng.choice(WORST if same else EDGES, 3)
    query, item = rng.choice(palette, dimension), rng.choice(palette, dimension)
    if same:
        query = item
    query, item = query.astype(np.float32), item.astype(np.float32)
    query_length, item_length = (float(lengths_of(rows[None])[0]) for rows in (query, item))
    if squared:
        query = np.append(query, np.float32(1))
        item = np.append(item, np.float32(-0.5 * item_length**2))
    (query_high, query_low), (item_high, item_low) = parts(query), parts(item)
    multiplied = np.stack([query_high * item_high, query_high * item_low, query_low * item_high])
    left_out = np.abs(query.astype(np.float64) * item - multiplied.sum(axis=0)).sum()
    # A product is part of at most this many additions, each of which has an error of at most half an ulp.
    length = 512
    additions = 3 * min(len(query), length) - 1 + -(-len(query) // length) - 1
    adding = ((1 + 2.0**-24) ** additions - 1) * np.abs(multiplied).sum()
    rounding_the_last = 2.0**-24 * 0.5 * item_length**2 if squared else 0.0
    needed = left_out + adding + rounding_the_last
    given_bound = float(tile_error(dimension, length).bound(np.array(query_length), item_length, squared=squared))
    assert needed <= given_bound


@needs_tiles
def test_the_worst_numbers_come_near_the_bound_but_not_beyond():
    worst = np.full((1, 16), WORST_OF_ALL, np.float32)
    missed = np.square(worst.astype(np.float64)).sum() - float(product_of(worst, worst)[0, 0])
    bound = float(tile_error(16, _amx_tiles.SUM_LENGTH).bound(lengths_of(worst), lengths_of(worst), squared=False)[0])
    assert 0.8 * bound < missed <= bound


@needs_tiles
def test_the_limits_of_a_count_with_tiles_are_at_least_as_far_apart_as_the_tiles_err(monkeypatch):
    rng = np.random.default_rng(2)
    items, queries = vectors("edges", 3000, 40, rng), vectors("edges", 80, 40, rng)
    calls = []
    compare = Tiles.compare

    def watched(self, packed_items, packed_queries, rows, left_out, widths, low, high, most):
        out = np.empty((rows, len(left_out)), np.float32)
        _amx_tiles.products(packed_items, packed_queries, out)
        calls.append((out, low, high))
        return compare(self, packed_items, packed_queries, rows, left_out, widths, low, high, most)

    monkeypatch.setattr(Tiles, "compare", watched)
    gold = {str(q): {str(7 * q): 1} for q in range(80)}
    exact_hits(queries, items, gold, similarity="dot", block=1000, threads=1)
    scales = 2.0 ** -np.frexp(np.abs(queries).max(axis=1))[1]
    exact = items.astype(np.float64) @ (queries * scales[:, None]).astype(np.float64).T
    scores = exact[7 * np.arange(80), np.arange(80)]
    assert len(calls) == 3
    for block, (out, low, high) in enumerate(calls):
        error = np.abs(out - exact[1000 * block :][:1000]).max(axis=0)
        assert (high - scores >= error).all()
        assert (scores - low >= error).all()


def test_tiles_are_given_a_wider_bound_than_a_float32_product():
    for dimension in (1, 300, 512):
        assert tile_error(dimension, 512).share > rounding_error(dimension, np.dtype(np.float32)).share


@st.composite
def comparisons(draw):
    rows, columns, width = draw(st.integers(1, 80)), draw(st.integers(1, 80)), draw(st.integers(1, 70))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    items = vectors(draw(st.sampled_from(KINDS)), rows, width, rng)
    queries = vectors(draw(st.sampled_from(["normal", "edges"])), columns, width, rng)
    widths = np.array(draw(st.lists(st.integers(0, columns), max_size=4)), np.int64)
    left_out = rng.integers(-3, rows + 3, columns)
    return items, queries, widths, left_out, draw(st.integers(0, 300)), rng


@needs_tiles
@given(comparisons())
def test_counting_is_comparing_the_products_with_the_limits(problem):
    items, queries, widths, left_out, most, rng = problem
    product = product_of(items, queries)
    for column in np.flatnonzero((left_out >= 0) & (left_out < len(items))):
        product[left_out[column], column] = -np.inf
    repeated = np.concatenate([product[:, :width] for width in widths], axis=1) if len(widths) else product[:, :0]
    finite = np.where(np.isfinite(repeated), repeated, 0)
    # Some limits equal scores of their column, to distinguish > from >=.
    at = rng.integers(0, len(items), (2, repeated.shape[1]))
    limits = np.sort(finite[at, np.arange(repeated.shape[1])], axis=0)
    low, high = np.ascontiguousarray(limits[0]), np.ascontiguousarray(limits[1])
    tiles = Tiles(items.shape[1])
    packed = tiles.pack(items, queries=False), tiles.pack(queries, queries=True)
    near = tiles.compare(*packed, len(items), left_out, widths, low, high, most)
    between = (repeated >= low) & ~(repeated > high)
    assert near.above.tolist() == (repeated > high).sum(axis=0).tolist()
    assert near.between.tolist() == between.sum(axis=0).tolist()
    if between.sum() > most:
        assert near.places is None
    else:
        assert sorted(near.places.tolist()) == np.flatnonzero(between).tolist()


def hits_both_ways(*arguments, **options):
    """Return the counts with tiles, for any number of queries, and without tiles."""
    counts = []
    for tiles in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(exact_products, "LEAST_QUERIES", 0)
            patch.setattr(exact_products, "HAS_TILES", tiles)
            patch.setattr(exact_products, "INTEGER_KERNELS", [])
            hits = exact_hits(*arguments, **options)
        counts.append([getattr(hits, name).tolist() for name in COUNTS])
    return counts


@needs_tiles
@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
@pytest.mark.parametrize(
    ("kind", "scale"), [*((kind, 1.0) for kind in ["close", "equal", *KINDS]), ("close", 1e-30), ("edges", 1e18)]
)
def test_hits_with_tiles_are_those_without(similarity, kind, scale):
    rng = np.random.default_rng(3)
    if kind == "close":
        items = close_rows(150, 24, rng)
    elif kind == "equal":
        items = np.full((150, 24), 0.1, np.float32)
    else:
        items = vectors(kind, 150, 24, rng)
    items *= np.float32(scale)
    queries = np.concatenate([np.ones((1, 24), np.float32), items[:20], -items[20:40]])
    gold = {str(q): {str(i): 1 for i in rng.integers(0, 150, 1 + q % 4)} for q in range(len(queries))}
    # One query has many more gold items than the others.
    gold["5"] = {str(i): 1 for i in range(0, 150, 3)}
    for own in (False, True):
        options = {"similarity": similarity, "exclude_self": own}
        with_tiles, without = hits_both_ways(queries, items, gold, **options)
        assert with_tiles == without
    for block, threads in ((40, 1), (64, 2), (149, 3)):
        assert hits_both_ways(queries, items, gold, block=block, threads=threads, **options)[0] == without


@needs_tiles
@given(st.integers(1, 60), st.integers(1, 40), st.integers(1, 6), st.integers(0, 2**32), st.sampled_from([1, 2, 3]))
@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
@examples(0.3)
def test_any_few_vectors_are_counted_alike_with_tiles_and_without(similarity, n_items, n_queries, width, seed, threads):
    rng = np.random.default_rng(seed)
    palette = rng.choice(EDGES, 4)
    items = rng.choice(palette, (n_items, width)).astype(np.float32)
    queries = rng.choice(palette, (n_queries, width)).astype(np.float32)
    gold = {str(q): {str(i): 1 for i in rng.integers(0, n_items, 3)} for q in range(n_queries)}
    with_tiles, without = hits_both_ways(
        queries, items, gold, similarity=similarity, exclude_self=bool(seed % 2), threads=threads
    )
    assert with_tiles == without


@needs_tiles
@pytest.mark.parametrize("similarity", ["dot", "l2"])
def test_many_open_pairs_are_decided_block_by_block_within_bounded_memory(similarity, monkeypatch):
    monkeypatch.setattr(exact_counting, "_BLOCK_ELEMENTS", 3000)
    rng = np.random.default_rng(6)
    items = close_rows(300, 12, rng)
    queries = items[:90].copy()
    gold = {str(q): {str(i): 1 for i in rng.integers(0, 300, 3)} for q in range(90)}
    with_tiles, without = hits_both_ways(queries, items, gold, similarity=similarity)
    assert with_tiles == without


@needs_tiles
def test_tiles_are_used_for_certified_float32_counts_of_many_queries_only(monkeypatch):
    used = []
    compare = Tiles.compare
    monkeypatch.setattr(Tiles, "compare", lambda self, *rest: used.append(1) or compare(self, *rest))
    rng = np.random.default_rng(1)
    items, queries = rng.standard_normal((500, 8), np.float32), rng.standard_normal((100, 8), np.float32)

    def uses_tiles(count, dtype=np.float32, **options):
        used.clear()
        gold = {str(q): {str(q): 1} for q in range(count)}
        exact_hits(queries[:count].astype(dtype), items.astype(dtype), gold, **options)
        return bool(used)

    assert uses_tiles(100)
    assert uses_tiles(100, np.float16)
    assert not uses_tiles(5)
    assert not uses_tiles(100, np.float64)
    assert not uses_tiles(100, certify=False)


@pytest.mark.parametrize("variable", ["GOLDRANK_NO_TILES", "GOLDRANK_NO_NATIVE"])
@pytest.mark.parametrize("setting", ["", "1"])
def test_the_environment_can_do_without_tiles(variable, setting):
    path = os.pathsep.join(filter(None, sys.path))
    cleared = {"GOLDRANK_NO_TILES": "", "GOLDRANK_NO_NATIVE": ""}
    environment = {**os.environ, **cleared, variable: setting, "PYTHONPATH": path}
    command = [sys.executable, "-c", "from goldrank import native; print(native.HAS_TILES)"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    if setting:
        assert run.stdout.strip() == "False"
    elif HAS_TILES:
        assert run.stdout.strip() == "True"


def packed(rows, width):
    return np.zeros((-(-rows // 32), -(-width // 32) * 2048), np.uint16)


@needs_tiles
@pytest.mark.parametrize(
    ("rows", "target"),
    [
        (np.zeros((3, 5)), packed(3, 5)),
        (np.zeros((5, 3), np.float32).T, packed(3, 5)),
        (np.zeros(5, np.float32), packed(1, 5)),
        (np.zeros((33, 5), np.float32), packed(3, 5)),
        (np.zeros((3, 33), np.float32), packed(3, 5)),
        (np.zeros((3, 5), np.float32), packed(3, 5).view(np.int16)),
    ],
    ids=["float64", "gaps", "one row", "too few panels", "too few steps", "signed"],
)
def test_rows_that_do_not_fit_are_refused(rows, target):
    with pytest.raises(ValueError, match="array"):
        _amx_tiles.pack(rows, target, False)


@needs_tiles
@pytest.mark.parametrize(
    ("items", "queries", "shape"),
    [
        (packed(3, 5), packed(3, 40), (3, 3)),
        (packed(3, 5), packed(3, 5), (33, 3)),
        (packed(3, 5), packed(3, 5), (3, 33)),
    ],
    ids=["other width", "more rows", "more columns"],
)
def test_operands_that_do_not_fit_are_refused(items, queries, shape):
    with pytest.raises(ValueError, match="do not fit"):
        _amx_tiles.products(items, queries, np.zeros(shape, np.float32))


@needs_tiles
@pytest.mark.parametrize(
    ("widths", "limits", "counts"), [([4], 4, 4), ([-1], 3, 3), ([3], 2, 3), ([3, 3], 6, 3), ([3], 3, 4)]
)
def test_limits_and_counts_that_do_not_fit_are_refused(widths, limits, counts):
    low, above, left_out = np.zeros(limits, np.float32), np.zeros(counts, np.int64), np.zeros(3, np.int64)
    sizes, places = np.array(widths, np.int64), np.zeros(9, np.int64)
    with pytest.raises(ValueError, match=r"round|limit"):
        _amx_tiles.count(packed(3, 5), packed(3, 5), 3, left_out, sizes, low, low, above, above.copy(), places)
