"""`goldrank runs`: list, show, export and delete stored runs."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

from goldrank.cli import options, printing, stored_runs
from goldrank.errors import GoldrankError, counts
from goldrank.metrics import Metric, parse_all
from goldrank.reporting.text import formatting, results
from goldrank.reporting.text.evaluation import measured_grid
from goldrank.reporting.text.grids import Cell, Grid, render
from goldrank.reporting.text.views import View
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


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("runs", "List, show, export and delete stored runs.", _EXAMPLES)
    actions = parser.add_subparsers(dest="action", required=True, metavar="list|show|export|delete")
    listing = actions.add_parser("list", help="list the stored runs, each with its first metric")
    listing.add_argument("--task", metavar="TASK", help="only runs of this task; * matches any text")
    listing.add_argument("--model", metavar="MODEL", help="only runs of this model; * matches any text")
    show = actions.add_parser("show", help="show the settings, environment and scores of a run")
    show.add_argument("keys", metavar="KEY", nargs=1, help="key of a run, or an unambiguous beginning of it")
    export = actions.add_parser("export", help="write rankings, gold or hits as files")
    export.add_argument(
        "--what", choices=("run", "gold", "hits", "predictions"), default="run", help="table to write (default run)"
    )
    export.add_argument(
        "--format", choices=("trec", "json", "csv", "parquet"), help="format of the file (default: by its suffix)"
    )
    export.add_argument(
        "-o", "--output", metavar="FILE|FOLDER", default="-", help="file to write (default: standard output)"
    )
    delete = actions.add_parser("delete", help="delete runs permanently")
    delete.add_argument("--yes", action="store_true", help="delete without confirmation")
    for action in (export, delete):
        action.add_argument("keys", metavar="KEY", nargs="+", help="keys of runs, or unambiguous beginnings of them")
    for action in (listing, show, export, delete):
        stored_runs.add_store(action)
    for action in (listing, show, delete):
        options.add_output(action, _FORMATS)
    options.add_general(export)
    return parser


def run(args: argparse.Namespace) -> int:
    """List, show, export or delete runs."""
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
    headlines = {run.key: _headline(run) for run in runs}
    if not runs and args.format not in ("json", "csv"):
        return f"There are no runs{' that match' if args.task or args.model else ''} in {store.where}."
    rows = [_row(run, headlines[run.key]) for run in runs]
    columns = ["key", "task", "model", "profile", "metric", "value", "queries", "created", "seconds"]

    def grid() -> Grid:
        notes = [f"{counts(len(runs), 'run')} in {store.where}, each with the first metric of its own profile."]
        if unreadable := sum(headline is None for headline in headlines.values()):
            notes.append(f"–: the tables of {counts(unreadable, 'run')} cannot be read or scored (goldrank runs show).")
        headings = ["key", "task", "model", "with", "metric", "value", "queries", "created", "seconds"]
        cells = [[Cell(text) for text in _texts(run, headlines[run.key])] for run in runs]
        if not any(row[3].text for row in cells):
            headings, cells = [*headings[:3], *headings[4:]], [[*row[:3], *row[4:]] for row in cells]
        return Grid(headings, cells, notes=notes, text_columns=len(headings) - 4)

    return View(
        lambda: {"store": store.where, "runs": rows},
        lambda: [columns, *([row[name] for name in columns] for row in rows)],
        lambda: [grid()],
        schema="runs-list",
    ).render(args.format, options.layout(args))


@dataclass(frozen=True)
class _Headline:
    """The value that represents a run in a list."""

    name: str
    heading: str
    value: float
    shown: str
    count: int


def _texts(run: StoredRun, headline: _Headline | None) -> list[str]:
    return [
        run.key,
        run.task,
        run.model,
        _settings(run),
        "–" if headline is None else headline.heading,
        "–" if headline is None else headline.shown,
        str(headline.count if headline is not None else run.queries),
        run.created.astimezone().strftime("%Y-%m-%d %H:%M"),
        "–" if run.seconds is None else f"{run.seconds:.1f}",
    ]


# The settings of most runs; a list shows only settings that differ from them.
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
    """Return the settings that differ from the defaults."""
    inputs = run.inputs
    return ", ".join(f"{name}={inputs[name]}" for name, usual in _USUAL.items() if inputs.get(name, usual) != usual)


def _headline(run: StoredRun) -> _Headline | None:
    """Return the first value of a measurement, or the first metric of a ranking; None if it cannot be computed."""
    for name, entry in run.measured.items():
        return _Headline(name, name, entry["value"], f"{entry['value']:.4f}", entry["count"])
    if run.summary and run.complete:
        # Runs are scored when they are saved, so that a long list need not be scored again.
        name, entry = next(iter(run.summary.items()))
        metric = Metric.parse(name)
        value = float("nan") if entry["value"] is None else float(entry["value"])
        return _Headline(name, formatting.heading(metric), value, formatting.value(metric, value), run.queries)
    try:
        scores = _own_scores(run, first_only=True)
    except GoldrankError:
        return None
    (score,) = scores.values()
    shown = formatting.value(score.metric, score.value)
    return _Headline(str(score.metric), formatting.heading(score.metric), score.value, shown, run.queries)


def _own_scores(run: StoredRun, *, first_only: bool = False) -> Scores:
    from goldrank.runs import stored_scores

    chosen = stored_scores.profile_of(run)
    metrics = parse_all(run.metrics or chosen.metrics)
    counted = stored_scores.count_run(run, chosen, chosen.conventions)
    return score_hits(counted.hits, metrics[:1] if first_only else metrics, profile=chosen, name=run.key)


def _row(run: StoredRun, headline: _Headline | None) -> dict[str, Any]:
    return {
        "key": run.key,
        "task": run.task,
        "model": run.model,
        "profile": run.profile,
        "metric": None if headline is None else headline.name,
        "value": None if headline is None else results.plain(headline.value),
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
        content = _row(run, _headline(run))
        content |= {"inputs": dict(run.inputs), "environment": dict(run.environment), "measured": dict(run.measured)}
        scored = {} if scores is None else results.scores_json([scores], intervals=True, per_query=False)
        return results.to_json(content | scored, "runs-show")
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
        return results.to_csv([["what", "value"], *about.items()])
    about_grid = Grid(["", run.key], [[Cell(name), Cell(value)] for name, value in about.items()], text_columns=2)
    scores_grid = measured_grid(run.measured) if scores is None else results.score_grid([scores], intervals=True)
    return render([about_grid, scores_grid], args.format, options.layout(args))


def _flat(name: str, value: Any) -> dict[str, str]:
    """Return nested values by their path.

    >>> _flat("inputs", {"task": "wines", "text": {"title": True}})
    {'inputs.task': 'wines', 'inputs.text.title': 'true'}
    """
    if isinstance(value, dict):
        return {path: text for key, inner in value.items() for path, text in _flat(f"{name}.{key}", inner).items()}
    return {name: value if isinstance(value, str) else results.to_json(value).replace("\n", " ")}


def _delete(store: Store, args: argparse.Namespace) -> str:
    keys = list(dict.fromkeys(store.complete_key(key, newest=False) for key in args.keys))
    printing.confirm_removal(", ".join(keys), confirmed=args.yes)
    removed = store.delete(keys)
    if args.format == "json":
        return results.to_json({"store": store.where, "removed": removed}, "runs-delete")
    if args.format == "csv":
        return results.to_csv([["removed"], *([key] for key in removed)])
    return f"Removed from {store.where}: {', '.join(removed)}."


def _when(run: StoredRun) -> str:
    return run.created.astimezone().isoformat(sep=" ", timespec="seconds")
