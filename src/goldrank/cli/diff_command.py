"""`goldrank diff`: what differs between two runs, stored runs or indexes, without gold."""

from __future__ import annotations

import argparse
from itertools import combinations
from pathlib import Path
from typing import Any

from goldrank.analysis.rank_diff import TOLERANCE, diff
from goldrank.cli import options, stored_runs
from goldrank.errors import InputError, shorten, unknown_name
from goldrank.hits import Run
from goldrank.io.files import is_stored_key, run_names
from goldrank.ordering import SCORE_READINGS
from goldrank.reporting.text.diff import diffs_view

_EXAMPLES = """\
  goldrank diff old.run new.run
  goldrank diff old.run new.run --texts queries.jsonl --depth 100
  goldrank diff wines-http-search~1 wines-http-search
  goldrank diff old.index new.index --queries queries.jsonl -k 10
  goldrank diff old.run new.run --fail-under rbo=0.9 --fail-under overlap@10=0.8
  goldrank diff *.run --format json
exit code: 0 no real difference, 1 they differ, 2 bad input;
with --fail-under: 0 all means reach their thresholds, 1 one does not
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("diff", "Compare rankings without gold: what changed, and how much.", _EXAMPLES)
    parser.intermixed = True
    parser.add_argument(
        "runs",
        metavar="RUN",
        nargs="+",
        help="two run files, keys of stored runs (KEY~1: the version before the newest) or, with --queries, index "
        "folders; of more than two, every pair is compared; - for standard input",
    )
    options.add_run_format(parser)
    stored_runs.add_store(parser)
    index = parser.add_argument_group("indexes")
    index.add_argument("--queries", metavar="FILE", help="queries with ids, to search the indexes with")
    index.add_argument("-k", type=int, default=100, metavar="K", help="results per query (default 100)")
    index.add_argument("-m", "--model", metavar="MODEL", help="model of the queries (default: that of each index)")
    options.add_texts(parser)
    parser.add_argument(
        "--depths", metavar="N,N,…", help="depths of overlap and churn (default: 1,5,10,20,50,100,1000 as they reach)"
    )
    options.add_depth(parser)
    parser.add_argument(
        "-p", type=float, default=0.9, metavar="P", help="persistence of the rank-biased overlap (default 0.9)"
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        default=TOLERANCE,
        metavar="SHARE",
        help=f"score differences up to this share of the largest score of a query are noise (default {TOLERANCE:g})",
    )
    parser.add_argument("--scores", choices=tuple(SCORE_READINGS), help=options.CONVENTION_HELP["scores"])
    parser.add_argument(
        "--fail-under",
        action="append",
        default=[],
        metavar="METRIC=VALUE",
        help="exit with 1 only if the mean of rbo, tau or overlap@N is below this; repeatable",
    )
    parser.add_argument("--worst", type=int, default=10, metavar="N", help="most changed queries to list (default 10)")
    options.add_per_query(parser)
    options.add_statistics(parser)
    options.add_output(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Compare every two of the runs, print the differences, and return 1 if there are any."""
    if len(args.runs) < 2:
        raise InputError("a diff needs two runs or more", remedy="name at least two")
    if args.worst < 0:
        raise InputError(f"--worst is {args.worst}", remedy="give a whole number from 0 up")
    thresholds = options.parse_numbers(args.fail_under, "--fail-under")
    how: dict[str, Any] = {
        "p": args.p,
        "depth": args.depth,
        "tolerance": args.tolerance,
        "scores": args.scores,
        "depths": _parse_depths(args.depths),
        "texts": args.texts or (),
        "bootstrap": options.bootstrap(args),
        **_sources(args),
    }
    runs = _find_runs(args)
    diffs = [diff(runs[a], runs[b], names=(a, b), **how) for a, b in combinations(runs, 2)]
    for name in thresholds:
        if name not in diffs[0].values:
            raise unknown_name(
                "measure for --fail-under", name, diffs[0].values, "rbo, tau, or overlap@N for an N of --depths"
            )
    options.emit(diffs_view(diffs, per_query=args.per_query, worst=args.worst), args)
    if thresholds:
        return int(any(not result[name].mean >= least for result in diffs for name, least in thresholds.items()))
    return int(any(result.differs for result in diffs))


def _sources(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options of indexes or of runs as keywords of `diff`."""
    if args.queries is None:
        options.refuse_unused(args, ["k", "model"], "without --queries", "give two indexes and --queries FILE")
        return {"store": args.store}
    options.refuse_unused(args, ["run_format", "store", "scores"], "on indexes")
    return {"queries": args.queries, "k": args.k, "model": args.model}


def _find_runs(args: argparse.Namespace) -> dict[str, Any]:
    """Return runs, stored runs or the paths of indexes by their names; each file is read once."""
    named = run_names(args.runs)
    if args.queries is not None:
        return named
    runs: dict[str, Any] = {}
    for name, path in named.items():
        if is_stored_key(path):
            stored = stored_runs.get(args.store, path)
            runs[stored.key] = stored
        elif Path(path).is_dir():
            raise InputError("this is a folder", where=path, remedy="to compare two indexes, add --queries FILE")
        else:
            runs[name] = options.say_reading(Run.read(path, format=args.run_format))
            if args.scores is None:
                runs[name].order.refuse(name)
    if len(runs) < len(named):
        raise InputError("two of the keys name the same run", remedy="name each run once")
    return runs


def _parse_depths(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--depths {shorten(text)} is not a list of ranks", remedy="write --depths 1,10,100") from None
