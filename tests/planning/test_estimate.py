"""Test that plans scale with sizes and constants, add up, name their bottleneck and report what does not fit."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goldrank.errors import InputError
from goldrank.planning.cluster import results_sent
from goldrank.planning.constants import REFERENCE, EncodingCost
from goldrank.planning.estimate import estimate
from goldrank.planning.job import SHARD, EnginePlan, PlannedJob, Stage, slowest
from goldrank.units import format_bytes, format_duration, parse_amount, parse_count

JOB = PlannedJob(items=10_000_000, dimension=768, queries=10_000, encoding=EncodingCost(1.0, 1e-4, 1e-6))


def seconds(job, stage, engine="local", constants=REFERENCE):
    return estimate(job, constants).engine(engine).stage(stage).seconds


def test_every_engine_has_every_stage_in_order():
    stages = "start, read texts, encode, write vectors, gather gold, exact ranks, top k, merge, score"
    for engine in estimate(JOB, REFERENCE).engines:
        assert ", ".join(stage.name for stage in engine.stages) == f"{stages}, intervals"


def test_a_total_adds_times_and_bytes_moved_and_takes_the_highest_memory():
    stages = (Stage("a", 1.0, "disk", 5, 1, 0, 10, 100), Stage("b", 3.0, "compute", 2, 7, 3, 20, 0), Stage("c", None))
    total = EnginePlan("local", stages).total
    assert (total.seconds, total.limit) == (4.0, "compute")
    assert (total.memory, total.head, total.device, total.network, total.storage) == (5, 7, 3, 30, 100)


def test_sizes_follow_from_the_job():
    job = PlannedJob(items=SHARD + 1, dimension=10, queries=3, judged=4, depth=5)
    assert job.vector_bytes == (SHARD + 1) * 40
    assert (job.shards, job.judged_items, job.results, job.query_bytes) == (2, 12, 15, 120)
    assert PlannedJob(items=3, dimension=2, queries=2, depth=1000).results == 6


@given(st.integers(1, 10**10), st.integers(1, 4096), st.integers(1, 10**6), st.integers(1, 500))
def test_no_estimate_is_negative_or_undefined_whatever_the_size(items, dimension, queries, nodes):
    plan = estimate(PlannedJob(items, dimension, queries, nodes=nodes, encoding=EncodingCost(0, 1e-4, 0)), REFERENCE)
    for engine in plan.engines:
        for stage in (*engine.stages, engine.total):
            numbers = (stage.seconds, stage.memory, stage.head, stage.device, stage.network, stage.storage)
            assert all(number is not None and number >= 0 and math.isfinite(number) for number in numbers)


@given(st.integers(2, 50))
def test_more_items_never_take_less_time(times):
    small = replace(JOB, items=200_000)
    for engine in ("local", "Ray", "one GPU"):
        few, many = (estimate(job, REFERENCE).engine(engine) for job in (small, replace(small, items=times * 200_000)))
        assert many.total.seconds >= few.total.seconds
        assert many.total.storage > few.total.storage


def test_local_ranking_is_shared_by_the_cores_and_reading_is_not():
    one_core, many_cores = replace(JOB, cores=1), replace(JOB, cores=8)
    assert seconds(one_core, "exact ranks") == pytest.approx(8 * seconds(many_cores, "exact ranks"))
    assert seconds(one_core, "read texts") == seconds(many_cores, "read texts")


def test_a_cluster_of_twice_the_machines_ranks_in_half_the_time_as_long_as_there_are_shards_for_all():
    job = replace(JOB, items=64 * SHARD, cores=2)
    four, eight = (seconds(replace(job, nodes=nodes), "exact ranks", "Ray") for nodes in (4, 8))
    assert four == pytest.approx(2 * eight)
    assert seconds(replace(job, nodes=32), "exact ranks", "Ray") == seconds(
        replace(job, nodes=320), "exact ranks", "Ray"
    )


def test_tasks_of_next_to_nothing_are_limited_by_what_handing_them_out_takes():
    tiny = PlannedJob(items=100_000 * SHARD, dimension=1, queries=1, nodes=10_000, cores=64, words=1, network=1e15)
    fast = replace(REFERENCE, disk_rate=replace(REFERENCE.disk_rate, write=1e15, read=1e15))
    stage = estimate(tiny, fast).engine("Ray").stage("write vectors")
    assert stage.limit == "task overhead"
    assert stage.seconds == pytest.approx(100_000 * REFERENCE.ray.task)


def test_a_slow_network_becomes_the_limit_of_a_cluster():
    fast, slow = (replace(JOB, nodes=8, network=rate) for rate in (1e12, 1e6))
    assert estimate(fast, REFERENCE).engine("Ray").stage("exact ranks").limit != "network"
    stage = estimate(slow, REFERENCE).engine("Ray").stage("exact ranks")
    assert stage.limit == "network"
    assert stage.seconds >= JOB.vector_bytes / 8 / 1e6


def test_a_cluster_of_one_machine_moves_nothing_over_the_network():
    assert estimate(JOB, REFERENCE).engine("Ray").total.network == 0
    assert estimate(replace(JOB, nodes=2), REFERENCE).engine("Ray").total.network > JOB.vector_bytes


def test_shards_return_four_counts_for_each_judged_item():
    few, many = (estimate(replace(JOB, judged=judged), REFERENCE).engine("Ray") for judged in (1, 3))
    more = many.stage("exact ranks").storage - few.stage("exact ranks").storage
    assert more == 2 * JOB.queries * JOB.shards * 4 * 8


def test_floors_spare_most_of_the_results_of_many_shards():
    assert results_sent(1000, 1, 128) == 1000
    assert results_sent(1000, 10_000, 4) < 1000 * (8 + math.log(10_000))
    assert results_sent(1000, 100, 50) == 1000 * 100


def test_what_is_not_asked_for_takes_nothing():
    assert seconds(replace(JOB, judged=0), "exact ranks") == 0
    assert seconds(replace(JOB, depth=0), "top k") == 0
    ray = estimate(replace(JOB, judged=0, depth=0), REFERENCE).engine("Ray")
    assert [ray.stage(name).seconds for name in ("gather gold", "exact ranks", "top k", "merge")] == [0, 0, 0, 0]


def test_encoding_without_a_model_is_unknown_and_said_to_be():
    plan = estimate(replace(JOB, encoding=None), REFERENCE)
    assert all(engine.stage("encode").seconds is None for engine in plan.engines)
    assert any("encode is left out" in note for note in plan.notes)
    assert not any("encode is left out" in note for note in estimate(JOB, REFERENCE).notes)


def test_vectors_beyond_memory_are_read_from_disk_in_every_pass():
    job = replace(JOB, memory=1e9, queries=5000, depth=100)
    plan = estimate(job, REFERENCE)
    stage, passes = plan.engine("local").stage("top k"), 5
    slow = replace(REFERENCE, disk_rate=replace(REFERENCE.disk_rate, read=1e6))
    assert estimate(job, slow).engine("local").stage("top k").limit == "disk"
    assert seconds(job, "top k", constants=slow) == pytest.approx(passes * job.vector_bytes / 1e6)
    assert stage.memory < estimate(replace(job, memory=1e12), REFERENCE).engine("local").stage("top k").memory
    assert any(note.startswith("local: vectors of 30.7 GB") for note in plan.notes)
    assert not any("do not fit" in note for note in estimate(replace(job, memory=1e12, disk=1e15), REFERENCE).notes)


def test_items_that_do_not_fit_on_the_gpu_are_streamed_and_a_note_says_so():
    small, large = replace(JOB, items=1_000_000), replace(JOB, items=100_000_000, memory=1e13)
    assert not any(note.startswith("one GPU") for note in estimate(small, REFERENCE).notes)
    plan = estimate(large, REFERENCE)
    assert any(note.startswith("one GPU: items need") and "memory" in note for note in plan.notes)
    gpu = plan.engine("one GPU")
    assert gpu.stage("start").seconds == 0
    assert gpu.stage("exact ranks").device <= REFERENCE.gpu.memory
    slow = replace(REFERENCE, gpu=replace(REFERENCE.gpu, stream=1e8))
    assert estimate(large, slow).engine("one GPU").stage("exact ranks").limit == "PCIe"


def test_a_head_and_workers_that_do_not_fit_and_too_little_storage_are_noted():
    plan = estimate(replace(JOB, items=10**9, queries=10**6, memory=16e9, disk=1e9, cores=16), REFERENCE)
    assert any("16 workers of" in note for note in plan.notes)
    assert any(note.startswith("Ray: the head needs") and "ids (167.0 GB)" in note for note in plan.notes)
    assert any(note.startswith("storage: ") for note in plan.notes)


def test_the_limit_is_what_all_wait_for_and_nothing_where_there_is_nothing_to_do():
    assert slowest({"compute": 1.0, "disk": 2.0}) == (2.0, "disk")
    assert slowest({"compute": 0.0, "disk": 0.0}) == (0.0, "")


@pytest.mark.parametrize(
    ("text", "number"),
    [("1e9", 10**9), ("1_000_000", 10**6), ("1,000", 1000), ("5M", 5_000_000), ("2k", 2000), ("1B", 10**9),
     ("1.5e3", 1500), ("0.5k", 500), (" 7 ", 7), ("2E+3", 2000), ("3g", 3 * 10**9)],
)  # fmt: skip
def test_numbers_are_read_as_people_write_them(text, number):
    assert parse_count(text, "--items") == number


@pytest.mark.parametrize(
    "text", ["", "x", "-1", "1.5", "nan", "inf", "1e99", "5 apples", "1__0", "0", "1_0", "٣", "0x10"]
)
def test_other_numbers_are_refused_with_a_remedy(text):
    with pytest.raises(InputError, match=r"--items is .*; "):
        parse_count(text, "--items")


def test_amounts_may_have_fractions_but_are_above_nothing():
    assert parse_amount("12.5", "--words") == 12.5
    with pytest.raises(InputError, match="above 0"):
        parse_amount("0", "--words")


@given(st.floats(0.001, 1e12))
def test_times_and_bytes_read_back_to_about_what_they_are(number):
    units = {"s": 1, "min": 60, "h": 3600, "days": 86400, "years": 365.25 * 86400}
    value, unit = format_duration(number).split()
    assert float(value) * units[unit] == pytest.approx(number, rel=0.06)
    powers = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "PB": 1e15}
    value, unit = format_bytes(1000 * number).split()
    assert float(value) * powers[unit] == pytest.approx(1000 * number, rel=0.06, abs=1)
