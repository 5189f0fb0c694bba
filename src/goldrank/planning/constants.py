"""The measured constants of a machine, from which estimates are computed: types, file format and reference values."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from goldrank.errors import InputError, shorten
from goldrank.io.files import PathLike, cache_folder, read_bytes, write_atomically
from goldrank.io.private_files import make_private_folder

_FORMAT = "goldrank plan constants 1"
_FILE = "plan-constants.json"
_REMEDY = "measure them again with goldrank plan --calibrate, or name another file with --constants"
Group = TypeVar("Group")


@dataclass(frozen=True)
class RankingCost:
    """Seconds of ranking on all cores of the machine, as a sum of parts."""

    start: float = 0.0
    query: float = 0.0
    """For each query: preparing it, and ranking the first items to get a threshold."""
    number: float = 0.0
    """For each number of an item: reading, checking and packing it."""
    multiply: float = 0.0
    """For each multiplication of a number of an item with one of a query."""
    pair: float = 0.0
    """For each comparison of a score."""
    entry: float = 0.0
    """For each judged item, or each result that is kept."""

    def parts(self, items: float, dimension: int, queries: float, entries: float, compared: float) -> list[float]:
        """Return the seconds of each part, for *entries* per query and *compared* comparisons of each score."""
        features = ranking_features(items, dimension, queries, entries, compared)
        return [value * feature for value, feature in zip(asdict(self).values(), features, strict=True)]


def ranking_features(
    items: float, dimension: int, queries: float, entries: float, compared: float
) -> tuple[float, ...]:
    """Return the factor of each part of a RankingCost."""
    numbers, judged = items * dimension, queries * entries
    return 1.0, queries, numbers, numbers * queries, items * queries * compared, judged


@dataclass(frozen=True)
class ReadingCost:
    """Seconds of reading texts from JSON lines, on one core."""

    text: float
    byte: float


@dataclass(frozen=True)
class EncodingCost:
    """Seconds of encoding on all cores of the machine, and of loading the model."""

    load: float
    text: float
    word: float


@dataclass(frozen=True)
class DiskCost:
    """Bytes of vectors per second, written to and read from Parquet files on disk."""

    write: float
    read: float


@dataclass(frozen=True)
class ScoringCost:
    """Seconds of the default metrics with their intervals, and of merging the results of shards."""

    start: float
    query: float
    merged_count: float
    """For each count that is added to another."""
    merged_result: float
    """For each result from which the best are chosen."""


@dataclass(frozen=True)
class RayCost:
    """The overhead of a cluster: seconds to start it, seconds per task, bytes of an idle machine."""

    start: float
    task: float
    idle: float


@dataclass(frozen=True)
class GpuCost:
    """One GPU with its machine: its memory, seconds of ranking items in it, and transfer rates."""

    name: str
    memory: float
    counting: RankingCost
    top_k: RankingCost
    load: float
    """Bytes per second of loading items into its memory."""
    stream: float
    """Bytes per second of streaming items that do not fit into its memory."""


@dataclass(frozen=True)
class Constants:
    """All constants of an estimate, and where they were measured."""

    machine: str
    measured: str
    """The date, empty for the reference constants."""
    cores: int
    memory: float
    """Bytes of the machine; 0 if unknown."""
    disk: float
    """Free bytes for vectors; 0 if unknown."""
    process: float
    """Bytes of a process with goldrank but without data."""
    counting: RankingCost
    search: RankingCost
    """The top k."""
    reading: ReadingCost
    disk_rate: DiskCost
    scoring: ScoringCost
    ray: RayCost
    gpu: GpuCost
    encoding: dict[str, EncodingCost]
    """By the spec of the model."""
    elsewhere: dict[str, str] = field(default_factory=dict)
    """The machines of the groups that were measured on another machine than the rest."""

    def encoding_of(self, model: str) -> EncodingCost:
        """Return the cost of one model; raise if it was not measured."""
        if model not in self.encoding:
            known = ", ".join(self.encoding) or "none"
            raise InputError(
                f"no rate was measured for the model {shorten(model)} (measured: {known})",
                remedy=f"run: goldrank plan --calibrate -m '{model}', or give --encode-rate TEXTS_PER_SECOND",
            )
        return self.encoding[model]


def constants_file() -> Path:
    """Return the file of the constants of this machine."""
    return cache_folder() / _FILE


def local_constants() -> Constants:
    """Return the constants that were measured on this machine, or else the reference values."""
    return read_constants(constants_file()) if constants_file().exists() else REFERENCE


def write_constants(constants: Constants, path: PathLike) -> None:
    """Write constants atomically; the cache folder is created if it does not exist."""
    if Path(path) == constants_file():
        make_private_folder(Path(path).parent)
    text = json.dumps({"format": _FORMAT, **asdict(constants)}, indent=2, ensure_ascii=False)
    write_atomically(path, lambda stream: stream.write(f"{text}\n".encode()))


def read_constants(path: PathLike) -> Constants:
    """Read constants from a file and check every number."""
    name = str(path)
    try:
        content = json.loads(read_bytes(path))
    except (ValueError, RecursionError):
        raise InputError("the file of constants is damaged: it is not JSON", where=name, remedy=_REMEDY) from None
    if not isinstance(content, dict) or content.pop("format", None) != _FORMAT:
        raise InputError("the file does not hold constants of goldrank plan", where=name, remedy=_REMEDY)
    return _group(Constants, content, name, "")


def _group(kind: type[Group], content: object, file: str, path: str) -> Group:
    """Build a dataclass from JSON content."""
    if not isinstance(content, dict):
        raise InputError(f"{path} is {shorten(content)}", where=file, remedy=_REMEDY)
    hints = get_type_hints(kind)
    names = [entry.name for entry in fields(kind)]  # type: ignore[arg-type]
    if different := sorted(set(names) ^ set(content)):
        missing = different[0] in names
        what = f"the file of constants {'lacks' if missing else 'has an unknown entry'} {_join(path, different[0])}"
        raise InputError(what, where=file, remedy=_REMEDY)
    return kind(**{name: _value(hints[name], content[name], file, _join(path, name)) for name in names})


def _value(hint: Any, value: object, file: str, path: str) -> Any:
    if is_dataclass(hint):
        return _group(hint, value, file, path)  # type: ignore[arg-type]
    if hint is str:
        good = isinstance(value, str)
    elif hint in (int, float):
        good = _is_number(value) and (hint is float or isinstance(value, int)) and _in_range(path, value)
    elif isinstance(value, dict):
        of = hint.__args__[1]
        return {name: _value(of, entry, file, _join(path, name)) for name, entry in value.items()}
    else:
        good = False
    if not good:
        raise InputError(f"{path} is {shorten(value)}, which is not a valid constant", where=file, remedy=_REMEDY)
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _in_range(path: str, value: Any) -> bool:
    """Return True if a cost is >= 0, or a divisor > 0."""
    divides = path in ("cores", "disk_rate.write", "disk_rate.read", "gpu.memory", "gpu.load", "gpu.stream")
    return bool(value > 0 if divides else value >= 0)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


# All but the GPU's were measured by `goldrank plan --calibrate` on two cores of an AMD EPYC with AVX512-VNNI on
# 2026-11-18; reading and scoring, which use one core, by the same functions in CPU time.
REFERENCE = Constants(
    machine="two cores of an AMD EPYC with AVX512-VNNI",
    measured="",
    cores=2,
    memory=0.0,
    disk=0.0,
    process=160e6,
    counting=RankingCost(start=0.0076, number=1.40e-9, multiply=8.37e-12, pair=3.43e-10, entry=7.35e-7),
    search=RankingCost(start=0.005, query=3.17e-5, number=7.41e-10, multiply=6.83e-12, pair=6.29e-10, entry=3.10e-7),
    reading=ReadingCost(text=5.4e-6, byte=7.2e-9),
    # Shards of 67 MB, written through to the disk and read from it.
    disk_rate=DiskCost(write=411e6, read=930e6),
    # Five metrics, 10,000 resamples.
    scoring=ScoringCost(start=0.0058, query=1.0e-5, merged_count=4.7e-10, merged_result=4.4e-8),
    # The memory of an idle cluster was measured on two Zen 4 cores.
    ray=RayCost(start=12.4, task=0.0011, idle=452e6),
    gpu=GpuCost(
        name="NVIDIA H200",
        memory=141e9,  # its data sheet
        # Fitted to jobs of up to a million items, 2026-11-15. For 4 million items × 768 and 8,192 queries, which took
        # 0.128 s (benchmarks/results/cuda-h200-1.json), the estimate is 0.131 s.
        counting=RankingCost(start=0.0061, multiply=3.77e-15, entry=3.67e-6),
        # Fitted by hand to five jobs of 0.2 to 3 million items and the top 100 or 1,000, 2026-11-15; their own times
        # differed by up to half from one run to another.
        top_k=RankingCost(start=0.002, multiply=1.9e-14, entry=4.7e-7),
        # 12.288 GB loaded in 2.09 s, and streamed at 50.4 GB/s (benchmarks/results/cuda-h200-1.json).
        load=12.288e9 / 2.09,
        stream=50.4e9,
    ),
    encoding={"wordllama": EncodingCost(load=0.67, text=2.95e-6, word=1.81e-7)},
    elsewhere={"GPU": "one NVIDIA H200"},
)
