"""`goldrank runs`: what is stored, all that is known of a run, its tables as files, and deleting."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import Any

from goldrank.cli import options, printing, stored_runs
from goldrank.errors import GoldrankError, InputError
from goldrank.metrics import Metric, parse_all
from goldrank.reporting.text import formatting, results
from goldrank.reporting.text.grids import Cell, Grid, render
from goldrank.scoring import Scores, score_hits
from goldrank.store import Store, StoredRun

_EXAMPLES = """\
  goldrank runs list
  goldrank runs list --task wines --model 'st:*' --format json
  goldrank runs show wines-wordllama-3f2a
  goldrank runs export wines-wordllama-3f2a -o wordllama.run
  goldrank runs export wines-bm25-91c0 wines-wordllama-3f2a --what hits --format csv -o tables/
  goldrank runs delete wines-bm25-91c0 --yes
"""
_FORMATS = ("table", "json", "csv", "markdown")


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = options.new_parser("runs", "List, show, export and delete stored runs.", _EXAMPLES)
    actions = made.add_subparsers(dest="action", required=True, metavar="list|show|export|delete")
    listing = actions.add_parser("list", help="the stored runs, each with its first metric")
    listing.add_argument("--task", metavar="T", help="only of that task; * stands for any text")
    listing.add_argument("--model", metavar="M", help="only of that model; * stands for any text")
    show = actions.add_parser("show", help="all that is known of a run, and its scores")
    show.add_argument("keys", metavar="KEY", nargs=1, help="a key, or enough of its start")
    export = actions.add_parser("export", help="rankings, gold or hits as files")
    export.add_argument("keys", metavar="KEY", nargs="+")
    export.add_argument(
        "--what", choices=("run", "gold", "hits", "predictions"), default="run", help="which table (default run)"
    )
    export.add_argument("--format", choices=("trec", "json", "csv", "parquet"), help="default: by the suffix of FILE")
    export.add_argument("-o", "--output", metavar="FILE|DIR", default="-", help="default: standard output")
    delete = actions.add_parser("delete", help="remove runs for good")
    delete.add_argument("keys", metavar="KEY", nargs="+")
    delete.add_argument("--yes", action="store_true", help="delete without asking")
    for action in (listing, show, delete):
        action.add_argument("--format", choices=_FORMATS, default="table", help="output format (default table)")
    for action in (listing, show, delete):
        action.add_argument("-o", "--output", metavar="FILE", help="write there instead of to standard output")
    for action in (listing, show, export, delete):
        stored_runs.add_store(action)
        action.add_argument("--debug", action="store_true", help="show a traceback on errors")
    return made


def run(args: argparse.Namespace) -> int:
    """List, show, export or delete."""
    store = Store.open(args.store)
    if args.action == "export":
        from goldrank.cli.export import export

        export([store.get(key) for key in args.keys], args.what, args.format, args.output)
        return 0
    text = {"list": _list, "show": _show, "delete": _delete}[args.action](store, args)
    options.emit(text, args)
    return 0


def _list(store: Store, args: argparse.Namespace) -> str:
    runs = store.list(task=args.task, model=args.model)
    first = {run.key: _first(run) for run in runs}
    rows = [_row(run, first[run.key]) for run in runs]
    if args.format == "json":
        return results.to_json({"store": store.where, "runs": rows})
    if args.format == "csv":
        headings = ["key", "task", "model", "profile", "metric", "value", "queries", "created", "seconds"]
        return results.to_csv([headings, *([row[name] for name in headings] for row in rows)])
    if not runs:
        chosen = " that match" if args.task or args.model else ""
        return f"There are no runs{chosen} in {store.where}."
    note = f"{len(runs)} run{'s' * (len(runs) > 1)} in {store.where}. The first metric of each run's own profile."
    broken = sum(one is None for one in first.values())
    notes = [note] + [f"– : the tables of {broken} cannot be read or scored (goldrank runs show)."] * (broken > 0)
    headings = ["key", "task", "model", "with", "metric", "value", "queries", "created", "seconds"]
    cells = [[Cell(text) for text in _texts(run, first[run.key])] for run in runs]
    return render([Grid(headings, cells, notes=notes, text_columns=5)], args.format)


@dataclass(frozen=True)
class _First:
    """The number that stands for a run in a list."""

    name: str
    heading: str
    value: float
    shown: str
    count: int


def _texts(run: StoredRun, first: _First | None) -> list[str]:
    return [
        run.key,
        run.task,
        run.model,
        _settings(run),
        "–" if first is None else first.heading,
        "–" if first is None else first.shown,
        str(first.count if first is not None else run.queries),
        _when(run),
        "–" if run.seconds is None else f"{run.seconds:.1f}",
    ]


# What most runs have; only what differs from it tells one run from another.
_USUAL = {
    "similarity": "cosine",
    "index": "exact",
    "scoring": "single",
    "transform": "none",
    "fit_on": "corpus",
    "split": "test",
    "limit": None,
    "seed": None,
    "context": "masked",
    "k": 5,
}


def _settings(run: StoredRun) -> str:
    """What of the settings is out of the ordinary."""
    inputs = run.inputs
    return ", ".join(f"{name}={inputs[name]}" for name, usual in _USUAL.items() if inputs.get(name, usual) != usual)


def _first(run: StoredRun) -> _First | None:
    """The headline of a measurement, or the first metric of the run under its own profile if its tables give it."""
    for name, entry in run.measured.items():
        return _First(name, name, entry["value"], f"{entry['value']:.4f}", entry["count"])
    if run.summary and run.complete:
        # Scored when it was saved, so that a long list need not be scored again.
        name, entry = next(iter(run.summary.items()))
        metric = Metric.parse(name)
        value = float("nan") if entry["value"] is None else float(entry["value"])
        return _First(name, formatting.heading(metric), value, formatting.value(metric, value), run.queries)
    try:
        scores = _own_scores(run, first_only=True)
    except GoldrankError:
        return None
    (score,) = scores.values()
    shown = formatting.value(score.metric, score.value)
    return _First(str(score.metric), formatting.heading(score.metric), score.value, shown, run.queries)


def _own_scores(run: StoredRun, *, first_only: bool = False) -> Scores:
    from goldrank.runs import stored_scores

    chosen = stored_scores.profile_of(run)
    metrics = parse_all(run.metrics or chosen.metrics)
    counted = stored_scores.count_run(run, chosen, chosen.conventions)
    return score_hits(counted.hits, metrics[:1] if first_only else metrics, profile=chosen, name=run.key)


def _row(run: StoredRun, first: _First | None) -> dict[str, Any]:
    return {
        "key": run.key,
        "task": run.task,
        "model": run.model,
        "profile": run.profile,
        "metric": None if first is None else first.name,
        "value": None if first is None else results.number(first.value),
        "queries": run.queries,
        "judged": run.judged,
        "created": run.created.isoformat(),
        "seconds": run.seconds,
        "digest": run.digest,
    }


def _show(store: Store, args: argparse.Namespace) -> str:
    run = store.get(args.keys[0])
    scores = None if run.measured else _own_scores(run)
    if args.format == "json":
        content = _row(run, _first(run))
        content |= {"inputs": dict(run.inputs), "environment": dict(run.environment), "measured": dict(run.measured)}
        scored = {} if scores is None else results.scores_json([scores], intervals=True, per_query=False)
        return results.to_json(content | scored)
    about = {
        "task": run.task,
        "model": run.model,
        "created": _when(run),
        "seconds": "–" if run.seconds is None else f"{run.seconds:.1f}",
        "queries": "–" if run.measured else f"{run.queries}, {run.judged} judged items",
        "digest": run.digest,
        "tables": str(run.folder),
        **_flat("inputs", dict(run.inputs)),
        **_flat("environment", dict(run.environment)),
    }
    if args.format == "csv":
        return results.to_csv([["what", "value"], *([name, value] for name, value in about.items())])
    known_grid = Grid(["", run.key], [[Cell(name), Cell(value)] for name, value in about.items()], text_columns=2)
    numbers_grid = _measured_grid(run) if scores is None else results.score_grid([scores], intervals=True)
    return render([known_grid, numbers_grid], args.format)


def _measured_grid(run: StoredRun) -> Grid:
    rows = [
        [
            Cell(name),
            Cell(f"{one['value']:.4f}"),
            Cell(results.value_bounds(one)),
            Cell(str(one["count"])),
            Cell(one["method"]),
        ]
        for name, one in run.measured.items()
    ]
    return Grid(["measure", "value", "interval", "over", "by"], rows)


def _flat(name: str, value: Any) -> dict[str, str]:
    """Nested values by their path, one line each.

    >>> _flat("inputs", {"task": "wines", "text": {"title": True}})
    {'inputs.task': 'wines', 'inputs.text.title': 'true'}
    """
    if isinstance(value, dict):
        return {path: text for key, inner in value.items() for path, text in _flat(f"{name}.{key}", inner).items()}
    return {name: value if isinstance(value, str) else results.to_json(value).replace("\n", " ")}


def _delete(store: Store, args: argparse.Namespace) -> str:
    keys = [store.complete_key(key) for key in args.keys]
    _confirm(keys, args)
    gone = store.delete(keys)
    if args.format == "json":
        return results.to_json({"store": store.where, "removed": gone})
    if args.format == "csv":
        return results.to_csv([["removed"], *([key] for key in gone)])
    return f"Removed from {store.where}: {', '.join(gone)}."


def _confirm(keys: list[str], args: argparse.Namespace) -> None:
    if args.yes:
        return
    what = ", ".join(dict.fromkeys(keys))
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InputError(f"this would remove {what}", remedy="add --yes to do so without being asked")
    printing.say(f"Remove {what} for good? [y/N] ", end="")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise GoldrankError("nothing was removed")


def _when(run: StoredRun) -> str:
    return run.created.astimezone().isoformat(sep=" ", timespec="seconds")
