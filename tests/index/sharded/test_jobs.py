"""Jobs of a sharded index: completed shards are reused, and damaged results or those of another job are not."""

import numpy as np
import pytest

from goldrank.errors import InputError
from goldrank.index.exact.index import ExactIndex
from goldrank.index.sharded import worker
from goldrank.index.sharded.index import ShardedIndex
from goldrank.vectors.transforms import Pipeline
from index.shards_in_process import InProcess, KilledError, assert_same_hits, assert_same_run, problem_of, stored


@pytest.mark.parametrize("work", ["count", "find"])
def test_a_second_start_does_only_the_shards_that_are_missing(work, tmp_path):
    queries, items, ids, gold = problem_of()
    shards = stored(tmp_path, ids, items, [100, 200, 300, 400])

    def ask(engine):
        index = ShardedIndex(shards, ids, engine=engine, folder=str(tmp_path / "jobs"))
        return index.exact_hits(queries, gold) if work == "count" else index.top_k(queries, 50)

    def agrees(result):
        whole = ExactIndex(items, ids)
        if work == "count":
            assert_same_hits(result, whole.exact_hits(queries, gold))
        else:
            assert_same_run(result, whole.top_k(queries, 50))

    first, second, third = InProcess(seed=1, dies_after=(work, 3)), InProcess(), InProcess()
    with pytest.raises(KilledError):
        ask(first)
    agrees(ask(second))
    numbers = [{task.number for task in engine.of(work)} for engine in (first, second)]
    assert (len(numbers[0]), len(numbers[1]), numbers[0] | numbers[1]) == (3, 2, {0, 1, 2, 3, 4})
    agrees(ask(third))
    assert not third.of(work)


@pytest.mark.parametrize("damage", ["flip", "cut", "empty"])
def test_a_damaged_result_is_noticed_and_made_again(damage, tmp_path):
    queries, items, ids, gold = problem_of()
    shards = stored(tmp_path, ids, items, [100, 200])
    folder = tmp_path / "jobs"
    ShardedIndex(shards, ids, engine=InProcess(), folder=str(folder)).exact_hits(queries, gold)
    path = sorted(folder.glob("*/*.result"))[1]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes({"flip": content, "cut": content[:100], "empty": b""}[damage])
    engine = InProcess()
    hits = ShardedIndex(shards, ids, engine=engine, folder=str(folder)).exact_hits(queries, gold)
    assert_same_hits(hits, ExactIndex(items, ids).exact_hits(queries, gold))
    assert [task.number for task in engine.of("count")] == [1]


def test_a_damaged_shard_or_job_is_refused_by_its_name(tmp_path):
    queries, items, ids, gold = problem_of()
    shards = stored(tmp_path, ids, items, [100, 200])
    content = bytearray((tmp_path / "1.parquet").read_bytes())
    offset = content.index(items[150].tobytes())
    content[offset] ^= 1
    (tmp_path / "1.parquet").write_bytes(content)
    index = ShardedIndex(shards, ids, engine=InProcess(), folder=str(tmp_path / "jobs"))
    with pytest.raises(InputError, match=r"1\.parquet: this shard is damaged: its checksum is wrong; write"):
        index.exact_hits(queries, gold)
    with pytest.raises(InputError, match=r"1\.parquet: this shard is damaged"):
        index.top_k(queries, 3)
    job = next(tmp_path.glob("jobs/*/job.npz"))
    job.write_bytes(job.read_bytes()[:-1])
    worker.opened_job.cache_clear()
    with pytest.raises(InputError, match=r"the file of this job is damaged; remove this folder"):
        worker.opened_job(str(job.parent))


def test_everything_that_decides_the_counts_makes_another_job(tmp_path):
    queries, items, ids, gold = problem_of()
    shards = stored(tmp_path, ids, items, [100])
    folder = tmp_path / "jobs"

    def jobs_after(change_queries=queries, change_gold=gold, own=False, **options):
        index = ShardedIndex(shards, ids, engine=InProcess(), folder=str(folder), **options)
        index.exact_hits(change_queries, change_gold, exclude_self=own)
        return len(list(folder.iterdir()))

    assert [jobs_after(), jobs_after(), jobs_after(own=True)] == [1, 1, 1]
    assert jobs_after(similarity="dot") == 2
    assert jobs_after(np.nextafter(queries, np.float32(9))) == 3
    assert jobs_after(change_gold={**gold, "0": {"i7": 1}}) == 4
    Pipeline.parse("normalize").save(tmp_path / "transform.npz")
    shards = shards[:1]
    ids = ids[:100]
    assert jobs_after(change_gold={"0": {"i7": 1}}, transform=str(tmp_path / "transform.npz")) == 5
    assert jobs_after(change_gold={"0": {"i7": 1}}) == 6
    items[3] *= -1
    stored(tmp_path, ids, items[:100], [])
    assert jobs_after(change_gold={"0": {"i7": 1}}) == 7


def test_forgetting_removes_the_jobs_of_this_index_alone(tmp_path):
    queries, items, ids, gold = problem_of()
    shards = stored(tmp_path, ids, items, [100])
    index, other_index = (
        ShardedIndex(shards, ids, similarity, engine=InProcess(), folder=str(tmp_path / "jobs"))
        for similarity in ("dot", "l2")
    )
    index.exact_hits(queries, gold)
    index.top_k(queries, 3)
    other_index.exact_hits(queries, gold)
    index.forget()
    assert len(list((tmp_path / "jobs").iterdir())) == 1
    assert_same_hits(index.exact_hits(queries, gold), ExactIndex(items, ids, "dot").exact_hits(queries, gold))
