"""Exact ranks equal those of rational arithmetic, for every number of blocks and threads."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import goldrank as gr
from goldrank.errors import InputError
from goldrank.index.exact.index import ExactIndex, exact_hits
from goldrank.index.exact.search import search
from goldrank.vectors.similarity import normalised
from profiles import examples

ONE = np.float32(1)
UP, DOWN = np.nextafter(ONE, np.float32(2)), np.nextafter(ONE, np.float32(0))
VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, float(UP), float(DOWN), -float(UP), 1 / 3]
COUNTS = ("above", "tied", "tied_docid", "tied_input")


def rational_scores(query, items, similarity):
    """Yield exact scores as fractions; a larger score is nearer."""
    if similarity == "cosine":
        query, items = normalised(query[None])[0], normalised(items)
    exact_query = [Fraction(float(value)) for value in query]
    for item in items:
        pairs = list(zip(exact_query, (Fraction(float(value)) for value in item), strict=True))
        yield -sum((q - x) ** 2 for q, x in pairs) if similarity == "l2" else sum(q * x for q, x in pairs)


def brute_force(queries, items, gold, similarity, query_ids, item_ids, exclude_self):
    expected = []
    for name, judged in gold.items():
        scores = list(rational_scores(queries[query_ids.index(name)], items, similarity))
        rivals = [i for i, item in enumerate(item_ids) if not (exclude_self and item == name)]
        for item in judged:
            position = item_ids.index(item) if item in item_ids else -1
            if position not in rivals:
                expected.append((-1, 0, 0, 0))
                continue
            tied = [i for i in rivals if scores[i] == scores[position] and i != position]
            expected.append(
                (
                    sum(scores[i] > scores[position] for i in rivals),
                    len(tied),
                    sum(item_ids[i].encode() > item.encode() for i in tied),
                    sum(i < position for i in tied),
                )
            )
    return expected


def counts_of(hits):
    return list(zip(*(getattr(hits, name).tolist() for name in COUNTS), strict=True))


@st.composite
def problems(draw):
    dtype = draw(st.sampled_from([np.float32, np.float32, np.float64]))
    dimension, n_items, n_queries = draw(st.integers(1, 5)), draw(st.integers(1, 14)), draw(st.integers(1, 5))
    palette = draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=4))
    numbers = st.sampled_from(palette)
    rows = st.lists(numbers, min_size=dimension, max_size=dimension)
    scales = st.sampled_from([1.0, 1.0, 1.0, 1e18, 1e-30])
    item_scale, query_scale, odd_scale = draw(scales), draw(scales), draw(scales)
    items = np.array(draw(st.lists(rows, min_size=n_items, max_size=n_items))) * item_scale
    items[:: draw(st.integers(2, 5))] *= odd_scale / item_scale
    queries = np.array(draw(st.lists(rows, min_size=n_queries, max_size=n_queries))) * query_scale
    names = draw(st.permutations([f"i{n}" for n in range(n_items - 1)] + ["é"]))
    query_ids = [*names[:2], "q2", "q3", "q4"][:n_queries] if n_items > 1 else [f"q{n}" for n in range(n_queries)]
    known = st.lists(st.sampled_from([*names, "outside"]), min_size=1, max_size=6, unique=True)
    gold = {name: dict.fromkeys(draw(known), 1) for name in query_ids}
    return queries.astype(dtype), items.astype(dtype), gold, query_ids, list(names)


@given(
    problems(),
    st.sampled_from(["cosine", "dot", "l2"]),
    st.booleans(),
    st.one_of(st.none(), st.integers(1, 16)),
    st.sampled_from([1, 2]),
)
@examples(4)
def test_counts_are_those_of_rational_arithmetic_for_any_block_and_threads(problem, similarity, own, block, threads):
    queries, items, gold, query_ids, item_ids = problem
    hits = exact_hits(
        queries,
        items,
        gold,
        similarity=similarity,
        query_ids=query_ids,
        item_ids=item_ids,
        exclude_self=own,
        block=block,
        threads=threads,
    )
    assert counts_of(hits) == brute_force(queries, items, gold, similarity, query_ids, item_ids, own)
    assert hits.depth.tolist() == [len(items) - (own and name in item_ids) for name in hits.queries]
    assert hits.outside.tolist() == [item == "outside" for item in hits.items]
    assert hits.dropped_self == (sum(name in item_ids for name in hits.queries) if own else 0)


def close_vectors(n, dimension, dtype=np.float32, seed=0):
    """Return vectors whose scores nearly all differ by rounding errors only, and many of them not at all."""
    rng = np.random.default_rng(seed)
    base = rng.standard_normal(dimension).astype(dtype)
    rows = np.repeat(base[None], n, axis=0)
    cells = rng.integers(0, n, 2 * n), rng.integers(0, dimension, 2 * n)
    rows[cells] = np.nextafter(rows[cells], dtype(rng.choice([-9, 9])))
    # Swapping two numbers leaves the score of a constant query equal, which only exact arithmetic shows.
    rows[::3] = rows[::3, rng.permutation(dimension)]
    return rows


@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbours_by_one_bit_and_permuted_vectors_are_told_apart_exactly(similarity, dtype):
    items = close_vectors(150, 24, dtype)
    queries = np.concatenate([np.ones((1, 24), dtype), items[:1], -items[1:2]])
    gold = {str(q): {str(i): 1 for i in range(0, 150, 7)} for q in range(3)}
    ids = [str(i) for i in range(150)]
    hits = exact_hits(queries, items, gold, similarity=similarity, block=64)
    assert counts_of(hits) == brute_force(queries, items, gold, similarity, ids[:3], ids, False)


@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
@pytest.mark.parametrize("scales", [(1e18, 1e18), (1e-30, 1e-30), (1e18, 1e-30), (1e-44, 1.0), (1.0, 3e38)])
def test_huge_and_tiny_vectors_are_ranked_exactly(similarity, scales):
    rng = np.random.default_rng(3)
    queries = (rng.uniform(-1, 1, (3, 6)) * scales[0]).astype(np.float32)
    items = (rng.uniform(-1, 1, (60, 6)) * scales[1]).astype(np.float32)
    items[10:20] = 0
    gold = {str(q): {str(i): 1 for i in range(0, 60, 5)} for q in range(3)}
    ids = [str(i) for i in range(60)]
    hits = exact_hits(queries, items, gold, similarity=similarity, block=16)
    assert counts_of(hits) == brute_force(queries, items, gold, similarity, ids[:3], ids, False)


@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
def test_float64_beyond_the_range_of_products_is_ranked_exactly(similarity):
    rng = np.random.default_rng(5)
    queries, items = rng.uniform(-1, 1, (2, 3)) * 1e290, rng.uniform(-1, 1, (30, 3)) * 1e290
    items[::4] *= 1e-320
    items[5] = items[6]
    gold = {str(q): {str(i): 1 for i in range(0, 30)} for q in range(2)}
    ids = [str(i) for i in range(30)]
    hits = exact_hits(queries, items, gold, similarity=similarity)
    assert counts_of(hits) == brute_force(queries, items, gold, similarity, ids[:2], ids, False)


def mixed_problem(seed=1, n_items=3000, n_queries=40, dimension=16):
    """Return ordinary vectors and a large group of equal ones, as texts without known words have."""
    rng = np.random.default_rng(seed)
    items = rng.standard_normal((n_items, dimension)).astype(np.float32)
    items[rng.random(n_items) < 0.6] = items[0]
    queries = rng.standard_normal((n_queries, dimension)).astype(np.float32)
    gold = {str(q): {str(i): 1 for i in rng.integers(0, n_items, 1 + q % 7)} for q in range(n_queries)}
    return queries, items, gold


@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
def test_result_is_identical_for_every_block_size_thread_count_and_storage(similarity, tmp_path):
    queries, items, gold = mixed_problem(n_items=300)
    np.save(tmp_path / "items.npy", items)
    mapped = np.load(tmp_path / "items.npy", mmap_mode="r")
    reference = counts_of(exact_hits(queries, items, gold, similarity=similarity))
    for block in (1, 7, 100, 256, 299, 300, 5000):
        for threads in (1, 2):
            hits = exact_hits(queries, mapped, gold, similarity=similarity, block=block, threads=threads)
            assert counts_of(hits) == reference
    fortran = exact_hits(np.asfortranarray(queries), np.asfortranarray(items), gold, similarity=similarity)
    assert counts_of(fortran) == reference


def test_float16_vectors_are_ranked_as_the_numbers_they_hold():
    queries, items, gold = mixed_problem()
    half = exact_hits(queries.astype(np.float16), items.astype(np.float16), gold, similarity="dot")
    wide = exact_hits(
        queries.astype(np.float16).astype(np.float64),
        items.astype(np.float16).astype(np.float64),
        gold,
        similarity="dot",
    )
    assert counts_of(half) == counts_of(wide)


@pytest.mark.parametrize("values", [2, 5])
def test_whole_number_vectors_with_massive_ties_agree_with_scoring_the_full_run(values):
    rng = np.random.default_rng(2)
    items, queries = rng.integers(0, values, (1500, 12)), rng.integers(0, values, (20, 12))
    query_ids = [f"d{n}" for n in range(10)] + [f"q{n}" for n in range(10)]
    item_ids = [f"d{n}" for n in rng.permutation(1500)]
    gold = gr.Gold({q: {f"d{n}": 1 for n in rng.integers(0, 1600, 8)} for q in query_ids})
    scores = (queries @ items.T).tolist()
    run = gr.Run(
        {q: dict(zip(item_ids, row, strict=True)) for q, row in zip(query_ids, map(list, scores), strict=True)}
    )
    for own in (False, True):
        wanted = run.hits(gold, drop_self=own, corpus=item_ids)
        for dtype in (np.float32, np.float64):
            hits = exact_hits(
                queries.astype(dtype),
                items.astype(dtype),
                gold,
                similarity="dot",
                query_ids=query_ids,
                item_ids=item_ids,
                exclude_self=own,
            )
            assert counts_of(hits) == counts_of(wanted)
            for name in ("depth", "outside"):
                assert getattr(hits, name).tolist() == getattr(wanted, name).tolist()
            assert (hits.dropped_self, hits.corpus) == (wanted.dropped_self, wanted.corpus)
            assert hits.exhaustive


@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
@pytest.mark.parametrize("certify", [True, False])
@pytest.mark.parametrize("fill", [0.0, 0.1])
def test_equal_vectors_score_at_chance_when_ties_are_averaged(similarity, certify, fill):
    n = 2500
    items, queries = np.full((n, 8), fill, np.float32), np.full((30, 8), 0.3, np.float32)
    gold = {str(q): {str(41 * q): 1} for q in range(30)}
    hits = exact_hits(queries, items, gold, similarity=similarity, certify=certify)
    assert hits.above.tolist() == [0] * 30
    assert hits.tied.tolist() == [n - 1] * 30
    assert hits.tied_input.tolist() == [41 * q for q in range(30)]
    chance = (1 / np.arange(1, n + 1)).mean()
    assert gr.score_hits(hits, ["mrr"], ties="expected", precision=hits.precision)["mrr"].mean == pytest.approx(chance)


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 5, 3), (3, 1, 384), (2, 9, 300), (70, 1030, 100)])
@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
@pytest.mark.parametrize("certify", [True, False])
def test_an_item_that_is_the_query_comes_first_and_never_beats_itself(shape, similarity, certify):
    n_queries, n_items, dimension = shape
    rng = np.random.default_rng(9)
    items = rng.standard_normal((n_items, dimension)).astype(np.float32)
    items /= np.linalg.norm(items, axis=1, keepdims=True)
    numbers = rng.integers(0, n_items, n_queries)
    gold = {str(q): {str(i): 1} for q, i in enumerate(numbers)}
    # In one dimension other items have the same direction and tie or win; from 100 dimensions on, none is near.
    hits = exact_hits(items[numbers], items, gold, similarity=similarity, certify=certify)
    if dimension >= 100 or n_items == 1:
        assert not hits.above.any()
        assert not hits.tied.any()


def test_plain_counts_are_within_a_few_places_of_the_certified_ones():
    rng = np.random.default_rng(4)
    items = normalised(rng.standard_normal((20_000, 64)).astype(np.float32))
    queries = normalised(rng.standard_normal((100, 64)).astype(np.float32))
    gold = {str(q): {str(n): 1 for n in rng.integers(0, 20_000, 3)} for q in range(100)}
    exact = exact_hits(queries, items, gold, similarity="dot")
    plain = exact_hits(queries, items, gold, similarity="dot", certify=False)
    truth = queries.astype(np.float64) @ items.T.astype(np.float64)
    assert exact.above.tolist() == [
        int((truth[int(q)] > truth[int(q), int(item)]).sum()) for q, item in zip(exact.query, exact.items, strict=True)
    ]
    assert np.abs(exact.above - plain.above).max() <= 3
    assert (exact.precision, plain.precision) == ("float64", "float32")


def test_a_query_with_very_many_gold_items_is_counted_like_the_others():
    rng = np.random.default_rng(8)
    items, queries = rng.standard_normal((2000, 8)), rng.standard_normal((30, 8))
    gold = {str(q): {str(n): 1 for n in range(1900 if q == 3 else 1 + q % 3)} for q in range(30)}
    hits = exact_hits(queries, items, gold, similarity="l2")
    distance = ((queries[:, None] - items) ** 2).sum(axis=2)
    for q, item, above in zip(hits.query, hits.items, hits.above.tolist(), strict=True):
        assert above == (distance[int(q)] < distance[int(q), int(item)]).sum()


def test_gold_of_unknown_queries_and_queries_without_gold_are_counted_not_guessed():
    hits = exact_hits(np.eye(3), np.eye(3), {"0": ["0"], "nobody": ["1", "nothing"]})
    assert hits.above.tolist() == [0, -1, -1]
    assert hits.depth.tolist() == [3, 0]
    assert hits.outside.tolist() == [False, False, True]
    assert hits.ignored_queries == 2


def test_default_ids_are_matched_as_they_are_written():
    hits = exact_hits(np.eye(3), np.eye(3), {"0": ["07", "3", "-1", "٢", "+1", "2", "9" * 30]})
    assert hits.outside.tolist() == [True, True, True, True, True, False, True]


def test_empty_gold_gives_no_rows():
    hits = exact_hits(np.eye(3), np.eye(3), gr.Gold.from_arrays([], [], []))
    assert len(hits) == 0
    assert hits.ignored_queries == 3


@pytest.mark.slow
def test_memory_stays_bounded_by_the_blocks():
    rng = np.random.default_rng(6)
    items = rng.standard_normal((60_000, 64), dtype=np.float32)
    items[::2] = items[0]
    queries = items[:1500].copy()
    gold = {str(q): {str(2 * q): 1, str(q + 1): 1} for q in range(1500)}
    tracemalloc.start()
    exact_hits(queries, items, gold, similarity="dot", threads=2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The full product would take 360 MB.
    assert peak < 150e6


@example(n=9, k=3, seed=0, own=True)
@given(st.integers(1, 40), st.integers(1, 50), st.integers(0, 2**16), st.booleans())
@examples(0.6)
@pytest.mark.parametrize("similarity", ["cosine", "dot", "l2"])
def test_top_k_is_the_head_of_the_full_order_ties_by_descending_id(similarity, n, k, seed, own):
    rng = np.random.default_rng(seed)
    items, queries = rng.integers(-1, 2, (n, 3)).astype(np.float32), rng.integers(-1, 2, (4, 3)).astype(np.float32)
    ids = [f"{name}" for name in rng.permutation(n)]
    run = ExactIndex(items, ids, similarity).top_k(queries, k, exclude_self=own)
    for q in range(4):
        scores = list(rational_scores(queries[q], items, similarity))
        order = sorted(range(n), key=lambda i: (scores[i], ids[i].encode()), reverse=True)
        expected = [ids[i] for i in order if not (own and ids[i] == str(q))][:k]
        assert list(run[str(q)]) == expected if expected else str(q) not in run or not run[str(q)]


def test_top_k_finds_the_best_of_many():
    rng = np.random.default_rng(1)
    items, queries = rng.standard_normal((50_000, 32), dtype=np.float32), rng.standard_normal((9, 32), dtype=np.float32)
    run = ExactIndex(items, similarity="l2").top_k(queries, 10)
    distance = np.linalg.norm(queries[:, None].astype(np.float64) - items, axis=2)
    for q in range(9):
        order = np.argsort(distance[q])[:10]
        assert list(run[str(q)]) == [str(i) for i in order]
        assert list(run[str(q)].values()) == pytest.approx(-distance[q, order])


GOOD = np.eye(3, dtype=np.float32)


def poisoned(value):
    bad = np.tile(GOOD, (500, 1))
    bad[1203, 1] = value
    return bad


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((GOOD, poisoned(np.nan)), {}, r"the items: .*row 1203 \(id '1203'\) holds NaN or infinite.*remove"),
        ((GOOD, poisoned(np.inf)), {"similarity": "l2"}, r"the items: .*row 1203"),
        ((poisoned(np.nan), GOOD), {}, r"the queries: .*row 1203"),
        ((GOOD[:, :2], GOOD), {}, r"the queries: .*2 dimensions and the items 3; encode both"),
        ((GOOD[0], GOOD), {}, r"the queries: .*1 axes instead of 2; give one row per vector"),
        ((GOOD, GOOD[None]), {}, r"the items: .*3 axes instead of 2"),
        ((GOOD, GOOD), {"item_ids": ["a", "b"]}, r"the items: there are 3 vectors and 2 ids; give one id per row"),
        ((GOOD, GOOD), {"query_ids": ["0", "a", "a"]}, r"the queries: rows 1 and 2 have the same id 'a'; give every"),
        ((GOOD, GOOD), {"similarity": "cosin"}, r"no similarity to rank by 'cosin'; did you mean 'cosine'"),
        ((GOOD, np.array([["a", "b", "c"]])), {}, r"the items: .*not real numbers; give a float32"),
        ((GOOD, GOOD.astype(complex)), {}, r"the items: .*complex128 values"),
        (([[1.0, 2.0], [1.0]], GOOD), {}, r"the queries: the rows differ in length"),
        ((GOOD, GOOD), {"query_ids": ["x", "y", "z"]}, r"no query of the gold has a vector .*query_ids"),
        ((GOOD, GOOD), {"block": 0}, r"block is 0; give a whole number"),
        ((GOOD, GOOD), {"threads": -1}, r"threads is -1; give a whole number"),
        ((GOOD.astype(float), np.full((2, 3), 1.7e308)), {"similarity": "dot"}, r"longer than any float64; divide"),
    ],
)
def test_bad_input_is_refused_with_place_and_remedy(arguments, options, message):
    with pytest.raises(InputError, match=message):
        exact_hits(*arguments, {"0": ["1"]}, **options)


@examples(0.6)
@given(st.integers(0, 2**32), st.sampled_from([3, 40, 700]), st.sampled_from(["dot", "l2"]), st.floats(0, 1))
def test_what_is_wanted_from_a_score_on_is_found_without_looking_at_the_rest(seed, k, similarity, share):
    rng = np.random.default_rng(seed)
    # Integers give ties, also at the least score.
    items = rng.integers(-3, 4, (900, 5)).astype(np.float32)
    queries = rng.integers(-3, 4, (6, 5)).astype(np.float32)
    index = ExactIndex(items, similarity=similarity, threads=2)
    query_vectors, squared = index._query_vectors(queries, None), similarity == "l2"
    arguments = {"squared": squared, "threads": 2}
    whole = list(search(query_vectors, index._items, index._checked(), k, **arguments))
    least = np.array([scores[int(share * (len(scores) - 1))] for _, scores in whole])
    limited = search(query_vectors, index._items, index._checked(), k, least=least, **arguments)
    for (numbers, scores), (limited_numbers, limited_scores), bar in zip(whole, limited, least, strict=True):
        expected, actual = scores >= bar, limited_scores >= bar
        assert numbers[expected].tolist() == limited_numbers[actual].tolist()
        assert scores[expected].tolist() == limited_scores[actual].tolist()
