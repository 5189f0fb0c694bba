"""Export rankings, gold, hits and predictions of stored runs as files that other tools read."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from goldrank.cli import printing
from goldrank.errors import InputError
from goldrank.hits import Gold, Run
from goldrank.io import formats
from goldrank.io.files import write_atomically
from goldrank.io.formats.parquet import load_pyarrow
from goldrank.reporting.text.results import to_json
from goldrank.store import StoredRun

_SUFFIXES = {"json": ".json", "csv": ".csv", "parquet": ".parquet"}
# Tables without a TREC format.
_PLAIN = ("hits", "predictions")
_TREC_SUFFIXES = {"run": ".run", "gold": ".qrels"}


def export(runs: list[StoredRun], what: str, format: str | None, output: str) -> None:
    """Write a table of each run: of one run to a file, of several to a folder, with their keys as file names."""
    if output != "-" and (len(runs) > 1 or Path(output).is_dir() or output.endswith(("/", "\\"))):
        chosen = format or ("csv" if what in _PLAIN else "trec")
        folder = Path(output)
        _create(folder)
        suffix = _TREC_SUFFIXES.get(what, "") if chosen == "trec" else _SUFFIXES[chosen]
        targets = [str(folder / f"{run.key}{suffix}") for run in runs]
    elif len(runs) > 1:
        raise InputError(f"{len(runs)} runs cannot be written to standard output", remedy="name a folder with -o")
    else:
        chosen = format or _by_suffix(output, what)
        targets = [output]
    for run, target in zip(runs, targets, strict=True):
        if what in _PLAIN:
            _write_columns(_hits_columns(run) if what == "hits" else _predictions(run), what, chosen, target)
        else:
            _rows(run, what).write(target, format=chosen, tag=run.key)


def _by_suffix(output: str, what: str) -> str:
    if what not in _PLAIN:
        return "trec" if output == "-" else formats.format_for(output, "gold" if what == "gold" else "run")
    return "csv" if output == "-" else formats.format_for(output, "run")


def _create(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder cannot be created ({error.strerror})", where=str(folder), remedy="name another"
        ) from None


def _rows(run: StoredRun, what: str) -> Gold | Run:
    if what == "gold":
        return run.gold()
    rankings = run.run()
    if rankings is None:
        raise InputError(
            f"the stored run {run.key} has no rankings",
            remedy="export its hits with --what hits, or run the model again",
        )
    return rankings


def _predictions(run: StoredRun) -> dict[str, list[Any]]:
    columns = run.predictions()
    if not columns:
        raise InputError(f"the stored run {run.key} has no predictions", remedy="export its rankings or its hits")
    return columns


def _hits_columns(run: StoredRun) -> dict[str, list[Any]]:
    hits = run.hits()
    if empty := int((np.diff(hits.starts) == 0).sum()):
        printing.remark(f"note: {run.key}: {empty} queries have no gold, and therefore no row.")
    return hits.to_dict()


def _write_columns(columns: dict[str, list[Any]], what: str, format: str, target: str) -> None:
    if format == "json":
        names = list(columns)
        text = to_json([dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)])
        data = (text + "\n").encode()
    elif format == "csv":
        # Unlike `to_csv`, without escapes for spreadsheets: goldrank and other tools read these ids back.
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows([list(columns), *zip(*columns.values(), strict=True)])
        data = stream.getvalue().encode()
    elif format == "parquet":
        pyarrow, parquet = load_pyarrow()
        out = io.BytesIO()
        parquet.write_table(pyarrow.table(columns), out, compression="zstd")
        data = out.getvalue()
    else:
        raise InputError(f"{what} cannot be written as {format}", remedy="use --format csv, json or parquet")
    write_atomically(target, lambda stream: stream.write(data))
