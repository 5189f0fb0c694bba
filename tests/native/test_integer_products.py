"""Test that products of vectors rounded to 16-bit integers stay within the bound that counts and searches rely on."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.index.exact import counting as exact_counting
from goldrank.index.exact import products as exact_products
from goldrank.index.exact.index import exact_hits
from goldrank.index.exact.products import Integers
from goldrank.native import INTEGER_KERNELS
from native.vector_kinds import KINDS, close_rows, vectors
from profiles import examples

if INTEGER_KERNELS:
    from goldrank.native import _integer_products

PANELS = dict(INTEGER_KERNELS)
needs_integers = pytest.mark.skipif(not INTEGER_KERNELS, reason="no integer products: not built, or no AVX2")
each_kernel = pytest.mark.parametrize(
    "kernel",
    [
        pytest.param(name, marks=pytest.mark.skipif(name not in PANELS, reason=f"this processor has no {name}"))
        for name in ("avx512-vnni", "avx-vnni", "avx2")
    ],
)
COUNTS = ("above", "tied", "tied_docid", "tied_input", "depth")
SHAPES = [(1, 1, 1), (5, 17, 31), (6, 16, 32), (33, 65, 300), (13, 32, 64), (31, 97, 513), (3, 5, 1100), (700, 40, 33)]


def lengths_above(rows):
    return 1.001 * np.sqrt(np.square(rows.astype(np.float64)).sum(axis=1))


def integers_of(kernel, items, queries, *, squared=False):
    """Return the integers of items and queries, and the scores and products of their pairs."""
    lengths = lengths_above(items)
    integers = Integers(squared=squared, longest=lengths.max(), kernel=(kernel, PANELS[kernel]))
    wide = items.astype(np.float64)
    halves = 0.5 * np.square(wide).sum(axis=1) if squared else np.zeros(len(items))
    packed = integers.pack_items(items, halves, lengths.max()), integers.pack_queries(queries, lengths_above(queries))
    out = np.zeros((len(items), len(queries)), np.int32)
    offsets = integers._offsets(*packed)
    _integer_products.products(kernel, packed[0].numbers, offsets, packed[1].packed, out)
    return integers, *packed, wide @ queries.astype(np.float64).T - halves[:, None], out


@each_kernel
@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_products_err_by_no_more_than_the_margin(kernel, shape, kind, squared):
    rows, columns, width = shape
    rng = np.random.default_rng(sum(shape))
    items, queries = vectors(kind, rows, width, rng), vectors("normal" if sum(shape) % 2 else kind, columns, width, rng)
    integers, packed_items, packed_queries, scores, products = integers_of(kernel, items, queries, squared=squared)
    scaled = scores * packed_items.scale * packed_queries.scales
    assert (np.abs(products - scaled) <= integers.margins(packed_items, packed_queries)).all()


@each_kernel
def test_the_largest_products_do_not_overflow(kernel):
    for width in (1, 2, 3, 64, 4096):
        for row in (np.eye(1, width), np.ones((1, width)), np.full((1, width), 1e-3)):
            same = np.repeat(row, 20, axis=0).astype(np.float32)
            for queries in (same, -same):
                for squared in (False, True):
                    *_, items, integer_queries, scores, products = integers_of(kernel, same, queries, squared=squared)
                    np.testing.assert_allclose(products, scores * items.scale * integer_queries.scales, rtol=1e-2)


@each_kernel
def test_sums_are_those_of_wide_integers(kernel):
    rng = np.random.default_rng(3)
    *_, items, queries, _, products = integers_of(
        kernel, vectors("normal", 45, 70, rng), vectors("normal", 37, 70, rng)
    )
    panel = PANELS[kernel]
    rows = queries.packed.reshape(-1, 35, panel, 2).transpose(0, 2, 1, 3).reshape(-1, 70)[:37]
    assert products.tolist() == (items.numbers.astype(np.int64) @ rows.astype(np.int64).T).tolist()


@st.composite
def comparisons(draw):
    rows, columns, width = draw(st.integers(1, 80)), draw(st.integers(1, 80)), draw(st.integers(1, 70))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    items = vectors(draw(st.sampled_from(KINDS)), rows, width, rng)
    queries = vectors(draw(st.sampled_from(["normal", "edges"])), columns, width, rng)
    widths = np.array(draw(st.lists(st.integers(0, columns), max_size=4)), np.int64)
    return items, queries, widths, rng.integers(-3, rows + 3, columns), draw(st.integers(0, 300)), rng


@each_kernel
@given(comparisons())
def test_counting_is_comparing_the_products_with_the_limits(kernel, problem):
    items, queries, widths, left_out, most, rng = problem
    integers, packed_items, packed_queries, _, products = integers_of(kernel, items, queries)
    for column in np.flatnonzero((left_out >= 0) & (left_out < len(items))):
        products[left_out[column], column] = -(2**31)
    repeated = np.concatenate([products[:, :width] for width in widths], axis=1) if len(widths) else products[:, :0]
    at = rng.integers(0, len(items), (2, repeated.shape[1]))
    limits = np.sort(np.maximum(repeated[at, np.arange(repeated.shape[1])], -(2**31) + 1), axis=0)
    low, high = np.ascontiguousarray(limits[0]), np.ascontiguousarray(limits[1])
    near = integers.compare(packed_items, packed_queries, left_out, widths, low, high, most)
    between = (repeated >= low) & ~(repeated > high)
    assert near.above.tolist() == (repeated > high).sum(axis=0).tolist()
    assert near.between.tolist() == between.sum(axis=0).tolist()
    if between.sum() > most:
        assert near.places is None
    else:
        assert sorted(near.places.tolist()) == np.flatnonzero(between).tolist()


@each_kernel
@given(comparisons(), st.integers(1, 30), st.integers(1, 30))
def test_selecting_keeps_the_largest_products_above_the_floor(kernel, problem, depth, room):
    items, queries, _, _, first, rng = problem
    integers, packed_items, packed_queries, _, products = integers_of(kernel, items, queries)
    entries = products.astype(np.int64) * 2**32 + first + np.arange(len(items))[:, None]
    floors = np.where(rng.random(len(queries)) < 0.5, -(2**63), entries[rng.integers(0, len(items)), :])
    best, counts, rising = (
        np.zeros((len(queries), depth + room), np.int64),
        np.zeros(len(queries), np.int64),
        floors.copy(),
    )
    integers.select(packed_items, packed_queries, first, depth, best, counts, rising)
    for query in range(len(queries)):
        expected = sorted((entry for entry in entries[:, query].tolist() if entry > floors[query]), reverse=True)
        assert sorted(best[query, : counts[query]].tolist(), reverse=True)[:depth] == expected[:depth]


def hits_both_ways(kernel, *arguments, **options):
    """Return the counts with integers, for any number of queries, and with BLAS."""
    results = []
    for kernels in ([(kernel, PANELS[kernel])], []):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(exact_counting, "LEAST_QUERIES", 0)
            patch.setattr(exact_products, "HAS_TILES", False)
            patch.setattr(exact_products, "INTEGER_KERNELS", kernels)
            hits = exact_hits(*arguments, **options)
        results.append([getattr(hits, name).tolist() for name in COUNTS])
    return results


@each_kernel
@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
@pytest.mark.parametrize(
    ("kind", "scale"), [*((kind, 1.0) for kind in ["close", "equal", *KINDS]), ("close", 1e-30), ("edges", 1e18)]
)
def test_hits_with_integers_are_those_without(kernel, similarity, kind, scale):
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
        with_integers, without = hits_both_ways(kernel, queries, items, gold, **options)
        assert with_integers == without
    for block, threads in ((40, 1), (64, 2), (149, 3)):
        assert hits_both_ways(kernel, queries, items, gold, block=block, threads=threads, **options)[0] == without


@each_kernel
@given(st.integers(1, 60), st.integers(1, 40), st.integers(1, 6), st.integers(0, 2**32), st.sampled_from([1, 2, 3]))
@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
@examples(0.3)
def test_any_few_vectors_are_counted_alike(kernel, similarity, n_items, n_queries, width, seed, threads):
    rng = np.random.default_rng(seed)
    palette = rng.standard_normal(4)
    items = rng.choice(palette, (n_items, width)).astype(np.float32)
    queries = rng.choice(palette, (n_queries, width)).astype(np.float32)
    gold = {str(q): {str(i): 1 for i in rng.integers(0, n_items, 3)} for q in range(n_queries)}
    options = {"similarity": similarity, "exclude_self": bool(seed % 2), "threads": threads}
    with_integers, without = hits_both_ways(kernel, queries, items, gold, **options)
    assert with_integers == without


@needs_integers
def test_integers_are_used_for_certified_float32_counts_of_many_queries_only(monkeypatch):
    used = []
    compare = Integers.compare
    monkeypatch.setattr(exact_products, "HAS_TILES", False)
    monkeypatch.setattr(Integers, "compare", lambda self, *rest: used.append(1) or compare(self, *rest))
    rng = np.random.default_rng(1)
    items, queries = rng.standard_normal((500, 8), np.float32), rng.standard_normal((100, 8), np.float32)

    def uses_integers(count, dtype=np.float32, **options):
        used.clear()
        gold = {str(q): {str(q): 1} for q in range(count)}
        exact_hits(queries[:count].astype(dtype), items.astype(dtype), gold, **options)
        return bool(used)

    assert uses_integers(100)
    assert uses_integers(100, np.float16)
    assert not uses_integers(5)
    assert not uses_integers(100, np.float64)
    assert not uses_integers(100, certify=False)


@pytest.mark.parametrize("variable", ["GOLDRANK_NO_INTEGERS", "GOLDRANK_NO_NATIVE"])
@pytest.mark.parametrize("setting", ["", "1"])
def test_the_environment_can_do_without_integers(variable, setting):
    path = os.pathsep.join(filter(None, sys.path))
    cleared = {"GOLDRANK_NO_INTEGERS": "", "GOLDRANK_NO_NATIVE": ""}
    environment = {**os.environ, **cleared, variable: setting, "PYTHONPATH": path}
    command = [sys.executable, "-c", "from goldrank import native; print(len(native.INTEGER_KERNELS))"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert int(run.stdout) == (0 if setting else len(INTEGER_KERNELS))


def zeros(*shape, dtype=np.int16):
    return np.zeros(shape, dtype)


@needs_integers
@pytest.mark.parametrize(
    ("rows", "scales", "out", "left_over"),
    [
        (zeros(3, 5, dtype=np.float64), 3, zeros(3, 6), 3),
        (zeros(5, 3, dtype=np.float32).T, 3, zeros(3, 6), 3),
        (zeros(3, 5, dtype=np.float32), 2, zeros(3, 6), 3),
        (zeros(3, 5, dtype=np.float32), 3, zeros(3, 4), 3),
        (zeros(3, 5, dtype=np.float32), 3, zeros(2, 6), 3),
        (zeros(3, 5, dtype=np.float32), 3, zeros(3, 6), 4),
        (zeros(3, 5, dtype=np.float32), 3, zeros(3, 6, dtype=np.uint16), 3),
    ],
    ids=["float64", "gaps", "few scales", "too narrow", "few rows", "many lengths", "unsigned"],
)
def test_rows_that_do_not_fit_are_refused(rows, scales, out, left_over):
    with pytest.raises(ValueError, match=r"array"):
        _integer_products.round_vectors(rows, np.ones(scales, np.float32), out, np.zeros(left_over))


@needs_integers
@pytest.mark.parametrize(
    ("items", "offsets", "panels", "columns"),
    [((3, 5), 3, 1, 3), ((3, 6), 2, 1, 3), ((3, 6), 3, 2, 3), ((3, 6), 3, 1, 99), ((3, 8), 3, 1, 3)],
    ids=["odd", "few offsets", "many panels", "many columns", "other width"],
)
def test_operands_that_do_not_fit_are_refused(items, offsets, panels, columns):
    kernel, panel = INTEGER_KERNELS[0]
    packed = zeros(panels, 6 * panel)
    with pytest.raises(ValueError, match="do not fit"):
        _integer_products.products(
            kernel, zeros(*items), zeros(offsets, dtype=np.int32), packed, zeros(3, columns, dtype=np.int32)
        )


@needs_integers
@pytest.mark.parametrize(
    ("widths", "limits", "counts"), [([4], 4, 4), ([-1], 3, 3), ([3], 2, 3), ([3, 3], 6, 3), ([3], 3, 4)]
)
def test_limits_and_counts_that_do_not_fit_are_refused(widths, limits, counts):
    kernel, panel = INTEGER_KERNELS[0]
    low, above, left_out = zeros(limits, dtype=np.int32), np.zeros(counts, np.int64), np.zeros(3, np.int64)
    operands = zeros(3, 6), zeros(3, dtype=np.int32), zeros(1, 6 * panel), left_out, np.array(widths, np.int64)
    with pytest.raises(ValueError, match=r"round|limit"):
        _integer_products.count(kernel, *operands, low, low, above, above.copy(), np.zeros(9, np.int64))


@needs_integers
@pytest.mark.parametrize(
    ("first", "depth", "entries", "counts", "floors"),
    [
        (0, 1, (3, 2), [0, 0], 3),
        (0, 1, (3, 2), [0, 0, 0], 2),
        (0, 2, (3, 2), [0, 0, 0], 3),
        (0, 0, (3, 2), [0, 0, 0], 3),
        (0, 1, (3, 2), [0, 2, 0], 3),
        (0, 1, (3, 2), [0, -1, 0], 3),
        (2**32 - 2, 1, (3, 2), [0, 0, 0], 3),
        (-1, 1, (3, 2), [0, 0, 0], 3),
    ],
)
def test_selections_that_do_not_fit_are_refused(first, depth, entries, counts, floors):
    kernel, panel = INTEGER_KERNELS[0]
    operands = zeros(3, 6), zeros(3, dtype=np.int32), zeros(1, 6 * panel)
    best = zeros(*entries, dtype=np.int64), np.array(counts, np.int64), np.zeros(floors, np.int64)
    with pytest.raises(ValueError, match=r"count|room|bits"):
        _integer_products.select(kernel, *operands, first, depth, *best)


@needs_integers
def test_instructions_that_the_processor_lacks_are_refused():
    with pytest.raises(ValueError, match="does not support"):
        _integer_products.products(
            "avx1024", zeros(1, 2), zeros(1, dtype=np.int32), zeros(1, 32), zeros(1, 1, dtype=np.int32)
        )
