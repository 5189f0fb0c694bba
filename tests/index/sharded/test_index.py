"""Ranks over shards equal those in memory, bit for bit, for all cuts and orders of completion."""

import os
import tempfile
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.errors import InputError
from goldrank.hits import Gold
from goldrank.index.exact.index import ExactIndex
from goldrank.index.sharded import worker
from goldrank.index.sharded.index import ShardedIndex
from goldrank.io.formats.vector_shards import VectorShard
from goldrank.io.stored_vectors import StoredVectors
from goldrank.tasks.ranking.self_matches import hits_beside_own
from goldrank.vectors.similarity import normalised
from goldrank.vectors.transforms import Pipeline
from index.shards_in_process import InProcess, assert_same_hits, assert_same_run, problem_of, stored
from profiles import examples

ONE = np.float32(1)
UP, DOWN = np.nextafter(ONE, np.float32(2)), np.nextafter(ONE, np.float32(0))
VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, float(UP), float(DOWN), -float(UP), 1 / 3]
SIMILARITIES = ["cosine", "dot", "l2"]


@st.composite
def problems(draw):
    dimension, n_items, n_queries = draw(st.integers(1, 5)), draw(st.integers(1, 14)), draw(st.integers(1, 5))
    numbers = st.sampled_from(draw(st.lists(st.sampled_from(VALUES), min_size=1, max_size=4)))
    rows = st.lists(numbers, min_size=dimension, max_size=dimension)
    scales = st.sampled_from([1.0, 1.0, 1.0, 1e18, 1e-30])
    items = np.array(draw(st.lists(rows, min_size=n_items, max_size=n_items))) * draw(scales)
    odd = draw(st.integers(2, 5))
    items[::odd] *= draw(scales)
    # Two scales together can exceed the range of float32, which every index refuses.
    items = np.clip(items, -1e36, 1e36)
    queries = np.array(draw(st.lists(rows, min_size=n_queries, max_size=n_queries))) * draw(scales)
    # The order of these names by bytes differs from the orders by number and by UTF-16 code unit.
    names = draw(st.permutations([f"{n}" for n in range(8, 8 + n_items)] + ["é", "\U0001f600", "\uffee"]))[:n_items]
    query_ids = [*names[:2], "q2", "q3", "q4", "q5"][:n_queries]
    known = st.lists(st.sampled_from([*names, "outside"]), min_size=1, max_size=6, unique=True)
    gold = {name: dict.fromkeys(draw(known), 1) for name in query_ids}
    cuts = draw(st.one_of(st.just(range(1, n_items)), st.lists(st.integers(0, n_items), max_size=5)))
    return queries.astype(np.float32), items.astype(np.float32), gold, query_ids, list(names), list(cuts)


@given(
    problems(), st.sampled_from(SIMILARITIES), st.booleans(), st.integers(1, 16), st.integers(1, 4), st.integers(0, 99)
)
@examples(0.5)
def test_hits_and_top_k_are_those_of_the_index_in_memory_for_any_cut_and_order(
    problem, similarity, own, k, workers, seed
):
    queries, items, gold, query_ids, item_ids, cuts = problem
    whole = ExactIndex(items, item_ids, similarity)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        # Without this, waiting for the disk takes most of the time for so many small files.
        patch.setattr(os, "fsync", lambda _: None)
        shards = stored(folder, item_ids, items, cuts)
        index = ShardedIndex(shards, item_ids, similarity, engine=InProcess(workers, seed), folder=f"{folder}/jobs")
        hits = index.exact_hits(queries, gold, query_ids, own)
        run = index.top_k(queries, k, query_ids, own)
    assert_same_hits(hits, whole.exact_hits(queries, gold, query_ids, own))
    assert_same_run(run, whole.top_k(queries, k, query_ids, own))


def close_items(n, dimension, seed=0):
    """Return vectors whose scores nearly all differ by rounding errors only, many of them equal, some zero."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(rng.standard_normal(dimension).astype(np.float32)[None], n, axis=0)
    cells = rng.integers(0, n, n), rng.integers(0, dimension, n)
    rows[cells] = np.nextafter(rows[cells], np.float32(9))
    rows[::3] = rows[::3, rng.permutation(dimension)]
    rows[::50] = 0
    rows[1::4] = rng.standard_normal((len(rows[1::4]), dimension))
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("asked", [9, 130])
@pytest.mark.parametrize("own", [True, False])
def test_close_and_tied_items_are_counted_alike_with_few_queries_and_with_many(similarity, asked, own, tmp_path):
    items = close_items(600, 24)
    ids = [str(n) for n in np.random.default_rng(1).permutation(600)]
    rng = np.random.default_rng(2)
    queries = np.concatenate([np.ones((1, 24), np.float32), items[: asked - 1]])
    query_ids = ["q", *ids[: asked - 1]]
    gold = {
        name: {ids[n]: 1 for n in rng.integers(0, 600, 1 + position % 5)} for position, name in enumerate(query_ids)
    }
    whole = ExactIndex(items, ids, similarity)
    wanted, ranked = whole.exact_hits(queries, gold, query_ids, own), whole.top_k(queries, 40, query_ids, own)
    assert wanted.tied.max() > 64
    for number, cuts in enumerate([[1, 2, 400], range(60, 600, 60)]):
        (tmp_path / str(number)).mkdir()
        shards = stored(tmp_path / str(number), ids, items, cuts)
        index = ShardedIndex(shards, ids, similarity, engine=InProcess(3, number), folder=str(tmp_path / "jobs"))
        assert_same_hits(index.exact_hits(queries, gold, query_ids, own), wanted)
        assert_same_run(index.top_k(queries, 40, query_ids, own), ranked)


def test_gold_far_longer_or_shorter_than_the_items_of_a_shard_is_ranked_exactly(tmp_path):
    rng = np.random.default_rng(3)
    items = rng.uniform(-1, 1, (60, 6)).astype(np.float32)
    items[:20] *= np.float32(1e30)
    items[20:40] *= np.float32(1e-30)
    ids = [f"i{n}" for n in range(60)]
    queries = np.concatenate([items[::7], rng.uniform(-1, 1, (70, 6)).astype(np.float32)])
    gold = {str(q): dict.fromkeys(ids[q % 5 :: 5], 1) for q in range(len(queries))}
    shards = stored(tmp_path, ids, items, [20, 40])
    for similarity in SIMILARITIES:
        index = ShardedIndex(shards, ids, similarity, engine=InProcess(), folder=str(tmp_path / "jobs"))
        assert_same_hits(index.exact_hits(queries, gold), ExactIndex(items, ids, similarity).exact_hits(queries, gold))


def test_cosine_and_dot_of_normalised_rows_give_the_same_hits_and_scores(tmp_path):
    queries, items, ids, gold = problem_of()
    shards = stored(tmp_path, ids, items, [100, 101, 333])
    folder, units = str(tmp_path / "jobs"), normalised(queries)
    by_cosine = ShardedIndex(shards, ids, "cosine", engine=InProcess(), folder=folder)
    of_units = ExactIndex(normalised(items), ids, "dot")
    assert_same_hits(by_cosine.exact_hits(queries, gold), of_units.exact_hits(units, gold))
    assert_same_run(by_cosine.top_k(queries, 20), of_units.top_k(units, 20))
    rows = np.array([333, 0, 499, 0, 100])
    # As in ExactIndex, stored rows are not normalised; the index normalises them when it compares by cosine.
    assert np.array_equal(by_cosine.items[rows], items[rows])
    assert by_cosine.items.shape == items.shape
    assert by_cosine.items.dtype == items.dtype


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_where_an_entry_of_its_own_stands_is_told_from_the_rows_of_the_index(similarity, tmp_path):
    _, items, ids, _ = problem_of()
    items[7], items[450] = items[3], items[3]
    query_rows = [3, 7, 200, 450]
    queries, query_ids = items[query_rows], [ids[row] for row in query_rows]
    gold = Gold({name: {ids[row]: 1 for row in (7, 120, 450, 499)} for name in query_ids})
    shards = stored(tmp_path, ids, items, [100, 333])
    index = ShardedIndex(shards, ids, similarity, engine=InProcess(), folder=str(tmp_path / "jobs"))
    hits = hits_beside_own(index, index.items, queries, query_ids, gold)
    expected = hits_beside_own(ExactIndex(items, ids, similarity), items, queries, query_ids, gold)
    assert_same_hits(hits, expected)
    assert np.array_equal(hits.own, expected.own)


@pytest.mark.parametrize("row", [7, 450])
def test_a_vector_that_is_not_finite_is_refused_with_its_id(row, tmp_path):
    queries, items, ids, _ = problem_of()
    items[row, 2] = np.nan
    shards = stored(tmp_path, ids, items, [100, 333])
    index = ShardedIndex(shards, ids, "dot", engine=InProcess(), folder=str(tmp_path / "jobs"))
    with pytest.raises(InputError, match=rf"the items: the vector of row {row} \(id 'i{row}'\) holds NaN"):
        index.exact_hits(queries, {"0": [ids[row]]})
    with pytest.raises(InputError, match=rf"parquet: the vector of row .* \(id 'i{row}'\) holds NaN"):
        index.exact_hits(queries, {"0": ["i8"]})
    with pytest.raises(InputError, match=rf"parquet: the vector of row .* \(id 'i{row}'\) holds NaN"):
        index.top_k(queries, 3)


def test_rows_that_were_gathered_are_not_fetched_again(tmp_path):
    _, items, ids, _ = problem_of()
    engine = InProcess()
    shards = stored(tmp_path, ids, items, [100, 200])
    index = ShardedIndex(shards, ids, "dot", engine=engine, folder=str(tmp_path / "jobs"))
    index.items.gather(np.array([5, 450, 5, 120]))
    fetched = len(engine.done)
    assert np.array_equal(index.items[np.array([120, 5])], items[[120, 5]])
    assert len(engine.done) == fetched
    assert np.array_equal(index.items[[120, 7]], items[[120, 7]])
    assert [task.rows.tolist() for task in engine.of("gather")[fetched:]] == [[7]]
    with pytest.raises(IndexError):
        index.items[[500]]


def transformed_problem(tmp_path, cuts):
    rng = np.random.default_rng(5)
    items = (rng.standard_normal((3 * 4096 + 77, 24)) @ rng.standard_normal((24, 24))).astype(np.float32)
    ids = [f"i{number}" for number in range(len(items))]
    return items, ids, stored(tmp_path, ids, items, cuts)


@pytest.mark.parametrize("text", ["center|whiten:8|normalize", "normalize", "abtt:2"])
def test_a_transform_gives_the_bits_of_one_applied_in_memory(text, tmp_path):
    items, ids, shards = transformed_problem(tmp_path, [4096, 3 * 4096])
    pipeline = Pipeline.parse(text).fit(StoredVectors(shards))
    assert pipeline.identity == Pipeline.parse(text).fit(items).identity
    pipeline.save(tmp_path / "transform.npz")
    transformed = pipeline.apply(items)
    queries, gold = transformed[::700].copy(), {str(q): {ids[41 * q]: 1, ids[-1 - q]: 1} for q in range(10)}
    for similarity in SIMILARITIES:
        index = ShardedIndex(
            shards,
            ids,
            similarity,
            engine=InProcess(),
            folder=str(tmp_path / "jobs"),
            transform=str(tmp_path / "transform.npz"),
        )
        whole = ExactIndex(transformed, ids, similarity)
        assert (index.dimension, len(index), index.ids) == (whole.dimension, len(whole), whole.ids)
        assert_same_hits(index.exact_hits(queries, gold), whole.exact_hits(queries, gold))
        assert_same_run(index.top_k(queries, 30), whole.top_k(queries, 30))
        rows = np.array([len(items) - 1, 4096, 4095, 0, 9000])
        assert np.array_equal(index.items[rows].view(np.int32), transformed[rows].view(np.int32))


def test_with_a_transform_shards_that_split_its_blocks_are_refused(tmp_path):
    items, ids, shards = transformed_problem(tmp_path, [4000])
    Pipeline.parse("center").fit(items).save(tmp_path / "transform.npz")
    with pytest.raises(InputError, match=r"1\.parquet: .*multiples of 4096 rows, this one at 4000; cut the vectors"):
        ShardedIndex(shards, ids, engine=InProcess(), folder=str(tmp_path), transform=str(tmp_path / "transform.npz"))


def test_later_searches_hand_over_only_what_can_still_enter(tmp_path):
    queries, items, ids, _ = problem_of(n=4000)
    items = items[np.argsort(-(items @ queries[0]))]
    shards = stored(tmp_path, ids, items, range(400, 4000, 400))
    index = ShardedIndex(shards, ids, "dot", engine=InProcess(1), folder=str(tmp_path / "jobs"))
    wanted = ExactIndex(items, ids, "dot").top_k(queries, 50)
    assert_same_run(index.top_k(queries, 50), wanted)
    results = sorted(tmp_path.glob("jobs/*/*.result"))
    counts_of_shards = [worker.read_result(str(path))["per_query"] for path in results]
    assert [int(counts[0]) for counts in counts_of_shards] == [50] + 9 * [0]
    assert all(0 < counts.sum() < 400 for counts in counts_of_shards[3:])


def test_the_driver_never_holds_the_items(tmp_path):
    queries, items, ids, gold = problem_of(n=40_000, dimension=64, n_queries=20)
    shards = stored(tmp_path, ids, items, range(2500, 40_000, 2500))
    engine = InProcess(1)
    index = ShardedIndex(shards, ids, "dot", engine=engine, folder=str(tmp_path / "jobs"))
    hits = index.exact_hits(queries, gold)
    peaks = []
    # The lowest of several peaks, because other threads of this process may allocate memory meanwhile.
    for _ in range(3):
        index.forget()
        tracemalloc.start()
        index.exact_hits(queries, gold)
        index.top_k(queries, 10)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # All items take 10 MB; the worker, in this process too, holds one shard of 640 kB and its counting buffers.
    assert min(peaks) < 6e6
    assert_same_hits(hits, ExactIndex(items, ids, "dot").exact_hits(queries, gold))


def test_empty_shards_empty_gold_and_gold_outside_cost_no_task(tmp_path):
    queries, items, ids, _ = problem_of(n=10)
    shards = stored(tmp_path, ids, items, [0, 4, 4, 10])
    engine = InProcess()
    index = ShardedIndex(shards, ids, engine=engine, folder=str(tmp_path / "jobs"))
    hits = index.exact_hits(queries, {"0": ["nowhere"]})
    assert hits.above.tolist() == [-1]
    assert hits.outside.tolist() == [True]
    assert not engine.done
    gold = {"0": ["i4"]}
    assert_same_hits(index.exact_hits(queries, gold), ExactIndex(items, ids).exact_hits(queries, gold))
    assert sorted(task.number for task in engine.of("count")) == [1, 3]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"queries": np.ones((8, 12))}, r"the queries: .*dense float32, these are float64; convert them"),
        ({"queries": np.ones((8, 5), np.float32)}, r"the queries have 5 dimensions and the items 12"),
        ({"ids": ["x"] * 10}, r"the items: rows 0 and 1 have the same id 'x'"),
        ({"ids": [f"i{n}" for n in range(9)]}, r"the items: there are 10 vectors and 9 ids"),
        ({"ids": [f"i{n}" for n in range(9, -1, -1)]}, r"0\.parquet: row 2 .*id 'i2', where 'i7' is expected; give"),
        ({"similarity": "cosin"}, r"no similarity to rank by 'cosin'"),
        ({"certify": False}, r"always counted exactly"),
    ],
)
def test_what_cannot_be_ranked_is_refused_with_place_and_remedy(change, message, tmp_path):
    queries, items, ids, _ = problem_of(n=10)
    shards = stored(tmp_path, ids, items, [5])
    ids, similarity = change.get("ids", ids), change.get("similarity", "cosine")

    def ask():
        index = ShardedIndex(shards, ids, similarity, engine=InProcess(), folder=str(tmp_path))
        return index.exact_hits(change.get("queries", queries), {"0": ["i7"]}, certify=change.get("certify", True))

    with pytest.raises(InputError, match=message):
        ask()


def test_shards_with_other_counts_or_in_another_order_are_refused(tmp_path):
    queries, items, ids, _ = problem_of(n=10)
    first, second = stored(tmp_path, ids, items, [5])
    options = {"engine": InProcess(), "folder": str(tmp_path / "jobs")}
    with pytest.raises(InputError, match=r"1\.parquet: this shard starts with row 5, the ones before it end at row 0"):
        ShardedIndex([second, first], ids, **options)
    index = ShardedIndex([first, VectorShard(second.path, 5, 4)], ids[:9], **options)
    with pytest.raises(InputError, match=r"1\.parquet: this shard holds 5 vectors, 4 are expected"):
        index.top_k(queries, 3)
    with pytest.raises(InputError, match="k is 0"):
        index.top_k(queries, 0)
