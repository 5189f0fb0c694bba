"""Constants to plan with where nothing was measured: those of other machines, each with its source.

All but the GPU's are a calibration on two cores of an Intel Xeon with bfloat16 tiles, quiet, on 2026-11-15.
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

REFERENCE = Constants(
    machine="two cores of an Intel Xeon with bfloat16 tiles",
    measured="",
    cores=2,
    memory=0.0,
    disk=0.0,
    process=132e6,
    counting=RankingCost(start=0.0066, number=2.24e-9, multiply=2.28e-12, pair=2.15e-10, entry=2.54e-6),
    search=RankingCost(query=1.48e-4, number=2.15e-9, multiply=7.05e-12, pair=1.21e-9, entry=4.15e-7),
    reading=ReadingCost(text=7.9e-6, byte=2.4e-9),
    # Shards of 67 MB, written through to the disk and read from it.
    disk_rate=DiskCost(write=355e6, read=976e6),
    # Five metrics, 10,000 resamples.
    scoring=ScoringCost(start=0.0052, query=1.9e-5, merged_count=5.7e-10, merged_result=2.7e-8),
    # The memory of an idle cluster was measured on two Zen 4 cores.
    ray=RayCost(start=5.7, task=0.0015, idle=452e6),
    gpu=GpuCost(
        name="NVIDIA H200",
        memory=141e9,  # its data sheet
        # Fitted to jobs of up to a million items, 2026-11-15; 4 million items × 768 and 8,192 queries, which took
        # 0.128 s (benchmarks/results/cuda-h200-1.json), come out as 0.131 s.
        counting=RankingCost(start=0.0061, multiply=3.77e-15, entry=3.67e-6),
        # Fitted by hand to five jobs of 0.2 to 3 million items and the top 100 or 1,000, 2026-11-15; their own times
        # differed by up to half from one run to another.
        top_k=RankingCost(start=0.002, multiply=1.9e-14, entry=4.7e-7),
        # 12.288 GB loaded in 2.09 s, and streamed at 50.4 GB/s (benchmarks/results/cuda-h200-1.json).
        load=12.288e9 / 2.09,
        stream=50.4e9,
    ),
    encoding={"wordllama": EncodingCost(load=0.26, text=2.4e-5, word=2.3e-6)},
    elsewhere={"GPU": "one NVIDIA H200"},
)
