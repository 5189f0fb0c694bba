"""`goldrank plan`: what a job of any size would take, from constants that were measured."""

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
from goldrank.reporting.text import results
from goldrank.reporting.text.grids import Cell, Grid, render
from goldrank.units import format_bytes, format_duration, parse_amount, parse_count

_EXAMPLES = """\
  goldrank plan --items 1e9 --dim 768 --queries 1e5 --nodes 64
  goldrank plan --items 5M --dim 256 --queries 10k --model wordllama --words 80 --format json
  goldrank plan --items 100M --dim 1024 --queries 1M --depth 0 --encode-rate 2500 --cores 32 --memory 256
  goldrank plan --calibrate
  goldrank plan --calibrate -m wordllama st:BAAI/bge-small-en-v1.5
"""
_SIZES = ("items", "dim", "queries")
_PLANNED = ("gold", "depth", "words", "encode_rate", "nodes", "cores", "memory", "disk", "network")
_SHOWN = ((100_000, 384, 1_000), (1_000_000, 768, 10_000))


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = options.new_parser("plan", "What a job of any size would take: time, memory, network, storage.", _EXAMPLES)
    sizes = made.add_argument_group("the job (numbers may be written 1e9, 1_000_000, 5M, 2k, 1B)")
    sizes.add_argument("--items", metavar="N", help="items to rank")
    sizes.add_argument("--dim", metavar="N", help="numbers in a vector")
    sizes.add_argument("--queries", metavar="N", help="queries to ask")
    sizes.add_argument(
        "--gold", default="1", metavar="N", help="judged items of a query (default 1; 0: no exact ranks)"
    )
    sizes.add_argument("--depth", default="1000", metavar="K", help="results of a query (default 1000; 0: no top k)")
    sizes.add_argument("--words", default="100", metavar="N", help="words of a text on average (default 100)")
    sizes.add_argument("-m", "--model", nargs="+", metavar="MODEL", help="what encodes; its rate has to be measured")
    sizes.add_argument("--encode-rate", metavar="R", help="texts a second that one machine encodes, instead of --model")
    machines = made.add_argument_group("the machines")
    machines.add_argument("--nodes", default="1", metavar="N", help="machines of the Ray cluster (default 1)")
    machines.add_argument("--cores", metavar="N", help="cores of each (default: as many as were measured)")
    machines.add_argument("--memory", metavar="GB", help="memory of each (default: what was measured)")
    machines.add_argument("--disk", metavar="GB", help="free storage (default: what was measured)")
    machines.add_argument("--network", default="10", metavar="GBIT", help="gigabits a second of each (assumed: 10)")
    measured = made.add_argument_group("the constants")
    measured.add_argument("--calibrate", action="store_true", help="measure this machine, in one to two minutes")
    measured.add_argument("--constants", metavar="FILE", help="read or write them there (default: in the cache)")
    options.add_output(made)
    return made


def run(args: argparse.Namespace) -> int:
    """Measure, or plan."""
    options.refuse_unwritable(args)
    return _calibrate(args) if args.calibrate else _plan(args)


def _plan(args: argparse.Namespace) -> int:
    if missing := [name for name in _SIZES if getattr(args, name) is None]:
        raise InputError(
            f"--{missing[0]} is not given", remedy="say how large the job is: --items 1e9 --dim 768 --queries 1e5"
        )
    constants = _constants(args)
    options.emit(show(estimate(_job(args, constants), constants), args.format), args)
    return 0


def _constants(args: argparse.Namespace) -> Constants:
    return local_constants() if args.constants is None else read_constants(args.constants)


def _job(args: argparse.Namespace, constants: Constants) -> PlannedJob:
    return PlannedJob(
        items=parse_count(args.items, "--items"),
        dimension=parse_count(args.dim, "--dim"),
        queries=parse_count(args.queries, "--queries"),
        judged=parse_count(args.gold, "--gold", least=0),
        depth=parse_count(args.depth, "--depth", least=0),
        words=parse_amount(args.words, "--words"),
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
        raise InputError("one job has one model", remedy="give one --model, or --encode-rate")
    if args.encode_rate is not None:
        return EncodingCost(0.0, 1 / parse_amount(args.encode_rate, "--encode-rate"), 0.0)
    return constants.encoding_of(models[0]) if models else None


def _calibrate(args: argparse.Namespace) -> int:
    if given := [name for name in _SIZES if getattr(args, name) is not None]:
        raise InputError(f"--calibrate plans nothing, but --{given[0]} is given", remedy="measure first, then plan")
    options.refuse_unused(args, _PLANNED, "beside --calibrate, which plans nothing", "measure first, then plan")
    from goldrank.planning.calibration import calibrate

    path = Path(args.constants) if args.constants is not None else constants_file()
    if args.constants is not None and not path.absolute().parent.is_dir():
        raise InputError("there is no such folder to write to", where=str(path), remedy="make it first")
    before = read_constants(path) if path.exists() else None
    remarks: list[str] = []
    made = calibrate(args.model or ["wordllama"], say=remarks.append)
    if before is not None and before.machine == made.machine:
        # What other models took here is still true.
        made = replace(made, encoding={**before.encoding, **made.encoding})
    write_constants(made, path)
    options.emit(show_constants(made, args.format, [*remarks, f"Written to {path}."]), args)
    return 0


def show(made: Estimate, look: str) -> str:
    """A plan in the format asked for."""
    if look == "json":
        return results.to_json(_content(made))
    if look == "csv":
        fields = list(asdict(Stage("")))
        lines: list[list[Any]] = [["engine", "stage", *fields[1:]]]
        lines += [[plan.name, *asdict(stage).values()] for plan in made.engines for stage in (*plan.stages, plan.total)]
        return results.to_csv(lines)
    return render(_grids(made), look)


def _content(made: Estimate) -> dict[str, Any]:
    def stage(one: Stage) -> dict[str, Any]:
        return {"stage" if name == "name" else name: value for name, value in asdict(one).items()}

    return {
        "job": {**asdict(made.job), "cores": made.job.cores or made.constants.cores},
        "constants": {"source": _source(made.constants), **asdict(made.constants)},
        "engines": [
            {"engine": plan.name, "stages": [stage(one) for one in plan.stages], "total": stage(plan.total)}
            for plan in made.engines
        ],
        "notes": list(made.notes),
    }


def _grids(made: Estimate) -> list[Grid]:
    job, cores = made.job, made.job.cores or made.constants.cores
    title = (
        f"{job.items:,} items of {job.dimension} numbers, {job.queries:,} queries with {job.judged} judged and "
        f"{job.depth:,} results each; Ray on {job.nodes:,} machine{'s' * (job.nodes > 1)} of {cores} cores"
    )
    rows = list(zip(*([*plan.stages, plan.total] for plan in made.engines), strict=True))
    times = [[Cell(row[0].name), *(cell for one in row for cell in _time_cells(one))] for row in rows]
    sizes = [
        [
            Cell(row[0].name),
            *(Cell(_size(size)) for size in (row[0].memory, row[1].memory, row[1].head, row[1].network)),
            *(Cell(_size(size)) for size in (row[2].memory, row[2].device)),
            *(Cell(_size(one.storage)) for one in row[:2]),
        ]
        for row in rows
    ]
    heads = [heading for plan in made.engines for heading in (plan.name, "limit")]
    memory = ["local", "Ray, a worker", "Ray, head", "Ray, network", "GPU, host", "GPU", "stored", "stored by Ray"]
    assumed = (
        f"Assumed, not measured: {job.network * 8 / 1e9:g} gigabits a second for each machine; cores that do not "
        "slow each other down; storage that every machine reads and writes at the measured rate."
    )
    notes = [*(note[0].upper() + note[1:] for note in made.notes), assumed, _source(made.constants)]
    return [
        Grid(["time", *heads], times, title=title),
        Grid(["memory at most, bytes moved and kept", *memory], sizes, notes=notes),
    ]


def _time_cells(stage: Stage) -> tuple[Cell, Cell]:
    return Cell("?" if stage.seconds is None else format_duration(stage.seconds)), Cell(
        stage.limit if stage.seconds else ""
    )


def _source(constants: Constants) -> str:
    """Where the numbers come from, in a sentence or two."""
    elsewhere = "; ".join(f"{group}: {where}" for group, where in constants.elsewhere.items())
    if not constants.measured:
        return (
            f"Constants: reference values of other machines, not of this one ({constants.machine}; {elsewhere}). "
            "goldrank plan --calibrate measures yours."
        )
    line = f"Constants: {constants.machine}, measured on {constants.measured} by goldrank plan --calibrate"
    return line + (f"; of other machines: {elsewhere}." if elsewhere else ".")


def show_constants(constants: Constants, look: str, notes: list[str]) -> str:
    """Measured constants in the format asked for, as rates that people know."""
    if look == "json":
        return results.to_json(asdict(constants))
    rows = _rates(constants)
    if look == "csv":
        return results.to_csv([["constant", "value"], *([name, value] for name, value in rows)])
    cells = [[Cell(name), Cell(value)] for name, value in rows]
    return render([Grid(["constant", "measured"], cells, notes=[*notes, _source(constants)])], look)


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
        for items, dimension, queries in _SHOWN:
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


def _size(size: float) -> str:
    return format_bytes(size) if size else "–"
