"""Ranks and top k of the GPU index equal those of the exact index on the CPU, for all data and sizes of tiles.

Without a GPU the kernels run in Triton's interpreter, and the plain path on CPU tensors.
"""

import os
import sys

import numpy as np
import pytest

from goldrank.errors import InputError, MissingExtraError
from goldrank.index.exact.index import ExactIndex
from goldrank.index.exact.products import growth

torch = pytest.importorskip("torch")
HAS_GPU = torch.cuda.is_available()
if not HAS_GPU and "triton" not in sys.modules:
    # Triton reads the variable when it is imported.
    os.environ["TRITON_INTERPRET"] = "1"

from goldrank.index.cuda import comparison as cuda_comparison  # noqa: E402
from goldrank.index.cuda import counting as cuda_counting  # noqa: E402
from goldrank.index.cuda import index as cuda  # noqa: E402
from goldrank.index.cuda import item_store as cuda_store  # noqa: E402
from goldrank.index.cuda import kernels as cuda_kernels  # noqa: E402
from goldrank.index.cuda import search as cuda_search  # noqa: E402

pytestmark = pytest.mark.heavy
DEVICE = "cuda" if HAS_GPU else "cpu"
INTERPRETED = cuda_kernels.available(DEVICE)
PATHS = [
    pytest.param(False, id="kernels", marks=pytest.mark.skipif(not INTERPRETED, reason="needs triton")),
    pytest.param(True, id="plain"),
]
SIMILARITIES = ("cosine", "dot", "l2")
COUNTS = ("above", "tied", "tied_docid", "tied_input")
SMALL = cuda_kernels.Tile(rows=64 if HAS_GPU else 16, items=32, step=64 if HAS_GPU else 16, warps=4, stages=2, group=2)


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch, request):
    """Use tiles so small that small data has many of them and an incomplete one."""
    if "large" not in request.node.name:
        monkeypatch.setattr(cuda_kernels, "Tile", lambda: SMALL)


def gpu_index(items, ids, similarity, plain, **options):
    return cuda.CudaIndex(items, ids, similarity, device=DEVICE, plain=plain, **options)


def duplicates(rng, count, dimension):
    distinct = rng.standard_normal((7, dimension)).astype(np.float32)
    return distinct[rng.integers(0, 7, count)]


def neighbours(rng, count, dimension):
    """Return copies of one vector, each with one number changed to an adjacent float32."""
    rows = np.tile(rng.standard_normal(dimension).astype(np.float32), (count, 1))
    column = rng.integers(0, dimension, count)
    towards = np.where(rng.random(count) < 0.5, np.inf, -np.inf).astype(np.float32)
    numbers = np.arange(count)
    rows[numbers, column] = np.nextafter(rows[numbers, column], towards)
    return rows


def with_zeros(rng, count, dimension):
    rows = rng.standard_normal((count, dimension)).astype(np.float32)
    rows[rng.random(count) < 0.3] = 0
    return rows


def whole(rng, count, dimension):
    return rng.integers(-2, 3, (count, dimension)).astype(np.float32)


def uneven(rng, count, dimension):
    """Return vectors whose lengths differ by many powers of two."""
    return (rng.standard_normal((count, dimension)) * 2.0 ** rng.integers(-20, 20, (count, 1))).astype(np.float32)


def wild(rng, count, dimension):
    return (rng.standard_normal((count, dimension)) * 1e30).astype(np.float32)


def doubles(rng, count, dimension):
    rows = rng.standard_normal((count, dimension))
    rows[1::2] = rows[::2][: len(rows[1::2])] * (1 + 2.0**-50)
    return rows


def plain_normal(rng, count, dimension):
    return rng.standard_normal((count, dimension)).astype(np.float32)


DATA = [duplicates, neighbours, with_zeros, whole, uneven, wild, doubles, plain_normal]


def several_golds(rng, queries, items):
    """Return gold of one, two or ten items for each query."""
    return {
        f"d{query}": {f"d{item}": 1 for item in rng.choice(items, min(items, (1, 2, 10)[query % 3]), replace=False)}
        for query in range(queries)
    }


def ids_of(rng, count):
    """Return ids whose order is not that of the rows."""
    return [f"d{number}" for number in rng.permutation(count)]


def same_hits(actual, expected):
    for name in COUNTS:
        np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name), err_msg=name)
    assert actual.depth.tolist() == expected.depth.tolist()
    assert actual.precision == expected.precision


@pytest.mark.parametrize("plain", PATHS)
@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("make", DATA)
def test_counts_are_those_of_the_processor(make, similarity, plain):
    rng = np.random.default_rng(5)
    items = make(rng, 71, 21)
    queries = np.concatenate((items[:1], make(rng, 2, 21)))
    item_ids, query_ids = ids_of(rng, 71), [f"d{number}" for number in range(3)]
    gold = several_golds(rng, 3, 71)
    # The interpreter is slow, and the kernels are not involved in excluding an item.
    for exclude_self in (False, True) if plain or HAS_GPU else (True,):
        expected = ExactIndex(items, item_ids, similarity).exact_hits(queries, gold, query_ids, exclude_self)
        actual = gpu_index(items, item_ids, similarity, plain).exact_hits(queries, gold, query_ids, exclude_self)
        same_hits(actual, expected)


@pytest.mark.parametrize("plain", PATHS)
@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("make", DATA)
def test_top_k_is_that_of_the_processor(make, similarity, plain, monkeypatch):
    monkeypatch.setattr(cuda_search, "_FIRST_ITEMS", 16)
    rng = np.random.default_rng(6)
    items, ids = make(rng, 103, 13), ids_of(rng, 103)
    queries = np.concatenate((items[:2], make(rng, 3, 13)))
    names = [f"d{number}" for number in range(5)]
    for k, exclude_self in ((10, False), (103, True)) if plain or HAS_GPU else ((9, True),):
        expected = ExactIndex(items, ids, similarity).top_k(queries, k, names, exclude_self).to_dict()
        actual = gpu_index(items, ids, similarity, plain).top_k(queries, k, names, exclude_self).to_dict()
        assert [list(actual[name].items()) for name in names] == [list(expected[name].items()) for name in names]


@pytest.mark.parametrize("plain", PATHS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 32, 16), (1, 33, 17), (17, 64, 48), (3, 5, 200)])
def test_sizes_beside_those_of_the_tiles(shape, plain):
    queries, items, dimension = shape
    rng = np.random.default_rng(7)
    rows, query_vectors = plain_normal(rng, items, dimension), plain_normal(rng, queries, dimension)
    gold = {str(query): {str(query % items): 1} for query in range(queries)}
    index = gpu_index(rows, None, "dot", plain)
    same_hits(index.exact_hits(query_vectors, gold), ExactIndex(rows, None, "dot").exact_hits(query_vectors, gold))
    expected = ExactIndex(rows, None, "dot").top_k(query_vectors, 3).to_dict()
    assert index.top_k(query_vectors, 3).to_dict() == expected


@pytest.mark.parametrize("plain", PATHS)
@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_items_that_do_not_fit_are_streamed_with_the_same_outcome(similarity, plain, monkeypatch):
    monkeypatch.setattr(cuda_search, "_FIRST_ITEMS", 16)
    rng = np.random.default_rng(8)
    items, queries = uneven(rng, 203, 24), uneven(rng, 4, 24)
    gold = {str(query): {str(item): 1 for item in (query, 150 + query, 202)} for query in range(4)}
    index = gpu_index(items, None, similarity, plain, memory=70 * 24 * 12).prepare()
    assert not index._store(index._items).resident
    whole_index = ExactIndex(items, None, similarity)
    same_hits(index.exact_hits(queries, gold), whole_index.exact_hits(queries, gold))
    assert index.top_k(queries, 20).to_dict() == whole_index.top_k(queries, 20).to_dict()


@pytest.mark.skipif(not INTERPRETED, reason="needs triton")
def test_more_open_pairs_than_find_room_are_counted_in_parts():
    rng = np.random.default_rng(9)
    items = duplicates(rng, 256, 16)
    index = gpu_index(items, None, "dot", False)
    rows = cuda.JudgedRows(np.arange(4), np.array([0, 50, 100, 150]), np.full(4, -1))
    store = index._store(index._items)
    # The smallest capacity is one row of bits.
    actual = cuda.CudaCounter(items[:4].copy(), store, rows, capacity=0).run()
    gold = {str(row): {str(item): 1} for row, item in enumerate(rows.gold)}
    expected = ExactIndex(items, None, "dot").exact_hits(items[:4], gold)
    for name in COUNTS:
        np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name))


@pytest.mark.skipif(not INTERPRETED, reason="needs triton")
@pytest.mark.parametrize("similarity", ["dot", "l2"])
@pytest.mark.parametrize("make", [duplicates, neighbours, plain_normal])
def test_open_pairs_that_float32_scores_decide_are_counted_the_same(make, similarity, monkeypatch):
    pairs_of, cleared = cuda_comparison.OpenPairs.pairs_of, []

    def refine_first(self, bits, refine):
        before = _set_bits(bits)
        refine(bits)
        cleared.append((before, _set_bits(bits)))
        return pairs_of(self, bits)

    monkeypatch.setattr(cuda_comparison.OpenPairs, "pairs_of", refine_first)
    # Wider initial limits leave all pairs of ordinary data undecided.
    monkeypatch.setattr(cuda_comparison, "TENSOR_UNIT", 2.0**-11)
    _counts_are_those_of_the_processor(make, similarity)
    if make is plain_normal:
        before, after = map(sum, zip(*cleared, strict=True))
        assert before > 100
        # Only the gold items themselves stay undecided.
        assert after == 2


@pytest.mark.skipif(not INTERPRETED, reason="needs triton")
@pytest.mark.parametrize("make", [duplicates, neighbours, uneven, plain_normal])
def test_where_many_pairs_are_open_products_of_digits_give_the_same_counts(make, monkeypatch):
    compare, compared = cuda_comparison.OpenPairs.compare_digits, []

    def count_open(self, *rest):
        bits = compare(self, *rest)
        compared.append(_set_bits(bits))
        return bits

    monkeypatch.setattr(cuda_comparison.OpenPairs, "compare_digits", count_open)
    monkeypatch.setattr(cuda_counting, "_SAMPLED", 1)
    monkeypatch.setattr(cuda_counting, "_MANY_OPEN", -1)
    _counts_are_those_of_the_processor(make, "dot")
    assert len(compared) == 1
    if make is plain_normal:
        assert compared == [2]


def _counts_are_those_of_the_processor(make, similarity):
    rng = np.random.default_rng(11)
    items, queries = make(rng, 64, 300), make(rng, 2, 300)
    gold = {"0": {"7": 1}, "1": {"50": 1}}
    expected = ExactIndex(items, None, similarity).exact_hits(queries, gold)
    same_hits(gpu_index(items, None, similarity, False).exact_hits(queries, gold), expected)


def _set_bits(bits):
    return int(np.unpackbits(bits.cpu().numpy().view(np.uint8)).sum())


@pytest.mark.skipif(not INTERPRETED, reason="needs triton")
def test_too_many_candidates_are_left_to_the_processor(monkeypatch):
    monkeypatch.setattr(cuda_search, "_MOST_CANDIDATES", 8)
    monkeypatch.setattr(cuda_search, "_FIRST_ITEMS", 16)
    items = np.ones((300, 16), np.float32)
    actual = gpu_index(items, None, "dot", False).top_k(items[:2], 3).to_dict()
    assert actual == ExactIndex(items, None, "dot").top_k(items[:2], 3).to_dict()


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_no_score_is_further_off_than_its_margin(similarity):
    """Compare the error bound of the index with float64, for the rounding of the numbers alone."""
    rng = np.random.default_rng(10)
    items, queries = uneven(rng, 64, 40), uneven(rng, 16, 40)
    index = gpu_index(items, None, similarity, not INTERPRETED)
    store = index._store(index._items)
    query_operand = cuda_comparison.QueryOperand(index._query_vectors(queries, None).read(0, 16), np.arange(16), store)
    chunk = next(iter(store.chunks()))
    if not INTERPRETED:
        pytest.skip("needs triton")
    rounded = query_operand.operand[:16].double() @ chunk.operand.double().T
    true = query_operand.raw.double() @ chunk.rows.double().T
    true = cuda_store.times_power(true, -query_operand.exponents[:16, None] - store.exponent)
    off = (rounded - true).abs().amax(dim=1)
    margins = query_operand.margins(chunk.spans.amax(dim=1), plain=False)[:16]
    assert bool((off <= margins).all())
    assert bool((off > 0).any())


@pytest.mark.skipif(HAS_GPU, reason="for machines without a GPU")
def test_without_a_gpu_the_index_says_so():
    with pytest.raises(InputError, match="no CUDA device"):
        cuda.CudaIndex(np.eye(2))


def test_without_torch_the_index_names_the_extra(monkeypatch):
    monkeypatch.setattr(cuda, "torch", None)
    with pytest.raises(MissingExtraError, match=r"goldrank\[cuda\]"):
        cuda.CudaIndex(np.eye(2))


@pytest.mark.skipif(not HAS_GPU, reason="needs a CUDA device")
def test_a_large_random_job_on_the_gpu_equals_the_processor():
    rng = np.random.default_rng(11)
    items, queries = plain_normal(rng, 100_003, 200), plain_normal(rng, 300, 200)
    gold = {str(query): {str(item): 1 for item in rng.integers(0, 100_003, 3)} for query in range(300)}
    for similarity in SIMILARITIES:
        index, exact = gpu_index(items, None, similarity, False), ExactIndex(items, None, similarity)
        same_hits(index.exact_hits(queries, gold), exact.exact_hits(queries, gold))
        assert index.top_k(queries, 50).to_dict() == exact.top_k(queries, 50).to_dict()


def hard_sums(rng, count, depth):
    """Return float16 rows whose products are hard to add: one large among tiny numbers, all orders and signs."""
    columns = rng.integers(0, depth, count)
    rows = np.arange(count)
    tiny = np.float16(2.0) ** -rng.integers(9, 15, (count, 1)) * (1 + rng.integers(0, 1024, (count, depth)) / 1024)
    tiny[rows, columns] = 1 + rng.integers(0, 1024, count) / 1024
    spread = np.exp2(rng.uniform(-13, 0, (count, depth)))
    falling, rising = -np.sort(-spread, axis=1), np.sort(spread, axis=1)
    ones = np.full((count, depth), 2 - 2.0**-10)
    positive = np.concatenate([tiny, spread, falling, rising, ones])
    signed = positive * rng.choice([-1.0, 1.0], positive.shape)
    return np.concatenate([positive, signed]).astype(np.float16)


@pytest.mark.skipif(not HAS_GPU, reason="needs tensor cores")
@pytest.mark.parametrize("depth", [64, 384, 768, 4096])
def test_tensor_cores_lose_no_more_of_a_sum_than_is_assumed_of_them(depth):
    from index.tensor_products import products

    tile, rng = cuda_kernels.Tile(), np.random.default_rng(depth)
    left = hard_sums(rng, 256, depth)
    right = np.concatenate([left[::-1], hard_sums(rng, 256, depth)])
    right = right[: len(right) // tile.items * tile.items]
    left = left[: len(left) // tile.rows * tile.rows]
    scores = products(*(torch.from_numpy(rows).cuda() for rows in (left, right)), tile).double().cpu().numpy()
    wide_left, wide_right = left.astype(np.float64), right.astype(np.float64)
    exact, sizes = wide_left @ wide_right.T, np.abs(wide_left) @ np.abs(wide_right).T
    errors = np.abs(scores - exact) / sizes
    allowed = growth(depth + 16, cuda_comparison.TENSOR_UNIT)
    assert errors.max() <= allowed
    # Otherwise these sums would not be hard, and the test would show nothing.
    assert errors.max() > 0.05 * depth * 2.0**-24


@pytest.mark.parametrize("task", ["wines", "questions"])
@pytest.mark.parametrize("most", [20_000_000, 1], ids=["ranked", "counted"])
def test_an_evaluation_on_the_gpu_is_that_on_the_processor(task, most, monkeypatch):
    pytest.importorskip("wordllama")
    from goldrank.runs.evaluate import evaluate
    from goldrank.tasks.ranking import by_vectors as vector_ranking

    monkeypatch.setattr(vector_ranking, "MOST_RESULTS", most)
    expected = evaluate("wordllama", task)
    specs = []

    def build(spec, items, ids, similarity):
        specs.append(spec)
        return gpu_index(items, ids, similarity, plain=True)

    monkeypatch.setattr(vector_ranking, "build", build)
    actual = evaluate("wordllama", task, index="cuda")
    assert specs == ["cuda"]
    assert actual.run.to_dict() == expected.run.to_dict()
    for name in (*COUNTS, "depth", "own"):
        np.testing.assert_array_equal(getattr(actual.hits, name), getattr(expected.hits, name))
