"""Constants to plan with where nothing was measured: those of other machines, each with its source.

"Xeon" is a calibration on two cores of an Intel Xeon with bfloat16 tiles on 2026-11-15, while other work ran: CPU
seconds, halved where both cores share the work.
"""

from __future__ import annotations

from goldrank.planning.constants import (
    Constants,
    DiskCost,
    EncodingCost,
    GpuCost,
    RankingCost,
    RayCost,
    ReadingCost,
    ScoringCost,
)

# Two Zen 4 cores: float32 products at 190 GFLOP/s, of which one multiplication and addition are two.
_MULTIPLY = 2 / 190e9

REFERENCE = Constants(
    machine="exact ranks: two Zen 4 cores; top k, texts, disk, scoring: two Xeon cores",
    measured="",
    cores=2,
    memory=0.0,
    disk=0.0,
    # Xeon: resident with faiss, pyarrow and scipy loaded.
    process=128e6,
    counting=RankingCost(
        start=0.002,  # Xeon
        number=1.6e-9,  # Xeon
        # Zen 4: counting reaches 94% of the product; certifying costs 10 to 25% more, taken as 17.5%.
        multiply=1.175 / 0.94 * _MULTIPLY,
        pair=0.0,
        entry=0.0,
        entry_number=0.0,
    ),
    # Xeon
    search=RankingCost(start=0.0036, number=1.5e-9, multiply=1.06e-11, pair=1.9e-9, entry=3.2e-7, entry_number=0.0),
    # Xeon, one core
    reading=ReadingCost(text=8.2e-6, byte=3.6e-9),
    # Xeon, as the time passed while other work ran: shards of 67 MB, written through to the disk and read from it.
    disk_rate=DiskCost(write=150e6, read=460e6),
    # Xeon, one core: five metrics, 10,000 resamples.
    scoring=ScoringCost(start=0.011, query=2.7e-5, merged_count=7.3e-10, merged_result=2.4e-8),
    # Two Zen 4 cores: a cluster on one machine starts in 5 s, takes 452 MB when idle and 0.45 ms a task.
    ray=RayCost(start=5.0, task=0.00045, idle=452e6),
    gpu=GpuCost(
        name="NVIDIA H200",
        memory=141e9,  # its data sheet
        # Fitted to jobs of up to a million items, 2026-11-15; 4 million items × 768 and 8,192 queries, which took
        # 0.133 s (benchmarks/results/cuda-h200.json), come out as 0.131 s.
        counting=RankingCost(start=0.0061, number=0.0, multiply=3.77e-15, pair=0.0, entry=3.67e-6, entry_number=0.0),
        # Fitted by hand to five jobs of 0.2 to 3 million items and the top 100 or 1,000, 2026-11-15; their own times
        # differed by up to half from one run to another.
        top_k=RankingCost(start=0.002, number=0.0, multiply=1.9e-14, pair=0.0, entry=4.7e-7, entry_number=0.0),
        # benchmarks/results/cuda-h200.json: 12.288 GB loaded in 2.432 s, and streamed at 49.8 GB/s.
        load=12.288e9 / 2.432,
        stream=49.8e9,
    ),
    # Xeon, as the time passed while other work ran.
    encoding={"wordllama": EncodingCost(load=0.44, text=9.1e-6, word=4.0e-6)},
    elsewhere={"Ray": "two Zen 4 cores", "GPU": "one NVIDIA H200"},
)
