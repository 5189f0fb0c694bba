"""`goldrank plan`: estimate time, memory, network and storage of a job from measured constants."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from goldrank.cli import options
from goldrank.errors import InputError
from goldrank.planning.constants import (
    Constants,
    EncodingCost,
    constants_file,
    local_constants,
    read_constants,
    write_constants,
)
from goldrank.planning.estimate import Estimate, estimate
from goldrank.planning.job import PlannedJob, Stage
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.views import View
from goldrank.units import format_bytes, format_duration, parse_amount, parse_count

_EXAMPLES = """\
  goldrank plan --item-count 1e9 --dim 768 --query-count 1e5 --nodes 64
  goldrank plan --item-count 5M --dim 256 --query-count 10k --model wordllama --words-per-text 80 --format json
  goldrank plan --item-count 100M --dim 1024 --query-count 1M --depth 0 --encode-rate 2500 --cores 32 --memory 256
  goldrank plan --calibrate
  goldrank plan --calibrate -m wordllama st:BAAI/bge-small-en-v1.5
"""
_SIZES = {"item_count": "--item-count", "dim": "--dim", "query_count": "--query-count"}
_PLANNED = ("gold", "depth", "words_per_text", "encode_rate", "nodes", "cores", "memory", "disk", "network")
_MEASURED_SIZES = ((100_000, 384, 1_000), (1_000_000, 768, 10_000))


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("plan", "Estimate the time, memory, network and storage that a job needs.", _EXAMPLES)
    job = parser.add_argument_group("job (sizes can be written as 1e9, 1_000_000, 5M, 2k or 1B)")
    job.add_argument("--item-count", metavar="N", help="number of items in the corpus")
    job.add_argument("--dim", metavar="N", help="dimension of the vectors")
    job.add_argument("--query-count", metavar="N", help="number of queries")
    job.add_argument(
        "--gold", default="1", metavar="N", help="judged items per query (default 1; 0 for no exact ranks)"
    )
    job.add_argument("--depth", default="1000", metavar="N", help="results per query (default 1000; 0 for no top k)")
    job.add_argument("--words-per-text", default="100", metavar="N", help="average length of a text (default 100)")
    job.add_argument(
        "-m", "--model", nargs="+", metavar="MODEL", help="model that encodes; --calibrate measures its rate"
    )
    job.add_argument("--encode-rate", metavar="N", help="texts that one machine encodes per second, instead of --model")
    machines = parser.add_argument_group("machines")
    machines.add_argument("--nodes", default="1", metavar="N", help="number of machines of the Ray cluster (default 1)")
    machines.add_argument("--cores", metavar="N", help="cores of each machine (default: of the measured machine)")
    machines.add_argument("--memory", metavar="GB", help="memory of each machine (default: of the measured machine)")
    machines.add_argument("--disk", metavar="GB", help="free storage (default: of the measured machine)")
    machines.add_argument("--network", default="10", metavar="GBIT", help="Gbit/s of each machine (default 10)")
    constants = parser.add_argument_group("constants")
    constants.add_argument(
        "--calibrate", action="store_true", help="measure the constants of this machine (one to two minutes)"
    )
    constants.add_argument("--constants", metavar="FILE", help="file of the constants (default: in the cache folder)")
    options.add_output(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Measure the constants, or estimate a job."""
    options.refuse_unwritable(args)
    return _calibrate(args) if args.calibrate else _plan(args)


def _plan(args: argparse.Namespace) -> int:
    if missing := [option for name, option in _SIZES.items() if getattr(args, name) is None]:
        raise InputError(
            f"{missing[0]} is not given",
            remedy="give the size of the job, as in --item-count 1e9 --dim 768 --query-count 1e5",
        )
    constants = _constants(args)
    options.emit(view(estimate(_job(args, constants), constants)), args)
    return 0


def _constants(args: argparse.Namespace) -> Constants:
    return local_constants() if args.constants is None else read_constants(args.constants)


def _job(args: argparse.Namespace, constants: Constants) -> PlannedJob:
    return PlannedJob(
        items=parse_count(args.item_count, "--item-count"),
        dimension=parse_count(args.dim, "--dim"),
        queries=parse_count(args.query_count, "--query-count"),
        judged=parse_count(args.gold, "--gold", least=0),
        depth=parse_count(args.depth, "--depth", least=0),
        words=parse_amount(args.words_per_text, "--words-per-text"),
        nodes=parse_count(args.nodes, "--nodes"),
        cores=None if args.cores is None else parse_count(args.cores, "--cores"),
        memory=_gigabytes(args.memory, "--memory"),
        disk=_gigabytes(args.disk, "--disk"),
        network=parse_amount(args.network, "--network") * 1e9 / 8,
        encoding=_encoding(args, constants),
    )


def _gigabytes(text: str | None, what: str) -> float | None:
    return None if text is None else parse_amount(text, what) * 1e9


def _encoding(args: argparse.Namespace, constants: Constants) -> EncodingCost | None:
    models = args.model or []
    if len(models) > 1 or (models and args.encode_rate is not None):
        raise InputError("a job has one model", remedy="give one --model, or --encode-rate")
    if args.encode_rate is not None:
        return EncodingCost(0.0, 1 / parse_amount(args.encode_rate, "--encode-rate"), 0.0)
    return constants.encoding_of(models[0]) if models else None


def _calibrate(args: argparse.Namespace) -> int:
    options.refuse_unused(
        args, [*_SIZES, *_PLANNED], "beside --calibrate, which plans nothing", "calibrate first, then plan"
    )
    from goldrank.planning.calibration import calibrate

    path = Path(args.constants) if args.constants is not None else constants_file()
    if args.constants is not None:
        options.refuse_missing_folder(args.constants)
    before = read_constants(path) if path.exists() else None
    remarks: list[str] = []
    constants = calibrate(args.model or ["wordllama"], warn=remarks.append)
    if before is not None and before.machine == constants.machine:
        # Earlier measurements of other models on this machine are still valid.
        constants = replace(constants, encoding={**before.encoding, **constants.encoding})
    write_constants(constants, path)
    options.emit(constants_view(constants, [*remarks, f"Written to {path}."]), args)
    return 0


def view(plan: Estimate) -> View:
    """Return an estimate in all its forms."""
    fields = list(asdict(Stage("")))[1:]
    return View(
        lambda: _content(plan),
        lambda: [
            ["engine", "stage", *fields],
            *(
                [engine.name, *asdict(stage).values()]
                for engine in plan.engines
                for stage in (*engine.stages, engine.total)
            ),
        ],
        lambda: _grids(plan),
        schema="plan",
    )


def _content(plan: Estimate) -> dict[str, Any]:
    def as_dict(stage: Stage) -> dict[str, Any]:
        return {"stage" if name == "name" else name: value for name, value in asdict(stage).items()}

    return {
        "job": {**asdict(plan.job), "cores": plan.job.cores or plan.constants.cores},
        "constants": {"source": _source(plan.constants), **asdict(plan.constants)},
        "engines": [
            {
                "engine": engine.name,
                "stages": [as_dict(stage) for stage in engine.stages],
                "total": as_dict(engine.total),
            }
            for engine in plan.engines
        ],
        "notes": list(plan.notes),
    }


def _grids(plan: Estimate) -> list[Grid]:
    job, cores = plan.job, plan.job.cores or plan.constants.cores
    title = (
        f"{job.items:,} items of {job.dimension} dimensions, {job.queries:,} queries with {job.judged} judged and "
        f"{job.depth:,} results each; Ray on {job.nodes:,} machine{'s' * (job.nodes > 1)} of {cores} cores"
    )
    # A row is a stage, with the estimate of each engine.
    rows = list(zip(*([*engine.stages, engine.total] for engine in plan.engines), strict=True))
    times = [[Cell(row[0].name), *(cell for stage in row for cell in _time_cells(stage))] for row in rows]
    sizes = [
        [
            Cell(local.name),
            *(
                Cell(format_bytes(size) if size else "–")
                for size in (
                    local.memory, ray.memory, ray.head, ray.network, gpu.memory, gpu.device, local.storage, ray.storage
                )
            ),
        ]
        for local, ray, gpu in rows
    ]  # fmt: skip
    heads = [heading for engine in plan.engines for heading in (engine.name, "limit")]
    memory = ["local", "Ray, a worker", "Ray, head", "Ray, network", "GPU, host", "GPU", "stored", "stored by Ray"]
    assumed = (
        f"Assumed, not measured: {job.network * 8 / 1e9:g} Gbit/s for each machine; cores that do not slow each other "
        "down; storage that every machine reads and writes at the measured rate."
    )
    notes = [*(note[0].upper() + note[1:] for note in plan.notes), assumed, _source(plan.constants)]
    return [
        Grid(["time", *heads], times, title=title),
        Grid(["peak memory, bytes moved and stored", *memory], sizes, notes=notes),
    ]


def _time_cells(stage: Stage) -> tuple[Cell, Cell]:
    time = "?" if stage.seconds is None else format_duration(stage.seconds)
    return Cell(time), Cell(stage.limit if stage.seconds else "")


def _source(constants: Constants) -> str:
    """Return where the constants come from, in a sentence or two."""
    elsewhere = "; ".join(f"{group}: {where}" for group, where in constants.elsewhere.items())
    if not constants.measured:
        return (
            f"Constants: reference values of other machines, not of this one ({constants.machine}; {elsewhere}). "
            "Run goldrank plan --calibrate to measure this machine."
        )
    line = f"Constants: {constants.machine}, measured on {constants.measured} by goldrank plan --calibrate"
    return line + (f"; of other machines: {elsewhere}." if elsewhere else ".")


def constants_view(constants: Constants, notes: list[str]) -> View:
    """Return measured constants, as rates in common units, in all their forms."""
    rows = _rates(constants)

    def grid() -> Grid:
        cells = [[Cell(name), Cell(value)] for name, value in rows]
        return Grid(["constant", "measured"], cells, notes=[*notes, _source(constants)])

    return View(
        lambda: asdict(constants),
        lambda: [["constant", "value"], *rows],
        lambda: [grid()],
        schema="plan-calibrate",
    )


def _rates(constants: Constants) -> list[tuple[str, str]]:
    disk, ray, gpu, scoring = constants.disk_rate, constants.ray, constants.gpu, constants.scoring
    rows = []
    for name, cost, entries in (
        ("exact ranks", constants.counting, 1),
        ("top 100", constants.search, 100),
        ("top 1,000", constants.search, 1000),
        (f"{gpu.name}, exact ranks", gpu.counting, 1),
        (f"{gpu.name}, top 1,000", gpu.top_k, 1000),
    ):
        for items, dimension, queries in _MEASURED_SIZES:
            seconds = sum(cost.parts(items, dimension, queries, entries, 1))
            speed = 2 * items * dimension * queries / seconds / 1e9
            size = f"{queries:,} × {items:,} × {dimension}"
            rows.append((f"{name}, {size}", f"{format_duration(seconds)}, {speed:,.0f} GFLOP/s"))
    reading = constants.reading.text + 636 * constants.reading.byte
    rows += [
        ("vectors written", f"{format_bytes(disk.write)}/s"),
        ("vectors read", f"{format_bytes(disk.read)}/s"),
        ("texts of 100 words read", f"{1 / reading:,.0f}/s"),
        *(
            (f"texts of 100 words encoded by {model}", f"{1 / (cost.text + 100 * cost.word):,.0f}/s")
            for model, cost in constants.encoding.items()
        ),
        ("10,000 queries scored, with intervals", format_duration(scoring.start + 10_000 * scoring.query)),
        ("Ray started", format_duration(ray.start)),
        ("a task of Ray", f"{1000 * ray.task:.2f} ms"),
        (f"{gpu.name}, items loaded", f"{format_bytes(gpu.load)}/s"),
        (f"{gpu.name}, items streamed", f"{format_bytes(gpu.stream)}/s"),
    ]
    return rows
